"""The same comparison on many random splits: fit on a part of the rows, judge on those left.

Means over splits come with intervals that allow for splits sharing most of their rows.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from calib.base import Calibrator, Progress, silent
from calib.data.event import Event
from calib.data.predictions import Predictions
from calib.errors import CalibrationError
from calib.evaluation.claims import (
    ABSENT,
    NEGLIGIBLE,
    Claim,
    relevant_differences,
    too_few_of,
    word_of,
)
from calib.evaluation.compare import BASELINE, attempt, score_columns
from calib.evaluation.comparison_table import CONFIDENCE_ONLY
from calib.evaluation.evaluation import raw_model
from calib.evaluation.score_registry import PROPORTIONS, SCORES, scores
from calib.evaluation.view import view_of
from calib.metrics.bootstrap import UNKNOWN, Interval, cut
from calib.registry import calibrator, titles_of

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "repeated_splits",
    "summarise_splits",
]

Methods = Sequence[tuple[str, str, Mapping[str, Any]]]
"""(name in tables, registry name, parameters) of each method."""
COLUMNS = (
    "method",
    "title",
    "split",
    "size",
    "n_test",
    "score",
    "score_title",
    "value",
    "fit_seconds",
    "note",
)
"""Of the table of a study."""
ARRAYS = ("given_split", "features", "train_features", "train_labels", "clusters", "weights")
"""Arrays of a data set that a study gets beside logits and labels, where there are any."""
SPLITS = "splits"
"""The kind of study that links keep."""


def repeated_splits(
    calibrators: Mapping[str, Calibrator],
    data: Predictions,
    part: float | int,
    *,
    n_repeats: int = 10,
    random_state: int = 0,
    view: str = "event",
    callback: Progress = silent,
) -> pd.DataFrame:
    """Fit and score every method on random splits of all rows (Monte-Carlo cross-validation).

    One split tells how methods compare after one draw of calibration rows; the spread over splits shows what another
    draw would change. A method that fails on a split has NaN there and the reason in ``note``; the others go on.

    Parameters
    ----------
    calibrators : mapping of str to Calibrator
        Fresh copies are fitted. The raw model is always there, first, as "identity".
    data : Predictions
        All rows, labelled.
    part : float or int
        Size of the calibration part of each split, as in ``Predictions.split``: a fraction or a count.
    n_repeats : int, default 10
        Number of splits.
    random_state : int, default 0
        Split r is drawn, stratified, with the seed ``random_state + r``.
    view : {"event", "top-label"}, default "event"
        What scores are of, as in :func:`calib.compare`.
    callback : callable, optional
        Called as ``callback(fits done, fits in all, nan)`` after every fit and, by methods that report progress, within
        it; raise :class:`calib.FitCancelled` in it to cancel.

    Returns
    -------
    pandas.DataFrame
        One row for each method, split, size and score, with the columns method, title, split, size, n_test, score,
        score_title, value, fit_seconds, note. :func:`summarise_splits` makes the comparison of it.

    Raises
    ------
    CalibrationError
        If there are fewer than two splits.
    DataError
        If the part cannot be taken from the data.

    Examples
    --------
    >>> import calib
    >>> data = calib.load_sample("simulated-binary")
    >>> methods = {"beta": calib.calibrator("beta")}
    >>> table = repeated_splits(methods, data, 400, n_repeats=2)
    >>> table.query("score == 'NLL'").groupby("method")["value"].mean().round(2).to_dict()
    {'beta': 0.49, 'identity': 0.53}
    """
    import pandas as pd

    if n_repeats < 2:
        raise CalibrationError(f"{n_repeats} split shows no spread; repeat at least twice.")
    methods = {BASELINE: raw_model(data), **calibrators}
    seen = view_of(data, view)
    titles = titles_of(methods, data.n_classes)
    total = n_repeats * len(methods)
    done = 0

    def within(*_: float) -> None:
        callback(done, total, math.nan)

    rows: list[dict[str, Any]] = []
    for split in range(n_repeats):
        calibration, test = data.split(part, random_state=random_state + split)
        sizes = len(calibration), len(test)
        for name, method in methods.items():
            fresh = type(method)(**method.get_params())
            attempted = attempt(fresh, calibration, test, view, within)
            values = {} if attempted.evaluation is None else scores(attempted.evaluation)
            for key, score in SCORES.items():
                note = "" if key in values else attempted.note or CONFIDENCE_ONLY
                about = (name, titles[name], split, *sizes, key, score.seen(seen).title)
                record = (*about, values.get(key, math.nan), attempted.fit_seconds, note)
                rows.append(dict(zip(COLUMNS, record, strict=True)))
            done += 1
            within()
    table = pd.DataFrame(rows)
    scored = set(table.loc[table["value"].notna(), "score"])
    return table[table["score"].isin(scored)].reset_index(drop=True)


def pool_arrays(data: Predictions) -> dict[str, Any]:
    """The arrays beyond logits and labels that go to a worker; weights with what they mean."""
    arrays = {name: array for name in ARRAYS if (array := getattr(data, name)) is not None}
    return arrays | ({"weight_kind": np.array(data.weight_kind)} if data.weight_kind else {})


def repeat_task(
    methods: Methods,
    part: int,
    n_repeats: int,
    random_state: int,
    event: int | None = None,
    *,
    data: Mapping[str, Any],
    callback: Progress,
) -> pd.DataFrame:
    """:func:`repeated_splits` as a worker runs it, on ``data``: ``logits``, ``labels`` and :func:`pool_arrays`.

    ``event`` is the column of the event where its probability is looked at.
    """
    names = tuple(map(str, range(data["logits"].shape[1])))
    # The hash keys caches, of which a worker has none; without one, every split would hash the arrays.
    viewed = None if event is None else Event(event, names[event], "")
    arrays = dict(data)
    kind: Any = str(arrays.pop("weight_kind")) if "weight_kind" in arrays else None
    rows = Predictions(
        **arrays, class_names=names, sha256="in a worker", event=viewed, weight_kind=kind
    )
    calibrators = {name: calibrator(method, **params) for name, method, params in methods}
    return repeated_splits(
        calibrators, rows, part, n_repeats=n_repeats, random_state=random_state, callback=callback
    )


def corrected_interval(
    values: npt.ArrayLike, n_calibration: int, n_test: int, level: float = 0.95
) -> Interval:
    """Interval of the mean over random splits: the corrected resampled t-test of Nadeau and Bengio (2003).

    Splits of one data set share rows, so that the variance of their mean does not fall as 1 / R: to the R-th part of
    the sample variance comes its (n_test / n_calibration)-fold, with R - 1 degrees of freedom. This takes the
    correlation of two splits to be n_test / (n_test + n_calibration), which is exact where the method does not depend
    on which rows calibrate it, and a heuristic elsewhere.

    Parameters
    ----------
    values : (R,) a score, or a difference of scores, on each split; NaN where it failed.
    n_calibration, n_test : rows of the two parts.
    level : coverage.

    Returns
    -------
    Interval
        All NaN without values; unbounded with one.
    """
    from scipy.stats import t

    array = np.asarray(values, dtype=float)
    finite = array[np.isfinite(array)]
    n = len(finite)
    if not n:
        return UNKNOWN
    mean = float(finite.mean())
    if n == 1:
        return Interval(mean, -math.inf, math.inf)
    half = float(
        t.ppf(0.5 + level / 2, n - 1)
        * math.sqrt((1 / n + n_test / n_calibration) * finite.var(ddof=1))
    )
    return Interval(mean, mean - half, mean + half)


def summarise_splits(
    table: pd.DataFrame, relevant: Mapping[str, float] | None = None
) -> pd.DataFrame:
    """Mean scores over splits with intervals, and differences to the raw model, split by split.

    Parameters
    ----------
    table : pandas.DataFrame
        From :func:`repeated_splits`; its first method is what differences refer to.
    relevant : mapping of str to float or None, default None
        Smallest difference of a score that matters, where it is not that of ``calib.evaluation.SCORES``.

    Returns
    -------
    pandas.DataFrame
        One row for each method and score, with the columns of :func:`calib.evaluation.compare.table_of`; ``value`` is
        the mean over splits, and sd (over splits) and n_splits come in addition. Intervals of differences, and the
        words that stand on them, hold for all pairs of methods by one score (Bonferroni, on the quantiles of the t
        distribution). ``rows_needed`` is NaN: further splits of the same rows would not decide. A method that failed on
        some splits is compared on the others, and ``note`` says so.

    Examples
    --------
    >>> import calib
    >>> data = calib.load_sample("simulated-binary")
    >>> methods = {"beta": calib.calibrator("beta")}
    >>> table = repeated_splits(methods, data, 400, n_repeats=2)
    >>> summary = summarise_splits(table).query("score == 'NLL'").set_index("method")
    >>> summary["n_splits"].to_dict()
    {'identity': 2, 'beta': 2}
    """
    import pandas as pd

    sizes = int(table["size"].iloc[0]), int(table["n_test"].iloc[0])
    names = list(table["method"].unique())
    baseline = table["method"].iloc[0]
    joint_level = 1.0 - 0.05 / max(1, math.comb(len(names), 2))
    margins = relevant_differences(relevant)
    means = table.groupby(["method", "score"])["value"].mean().dropna()
    # Splits share their rows, so that all rows hold about as many wrong ones as there are to see.
    total = sum(sizes)
    few = {}
    for name in names:
        hits = {key: round(value * total) for key, value in means.get(name, {}).items()}
        few[name] = too_few_of({key: (k, total - k) for key, k in hits.items()})
    rows: list[dict[str, Any]] = []
    for name, key in product(names, (key for key in SCORES if key in set(table["score"]))):
        here = table[table["score"] == key]
        values = here.pivot(index="split", columns="method", values="value")
        of_method = here[here["method"] == name]
        difference = corrected_interval(values[name] - values[baseline], *sizes, joint_level)
        if abs(difference.value) < NEGLIGIBLE:  # all of it is rounding
            difference = difference._replace(
                low=min(difference.low, 0.0), high=max(difference.high, 0.0)
            )
        if (
            key not in PROPORTIONS
            and (few[name] or few[baseline])
            and difference.value == difference.value
        ):
            difference = difference._replace(low=-math.inf, high=math.inf)
        word = "" if name == baseline else word_of(key, difference, margins[key])
        claim = Claim(*difference, word) if difference.value == difference.value else ABSENT
        value = cut(corrected_interval(values[name], *sizes), SCORES[key].low, SCORES[key].high)
        rows.append(
            {
                "method": name,
                "title": of_method["title"].iloc[0],
                **score_columns(key, of_method["score_title"].iloc[0], value, claim),
                "sd": values[name].std(ddof=1),
                "n_splits": int(values[name].count()),
                "relevant": margins[key],
                "too_few": "" if key in PROPORTIONS else few[name],
                "fit_seconds": of_method["fit_seconds"].mean(),
                "note": _note(of_method["note"]),
            }
        )
    return pd.DataFrame(rows)


def _note(notes: pd.Series) -> str:
    """Reason why some splits have no values; the reason alone where none has."""
    reasons = notes[notes != ""]
    if not len(reasons):
        return ""
    if len(reasons) == len(notes):
        return str(reasons.iloc[0])
    return f"Failed on {len(reasons)} of {len(notes)} splits: {reasons.iloc[0]}"
