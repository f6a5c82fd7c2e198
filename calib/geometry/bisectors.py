"""How far an input lies from the plane half-way between two training inputs (Chouraqui et al. 2023, lemma 1)."""

from __future__ import annotations

import numpy as np

from calib.geometry.squared_distances import PAIR_ELEMENTS
from calib.numerics import Floats, Ints


def bisector_distances(
    features: Floats, rows: Ints, train_features: Floats, same_rows: Ints, other_rows: Ints
) -> Floats:
    """Signed distance of x from the plane half-way between x' and x'', positive on the side of x', in float64.

    The paper's (d²(x, x'') - d²(x, x')) / (2 d(x', x'')) is (x' - x'')·((x - x') + (x - x'')) / (2 |x' - x''|), which
    does not cancel where x' and x'' are near. Pairs at zero distance have no plane: -inf, which no maximum takes.

    Parameters
    ----------
    features : (n, d) inputs; ``rows`` (m,) names x in each of m triples.
    train_features : (N, d) training inputs; ``same_rows`` (m,) names x', ``other_rows`` (m,) names x''.
    """
    values = np.full(len(rows), -np.inf)
    step = max(1, PAIR_ELEMENTS // max(features.shape[1], 1))
    for start in range(0, len(rows), step):
        part = slice(start, start + step)
        inputs = features[rows[part]].astype(np.float64)
        same = train_features[same_rows[part]].astype(np.float64)
        other = train_features[other_rows[part]].astype(np.float64)
        normals = same - other
        np.subtract(inputs, same, out=same)
        np.subtract(inputs, other, out=other)
        same += other
        lengths = np.sqrt(np.einsum("ij,ij->i", normals, normals))
        products = np.einsum("ij,ij->i", normals, same)
        np.divide(products, 2.0 * lengths, out=values[part], where=lengths > 0)
    return values


def bisector_bounds(gaps: Floats, gap_error: Floats, squared: Floats, error: float) -> tuple[Floats, Floats]:
    """Least and largest that ``gap / (2 d)`` can be where both are known up to rounding.

    Parameters
    ----------
    gaps : (m, k) approximate d²(x, x'') - d²(x, x'), each within ``gap_error`` (m, 1).
    squared : (m, k) approximate d²(x', x''), each within ``error``.

    Returns
    -------
    low, high : (m, k); -inf and inf where the pair may lie at zero distance.
    """
    apart = squared > error
    shortest = 2 * np.sqrt(squared - error, where=apart, out=np.ones_like(squared))
    longest = 2 * np.sqrt(squared + error, where=apart, out=np.ones_like(squared))
    low, high = gaps - gap_error, gaps + gap_error
    low /= np.where(low > 0, longest, shortest)
    high /= np.where(high > 0, shortest, longest)
    low[~apart], high[~apart] = -np.inf, np.inf
    return low, high
