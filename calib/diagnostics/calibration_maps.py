"""Calibration maps of one class, or of all pooled, and how often the class is the label at its scores."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from calib.arrays import check_labels, check_logits
from calib.base import Calibrator
from calib.calibrators.bayes_iso import BayesIso, BayesIsoMap
from calib.calibrators.one_vs_rest import OneVsRest
from calib.calibrators.venn_abers import VennAbers
from calib.errors import CalibrationError
from calib.metrics.bootstrap import wilson_interval
from calib.numerics import MEMORY_ENTRIES, Floats, Ints, blocks, one_vs_rest_log_odds


@dataclass(frozen=True)
class EndConfidence:
    """Mean calibrated probability against the share of positives at both ends of the ranking.

    Attributes
    ----------
    first_mean, first_share : among the pairs of lowest score; a mean below the share is overconfident.
    last_mean, last_share : among the pairs of highest score; a mean above the share is overconfident.
    n_pairs : how many pairs each end holds.
    """

    first_mean: float
    first_share: float
    last_mean: float
    last_share: float
    n_pairs: int


def has_class_map(calibrator: Calibrator, k: int | None = 1) -> bool:
    """Whether a fitted calibrator gives class ``k`` a probability that depends on its own log-odds alone.

    Every method that gives probabilities does for two classes; for more, those that reach them one against the rest,
    unless a temperature comes in between. ``None`` asks for one map that all classes share.
    """
    if not (calibrator.fitted and calibrator.gives_probabilities):
        return False
    if calibrator.n_classes_ == 2:
        return True
    if not isinstance(calibrator, OneVsRest) or (k is None and not calibrator.share_classes):
        return False
    return calibrator.has_class_map(k or 0)


def class_map(calibrator: Calibrator, log_odds: Any, k: int | None = 1) -> Floats:
    """Probability of class ``k`` at each of its log-odds against the rest, before any normalisation of rows.

    Parameters
    ----------
    calibrator : fitted, with :func:`has_class_map`; of two classes any method will do, and is asked about rows
        ``(0, s)``, as binary log-odds are stored.
    log_odds : (n_points,) finite floats.
    k : the class; of two classes, class 0's map is the complement of class 1's. None for the map that all share.

    Returns
    -------
    (n_points,) probabilities
    """
    if calibrator.fitted and k is not None:
        _check_class(calibrator, k)
    if not has_class_map(calibrator, k):
        raise CalibrationError(
            f"{type(calibrator).__name__} has no map of one class: its probabilities depend on all logits of a row, "
            "or it gives none, or it is not fitted. Choose a method that works one against the rest."
        )
    points = np.asarray(log_odds, dtype=float)
    if calibrator.n_classes_ == 2:
        k = 1 if k is None else k
        logits = np.zeros((len(points), 2))
        logits[:, k] = points
        return calibrator.predict_proba(logits)[:, k]
    assert isinstance(calibrator, OneVsRest)
    return calibrator.class_map(points, k or 0)


def class_pairs(logits: Any, labels: Any, k: int | None = 1) -> tuple[Floats, npt.NDArray[np.bool_]]:
    """Log-odds of class ``k`` against the rest and whether it is the label, both (n,), in the rows' order.

    ``None`` pools all classes: the n * n_classes pairs of each row's classes.
    """
    logits = check_logits(logits)
    labels = check_labels(labels, logits.shape)
    if logits.shape[1] == 2:
        k = 1 if k is None else k
        return logits[:, k] - logits[:, 1 - k], labels == k
    # In blocks, so that no further copy of all rows' log-odds is held.
    parts = blocks(len(logits), logits.shape[1], MEMORY_ENTRIES)
    if k is None:
        log_odds = [one_vs_rest_log_odds(logits[rows]).ravel() for rows in parts]
        return np.concatenate(log_odds), (labels[:, None] == np.arange(logits.shape[1])).ravel()
    log_odds = [one_vs_rest_log_odds(logits[rows])[:, k].copy() for rows in parts]
    return np.concatenate(log_odds), labels == k


def posterior_map(calibrator: Calibrator, k: int | None = 1) -> BayesIsoMap | None:
    """What a fitted Bayes-Iso knows about the map of class ``k``, or of all; None where it had nothing to learn from.

    Figures 4 and 6 of Allikivi and Kull (2019) draw it. None too where it has a map of the predicted class's confidence
    in place of class ``k``'s.
    """
    if not isinstance(calibrator, BayesIso) or not calibrator.fitted:
        raise CalibrationError("A posterior of maps needs a fitted BayesIso; call fit(logits, labels) first.")
    if k is not None:
        _check_class(calibrator, k)
    learned = calibrator.maps_[k or 0 if len(calibrator.maps_) > 1 else 0]
    if learned is None or calibrator.classes == "top":
        return None
    seen: BayesIsoMap = learned
    return _mirrored(seen) if calibrator.n_classes_ == 2 and k == 0 else seen


def venn_abers_pair(calibrator: Calibrator, log_odds: Floats, k: int | None = 1) -> tuple[Floats, Floats] | None:
    """Venn-Abers' two probabilities of class ``k`` at (n_points,) log-odds; None for fits that have none.

    The first is that of a row counted as the other class, the second of one counted as class ``k``. They are no
    confidence interval; see :meth:`calib.calibrators.venn_abers.VennAbers.predict_pair`.
    """
    if not isinstance(calibrator, VennAbers) or not calibrator.gives_pairs or k is None:
        return None
    _check_class(calibrator, k)
    logits = np.zeros((len(log_odds), 2))
    logits[:, k] = log_odds
    other, event = calibrator.predict_pair(logits)
    return (other, event) if k == 1 else (1 - event, 1 - other)


def end_confidence(
    log_odds: Floats, positives: npt.NDArray[np.bool_], probs: Floats, share: float = 0.025
) -> EndConfidence:
    """Over- or underconfidence among the first and last pairs by score (Allikivi and Kull 2019, section 3).

    Parameters
    ----------
    log_odds, positives : (n,) as from :func:`class_pairs`, of rows not calibrated with.
    probs : (n,) the calibrated probability of each.
    share : of the pairs at each end; at least one pair is.
    """
    size = max(1, round(share * len(log_odds)))
    first, last = _lowest(log_odds, size), _lowest(-log_odds, size)
    return EndConfidence(
        float(first @ probs), float(first @ positives), float(last @ probs), float(last @ positives), size
    )


def _lowest(scores: Floats, size: int) -> Floats:
    """Weights (n,) of a mean over the ``size`` lowest scores; those tied at the end share what is left.

    So the mean is that over all ways to break the tie, whatever the order of the rows.
    """
    end = np.partition(scores, size - 1)[size - 1]
    below, tied = scores < end, scores == end
    return (below + tied * ((size - below.sum()) / tied.sum())) / size


def _mirrored(seen: BayesIsoMap) -> BayesIsoMap:
    """The same of two classes seen from the other: scores change sign and probabilities are complements."""
    back = slice(None, None, -1)
    return replace(
        seen,
        knots=-seen.knots[back],
        values=1 - seen.values[back],
        log_odds=-seen.log_odds[back],
        ranks=1 - seen.ranks[back],
        low=1 - seen.high[back],
        high=1 - seen.low[back],
        lower_bound=1 - seen.upper_bound[back],
        upper_bound=1 - seen.lower_bound[back],
        samples=1 - seen.samples[:, back],
    )


def _check_class(calibrator: Calibrator, k: int) -> None:
    if not 0 <= k < calibrator.n_classes_:
        raise CalibrationError(f"There is no class {k}; the calibrator has classes 0 to {calibrator.n_classes_ - 1}.")


@dataclass(frozen=True, eq=False)
class ClassFrequencies:
    """Pairs of one class in bins of its log-odds; no bin is empty.

    Attributes
    ----------
    edges : (n_bins - 1,) increasing log-odds; a pair at an edge belongs above it.
    log_odds : (n_bins,) median of each bin's pairs.
    count, positives : (n_bins,) its pairs, and those whose label is the class.
    low, high : (n_bins,) 95 % Wilson interval of the frequency.
    """

    edges: Floats
    log_odds: Floats
    count: Ints
    positives: Ints
    low: Floats
    high: Floats

    @property
    def frequency(self) -> Floats:
        """Share of positives in each bin."""
        return self.positives / self.count

    def means(self, log_odds: Floats, probs: Floats) -> Floats:
        """Mean probability in each bin, of the same pairs in the same order, shape (n_bins,)."""
        bins = np.searchsorted(self.edges, log_odds, side="right")
        return np.bincount(bins, weights=probs, minlength=len(self.count)) / self.count

    def outside(self, means: Floats) -> npt.NDArray[np.bool_]:
        """Which of (n_bins,) mean probabilities the intervals exclude."""
        return (means < self.low) | (means > self.high)


def class_frequencies(log_odds: Floats, positives: npt.NDArray[np.bool_], edges: Floats) -> ClassFrequencies:
    """Frequencies of a class between edges that other pairs gave; empty bins join their neighbours.

    Parameters
    ----------
    log_odds, positives : (n,) n at least 1.
    edges : as from :func:`balanced_edges`, best of pairs that are not these: edges chosen by the outcomes that are
        then counted would bias the frequencies.
    """
    count = np.bincount(np.searchsorted(edges, log_odds, side="right"), minlength=len(edges) + 1)
    edges = edges[count[:-1] > 0]
    if len(edges) and not count[-1]:
        edges = edges[:-1]
    order = np.argsort(log_odds, kind="stable")
    ordered, ends = log_odds[order], np.append(np.searchsorted(log_odds[order], edges), len(log_odds))
    starts = np.append(0, ends[:-1])
    count, hits = ends - starts, np.add.reduceat(positives[order].astype(int), starts)
    low, high = wilson_interval(hits, count)
    middles = (ordered[(starts + ends - 1) // 2] + ordered[(starts + ends) // 2]) / 2
    return ClassFrequencies(edges, middles, count, hits, low, high)


def balanced_edges(log_odds: Floats, positives: npt.NDArray[np.bool_], n_bins: int) -> Floats:
    """Edges of bins with the same mass of pairs, where positives together weigh as much as all others together.

    Of balanced classes these are bins of equal mass. Of a rare class most of those would hold no positive pair, and
    all that is to be seen would lie in the last.

    Returns
    -------
    (n_bins - 1,) increasing log-odds, or fewer where scores are tied
    """
    n_positive = int(positives.sum())
    sizes = np.where(positives, n_positive, len(positives) - n_positive)
    order = np.argsort(log_odds, kind="stable")
    mass = np.cumsum(1.0 / sizes[order])
    cuts = np.searchsorted(mass, np.arange(1, n_bins) / n_bins * mass[-1])
    edges = np.unique(log_odds[order][cuts])
    return edges[edges > log_odds.min()]


def most_by_chance(n: int) -> int:
    """How many of ``n`` independent 95 % intervals may miss before that is no chance any more, in 95 % of samples."""
    from scipy.stats import binom

    return int(binom.ppf(0.95, n, 0.05))
