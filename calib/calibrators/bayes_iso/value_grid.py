"""A grid of probabilities, fine where the labels place the values of a map."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calib.calibrators.pooled_scores import Groups
from calib.numerics import Floats, Ints, logsumexp, sigmoid

N_VALUES = 96

_FINE = np.linspace(-20.0, 20.0, 2001)  # log-odds at which the density of the grid is tabulated
_WITHIN = (np.arange(4) + 0.5) / 4  # where within a cell likelihoods are averaged


@dataclass(frozen=True, eq=False)
class ValueGrid:
    """Cells of [0, 1] and the chance of each group's labels in them.

    Attributes
    ----------
    edges : (n_values + 1,) from 0 to 1.
    log_chances : (m, n_values) logarithm of each group's likelihood, averaged over each cell, less its largest one.
    log_scale : the sum of what was taken away.
    """

    edges: Floats
    log_chances: Floats
    log_scale: float

    @property
    def widths(self) -> Floats:
        """Prior chance of each cell, shape (n_values,)."""
        return np.diff(self.edges)

    def spread(self, cells: Ints, rng: np.random.Generator) -> Floats:
        """Values drawn evenly within cells, each row sorted so that two in one cell are in order."""
        values = self.edges[cells] + rng.random(cells.shape) * self.widths[cells]
        values.sort(axis=1)
        return values


def value_grid(groups: Groups) -> ValueGrid:
    """A grid for the values of a map over few groups.

    Half of its cells are spread evenly in ``arcsin(sqrt(p))``, in which a frequency is equally uncertain everywhere,
    and half where the groups' own posteriors are, on average. These are taken with a quarter of the counts and so
    twice as wide, for a map may have to pass beside what a group says by itself.
    """
    from scipy.special import betainc

    p = sigmoid(_FINE)
    own = betainc(1 + groups.positives[:, None] / 4, 1 + groups.negatives[:, None] / 4, p).mean(axis=0)
    reached = (own + 2 / np.pi * np.arcsin(np.sqrt(p))) / 2
    inner = np.interp(np.arange(1, N_VALUES) / N_VALUES, reached, p)
    edges = np.unique(np.concatenate([[0.0], inner, [1.0]]))
    points = edges[:-1, None] + _WITHIN * np.diff(edges)[:, None]
    positives, negatives = groups.positives[:, None, None], groups.negatives[:, None, None]
    log_chances = logsumexp(positives * np.log(points) + negatives * np.log1p(-points)) - np.log(len(_WITHIN))
    top = log_chances.max(axis=1)
    return ValueGrid(edges, log_chances - top[:, None], float(top.sum()))
