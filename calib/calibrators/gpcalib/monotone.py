"""Projection of latent functions onto rising ones, so that calibration keeps every predicted class."""

from __future__ import annotations

import numpy as np

from calib.calibrators.gpcalib.interpolation import Grid
from calib.numerics import Floats

SMALLEST_SLOPE = 0.01


def monotone_shifts(shifts: Floats, grid: Grid, space: str) -> Floats:
    """Nearest shifts (least squares on the nodes) with which ``mu + a`` rises everywhere.

    The grid must interpolate linearly: cubic interpolation can overshoot between nodes. Prediction
    interpolates either ``a`` or ``exp(a)``; with a segment of length h and mu' the slope of the prior mean at
    its right end, where it is least, both rise if ``a`` falls by at most ``log(1 + h (mu' - slope))``.

    Parameters
    ----------
    shifts : (..., grid.size)
    space : "logits" (mu' = 1) or "probs" (mu' = 1 / p).
    """
    from sklearn.isotonic import IsotonicRegression

    nodes = grid.nodes
    prior_slope = np.ones(grid.size - 1) if space == "logits" else 1.0 / nodes[1:]
    allowed = np.concatenate([[0.0], np.cumsum(np.log1p(np.diff(nodes) * (prior_slope - SMALLEST_SLOPE)))])
    projected = [IsotonicRegression().fit_transform(nodes, shift + allowed) for shift in np.atleast_2d(shifts)]
    return (np.array(projected) - allowed).reshape(shifts.shape)


def keep_predicted(probs: Floats, logits: Floats) -> None:
    """Undo, in place, what rounding did to rows whose two largest logits are next to equal.

    With a rising function the largest logit has the largest probability; where logits differ by less than about 1e-11,
    interpolation can round the two into the other order. Its probability is then raised to the next float above.

    Parameters
    ----------
    probs, logits : (n, n_classes)
    """
    rows = np.arange(len(probs))
    top, highest = logits.argmax(axis=1), probs.argmax(axis=1)
    turned = np.flatnonzero(logits[rows, highest] < logits[rows, top])
    probs[turned, top[turned]] = np.nextafter(probs[turned, highest[turned]], 2.0)
