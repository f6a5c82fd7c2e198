"""The scores that pages, tables and reports share: what they are, their values, intervals and paired differences.

A new score is an entry in ``SCORES``; one that is no mean over rows is computed in :func:`smooth_scores`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

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
    not_below,
    reflect,
    wilson_interval,
)
from calib.metrics.calibration_error import ece
from calib.metrics.confidence import Bools, check_weights, effective_sample_size
from calib.metrics.estimate import LOGIT, Estimate, Rows, degrees_of
from calib.metrics.risk_measures import of_one_order
from calib.metrics.scoring_rules import placements, precisions
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
N_RESAMPLES = 1000
FEW_CLUSTERS = 40
"""With fewer clusters their intervals are rough (Cameron and Miller 2015, section VI)."""
FEW = 5
"""Fewer wrong (or right) rows than this rank no methods.

No interval knows what was not seen, and a mistake made with certainty costs more than all other rows together. With 300
rows simulated of two maps, 95 % bootstrap intervals of the NLL called the worse one better in all of 953 runs without a
wrong row, in 4 % of 843 with one, in 1.4 % of 569 with two, and in at most 1.2 % with five or more.
"""


@dataclass(frozen=True)
class Unit:
    """In what a score's differences are told: ``scale`` times their value, and its name."""

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
        """In what its differences are told: nats, points of a share, or plain numbers."""
        if self.key == "NLL":
            return Unit("nats", 1.0)
        return Unit("points", 100.0) if self.high == 1.0 else Unit("", 1.0)

    def seen(self, view: View) -> Score:
        """The score with the title and the meaning that it has in a view.

        Parameters
        ----------
        view : View
            The view to take.

        Returns
        -------
        Score
            With the words of that view.
        """
        title, meaning = view.scores.get(self.key, (self.title, self.meaning))
        return replace(self, title=title, meaning=meaning)


def row_events(evaluation: Evaluation) -> Bools | None:
    """Whether the event happened in each row; None in other views, which have the accuracy."""
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
        "Mean doubt (1 - confidence) of the right predictions.",
    ),
    Score(
        "sharpness",
        "Sharpness",
        "neither",
        "Variance of the confidence; good only where it is calibrated.",
        high=0.25,
    ),
)

SCORES: dict[str, Score] = {score.key: score for score in _SCORES}
"""The scores by key, in order of display."""


@dataclass(frozen=True, eq=False)
class Scored:
    """Scores of one evaluation, with what is known of their errors.

    Attributes
    ----------
    value : key -> score on all rows.
    influence : key -> (groups,) what each of the groups of rows adds to a score that is smooth, see
        :class:`calib.metrics.estimate.Estimate`; the groups are the same for all methods. That of the ECE is of bins
        whose gaps keep their signs.
    draws : key -> (n_resamples,) values that the ECE may have in truth, see :func:`calib.metrics.bootstrap.reflect`.
    n : number of rows.
    n_clusters : number of clusters; None where rows are independent.
    debiased : of the ECE and the class-wise ECE, by key: the value less what noise alone would give.
    error : key -> standard error of a smooth score, over all rows or clusters.
    degrees : of freedom of the intervals of smooth scores; fewer than ``n_units`` tell where the outcome is rare.
    rarer : number of units with the rarer outcome, which tell how sure an AUROC of 1 is.
    """

    value: dict[str, float]
    influence: dict[str, Floats]
    draws: dict[str, Floats]
    n: int
    n_clusters: int | None = None
    debiased: dict[str, float] = field(default_factory=dict)
    error: dict[str, float] = field(default_factory=dict)
    degrees: float = math.inf
    rarer: int = 1

    @property
    def n_units(self) -> int:
        """Number of clusters, or of rows where these are independent."""
        return self.n_clusters or self.n

    def estimate(self, key: str) -> Estimate:
        """A score as an estimate, whose differences to those of other methods are paired."""
        influence = self.influence[key]
        degrees = degrees_of(min(self.n_units, len(influence)))
        return Estimate(self.debiased.get(key, self.value[key]), influence, degrees)

    def intervals(self, level: float = 0.95) -> dict[str, Interval]:
        """Interval of each score: of proportions Wilson's, of the ECE the bootstrap's."""
        found = {key: self._alone(key, level) for key in self.value}
        signed = found["signed gap"]
        rate = found[EVENT_RATE if EVENT_RATE in found else "accuracy"]
        n_right = round(rate.value * self.n)
        few = min(n_right, self.n - n_right) < FEW
        if few:  # so few wrong (or right) rows tell of the accuracy no more than Wilson's interval
            said = signed.value + rate.value
            low = np.fmin(signed.low, said - rate.high)
            high = np.fmax(signed.high, said - rate.low)
            signed = found["signed gap"] = Interval(signed.value, float(low), float(high))
        gap = found["gap"] = folded(self.value["gap"], signed)
        # Bins only take from the residuals what cancels, and in their mean over all rows everything does.
        if (error := found.get("ECE")) and not math.isnan(error.low):
            found["ECE"] = not_below(
                error._replace(low=min(error.low, gap.low)) if few else error, gap
            )
        return found

    def _alone(self, key: str, level: float) -> Interval:
        value = self.value[key]
        least = SCORES[key].low
        most = SCORES[key].high
        if key in PROPORTIONS:
            error = self.error[key]
            n = float(self.n_units)
            if self.n_clusters and error:  # independent rows of which the share would vary as much
                n = float(np.clip(value * (1.0 - value) / error**2, 1.0, self.n))
            return Interval(value, *(float(end) for end in wilson_interval(value * n, n, level)))
        if key in self.draws:
            if self.n_units < 2:  # draws of one row are all alike
                return Interval(value, math.nan, math.nan)
            return interval_of_draws(value, self.draws[key], level, least, most)
        if key in RANKING and value in (
            0.0,
            1.0,
        ):  # its rows do not vary, which is not to say that it is sure
            return (
                of_one_order(value, self.rarer, level)
                if key == "AUROC"
                else Interval(value, math.nan, math.nan)
            )
        # Sums over clusters are skewed where events are few.
        on_logit = key in RANKING or (key == "Brier" and "AUROC" in self.value and self.n_clusters)
        alone = Estimate(value, np.empty(0), self.degrees)
        scale = LOGIT if on_logit and 0.0 < value < 1.0 else None
        interval = alone.interval(level, scale, error=self.error[key])
        noise = value - self.debiased.get(key, value)  # may be all that the lower end holds
        return cut(interval._replace(value=value, low=interval.low - noise), least, most)


def scores(evaluation: Evaluation) -> dict[str, float]:
    """Values of the scores in ``SCORES`` that the evaluation allows, by key.

    NLL, Brier score and top-5 accuracy are absent where the method gives a confidence only, top-5 accuracy also up to 5
    classes. Overconfidence is NaN where nothing is wrong, underconfidence where nothing is right.

    Parameters
    ----------
    evaluation : Evaluation
        Of one calibrator on one test set.

    Returns
    -------
    dict of str to float
        In the order of ``SCORES``.
    """
    smooth = smooth_scores(evaluation)
    values = {key: value for key, (value, _) in smooth.items()} | {"ECE": ece(*evaluation.pair)}
    return {key: float(values[key]) for key in SCORES if key in values}


def score_intervals(evaluation: Evaluation) -> dict[str, Interval]:
    """Interval of every score, by key: linearised of smooth scores, Wilson's of proportions, bootstrapped of the ECE.

    An ECE of few rows in many bins is an overestimate; its interval reaches down to where the truth may be. In
    simulations with 500 and 5000 rows, 95 % intervals held the truth in 87 to 100 % of runs for the ECE (percentile
    intervals: 0 % on calibrated data) and 93 to 97 % for the other scores (40 to 100 runs each, calibrated or not).

    Parameters
    ----------
    evaluation : Evaluation
        Of one calibrator on one test set.

    Returns
    -------
    dict of str to Interval
        With 95 % intervals.
    """
    return scored_on(evaluation).intervals()


def scored_on(evaluation: Evaluation) -> Scored:
    """Scores of an evaluation, on groups of its rows that are the same for all methods on the same rows."""
    scored = _scored(smooth_scores(evaluation), *evaluation.pair, evaluation.clusters)
    if CLASSWISE not in scored.value:
        return scored
    less = {CLASSWISE: scored.value[CLASSWISE] - evaluation.classwise_noise}
    return replace(scored, debiased=scored.debiased | less)


def ece_interval(
    confidence: Floats,
    correct: Bools,
    clusters: npt.NDArray[np.generic] | None = None,
    weights: Any = None,
) -> Interval:
    """:func:`calib.ece` with the bootstrap interval that comparisons give it.

    No ECE is below the distance of mean confidence from accuracy, and so is neither end of its interval.

    Parameters
    ----------
    confidence, correct : (n,) arrays.
    clusters : (n,) what rows that belong together share; whole clusters are drawn.
    weights : (n,) weight of each row; rows tell as much as their effective number.
    """
    weights = check_weights(weights, len(correct))
    if weights is not None:
        weights = weights * (effective_sample_size(weights) / weights.sum())
    smooth = {
        "accuracy": _mean_among(correct, None, weights),
        **_gaps(confidence, correct, weights),
    }
    return _scored(smooth, confidence, correct, clusters, weights).intervals()["ECE"]


def average_gap(evaluation: Evaluation, level: float = 0.95) -> Interval:
    """What is said less what came true, on average, with the interval that it has among the scores."""
    said, outcome = evaluation.pair
    smooth = {"accuracy": _mean_among(outcome), **_gaps(said, outcome)}
    return _smooth_scored(smooth, outcome, evaluation.clusters).intervals(level)["signed gap"]


def _scored(
    smooth: dict[str, tuple[float, Floats]],
    said: Floats,
    came: Bools,
    clusters: Any,
    weights: Floats | None = None,
) -> Scored:
    """Smooth scores, and the ECE of confidences and outcomes; weights sum to the effective number of rows."""
    groups = groups_of_units(len(said), clusters)
    alone = _smooth_scored(smooth, came, clusters, weights)
    bins = bins_of_ece(said, came, groups, weights)
    error = float(ece_of_bins(bins.sum(axis=0)))
    values = alone.value | {"ECE": error}
    return replace(
        alone,
        value={key: values[key] for key in SCORES if key in values},
        influence=alone.influence
        | {"ECE": sums_of_groups(_ece_influence(said, came, bins.sum(axis=0), weights), groups)},
        draws={"ECE": reflect(error, ece_of_bins(groups.resampled(bins, N_RESAMPLES)))},
        debiased={"ECE": without_noise(error, bins.sum(axis=0))},
    )


def _smooth_scored(
    smooth: dict[str, tuple[float, Floats]],
    came: Bools,
    clusters: Any,
    weights: Floats | None = None,
) -> Scored:
    groups = groups_of_units(len(came), clusters)
    rows = Rows.with_outcome(came, clusters=clusters)
    return Scored(
        {key: float(smooth[key][0]) for key in SCORES if key in smooth},
        {key: sums_of_groups(added, groups) for key, (_, added) in smooth.items()},
        {},
        len(came) if weights is None else round(weights.sum()),
        rows.n_units if rows.clustered else None,
        error={key: float(rows.estimate(0.0, added).error) for key, (_, added) in smooth.items()},
        degrees=rows.degrees,
        rarer=rows.rarer_units(came),
    )


def smooth_scores(
    evaluation: Evaluation, weights: Floats | None = None
) -> dict[str, tuple[float, Floats]]:
    """Scores that are smooth functions of means over rows, by key: value, and (n,) what each row adds to it.

    Values are NaN where a mean is over nothing.
    """
    said, outcome = evaluation.pair
    found = {
        key: _mean_among(rows, None, weights)
        for key, score in SCORES.items()
        if score.of_rows is not None and (rows := score.of_rows(evaluation)) is not None
    }
    found |= _gaps(said, outcome, weights)
    found["sharpness"] = _mean_among(
        (said - _mean_among(said, None, weights)[0]) ** 2, None, weights
    )
    found["overconfidence"] = _mean_among(said, ~outcome, weights)
    found["underconfidence"] = _mean_among(1.0 - said, outcome, weights)
    if evaluation.view.is_event:
        found["AUROC"] = placements(
            said, outcome, Rows.with_outcome(outcome, weights, clusters=evaluation.clusters)
        )
        found["average precision"] = precisions(said, outcome, weights)
    return found


def weighted_scores(evaluation: Evaluation) -> dict[str, float]:
    """Values of the scores, by key, with rows counted by their weights; none where no weights were confirmed.

    The class-wise ECE is not among them.
    """
    weights = check_weights(evaluation.weights, len(evaluation))
    if weights is None:
        return {}
    found = {
        key: value
        for key, (value, _) in smooth_scores(evaluation, weights).items()
        if key != CLASSWISE
    }
    return found | {"ECE": ece(*evaluation.pair, weights=weights)}


def _mean_among(
    values: npt.NDArray[Any], chosen: Bools | None = None, weights: Floats | None = None
) -> tuple[float, Floats]:
    """Mean over the chosen rows, a ratio of two sums, and what each row adds to it."""
    share = np.ones(len(values)) if weights is None else weights
    if chosen is not None:
        share = share * chosen
    total = float(share.sum())
    if not total:
        return math.nan, np.full(len(values), math.nan)
    mean = float(share @ values) / total
    return mean, share * (values - mean) / total


def _gaps(
    said: Floats, outcome: Bools, weights: Floats | None = None
) -> dict[str, tuple[float, Floats]]:
    signed, per_row = _mean_among(said - outcome, None, weights)
    return {"signed gap": (signed, per_row), "gap": (abs(signed), np.sign(signed) * per_row)}


def sums_of_groups(per_row: Floats, groups: Groups) -> Floats:
    """What each of G groups adds to a statistic, (G,), from what (n,) rows add; the variance has ``G / (G - 1)``."""
    return groups.sums(per_row) * np.sqrt(groups.n_groups / max(groups.n_groups - 1, 1))


def bins_of_ece(
    confidence: Floats, correct: Bools, groups: Groups, weights: Floats | None = None
) -> Floats:
    """Sums of 1, confidence and correctness in each bin of the ECE, times the weights, (n_groups, ECE_BINS, 3)."""
    index = equal_width_index(confidence, ECE_BINS)
    weight = np.ones(len(confidence)) if weights is None else weights
    bins = [
        groups.sums_by(index, ECE_BINS, part)
        for part in (weight, weight * confidence, weight * correct)
    ]
    return np.stack(bins, axis=-1).astype(float)


def ece_of_bins(bins: Floats) -> Floats:
    """ECE of bins, (..., ECE_BINS, 3) sums of 1, confidence and correctness, over the leading axes."""
    count, said, came = np.moveaxis(bins, -1, 0)
    return np.asarray(np.abs(said - came).sum(axis=-1) / count.sum(axis=-1))


def _ece_influence(
    confidence: Floats, correct: Bools, bins: Floats, weights: Floats | None
) -> Floats:
    """(n,) what each row adds to the ECE, where the gap of each bin keeps its sign."""
    place = equal_width_index(confidence, ECE_BINS)
    return _mean_among(
        np.sign(bins[:, 1] - bins[:, 2])[place] * (confidence - correct), None, weights
    )[1]


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


def said_of_intervals(n_clusters: int | None) -> str:
    """What intervals take as independent where the test rows have clusters, in sentences; "" where they have none."""
    if n_clusters is None:
        return ""
    rough = (
        f" With fewer than {FEW_CLUSTERS} clusters intervals are rough."
        if n_clusters < FEW_CLUSTERS
        else ""
    )
    return f"Intervals take whole clusters as independent, {n_clusters:,} in the test part.{rough}"
