"""Entropy and mutual information in nats, of cells and of bins over cells."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from calib.calibrators.imax.density import LogOddsDensity
from calib.numerics import Floats

NATS_PER_BIT = float(np.log(2.0))


def entropy(masses: Floats) -> float:
    """Entropy in nats of masses that sum to one; zero masses contribute nothing."""
    held = masses[masses > 0]
    return float(-np.sum(held * np.log(held)))


def mutual_information(joint: Floats) -> float:
    """``sum_y sum_m P(y, m) log[P(y, m) / (P(y) P(m))]`` in nats.

    Parameters
    ----------
    joint : (n_labels, n_bins) masses that sum to one.
    """
    independent = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0)
    held = joint > 0
    return max(float(np.sum(joint[held] * np.log(joint[held] / independent[held]))), 0.0)


def joint_of_bins(density: LogOddsDensity, edges: Floats) -> Floats:
    """P(y, bin) under the kernel densities, (2, ..., n_bins), y = 0 first.

    A cell that an edge cuts is divided in proportion, which leaves no more information in the bins than in the
    cells.

    Parameters
    ----------
    edges : (..., n_bins - 1) increasing inner edges in log-odds.
    """
    below = np.concatenate([np.zeros((2, 1)), np.cumsum(density.joint(), axis=1)], axis=1)
    at_edges = np.stack([np.interp(edges, density.edges, row) for row in below])
    ends = np.broadcast_to(below[:, -1].reshape(-1, *[1] * edges.ndim), (*at_edges.shape[:-1], 1))
    return np.diff(at_edges, axis=-1, prepend=0.0, append=ends)


def information_of_bins(density: LogOddsDensity, edges: Floats) -> float:
    """I(bin; y) in nats under the kernel densities."""
    return mutual_information(joint_of_bins(density, edges))


def information_along(density: LogOddsDensity, steps: Sequence[Floats]) -> Floats:
    """I(bin; y) in nats under the kernel densities for many sets of edges, such as the steps of a trace."""
    most = max(len(edges) for edges in steps)
    # A repeated edge makes a bin without mass, which carries no information.
    padded = np.array([np.concatenate([edges, np.full(most - len(edges), density.edges[-1])]) for edges in steps])
    joint = joint_of_bins(density, padded)
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = joint * np.log(joint / (joint.sum(axis=-1, keepdims=True) * joint.sum(axis=0)))
    return np.maximum(np.where(joint > 0, terms, 0.0).sum(axis=(0, 2)), 0.0)


def information_of_log_odds(density: LogOddsDensity) -> float:
    """I(log-odds; y) in nats under the kernel densities: what no binning can exceed; itself at most H(y)."""
    return mutual_information(density.joint())


def label_entropy(density: LogOddsDensity) -> float:
    """H(y) in nats."""
    return entropy(np.array([density.share_label, 1.0 - density.share_label]))
