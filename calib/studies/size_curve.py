"""Scores against the number of calibration rows: how many labels does a method need?"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np

from calib.base import CalibrationError, Calibrator, Callback, no_callback
from calib.evaluation import Evaluation
from calib.metrics.binning import bin_edges, bin_index
from calib.numerics import Floats, Ints
from calib.studies.attempt import BASELINE, Steps, attempt, title_of, with_baseline

if TYPE_CHECKING:
    import pandas as pd

    from calib.data.predictions import Predictions

SIZE_SCORES = ("NLL", "ECE")
SMALLEST = 20
N_BINS = 15


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
    error of the test rows, their widths added in squares (Zou and Donner 2008). Both scores are means over rows (an ECE
    is one of (confidence - correct) times the sign of its bin's gap), from which that error comes; rows are paired in
    the difference to the largest size. Draws come from the calibration rows there are and share ever more of them
    towards the largest size, so bands say nothing about other rows than these.

    Parameters
    ----------
    calibrators : name -> calibrator; fresh copies are fitted. The raw model is always there, first, as "identity".
    calibration, test : the two parts of the data.
    sizes : numbers of calibration rows; those of :func:`halved_sizes` by default.
    n_draws : draws for each size.
    level : coverage of the bands.
    random_state : seed of the draws.
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
    orders = [generator.permutation(n) for _ in range(n_draws)]
    rows_of = {size: [orders[0]] if size == n else [order[:size] for order in orders] for size in sizes}
    methods = with_baseline(calibrators)
    steps = Steps(1 + (len(methods) - 1) * sum(map(len, rows_of.values())), callback or no_callback)
    rows: list[dict[str, Any]] = []
    for name, method in methods.items():
        drawn = {size: _Draws(len(test)) for size in sizes}
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
    """Row-wise scores of one method at one size, summed over draws, and the score of each draw."""

    def __init__(self, n_test: int):
        self.count, self.note = 0, ""
        self.rows: dict[str, Floats] = {}
        self.values: dict[str, list[float]] = {}
        self._n_test = n_test

    def add(self, evaluation: Evaluation | None, note: str) -> None:
        if evaluation is None:
            self.note = note
            return
        self.count += 1
        for key, rows in _row_values(evaluation).items():
            self.rows[key] = self.rows.get(key, 0.0) + rows
            self.values.setdefault(key, []).append(float(rows.mean()))

    def mean_rows(self, key: str) -> Floats:
        """(n_test,) row-wise score, averaged over draws."""
        return self.rows[key] / self.count


def _row_values(evaluation: Evaluation) -> dict[str, Floats]:
    """(n,) values whose means are the scores."""
    confidence, correct = evaluation.pair
    gap = confidence - correct
    index: Ints = bin_index(confidence, bin_edges(confidence, N_BINS, "equal_width"))
    sign = np.sign(np.bincount(index, weights=gap, minlength=N_BINS))
    values = {"ECE": gap * sign[index]}
    return values if evaluation.row_nll is None else {"NLL": evaluation.row_nll, **values}


def _summaries(draws: _Draws, last: _Draws, certain: bool, level: float) -> list[dict[str, Any]]:
    nothing = float("nan")
    found = []
    for key in SIZE_SCORES:
        values = np.array(draws.values.get(key, []))
        row: dict[str, Any] = dict.fromkeys(
            ("value", "low", "high", "sd", "to_last", "to_last_low", "to_last_high"), nothing
        )
        row["score"] = key
        if len(values):
            rows = draws.mean_rows(key)
            half = _half_width(values, rows, certain, level)
            value = float(values.mean())
            # Neither score can be negative.
            row |= {"value": value, "low": max(value - half, 0.0), "high": value + half}
            row["sd"] = float(values.std(ddof=1)) if len(values) > 1 else 0.0 if certain else nothing
            if key in last.values:
                change = value - float(np.mean(last.values[key]))
                half = 0.0 if draws is last else _half_width(values, rows - last.mean_rows(key), certain, level)
                row |= {"to_last": change, "to_last_low": change - half, "to_last_high": change + half}
        found.append(row)
    return found


def _half_width(values: Floats, rows: Floats, certain: bool, level: float) -> float:
    """Half the width of a band: of a further draw, and of the test rows."""
    from scipy.stats import t

    n = len(values)
    tail = 0.5 + level / 2
    of_rows = NormalDist().inv_cdf(tail) * float(rows.std(ddof=1)) / math.sqrt(len(rows)) if len(rows) > 1 else math.inf
    if certain:
        return of_rows
    if n < 2:
        return math.inf
    return math.hypot(float(t.ppf(tail, n - 1)) * float(values.std(ddof=1)) * math.sqrt(1 + 1 / n), of_rows)
