"""Label information that any number of bins keeps, and what it costs to name a bin."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from calib.calibrators.imax.placement import best_traces, equal_width_edges
from calib.calibrators.imax.sums import SigmoidSums
from calib.diagnostics.log_odds_density import (
    LogOddsDensity,
    entropy,
    information_of_log_odds,
    joint_of_bins,
    mutual_information,
)
from calib.numerics import Floats, Ints

BIN_COUNTS = (2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)
N_STARTS = 3
"""Of I-Max for each number of bins."""
LEAST_MASS = 1e-9
"""A cell with less can be seen in no picture, and would be lost in running sums."""


@dataclass(frozen=True, eq=False)
class InformationByBins:
    """Schemes with 2 to 64 bins (the numbers of Patel et al. 2020, figure 4b); all in nats.

    The kernel densities are taken as the truth: the bins are made on them and measured on them. No bins keep more than
    the log-odds carry, nor more than their own rate.

    Attributes
    ----------
    n_bins : (n_points,) numbers of bins.
    rate : scheme -> (n_points,) I(bin; log-odds) = H(bin).
    label_information : scheme -> (n_points,) I(bin; y).
    information : I(log-odds; y).
    """

    n_bins: Ints
    rate: dict[str, Floats]
    label_information: dict[str, Floats]
    information: float


def information_by_bins(density: LogOddsDensity, n_bins: Sequence[int] = BIN_COUNTS) -> InformationByBins:
    """Place and measure the bins of every scheme for several, increasing numbers of bins."""
    mass = density.joint().sum(axis=0)
    held = mass > LEAST_MASS
    sums = SigmoidSums.from_weighted(density.middles[held], mass[held])
    below = np.concatenate([[0.0], np.cumsum(mass)])
    rate: dict[str, list[float]] = {"imax": [], "equal_mass": [], "equal_width": []}
    label_information: dict[str, list[float]] = {name: [] for name in rate}
    for m in n_bins:
        edges = {
            "imax": best_traces(sums, m, N_STARTS)[0].edges[-1],
            "equal_mass": np.interp(np.arange(1, m) / m * below[-1], below, density.edges),
            "equal_width": equal_width_edges(m),
        }
        for name, inner in edges.items():
            joint = joint_of_bins(density, inner)
            rate[name].append(entropy(joint.sum(axis=0)))
            label_information[name].append(mutual_information(joint))
    return InformationByBins(
        n_bins=np.array(n_bins),
        rate={name: np.array(values) for name, values in rate.items()},
        label_information={name: np.array(values) for name, values in label_information.items()},
        information=information_of_log_odds(density),
    )
