"""The pairs of one class, or of all, in both parts of the data: axes of their scores, and maps on the test rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from calib.base import Calibrator
from calib.calibrators.bayes_iso import BayesIso, BayesIsoMap
from calib.calibrators.identity import Identity
from calib.data.samples import true_map
from calib.diagnostics.calibration_maps import (
    ClassFrequencies,
    EndConfidence,
    balanced_edges,
    class_frequencies,
    class_map,
    class_pairs,
    end_confidence,
    posterior_map,
    venn_abers_pair,
)
from calib.diagnostics.judgement import TEST, class_pair
from calib.diagnostics.reliability import default_bins
from calib.metrics.bootstrap import Interval, share_interval
from calib.numerics import Floats, Ints, sigmoid

Place = Literal["rank", "log_odds", "probability"]
Limits = tuple[float, float]

MOST_BINS = 20
N_POINTS = 300
N_CELLS = 60
"""Cells of the histogram of the test rows' scores."""
END = 0.025
"""Share of the rows at each end, as in figure 3 of Allikivi and Kull (2019)."""
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


def score_axis(kind: Place, pairs: Floats) -> ScoreAxis:
    """The axis of some calibration pairs' (n,) log-odds, at least one."""
    scores, count = np.unique(pairs, return_counts=True)
    upto = np.cumsum(count)
    ranks = (upto - count / 2) / upto[-1]
    # Evenly by rank and evenly by score: neither a crowd nor a tail is left without.
    by_rank = np.searchsorted(upto, np.linspace(0, upto[-1], _MOST))
    by_score = np.linspace(0, len(scores) - 1, _MOST).astype(int)
    kept = np.unique(np.minimum(np.concatenate([by_rank, by_score]), len(scores) - 1))
    low, high = (float(end) for end in np.quantile(pairs, [0.005, 0.995], method="closest_observation"))
    if len(pairs) < 200:
        low, high = float(scores[0]), float(scores[-1])
    return ScoreAxis(kind, scores[kept], ranks[kept], (low - 0.5, high + 0.5) if high - low < 1e-9 else (low, high))


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
    frequencies: ClassFrequencies
    grid: Floats
    truth: Floats | None


def class_rows(target: int | None, sample: str | None = None, *, data: Mapping[str, Any]) -> ClassRows:
    """Sort and bin the pairs of a class, as a worker does.

    Parameters
    ----------
    target : the class, a column of the logits; None for all classes pooled.
    sample : whose true map of two classes is drawn, where it has one.
    data : of both parts, as :func:`calib.diagnostics.judgement.both_parts` names them.
    """
    known, positive = class_pairs(data["logits"], data["labels"], target)
    log_odds, came = class_pairs(data[f"{TEST}logits"], data[f"{TEST}labels"], target)
    n_bins = min(MOST_BINS, default_bins(min(len(known), len(log_odds))))
    frequencies = class_frequencies(log_odds, came, balanced_edges(known, positive, n_bins))
    axes = {kind: score_axis(kind, known) for kind in get_args(Place)}
    cells = {kind: _cells(axis, log_odds, came) for kind, axis in axes.items()}
    axis = axes["log_odds"]
    scores = axis.scores[np.unique(np.linspace(0, len(axis.scores) - 1, N_POINTS).astype(int))]
    grid = np.unique(np.concatenate([scores, np.linspace(*axis.limits, N_POINTS)]))
    true, truth = true_map(sample) if sample is not None else None, None
    if true is not None:
        truth = 1 - true(sigmoid(-grid)) if target == 0 else true(sigmoid(grid))
    return ClassRows(axes, cells, frequencies, grid, truth)


def _cells(axis: ScoreAxis, log_odds: Floats, came: Any) -> ScoreCells:
    places = np.clip(axis.place(log_odds), *axis.limits)
    edges = np.linspace(*axis.limits, N_CELLS + 1)
    return ScoreCells(edges, *(np.histogram(places[rows], edges)[0] for rows in (came, ~came)))


@dataclass(frozen=True, eq=False)
class JudgedMap:
    """A map, and how it fares on the test rows.

    Attributes
    ----------
    curve : (n_points,) at the grid.
    pair : Venn-Abers' two probabilities there; None for other methods.
    posterior : what a Bayes-Iso knows about the map; None for other methods and where it learned nothing.
    means : (n_bins,) its mean probability in each bin of the frequencies.
    ends : at both ends of the ranking.
    """

    curve: Floats
    pair: tuple[Floats, Floats] | None
    posterior: BayesIsoMap | None
    means: Floats
    ends: EndConfidence

    def share(self, end: str) -> Interval:
        """Share of the class at the "first" or "last" end, with its 95 % Wilson interval."""
        return share_interval(getattr(self.ends, f"{end}_share") * self.ends.n_pairs, self.ends.n_pairs)


def judged_map(
    fitted: Calibrator, target: int | None, grid: Floats, frequencies: ClassFrequencies, *, data: Mapping[str, Any]
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
    log_odds, came = class_pairs(data[f"{TEST}logits"], data[f"{TEST}labels"], target)
    # Of two classes what predicts is the map; of more, rows are normalised only after their maps.
    if data[f"{TEST}logits"].shape[1] == 2:
        probs, _ = class_pair(fitted, 1 if target is None else target, data=data)
    else:
        probs = map_values(fitted, log_odds, target)
    return JudgedMap(
        map_values(fitted, grid, target),
        venn_abers_pair(fitted, grid, target),
        posterior_map(fitted, target) if isinstance(fitted, BayesIso) else None,
        frequencies.means(log_odds, probs),
        end_confidence(log_odds, came, probs, END),
    )


def map_values(fitted: Calibrator, log_odds: Floats, target: int | None) -> Floats:
    """A class's map at some log-odds; the raw model's is the sigmoid, whatever the number of classes."""
    return sigmoid(log_odds) if isinstance(fitted, Identity) else class_map(fitted, log_odds, target)
