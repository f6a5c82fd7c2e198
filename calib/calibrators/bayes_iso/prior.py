"""Drawing calibration maps from the recursive prior of Allikivi and Kull (2019), section 4.2."""

from __future__ import annotations

import numpy as np

from calib.calibrators.bayes_iso.bounds import Bounds
from calib.numerics import Floats


def sample_maps(n_maps: int, bounds: Bounds, rng: np.random.Generator) -> Floats:
    """Maps drawn from the prior: a rank, a value between its neighbours', and so on to the left and to the right.

    Within an open range of ranks one is drawn uniformly, and its value uniformly between the values at the ends of the
    range, but inside the bounds. All open ranges of all maps are split at once, level by level: about 3 log2(m) passes
    over flat arrays in place of n_maps * m calls.

    Parameters
    ----------
    n_maps : how many.
    bounds : lower and upper, each (m,) and non-decreasing.

    Returns
    -------
    (n_maps, m) array, each row non-decreasing
    """
    lower, upper = bounds
    m = len(lower)
    maps = np.empty(n_maps * m)
    # Of each open range: where its first rank lies in ``maps``, which rank that is, how many there are, and the values
    # on either side.
    place = np.arange(0, n_maps * m, m, dtype=np.int32)
    rank = np.zeros(n_maps, dtype=np.int32)
    size = np.full(n_maps, m, dtype=np.int32)
    low, high = np.zeros(n_maps), np.ones(n_maps)
    while len(place):
        pick = (rng.random(len(size)) * size).astype(np.int32)
        picked = rank + pick
        least = np.maximum(low, lower[picked])
        most = np.minimum(high, upper[picked])
        value = least + rng.random(len(size)) * (most - least)
        maps[place + pick] = value
        rest = size - pick - 1
        left, right = np.flatnonzero(pick), np.flatnonzero(rest)
        step = pick[right] + 1
        place, rank, size, low, high = (
            np.concatenate([place[left], place[right] + step]),
            np.concatenate([rank[left], rank[right] + step]),
            np.concatenate([pick[left], rest[right]]),
            np.concatenate([low[left], value[right]]),
            np.concatenate([value[left], high[right]]),
        )
    return maps.reshape(n_maps, m)
