"""Smooth ECE of resamples."""

from __future__ import annotations

from calib.metrics.bootstrap import Resamples
from calib.metrics.smooth import cell_of, smooth_errors
from calib.metrics.top_label import Bools
from calib.numerics import Floats

SMOOTH = "smooth ECE"

N_CELLS = 512
"""Fewer than for the score itself: of 500 to a million rows, they move it by less than 0.00003."""


def resampled_smooth_ece(confidence: Floats, correct: Bools, resamples: Resamples) -> Floats:
    """Smooth ECE of every resample, shape (n_resamples,), each with a width of its own.

    Parameters
    ----------
    confidence, correct : (n,) floats and booleans.
    resamples : of the n rows.
    """
    cell = cell_of(confidence, N_CELLS)
    groups = resamples.groups
    return resamples.each(
        lambda residual, rows: smooth_errors(residual / rows[:, None]),
        groups.sums_by(cell, N_CELLS, correct - confidence),
        groups.sums(None),
    )
