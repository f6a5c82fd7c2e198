"""Parts of the Groups page: all groups and pairs of groups in one figure, the cohort, and what corrects the groups."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
import streamlit as st

from calib.auditing.findings import GroupFinding
from calib.auditing.groups import Contrast, contrast, groups_of_data, groups_of_evaluation
from calib.calibrators.by_group import PROTECTED
from calib.diagnostics.group_panels import LEAST_EVENTS, MEASURES, GroupPanel, group_panels
from calib.evaluation.view import View
from calib.formatting import listed, number, percent, plural, with_interval
from calib.plots.groups import forest, is_too_low
from calib.ui import widgets
from calib.ui.audit import audit_of, plain, rows_to_audit
from calib.ui.chosen_rows import show_clickable
from calib.ui.fits import RAW, ShownFit, jobs, ready, ready_of, start
from calib.ui.session import LEAST_OF_COHORT, Cohort, OpenSession, current_session
from calib.ui.text import add_notice, literal
from calib.ui.widgets import draw_table, show_table

MOST_SHOWN, MOST_OFF = 18, 13
"""Groups in the figure, and of these those that are off; the table has all."""
MOST_OF_COLUMN = 8
"""Groups up to which a column is drawn whole where one of them is off."""
MOST_NAMED = 3
COHORT = "groups/cohort"
EVERY_ROW = "all rows"


def judged_groups(session: OpenSession, fit: ShownFit) -> list[GroupFinding]:
    """Every judged group, from the lowest gap to the highest: of the raw model on all rows, as the audit has them."""
    if fit.key == RAW and session.cohort is None:
        bare, rows = rows_to_audit(session.data)
        about = groups_of_data, bare, session.viewpoint
        return ready(("groups", RAW), "the groups", *about, data=rows)
    bare, _ = rows_to_audit(session.test)
    part = replace(bare, groups=session.test.groups, times=session.test.times)
    return ready_of(fit, "the groups", groups_of_evaluation, fit.evaluation, part)


def sentence(groups: Sequence[GroupFinding], view: View) -> str:
    """Describe how many groups are off, and the one whose gap is largest: of single columns where there is one."""
    if not groups:
        return "No group has 40 rows with 5 expected events and 5 others."
    off = [group for group in groups if group.severity == "problem"]
    if not off:
        return f"None of {plural(len(groups), 'group')} differs from the others."
    worst = min(off, key=lambda group: (len(group.columns), -abs(group.gap.value)))
    differ = "differs from the others:" if len(off) == 1 else "differ from the others, most of all"
    means = view.wording.describe_group(worst.predicted, worst.observed)
    return f"{len(off)} of {plural(len(groups), 'group')} {differ} {worst.name}: {means}."


def in_groups(session: OpenSession, fit: ShownFit) -> None:
    """Say in which groups a method is off, for data with groups."""
    if session.test.group_columns():
        finding = sentence(judged_groups(session, fit), session.view)
        st.markdown(f"**{literal(fit.title)} by group:** {plain(finding)}")


def figure(session: OpenSession, fit: ShownFit, groups: Sequence[GroupFinding]) -> None:
    """The forest plot; a click restricts pages to a group."""
    view = session.view
    drawn = select_groups(groups)
    if not drawn:
        return
    draw = partial(forest, drawn, len(groups), view, gap_of_all(session, fit))
    rows = "all rows" if fit.key == RAW else f"the {len(session.test):,} test rows"
    how = (
        f"Groups and pairs of groups of {rows} whose gap differs most from that of all rows, the dotted line. "
        "Coloured: the difference from the dotted line is significant, also where an interval includes 0. "
        "Blue: predictions too low compared with all rows; orange: too high; hollow: small or less certain. "
        "Grey: no significant difference. All intervals hold together."
    )
    show_clickable(("forest", fit.key), draw, "groups", how, choose_group)


def gap_of_all(session: OpenSession, fit: ShownFit) -> float:
    """Gap of all rows that groups are compared with."""
    if fit.key == RAW:
        level = audit_of(session).of("level").estimate
        return 0.0 if level is None else level.value
    predicted, observed = fit.evaluation.pair
    return fit.evaluation.rows.mean(predicted - observed)


def select_groups(groups: Sequence[GroupFinding]) -> list[GroupFinding]:
    """Groups that are off, all of their columns where these are few, and the largest others; from the lowest gap on."""
    off = [group for group in groups if group.severity == "problem"]
    off.sort(key=lambda group: (len(group.columns), -abs(group.gap.value)))
    off = off[:MOST_OFF]
    others = [group for group in groups if group.severity != "problem"]
    others.sort(key=lambda group: (group.severity == "fine", len(group.columns), -group.rows))
    sizes = Counter(group.columns for group in groups)
    of_columns = {group.columns for group in off if len(group.columns) == 1}
    whole = {columns for columns in of_columns if sizes[columns] <= MOST_OF_COLUMN}
    single = [group for group in off if group.columns in of_columns]
    neighbours = [group for group in others if group.columns in whole]
    pairs = [group for group in off if group.columns not in of_columns]
    rest = [group for group in others if group.columns not in whole]
    drawn = [*single, *neighbours, *pairs, *rest][:MOST_SHOWN]
    return sorted(drawn, key=lambda group: group.gap.value)


def choose_group(name: str, columns: str) -> None:
    """Restrict the pages to the group of this name and these columns."""
    if not current_session().show_cohort(columns.split(" × "), name):
        add_notice(
            f"{name} has fewer than {LEAST_OF_COHORT} test rows, too few to show alone.", "warning"
        )


def choose_from_list(groups: Sequence[GroupFinding], cohort: Cohort | None) -> None:
    """The cohort, chosen by name: what a click in the figure does."""
    ways = {f"{' × '.join(group.columns)}: {group.name}": group for group in groups}
    present = None if cohort is None else f"{' × '.join(cohort.columns)}: {cohort.name}"
    widgets.put(COHORT, present if present in ways else EVERY_ROW)

    def take() -> None:
        group = ways.get(st.session_state[COHORT])
        if group is None:
            current_session().cohort = None
        else:
            choose_group(group.name, " × ".join(group.columns))

    st.selectbox("Rows that pages judge", [EVERY_ROW, *ways], key=COHORT, on_change=take)


def contrast_with_others(session: OpenSession, cohort: Cohort) -> None:
    """The cohort against all other rows: means, ranking and composition."""
    bare, rows = rows_to_audit(session.data)
    key = "contrast", cohort.columns, cohort.name
    about = contrast, bare, session.viewpoint, cohort.columns, cohort.name
    comparison: Contrast | None = ready(key, f"the rows of {cohort.name}", *about, data=rows)
    if comparison is None:
        return
    wording = session.view.wording
    st.markdown(f"**{literal(cohort.name)}** against all others")
    table = {
        "rows": [f"{count:,}" for count in comparison.rows],
        wording.short_predicted_label: [percent(value) for value in comparison.predicted],
        wording.short_observed_label: [percent(value) for value in comparison.observed],
        "AUROC": ["–" if np.isnan(value) else number(value) for value in comparison.auroc],
    }
    cells = pd.DataFrame(
        [(name, *values) for name, values in table.items()], columns=["", "these", "others"]
    )
    draw_table(cells)
    if comparison.shares:
        bars = pd.DataFrame(
            [
                (name, 100 * these, 100 * others)
                for name, (these, others) in comparison.shares.items()
            ],
            columns=["share of", "these", "others"],
        )
        bar = st.column_config.ProgressColumn(
            format="%.0f %%", min_value=0, max_value=100, width=90
        )
        draw_table(bars, column_config={"these": bar, "others": bar})


def remedy(session: OpenSession) -> None:
    """Show the remedy for the groups, as the audit has it."""
    audit = audit_of(session)
    st.markdown(plain(audit.of("remedy").sentence))
    column = audit.column
    of_column = {
        key
        for key, spec in session.specs.items()
        if spec.method == "by_group" and spec.params.get("column") == column
    }
    states = {job.state for job in jobs() if job.key in of_column}
    if "done" in states:
        st.caption(
            f"A map for each {literal(column)} is fitted. Its groups are under “Probabilities of”."
        )
    elif column and not states & {"queued", "running"}:
        st.button(
            f"Fit a map for each {literal(column)}",
            key="groups/fit by group",
            icon=":material/play_arrow:",
            on_click=start,
            args=([("by_group", {"column": column})],),
            help=PROTECTED,
        )


def numbers(groups: Sequence[GroupFinding], view: View, overall: float) -> None:
    """Show the judged groups in a table; ``overall`` is the gap of all rows."""
    table = pd.DataFrame(
        {
            "group": [group.name for group in groups],
            "columns": [" × ".join(group.columns) for group in groups],
            "rows": [group.rows for group in groups],
            view.wording.short_predicted_label: [group.predicted for group in groups],
            view.wording.short_observed_label: [group.observed for group in groups],
            "gap": [group.gap.value for group in groups],
            "low": [group.gap.low for group in groups],
            "high": [group.gap.high for group in groups],
            "against all rows": [_word(group, view, overall) for group in groups],
        }
    )
    show_table(table.round(4), "group")


def _word(group: GroupFinding, view: View, overall: float) -> str:
    if group.severity == "fine":
        return "no significant difference"
    low = is_too_low(group, overall)
    return view.wording.too_low_label if low else view.wording.too_high_label


def panel(session: OpenSession, fit: ShownFit) -> None:
    """O:E, slope and the others in each group of the test rows."""
    evaluation = fit.evaluation
    kind = None if evaluation.weights is None else session.test.weight_kind
    rows = *evaluation.pair, session.test.groups, evaluation.weights, kind, evaluation.clusters
    panels: list[GroupPanel] = ready_of(fit, "the panel of each group", group_panels, *rows)
    off = [group for group in panels if group.off("oe")]
    judged = plural(sum(bool(group.measures) for group in panels), "group")
    named = [
        f"{literal(group.name)} {with_interval(group.measures['oe'])}" for group in off[:MOST_NAMED]
    ]
    more = [f"{len(off) - MOST_NAMED} more"] * (len(off) > MOST_NAMED)
    columns = [literal(role.column) for role in session.data.roles if role.role == "group"]
    by = f" by {' × '.join(columns)}" if columns else ""
    which = f"{judged}**{by}, on {plural(len(session.test), 'test row')}"
    clause = (
        f"in {len(off)} of {which}: {listed(named + more)}"
        if off
        else f"significantly in none of {which}"
    )
    st.markdown(f"With {fit.title}, **O:E differs from 1 {clause}.")
    show_table(_panel_table(panels), "group")
    st.caption(
        f"Intervals of one measure hold for all {judged} together with 95\u00a0% (Bonferroni). The groups come in the "
        f"order of O:E, the farthest from 1 first. Those with fewer than {LEAST_EVENTS} rows of either outcome are "
        "too small to judge."
    )


def _panel_table(panels: list[GroupPanel]) -> pd.DataFrame:
    table = pd.DataFrame(
        {
            "group": [group.name for group in panels],
            "rows": [group.rows for group in panels],
            "events": [group.events for group in panels],
            "event rate": [percent(group.rate) for group in panels],
            "mean risk": [percent(group.mean_risk) for group in panels],
        }
    )
    for key, title in MEASURES.items():
        table[title] = [
            with_interval(group.measures[key]) if group.measures else f"too few: {group.too_few}"
            for group in panels
        ]
    return table
