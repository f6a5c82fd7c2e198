"""The panel of a risk model in each group, and recalibration by group, on the Over- and underestimation page."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from calib.decisions.group_recalibration import GroupGain
from calib.diagnostics.group_panels import (
    IDEALS,
    LEAST_EVENTS,
    MEASURES,
    GroupPanel,
    GroupPanels,
    group_panels,
    recalibrated_by_group,
)
from calib.evaluation.evaluation import row_arrays
from calib.formatting import listed, number, percent, plural, signed, with_interval
from calib.jobs.protocol import Data
from calib.plots.forest import forest
from calib.ui import widgets
from calib.ui.fits import ShownFit, ready
from calib.ui.session import OpenSession
from calib.ui.text import literal
from calib.ui.widgets import show_table

DRAWN = ("oe", "slope", "auroc")
THIRD = 310
"""Pixels: three figures and the menu fill a window of 1500."""
MOST_DRAWN, MOST_NAMED = 12, 3


def draw(session: OpenSession, fit: ShownFit) -> None:
    """O:E, slope and the others in each group of the data."""
    assert session.test.groups is not None
    found = panels_of(session, fit)
    st.markdown(" ".join(filter(None, [_off(found, fit.title), _small(found)])))
    if found.judged:
        pictures(fit, found)
    widgets.show_table(_table(found), "group", len(MEASURES))
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
    off = found.off("oe")
    judged = plural(len(found.judged), "group")
    if not off:
        lead = f"With {title}, **O:E differs significantly from 1 in none of {judged}**."
    else:
        named = listed([f"{literal(g.name)} {with_interval(g.measures['oe'])}" for g in off[:MOST_NAMED]])
        more = "" if len(off) <= MOST_NAMED else f" and {len(off) - MOST_NAMED} more"
        lead = f"With {title}, **O:E differs from 1 in {len(off)} of {judged}**: {named}{more}."
    slopes = found.off("slope")
    if not slopes:
        return lead
    return f"{lead} The calibration slope differs from 1 in {len(slopes)} ({_names(slopes)})."


def _small(found: GroupPanels) -> str:
    if not found.small:
        return ""
    named = listed([f"{literal(group.name)} ({group.too_few})" for group in found.small[:MOST_NAMED]])
    more = "" if len(found.small) <= MOST_NAMED else f" and {len(found.small) - MOST_NAMED} more"
    return (
        f"**Too small to judge**: {plural(len(found.small), 'group')} with fewer than {LEAST_EVENTS} rows of either "
        f"outcome, {named}{more}."
    )


def _names(groups: tuple[GroupPanel, ...]) -> str:
    named = listed([literal(group.name) for group in groups[:MOST_NAMED]])
    return named if len(groups) <= MOST_NAMED else f"{named} and {len(groups) - MOST_NAMED} more"


def pictures(fit: ShownFit, found: GroupPanels) -> None:
    """Forest plots of three measures, side by side."""
    shown = found.judged[:MOST_DRAWN]
    with st.container(horizontal=True, gap="small"):
        for key in DRAWN:
            rows = [(group.name, group.measures[key]) for group in shown]
            one = partial(
                forest, rows, found.overall[key], fit.style, MEASURES[key], ideal=IDEALS.get(key), ratio=key == "oe"
            )
            with st.container(width=THIRD):
                widgets.show_kept(
                    ("forest", key, fit.key, fit.style),
                    one,
                    f"groups-{key}",
                    f"{MEASURES[key]} in each group with its simultaneous interval, and last on all rows. The line is "
                    + ("what a calibrated model has." if key in IDEALS else "the value of all rows."),
                )
    if len(found.judged) > MOST_DRAWN:
        st.caption(f"The figures show {MOST_DRAWN} of {plural(len(found.judged), 'group')}, the table all.")


def _table(found: GroupPanels) -> pd.DataFrame:
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
