"""What lies in each bin of one scheme."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calib.numerics import Floats, Ints

SCHEMES = ("imax", "equal_mass", "equal_size")
"""I-Max; equally many pairs in each bin; equally wide in probability."""


@dataclass(frozen=True, eq=False)
class BinnedPairs:
    """One-vs-rest pairs in the bins of one scheme, lowest log-odds first.

    Attributes
    ----------
    scheme : "imax", "equal_mass" or "equal_size".
    edges : (n_bins - 1,) increasing inner edges in log-odds; bin m is ``edges[m - 1] <= log-odds < edges[m]``.
    count : (n_bins,) pairs in each bin.
    positives : (n_bins,) those whose class is the label.
    predicted : (n_bins,) mean of sigmoid(log-odds), what the model says about the bin; NaN where it is empty.
    representatives : (n_bins,) what the bin says after calibration, a probability.
    bound : lower bound of I(bin; y) under P(y = 1 | log-odds) = sigmoid(log-odds), in nats.
    label_information : I(bin; y) under the kernel densities, in nats.
    rate : I(bin; log-odds) = H(bin) under the kernel densities, in nats: what it costs to name the bin.
    """

    scheme: str
    edges: Floats
    count: Ints
    positives: Ints
    predicted: Floats
    representatives: Floats
    bound: float
    label_information: float
    rate: float

    @property
    def mass(self) -> Floats:
        """(n_bins,) share of all pairs in each bin."""
        return self.count / self.count.sum()

    @property
    def frequency(self) -> Floats:
        """(n_bins,) share of a bin's pairs whose class is the label; NaN where it is empty."""
        return self.positives / np.where(self.count, self.count, np.nan)

    @property
    def width(self) -> Floats:
        """(n_bins,) width in log-odds; infinite at both ends."""
        return np.diff(self.edges, prepend=-np.inf, append=np.inf)
