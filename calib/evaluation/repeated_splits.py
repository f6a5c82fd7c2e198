"""Monte-Carlo cross-validation: the same comparison on many random splits of one data set.

Means over splits come with intervals that allow for splits sharing most of their rows.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from calib.base import Calibrator, Progress, silent
from calib.errors import CalibrationError
from calib.evaluation import SCORES, scores
from calib.evaluation.claims import Claim, best_method, not_rounding, relevant_differences, too_few_of, word_of
from calib.evaluation.compare import ABSENT, Attempt, attempt, claim_columns, columns, with_baseline
from calib.evaluation.comparison_table import CONFIDENCE_ONLY
from calib.evaluation.score_definitions import EVENT_RATE, PROPORTIONS
from calib.metrics.bootstrap import UNKNOWN, Interval
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
        One row for each method, split and score, with the columns method, title, split, score, value, fit_seconds,
        n_calibration, n_test, note. :func:`summarise_splits` makes the comparison of it.

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
    methods = with_baseline(calibrators)
    titles = titles_of(methods, data.n_classes)
    steps = Steps(n_repeats * len(methods), callback or silent)
    rows: list[dict[str, Any]] = []
    for split in range(n_repeats):
        calibration, test = data.split(part, random_state=random_state + split)
        sizes = {"n_calibration": len(calibration), "n_test": len(test)}
        for name, method in methods.items():
            here = {"method": name, "title": titles[name], "split": split, **sizes}
            rows += [here | values for values in _scored(attempt_afresh(method, calibration, test, steps, view))]
            steps.next()
    table = pd.DataFrame(rows)
    known = set(table.loc[table["value"].notna(), "score"])
    return table[table["score"].isin(known)].reset_index(drop=True)


def _scored(made: Attempt) -> list[dict[str, Any]]:
    values = scores(made.evaluation) if made.evaluation is not None else {}
    absent = made.note or CONFIDENCE_ONLY
    return [
        {
            "score": key,
            "value": values.get(key, float("nan")),
            "fit_seconds": made.fit_seconds,
            "note": "" if key in values else absent,
            "confidence_only": not (key in values or made.note),
        }
        for key in SCORES
    ]


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
    titles = table.groupby("method")["title"].first()
    seconds = table.drop_duplicates(["method", "split"]).groupby("method")["fit_seconds"].mean()
    n_splits = table["split"].nunique()
    pairs = max(1, len(list(combinations(names, 2))))
    joint_level = 1.0 - (1.0 - level) / pairs
    margins = relevant_differences(relevant)
    # Splits share their rows, so that all rows hold about as many wrong ones as there are to see.
    few = dict.fromkeys(names, "")
    for key in ("accuracy", EVENT_RATE):
        shares = table[table["score"] == key].groupby("method")["value"].mean().dropna()
        for name, share in shares.items():
            few[name] = few[name] or too_few_of(round(share * sum(sizes)), sum(sizes), level, key)
    rows: list[dict[str, Any]] = []
    for key in [key for key in SCORES if key in set(table["score"])]:
        here = table[table["score"] == key]
        values = here.pivot(index="split", columns="method", values="value")
        best = best_method({name: float(values[name].mean()) for name in names}, key)

        def interval(name: str, other: str | None, level: float, values: Any = values) -> Interval:
            shift = 0.0 if other is None else values[other]
            return not_rounding(corrected_interval((values[name] - shift).dropna(), *sizes, level))

        def joint(name: str, other: str, key: str = key) -> Claim:
            found = interval(name, other, joint_level)
            unseen = key not in PROPORTIONS and (few.get(name) or few.get(other))
            if unseen and found.value == found.value:
                found = found._replace(low=-math.inf, high=math.inf)
            return Claim(*found, word_of(key, found, margins[key]))

        for name in names:
            own = interval(name, None, level)
            to_raw, to_best = joint(name, baseline), joint(name, best) if best else ABSENT
            known = values[name].dropna()
            rows.append(
                {
                    "method": name,
                    "title": titles[name],
                    "score": key,
                    "value": own.value,
                    "low": max(own.low, SCORES[key].low),
                    "high": min(own.high, SCORES[key].high),
                    "sd": float(known.std(ddof=1)) if len(known) > 1 else float("nan"),
                    "n_splits": len(known),
                    **columns("difference", interval(name, baseline, level)),
                    **claim_columns(to_raw, to_best, name == baseline, name == best),
                    "relevant": margins[key],
                    "claims": SCORES[key].claims,
                    "too_few": "" if key in PROPORTIONS else few.get(name, ""),
                    "better": SCORES[key].better,
                    "fit_seconds": float(seconds[name]),
                    "note": _note(here[here["method"] == name]["note"], n_splits),
                    "confidence_only": bool(here.loc[here["method"] == name, "confidence_only"].all()),
                }
            )
    summary = pd.DataFrame(rows)
    order = {name: place for place, name in enumerate(names)}
    return summary.sort_values("method", key=lambda column: column.map(order), kind="stable", ignore_index=True)


def _note(notes: pd.Series, n_splits: int) -> str:
    """Why there are no values on some splits; the reason alone where there are none on any."""
    reasons = notes[notes != ""]
    if not len(reasons):
        return ""
    if len(reasons) == n_splits:
        return str(reasons.iloc[0])
    return f"Failed on {len(reasons)} of {n_splits} splits: {reasons.iloc[0]}"
