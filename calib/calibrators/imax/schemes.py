"""The three ways to place the edges of the bins."""

from __future__ import annotations

from calib.calibrators.imax.placement import MAX_STEPS, best_traces
from calib.calibrators.imax.starts import equal_mass_edges, equal_size_edges
from calib.calibrators.imax.sums import SigmoidSums
from calib.numerics import Floats

SCHEMES = ("imax", "equal_mass", "equal_size")
"""I-Max; equally many pairs in each bin; equally wide in probability."""


def scheme_edges(
    sums: SigmoidSums,
    scheme: str,
    n_bins: int,
    *,
    sigmoid: tuple[float, float] = (1.0, 0.0),
    n_starts: int = 3,
    random_state: int = 0,
    max_steps: int = MAX_STEPS,
) -> Floats:
    """Increasing inner edges of a scheme in log-odds; fewer than ``n_bins - 1`` where log-odds are few or tied.

    Parameters
    ----------
    sums : the sorted log-odds.
    scheme : "imax", "equal_mass" or "equal_size".
    sigmoid : slope and intercept of I-Max's model ``P(y = 1 | x) = sigmoid(slope * x + intercept)``; the slope is
        positive. Other than (1, 0) they scale the update of the edges (Patel et al. 2020, eq. S19).
    n_starts, random_state, max_steps : of I-Max, see :func:`~calib.calibrators.imax.placement.best_traces`.
    """
    if scheme == "equal_size":
        return equal_size_edges(n_bins)
    if scheme == "equal_mass":
        return equal_mass_edges(sums, n_bins)
    slope, intercept = sigmoid
    if sigmoid != (1.0, 0.0):
        sums = SigmoidSums.of(slope * sums.log_odds + intercept)
    edges = best_traces(sums, n_bins, n_starts, random_state, max_steps)[0].edges[-1]
    return (edges - intercept) / slope
