"""A piecewise linear map with fewer knots that says the same."""

from __future__ import annotations

import numpy as np

from calib.numerics import Floats, Ints

TOLERANCE = 1e-6
"""Squared error over p (1 - p) that thinning may make: about twice what it can add to a log-loss, in nats."""


def thin(knots: Floats, values: Floats, tolerance: float = TOLERANCE) -> Ints:
    """Positions of the knots to keep so that lines between them stay close to the map.

    Starts with the two ends and adds the worst knot of every segment until none is off by more than
    ``sqrt(tolerance p (1 - p))``, as Douglas and Peucker (1973) simplify curves.

    Parameters
    ----------
    knots : (m,) strictly increasing; values : (m,) in (0, 1).

    Returns
    -------
    Increasing positions in 0..m-1, the first and the last among them.
    """
    allowed = np.sqrt(tolerance * values * (1 - values))
    kept = np.unique([0, len(knots) - 1])
    while True:
        off = np.abs(np.interp(knots, knots[kept], values[kept]) - values) / allowed
        if len(kept) == len(knots) or off.max() <= 1:
            return kept
        starts = kept[:-1]
        worst = np.maximum.reduceat(off[:-1], starts)
        segment = np.searchsorted(kept, np.arange(len(knots) - 1), side="right") - 1
        added = np.flatnonzero((off[:-1] == worst[segment]) & (off[:-1] > 1))
        kept = np.union1d(kept, added)
