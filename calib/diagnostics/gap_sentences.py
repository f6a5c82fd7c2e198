"""Over- and underconfidence in words: of all rows, of extremes, and of groups."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from calib.diagnostics.gaps import LEAST_ROWS, gaps_by_group
from calib.evaluation.evaluation import Evaluation
from calib.evaluation.score_registry import average_gap
from calib.evaluation.view import View
from calib.formatting import NO_BREAK, percent, plural, points, points_between
from calib.metrics.bootstrap import Interval


def gap_and_extremes(evaluation: Evaluation) -> tuple[Interval, str]:
    """:func:`average_gap`, and of an event the sentence of :func:`too_extreme`."""
    return average_gap(evaluation), too_extreme(evaluation) if evaluation.view.is_event else ""


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
        verdict = f"{view.neither}{of} significantly"
        ends = points_between(gap.low, gap.high)
        return f"{view.is_}{strong}{verdict}{strong} (gap {points(gap.value)} points, 95{NO_BREAK}%: {ends})"
    near, far = sorted((abs(gap.low), abs(gap.high)))
    verdict = (
        f"{view.over if gap.value > 0 else view.under}{of} by {100 * abs(gap.value):.1f} points"
    )
    return f"{view.is_}{strong}{verdict}{strong} (95{NO_BREAK}%: {points_between(near, far, sign=False)})"


def confidence_sentence(
    evaluation: Evaluation,
    subject: str,
    gap: Interval,
    extremes: str = "",
    event: str = "",
    strong: str = "",
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
    gaps = gaps_by_group(
        said, outcome, (said >= cut).astype(np.int64), 2, half, evaluation.clusters
    )
    if not evaluation.view.is_event or gaps.rows.min() < LEAST_ROWS:
        return ""
    extreme = gaps.gap_high[0] < 0 < gaps.gap_low[1]
    if not (extreme or gaps.gap_high[1] < 0 < gaps.gap_low[0]):
        return ""
    (p_low, p_high), (rate_low, rate_high) = gaps.confidence, gaps.accuracy
    what = (
        f"are too {'extreme' if extreme else 'moderate'}"
        if rate_low < rate_high
        else "do not rise with the event rate"
    )
    return (
        f"Risks {what}: below {percent(cut)} they are {percent(p_low)} on "
        f"average and the event happens in {percent(rate_low)}, above it {percent(p_high)} and {percent(rate_high)}."
    )


MOST_NAMED = 3
"""Groups that a sentence names."""
FINE_WIDTH = 0.1
"""Width of the average gap's interval up to which one that holds 0 says that probabilities are fine on average."""


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
    average: Interval,
    groups: Sequence[GroupGap],
    n_judged: int,
    write: Callable[[str], str] = str,
    strong: str = "",
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
