"""Learning curves: scores against the number of calibration rows, and how many labels a method needs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from calib.base import Calibrator, Progress, silent
from calib.errors import CalibrationError
from calib.evaluation import SCORES
from calib.evaluation.compare import BASELINE, with_baseline
from calib.evaluation.repeated_splits import Steps, attempt_afresh
from calib.evaluation.scored import N_RESAMPLES, Scored
from calib.evaluation.scores import scored_on
from calib.metrics.bootstrap import Interval, Resamples
from calib.metrics.estimate import Estimate
from calib.numerics import Floats, Ints
from calib.registry import titles_of

if TYPE_CHECKING:
    import pandas as pd

    from calib.data.predictions import Predictions


SIZE_SCORES = ("NLL", "ECE")


@dataclass(frozen=True, eq=False)
class Drawn:
    """One fit of a size curve: its scores on resamples of the test rows, or why there are none."""

    method: str
    size: int
    scores: Scored | None
    note: str


def _summary(
    titles: Mapping[str, str], sizes: Sequence[int], fits: Sequence[Drawn], n: int, level: float
) -> pd.DataFrame:
    """The table of :func:`size_curve`, with methods in the order of their titles and ascending sizes."""
    import pandas as pd

    rows: list[dict[str, Any]] = []
    for name, title in titles.items():
        baseline = _Draws(fit for fit in fits if fit.method == name == BASELINE)
        draws_of = {
            size: baseline
            if name == BASELINE
            else _Draws(fit for fit in fits if (fit.method, fit.size) == (name, size))
            for size in sizes
        }
        for size, draws in draws_of.items():
            here = {"method": name, "title": title, "size": size, "n_draws": draws.count}
            certain = name == BASELINE or size == n
            last = draws_of[sizes[-1]]
            rows += [here | values | {"note": draws.note} for values in _summaries(draws, last, certain, level)]
    return pd.DataFrame(rows)


class _Draws:
    """What the draws of one size gave for one method."""

    def __init__(self, fits: Iterable[Drawn]):
        self.made: list[Scored] = []
        self.note = ""
        for fit in fits:
            if fit.scores is None:
                self.note = fit.note
            else:
                self.made.append(fit.scores)

    @property
    def count(self) -> int:
        return len(self.made)

    def values(self, key: str) -> Floats:
        """(count,) score of each draw; empty where the method does not have it."""
        return np.array([one.value[key] for one in self.made if key in one.value])

    def of_rows(self, key: str, level: float) -> Interval:
        """Interval of one draw's score from its test rows, averaged over draws."""
        return _mean([one.intervals(level)[key] for one in self.made])

    def of_rows_to(self, last: _Draws, key: str, level: float) -> Interval:
        """The same of one draw's score minus the mean of the largest size's."""
        baseline = np.mean([one.influence[key] for one in last.made], axis=0)
        value = float(last.values(key).mean())
        changes = (
            Estimate(one.value[key] - value, one.influence[key] - baseline, one.estimate(key).degrees)
            for one in self.made
        )
        return _mean([change.interval(level) for change in changes])


def _mean(intervals: list[Interval]) -> Interval:
    return Interval(*(float(side) for side in np.mean(intervals, axis=0)))


def _summaries(draws: _Draws, last: _Draws, certain: bool, level: float) -> list[dict[str, Any]]:
    nothing = float("nan")
    found = []
    for key in SIZE_SCORES:
        values = draws.values(key)
        row: dict[str, Any] = dict.fromkeys(
            ("value", "low", "high", "sd", "to_last", "to_last_low", "to_last_high"), nothing
        )
        row["score"] = key
        if len(values):
            of_draws = 0.0 if certain else _half_width(values, level)
            value, low, high = _widened(draws.of_rows(key, level), of_draws)
            # Neither score can be negative.
            row |= {"value": value, "low": max(low, 0.0), "high": high}
            row["sd"] = float(values.std(ddof=1)) if len(values) > 1 else 0.0 if certain else nothing
            if len(last.values(key)):
                change = (
                    Interval(0.0, 0.0, 0.0) if draws is last else _widened(draws.of_rows_to(last, key, level), of_draws)
                )
                row |= dict(zip(("to_last", "to_last_low", "to_last_high"), change, strict=True))
        found.append(row)
    return found


def _widened(of_rows: Interval, of_draws: float) -> Interval:
    """An interval whose sides have another, independent error added in squares."""
    value, low, high = of_rows
    return Interval(value, value - math.hypot(value - low, of_draws), value + math.hypot(high - value, of_draws))


def _half_width(values: Floats, level: float) -> float:
    """Half the width of the t interval of a further draw."""
    from scipy.stats import t

    n = len(values)
    if n < 2:
        return math.inf
    return float(t.ppf(0.5 + level / 2, n - 1)) * float(values.std(ddof=1)) * math.sqrt(1 + 1 / n)


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
        score, value (mean over draws), low, high, sd (over draws); to_last, to_last_low, to_last_high, the difference
        to the largest size; note, why draws failed. The raw model has the same value at every size.

    Raises
    ------
    CalibrationError
        If a size is not between 2 and the calibration rows, or there are fewer than two draws.
    """
    n = len(calibration)
    tried = sorted(set(sizes or halved_sizes(n)))
    if tried[0] < 2 or tried[-1] > n:
        raise CalibrationError(f"Sizes run from {tried[0]:,} to {tried[-1]:,}; they must lie between 2 and {n:,}.")
    if n_draws < 2:
        raise CalibrationError(f"{n_draws} draw shows no spread; draw at least twice.")
    methods = with_baseline(calibrators)
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
    drawn = []
    for draw, name, size in fits:
        made = attempt_afresh(methods[name], calibration.take(orders[draw][:size]), test, steps, view)
        scores = None if made.evaluation is None else scored_on(made.evaluation, resamples)
        drawn.append(Drawn(name, size, scores, made.note))
        steps.next()
    return _summary(titles_of(methods, calibration.n_classes), tried, drawn, n, level)


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


@dataclass(frozen=True)
class LabelsNeeded:
    """The answer for one method and one score.

    Attributes
    ----------
    method, title : of the method.
    size : the smallest size from which on the score is within the tolerance of the largest size's; None where the bands
        show that of no smaller size.
    largest : the largest size.
    still_falling : whether the last step to the largest size lowered the score significantly.
    sentence : the answer in words.
    """

    method: str
    title: str
    size: int | None
    largest: int
    still_falling: bool
    sentence: str


def labels_needed(table: pd.DataFrame, method: str, score: str = "NLL", tolerance: float = TOLERANCE) -> LabelsNeeded:
    """The smallest number of labels that does as well as all of them, within a tolerance.

    It counts as shown for a size if the whole band of the difference to the largest size lies below the tolerance, and
    for an answer it must be shown for that size and all larger ones. Sizes are so tested from the top down until the
    first that fails, which needs no correction for their number.

    Parameters
    ----------
    table : from :func:`calib.evaluation.learning_curve`.
    method : one of its methods.
    score : "NLL" or "ECE".
    tolerance : by how much the score may be worse.

    Raises
    ------
    CalibrationError
        If the table has no value of the score for the method at the largest size.
    """
    rows = table[(table["method"] == method) & (table["score"] == score)].sort_values("size", ascending=False)
    if not len(rows) or rows["value"].isna().iloc[0]:
        why = f": {rows['note'].iloc[0]}" if len(rows) and rows["note"].iloc[0] else "."
        raise CalibrationError(f"There is no {score} of {method} at the largest size{why}")
    title, largest = str(rows["title"].iloc[0]), int(rows["size"].iloc[0])
    size = None
    for row in rows.iloc[1:].to_dict("records"):
        if not row["to_last_high"] <= tolerance:
            break
        size = int(row["size"])
    before = rows.iloc[1].to_dict() if len(rows) > 1 else None
    falling = before is not None and before["to_last_low"] > 0
    name = SCORES[score].title
    if before is None:
        sentence = f"{title}: there is one size only, and nothing to compare it with."
    elif size is not None:
        sentence = (
            f"{title}: {size:,} labels are enough to come within {tolerance:g} of the {name} that all {largest:,} give."
        )
    else:
        sentence = (
            f"{title}: fewer than all {largest:,} labels cannot be said to come within {tolerance:g} of the {name} "
            f"that these give; with {int(before['size']):,} it may be worse by up to {_number(before['to_last_high'])}."
        )
    if falling and before is not None:
        sentence += (
            f" From {int(before['size']):,} to {largest:,} labels the {name} still fell by "
            f"{_number(before['to_last_low'])} to {_number(before['to_last_high'])}, so more may lower it further."
        )
    return LabelsNeeded(method, title, size, largest, falling, sentence)


def _number(value: float) -> str:
    return f"{value:.2g}" if abs(value) < float("inf") else "any amount"
