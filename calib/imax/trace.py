"""What the iterations of I-Max did, step by step."""

from __future__ import annotations

from dataclasses import dataclass

from calib.numerics import Floats


@dataclass(frozen=True, eq=False)
class EdgeTrace:
    """Edges and bound at every step, from one start to the fixpoint.

    Attributes
    ----------
    start : "kmeans", "equal_mass" or "equal_size".
    edges : one array per step, the start first and the result last; each holds the increasing inner edges of
        the bins in log-odds. Almost always ``n_bins - 1``; fewer where there are fewer distinct log-odds.
    bound : (n_steps,) the lower bound of the mutual information between bin and label under
        P(y = 1 | log-odds) = sigmoid(log-odds), in nats, with the edges of that step; it never falls.
    converged : whether another step would change nothing; False where ``max_iter`` came first.
    """

    start: str
    edges: tuple[Floats, ...]
    bound: Floats
    converged: bool
