"""Over- and underconfidence of sites, cohorts, classes or bands, and the panel of a risk model in groups."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np
import numpy.typing as npt

from calib.decisions.group_recalibration import GroupGain, judge_groups, recalibrate_groups
from calib.diagnostics.reliability import independent_rows
from calib.errors import CalibrationError
from calib.evaluation.evaluation import Evaluation
from calib.evaluation.view import View
from calib.formatting import NO_BREAK, percent, plural, points, points_between
from calib.metrics.bootstrap import Interval, drawn_units, wilson_interval
from calib.metrics.confidence import Bools, check_event
from calib.metrics.estimate import Rows
from calib.metrics.risk_measures import closed_form
from calib.metrics.risk_model import default_floor
from calib.numerics import Floats, Ints, softmax

LEAST_ROWS = 10
"""Fewer rows than this are too few to say anything about a group."""


@dataclass(frozen=True, eq=False)
class GroupGaps:
    """Over- and underconfidence of each group of rows; every array has shape (n_groups,), means over nothing are NaN.

    Attributes
    ----------
    wrong, right : counts of wrong and right predictions.
    confidence : mean confidence.
    gap, gap_low, gap_high : mean confidence minus accuracy with its interval, see :func:`gaps_by_group`.
    over, under : mean confidence of the wrong ones, and of 1 - confidence of the right ones.
    """

    wrong: Ints
    right: Ints
    confidence: Floats
    gap: Floats
    gap_low: Floats
    gap_high: Floats
    over: Floats
    under: Floats

    @property
    def rows(self) -> Ints:
        """Rows of each group."""
        return self.wrong + self.right

    @property
    def accuracy(self) -> Floats:
        """Share of right predictions of each group."""
        return _ratio(self.right, self.rows)

    @property
    def share(self) -> Floats:
        """Each group's share of all rows."""
        return self.rows / max(1, self.rows.sum())

    @property
    def contribution(self) -> Floats:
        """Share of rows times gap: what each group adds to the overall signed gap; 0 where it has no rows."""
        return self.share * np.where(self.rows > 0, self.gap, 0.0)

    def worst_first(self, least_rows: int = 1) -> Ints:
        """Numbers of the groups with at least ``least_rows`` rows, by how far chance lets their gap be from 0.

        The gap's end nearest to 0 decides, so that a group of a few odd rows does not come first; among groups whose
        interval holds 0, the size of the gap.
        """
        kept = np.flatnonzero(self.rows >= max(1, least_rows))
        return kept[np.lexsort((-np.abs(self.gap[kept]), -self.sure_gap[kept]))]

    @property
    def sure_gap(self) -> Floats:
        """Distance of each gap's interval from 0; 0 where the interval holds it, NaN for groups without rows."""
        return np.maximum(np.maximum(self.gap_low, -self.gap_high), 0.0)


def gaps_by_group(
    confidence: Floats, correct: Bools, group: Ints, n_groups: int, level: float = 0.95, clusters: Any = None
) -> GroupGaps:
    """Over- and underconfidence within each group of rows.

    The interval of a gap is the wider of two at either end: Wilson's of the accuracy, which does not collapse where all
    of a few rows are right, and the normal one of the row-wise difference, which knows how the confidences spread.
    Between clusters both take Student's quantile in place of the normal one, for how a few of them differ is hardly
    known: with 8 clusters in each of five groups the normal one held all gaps together in 83 % of simulated draws at
    95 %, Student's in 94 %.

    Parameters
    ----------
    confidence, correct : (n,) arrays, as in ``Evaluation.pair``.
    group : (n,) number of each row's group, in [0, n_groups).
    level : coverage of the intervals.
    clusters : (n,) what rows that belong together share, or None; a group then counts as many rows as they are worth.
    """
    right = np.bincount(group[correct], minlength=n_groups)
    wrong = np.bincount(group[~correct], minlength=n_groups)
    rows = right + wrong
    said = _ratio(np.bincount(group, confidence, n_groups), rows)
    over = _ratio(np.bincount(group[~correct], confidence[~correct], n_groups), wrong)
    under = _ratio(np.bincount(group[correct], 1.0 - confidence[correct], n_groups), right)
    accuracy, independent = _ratio(right, rows), independent_rows(group, n_groups, correct, clusters)
    independent = independent * _allowance_for_clusters(group, n_groups, clusters, level)
    low, high = wilson_interval(np.nan_to_num(accuracy) * independent, independent, level)
    gap = said - accuracy
    spread = np.sqrt(_ratio(np.bincount(group, (confidence - correct - gap[group]) ** 2, n_groups), rows))
    half = NormalDist().inv_cdf(0.5 + level / 2.0) * spread / np.sqrt(np.maximum(independent - 1.0, 1.0))
    lowest, highest = np.minimum(said - high, gap - half), np.maximum(said - low, gap + half)
    return GroupGaps(wrong, right, said, gap, np.maximum(lowest, -1.0), np.minimum(highest, 1.0), over, under)


def _allowance_for_clusters(group: Ints, n_groups: int, clusters: Any, level: float) -> Floats:
    """What the independent rows of a group are multiplied by, so that normal intervals become Student's.

    Both intervals of a gap depend on the quantile z and the number n of rows by z^2 / n alone. A group within a single
    cluster keeps its own.
    """
    from scipy.special import stdtrit

    unit, n_units, clustered = drawn_units(len(group), clusters)
    if not clustered:
        return np.ones(n_groups)
    degrees = np.bincount(np.unique(group * n_units + unit) // n_units, minlength=n_groups) - 1
    upper = 0.5 + level / 2.0
    student = stdtrit(np.maximum(degrees, 1), upper)
    return np.where(degrees > 0, (NormalDist().inv_cdf(upper) / student) ** 2, 1.0)


def average_gap(evaluation: Evaluation, level: float = 0.95) -> Interval:
    """The gap of all rows with the interval that every page gives it.

    That of a mean of differences, as among the scores; with fewer than ten wrong or right rows that of
    :func:`gaps_by_group`.
    """
    said, outcome = evaluation.pair
    if min(outcome.sum(), (~outcome).sum()) < LEAST_ROWS:
        whole = gaps_by_group(said, outcome, np.zeros(len(said), dtype=np.int64), 1, level, evaluation.clusters)
        return Interval(float(whole.gap[0]), float(whole.gap_low[0]), float(whole.gap_high[0]))
    value, low, high = Rows.of(len(said), evaluation.clusters).mean_of(said - outcome).interval(level)
    return Interval(value, max(low, -1.0), min(high, 1.0))


def gap_and_extremes(evaluation: Evaluation) -> tuple[Interval, str]:
    """:func:`average_gap`, and of an event the sentence of :func:`too_extreme`."""
    return average_gap(evaluation), too_extreme(evaluation) if evaluation.view.is_event else ""


def by_band(evaluation: Evaluation, level: float = 0.95) -> GroupGaps:
    """Over- and underconfidence in each band of the view; contributions add up to the overall signed gap."""
    said, outcome = evaluation.pair
    edges = evaluation.view.bands  # a band holds its lower edge, the last one its upper edge too
    band = np.searchsorted(edges[1:-1], said, side="right")
    return gaps_by_group(said, outcome, band, len(edges) - 1, level, evaluation.clusters)


def leaning(gap: Interval, view: View, event: str = "", strong: str = "") -> str:
    """Whether what is said is too high or too low, by how much and with which interval: the same everywhere.

    Parameters
    ----------
    gap : mean probability minus what came true, as :func:`average_gap` gives it.
    event : how the event is called, where its own name needs to be escaped.
    strong : what stands around the verdict to make it bold.
    """
    of = f" of {event or view.event_name}" if view.event_name else ""
    if gap.low <= 0.0 <= gap.high:
        verdict, ends = f"{view.neither}{of} significantly", points_between(gap.low, gap.high)
        return f"{view.is_}{strong}{verdict}{strong} (gap {points(gap.value)} points, 95{NO_BREAK}%: {ends})"
    near, far = sorted((abs(gap.low), abs(gap.high)))
    verdict = f"{view.over if gap.value > 0 else view.under}{of} by {100 * abs(gap.value):.1f} points"
    return f"{view.is_}{strong}{verdict}{strong} (95{NO_BREAK}%: {points_between(near, far, sign=False)})"


def confidence_sentence(
    evaluation: Evaluation, subject: str, gap: Interval, extremes: str = "", event: str = "", strong: str = ""
) -> str:
    """Whether what is said exceeds what came true, by how much, and whether the difference is significant.

    Parameters
    ----------
    subject : who says it, such as "The raw model".
    gap, extremes : as :func:`gap_and_extremes` gives them.
    event, strong : as in :func:`leaning`.
    """
    view, (said, outcome) = evaluation.view, evaluation.pair
    facts = f"{view.mean_said} {percent(float(said.mean()))}, {view.outcome} {percent(float(outcome.mean()))}"
    return f"{subject} {leaning(gap, view, event, strong)}: {facts}. {extremes}".rstrip()


def too_extreme(evaluation: Evaluation, level: float = 0.95) -> str:
    """Whether an event's risks are too extreme or moderate, or do not rise with the rate; "" where nothing shows.

    Rows below the mean predicted risk and rows from it upwards are each compared with what happened. Gaps of opposite
    signs leave no gap on average. Both are significant together at ``level`` (Bonferroni).
    """
    said, outcome = evaluation.pair
    cut = float(said.mean())
    half = 1.0 - (1.0 - level) / 2.0
    gaps = gaps_by_group(said, outcome, (said >= cut).astype(np.int64), 2, half, evaluation.clusters)
    if not evaluation.view.is_event or gaps.rows.min() < LEAST_ROWS:
        return ""
    extreme = gaps.gap_high[0] < 0 < gaps.gap_low[1]
    if not (extreme or gaps.gap_high[1] < 0 < gaps.gap_low[0]):
        return ""
    (p_low, p_high), (rate_low, rate_high) = gaps.confidence, gaps.accuracy
    what = (
        f"are too {'extreme' if extreme else 'moderate'}" if rate_low < rate_high else "do not rise with the event rate"
    )
    return (
        f"Risks {what}: below {percent(cut)} they are {percent(p_low)} on "
        f"average and the event happens in {percent(rate_low)}, above it {percent(p_high)} and {percent(rate_high)}."
    )


@dataclass(frozen=True)
class GroupGap:
    """One group of rows in which probabilities are off.

    Attributes
    ----------
    rows : number of rows.
    predicted, observed : mean probability, and share of the rows where it came true.
    gap : ``predicted - observed`` with its interval; above 0 probabilities are too high.
    """

    name: str
    rows: int
    predicted: float
    observed: float
    gap: Interval


def gap_sentence(
    average: Interval, groups: Sequence[GroupGap], n_judged: int, write: Callable[[str], str] = str, strong: str = ""
) -> str:
    """The gap of all rows, and in which groups it is significant, the worst first.

    Parameters
    ----------
    average : mean probability minus observed rate.
    groups : those whose joint interval leaves out 0 and the average.
    n_judged : groups that could have been.
    write : escapes a group's name where a page needs it.
    strong : what stands around the names to make them bold.

    Examples
    --------
    >>> chemistry = GroupGap("chemistry", 412, 0.9, 0.8, Interval(0.1, 0.04, 0.16))
    >>> gap_sentence(Interval(0.002, -0.01, 0.014), [chemistry], 12)
    'Fine on average, but chemistry +10.0 points (+4.0 to +16.0), 412 rows.'
    """
    none = average.low <= 0.0 <= average.high
    fine = none and average.high - average.low <= FINE_WIDTH
    lead = "Fine on average" if fine else f"{_points(average)} on average"
    if not groups and not n_judged:
        return f"{lead}; no group has enough rows to be judged."
    if not groups:
        of = plural(n_judged, "group")
        return f"{lead}, and {'no significant gap in any' if none else 'not significantly more in any'} of {of}."
    named = [
        f"{strong}{write(group.name)} {points(group.gap.value)} points{strong} "
        f"({points_between(group.gap.low, group.gap.high)}), {plural(group.rows, 'row')}"
        for group in groups[:MOST_NAMED]
    ]
    more = f"; and {len(groups) - MOST_NAMED:,} more" if len(groups) > MOST_NAMED else ""
    return f"{lead}, but {'; '.join(named)}{more}."


def _points(gap: Interval) -> str:
    return f"{points(gap.value)} points ({points_between(gap.low, gap.high)})"


def _ratio(total: Floats | Ints, count: Ints) -> Floats:
    return np.divide(total, count, out=np.full(len(count), np.nan), where=count > 0)


MOST_NAMED = 3
"""Groups that a sentence names."""
FINE_WIDTH = 0.1
"""Width of the average gap's interval up to which one that holds 0 says that probabilities are fine on average."""


@dataclass(frozen=True, eq=False)
class Subgroups:
    """One method's confidence and accuracy in each group; arrays have shape (n_groups,).

    Attributes
    ----------
    names : of the groups, sorted.
    gaps : rows, accuracy, mean confidence and the gap of each group, whose intervals hold for all groups of enough
        rows together.
    enough : whether a group has enough rows to be judged.
    average : gap of all rows, with its own interval.
    level : joint coverage of the intervals.
    """

    names: tuple[str, ...]
    gaps: GroupGaps
    enough: npt.NDArray[np.bool_]
    average: Interval
    level: float

    @property
    def overconfident(self) -> Ints:
        """Groups whose whole interval is above 0, the worst first."""
        return self._off(self.gaps.gap_low > 0)

    @property
    def underconfident(self) -> Ints:
        """Groups whose whole interval is below 0, the worst first."""
        return self._off(self.gaps.gap_high < 0)

    @property
    def off(self) -> list[GroupGap]:
        """Groups whose interval leaves out 0 and the average gap, the worst first."""
        gaps, low, high = self.gaps, min(self.average.value, 0.0), max(self.average.value, 0.0)
        return [
            GroupGap(
                self.names[k],
                int(gaps.rows[k]),
                float(gaps.confidence[k]),
                float(gaps.accuracy[k]),
                Interval(float(gaps.gap[k]), float(gaps.gap_low[k]), float(gaps.gap_high[k])),
            )
            for k in self._off((gaps.gap_low > high) | (gaps.gap_high < low))
        ]

    @property
    def worst_first(self) -> Ints:
        """Groups of enough rows; see :meth:`calib.diagnostics.subgroups.GroupGaps.worst_first`."""
        order = self.gaps.worst_first()
        return order[self.enough[order]]

    def _off(self, chosen: npt.NDArray[np.bool_]) -> Ints:
        order = self.worst_first
        return order[chosen[order]]


def subgroups(
    evaluation: Evaluation, groups: Sequence[str] | npt.NDArray[Any], least_rows: int = LEAST_ROWS, level: float = 0.95
) -> Subgroups:
    """Judge each group of rows.

    Intervals of the gap are those of :func:`gaps_by_group` at the level ``1 - (1 - level) / m`` for m judged groups
    (Bonferroni), so that on a calibrated model no group at all is called off in at least ``level`` of cases.

    Parameters
    ----------
    evaluation : of one method.
    groups : (n,) name of each row's group.
    least_rows : groups with fewer rows are not judged.
    level : joint coverage.

    Raises
    ------
    CalibrationError
        If there is not one group for each row.
    """
    array = np.asarray(groups)
    if array.shape != (len(evaluation),):
        raise CalibrationError(f"There must be one group for each of {len(evaluation)} rows; got shape {array.shape}.")
    names, group = np.unique(array, return_inverse=True)
    n_groups = len(names)
    rows = np.bincount(group, minlength=n_groups)
    enough = rows >= max(1, least_rows)
    joint = 1.0 - (1.0 - level) / max(1, int(enough.sum()))
    gaps = gaps_by_group(*evaluation.pair, group, n_groups, joint, evaluation.clusters)
    return Subgroups(tuple(map(str, names)), gaps, enough, average_gap(evaluation, level), level)


def folded(
    evaluation: Evaluation, groups: npt.NDArray[Any], order: Ints, names: Sequence[str], level: float
) -> GroupGaps:
    """Gaps of some groups in the given order and, last, of all other rows pooled; at the given level each."""
    place = np.full(len(names), len(order))
    place[order] = np.arange(len(order))
    position = place[np.searchsorted(np.asarray(names), np.asarray(groups))]
    return gaps_by_group(*evaluation.pair, position, len(order) + 1, level, evaluation.clusters)


MEASURES = {
    "oe": "O:E",
    "slope": "Calibration slope",
    "auroc": "AUROC",
    "citl": "Calibration in the large",
    "scaled_brier": "Scaled Brier score",
}
"""Those of the panel that have a closed form, with their titles."""
IDEALS = {"oe": 1.0, "slope": 1.0, "citl": 0.0}
LEAST_EVENTS = 20
"""Of each outcome that a group must have to be judged."""


@dataclass(frozen=True, eq=False)
class GroupPanel:
    """One group of rows.

    Attributes
    ----------
    rows, events : counts.
    rate, mean_risk : event rate and mean risk, weighted.
    measures : of :data:`MEASURES`; empty where there are too few events, or too few rows without.
    """

    name: str
    rows: int
    events: int
    rate: float
    mean_risk: float
    measures: dict[str, Interval]

    @property
    def too_few(self) -> str:
        """Why the group is not judged, such as "12 events"; "" where it is."""
        for noun, count in (("event", self.events), ("non-event", self.rows - self.events)):
            if count < LEAST_EVENTS:
                return f"{count} {noun}{'' if count == 1 else 's'}"
        return ""


@dataclass(frozen=True, eq=False)
class GroupPanels:
    """The panel in each group.

    Attributes
    ----------
    groups : by falling distance of the O:E interval from 1, and then of O:E itself; those with too few events last.
    """

    groups: tuple[GroupPanel, ...]

    @property
    def judged(self) -> tuple[GroupPanel, ...]:
        """Groups with enough events, and enough rows without."""
        return tuple(group for group in self.groups if group.measures)

    def off(self, key: str) -> tuple[GroupPanel, ...]:
        """Groups in which a measure's interval leaves out what a calibrated model has."""
        ideal = IDEALS[key]
        return tuple(g for g in self.judged if not g.measures[key].low <= ideal <= g.measures[key].high)


def group_panels(
    probs: Any,
    labels: Any,
    groups: Any,
    weights: Any = None,
    weight_kind: Any = None,
    clusters: Any = None,
    level: float = 0.95,
) -> GroupPanels:
    """The measures of a risk model in each group, with intervals that hold for all groups together.

    Intervals of m judged groups have the level ``1 - (1 - level) / m`` each (Bonferroni), so that in ``level`` of cases
    no group's interval at all misses its measure; this holds for each measure by itself.

    Parameters
    ----------
    probs, labels : (n,) probabilities of the event, and 1 where it happened.
    groups : (n,) name of each row's group.
    weights, weight_kind, clusters : as in :func:`calib.metrics.risk_model`.
    level : joint coverage.

    Raises
    ------
    CalibrationError
        If the arrays do not fit together.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> p, group = rng.uniform(0.1, 0.6, 3000), rng.choice(["a", "b"], 3000)
    >>> found = group_panels(np.where(group == "b", p / 2, p), rng.random(3000) < p, group)
    >>> [group.name for group in found.off("oe")]
    ['b']
    """
    said, came = check_event(probs, labels)
    names = np.asarray(groups)
    if names.shape != said.shape:
        raise CalibrationError(f"There must be one group for each of {len(said):,} rows; got shape {names.shape}.")
    kept, all_rows = Rows.checked(came, weights, weight_kind, clusters)
    said, came, names = said[kept], came[kept], names[kept]
    floor = default_floor(said)
    every, of_row = np.unique(names.astype(str), return_inverse=True)
    rarer = np.minimum(*(np.bincount(of_row[part], minlength=len(every)) for part in (came, ~came)))
    enough = rarer >= LEAST_EVENTS
    joint = 1.0 - (1.0 - level) / max(1, int(enough.sum()))
    found = []
    for k, name in enumerate(every):
        rows = np.flatnonzero(of_row == k)
        risk, event = said[rows], came[rows]
        sample = all_rows.take(rows, event)
        measured = closed_form(risk, event, sample, floor, joint)[0] if enough[k] else {}
        measures = {key: measured[key] for key in MEASURES if enough[k]}
        about = str(name), len(risk), int(event.sum()), sample.mean(event), sample.mean(risk)
        found.append(GroupPanel(*about, measures))
    return GroupPanels(tuple(sorted(found, key=_order)))


def _order(group: GroupPanel) -> tuple[float, float, int]:
    if not group.measures:
        return np.inf, np.inf, -group.rows
    value, low, high = np.log(np.maximum(group.measures["oe"], 1e-300))
    return -max(low, -high, 0.0), -abs(value), -group.rows


def recalibrated_by_group(column: int, weight_kind: Any = None, *, data: Mapping[str, Any]) -> GroupGain:
    """Intercepts for groups beside one shared map, fitted to calibration rows and judged on the test rows.

    Parameters
    ----------
    column : of the event.
    data : a worker's arrays: "logits", "labels" and "groups" of the calibration rows, and "test_logits", "test_labels",
        "test_groups", and where there are any "test_weights" and "test_clusters".
    """

    def event(part: str) -> tuple[Floats, Any, Any]:
        return softmax(data[f"{part}logits"])[:, column], data[f"{part}labels"] == column, data[f"{part}groups"]

    made = recalibrate_groups(*event(""))
    return judge_groups(made, *event("test_"), data.get("test_weights"), weight_kind, data.get("test_clusters"))
