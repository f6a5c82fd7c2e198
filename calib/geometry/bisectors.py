"""How far an input lies from the plane half-way between two training inputs (Chouraqui et al. 2023, lemma 1)."""

from __future__ import annotations

import numpy as np

from calib.numerics import Floats, Ints, blocks


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
    for part in blocks(len(rows), features.shape[1]):
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


def lowest_bisector(gaps: Floats, shortest: Floats, longest: Floats) -> Floats:
    """Least that ``gap / (2 d)`` can be, -inf where the two may lie at zero distance.

    Parameters
    ----------
    gaps : (m, k) d²(x, x'') - d²(x, x') at the least.
    shortest, longest : (m, k) d²(x', x'') at the least and at the most.
    """
    apart = shortest > 0
    squared = np.where(gaps > 0, longest, shortest)
    return np.divide(gaps, 2 * np.sqrt(squared, where=apart, out=squared), where=apart, out=np.full_like(gaps, -np.inf))
