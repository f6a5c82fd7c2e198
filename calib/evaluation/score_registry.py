"""The scores that pages, tables and reports share: what they are, their values, intervals and paired differences.

A new score is an entry in ``SCORES``; one that is no mean over rows is computed in :func:`smooth_scores`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Any, Literal

import numpy as np

from calib.evaluation.evaluation import Evaluation
from calib.evaluation.view import View
from calib.formatting import NO_BREAK, number
from calib.metrics.binning import equal_width_index
from calib.metrics.bootstrap import (
    Groups,
    Interval,
    cut,
    folded,
    groups_of_units,
    interval_of_draws,
    reflect,
    wilson_interval,
)
from calib.metrics.calibration_error import N_RESAMPLES, above_gap, ece, few_rows
from calib.metrics.confidence import Bools
from calib.metrics.estimate import LOGIT, Estimate, Rows, degrees_of
from calib.metrics.scoring_rules import interval_of_separated, mean_among, placements, precisions
from calib.numerics import Floats

ECE_BINS = 15
"""Of equal width, the field's convention and the default of :func:`calib.ece`."""
EVENT_RATE = "event rate"
RANKING = ("AUROC", "average precision")
"""Scores of an event that depend on the order of its probabilities alone."""
RARE = 0.1
"""Below this event rate the accuracy is not shown unless asked for: predicting no event at all is right too often."""
CLASSWISE = "class-wise ECE above 1/K"
PROPORTIONS = ("accuracy", "top-5 accuracy", EVENT_RATE)
FEW_CLUSTERS = 40
"""With fewer clusters their intervals are rough (Cameron and Miller 2015, section VI)."""


@dataclass(frozen=True)
class Unit:
    """Unit in which differences of a score are displayed: ``scale`` times their value, and its name."""

    name: str
    scale: float

    def amount(self, value: float) -> str:
        """A difference with its unit: 1.2 points, −0.034 nats."""
        return f"{self.number(value)}{NO_BREAK}{self.name}" if self.name else self.number(value)

    def number(self, value: float) -> str:
        """A difference in this unit, without its name."""
        return number(value * self.scale).replace("-", "−")


@dataclass(frozen=True)
class Score:
    """One score.

    Attributes
    ----------
    key : str
        Name in tables and code.
    title : str
        How pages call it.
    better : {"lower", "higher", "neither"}
        "neither" where less is not better in itself.
    meaning : str
        One line on what it says.
    low, high : float
        The range of possible values.
    of_rows : callable or None
        For a score that is a mean over rows, the (n,) values of an evaluation, None where it has none.
    claims : bool
        Whether differences of the score are claimed in verdicts, which is so where simulations show at most 5 % of
        false claims; the others are shown with their intervals and claim nothing.
    relevant : float
        The smallest difference that matters, in the score's own unit; smaller ones are called ties.
    """

    key: str
    title: str
    better: Literal["lower", "higher", "neither"]
    meaning: str
    low: float = 0.0
    high: float = 1.0
    of_rows: Callable[[Evaluation], Floats | Bools | None] | None = None
    claims: bool = False
    relevant: float = 0.001

    @property
    def unit(self) -> Unit:
        """Unit of its differences: nats, points of a share, or plain numbers."""
        if self.key == "NLL":
            return Unit("nats", 1.0)
        return Unit("points", 100.0) if self.high == 1.0 else Unit("", 1.0)

    def seen(self, view: View) -> Score:
        """The score with the title and the meaning that it has in a view.

        Parameters
        ----------
        view : the view to take.
        """
        title, meaning = view.wording.scores.get(self.key, (self.title, self.meaning))
        return replace(self, title=title, meaning=meaning)


def row_events(evaluation: Evaluation) -> Bools | None:
    """(n,) outcomes of the event; None in other views, which have the accuracy."""
    return evaluation.pair[1] if evaluation.view.is_event else None


_SCORES = (
    Score(
        "NLL",
        "NLL",
        "lower",
        "Mean of -log p(true class), in nats; confident errors cost most.",
        high=math.inf,
        of_rows=attrgetter("row_nll"),
        claims=True,
    ),
    Score(
        "Brier",
        "Brier score",
        "lower",
        "Squared distance of the probabilities from the truth, summed over classes; of two classes (p - y)².",
        high=2.0,
        of_rows=attrgetter("row_brier"),
        claims=True,
    ),
    Score(
        "accuracy",
        "Accuracy",
        "higher",
        "Share of right predictions.",
        of_rows=attrgetter("correct"),
        claims=True,
    ),
    Score(
        "top-5 accuracy",
        "Top-5 accuracy",
        "higher",
        "Share of labels among the five most probable classes.",
        of_rows=attrgetter("top5"),
        claims=True,
    ),
    Score(
        EVENT_RATE,
        "Event rate",
        "neither",
        "Share of rows in which the event happened.",
        of_rows=row_events,
    ),
    Score(
        "AUROC",
        "AUROC",
        "higher",
        "Share of pairs of a row with the event and one without it in which the first has the higher risk.",
    ),
    Score(
        "average precision",
        "Average precision",
        "higher",
        "Mean share of events among rows with an event's risk or a higher one; the event rate by chance.",
    ),
    Score(
        "ECE",
        "ECE",
        "lower",
        "Mean distance of confidence from accuracy in 15 bins of equal width.",
        claims=True,
    ),
    Score(
        CLASSWISE,
        "Class-wise ECE above 1/K",
        "lower",
        "Mean over classes of the ECE of their probabilities, of those above 1/K for K classes.",
        of_rows=attrgetter("row_classwise"),
    ),
    Score(
        "gap",
        "Confidence gap",
        "lower",
        "Distance of mean confidence from accuracy; no ECE is below it.",
    ),
    Score(
        "signed gap",
        "Confidence minus accuracy",
        "neither",
        "Mean confidence minus accuracy; above 0 is overconfident.",
        low=-1.0,
    ),
    Score(
        "overconfidence", "Overconfidence", "neither", "Mean confidence of the wrong predictions."
    ),
    Score(
        "underconfidence",
        "Underconfidence",
        "neither",
        "Mean of 1 - confidence over the right predictions.",
    ),
    Score(
        "sharpness",
        "Sharpness",
        "neither",
        "Variance of the confidence; good only where it is calibrated.",
        high=0.25,
    ),
)  # the end of the scores

Smooth = tuple[float, Floats]
"""A smooth function of means over rows, and what each row adds to it for a weight of 1."""

SCORES: dict[str, Score] = {score.key: score for score in _SCORES}
"""The scores by key, in order of display."""


@dataclass(frozen=True, eq=False, kw_only=True)
class ScoreEstimate(Estimate):
    """A score of a test set, whose differences to other methods are paired by groups of units.

    Attributes
    ----------
    influence : (groups,) contribution of each group of rows; the groups are the same for all methods.
    spread : standard error over all units.
    paired_degrees : degrees of freedom of differences; a rare outcome leaves the score itself fewer.
    noise : what noise alone adds to the value on average; a difference is one of values without it.
    low, high : range of possible values.
    on_logit : whether the interval is symmetric in log-odds.
    """

    spread: float = math.nan
    paired_degrees: float = math.inf
    noise: float = 0.0
    low: float = 0.0
    high: float = 1.0
    on_logit: bool = False

    def __sub__(self, other: Estimate) -> Estimate:
        """Return the paired difference of the values without noise."""
        return self.without_noise - getattr(other, "without_noise", other)

    @property
    def without_noise(self) -> Estimate:
        """The value less its noise, with the influence that differences are made of."""
        return Estimate(self.value - self.noise, self.influence, self.paired_degrees)

    def interval(self, level: float = 0.95, *_: Any, **__: Any) -> Interval:
        """Interval of the score itself; it reaches down by what may be noise."""
        alone = Estimate(self.value, self.influence, self.degrees)
        scale = LOGIT if self.on_logit else None
        interval = alone.interval(level, scale, error=self.spread)
        return cut(interval._replace(low=interval.low - self.noise), self.low, self.high)


@dataclass(frozen=True, eq=False, kw_only=True)
class ScoreShare(ScoreEstimate):
    """A share of rows, with Wilson's interval.

    Attributes
    ----------
    rows : independent rows of equal weight that tell as much of it.
    hits, others : rows of equal weight that tell as much of those that have the property, and of those without it.
    """

    rows: float
    hits: float
    others: float

    def interval(self, level: float = 0.95, *_: Any, **__: Any) -> Interval:
        """Wilson's interval."""
        ends = wilson_interval(self.value * self.rows, self.rows, level)
        return Interval(self.value, *(float(end) for end in ends))


@dataclass(frozen=True, eq=False, kw_only=True)
class ScoreECE(ScoreEstimate):
    """An ECE, with an interval of the reflected bootstrap; its influence takes the signs of the gaps as fixed.

    Attributes
    ----------
    draws : (n_resamples,) values that the ECE may truly have, see :func:`calib.metrics.bootstrap.reflect`; none for a
        single unit, whose resamples are all alike.
    """

    draws: Floats

    def interval(self, level: float = 0.95, *_: Any, **__: Any) -> Interval:
        """Interval of the draws."""
        if not len(self.draws):
            return Interval(self.value, math.nan, math.nan)
        return interval_of_draws(self.value, self.draws, level, self.low, self.high)


KINDS = {kind.__name__: kind for kind in (ScoreEstimate, ScoreShare, ScoreECE)}
"""Classes of scores by name."""


@dataclass(frozen=True, eq=False)
class Scored:
    """Scores of one method on a test set.

    Attributes
    ----------
    scores : score by key.
    n : number of rows; of weighted rows that of equal rows which tell as much.
    n_clusters : number of clusters; None where rows are independent.
    n_rarer : number of units with the rarer outcome; it bounds an AUROC of 1.
    """

    scores: dict[str, Estimate]
    n: int
    n_clusters: int | None = None
    n_rarer: int = 1

    @property
    def n_units(self) -> int:
        """Number of clusters, or of rows where these are independent."""
        return self.n_clusters or self.n

    @property
    def values(self) -> dict[str, float]:
        """Value of each score."""
        return {key: float(score.value) for key, score in self.scores.items()}

    @property
    def counts(self) -> dict[str, tuple[int, int]]:
        """Rows that are right and wrong, and rows with the event and without it."""
        counts = {}
        for key in {"accuracy", EVENT_RATE} & self.scores.keys():
            share = self.scores[key]
            hits = float(share.value) * self.n
            pair = (
                (share.hits, share.others)
                if isinstance(share, ScoreShare)
                else (hits, self.n - hits)
            )
            counts[key] = (round(pair[0]), round(pair[1]))
        return counts

    def intervals(self, level: float = 0.95) -> dict[str, Interval]:
        """Interval of each score, where scores that bound each other agree."""
        intervals = {key: score.interval(level) for key, score in self.scores.items()}
        for key in RANKING:
            if key in intervals and intervals[key].value in (
                0.0,
                1.0,
            ):  # no row varies, which makes it no surer
                value = intervals[key].value
                bounded = key == "AUROC"
                intervals[key] = (
                    interval_of_separated(value, self.n_rarer, level)
                    if bounded
                    else Interval(value, math.nan, math.nan)
                )
        signed = intervals["signed gap"]
        rate = intervals[EVENT_RATE if EVENT_RATE in intervals else "accuracy"]
        counts = self.counts[EVENT_RATE if EVENT_RATE in intervals else "accuracy"]
        signed, few = few_rows(signed, rate, counts)
        intervals["signed gap"] = signed
        gap = intervals["gap"] = folded(intervals["gap"].value, signed)
        if (error := intervals.get("ECE")) and not math.isnan(error.low):
            intervals["ECE"] = above_gap(error, gap, few)
        return intervals


def scores(evaluation: Evaluation) -> dict[str, float]:
    """Values of the scores in ``SCORES`` that the evaluation allows, by key.

    NLL, Brier score and top-5 accuracy are absent where the method gives a confidence only, top-5 accuracy also up to 5
    classes. Overconfidence is NaN where nothing is wrong, underconfidence where nothing is right.

    Parameters
    ----------
    evaluation : of one calibrator on one test set.
    """
    smooth = smooth_scores(evaluation, evaluation.rows)
    error = ece(*evaluation.pair, weights=evaluation.weights)
    values = {key: value for key, (value, _) in smooth.items()} | {"ECE": error}
    return {key: float(values[key]) for key in SCORES if key in values}


def score_intervals(evaluation: Evaluation) -> dict[str, Interval]:
    """Interval of every score, by key: linearised of smooth scores, Wilson's of proportions, bootstrapped of the ECE.

    An ECE of few rows in many bins is an overestimate; its interval reaches down to where the truth may be. In
    simulations with 500 and 5000 rows, 95 % intervals held the truth in 87 to 100 % of runs for the ECE (percentile
    intervals: 0 % on calibrated data) and 93 to 97 % for the other scores (40 to 100 runs each, calibrated or not).

    Parameters
    ----------
    evaluation : of one calibrator on one test set.
    """
    return scored_on(evaluation).intervals()


def scored_on(evaluation: Evaluation) -> Scored:
    """Scores of an evaluation, on groups of its rows that are the same for all methods on the same rows."""
    scored = smooth_scored_on(evaluation)
    scores = scored.scores | {"ECE": _ece_estimate(*evaluation.pair, evaluation.rows)}
    return replace(scored, scores={key: scores[key] for key in SCORES if key in scores})


def smooth_scored_on(evaluation: Evaluation) -> Scored:
    """Scores of an evaluation without the ECE, which is bootstrapped."""
    rows = evaluation.rows
    smooth = smooth_scores(evaluation, rows)
    return _smooth_scored(smooth, evaluation.pair[1], rows, evaluation.classwise_noise)


def average_gap(evaluation: Evaluation, level: float = 0.95) -> Interval:
    """Mean prediction minus observed rate, with the interval that it has among the scores."""
    return smooth_scored_on(evaluation).intervals(level)["signed gap"]


def _smooth_scored(
    smooth: Mapping[str, Smooth], observed: Bools, rows: Rows, classwise_noise: float = 0.0
) -> Scored:
    groups = groups_of_units(len(observed), rows.unit if rows.clustered else None)
    skewed = (
        rows.clustered and "AUROC" in smooth
    )  # sums over clusters are skewed where events are few
    scores: dict[str, Estimate] = {}
    for key, (value, per_row) in smooth.items():
        estimate = rows.estimate(float(value), per_row)
        about: dict[str, Any] = {
            "value": estimate.value,
            "influence": rows.sums_of_groups(per_row, groups),
            "degrees": rows.degrees,
            "spread": float(estimate.error),
            "paired_degrees": degrees_of(groups.n_groups),
            "low": SCORES[key].low,
            "high": SCORES[key].high,
        }
        if key in PROPORTIONS:
            hit = per_row > 0 if 0.0 < value < 1.0 else np.full(len(per_row), value == 1.0)
            counts: dict[str, Any] = {"hits": rows.equal_rows(hit), "others": rows.equal_rows(~hit)}
            scores[key] = ScoreShare(**about, rows=rows.effective_rows(estimate), **counts)
        else:
            on_logit = (key in RANKING or (key == "Brier" and skewed)) and 0.0 < value < 1.0
            noise = classwise_noise if key == CLASSWISE else 0.0
            scores[key] = ScoreEstimate(**about, on_logit=on_logit, noise=noise)
    n_clusters = rows.n_units if rows.clustered else None
    return Scored(scores, round(rows.n_equal), n_clusters, rows.rarer_units(observed))


def _ece_estimate(predicted: Floats, observed: Bools, rows: Rows) -> ScoreECE:
    groups = groups_of_units(len(observed), rows.unit if rows.clustered else None)
    bins = bins_of_ece(predicted, observed, groups, rows.weights * (rows.n_equal / rows.total))
    whole = bins.sum(axis=0)
    error = float(ece_of_bins(whole))
    draws = ece_of_bins(groups.resampled(bins, N_RESAMPLES)) if rows.n_units > 1 else np.empty(0)
    sign = np.sign(whole[:, 1] - whole[:, 2])[equal_width_index(predicted, ECE_BINS)]
    per_row = mean_among(sign * (predicted - observed), rows)[1]
    return ScoreECE(
        value=error,
        influence=rows.sums_of_groups(per_row, groups),
        paired_degrees=degrees_of(groups.n_groups),
        noise=error - without_noise(error, whole),
        draws=reflect(error, draws),
    )


def smooth_scores(evaluation: Evaluation, rows: Rows) -> dict[str, Smooth]:
    """Scores that are smooth functions of means over rows, by key; NaN where a mean is over nothing."""
    predicted, observed = evaluation.pair
    smooth = {
        key: mean_among(values, rows)
        for key, score in SCORES.items()
        if score.of_rows is not None and (values := score.of_rows(evaluation)) is not None
    }
    smooth |= _gaps(predicted, observed, rows)
    smooth["sharpness"] = mean_among((predicted - rows.mean(predicted)) ** 2, rows)
    smooth["overconfidence"] = mean_among(predicted, rows, ~observed)
    smooth["underconfidence"] = mean_among(1.0 - predicted, rows, observed)
    if evaluation.view.is_event:
        smooth["AUROC"] = placements(predicted, observed, rows)
        smooth["average precision"] = precisions(predicted, observed, rows.weights)
    return smooth


def _gaps(predicted: Floats, observed: Bools, rows: Rows) -> dict[str, Smooth]:
    signed, per_row = mean_among(predicted - observed, rows)
    return {"signed gap": (signed, per_row), "gap": (abs(signed), np.sign(signed) * per_row)}


def bins_of_ece(confidence: Floats, correct: Bools, groups: Groups, weights: Floats) -> Floats:
    """Sums of 1, confidence and correctness in each bin of the ECE, times the weights, (n_groups, ECE_BINS, 3)."""
    index = equal_width_index(confidence, ECE_BINS)
    bins = [
        groups.sums_by(index, ECE_BINS, part)
        for part in (weights, weights * confidence, weights * correct)
    ]
    return np.stack(bins, axis=-1).astype(float)


def ece_of_bins(bins: Floats) -> Floats:
    """ECE of bins, (..., ECE_BINS, 3) sums of 1, confidence and correctness, over the leading axes."""
    count, predicted, observed = np.moveaxis(bins, -1, 0)
    return np.asarray(np.abs(predicted - observed).sum(axis=-1) / count.sum(axis=-1))


def without_noise(error: float, bins: Floats) -> float:
    """An ECE less, in squares, the mean that the noise of its bins alone would give.

    The accuracy of n rows is off by a normal error of standard deviation s, ``s^2 = a (1 - a) / n``, whose mean size is
    ``s sqrt(2 / pi)``; a gap and its noise add in squares.

    Parameters
    ----------
    error : the ECE.
    bins : (n_bins, 3) rows, sums of the confidence and right rows of each bin.
    """
    count, _, right = bins.T
    accuracy = (right + 0.5) / (count + 1.0)
    noise = np.sqrt(2.0 / np.pi * accuracy * (1.0 - accuracy) * count).sum() / count.sum()
    return float(np.sqrt(max(error**2 - noise**2, 0.0)))


def describe_intervals(n_clusters: int | None) -> str:
    """Describe what intervals take as independent where the test rows have clusters; "" where they have none."""
    if n_clusters is None:
        return ""
    rough = (
        f" With fewer than {FEW_CLUSTERS} clusters intervals are rough."
        if n_clusters < FEW_CLUSTERS
        else ""
    )
    return f"Intervals take whole clusters as independent, {n_clusters:,} in the test part.{rough}"
