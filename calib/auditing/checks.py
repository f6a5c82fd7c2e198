"""The checks of an audit, one function each: from the rows to a finding, in the order in which an expert asks.

A check is a function of :class:`~calib.auditing.rows.AuditRows` that returns a
:class:`~calib.auditing.findings.Finding`; an entry of ``CHECKS`` runs it. A "problem" needs an interval that excludes
what is fine, and a size that matters; a "caution" a 95 % interval. Quantities of one check are judged jointly, and the
checks share an error of 5 % (Bonferroni): half is for groups, and level, spread, shape, ends, classes and time share
the rest.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from calib.auditing import sentences
from calib.auditing.findings import Finding, GroupFinding, Severity
from calib.auditing.groups import (
    GROUPS_ERROR,
    MODEL_ERROR,
    PERIODS,
    TOLERANCE,
    Family,
    JudgedGroups,
    periods,
)
from calib.auditing.rows import AuditRows, departed_losses, log_loss, slope_estimate
from calib.data.predictions import Predictions
from calib.evaluation.evaluation import Evaluation
from calib.evaluation.recommendation import HARDLY
from calib.evaluation.view import View
from calib.formatting import number, points
from calib.metrics.bootstrap import Interval
from calib.metrics.confidence import Bools
from calib.metrics.estimate import Estimate, Rows
from calib.metrics.recalibration import recalibrate_logistic
from calib.metrics.risk_measures import observed_to_expected
from calib.metrics.scoring_rules import auroc_interval
from calib.numerics import Floats

CHECK_ERROR = (MODEL_ERROR - GROUPS_ERROR) / 6
"""Probability with which one check other than groups finds a problem in a calibrated model."""
POINT = 0.01
SHARE_OF_RATE = 0.1
"""Of an event's rate, the tolerance of its level where that is less than a point."""
SLOPE_TOLERANCE = 0.05
GAIN = 0.002
"""Nats a row below which a better map makes no difference that matters."""
NOTHING = 0.001
"""Nats a row below which an affine map of the outputs is no better than class frequencies."""
PERFECT = 0.995
CERTAIN = 0.99
FEW_LEVELS = 20
FEW_EVENTS = 100
ROUGH_CLUSTERS = 40
LEAST_OF_CLASS = 20
CLASS_TOLERANCE = 0.005
MOST_OUTPUTS = 5_000_000
"""Outputs up to which the slope on the logits is of all rows; of four times as many no class is judged."""
LEAST_VISIBLE = 4.15
"""Standard errors of the least gap that is a problem with a power of 90 %."""


@dataclass(frozen=True, eq=False)
class Checked:
    """Rows with the results that the remedy and the verdict share with the checks."""

    rows: AuditRows

    @cached_property
    def knows_nothing(self) -> bool:
        """True if even an affine map of the outputs is no better than class frequencies."""
        return self._gain_of_outputs < NOTHING and self._precise

    @cached_property
    def hardly(self) -> bool:
        """True if the affine map is better by less than 2 % of their loss."""
        return self._gain_of_outputs < HARDLY * self.frequency_loss and self._precise

    @cached_property
    def useful(self) -> Estimate:
        """Loss of class frequencies less that of an affine map of the outputs."""
        rows = self.rows
        return rows.gain(rows.frequency_loss[rows.fitted_numbers], rows.affine_loss)

    @property
    def _gain_of_outputs(self) -> float:
        return float(self.useful.value)

    @property
    def _precise(self) -> bool:
        """True if the interval excludes a gain of 4 % of the loss."""
        return self.useful.interval(0.95).high < 2.0 * HARDLY * self.frequency_loss

    @cached_property
    def frequency_loss(self) -> float:
        """Loss of class frequencies."""
        return self.rows.sample.mean(self.rows.frequency_loss)

    @cached_property
    def groups(self) -> JudgedGroups:
        """Every column of groups, and their pairs."""
        return JudgedGroups.from_rows(self.rows)

    @cached_property
    def slope(self) -> Estimate:
        """Slope of logistic recalibration of an event; slope on the logits otherwise."""
        rows = self.rows
        if rows.is_binary:
            return recalibrate_logistic(rows.log_odds, rows.observed, rows.sample).joint.estimate[1]
        if rows.logits.size > MOST_OUTPUTS:
            rows = rows.fitted
        return slope_estimate(rows.logits, rows.labels, rows.sample)

    @cached_property
    def gain_of_offsets(self) -> Estimate:
        """Gain of an offset for each class over one slope of the logits."""
        return self.rows.gain(self.rows.slope_loss, self.rows.affine_loss)

    @cached_property
    def offsets_help(self) -> bool:
        """True if offsets of the classes are a gain that matters."""
        gain = self.gain_of_offsets
        severity = excludes(gain, size=GAIN, error=CHECK_ERROR / 2.0)
        return self.rows.has_offsets and gain.value > 0 and severity == "problem"

    @cached_property
    def by_group(self) -> Estimate | None:
        """Cross-fitted gain of a map for each group of the leading column over one map for all; None without one."""
        rows, column = self.rows, self.groups.leading
        if column is None:
            return None
        fitted = rows.fitted
        line = rows.maps[0]
        code = self.groups.code(column)[rows.fitted_numbers]
        outcome = fitted.observed.astype(float)
        departed = departed_losses(line, outcome, fitted.sample.weights, fitted.folds, code)
        shared = min(
            (log_loss(line, outcome), log_loss(fitted.log_odds, outcome)), key=fitted.sample.mean
        )
        return rows.gain(shared, departed)


def excludes(
    estimate: Estimate,
    fine: float = 0.0,
    tolerance: float = 0.0,
    size: float = 0.0,
    error: float = CHECK_ERROR,
) -> Severity:
    """Severity of one quantity.

    Parameters
    ----------
    fine : value that is fine; so is what lies within ``tolerance`` of it.
    size : distance from ``fine`` up to which it does not matter.
    error : probability with which what is fine is a problem.
    """
    value = float(estimate.value)
    if not np.isfinite(value) or not np.isfinite(float(estimate.error)):
        return "untested"
    surely, likely = (estimate.interval(level) for level in (1.0 - error, 0.95))
    if abs(value - fine) > size and not surely.low - tolerance <= fine <= surely.high + tolerance:
        return "problem"
    return "fine" if likely.low <= fine <= likely.high else "caution"


def check_labels(checked: Checked) -> Finding:
    """Outputs and labels that do not belong together, or fit too well."""
    rows = checked.rows
    if "repeated_rows" in rows.codes:
        return Finding("labels", "caution", sentences.REPEATED)
    if rows.is_binary:
        return _check_ranking(rows)
    return _check_columns(rows)


def _check_ranking(rows: AuditRows) -> Finding:
    """An AUROC below one half, about one half, or of nearly 1."""
    area = auroc_interval(rows.predicted, rows.observed, rows.sample)
    surely = auroc_interval(rows.predicted, rows.observed, rows.sample, 1.0 - CHECK_ERROR)
    severity: Severity = "caution"
    sentence = sentences.LABELS_FINE
    if surely.high < 0.5:
        severity = "problem"
        sentence = sentences.inverted(area)
    elif area.low <= 0.5 <= area.high:
        sentence = sentences.no_ranking(area)
    elif area.value > PERFECT:
        sentence = sentences.too_good(area)
    else:
        severity = "fine"
    return Finding("labels", severity, sentence, area, figure=f"AUROC {number(area.value)}")


def _check_columns(rows: AuditRows) -> Finding:
    """Columns in another order than the labels."""
    from scipy.optimize import linear_sum_assignment

    k = rows.n_classes
    counts = np.bincount(
        rows.predicted_class * k + rows.labels, rows.sample.weights, k * k
    ).reshape(k, k)
    column, label = linear_sum_assignment(-counts)
    other = np.empty(k, dtype=int)
    other[column] = label
    better = other[rows.predicted_class] == rows.labels
    difference = rows.sample.mean_of(better.astype(float) - rows.observed)
    accuracy = rows.sample.mean_of(rows.observed.astype(float)).interval()
    if (
        (other != np.arange(k)).any()
        and excludes(difference, size=0.1) == "problem"
        and difference.value > 0
    ):
        return Finding(
            "labels",
            "problem",
            sentences.other_order(accuracy.value, rows.sample.mean(better)),
            accuracy,
        )
    return Finding("labels", "fine", sentences.LABELS_FINE, accuracy)


def check_skill(checked: Checked) -> Finding:
    """Skill against class frequencies, and against the most frequent class."""
    rows = checked.rows
    if len(np.unique(rows.labels)) < 2:
        return Finding("skill", "untested", sentences.ONE_CLASS, page="Compare")
    nll = rows.sample.mean_of(rows.model_loss - rows.frequency_loss)
    brier = rows.sample.mean_of(rows.brier_difference)
    interval = nll.interval()
    judged = (nll, brier) if (rows.label_probs == 0.0).any() else (nll,)
    worse = any(estimate.value > 0 and excludes(estimate) == "problem" for estimate in judged)
    no_better = interval.high >= 0
    severity: Severity = "problem" if worse or checked.knows_nothing else "fine"
    if severity == "fine" and (no_better or checked.hardly):
        severity = "caution"
    state = (
        "nothing"
        if checked.knows_nothing
        else "worse"
        if worse
        else "no better"
        if no_better
        else "fine"
    )
    if state == "fine" and checked.hardly:
        state = "hardly"
    sentence = sentences.skill(state, rows, nll, checked.useful, checked.frequency_loss)
    sign = "<" if nll.value < 0 else ">"
    model = checked.frequency_loss + float(nll.value)
    figure = f"NLL {number(model)} {sign} {number(checked.frequency_loss)}"
    return Finding("skill", severity, sentence, interval, "Compare", figure)


def check_level(checked: Checked) -> Finding:
    """Mean prediction against observed rate; mean confidence against accuracy."""
    rows = checked.rows
    return judge_level(rows.predicted, rows.observed, rows.sample, rows.view)


def judge_level(predicted: Floats, observed: Bools, sample: Rows, view: View) -> Finding:
    """Judge the level of (n,) probabilities against whether they came true."""
    means = sample.mean(predicted), sample.mean(observed)
    gap = sample.mean_of(predicted - observed)
    tolerance = min(POINT, SHARE_OF_RATE * means[1]) if view.is_event else POINT
    severity = excludes(gap, size=tolerance)
    figure = f"{points(gap.value)} points"
    sentence = sentences.level_of_confidence(*means, severity, gap.interval())
    if view.is_event:
        ratio = observed_to_expected(predicted, observed, sample)
        figure = f"O:E {ratio.value:.2f}"
        sentence = sentences.level_of_event(*means, severity, ratio)
    page = "Over- and underconfidence"
    return Finding("level", severity, sentence, gap.interval(), page, figure)


def describe_level(evaluation: Evaluation, subject: str = "The raw model") -> str:
    """Describe the level of a method as the audit does."""
    predicted, observed = evaluation.pair
    sentence = judge_level(predicted, observed, evaluation.rows, evaluation.view).sentence
    return f"{subject}: {sentence[0].lower()}{sentence[1:]}"


def describe_groups(evaluation: Evaluation, part: Predictions, subject: str) -> str:
    """Describe the groups for which a method is off as the audit does; "" where none is judged."""
    finding = check_groups(Checked(AuditRows.from_evaluation(evaluation, part)))
    return "" if finding.severity == "untested" else f"{subject} by group: {finding.sentence}"


def check_spread(checked: Checked) -> Finding:
    """Predictions that are too extreme or too moderate."""
    if checked.knows_nothing:
        return Finding("spread", "untested", sentences.NO_SPREAD, page="Reliability")
    slope = checked.slope
    if not np.isfinite(float(slope.value)):
        return Finding("spread", "untested", sentences.NO_SLOPE, page="Reliability")
    severity = excludes(slope, fine=1.0, tolerance=SLOPE_TOLERANCE)
    sentence = sentences.spread(checked.rows, severity, slope.interval())
    return Finding(
        "spread", severity, sentence, slope.interval(), "Reliability", f"slope {slope.value:.2f}"
    )


def check_shape(checked: Checked) -> Finding:
    """Errors that an affine map does not correct."""
    rows = checked.rows
    if checked.knows_nothing:
        return Finding("shape", "untested", sentences.NO_SPREAD, page="Reliability")
    gain = rows.gain(rows.maps[2], rows.spline_loss)
    severity = excludes(gain, size=GAIN) if gain.value > 0 else "fine"
    if severity == "problem" and rows.sample.clustered and rows.sample.n_units < ROUGH_CLUSTERS:
        severity = "caution"
    sentence = sentences.shape(severity, gain, matters=gain.value > GAIN)
    return Finding("shape", severity, sentence, gain.interval(), "Reliability")


def check_ends(checked: Checked) -> Finding:
    """Certain and wrong predictions, probabilities of 0 at the label, and few different values."""
    from scipy.stats import poisson

    rows = checked.rows
    confidence = rows.probs.max(axis=1)
    certain = confidence >= CERTAIN
    wrong = rows.label_probs < confidence
    n_wrong, expected = int((certain & wrong).sum()), float((1.0 - confidence[certain]).sum())
    rare = (
        bool(poisson.sf(n_wrong - 1, max(expected, 1e-12)) < CHECK_ERROR)
        and n_wrong > expected + 3.0
    )
    excess = rows.sample.mean_of(certain * (wrong - (1.0 - confidence)))
    zeros = int((rows.label_probs == 0.0).sum())
    levels = len(np.unique(rows.predicted))
    severity: Severity = "fine"
    if rare and (not rows.sample.clustered or excludes(excess) == "problem"):
        severity = "problem"
    elif rare or zeros or levels < FEW_LEVELS:
        severity = "caution"
    sentence = sentences.ends(n_wrong, int(certain.sum()), expected, zeros, levels)
    return Finding("ends", severity, sentence, page="Reliability", figure=f"{n_wrong:,} wrong")


def check_classes(checked: Checked) -> Finding:
    """Classes that are predicted too often or too rarely."""
    rows = checked.rows
    k = rows.n_classes
    if rows.is_binary or k == 2:
        return Finding(
            "classes", "untested", sentences.TWO_CLASSES, page="Over- and underconfidence"
        )
    w = rows.sample.weights
    counts = np.bincount(rows.labels, minlength=k)
    judged = np.flatnonzero(np.maximum(counts, rows.probs.sum(axis=0)) >= LEAST_OF_CLASS)
    if not len(judged) or len(judged) * len(rows) > 4 * MOST_OUTPUTS:
        return Finding(
            "classes", "untested", sentences.FEW_OF_CLASSES, page="Over- and underconfidence"
        )
    happened = rows.labels[:, None] == judged
    named = rows.predicted_class[:, None] == judged
    away = rows.probs[:, judged] - happened
    mean = w @ away / rows.sample.total
    estimate = rows.sample.estimate(mean, (away - mean) / rows.sample.total)
    squared = w if rows.sample.kind == "frequency" else w**2
    chance = squared @ (rows.probs[:, judged] * (1.0 - rows.probs[:, judged]))
    least = np.sqrt(chance) / rows.sample.total  # a class that seldom occurs varies too little
    error = CHECK_ERROR / 2.0  # the other half is for the gain of offsets
    surely, likely = (
        estimate.joint_critical(level) * np.maximum(estimate.error, least)
        for level in (1.0 - error, 0.95)
    )
    gain = checked.gain_of_offsets
    matters = checked.offsets_help
    off = (np.abs(mean) > surely) & (np.abs(mean) > CLASS_TOLERANCE)
    severity: Severity = (
        "problem"
        if off.any() or matters
        else "caution"
        if (np.abs(mean) > likely).any()
        else "fine"
    )
    often = w @ named / rows.sample.total
    occurs = w @ happened / rows.sample.total
    j = int(np.abs(often - occurs if matters else mean).argmax())
    worst = rows.class_names[judged[j]], often[j] * len(rows), occurs[j] * len(rows), float(mean[j])
    sentence = sentences.classes(severity, worst, len(judged))
    return Finding("classes", severity, sentence, gain.interval(), "Over- and underconfidence")


def check_groups(checked: Checked) -> Finding:
    """Groups and pairs of groups whose gap differs from the overall one."""
    page = "Groups"
    if not checked.rows.groups:
        return Finding("groups", "untested", sentences.NO_GROUPS, page=page)
    judged = checked.groups
    if not len(judged):
        return Finding("groups", "untested", sentences.SMALL_GROUPS, page=page)
    problems, cautions = judged.off("problem"), judged.off("caution")
    severity: Severity = "problem" if problems else "caution" if cautions else "fine"
    leading = judged.of_column(judged.leading) if judged.leading else []
    overall = float(checked.rows.level.value)
    about = len(judged), judged.least_visible, overall
    sentence = sentences.groups(leading, problems, cautions, *about)
    worst = tuple(_worst_named(leading, problems or cautions))
    figure = f"{len(problems)} of {len(judged)} off" if problems else f"none of {len(judged)} off"
    return Finding(
        "groups", severity, sentence, worst[0].gap if worst else None, page, figure, worst
    )


def _worst_named(leading: list[GroupFinding], off: list[GroupFinding]) -> list[GroupFinding]:
    """Groups of the leading column first, then the others by the size of their gap."""
    others = sorted(
        (group for group in off if group not in leading), key=lambda group: -abs(group.gap.value)
    )
    return [*leading, *others]


def check_time(checked: Checked) -> Finding:
    """Periods whose gap differs from the overall one, and its trend."""
    rows = checked.rows
    if rows.times is None:
        return Finding("time", "untested", sentences.NO_TIMES, page="Monitoring")
    parts, rank = periods(rows.times, PERIODS)
    if parts is None:
        return Finding("time", "untested", sentences.ONE_TIME, page="Monitoring")
    family = Family(rows, [parts], PERIODS / (PERIODS + 1.0), CHECK_ERROR)
    centred = rank - rows.sample.mean(rank)
    squares = float(rows.sample.weights @ centred**2)
    away = rows.residual - float(rows.level.value)
    slope = float(rows.sample.weights @ (centred * away)) / squares
    trend = rows.sample.estimate(slope, centred * (away - slope * centred) / squares)
    alpha = 1.0 / (PERIODS + 1.0)
    drifts = [not _holds(trend.interval(1.0 - error * alpha)) for error in (CHECK_ERROR, 0.05)]
    problems = [family.finding(j) for j in family.off("problem")]
    cautions = [family.finding(j) for j in family.off("caution")]
    severity: Severity = "fine"
    if problems or (drifts[0] and abs(slope) > TOLERANCE):
        severity = "problem"
    elif cautions or drifts[1]:
        severity = "caution"
    overall = float(rows.level.value)
    off = problems or cautions
    sentence = sentences.time(severity, off, len(family), trend.interval(), overall)
    return Finding(
        "time",
        severity,
        sentence,
        trend.interval(),
        "Monitoring",
        f"{len(problems) or 'none'} of {len(family)} off",
        tuple(problems or cautions),
    )


def _holds(interval: Interval) -> bool:
    return interval.low <= 0.0 <= interval.high


def check_weights(checked: Checked) -> Finding:
    """Changes that weights and clusters make."""
    rows = checked.rows
    sample = rows.sample
    if sample.kind is None and rows.other_weights is None and not sample.clustered:
        return Finding("weights", "untested", sentences.NO_WEIGHTS)
    few = sample.clustered and sample.n_units < ROUGH_CLUSTERS
    other = None
    if sample.kind is not None:
        other = Rows.with_outcome(rows.observed, clusters=sample.unit if sample.clustered else None)
    elif rows.other_weights is not None:
        positive = np.maximum(rows.other_weights, 1e-300)
        clusters = sample.unit if sample.clustered else None
        other = Rows.with_outcome(rows.observed, positive, "sampling", clusters)
    changed = other is not None and not _within(rows, other)
    severity: Severity = "caution" if few or changed else "fine"
    return Finding("weights", severity, sentences.weights(rows, other, changed))


def _within(rows: AuditRows, other: Rows) -> bool:
    """Compare mean prediction and rate by two weights: equal within a point and a tenth of the rate."""
    pairs = (
        (sample.mean(values) for sample in (rows.sample, other))
        for values in (rows.predicted, rows.observed)
    )
    return all(abs(a - b) <= min(POINT, SHARE_OF_RATE * max(a, b)) for a, b in pairs)


def check_rows(checked: Checked) -> Finding:
    """Number of events or wrong answers, and the least gap that they show."""
    rows = checked.rows
    events = int(rows.observed.sum())
    rarer = min(events, len(rows) - events) if rows.is_binary else len(rows) - events
    severity: Severity = "caution" if rarer < FEW_EVENTS else "fine"
    visible = LEAST_VISIBLE * float(rows.level.error)
    return Finding(
        "rows", severity, sentences.rows(rows, events, visible), figure=f"{len(rows):,} rows"
    )


CHECKS: tuple[Callable[[Checked], Finding], ...] = (
    check_labels,
    check_skill,
    check_level,
    check_spread,
    check_shape,
    check_ends,
    check_classes,
    check_groups,
    check_time,
    check_weights,
    check_rows,
)
"""Checks in the order in which an expert asks; the remedy follows from them."""
