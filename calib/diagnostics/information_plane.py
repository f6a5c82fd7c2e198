"""Label information against compression rate: what each scheme keeps, and what could be kept at most."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from calib.calibrators.imax.density import LogOddsDensity
from calib.calibrators.imax.information import (
    entropy,
    information_of_log_odds,
    joint_of_bins,
    label_entropy,
    mutual_information,
)
from calib.calibrators.imax.placement import best_traces
from calib.calibrators.imax.starts import equal_size_edges
from calib.calibrators.imax.sums import SigmoidSums
from calib.diagnostics.limit import bottleneck_limit
from calib.numerics import Floats, Ints

BIN_COUNTS = (2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)
LEAST_MASS = 1e-9
"""A cell with less can be seen in no picture, and would be lost in running sums."""


@dataclass(frozen=True, eq=False)
class InformationPlane:
    """Schemes with 2 to 64 bins beside the information bottleneck (Patel et al. 2020, figure 4b); all in nats.

    The kernel densities are taken as the truth: the bins are made on them and measured on them.

    Attributes
    ----------
    n_bins : (n_points,) numbers of bins.
    rate : scheme -> (n_points,) I(bin; log-odds) = H(bin).
    label_information : scheme -> (n_points,) I(bin; y).
    limit_rate, limit_information : (n_limit,) increasing: the most label information at each rate that any
        compression, also a random one, can keep (Tishby et al. 1999).
    information : I(log-odds; y), where the limit ends.
    label_entropy : H(y).
    """

    n_bins: Ints
    rate: dict[str, Floats]
    label_information: dict[str, Floats]
    limit_rate: Floats
    limit_information: Floats
    information: float
    label_entropy: float


def information_plane(
    density: LogOddsDensity, n_bins: Sequence[int] = BIN_COUNTS, n_starts: int = 3, random_state: int = 0
) -> InformationPlane:
    """Place and measure the bins of every scheme for several numbers of bins.

    Parameters
    ----------
    density : of the log-odds, from :func:`~calib.calibrators.imax.density.log_odds_density`.
    n_bins : increasing numbers of bins.
    n_starts, random_state : of I-Max, see :func:`~calib.calibrators.imax.placement.best_traces`.
    """
    mass = density.joint().sum(axis=0)
    held = mass > LEAST_MASS
    sums = SigmoidSums.of_weighted(density.middles[held], mass[held])
    below = np.concatenate([[0.0], np.cumsum(mass)])
    rate: dict[str, list[float]] = {"imax": [], "equal_mass": [], "equal_size": []}
    label_information: dict[str, list[float]] = {name: [] for name in rate}
    for m in n_bins:
        edges = {
            "imax": best_traces(sums, m, n_starts, random_state)[0].edges[-1],
            "equal_mass": np.interp(np.arange(1, m) / m * below[-1], below, density.edges),
            "equal_size": equal_size_edges(m),
        }
        for name, inner in edges.items():
            joint = joint_of_bins(density, inner)
            rate[name].append(entropy(joint.sum(axis=0)))
            label_information[name].append(mutual_information(joint))
    limit_rate, limit_information = bottleneck_limit(density.joint())
    return InformationPlane(
        n_bins=np.array(n_bins),
        rate={name: np.array(values) for name, values in rate.items()},
        label_information={name: np.array(values) for name, values in label_information.items()},
        limit_rate=limit_rate,
        limit_information=limit_information,
        information=information_of_log_odds(density),
        label_entropy=label_entropy(density),
    )
