"""Scores against the number of calibration rows: how many labels does a method need?"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from calib.base import Calibrator, Callback, no_callback
from calib.errors import CalibrationError
from calib.evaluation.attempt import BASELINE, Steps, attempt, with_baseline
from calib.evaluation.bootstrap import N_RESAMPLES, resample_sums
from calib.evaluation.size_table import Drawn, join_draws
from calib.metrics.bootstrap import Resamples

if TYPE_CHECKING:
    import pandas as pd

    from calib.data.predictions import Predictions

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
    n = len(calibration)
    tried = checked_sizes(sizes or halved_sizes(n), n, n_draws)
    steps = Steps(sum(count_fits(calibrators, tried, n, draw) for draw in range(n_draws)), callback or no_callback)
    drawn = [one_draw(calibrators, calibration, test, tried, draw, random_state, steps) for draw in range(n_draws)]
    return join_draws(with_baseline(calibrators), tried, drawn, n, level)


def checked_sizes(sizes: Sequence[int], n: int, n_draws: int) -> list[int]:
    """The sizes in ascending order; refuses those beyond n rows, and fewer than two draws."""
    ascending = sorted(set(sizes))
    if ascending[0] < 2 or ascending[-1] > n:
        raise CalibrationError(
            f"Sizes run from {ascending[0]:,} to {ascending[-1]:,}; they must lie between 2 and {n:,}."
        )
    if n_draws < 2:
        raise CalibrationError(f"{n_draws} draw shows no spread; draw at least twice.")
    return ascending


def count_fits(calibrators: Collection[str], sizes: Sequence[int], n: int, draw: int) -> int:
    """Fits of one draw: of all methods on all sizes; that on all rows, and the raw model, belong to the first."""
    return len(set(calibrators) - {BASELINE}) * len(_sizes_of(sizes, n, draw)) + (draw == 0)


def _sizes_of(sizes: Sequence[int], n: int, draw: int) -> list[int]:
    return [size for size in reversed(sizes) if draw == 0 or size < n]


def one_draw(
    calibrators: Mapping[str, Calibrator],
    calibration: Predictions,
    test: Predictions,
    sizes: Sequence[int],
    draw: int,
    random_state: int,
    steps: Steps,
) -> list[Drawn]:
    """All fits of one draw; what it takes of the others is their random numbers."""
    n = len(calibration)
    generator = np.random.default_rng(random_state)
    order = [generator.permutation(n) for _ in range(draw + 1)][draw]
    resamples = Resamples(len(test), N_RESAMPLES, random_state)
    drawn = []
    for name, method in with_baseline(calibrators).items():
        # The raw model does not depend on the rows: one fit stands for all of them.
        here = _sizes_of(sizes, n, draw) if name != BASELINE else [2] if draw == 0 else []
        for size in here:
            made = attempt(method, calibration.take(order[:size]), test, steps)
            scores = None if made.evaluation is None else resample_sums(made.evaluation, resamples)
            drawn.append(Drawn(name, size, scores, made.note))
            steps.next()
    return drawn
