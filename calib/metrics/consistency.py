"""What a calibrated model with the same confidences would have shown."""

from __future__ import annotations

import numpy as np

from calib.numerics import Floats, Ints


def calibrated_outcomes(
    confidence: Floats, cell: Ints, n_samples: int, random_state: int = 0
) -> tuple[Ints, Floats, Ints]:
    """Right predictions in groups of rows when each row is right with the probability that it says.

    The confidences stay and the outcomes are drawn (Bröcker and Smith 2007), for a group at once: a binomial number at
    the group's mean. Groups must be narrow, because the spread of a group's confidences is taken for chance.

    Parameters
    ----------
    confidence : (n,) floats.
    cell : (n,) numbers of the groups, in [0, n_cells), each with at least one row.
    n_samples : how often the outcomes are drawn.
    random_state : seed.

    Returns
    -------
    (count, mean, right) : (n_cells,) rows and (n_cells,) mean confidence of each group, and (n_samples, n_cells) draws.
    """
    count = np.bincount(cell)
    mean = np.clip(np.bincount(cell, weights=confidence) / count, 0.0, 1.0)
    right = np.random.default_rng(random_state).binomial(count, mean, size=(n_samples, len(count)))
    return count, mean, right
