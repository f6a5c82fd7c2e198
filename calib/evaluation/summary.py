"""Repeated splits as a comparison: means, and intervals that allow for splits sharing most of their rows."""

from __future__ import annotations

import math
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from calib.evaluation import SCORES
from calib.evaluation.bootstrap import PROPORTIONS
from calib.evaluation.compare import best_method, beyond_chance, not_rounding
from calib.evaluation.evidence import too_few_of
from calib.metrics.bootstrap import Interval

if TYPE_CHECKING:
    import pandas as pd

NOWHERE = Interval(float("nan"), float("nan"), float("nan"))


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
        return NOWHERE
    mean = float(values.mean())
    if n == 1:
        return Interval(mean, -math.inf, math.inf)
    half = float(t.ppf(0.5 + level / 2, n - 1) * math.sqrt((1 / n + n_test / n_calibration) * values.var(ddof=1)))
    return Interval(mean, mean - half, mean + half)


def summarise_splits(table: pd.DataFrame, level: float = 0.95) -> pd.DataFrame:
    """Mean scores over splits with intervals, and differences to the raw model and to the best, split by split.

    Parameters
    ----------
    table : from :func:`calib.evaluation.repeated_splits.repeated_splits`; its first method is what differences refer to.
    level : coverage of the intervals.

    Returns
    -------
    pandas.DataFrame
        One row for each method and score, with the columns of :func:`calib.evaluation.compare.compare_evaluations` except
        predict_seconds; ``value`` is the mean over splits, and sd (over splits) and n_splits come in addition. As
        there, to_best and beyond_chance hold for all pairs of methods together (Bonferroni). A method that failed on
        some splits is compared on the others, and ``note`` says so.
    """
    import pandas as pd

    sizes = int(table["n_calibration"].iloc[0]), int(table["n_test"].iloc[0])
    names, baseline = list(table["method"].unique()), table["method"].iloc[0]
    titles = table.groupby("method")["title"].first()
    seconds = table.drop_duplicates(["method", "split"]).groupby("method")["fit_seconds"].mean()
    n_splits = table["split"].nunique()
    pairs = max(1, len(list(combinations(names, 2))))
    joint_level = 1.0 - (1.0 - level) / pairs
    # Splits share their rows, so that all rows hold about as many wrong ones as there are to see.
    accuracy = table[table["score"] == "accuracy"].groupby("method")["value"].mean().dropna()
    few = {name: too_few_of(round(share * sum(sizes)), sum(sizes), level) for name, share in accuracy.items()}
    rows: list[dict[str, Any]] = []
    for key in [key for key in SCORES if key in set(table["score"])]:
        here = table[table["score"] == key]
        values = here.pivot(index="split", columns="method", values="value")
        best = best_method({name: float(values[name].mean()) for name in names}, key)

        def interval(name: str, other: str | None, level: float, values: Any = values) -> Interval:
            shift = 0.0 if other is None else values[other]
            return not_rounding(corrected_interval((values[name] - shift).dropna(), *sizes, level))

        def joint(name: str, other: str, key: str = key) -> Interval:
            found = interval(name, other, joint_level)
            unseen = key not in PROPORTIONS and (few.get(name) or few.get(other))
            return (
                found._replace(low=float("-inf"), high=float("inf")) if unseen and found.value == found.value else found
            )

        for name in names:
            own = interval(name, None, level)
            difference = interval(name, baseline, level)
            to_best = joint(name, best) if best else NOWHERE
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
                    **_columns("difference", difference),
                    **_columns("to_best", to_best),
                    "beyond_chance": beyond_chance(key, joint(name, baseline)),
                    "too_few": "" if key in PROPORTIONS else few.get(name, ""),
                    "better": SCORES[key].better,
                    "fit_seconds": float(seconds[name]),
                    "note": _note(here[here["method"] == name]["note"], n_splits),
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


def _columns(name: str, interval: Interval) -> dict[str, float]:
    return {name: interval.value, f"{name}_low": interval.low, f"{name}_high": interval.high}
