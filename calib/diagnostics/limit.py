"""The information bottleneck: the most that any compression of the log-odds can keep of the label."""

from __future__ import annotations

import numpy as np

from calib.calibrators.imax.information import entropy, mutual_information
from calib.numerics import Floats

N_POSTERIORS = 128
"""The limit sees the log-odds through so many values of P(y = 1 | log-odds), which keep all but 1e-4 of it."""

TRADE_OFFS = 1.0 + np.geomspace(1e5, 0.05, 60)
"""Nats of rate that one nat of label information is worth, from keeping all to keeping nothing, which is at one."""

MOST_ROUNDS = 100
LEAST_MASS = 1e-12
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
    found = [(0.0, 0.0), (entropy(mass), mutual_information(np.stack([mass * (1 - posterior), mass * posterior])))]
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
            found.append((rate, mutual_information(label)))
        codes, share = _merged(codes, share)
    return _upper_hull(np.array(sorted(found)))


def _posteriors(joint: Floats) -> tuple[Floats, Floats]:
    """Masses of groups of cells that say nearly the same about the label, and what they say: two (n_groups,).

    The number of groups in a region goes with the cube root of mass times Fisher information, which loses the least
    of all (the high-resolution limit of quantisation).
    """
    total = joint.sum(axis=0)
    held = total > LEAST_MASS
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
