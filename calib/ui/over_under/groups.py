"""Groups on the Over- and underconfidence page: which are off and which stand out, and their panels of a risk model."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from calib.data import Predictions
from calib.decisions.group_recalibration import GroupGain
from calib.diagnostics.subgroups import (
    LEAST_EVENTS,
    LEAST_ROWS,
    MEASURES,
    GroupGaps,
    GroupPanels,
    Subgroups,
    folded,
    gap_sentence,
    group_panels,
    recalibrated_by_group,
    subgroups,
)
from calib.engine import Data
from calib.evaluation.evaluation import row_arrays
from calib.evaluation.view import View
from calib.formatting import (
    class_in_words,
    listed,
    number,
    percent,
    plural,
    points,
    points_between,
    signed,
    with_interval,
)
from calib.plots.over_under import per_class_chart
from calib.plots.style import Style
from calib.ui import widgets
from calib.ui.fits import ShownFit, beside_raw, ready
from calib.ui.over_under.view import in_order
from calib.ui.session import OpenSession
from calib.ui.text import literal
from calib.ui.widgets import segments, show_table, whole_number

MOST_GROUPS = 20
MOST_NAMED = 3
BY = {"groups": "group of the data", "predicted": "raw model's predicted class"}


def groups(test: Predictions, fits: list[ShownFit], closer: ShownFit, leads: bool = False) -> None:
    """The gap of each group, the worst first, from the raw model to the method.

    Parameters
    ----------
    leads : whether the page opens with it: its headline is there then, and its numbers fold.
    """
    if test.groups is None:
        st.caption(
            "These data have no subgroups: a column such as group, site or cohort would be read as one (on the Data "
            "page any column can be chosen). Until then, rows are grouped by the class that the raw model predicts."
        )
    with st.container(horizontal=True, vertical_alignment="bottom"):
        by = "predicted"
        if test.groups is not None:
            by = segments("Rows grouped by", BY, "groups", "groups/by")
        least = whole_number("Minimum rows of a group", 2, 10_000, LEAST_ROWS, "groups/least", width=180)
    own = test.groups if by == "groups" else None
    of_row = np.array([*map(class_in_words, test.class_names)])[fits[0].evaluation.predicted] if own is None else own
    methods = beside_raw(fits, closer)
    results = [subgroups_of(fit, by, of_row, least) for fit in methods]
    last, view = results[-1], closer.evaluation.view
    if leads:
        st.caption(too_small(last, least))
    else:
        st.markdown(f"With {closer.title}: {groups_sentence(last, least)}")
    if last.enough.any():
        order = last.worst_first[:MOST_GROUPS]
        joint = 1.0 - (1.0 - last.level) / max(1, int(last.enough.sum()))
        gaps = [
            (
                fit.title,
                ready(
                    ("worst groups", fit.key, closer.key, by, least), f"the worst groups of {fit.title}",
                    folded, fit.evaluation, of_row, order, last.names, joint,
                ),
                fit.style,
            )
            for fit in methods
        ]  # fmt: skip
        draw = partial(_chart, gaps, last, least, view, BY[by])
        widgets.show_kept(
            ("subgroup chart", closer.key, by, least),
            draw,
            "subgroups",
            f"{view.mean_said.capitalize()} minus {view.outcome} in each group; right of zero: {view.too_high}. The "
            "intervals hold for all groups together, so that on a calibrated model no group at all leaves zero in "
            "95\u00a0% of cases. First comes the group whose interval is farthest from zero."
            + (" The dot above is the raw model." if len(methods) > 1 else "")
            + (
                f" All others, and those with fewer than {least} rows, are pooled in the last row."
                if _pooled(last) >= least
                else ""
            ),
        )
    table = _subgroup_table(last, results[0] if len(results) > 1 else None, view)
    draw_numbers = partial(show_table, table, "group", len(table.columns))
    if leads:
        widgets.folded("Every group in numbers", "groups/numbers", draw_numbers)
    else:
        draw_numbers()


def _pooled(result: Subgroups) -> int:
    """Rows of the groups that the figure does not name."""
    return int(result.gaps.rows.sum() - result.gaps.rows[result.worst_first[:MOST_GROUPS]].sum())


def _chart(gaps: list[tuple[str, GroupGaps, Style]], result: Subgroups, least: int, view: View, by: str) -> Any:
    """The worst groups and, pooled, the others, as the classes are; `by` says what they are groups of."""
    order = result.worst_first[:MOST_GROUPS]
    names = [result.names[k] for k in order]
    others = len(result.names) - len(order)
    # A handful of pooled rows would stretch the axis.
    shown = np.arange(len(order) + (_pooled(result) >= least))
    return per_class_chart([*names, f"{plural(others, 'other')}, pooled"], shown, gaps, f"By {by}", view)


def _subgroup_table(result: Subgroups, raw: Subgroups | None, view: View) -> pd.DataFrame:
    gaps = result.gaps
    known = result.enough
    table = pd.DataFrame(
        {
            "group": result.names,
            "rows": gaps.rows,
            "verdict": _verdicts(result, view),
            view.outcome: gaps.accuracy,
            view.mean_said: gaps.confidence,
            "gap": gaps.gap,
            "gap, low": np.where(known, gaps.gap_low, np.nan),
            "gap, high": np.where(known, gaps.gap_high, np.nan),
        }
    )
    if raw is not None:
        table["gap of the raw model"] = raw.gaps.gap
    return in_order(table, result.worst_first)


def _verdicts(result: Subgroups, view: View) -> list[str]:
    said = np.where(result.enough, "no sign", "too few rows").astype(object)
    said[result.overconfident], said[result.underconfident] = view.too_high, view.too_low
    return list(said)


def groups_sentence(subgroups: Subgroups, least_rows: int) -> str:
    """The average gap, in which groups it is significantly larger, and how many are too small."""
    judged = int(subgroups.enough.sum())
    if not judged:
        return f"No group has {plural(least_rows, 'row')}; the largest has {int(subgroups.gaps.rows.max()):,}."
    said = gap_sentence(subgroups.average, subgroups.off, judged, literal, "**")
    return f"{said} {too_small(subgroups, least_rows)}".rstrip()


def too_small(subgroups: Subgroups, least_rows: int) -> str:
    """How many groups have too few rows to be judged, in a sentence; "" where none."""
    few = int((~subgroups.enough).sum())
    return f"{plural(few, 'group')} with fewer than {plural(least_rows, 'row')}: too few to judge." if few else ""


def group_headline(test: Predictions, fit: ShownFit) -> str:
    """Which groups of the data are off, for the first line of the page; "" where none is."""
    if test.groups is None:
        return ""
    found = subgroups_of(fit, "groups", test.groups, LEAST_ROWS)
    if not found.off:
        return ""
    first, *more = found.off
    view = fit.evaluation.view
    near, far = sorted((abs(first.gap.low), abs(first.gap.high)))
    also = [f"{literal(group.name)} {points(group.gap.value)} ({points_between(*group.gap[1:])})" for group in more]
    named = "; ".join(also[:MOST_NAMED]) + (" and more" if len(also) > MOST_NAMED else "")
    rest = f" Also off, in points: {named}." if also else ""
    fine = found.average.low <= 0.0 <= found.average.high
    lead = "Fine on average, but in" if fine else "Not only on average: in"
    way, size = view.over if first.gap.value > 0 else view.under, 100 * abs(first.gap.value)
    return (
        f"**{lead} {literal(first.name)} {fit.title} {view.is_}{way} by {size:.1f} points** (95\u00a0% for all groups: "
        f"{points_between(near, far, sign=False)}): {view.mean_said} {percent(first.predicted)}, {view.outcome} "
        f"{percent(first.observed)}, {plural(first.rows, 'row')}.{rest}"
    )


def in_groups(test: Predictions, fit: ShownFit) -> None:
    """For data with groups, in one line for which of them a method is off; nothing for others."""
    if test.groups is None:
        return
    found = subgroups_of(fit, "groups", test.groups, LEAST_ROWS)
    sign = f" :small[Above 0: {fit.evaluation.view.too_high}.]" if found.off else ""
    st.markdown(f"**{fit.title} by group**: {groups_sentence(found, LEAST_ROWS)}{sign}")


def subgroups_of(fit: ShownFit, by: str, of_row: Any, least: int) -> Subgroups:
    """The groups of one method, judged by a worker."""
    key = "subgroups", fit.key, by, least
    return ready(key, f"the groups of {fit.title}", subgroups, fit.evaluation, of_row, least)


def panel(session: OpenSession, fit: ShownFit) -> None:
    """O:E, slope and the others in each group of the data."""
    assert session.test.groups is not None
    found = panels_of(session, fit)
    st.markdown(" ".join(filter(None, [_off(found, fit.title), _small(found)])))
    show_table(_panel_table(found), "group", len(MEASURES))
    st.caption(
        f"Intervals of one measure hold for all {plural(len(found.judged), 'group')} together with 95\u00a0% "
        "(Bonferroni); those of all rows have 95\u00a0% each. The groups come in the order of O:E, the farthest from 1 "
        "first."
    )


def panels_of(session: OpenSession, fit: ShownFit) -> GroupPanels:
    """The panel of one method in each group of the test rows, computed by a worker."""
    one = fit.evaluation
    kind = None if one.weights is None else session.test.weight_kind
    given = *one.pair, session.test.groups, one.weights, kind, one.clusters
    return ready(("group panels", fit.key), f"the panel of {fit.title} in each group", group_panels, *given)


def _off(found: GroupPanels, title: str) -> str:
    if not found.judged:
        return ""
    off, slopes, judged = found.off("oe"), found.off("slope"), plural(len(found.judged), "group")
    named = _first([f"{literal(g.name)} {with_interval(g.measures['oe'])}" for g in off])
    lead = f"With {title}, **O:E differs from 1 in {len(off)} of {judged}**: {named}."
    if not off:
        lead = f"With {title}, **O:E differs significantly from 1 in none of {judged}**."
    of_slope = f" The calibration slope differs from 1 in {_first([literal(group.name) for group in slopes])}."
    return lead + of_slope * bool(slopes)


def _small(found: GroupPanels) -> str:
    if not found.small:
        return ""
    named = _first([f"{literal(group.name)} ({group.too_few})" for group in found.small])
    return (
        f"**Too small to judge**: {plural(len(found.small), 'group')} with fewer than {LEAST_EVENTS} rows of either "
        f"outcome, {named}."
    )


def _first(names: list[str]) -> str:
    return listed(names[:MOST_NAMED]) + (f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else "")


def _panel_table(found: GroupPanels) -> pd.DataFrame:
    table = pd.DataFrame(
        {
            "group": [group.name for group in found.groups],
            "rows": [group.rows for group in found.groups],
            "events": [group.events for group in found.groups],
            "event rate": [percent(group.rate) for group in found.groups],
            "mean risk": [percent(group.mean_risk) for group in found.groups],
        }
    )
    for key, title in MEASURES.items():
        table[title] = [
            with_interval(group.measures[key]) if group.measures else f"too few: {group.too_few}"
            for group in found.groups
        ]
    return table


def recalibration(session: OpenSession) -> None:
    """Whether a map for each group, shrunk towards the shared one, is better on the test rows."""
    found = recalibrated(session)
    st.markdown(sentence(found))
    made = found.made
    if made.spread:
        factor = np.exp(made.offsets)
        order = np.argsort(-np.abs(made.offsets), kind="stable")
        show_table(
            pd.DataFrame(
                {
                    "group": [made.names[k] for k in order],
                    "calibration rows": made.rows[order],
                    "events": made.events[order],
                    "factor of the odds": [number(float(factor[k])) for k in order],
                }
            ),
            "group",
        )
    st.caption(
        "Both maps are logistic recalibrations of the raw model, fitted to the calibration rows: one intercept and "
        "slope for all, or normally distributed intercepts by group, each shrunk towards the shared map the more, the "
        "fewer rows its group has."
    )


def recalibrated(session: OpenSession) -> GroupGain:
    """Intercepts for groups judged on the test rows, by a worker; the same for every method."""
    first, test, column = session.calibration, session.test, session.view.column
    arrays: dict[str, Any] = {name: getattr(first, name) for name in ("logits", "labels", "groups")}
    arrays |= {f"test_{name}": getattr(test, name) for name in ("logits", "labels", "groups")}
    about = row_arrays(test)
    arrays |= {f"test_{name}": array for name, array in about.items() if array is not None}
    kind = None if about["weights"] is None else test.weight_kind
    data = Data(f"{session.split_key} groups", arrays)
    return ready(("by group",), "recalibration by group", recalibrated_by_group, column, kind, data=data)


def sentence(found: GroupGain) -> str:
    """Whether groups pay, in words."""
    made, gain = found.made, found.log_loss
    if not made.spread:
        return f"The {plural(len(made.names), 'group')} show no departure from the shared map: it is a **tie**."
    change = f"log loss {with_interval(gain, signed)} beside {number(found.shared_loss)}, on {found.n:,} test rows"
    lead = (
        f"The odds of the {plural(len(made.names), 'group')} differ by a factor of about {number(np.exp(made.spread))}"
    )
    if found.pays is None:
        return f"{lead}; whether a map for each group is better than the shared one is **undecided** ({change})."
    word = "better" if found.pays else "worse"
    return f"{lead}; a map for each group, shrunk, is **{word}** than the shared one ({change})."
