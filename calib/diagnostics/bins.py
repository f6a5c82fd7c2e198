"""Limits of bins (Patel et al. 2020): I-Max's iterations, the bottleneck limit, pairs, and the ECE by bins and rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from calib.calibrators.imax.placement import (
    centres_of,
    edges_between,
    equal_width_edges,
    information_bound,
    without_empty_bins,
)
from calib.diagnostics.binning import (
    LogOddsDensity,
    density_quantiles,
    density_sums,
    entropy,
    mutual_information,
)
from calib.metrics import debiased_ece, ece
from calib.metrics.binning import BINNINGS, binned
from calib.metrics.bootstrap import drawn_units
from calib.metrics.calibration_error import norm_of_gaps
from calib.metrics.confidence import Bools
from calib.numerics import Floats, Ints, one_vs_rest_log_odds, sigmoid

N_STEPS = 60
N_CELLS = 160
"""Of log-odds, in which the bottleneck is computed; 256 take four times as long for 0.05 % more information."""
TRADE_OFFS = np.geomspace(20_000.0, 1.0, 34)
"""Multipliers of the label information against the rate, the largest first."""
N_ITERATIONS = 60
"""Of the bottleneck at each multiplier, each from the one before."""


@dataclass(frozen=True, eq=False)
class BinningLimits:
    """Figure 4 of Patel et al. (2020) for the kernel densities of log-odds; in nats.

    Attributes
    ----------
    steps : start of I-Max's iterations -> (n_steps + 1,) information of its bins under the sigmoid model.
    model_information : I(log-odds; y) under the same model, the bound of all steps.
    rate, label_information : (m,) the most information about the label at each rate, under the kernel densities.
    """

    steps: dict[str, Floats]
    model_information: float
    rate: Floats
    label_information: Floats


def binning_limits(density: LogOddsDensity, n_bins: int) -> BinningLimits:
    """Follow I-Max from bins of equal mass and of equal width, and compute the limit of all stochastic bins.

    Parameters
    ----------
    density : of the log-odds.
    n_bins : number of bins at the start; empty ones go.
    """
    sums = density_sums(density)
    starts = {
        "equal_mass": density_quantiles(density, n_bins),
        "equal_width": equal_width_edges(n_bins),
    }
    steps = {}
    for name, edges in starts.items():
        information = []
        for _ in range(N_STEPS + 1):
            edges, cuts = without_empty_bins(sums, edges)
            centres = centres_of(sums, cuts)
            information.append(information_bound(*sums.between(cuts), centres))
            edges = edges_between(centres)
        steps[name] = np.array(information)
    mass = density.joint().sum(axis=0)
    model = sigmoid(density.middles)
    most = mutual_information(np.stack([mass * (1 - model), mass * model]))
    return BinningLimits(steps, most, *bottleneck(density.joint()))


def bottleneck(joint: Floats) -> tuple[Floats, Floats]:
    """Rates and label information of the information bottleneck (Tishby, Pereira and Bialek 1999), in nats.

    No bins, also of chance, keep more about the label at the same rate I(bin; log-odds). The self-consistent equations
    are iterated from nearly no compression to much.

    Parameters
    ----------
    joint : (2, n) masses of y and cell that sum to one; neighbouring cells are merged to at most 160, of which most
        lie where the label is uncertain.

    Returns
    -------
    Rates, increasing, and the information at each, both of shape (m,).

    Examples
    --------
    >>> rate, information = bottleneck(np.array([[0.45, 0.05], [0.05, 0.45]]))
    >>> bool((information <= rate).all()), round(float(information[-1]), 3)
    (True, 0.368)
    """
    joint = joint[:, joint.sum(axis=0) > 0]
    uncertain = joint.prod(axis=0) / joint.sum(axis=0)
    weight = np.cumsum(joint.sum(axis=0) + 3 * uncertain / max(uncertain.sum(), 1e-300))
    cuts = np.searchsorted(weight, np.arange(N_CELLS) / N_CELLS * weight[-1])
    joint = np.add.reduceat(joint, np.unique(cuts), axis=1)
    mass = joint.sum(axis=0)
    chance = joint / mass
    logs = np.log(np.maximum(chance, 1e-300))
    bins = mass
    means = chance
    points = []
    for trade_off in TRADE_OFFS:
        for _ in range(N_ITERATIONS):
            gain = chance.T @ np.log(np.maximum(means, 1e-300))
            divergence = (chance * logs).sum(axis=0)[:, None] - gain
            share = bins * np.exp(-trade_off * np.maximum(divergence, 0.0))
            share = share / share.sum(axis=1, keepdims=True)
            bins = mass @ share
            stored = bins > 1e-12
            share, bins = share[:, stored], bins[stored]
            means = joint @ share / bins
        points.append((mutual_information(mass[:, None] * share), mutual_information(means * bins)))
    rate, information = np.array([*points[::-1]]).T
    return rate, information


N_CUTS = 30
"""Cells of the histograms whose divergence is measured."""


@dataclass(frozen=True, eq=False)
class SetDivergence:
    """Distance of the log-odds of y = 1 in a set of pairs from those of a class (figure S1); 0 is equal, 1 disjoint.

    Attributes
    ----------
    n_rows : (m,) rows that make the set.
    class_wise : (m, n_classes) distance of the class's own pairs.
    shared : (m, n_classes) distance of the pairs of all classes.
    """

    n_rows: Ints
    class_wise: Floats
    shared: Floats


def set_divergence(*, data: dict[str, Any]) -> SetDivergence:
    """Compare pairs of one class and of all classes with the pairs of that class on other rows.

    Half of the rows, at random, stand for the truth of each class. From the others come sets of more and more rows,
    each a histogram of log-odds where the class is the label, and the square root of its Jensen-Shannon divergence
    (base 2). A class without a row in its set has distance 1.

    Parameters
    ----------
    data : "logits" (n, n_classes) and "labels" (n,).

    Examples
    --------
    >>> import calib
    >>> sample = calib.load_sample("digits-cnn")
    >>> found = set_divergence(data={"logits": sample.logits, "labels": sample.labels})
    >>> bool(found.shared[0].mean() < found.class_wise[0].mean())
    True
    """
    logits, labels = data["logits"], data["labels"]
    n, n_classes = logits.shape
    label_log_odds = one_vs_rest_log_odds(logits)[np.arange(n), labels]
    cuts = np.linspace(label_log_odds.min(), label_log_odds.max(), N_CUTS + 1)[1:-1]
    cell = labels * N_CUTS + np.searchsorted(cuts, label_log_odds, side="right")
    order = np.random.default_rng(0).permutation(n)
    half = n // 2
    truth = _histograms(cell[order[half:]], n_classes)
    n_rows = np.unique(np.geomspace(min(2 * n_classes, half), half, 7).astype(int))
    class_wise = []
    shared = []
    for size in n_rows:
        counts = _histograms(cell[order[:size]], n_classes)
        class_wise.append([_distance(*pair) for pair in zip(counts, truth, strict=True)])
        shared.append([_distance(counts.sum(axis=0), histogram) for histogram in truth])
    return SetDivergence(n_rows, np.array(class_wise), np.array(shared))


def _histograms(cell: Ints, n_classes: int) -> Floats:
    counts = np.bincount(cell, minlength=n_classes * N_CUTS).reshape(n_classes, N_CUTS)
    return counts.astype(float)


def _distance(first: Floats, second: Floats) -> float:
    """Square root of the Jensen-Shannon divergence, in bits, of two histograms; 1 where one is empty."""
    if not (first.any() and second.any()):
        return 1.0
    first, second = first / first.sum(), second / second.sum()
    nats = entropy((first + second) / 2) - (entropy(first) + entropy(second)) / 2
    return float(np.sqrt(max(nats, 0.0) / np.log(2)))


BIN_COUNTS = (5, 10, 15, 25, 50, 100)
ROW_COUNTS = (100, 200, 500, 1000, 2000, 5000, 10_000)
MOST_ROWS = 20_000
"""Of more test rows, evenly spaced ones are taken."""
N_RESAMPLES = 200
N_BINS = 15
"""Of equal width, in which resamples are scored."""


@dataclass(frozen=True, eq=False)
class ErrorByBins:
    """The ECE of one model in different bins and on different numbers of rows.

    Attributes
    ----------
    n_bins : (m,) numbers of bins, increasing.
    errors : binning -> (m,) ECE in bins of this kind.
    debiased : binning -> (m,) debiased L2 calibration error in the same bins; empty for weighted rows.
    n_rows : (k,) numbers of rows, increasing; the last one is the number of rows that were used.
    mean, low, high : (k,) mean and central 95 % interval of the ECE of resamples of so many rows.
    """

    n_bins: Ints
    errors: dict[str, Floats]
    debiased: dict[str, Floats]
    n_rows: Ints
    mean: Floats
    low: Floats
    high: Floats


def error_by_bins(
    confidence: Floats, correct: Bools, weights: Any = None, clusters: Any = None
) -> ErrorByBins:
    """Compute the ECE in 5 to 100 bins of every kind, and on resamples of 100 rows to all of them.

    Few bins hide errors that cancel within them; many bins and few rows add the noise of each bin to its gap. So the
    ECE of a continuous calibrator depends on both numbers. A calibrator that gives few different confidences has the
    same ECE in all bins that keep these apart.

    Parameters
    ----------
    confidence, correct : (n,) probabilities and outcomes.
    weights : (n,) weight of each row; None counts all alike.
    clusters : (n,) what rows that belong together share; resamples draw whole clusters, about as many as hold the
        number of rows.

    Examples
    --------
    >>> confidence = np.linspace(0.5, 1, 400)
    >>> correct = np.random.default_rng(0).random(400) < confidence
    >>> found = error_by_bins(confidence, correct)
    >>> found.errors["equal_width"][0] < found.errors["equal_width"][-1]  # noise grows with the number of bins
    np.True_
    >>> found.n_rows.tolist(), bool(found.mean[0] > found.mean[-1])  # and falls with the number of rows
    ([100, 200, 400], True)
    """
    rows = slice(None, None, max(1, -(-len(correct) // MOST_ROWS)))
    confidence, correct = confidence[rows], correct[rows]
    weights, clusters = (None if part is None else part[rows] for part in (weights, clusters))
    scheme = [(binning, n_bins) for binning in BINNINGS for n_bins in BIN_COUNTS]
    errors = {
        (binning, n_bins): ece(
            confidence=confidence, correct=correct, n_bins=n_bins, binning=binning, weights=weights
        )
        for binning, n_bins in scheme
    }
    debiased = {
        (binning, n_bins): debiased_ece(
            confidence=confidence, correct=correct, n_bins=n_bins, binning=binning
        )
        for binning, n_bins in scheme
        if weights is None
    }
    n = len(correct)
    weight = np.ones(n) if weights is None else np.asarray(weights, dtype=float)
    unit, n_units, _ = drawn_units(n, clusters)
    n_rows = np.array([*(size for size in ROW_COUNTS if n / n_units <= size < n), n])
    draws = [
        errors_of_resamples(confidence, correct, weight, unit, round(n_units * size / n))
        for size in n_rows
    ]
    low, high = np.quantile(draws, [0.025, 0.975], axis=1)
    return ErrorByBins(
        n_bins=np.array(BIN_COUNTS),
        errors=_by_binning(errors),
        debiased=_by_binning(debiased),
        n_rows=n_rows,
        mean=np.mean(draws, axis=1),
        low=low,
        high=high,
    )


def _by_binning(values: dict[tuple[str, int], float]) -> dict[str, Floats]:
    """Binning -> values in the order of ``BIN_COUNTS``."""
    kinds = dict.fromkeys(binning for binning, _ in values)
    return {kind: np.array([values[kind, n_bins] for n_bins in BIN_COUNTS]) for kind in kinds}


def errors_of_resamples(
    confidence: Floats, correct: Bools, weight: Floats, unit: Ints, n_drawn: int
) -> Floats:
    """ECE, in 15 bins of equal width, of 200 resamples of so many rows or clusters.

    Parameters
    ----------
    confidence, correct, weight : (n,) of each row.
    unit : (n,) number of each row's cluster, or of the row.
    n_drawn : how many of them a resample draws, with replacement.
    """
    _, index = binned(confidence, N_BINS, "equal_width")
    n_units = int(unit.max()) + 1
    generator = np.random.default_rng(0)
    draws = np.empty(N_RESAMPLES)
    for i in range(N_RESAMPLES):
        times = np.bincount(generator.integers(n_units, size=n_drawn), minlength=n_units)
        drawn = weight * times[unit]
        mass = np.bincount(index, drawn, N_BINS)
        excess = np.bincount(index, drawn * (confidence - correct), N_BINS)
        gap = np.divide(excess, mass, out=np.zeros(N_BINS), where=mass > 0)
        draws[i] = norm_of_gaps(gap, mass / max(mass.sum(), np.finfo(float).tiny), 1)
    return draws
