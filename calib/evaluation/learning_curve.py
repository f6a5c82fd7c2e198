"""Learning curves: scores against the number of calibration rows, and how many labels a method needs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from calib.base import Calibrator, Progress, silent
from calib.errors import CalibrationError
from calib.evaluation.compare import BASELINE, with_baseline
from calib.evaluation.repeated_splits import Steps, attempt_afresh
from calib.evaluation.scores import N_RESAMPLES, SCORES, Scored, scored_on
from calib.evaluation.view import view_of
from calib.metrics.bootstrap import Interval, Resamples
from calib.metrics.estimate import Estimate
from calib.numerics import Ints
from calib.registry import titles_of

if TYPE_CHECKING:
    import pandas as pd

    from calib.data.predictions import Predictions


SIZE_SCORES = ("NLL", "ECE")
COLUMNS = (
    *("method", "title", "size", "n_draws", "value", "low", "high", "sd"),
    *("to_last", "to_last_low", "to_last_high", "score", "score_title", "note"),
)
"""Of the table."""


def _band(draws: list[Scored], key: str, level: float, certain: bool, last: list[Scored] | None = None) -> Interval:
    """Mean of a score over draws with the band of one more draw; or of its difference to the mean of the last size.

    To the mean over draws of the intervals that the test rows give comes, in squares, the t interval that predicts one
    more draw, which is nothing where the rows are certain.
    """
    from scipy.stats import t

    if last is None:
        of_rows = [one.intervals(level)[key] for one in draws]
    else:
        value = np.mean([one.value[key] for one in last])
        influence = np.mean([one.influence[key] for one in last], axis=0)
        estimates = (one.estimate(key) for one in draws)
        of_rows = [
            Estimate(one.value[key] - value, own.influence - influence, own.degrees).interval(level)
            for one, own in zip(draws, estimates, strict=True)
        ]
    value, low, high = np.mean(of_rows, axis=0).tolist()
    n, reach = len(draws), 0.0
    if not certain:
        spread = float(np.std([one.value[key] for one in draws], ddof=1)) if n > 1 else math.inf
        reach = float(t.ppf(0.5 + level / 2, max(n - 1, 1))) * spread * math.sqrt(1 + 1 / n)
    return Interval(value, value - math.hypot(value - low, reach), value + math.hypot(high - value, reach))


SMALLEST = 20


def halved_sizes(n: int) -> tuple[int, ...]:
    """n, n/2, n/4, ... down to 20 or more, ascending: every size is twice the labels of the one before."""
    sizes = [n]
    while sizes[-1] // 2 >= SMALLEST:
        sizes.append(sizes[-1] // 2)
    return tuple(reversed(sizes))


def size_curve(
    calibrators: Mapping[str, Calibrator],
    calibration: Predictions,
    test: Predictions,
    *,
    sizes: Sequence[int] | None = None,
    n_draws: int = 5,
    level: float = 0.95,
    random_state: int = 0,
    view: str = "event",
    callback: Progress | None = None,
) -> pd.DataFrame:
    """NLL and ECE on one test set of methods that were fitted on ever more calibration rows.

    Draws are random orders of the calibration rows, the same for all methods, and a size is the beginning of an order,
    so that sizes are nested. Rows are drawn without regard to labels, as they come when labels are collected. The
    largest size, where it is all rows, is fitted once: draws of it would be the same rows.

    Bands are for one more draw of so many rows: the t interval that predicts it from the draws made, and the sampling
    error of the test rows, their distances from the mean added in squares on each side (Zou and Donner 2008). That
    error is the mean over draws of the intervals of comparisons, which know that an ECE is an overestimate; rows are
    paired in the difference to the largest size. Draws come from
    the calibration rows there are and share ever more of them towards the largest size, so bands say nothing about
    other rows than these.

    Parameters
    ----------
    calibrators : name -> calibrator; fresh copies are fitted. The raw model is always there, first, as "identity".
    calibration, test : the two parts of the data.
    sizes : numbers of calibration rows; those of :func:`halved_sizes` by default.
    n_draws : draws for each size.
    level : coverage of the bands.
    random_state : seed of the draws and of the resamples of test rows.
    view : "event" or "top-label", as in :func:`calib.compare`.
    callback : called after every fit as ``callback(fits done, fits in all, nan)``; may raise to cancel.

    Returns
    -------
    pandas.DataFrame
        One row for each method, size and score, with the columns method, title, size, n_draws (those that succeeded),
        score, score_title, value (mean over draws), low, high, sd (over draws); to_last, to_last_low, to_last_high, the
        difference to the largest size; note, why draws failed. The raw model has the same value at every size.

    Raises
    ------
    CalibrationError
        If a size is not between 2 and the calibration rows, or there are fewer than two draws.
    """
    import pandas as pd

    n = len(calibration)
    tried = sorted(set(sizes or halved_sizes(n)))
    if tried[0] < 2 or tried[-1] > n:
        raise CalibrationError(f"Sizes run from {tried[0]:,} to {tried[-1]:,}; they must lie between 2 and {n:,}.")
    if n_draws < 2:
        raise CalibrationError(f"{n_draws} draw shows no spread; draw at least twice.")
    methods, seen = with_baseline(calibrators), view_of(test, view)
    fits = [
        (draw, name, size)
        for draw in range(n_draws)
        for name in methods
        # The raw model does not depend on the rows, and all rows are the same rows: one fit stands for all draws.
        for size in ([2] if name == BASELINE else reversed(tried))
        if draw == 0 or not (name == BASELINE or size == n)
    ]
    steps = Steps(len(fits), callback or silent)
    generator = np.random.default_rng(random_state)
    orders = [random_order(n, calibration.clusters, generator) for _ in range(n_draws)]
    resamples = Resamples(len(test), N_RESAMPLES, random_state, test.clusters)
    made: dict[tuple[str, int], list[Scored]] = {(name, size): [] for name in methods for size in tried}
    notes = dict.fromkeys(made, "")
    for draw, name, size in fits:
        one = attempt_afresh(methods[name], calibration.take(orders[draw][:size]), test, steps, view)
        for of in [size] if name != BASELINE else tried:
            if one.evaluation is None:
                notes[name, of] = one.note
            else:
                made[name, of].append(scored_on(one.evaluation, resamples))
        steps.next()
    titles, rows = titles_of(methods, calibration.n_classes), []
    for (name, size), draws in made.items():
        certain, last = name == BASELINE or size == n, made[name, tried[-1]]
        here = {"method": name, "title": titles[name], "size": size, "n_draws": len(draws), "note": notes[name, size]}
        for key in SIZE_SCORES:
            about = {"score": key, "score_title": SCORES[key].seen(seen).title}
            rows.append(here | about | _summary(draws, last, key, level, certain))
    return pd.DataFrame(rows, columns=COLUMNS)


def _summary(draws: list[Scored], last: list[Scored], key: str, level: float, certain: bool) -> dict[str, float]:
    """Mean, band and standard deviation of a score over draws, and the same of its difference to the last size."""
    values = [one.value[key] for one in draws if key in one.value]
    if not values:
        return {}
    value, low, high = _band(draws, key, level, certain)
    sd = float(np.std(values, ddof=1)) if len(values) > 1 else 0.0 if certain else math.nan
    found = {"value": value, "low": max(low, 0.0), "high": high, "sd": sd}  # neither score can be negative
    if last:
        change = Interval(0.0, 0.0, 0.0) if draws is last else _band(draws, key, level, certain, last)
        found |= dict(zip(("to_last", "to_last_low", "to_last_high"), change, strict=True))
    return found


def random_order(n: int, clusters: npt.NDArray[Any] | None, generator: np.random.Generator) -> Ints:
    """The rows in random order; those of a cluster follow each other, as they come when labels are collected."""
    order = generator.permutation(n)
    if clusters is None:
        return order
    of_row = np.unique(clusters[order], return_inverse=True)[1]
    first = np.full(n, n)
    np.minimum.at(first, of_row, np.arange(n))
    return order[np.argsort(first[of_row], kind="stable")]


TOLERANCE = 0.01


class LabelsNeeded(NamedTuple):
    """The smallest size that is shown to do as well as the largest, None where no smaller one is; and it in words."""

    size: int | None
    sentence: str


def labels_needed(table: pd.DataFrame, method: str, tolerance: float = TOLERANCE) -> LabelsNeeded:
    """The smallest number of labels whose NLL is as low as that of all of them, within a tolerance.

    It counts as shown for a size if the whole band of the difference to the largest size lies below the tolerance, and
    for an answer it must be shown for that size and all larger ones. Sizes are so tested from the top down until the
    first that fails, which needs no correction for their number.

    Parameters
    ----------
    table : from :func:`size_curve`.
    method : one of its methods.
    tolerance : by how much the NLL may be higher, in nats.

    Raises
    ------
    CalibrationError
        If the table has no NLL of the method at the largest size.
    """
    of_method = table[(table["method"] == method) & (table["score"] == "NLL")].sort_values("size", ascending=False)
    rows = of_method.to_dict("records")
    if not rows or math.isnan(rows[0]["value"]):
        why = f": {rows[0]['note']}" if rows and rows[0]["note"] else "."
        raise CalibrationError(f"There is no NLL of {method} at the largest size{why}")
    start, largest, size = f"{rows[0]['title']}:", rows[0]["size"], None
    if len(rows) == 1:
        return LabelsNeeded(None, f"{start} there is one size only, and nothing to compare it with.")
    for row in rows[1:]:
        if not row["to_last_high"] <= tolerance:
            break
        size = int(row["size"])
    before, most = rows[1], rows[1]["to_last_high"]
    by = f"{most:.2g}" if math.isfinite(most) else "any amount"
    if size is not None:
        said = f"{size:,} labels are enough to come within {tolerance:g} of the NLL that all {largest:,} give."
    else:
        said = (
            f"fewer than all {largest:,} labels cannot be said to come within {tolerance:g} of the NLL that these give;"
            f" with {before['size']:,} it may be worse by up to {by}."
        )
    if before["to_last_low"] > 0:
        said += (
            f" From {before['size']:,} to {largest:,} labels the NLL still fell by {before['to_last_low']:.2g} to {by},"
            " so more may lower it further."
        )
    return LabelsNeeded(size, f"{start} {said}")
