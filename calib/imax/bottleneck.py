"""Label information against compression rate: what each scheme keeps, and what could be kept at most."""

from __future__ import annotations

from dataclasses import dataclass

from calib.numerics import Floats, Ints


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
