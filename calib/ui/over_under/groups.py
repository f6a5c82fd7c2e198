"""Groups on the Over- and underconfidence page: which are off and which stand out, and their panels of a risk model."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from calib.data import Predictions
from calib.decisions.recalibration import GroupGain
from calib.diagnostics.gaps import LEAST_ROWS, GroupGaps, gap_sentence
from calib.diagnostics.group_panels import LEAST_EVENTS, MEASURES, GroupPanel, group_panels
from calib.diagnostics.judged_decisions import recalibrated_by_group
from calib.diagnostics.subgroups import Subgroups, folded, subgroups
from calib.engine import Data
from calib.evaluation.evaluation import row_arrays
from calib.evaluation.view import View
from calib.formatting import class_in_words, listed, number, percent, plural, signed, with_interval
from calib.metrics.bootstrap import Interval
from calib.plots.over_under import per_class_chart
from calib.plots.style import Style
from calib.ui import widgets
from calib.ui.chosen_rows import choose_rows, show_clickable
from calib.ui.fits import ShownFit, beside_raw, ready
from calib.ui.session import OpenSession
from calib.ui.text import literal
from calib.ui.widgets import segments, show_table, whole_number

MOST_GROUPS = 20
MOST_NAMED = 3
BY = {
    "groups": "group of the data",
    "predicted": "raw model's predicted class",
    "label": "true class",
}
BY_LABEL = (
    " Given the true class, a gap is no fault of calibration: even a calibrated model is overconfident on rows of "
    "classes that are hard to tell apart, and underconfident on easy ones."
)


def kinds(test: Predictions, view: View) -> list[str]:
    """What rows can be grouped by: the data's groups, and classes where these are not the outcomes themselves."""
    classes = ["predicted", "label"] * (view.column is None)
    return ["groups"] * (test.groups is not None) + [*test.metadata] + classes


def by_group(test: Predictions, fit: ShownFit) -> tuple[str, bool]:
    """In which groups of the data a method is off, in a sentence, and whether in any; "" where there are no groups."""
    if test.groups is None:
        return "", False
    found = subgroups_of(fit, "groups", test.groups, LEAST_ROWS)
    sign = f" :small[Above 0: {fit.evaluation.view.too_high}.]" if found.off else ""
    return f"**{fit.title} by group**: {groups_sentence(found, LEAST_ROWS)}{sign}", bool(found.off)


def in_groups(test: Predictions, fit: ShownFit) -> None:
    """Say so, for data with groups."""
    if said := by_group(test, fit)[0]:
        st.markdown(said)


def groups(test: Predictions, fits: list[ShownFit], closer: ShownFit) -> None:
    """The gap of each group or class, the worst first, from the raw model to the method."""
    view = closer.evaluation.view
    methods = beside_raw(fits, closer)
    offered = kinds(test, view)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        by = offered[0]
        titles = {kind: BY.get(kind, literal(kind, 40)) for kind in offered}
        if len(offered) > 1:
            by = segments("Rows grouped by", titles, by, f"groups/by/{by}")
        least = whole_number(
            "Minimum rows of a group", 2, 10_000, LEAST_ROWS, "groups/least", width=180
        )
    classes = {"predicted": fits[0].evaluation.predicted, "label": fits[0].evaluation.labels}
    names = np.array([*map(class_in_words, test.class_names)])
    further = {"groups": test.groups, **test.metadata}
    of_row = further[by] if by in further else names[classes[by]]
    results = [subgroups_of(fit, by, of_row, least) for fit in methods]

    def choose(title: str, name: str) -> None:
        choose_rows(
            next(fit for fit in methods if fit.title == title),
            literal(name),
            np.asarray(of_row) == name,
        )

    last = results[-1]
    if by != "groups" or least != LEAST_ROWS:  # else the page has said so
        st.markdown(f"With {closer.title}: {groups_sentence(last, least)}")
    if last.enough.any():
        order = last.worst_first[:MOST_GROUPS]
        joint = 1.0 - (1.0 - last.level) / max(1, int(last.enough.sum()))
        gaps: list[tuple[str, GroupGaps, Style]] = []
        for fit in methods:
            those = ("worst groups", fit.key, closer.key, by, least)
            what = f"the worst groups of {fit.title}"
            found = ready(those, what, folded, fit.evaluation, of_row, order, last.names, joint)
            gaps.append((fit.title, found, fit.style))
        how_to_read = (
            f"{view.mean_said.capitalize()} minus {view.outcome} in each group; right of zero: {view.too_high}. The "
            "intervals hold for all groups together, so that on a calibrated model no group at all leaves zero in "
            "95\u00a0% of cases. First comes the group whose interval is farthest from zero; the dot above is the raw "
            f"model. Others, and those with fewer than {least} rows, are pooled in the last row."
        )
        draw = partial(_chart, gaps, last, least, view, titles[by])
        key = ("subgroup chart", closer.key, by, least)
        show_clickable(key, draw, "subgroups", how_to_read + BY_LABEL * (by == "label"), choose)
    table = _subgroup_table(last, results[0] if len(results) > 1 else None, view)
    widgets.folded("Every group in numbers", "groups/numbers", partial(show_table, table, "group"))


def _chart(
    gaps: list[tuple[str, GroupGaps, Style]], result: Subgroups, least: int, view: View, by: str
) -> Any:
    """The worst groups and, pooled, the others; `by` says what they are groups of."""
    order = result.worst_first[:MOST_GROUPS]
    names = [result.names[k] for k in order]
    others = len(result.names) - len(order)
    pooled = result.gaps.rows.sum() - result.gaps.rows[order].sum()
    shown = np.arange(
        len(order) + int(pooled >= least)
    )  # a handful of pooled rows would stretch the axis
    return per_class_chart(
        [*names, f"{plural(others, 'other')}, pooled"], shown, gaps, f"By {by}", view
    )


def _subgroup_table(result: Subgroups, raw: Subgroups | None, view: View) -> pd.DataFrame:
    """All groups, the worst first and those with too few rows last."""
    columns = [
        "group",
        "rows",
        "verdict",
        view.outcome,
        view.mean_said,
        "gap",
        "gap, low",
        "gap, high",
    ]
    rows = [
        (
            group.name,
            group.rows,
            _verdict(group.gap, view),
            group.observed,
            group.predicted,
            *group.gap,
        )
        for group in result.in_order()
    ]
    table = pd.DataFrame(rows, columns=columns)
    if raw is not None:
        table["gap of the raw model"] = [group.gap.value for group in raw.in_order(result)]
    return table.round(4)


def _verdict(gap: Interval, view: View) -> str:
    if np.isnan(gap.low):
        return "too few rows"
    if gap.low <= 0.0 <= gap.high:
        return "no significant gap"
    return view.too_high if gap.low > 0.0 else view.too_low


def groups_sentence(subgroups: Subgroups, least_rows: int) -> str:
    """The average gap, in which groups it is significantly larger, and how many are too small."""
    judged = int(subgroups.enough.sum())
    if not judged:
        return f"No group has {plural(least_rows, 'row')}; the largest has {int(subgroups.gaps.rows.max()):,}."
    few = int((~subgroups.enough).sum())
    small = (
        f" {plural(few, 'group')} with fewer than {plural(least_rows, 'row')}: too few to judge."
        if few
        else ""
    )
    return gap_sentence(subgroups.average, subgroups.off, judged, literal, "**") + small


def subgroups_of(fit: ShownFit, by: str, of_row: Any, least: int) -> Subgroups:
    """The groups of one method, judged by a worker."""
    key = "subgroups", fit.key, by, least
    return ready(key, f"the groups of {fit.title}", subgroups, fit.evaluation, of_row, least)


def panel(session: OpenSession, fit: ShownFit) -> None:
    """O:E, slope and the others in each group of the data."""
    one = fit.evaluation
    kind = None if one.weights is None else session.test.weight_kind
    given = *one.pair, session.test.groups, one.weights, kind, one.clusters
    what = f"the panel of {fit.title} in each group"
    found: list[GroupPanel] = ready(("group panels", fit.key), what, group_panels, *given)
    off = [group for group in found if group.off("oe")]
    judged = plural(sum(bool(group.measures) for group in found), "group")
    named = [
        f"{literal(group.name)} {with_interval(group.measures['oe'])}" for group in off[:MOST_NAMED]
    ]
    more = [f"{len(off) - MOST_NAMED} more"] * (len(off) > MOST_NAMED)
    said = (
        f"in {len(off)} of {judged}**: {listed(named + more)}"
        if off
        else f"significantly in none of {judged}**"
    )
    st.markdown(f"With {fit.title}, **O:E differs from 1 {said}.")
    show_table(_panel_table(found), "group")
    st.caption(
        f"Intervals of one measure hold for all {judged} together with 95\u00a0% (Bonferroni). The groups come in the "
        f"order of O:E, the farthest from 1 first; those with fewer than {LEAST_EVENTS} rows of either outcome are too "
        "small to judge."
    )


def _panel_table(found: list[GroupPanel]) -> pd.DataFrame:
    table = pd.DataFrame(
        {
            "group": [group.name for group in found],
            "rows": [group.rows for group in found],
            "events": [group.events for group in found],
            "event rate": [percent(group.rate) for group in found],
            "mean risk": [percent(group.mean_risk) for group in found],
        }
    )
    for key, title in MEASURES.items():
        table[title] = [
            with_interval(group.measures[key]) if group.measures else f"too few: {group.too_few}"
            for group in found
        ]
    return table


def recalibration(session: OpenSession) -> None:
    """Whether a map for each group, shrunk towards the shared one, is better on the test rows."""
    found = recalibrated(session)
    st.markdown(sentence(found))
    made = found.made
    if made.spread:
        order = np.argsort(-np.abs(made.offsets), kind="stable")
        table = {
            "group": [made.names[k] for k in order],
            "calibration rows": made.rows[order],
            "events": made.events[order],
            "factor of the odds": [number(float(factor)) for factor in np.exp(made.offsets[order])],
        }
        show_table(pd.DataFrame(table), "group")
    st.caption(
        "Both maps are logistic recalibrations of the raw model, fitted to the calibration rows: one intercept and "
        "slope for all, or normally distributed intercepts by group, each shrunk towards the shared map the more, the "
        "fewer rows its group has."
    )


def recalibrated(session: OpenSession) -> GroupGain:
    """Intercepts for groups judged on the test rows, by a worker; the same for every method."""
    first = session.calibration
    test = session.test
    column = session.view.column
    arrays: dict[str, Any] = {name: getattr(first, name) for name in ("logits", "labels", "groups")}
    about = {name: getattr(test, name) for name in ("logits", "labels", "groups")} | row_arrays(
        test
    )
    arrays |= {f"test_{name}": array for name, array in about.items() if array is not None}
    kind = None if about["weights"] is None else test.weight_kind
    data = Data(f"{session.split_key} groups", arrays)
    return ready(
        ("by group",), "recalibration by group", recalibrated_by_group, column, kind, data=data
    )


def sentence(found: GroupGain) -> str:
    """Whether groups pay, in words."""
    made, gain = found.made, found.log_loss
    groups = plural(len(made.names), "group")
    if not made.spread:
        return f"**No**: the {groups} show no departure from the shared map."
    difference = with_interval(gain, signed).replace("-", "−")
    change = f"log loss {difference} beside {number(found.shared_loss)}, on {found.n:,} test rows"
    lead = f"The odds of the {groups} differ by a factor of about {number(np.exp(made.spread))}"
    if found.pays is None:
        return f"{lead}; whether a map for each group is better than the shared one is **undecided** ({change})."
    word = "better" if found.pays else "worse"
    return f"{lead}; a map for each group, shrunk, is **{word}** than the shared one ({change})."
