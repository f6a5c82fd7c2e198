"""Folds of calibration rows, and the strength of a penalty that they choose over temperature scaling."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from calib.base import Progress
from calib.numerics import Floats, Ints, blocks

FOLDS = 5

FEWEST = 2 * FOLDS
"""Fewer rows choose nothing."""

MOST_ENTRIES = 2_000_000
"""Of more outputs than this some rows are drawn, or whole clusters: the strength needs no more."""

PATIENCE = 2
"""The search ends after so many strengths in a row whose NLL is clearly above the least one."""

CLEARLY = 0.001
"""Nats."""

FOLD_TOLERANCE = 1e-4
"""Gradient at which fits inside folds end, each weight in a unit of about one curvature."""

_SAME = 1e-9  # relative difference of rounding alone
_SMALLEST = np.finfo(np.float64).tiny  # the probability that a loss takes for zero

Predict = Callable[[Floats], Floats]
"""Probabilities (m, n_classes) of logits (m, n_classes)."""

Fit = Callable[[float | None], Predict]
"""The fit to some rows at a strength, None for temperature scaling; it may start where the one before ended."""


def row_units(logits: Floats, clusters: npt.NDArray[Any] | None = None) -> Ints:
    """A number from 0 for each row, the same for rows with equal logits, or for those of a cluster.

    The numbers rise with ``sum_k sqrt(max_j z_j - z_k)``, of a cluster with its least. So they depend neither on the
    order of rows, nor on how often a row is repeated, on the unit of the logits or the order of the classes.

    Parameters
    ----------
    logits : (n, n_classes) array.
    clusters : (n,) values, equal for rows that belong together; None for rows on their own.
    """
    keys = np.empty(len(logits))
    for rows in blocks(*logits.shape):
        below = logits[rows].max(axis=1, keepdims=True) - logits[rows]
        keys[rows] = np.sqrt(below, out=below).sum(axis=1)
    if clusters is not None:
        clusters = np.unique(clusters, return_inverse=True)[1].ravel()
        least = np.full(clusters.max(initial=-1) + 1, np.inf)
        np.minimum.at(least, clusters, keys)
        return np.argsort(np.argsort(least, kind="stable"))[clusters]
    order = np.argsort(keys)
    units = np.empty(len(keys), dtype=np.intp)
    ordered = keys[order]
    units[order] = np.cumsum(np.diff(ordered, prepend=ordered[:1]) > _SAME * ordered)
    return units


def fold_of_rows(
    logits: Floats, clusters: npt.NDArray[Any] | None = None, *, random_state: int = 0, n_folds: int = FOLDS
) -> Ints:
    """A fold for each row, (n,) in [0, n_folds): the units of :func:`row_units`, dealt to the folds at random.

    Classes are not spread evenly over the folds. A held-out fold would then have the class frequencies of the others,
    which new rows have not, and maps that learn frequencies would look better than they are: vector scaling lost .02 to
    .03 nats by it on 300 simulated rows of 100 classes.
    """
    return deal(row_units(logits, clusters), random_state, n_folds)


def deal(units: Ints, random_state: int, n_folds: int = FOLDS) -> Ints:
    """A fold for each row, whole units in one."""
    dealt = np.random.default_rng(random_state).permutation(units.max(initial=-1) + 1) % n_folds
    return dealt[units]


@dataclass(frozen=True, eq=False)
class FoldChoice:
    """What the folds say.

    Attributes
    ----------
    strength : the best one, or None where temperature scaling is kept.
    gain : how much less its mean NLL on held-out rows is than temperature scaling's, in nats; NaN of too few rows.
    error : standard error of the gain.
    """

    strength: float | None
    gain: float = np.nan
    error: float = 0.0

    @property
    def note(self) -> str:
        """What was chosen and why, in a sentence."""
        if np.isnan(self.gain):
            return (
                f"Temperature scaling is kept: a penalty is chosen from {FOLDS} folds, which take at least {FEWEST} "
                f"rows, and {FOLDS} different rows or clusters."
            )
        chosen = f"The penalty is {self.strength:g}" if self.strength is not None else "Temperature scaling is kept"
        than = "temperature scaling has" if self.strength is not None else "it has"
        change = "lower" if self.gain >= 0 else "higher"
        return (
            f"{chosen}: in {FOLDS} folds of the calibration rows the NLL of the best penalty is {abs(self.gain):.4f} "
            f"nats {change} than {than}, with a standard error of {self.error:.4f}."
        )


def choose_strength(
    strengths: Sequence[float],
    start: Callable[[Floats, Ints, Floats], Fit],
    logits: Floats,
    labels: Ints,
    weights: Floats,
    *,
    clusters: npt.NDArray[Any] | None = None,
    random_state: int = 0,
    progress: Progress,
) -> FoldChoice:
    """The strength with the least NLL on held-out rows, or temperature scaling where that is no worse for certain.

    Temperature scaling is kept where the mean difference by rows is within its standard error: the rows' own
    difficulty, common to both, is no part of it. All that is learned, the temperature too, is learned outside the fold.
    Of more than :data:`MOST_ENTRIES` outputs a part of the rows is drawn.

    Parameters
    ----------
    strengths : from the strongest to the weakest.
    start : called once for each fold as ``start(logits, labels, weights)`` with the rows outside it.
    logits, labels : (n, n_classes) and (n,).
    weights : (n,) how often each row counts.
    clusters : (n,) values, equal for rows that belong together; they stay in one fold.
    random_state : seed of the folds.
    progress : called after each fit with its number, the most there can be, and the mean NLL so far.
    """
    different = row_units(logits)
    units = different if clusters is None else row_units(logits, clusters)
    if weights.sum() < FEWEST or units.max() + 1 < FOLDS:
        return FoldChoice(None)
    parts = -(-(int(different.max()) + 1) * logits.shape[1] // MOST_ENTRIES)
    folds = deal(units, random_state, parts * FOLDS)
    if parts > 1:
        drawn = folds < FOLDS
        logits, labels, weights = logits[drawn], labels[drawn], weights[drawn]
        units, folds = units[drawn], folds[drawn]
    inside = [np.flatnonzero(folds == fold) for fold in range(FOLDS)]
    outside = [np.flatnonzero(folds != fold) for fold in range(FOLDS)]
    fits = [start(logits[rows], labels[rows], weights[rows]) for rows in outside]
    most, calls = FOLDS * (len(strengths) + 1), 0

    def held_out(strength: float | None) -> Floats:
        """NLL of each row under the fit to the other folds, (n,)."""
        nonlocal calls
        losses = np.zeros(len(labels))
        for rows, fit in zip(inside, fits, strict=True):
            probs = fit(strength)(logits[rows])[np.arange(len(rows)), labels[rows]]
            losses[rows] = -np.log(np.maximum(probs, _SMALLEST))
            calls += 1
            progress(calls, most, float(np.average(losses[rows], weights=weights[rows])))
        return losses

    def mean(losses: Floats) -> float:
        return float(np.average(losses, weights=weights))

    baseline = held_out(None)
    means: list[float] = []
    best, behind = baseline, 0
    for strength in strengths:
        losses = held_out(strength)
        means.append(mean(losses))
        if np.argmin(means) == len(means) - 1:
            best = losses
        behind = behind + 1 if means[-1] > min(means) + CLEARLY else 0
        if behind == PATIENCE:
            break
    gain = mean(baseline - best)
    error = standard_error(weights * (baseline - best - gain), units) * len(labels) / float(weights.sum())
    chosen = strengths[int(np.argmin(means))] if gain > error else None
    return FoldChoice(chosen, gain, error)


def standard_error(values: Floats, clusters: npt.NDArray[Any] | None = None) -> float:
    """Standard error of a mean over rows, (n,), of which those of a cluster may depend on each other."""
    sums = values - values.mean()
    if clusters is not None:
        sums = np.bincount(np.unique(clusters, return_inverse=True)[1].ravel(), weights=sums)
    m = len(sums)
    return float(np.sqrt(sums @ sums * m / (m - 1)) / len(values))
