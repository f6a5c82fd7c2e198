"""Scores against the number of calibration rows: how many labels does a method need?"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from calib.base import CalibrationError, Calibrator, Callback, no_callback
from calib.evaluation import Evaluation
from calib.evaluation.uncertainty import N_RESAMPLES, ResampledScores, resample_sums
from calib.metrics.intervals import Interval, Resamples, interval_of_draws
from calib.numerics import Floats
from calib.studies.attempt import BASELINE, Steps, attempt, title_of, with_baseline

if TYPE_CHECKING:
    import pandas as pd

    from calib.data.predictions import Predictions

SIZE_SCORES = ("NLL", "ECE")
SMALLEST = 20


def halved_sizes(n: int, smallest: int = SMALLEST) -> tuple[int, ...]:
    """n, n/2, n/4, ... down to ``smallest``, ascending: every size is twice the labels of the one before."""
    sizes = [n]
    while sizes[-1] // 2 >= smallest:
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
    callback: Callback | None = None,
) -> pd.DataFrame:
    """NLL and ECE on one test set of methods that were fitted on ever more calibration rows.

    Draws are random orders of the calibration rows, the same for all methods, and a size is the beginning of an order,
    so that sizes are nested. Rows are drawn without regard to labels, as they come when labels are collected. The
    largest size, where it is all rows, is fitted once: draws of it would be the same rows.

    Bands are for one more draw of so many rows: the t interval that predicts it from the draws made, and the sampling
    error of the test rows, their distances from the mean added in squares on each side (Zou and Donner 2008). That
    error is the mean over draws of the bootstrap intervals of comparisons, which know that an ECE is an overestimate;
    resamples of test rows are shared, so that rows are paired in the difference to the largest size. Draws come from
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
    import pandas as pd

    n = len(calibration)
    sizes = sorted(set(sizes or halved_sizes(n)))
    if sizes[0] < 2 or sizes[-1] > n:
        raise CalibrationError(f"Sizes run from {sizes[0]:,} to {sizes[-1]:,}; they must lie between 2 and {n:,}.")
    if n_draws < 2:
        raise CalibrationError(f"{n_draws} draw shows no spread; draw at least twice.")
    generator = np.random.default_rng(random_state)
    resamples = Resamples(len(test), N_RESAMPLES, random_state)
    orders = [generator.permutation(n) for _ in range(n_draws)]
    rows_of = {size: [orders[0]] if size == n else [order[:size] for order in orders] for size in sizes}
    methods = with_baseline(calibrators)
    steps = Steps(1 + (len(methods) - 1) * sum(map(len, rows_of.values())), callback or no_callback)
    rows: list[dict[str, Any]] = []
    for name, method in methods.items():
        drawn = {size: _Draws(resamples) for size in sizes}
        for size in reversed(sizes):
            # The raw model does not depend on the rows: one fit stands for all of them.
            for order in [orders[0][:2]] if name == BASELINE else rows_of[size]:
                made = attempt(method, calibration.take(order), test, steps)
                drawn[size].add(made.evaluation, made.note)
                steps.next()
            if name == BASELINE:
                drawn = dict.fromkeys(sizes, drawn[size])
                break
        for size, draws in drawn.items():
            here = {"method": name, "title": title_of(name), "size": size, "n_draws": draws.count}
            certain = name == BASELINE or size == n
            rows += [
                here | values | {"note": draws.note} for values in _summaries(draws, drawn[sizes[-1]], certain, level)
            ]
    return pd.DataFrame(rows)


class _Draws:
    """What the draws of one size gave for one method."""

    def __init__(self, resamples: Resamples):
        self.made: list[ResampledScores] = []
        self.note = ""
        self._resamples = resamples

    @property
    def count(self) -> int:
        return len(self.made)

    def add(self, evaluation: Evaluation | None, note: str) -> None:
        if evaluation is None:
            self.note = note
        else:
            self.made.append(resample_sums(evaluation, self._resamples))

    def values(self, key: str) -> Floats:
        """(count,) score of each draw; empty where the method does not have it."""
        return np.array([one.value[key] for one in self.made if key in one.value])

    def of_rows(self, key: str, level: float) -> Interval:
        """Interval of one draw's score from its test rows, averaged over draws."""
        return _mean([one.intervals(level)[key] for one in self.made])

    def of_rows_to(self, last: _Draws, key: str, level: float) -> Interval:
        """The same of one draw's score minus the mean of the largest size's."""
        baseline = np.mean([one.draws[key] for one in last.made], axis=0)
        value = float(last.values(key).mean())
        return _mean([interval_of_draws(one.value[key] - value, one.draws[key] - baseline, level) for one in self.made])


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
