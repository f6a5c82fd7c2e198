"""Sentences of an audit: plain text, at most one interval each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from calib.auditing.findings import Finding, GroupFinding, Severity
from calib.formatting import (
    NO_BREAK,
    listed,
    number,
    percent,
    plural,
    points,
    points_between,
    single_line,
)
from calib.metrics.bootstrap import Interval
from calib.metrics.estimate import Estimate, Rows
from calib.metrics.scoring_rules import auroc_interval

if TYPE_CHECKING:
    from calib.auditing.rows import AuditRows

LABELS_FINE = "Outputs and labels belong together."
REPEATED = "Rows repeat earlier ones exactly, with their label, so that intervals are too narrow; delete the copies."
ONE_CLASS = "All rows have the same label, so that nothing can be compared."
NO_SPREAD = "Not judged, because the outputs are no better than class frequencies."
NO_SLOPE = "The slope does not exist: all predictions are equal, or they separate the outcomes."
TWO_CLASSES = "Two classes; see the level."
FEW_OF_CLASSES = "No class has the 20 rows that a judgement needs."
NO_GROUPS = "No column of groups; give groups to compare them."
SMALL_GROUPS = "No group has 40 rows with 5 expected events and 5 others."
NO_TIMES = "No times; give them to look for drift."
ONE_TIME = "All rows have the same time."
NO_WEIGHTS = "No weights or clusters; each row counts once."
CHECK_LABELS = "Check labels and columns before anything else."
GROUPS_STAY = "One map for all rows may leave groups off."
DO_NOT_USE = (
    "Do not use these probabilities; no calibrator adds the information that the model lacks."
)
HARDLY_USE = "Hardly of use; a better model helps more than any calibrator."
KEEP = "Keep the probabilities as they are."
NO_SHARED_MAP = "One map for all rows does not correct this; keep the probabilities and name the groups that are off."
FREE = "A map of free shape corrects this; a comparison chooses which."
CLASS_OFFSETS = "A map with an offset for each class corrects this, such as vector scaling."
TEMPERATURE = "Temperature scaling corrects this."
INTERCEPT = "A shift of the log-odds corrects this; Platt scaling includes one."
PLATT = "A map with intercept and slope corrects this, such as Platt scaling."


def within(interval: Interval, write: Callable[[float], str] = number) -> str:
    """A 95 % interval in brackets."""
    return f"(95{NO_BREAK}%: {write(interval.low)} to {write(interval.high)})"


def inverted(interval: Interval) -> str:
    """Describe predictions that rank the wrong way round."""
    return (
        f"The outputs rank the wrong way round: AUROC {number(interval.value)}, where chance gives 0.5. "
        "Labels or columns are probably swapped."
    )


def no_ranking(interval: Interval) -> str:
    """Describe predictions that do not rank."""
    return (
        f"The outputs rank no better than chance: AUROC {number(interval.value)} {within(interval)}. Labels in "
        "another order cause that, or a model without information."
    )


def too_good(interval: Interval) -> str:
    """Describe a ranking without errors."""
    return f"Almost too good: AUROC {number(interval.value, 4)}; were these rows among its training rows?"


def other_order(accuracy: float, other: float) -> str:
    """Describe columns in another order than the labels."""
    return (
        f"Columns and labels are probably in different orders: accuracy {percent(accuracy)}, "
        f"in another order {percent(other)}."
    )


def everybody(rows: AuditRows) -> str:
    """Describe the baseline of class frequencies."""
    if rows.view.is_event:
        return f"giving every row {percent(rows.sample.mean(rows.observed))}"
    if rows.is_binary:
        return f"a confidence of {percent(rows.sample.mean(rows.observed))} for every answer"
    return "the class frequencies alone"


def ranks(rows: AuditRows) -> str:
    """Describe how well the outputs rank or classify."""
    if rows.is_binary:
        return f"AUROC {number(auroc_interval(rows.predicted, rows.observed, rows.sample).value)}"
    return f"accuracy {percent(rows.sample.mean(rows.observed))}"


def skill(state: str, rows: AuditRows, nll: Estimate, useful: Estimate, frequencies: float) -> str:
    """Describe the skill against class frequencies."""
    model = frequencies + float(nll.value)
    scores = f"NLL {number(model)} against {number(frequencies)}"
    after = f"after a map with intercept and slope {number(frequencies - float(useful.value))}"
    if state == "nothing":
        return f"No better than {everybody(rows)}, whatever the map: {scores}; {ranks(rows)}."
    if state == "hardly":
        return f"Hardly better than {everybody(rows)}: {scores}."
    if state == "worse":
        return f"Worse than {everybody(rows)}: {scores}; {after}."
    if state == "no better":
        return f"Not shown to be better than {everybody(rows)}: {scores}; {after}."
    return f"Better than {everybody(rows)}: {scores}; {ranks(rows)}."


def level_of_event(predicted: float, observed: float, severity: Severity, ratio: Interval) -> str:
    """Describe the level of an event's probability."""
    means = f"{percent(predicted)} predicted, {percent(observed)} observed"
    if severity == "untested":
        return f"Not known whether it is right on average: {means}."
    far = "too low" if observed > predicted else "too high"
    leads = {"fine": "Right on average", "caution": f"On average slightly {far}"}
    lead = leads.get(severity, f"On average {far}")
    return f"{lead}: {means}, O:E {number(ratio.value)} {within(ratio)}."


def level_of_confidence(
    predicted: float, observed: float, severity: Severity, gap: Interval
) -> str:
    """Describe the level of the confidence."""
    means = f"mean confidence {percent(predicted)}, accuracy {percent(observed)}"
    if severity == "untested":
        return f"Not known whether it is right on average: {means}."
    lead = "Overconfident" if gap.value > 0 else "Underconfident"
    leads = {"fine": "Right on average", "caution": f"Slightly {lead.lower()}"}
    ends = points_between(gap.low, gap.high)
    gap_text = f"{points(gap.value)} points (95{NO_BREAK}%: {ends})"
    return f"{leads.get(severity, lead)}: {means}, {gap_text}."


def spread(rows: AuditRows, severity: Severity, slope: Interval) -> str:
    """Describe the spread."""
    name = "slope" if rows.is_binary else "slope on the logits"
    if severity == "fine":
        return f"Neither too extreme nor too moderate: {name} {number(slope.value)}."
    if slope.value <= 0:
        return f"Predictions do not rise with the outcome: {name} {number(slope.value)} {within(slope)}."
    much = "" if severity == "problem" else "slightly "
    lead = f"Predictions are {much}too {'extreme' if slope.value < 1 else 'moderate'}"
    return f"{lead}: {name} {number(slope.value)} {within(slope)}, where 1 is right."


def shape(severity: Severity, gain: Estimate, matters: bool) -> str:
    """Describe the shape."""
    if severity == "problem":
        return (
            f"A curve fits better than a line in the log-odds, by {number(gain.value)} nats a row."
        )
    if severity == "caution":
        doubt = "which is not sure" if matters else "which hardly matters"
        return f"A curve fits better than a line in the log-odds, by {number(gain.value)} nats a row, {doubt}."
    return "Nothing more than level and spread to correct."


def ends(wrong: int, certain: int, expected: float, zeros: int, levels: int) -> str:
    """Describe certain predictions."""
    of = f"of {plural(certain, 'prediction')} with 99{NO_BREAK}% certainty"
    lead = f"{wrong:,} {of} {'is' if wrong == 1 else 'are'} wrong, where {number(expected)} are expected."
    if not certain:
        lead = f"No prediction with 99{NO_BREAK}% certainty."
    more = []
    if zeros:
        labels = "label has" if zeros == 1 else "labels have"
        more.append(
            f"{zeros:,} {labels} a probability of exactly 0; the NLL is infinite without a floor."
        )
    if levels < 20:
        more.append(f"Only {plural(levels, 'different value')}.")
    return " ".join([lead, *more])


def classes(severity: Severity, worst: tuple[str, float, float, float], n_judged: int) -> str:
    """Describe the classes that are predicted too often or too rarely."""
    if severity == "fine":
        return f"None of {plural(n_judged, 'class', 'classes')} has a mean probability that is off."
    name, often, occurs, mean = worst
    return (
        f"{single_line(name)} is predicted {often:,.0f} times and occurs {occurs:,.0f} times; "
        f"its mean probability is off by {points(mean)} points."
    )


def signed_group(group: GroupFinding) -> str:
    """A group with its gap."""
    return f"{single_line(group.name)} {points(group.gap.value)}"


def groups(
    leading: Sequence[GroupFinding],
    problems: Sequence[GroupFinding],
    cautions: Sequence[GroupFinding],
    n_judged: int,
    visible: float,
    overall: float,
) -> str:
    """Describe the groups whose gap differs from that of all rows."""
    if not problems and not cautions:
        return (
            f"None of {plural(n_judged, 'group')} differs from the gap of all rows; "
            f"the smallest gap that could be seen is {100 * visible:.0f} points."
        )
    if not problems:
        first = cautions[0]
        return (
            f"Suspected, not sure: {means(first)}; {len(cautions)} of {plural(n_judged, 'group')}."
        )
    first = leading[0] if leading else problems[0]
    worst = farthest(problems, overall)
    rest = [signed_group(group) for group in leading[1:3]]
    more = f" {listed(rest)}." if rest else ""
    last = f" Worst: {means(worst)}." if worst not in (first, *leading[:3]) else ""
    return f"{means(first)}.{more}{last} {_off(len(problems), n_judged, overall)}"


def _off(n: int, n_judged: int, overall: float) -> str:
    verb = "differs" if n == 1 else "differ"
    return f"{n} of {plural(n_judged, 'group')} {verb} from the gap of all rows, {points(overall)} points."


def means(group: GroupFinding) -> str:
    """A group with its gap and both means."""
    return f"{signed_group(group)} points ({percent(group.predicted)} predicted, {percent(group.observed)} observed)"


def farthest(groups: Sequence[GroupFinding], overall: float) -> GroupFinding:
    """Return the group whose gap is farthest from that of all rows, with which it is compared."""
    return max(groups, key=lambda group: abs(group.gap.value - overall))


def time(
    severity: Severity,
    off: Sequence[GroupFinding],
    n_judged: int,
    trend: Interval,
    overall: float,
) -> str:
    """Describe the drift."""
    change = f"{points(trend.value)} points from first to last"
    if severity == "fine":
        return f"No drift: none of {plural(n_judged, 'period')} differs from the rest."
    if off:
        worst = means(farthest(off, overall))
        return f"Drift: worst {worst}, all rows {points(overall)} points; {change}."
    return f"Drift: the gap changes by {change} (95{NO_BREAK}%: {points_between(trend.low, trend.high)})."


def weights(rows: AuditRows, other: Rows | None, changed: bool) -> str:
    """Describe the changes that weights and clusters make."""
    parts = []
    if other is not None:
        once, weighted = (
            (other, rows.sample) if rows.sample.kind is not None else (rows.sample, other)
        )
        pairs = [
            f"{percent(sample.mean(rows.predicted), 2)} predicted, {percent(sample.mean(rows.observed), 2)} observed"
            for sample in (weighted, once)
        ]
        lead = "Weights change the level" if changed else "Weights change little"
        used = "" if rows.sample.kind is not None else "; they are not applied"
        parts.append(f"{lead}: {pairs[0]} with them, {pairs[1]} without{used}.")
    if rows.sample.clustered:
        rough = ", few enough that intervals are rough" if rows.sample.n_units < 40 else ""
        parts.append(f"Intervals by {plural(rows.sample.n_units, 'cluster')}{rough}.")
    return " ".join(parts)


def rows(rows: AuditRows, events: int, visible: float) -> str:
    """Describe the number of rows."""
    rest = len(rows) - events
    counts = f"{events:,} with the event" if rows.view.is_event else f"{rest:,} wrong"
    return f"{plural(len(rows), 'row')}, {counts}: an overall gap of {100 * visible:.1f} points would be seen."


def by_group(column: str, gain: Estimate) -> str:
    """Describe the gain of a map for each group."""
    name = single_line(column)
    amount = f"{number(gain.value)} nats a row {within(gain.interval())}"
    return f"A map for each value of {name} (by_group) corrects that, by {amount}."


def do_not_use(rows: AuditRows, nothing: bool) -> str:
    """Verdict on a model that knows nothing, or hardly anything."""
    much = "no better" if nothing else "even recalibrated hardly better"
    return f"Do not use: {much} than {everybody(rows)} ({ranks(rows)}), and no calibrator changes that."


def worse(rows: AuditRows) -> str:
    """Verdict on a model that is worse than class frequencies."""
    return (
        f"Ranks usefully ({ranks(rows)}), but its probabilities are worse than {everybody(rows)}."
    )


def wrong_for_groups(level: Finding, finding: Finding) -> str:
    """Verdict on groups that are off where the level is no problem; it opens with the level's own words."""
    lead = level.sentence.partition(":")[0]
    off = [group for group in finding.groups if not group.gap.low <= 0.0 <= group.gap.high]
    named = [
        f"{single_line(group.name)} ({direction(group)})" for group in (off or finding.groups)[:2]
    ]
    return f"{lead}, wrong for {listed(named)}."


def direction(group: GroupFinding) -> str:
    """Size and direction of a group's gap, in points."""
    far = "too high" if group.predicted > group.observed else "too low"
    return f"{100.0 * abs(group.gap.value):.1f} points {far}"


def weighted_level(rows: AuditRows) -> str:
    """Verdict on a level that only weights show."""
    predicted, observed = rows.sample.mean(rows.predicted), rows.sample.mean(rows.observed)
    high = predicted > observed
    times = predicted / observed if high else observed / predicted
    return (
        f"In the sample not shown to be off; with sampling weights {number(times, 2)} times too "
        f"{'high' if high else 'low'} ({percent(predicted, 2)} predicted, {percent(observed, 2)} observed)."
    )


def no_problem(rows: AuditRows, findings: Mapping[str, Finding]) -> str:
    """Verdict without a problem."""
    cautions = [name for name, finding in findings.items() if finding.severity == "caution"]
    unseen = "" if rows.groups else "; no groups to compare"
    lead = f"No problem found ({ranks(rows)}{unseen})"
    if findings["rows"].severity == "caution":
        return f"{lead}, but in few rows. {findings['rows'].sentence}"
    first = next(
        (name for name in ("skill", "groups", "level", "spread", "time") if name in cautions), None
    )
    return (
        f"{lead}. {KEEP}" if first is None else f"{lead}. With caution: {findings[first].sentence}"
    )
