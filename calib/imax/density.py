"""Histogram and kernel density of the log-odds of labels and of all other classes."""

from __future__ import annotations

from dataclasses import dataclass

from calib.numerics import Floats, Ints


@dataclass(frozen=True, eq=False)
class LogOddsDensity:
    """How one-vs-rest log-odds are distributed where the class is the label (y = 1) and where it is not (y = 0).

    Millions of pairs are counted in narrow cells of equal width once; the Gaussian kernel density estimates
    (Patel et al. 2020, figure 3) come from the counts.

    Attributes
    ----------
    edges : (n_cells + 1,) equally spaced log-odds; the kernel's tails are inside.
    count_label, count_other : (n_cells,) pairs with y = 1 and with y = 0 in each cell.
    density_label, density_other : (n_cells,) p(log-odds | y) at the middle of each cell, per unit of log-odds;
        each integrates to one over the cells, and is 0 where there is no such pair.
    bandwidth_label, bandwidth_other : standard deviation of each kernel, in log-odds.
    """

    edges: Floats
    count_label: Ints
    count_other: Ints
    density_label: Floats
    density_other: Floats
    bandwidth_label: float
    bandwidth_other: float

    @property
    def middles(self) -> Floats:
        """(n_cells,) middle of each cell, where the densities are given."""
        return (self.edges[1:] + self.edges[:-1]) / 2

    @property
    def share_label(self) -> float:
        """P(y = 1), the share of pairs whose class is the label."""
        positives = int(self.count_label.sum())
        return positives / (positives + int(self.count_other.sum()))
