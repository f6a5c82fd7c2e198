"""Label information of bins against their compression rate, and the information bottleneck as its limit."""

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
    label_entropy,
    mutual_information,
)
from calib.numerics import Floats, Ints

N_POSTERIORS = 128
"""The limit sees the log-odds through so many values of P(y = 1 | log-odds), which keep all but 1e-4 of it."""

TRADE_OFFS = 1.0 + np.geomspace(1e5, 0.05, 60)
"""Nats of rate that one nat of label information is worth, from keeping all to keeping nothing, which is at one."""

MOST_ROUNDS = 100
LEAST_CELL_MASS = 1e-12
LEAST_RATE = 1e-9


def bottleneck_limit(joint: Floats) -> tuple[Floats, Floats]:
    """The most label information at each rate: the information bottleneck of Tishby et al. 1999, in nats.

    For one trade-off after the other, from all kept to nothing kept, P(code | cell) and P(y | code) are updated in
    turn, each time from where the last one ended; codes that have become the same are merged. What comes out are
    points that some random code reaches; the limit is the upper hull of these.

    Parameters
    ----------
    joint : (2, n_cells) masses P(y, cell) that sum to one, y = 0 first.

    Returns
    -------
    rate, information : (n_points,) increasing I(code; cell) and I(code; y), from (0, 0) to where all is kept.
    """
    mass, posterior = _posteriors(joint)
    codes, share = posterior, mass
    points = [(0.0, 0.0), (entropy(mass), mutual_information(np.stack([mass * (1 - posterior), mass * posterior])))]
    for trade_off in TRADE_OFFS:
        for _ in range(MOST_ROUNDS):
            encoder = _encoder(posterior, codes, share, trade_off)
            before = codes
            share = mass @ encoder
            codes = (mass * posterior) @ encoder / share
            if np.abs(codes - before).max() < 1e-6:
                break
        kept = mass[:, None] * encoder
        label = np.stack([share * (1 - codes), share * codes])
        if (rate := mutual_information(kept)) > LEAST_RATE:
            points.append((rate, mutual_information(label)))
        codes, share = _merged(codes, share)
    return _upper_hull(np.array(sorted(points)))


def _posteriors(joint: Floats) -> tuple[Floats, Floats]:
    """Masses of groups of cells that say nearly the same about the label, and what they say: two (n_groups,).

    The number of groups in a region goes with the cube root of mass times Fisher information, which loses the least
    of all (the high-resolution limit of quantisation).
    """
    total = joint.sum(axis=0)
    held = total > LEAST_CELL_MASS
    posterior = joint[1, held] / total[held]
    order = np.argsort(posterior)
    total, posterior = total[held][order], posterior[order]
    needed = np.cumsum(np.cbrt(total * posterior * (1 - posterior)))
    if len(total) <= N_POSTERIORS or not needed[-1] > 0:
        return total / total.sum(), posterior
    group = np.minimum((needed / needed[-1] * N_POSTERIORS).astype(np.intp), N_POSTERIORS - 1)
    mass = np.bincount(group, total)
    ones = np.bincount(group, total * posterior)
    return mass[mass > 0] / mass.sum(), ones[mass > 0] / mass[mass > 0]


def _encoder(posterior: Floats, codes: Floats, share: Floats, trade_off: float) -> Floats:
    """``P(code | cell) ~ P(code) exp(-trade_off * KL(P(y | cell) || P(y | code)))``, (n_cells, n_codes)."""
    tiny = np.finfo(float).tiny
    log_one, log_zero = np.log(np.maximum(codes, tiny)), np.log(np.maximum(1 - codes, tiny))
    score = np.log(share) + trade_off * (np.outer(posterior, log_one) + np.outer(1 - posterior, log_zero))
    score -= score.max(axis=1, keepdims=True)
    encoder = np.exp(score)
    encoder /= encoder.sum(axis=1, keepdims=True)
    return encoder


def _merged(codes: Floats, share: Floats) -> tuple[Floats, Floats]:
    """Codes without those that hold nothing, the equal ones merged."""
    held = share > 1e-12
    order = np.argsort(codes[held])
    codes, share = codes[held][order], share[held][order]
    group = np.concatenate([[0], np.cumsum(np.diff(codes) > 1e-6)])
    total = np.bincount(group, share)
    return np.bincount(group, share * codes) / total, total / total.sum()


def _upper_hull(points: Floats) -> tuple[Floats, Floats]:
    """The concave increasing curve above (n, 2) sorted points."""
    hull: list[tuple[float, float]] = []
    for rate, information in points.tolist():
        if hull and information <= hull[-1][1]:
            continue
        while len(hull) > 1:
            (a, b), (c, d) = hull[-2], hull[-1]
            if (d - b) * (rate - a) > (information - b) * (c - a):
                break
            hull.pop()
        hull.append((rate, information))
    return np.array([rate for rate, _ in hull]), np.array([information for _, information in hull])


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
    density : of the log-odds, from :func:`~calib.diagnostics.log_odds_density.log_odds_density`.
    n_bins : increasing numbers of bins.
    n_starts, random_state : of I-Max, see :func:`~calib.calibrators.imax.placement.best_traces`.
    """
    mass = density.joint().sum(axis=0)
    held = mass > LEAST_MASS
    sums = SigmoidSums.from_weighted(density.middles[held], mass[held])
    below = np.concatenate([[0.0], np.cumsum(mass)])
    rate: dict[str, list[float]] = {"imax": [], "equal_mass": [], "equal_width": []}
    label_information: dict[str, list[float]] = {name: [] for name in rate}
    for m in n_bins:
        edges = {
            "imax": best_traces(sums, m, n_starts, random_state)[0].edges[-1],
            "equal_mass": np.interp(np.arange(1, m) / m * below[-1], below, density.edges),
            "equal_width": equal_width_edges(m),
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
