"""What each bin says."""

from __future__ import annotations

import numpy as np

from calib.numerics import Floats, Ints


def monotone_representatives(values: Floats, weights: Floats | Ints) -> Floats:
    """The non-decreasing values nearest to ``values`` in weighted squares: neighbours in the wrong order are pooled.

    Parameters
    ----------
    values : (n_bins,) representatives of neighbouring bins.
    weights : (n_bins,) pairs in each bin; an empty bin gives way to its neighbours.
    """
    blocks: list[tuple[float, float, int]] = []  # value, weight, number of bins
    for value, weight in zip(values.tolist(), np.maximum(weights, 1e-9).tolist(), strict=True):
        block = (value, weight, 1)
        while blocks and blocks[-1][0] >= block[0]:
            before = blocks.pop()
            weight = before[1] + block[1]
            block = ((before[0] * before[1] + block[0] * block[1]) / weight, weight, before[2] + block[2])
        blocks.append(block)
    return np.repeat([value for value, _, _ in blocks], [n for _, _, n in blocks])
