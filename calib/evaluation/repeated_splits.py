"""Monte-Carlo cross-validation: the same comparison on many random splits of one data set.

Means over splits come with intervals that allow for splits sharing most of their rows.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from calib.base import Calibrator, Progress, silent
from calib.errors import CalibrationError
from calib.evaluation.claims import (
    ABSENT,
    NEGLIGIBLE,
    Claim,
    best_method,
    relevant_differences,
    too_few_of,
    word_of,
)
from calib.evaluation.compare import Attempt, attempt, score_columns, with_baseline
from calib.evaluation.comparison_table import CONFIDENCE_ONLY
from calib.evaluation.scores import PROPORTIONS, SCORES, scores
from calib.evaluation.view import view_of
from calib.metrics.bootstrap import UNKNOWN, Interval, cut
from calib.registry import titles_of

if TYPE_CHECKING:
    import pandas as pd

    from calib.data.predictions import Predictions


@dataclass(eq=False)
class Steps:
    """Counts the fits of a study, and lets it be cancelled between two fits and within each."""

    total: int
    callback: Progress
    done: int = 0

    def next(self) -> None:
        """One more fit is done."""
        self.done += 1
        self.callback(self.done, self.total, float("nan"))

    def within(self, step: int, total: int, value: float) -> None:
        """Progress of a single fit, whose own progress is none of the study's."""
        self.callback(self.done, self.total, float("nan"))


def attempt_afresh(method: Calibrator, calibration: Predictions, test: Predictions, steps: Steps, view: str) -> Attempt:
    """:func:`calib.evaluation.compare.attempt` of a copy that is not fitted."""
    return attempt(type(method)(**method.get_params()), calibration, test, view, steps.within)


def repeated_splits(
    calibrators: Mapping[str, Calibrator],
    data: Predictions,
    part: float | int,
    *,
    n_repeats: int = 10,
    random_state: int = 0,
    view: str = "event",
    callback: Progress | None = None,
) -> pd.DataFrame:
    """Fit and score every method on random splits of all rows.

    One split tells how methods compare after one draw of calibration rows; the spread over splits shows what another
    draw would change. A method that fails on a split has NaN there and the reason in ``note``; the others go on.

    Parameters
    ----------
    calibrators : name -> calibrator; fresh copies are fitted. The raw model is always there, first, as "identity".
    data : all rows, labelled.
    part : size of the calibration part of each split, as in ``Predictions.split``: a fraction or a count.
    n_repeats : number of splits.
    random_state : split r is drawn, stratified, with the seed ``random_state + r``.
    view : "event" or "top-label", as in :func:`calib.compare`.
    callback : called after every fit as ``callback(fits done, fits in all, nan)``; may raise to cancel.

    Returns
    -------
    pandas.DataFrame
        One row for each method, split and score, with the columns method, title, split, score, score_title, value,
        fit_seconds, n_calibration, n_test, note. :func:`summarise_splits` makes the comparison of it.

    Raises
    ------
    CalibrationError
        If there are fewer than two splits.
    DataError
        If the part cannot be taken from the data.
    """
    import pandas as pd

    if n_repeats < 2:
        raise CalibrationError(f"{n_repeats} split shows no spread; repeat at least twice.")
    methods, seen = with_baseline(calibrators), view_of(data, view)
    titles = titles_of(methods, data.n_classes)
    steps = Steps(n_repeats * len(methods), callback or silent)
    rows: list[dict[str, Any]] = []
    for split in range(n_repeats):
        calibration, test = data.split(part, random_state=random_state + split)
        sizes = {"n_calibration": len(calibration), "n_test": len(test)}
        for name, method in methods.items():
            made = attempt_afresh(method, calibration, test, steps, view)
            values = {} if made.evaluation is None else scores(made.evaluation)
            rows += [
                {
                    "method": name,
                    "title": titles[name],
                    "split": split,
                    **sizes,
                    "score": key,
                    "score_title": score.seen(seen).title,
                    "value": values.get(key, math.nan),
                    "fit_seconds": made.fit_seconds,
                    "note": "" if key in values else made.note or CONFIDENCE_ONLY,
                    "confidence_only": not (key in values or made.note),
                }
                for key, score in SCORES.items()
            ]
            steps.next()
    table = pd.DataFrame(rows)
    known = set(table.loc[table["value"].notna(), "score"])
    return table[table["score"].isin(known)].reset_index(drop=True)


def corrected_interval(values: npt.ArrayLike, n_calibration: int, n_test: int, level: float = 0.95) -> Interval:
    """Interval of the mean over random splits: the corrected resampled t-test of Nadeau and Bengio (2003).

    Splits of one data set share rows, so that the variance of their mean does not fall as 1 / R: to the R-th part of
    the sample variance comes its (n_test / n_calibration)-fold, with R - 1 degrees of freedom. This takes the
    correlation of two splits to be n_test / (n_test + n_calibration), which is exact where the method does not depend
    on which rows calibrate it, and a heuristic elsewhere.

    Parameters
    ----------
    values : (R,) a score, or a difference of scores, on each split.
    n_calibration, n_test : rows of the two parts.
    level : coverage.

    Returns
    -------
    Interval
        All NaN without values; unbounded with one.
    """
    from scipy.stats import t

    values = np.asarray(values, dtype=float)
    n = len(values)
    if not n:
        return UNKNOWN
    mean = float(values.mean())
    if n == 1:
        return Interval(mean, -math.inf, math.inf)
    half = float(t.ppf(0.5 + level / 2, n - 1) * math.sqrt((1 / n + n_test / n_calibration) * values.var(ddof=1)))
    return Interval(mean, mean - half, mean + half)


def summarise_splits(
    table: pd.DataFrame, level: float = 0.95, relevant: Mapping[str, float] | None = None
) -> pd.DataFrame:
    """Mean scores over splits with intervals, and differences to the raw model and to the best, split by split.

    Parameters
    ----------
    table : from :func:`repeated_splits`; its first method is what differences refer to.
    level : coverage of the intervals.
    relevant : score -> smallest difference that matters, where it is not that of ``calib.evaluation.SCORES``.

    Returns
    -------
    pandas.DataFrame
        One row for each method and score, with the columns of :func:`calib.evaluation.compare.table_of` except
        predict_seconds; ``value`` is the mean over splits, and sd (over splits) and n_splits come in
        addition. Joint intervals, and the words that stand on them, hold for all pairs of methods by one score
        (Bonferroni, on the quantiles of the t distribution). ``rows_needed`` is NaN: further splits of the same rows
        would not decide. A method that failed on some splits is compared on the others, and ``note`` says so.
    """
    import pandas as pd

    sizes = int(table["n_calibration"].iloc[0]), int(table["n_test"].iloc[0])
    names, baseline = list(table["method"].unique()), table["method"].iloc[0]
    n_splits = table["split"].nunique()
    joint_level = 1.0 - (1.0 - level) / max(1, math.comb(len(names), 2))
    margins = relevant_differences(relevant)
    means = table.groupby(["method", "score"])["value"].mean().dropna()
    # Splits share their rows, so that all rows hold about as many wrong ones as there are to see.
    few = {name: too_few_of(means.get(name, {}), sum(sizes), level) for name in names}
    rows: list[dict[str, Any]] = []
    for name, key in product(names, (key for key in SCORES if key in set(table["score"]))):
        here = table[table["score"] == key]
        values = here.pivot(index="split", columns="method", values="value")
        ours, own = values[name].dropna(), here[here["method"] == name]
        best = best_method({other: float(values[other].mean()) for other in names}, key)

        def apart(other: str, level: float, values: Any = values, name: str = name) -> Interval:
            return _not_rounding(corrected_interval((values[name] - values[other]).dropna(), *sizes, level))

        def claim(other: str | None, key: str = key, name: str = name, apart: Any = apart) -> Claim:
            if other is None:
                return ABSENT
            found = apart(other, joint_level)
            if key not in PROPORTIONS and (few[name] or few[other]) and found.value == found.value:
                found = found._replace(low=-math.inf, high=math.inf)
            word = "" if name == other else word_of(key, found, margins[key])
            return Claim(found.value, found.low, found.high, word)

        value = cut(corrected_interval(ours, *sizes, level), SCORES[key].low, SCORES[key].high)
        rows.append(
            {
                "method": name,
                "title": own["title"].iloc[0],
                **score_columns(
                    key, own["score_title"].iloc[0], value, apart(baseline, level), claim(baseline), claim(best)
                ),
                "sd": float(ours.std(ddof=1)) if len(ours) > 1 else math.nan,
                "n_splits": len(ours),
                "relevant": margins[key],
                "too_few": "" if key in PROPORTIONS else few[name],
                "fit_seconds": own["fit_seconds"].mean(),
                "note": _note(own["note"], n_splits),
                "confidence_only": bool(own["confidence_only"].all()),
            }
        )
    return pd.DataFrame(rows)


def _not_rounding(difference: Interval) -> Interval:
    """The difference with an interval that holds 0 where all of it is rounding."""
    if abs(difference.value) < NEGLIGIBLE:
        return difference._replace(low=min(difference.low, 0.0), high=max(difference.high, 0.0))
    return difference


def _note(notes: pd.Series, n_splits: int) -> str:
    """Why there are no values on some splits; the reason alone where there are none on any."""
    reasons = notes[notes != ""]
    if not len(reasons):
        return ""
    if len(reasons) == n_splits:
        return str(reasons.iloc[0])
    return f"Failed on {len(reasons)} of {n_splits} splits: {reasons.iloc[0]}"
