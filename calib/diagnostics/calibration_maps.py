"""Calibration maps of one class, or of all pooled, and how often the class is the label at its scores."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from calib.arrays import check_logits
from calib.base import MINDS_OFFSETS, Calibrator
from calib.calibrators.bayes_iso import BayesIso, BayesIsoMap
from calib.calibrators.identity import Identity
from calib.calibrators.one_vs_rest import OneVsRest
from calib.calibrators.venn_abers import VennAbers
from calib.canonical import SAME, Kind
from calib.data.samples import sample_named
from calib.diagnostics.histograms import Frequencies, frequencies
from calib.diagnostics.judgement import TEST, rows_to_judge
from calib.diagnostics.reliability import default_bins
from calib.metrics.bootstrap import Interval, share_interval
from calib.numerics import MEMORY_ENTRIES, Floats, Ints, blocks, one_vs_rest_log_odds, sigmoid

END = 0.025
"""Share of the rows at each end, as in figure 3 of Allikivi and Kull (2019)."""


@dataclass(frozen=True)
class End:
    """The pairs at one end of the scores: their number, mean probability, and share of positives with its interval."""

    n: int
    mean: float
    share: Interval


def has_class_map(
    calibrator: Calibrator, k: int | None = 1, kind: Kind = "binary_log_odds"
) -> bool:
    """Return whether a fitted calibrator maps the log-odds of class ``k`` alone to its probability.

    Every method that gives probabilities does for two classes, except GPcalib of two logits, which maps each of them;
    for more, the raw model and those that reach them one against the rest, unless a temperature comes in between.
    ``None`` asks for one map that all classes share.
    """
    if not (calibrator.fitted and calibrator.gives_probabilities):
        return False
    if calibrator.n_classes_ == 2:
        return kind != "logits" or MINDS_OFFSETS not in calibrator.promises(2)
    if isinstance(calibrator, Identity):
        return True
    if not isinstance(calibrator, OneVsRest) or (k is None and not calibrator.share_classes):
        return False
    return calibrator.has_class_map(k or 0)


def class_map(
    calibrator: Calibrator,
    log_odds: Any,
    k: int | None = 1,
    kind: Kind = "binary_log_odds",
    floor: float | None = None,
) -> Floats:
    """Probability of class ``k`` at each of its log-odds against the rest, before any normalisation of rows.

    Parameters
    ----------
    calibrator : fitted, with :func:`has_class_map`.
    log_odds : (n_points,) finite floats.
    k : the class; of two classes, class 0's map is the complement of class 1's. None for the map that all share.
    kind, floor : of the outputs. They say which two logits have these log-odds, which matters to GPcalib.
    """
    points = np.asarray(log_odds, dtype=float)
    if calibrator.n_classes_ == 2:
        k = 1 if k is None else k
        return calibrator.probs_from_logits(
            _two_logits(points if k == 1 else -points, kind, floor)
        )[:, k]
    if isinstance(calibrator, Identity):
        return sigmoid(points)
    assert isinstance(calibrator, OneVsRest)
    return calibrator.class_map(points, k or 0)


def _two_logits(log_odds: Floats, kind: Kind, floor: float | None) -> Floats:
    """Rows (n, 2) with these log-odds of class 1, as :func:`calib.canonical.to_canonical` makes them of a kind."""
    if kind in ("logits", "binary_log_odds"):
        return np.stack([np.zeros_like(log_odds), log_odds], axis=1)
    logits = -np.logaddexp(0.0, np.stack([log_odds, -log_odds], axis=1))
    if floor is not None:
        low = np.log(floor)
        of_zero = np.abs(np.abs(log_odds) + low) <= SAME * abs(low)
        logits[of_zero] = np.where(log_odds[of_zero, None] * [-1, 1] > 0, 0.0, low)
    return logits


def class_pairs(
    logits: Any, labels: Any, k: int | None = 1
) -> tuple[Floats, npt.NDArray[np.bool_]]:
    """Log-odds of class ``k`` against the rest and whether it is the label, both (n,), in the rows' order.

    ``None`` pools all classes: the n * n_classes pairs of each row's classes.
    """
    logits = check_logits(logits)
    labels = np.asarray(labels)
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


def posterior_map(calibrator: BayesIso, k: int | None = 1) -> BayesIsoMap | None:
    """Posterior of a fitted Bayes-Iso for the map of class ``k``, or of all; None where it had nothing to learn from.

    Figures 4 and 6 of Allikivi and Kull (2019) draw it.
    """
    learned = calibrator.maps_[k or 0 if len(calibrator.maps_) > 1 else 0]
    if learned is None:
        return None
    seen: BayesIsoMap = learned
    return _mirrored(seen) if calibrator.n_classes_ == 2 and k == 0 else seen


def venn_abers_pair(
    calibrator: Calibrator, log_odds: Floats, k: int | None = 1
) -> tuple[Floats, Floats] | None:
    """Venn-Abers' two probabilities of class ``k`` at (n_points,) log-odds; None for fits that have none.

    The first is that of a row counted as the other class, the second of one counted as class ``k``. They are no
    confidence interval; see :meth:`calib.calibrators.venn_abers.VennAbers.predict_pair`.
    """
    if not isinstance(calibrator, VennAbers) or not calibrator.gives_pairs or k is None:
        return None
    other, event = calibrator.predict_pair(
        _two_logits(log_odds if k == 1 else -log_odds, "logits", None)
    )
    return (other, event) if k == 1 else (1 - event, 1 - other)


def ends_of(
    log_odds: Floats, positives: npt.NDArray[np.bool_], probs: Floats, share: float = END
) -> dict[str, End]:
    """The "first" and "last" pairs by score, with all that are tied (Allikivi and Kull 2019, section 3).

    Parameters
    ----------
    log_odds, positives : (n,) as from :func:`class_pairs`, of rows not calibrated with.
    probs : (n,) the calibrated probability of each.
    share : of the pairs at each end; at least one pair is.
    """
    low = np.quantile(log_odds, share, method="lower")
    high = np.quantile(log_odds, 1.0 - share, method="higher")
    ends = {"first": log_odds <= low, "last": log_odds >= high}
    return {
        name: End(
            int(rows.sum()),
            float(probs[rows].mean()),
            share_interval(positives[rows].sum(), rows.sum()),
        )
        for name, rows in ends.items()
    }


def _mirrored(seen: BayesIsoMap) -> BayesIsoMap:
    """The same of two classes seen from the other: scores change sign and probabilities are complements."""
    back = slice(None, None, -1)
    return replace(
        seen,
        knots=-seen.knots[back],
        values=1 - seen.values[back],
        log_odds=-seen.log_odds[back],
        low=1 - seen.high[back],
        high=1 - seen.low[back],
    )


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
    """Largest number of ``n`` independent 95 % intervals that miss by chance, in 95 % of samples."""
    from scipy.stats import binom

    return int(binom.ppf(0.95, n, 0.05))


Place = Literal["rank", "log_odds", "probability"]
Limits = tuple[float, float]

MOST_BINS = 20
N_POINTS = 300
N_CELLS = 60
"""Cells of the histogram of the test rows' scores."""
_MOST = 1000


@dataclass(frozen=True, eq=False)
class ScoreAxis:
    """Places log-odds on an axis of ranks, of log-odds, or of the raw model's probabilities.

    Attributes
    ----------
    kind : which of these.
    scores, ranks : (m,) increasing calibration scores and the share of pairs below each, with half of those at it; of
        many pairs a selection, between which ranks are interpolated.
    span : log-odds between which most pairs lie.
    """

    kind: Place
    scores: Floats
    ranks: Floats
    span: Limits

    def place(self, log_odds: Floats) -> Floats:
        """Places on the axis, elementwise and never decreasing."""
        if self.kind == "rank":
            return np.interp(log_odds, self.scores, self.ranks)
        return log_odds if self.kind == "log_odds" else sigmoid(log_odds)

    @property
    def limits(self) -> Limits:
        """Both ends of the axis."""
        if self.kind != "log_odds":
            return 0.0, 1.0
        pad = 0.02 * (self.span[1] - self.span[0])
        return self.span[0] - pad, self.span[1] + pad


def score_axis(kind: Place, pairs: Floats, bins: Floats | None = None) -> ScoreAxis:
    """The axis of some calibration pairs' (n,) log-odds, at least one.

    It leaves out the far tails of the pairs, but none of the (m,) ``bins``: of 1,000 classes pooled, the pairs with the
    true class are a tail of one in 1,000.
    """
    ordered = np.sort(pairs)
    n = len(pairs)
    scores = np.unique(ordered[np.linspace(0, n - 1, _MOST).astype(int)])
    ranks = (np.searchsorted(ordered, scores) + np.searchsorted(ordered, scores, side="right")) / (
        2 * n
    )
    low, high = (
        float(end) for end in np.quantile(pairs, [0.005, 0.995], method="closest_observation")
    )
    if n < 200:
        low = float(scores[0])
        high = float(scores[-1])
    if bins is not None:
        low = min(low, float(bins.min()))
        high = max(high, float(bins.max()))
    return ScoreAxis(
        kind, scores, ranks, (low - 0.5, high + 0.5) if high - low < 1e-9 else (low, high)
    )


@dataclass(frozen=True, eq=False)
class ScoreCells:
    """The test rows in cells of equal width on an axis; the outermost ones hold all beyond them.

    Attributes
    ----------
    edges : (N_CELLS + 1,) places on the axis.
    inside, others : (N_CELLS,) rows of the class, and all others.
    """

    edges: Floats
    inside: Ints
    others: Ints


@dataclass(frozen=True, eq=False)
class ClassRows:
    """One class's pairs, or all classes', as maps are drawn over them.

    Attributes
    ----------
    axes : of the calibration pairs' log-odds, by kind.
    cells : the test rows on each of them.
    frequencies : of the class among the test rows, in bins that the calibration rows gave.
    grid : (n_points,) log-odds at which maps are drawn: scores of the calibration rows, and points evenly between.
    truth : (n_points,) the true probabilities there, where they are known.
    """

    axes: dict[Place, ScoreAxis]
    cells: dict[Place, ScoreCells]
    frequencies: Frequencies
    grid: Floats
    truth: Floats | None


def class_rows(
    target: int | None, sample: str | None = None, *, data: Mapping[str, Any]
) -> ClassRows:
    """Sort and bin the pairs of a class, as a worker does.

    Parameters
    ----------
    target : the class, a column of the logits; None for all classes pooled.
    sample : whose true map of two classes is drawn, where it has one.
    data : of both parts, as :func:`calib.diagnostics.judgement.both_parts` names them.
    """
    calibration, positive = class_pairs(data["logits"], data["labels"], target)
    log_odds, outcome = class_pairs(data[f"{TEST}logits"], data[f"{TEST}labels"], target)
    n_bins = min(MOST_BINS, default_bins(min(len(calibration), len(log_odds))))
    seen = frequencies(log_odds, outcome, balanced_edges(calibration, positive, n_bins))
    axes = {kind: score_axis(kind, calibration, seen.score) for kind in get_args(Place)}
    cells = {kind: _cells(axis, log_odds, outcome) for kind, axis in axes.items()}
    axis = axes["log_odds"]
    scores = axis.scores[np.unique(np.linspace(0, len(axis.scores) - 1, N_POINTS).astype(int))]
    grid = np.unique(np.concatenate([scores, np.linspace(*axis.limits, N_POINTS)]))
    true = None if sample is None else sample_named(sample).true_map
    truth = None
    if true is not None:
        truth = 1 - true(sigmoid(-grid)) if target == 0 else true(sigmoid(grid))
    return ClassRows(axes, cells, seen, grid, truth)


def _cells(axis: ScoreAxis, log_odds: Floats, outcome: Any) -> ScoreCells:
    places = np.clip(axis.place(log_odds), *axis.limits)
    edges = np.linspace(*axis.limits, N_CELLS + 1)
    return ScoreCells(
        edges, *(np.histogram(places[rows], edges)[0] for rows in (outcome, ~outcome))
    )


@dataclass(frozen=True, eq=False)
class JudgedMap:
    """A map, and how it fares on the test rows.

    Attributes
    ----------
    curve : (n_points,) at the grid.
    pair : Venn-Abers' two probabilities there; None for other methods.
    posterior : what a Bayes-Iso knows about the map; None for other methods and where it learned nothing.
    means : (n_bins,) its mean probability in each bin of the frequencies.
    ends : of the "first" and "last" pairs by score.
    """

    curve: Floats
    pair: tuple[Floats, Floats] | None
    posterior: BayesIsoMap | None
    means: Floats
    ends: dict[str, End]


def judged_map(
    fitted: Calibrator,
    target: int | None,
    grid: Floats,
    frequencies: Frequencies,
    *,
    data: Mapping[str, Any],
) -> JudgedMap:
    """Draw a class's map and judge it on the test rows, as a worker does.

    Parameters
    ----------
    fitted : whose map it is.
    target : the class; None for the map that all share.
    grid : (n_points,) log-odds.
    frequencies : of the class among the test rows.
    data : the test rows, as :func:`calib.diagnostics.judgement.arrays_to_judge` names them.
    """
    test = rows_to_judge(data)
    assert test is not None
    log_odds, outcome = class_pairs(test.logits, test.labels, target)
    curve, probs = (
        class_map(fitted, points, target, test.kind, test.floor) for points in (grid, log_odds)
    )
    return JudgedMap(
        curve,
        venn_abers_pair(fitted, grid, target),
        posterior_map(fitted, target) if isinstance(fitted, BayesIso) else None,
        frequencies.means(log_odds, probs),
        ends_of(log_odds, outcome, probs),
    )
