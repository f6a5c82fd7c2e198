"""Parts of the Data page: the finding, event, weights and clusters, findings of loading, the split and the features."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import streamlit as st

from calib.apply.sample import MANY_ROWS, SAMPLED_ROWS
from calib.canonical import KINDS
from calib.data import DataError, Finding, Inspection, Predictions
from calib.data.options import WEIGHT_KINDS
from calib.data.samples import SAMPLES
from calib.data.split import describe_clusters, part_size
from calib.diagnostics.reliability import diagram_parts
from calib.evaluation import Evaluation
from calib.formatting import escape_markdown, listed, plural
from calib.plots.reliability import explain_diagram, reliability_diagram, usual_scale
from calib.plots.style import method_style
from calib.registry import METHODS
from calib.ui import audit, fits, tasks
from calib.ui.data import roles
from calib.ui.data.upload import change_by_hand, read_again
from calib.ui.link import go_to, open_data, page_link
from calib.ui.progress import offered_presets
from calib.ui.session import NOUN, OpenSession, Reading, current_session
from calib.ui.shell import view_switch
from calib.ui.text import LEVELS, add_notice, literal
from calib.ui.widgets import show_cached

LEFT_OUT = ("rows_left_out", "unpaired_rows")
"""Findings on rows that are not read."""
UNUSED = "unused"
"""The choice that leaves weights alone."""
WEIGHTS = "data/weights"
READ_AS = "data/read as"
ROLE_TITLES = {"cluster": "clusters", "weight": "weights", "time": "times", "features": "features"}
MOST_NAMED = 4
"""Columns of a role that are named."""


def overview(session: OpenSession, reading: Reading | None) -> None:
    """Open with the audit, then the way on and how the files were read beside the raw model's reliability.

    Parameters
    ----------
    reading : of the open data; None where other files wait for an answer.
    """
    whole = fits.on_all_rows(session)
    audit.head(session)
    tasks.show_judge(reading)
    facts, picture = st.columns([10, 11], gap="large")
    with picture:
        _reliability(whole)
    with facts:
        audit.findings(session)
        next_step(session)
        if session.sample is not None:
            st.caption(f"**What to look for.** {SAMPLES[session.sample].look_for}")
        how_it_was_read(session, reading)
        counts = f"{len(session.calibration):,} and {len(session.whole_test):,}"
        with st.expander(f"Calibration and test rows: {counts}"), session.all_rows():
            split_controls(session)


def how_it_was_read(session: OpenSession, reading: Reading | None) -> None:
    """Show the roles of the columns in one line; opened, how to change them; warnings and weights stand above."""
    data = session.data
    if reading is None or reading.inspection is None:
        for finding in audit.audit_of(session).beyond(data.findings):
            if finding.level != "info":
                show_finding(finding)
    else:
        findings(reading, session)
        if tasks.several_scorers(reading):
            _show_tasks(reading, expanded=True)
    weights_first = data.weight_kind is not None or audit.next_step(session) == "weights"
    if data.weights is not None and weights_first:
        _weights(data)
    counted = f", counted by {_column(data, 'weight')} as {data.weight_kind} weights"
    st.caption(f"{plural(len(data), 'row')}{counted if data.weight_kind else ''}.")
    with st.expander(f"Read as: {read_as(data)}", key=READ_AS, icon=":material/view_column:"):
        view_switch(session)
        about_rows(session)
        if data.weights is not None and not weights_first:
            _weights(data)
        if reading is not None:
            more_findings(reading, session)
            if changes := roles.choosers(reading):
                read_again(reading, changes)
            change_by_hand(reading)


def read_as(data: Predictions) -> str:
    """Role of each column, and the columns that were left aside."""
    columns: dict[str, list[str]] = {}
    for entry in data.roles:
        columns.setdefault(entry.role, []).append(literal(entry.column, 30))
    parts = [_describe_outputs(data, columns.get("outputs", []))]
    for role, title in ROLE_TITLES.items():
        if role in columns:
            parts.append(f"{title} {listed(columns[role][:MOST_NAMED])}{_and_more(columns[role])}")
    if not columns:
        arrays = {
            "groups": data.groups,
            "clusters": data.clusters,
            "weights": data.weights,
            "features": data.features,
            "training set": data.train_labels,
        }
        parts += [name for name, array in arrays.items() if array is not None]
        return " · ".join(parts)
    groups = [literal(name, 30) for name in data.group_columns()]
    if groups:
        parts.append(f"groups {listed(groups[:MOST_NAMED])}{_and_more(groups)}")
    aside = [name for name in columns.get("ignore", []) if name not in groups]
    rest = f"left aside {listed(aside[:MOST_NAMED])}{_and_more(aside)}"
    return " · ".join([*parts, rest if aside else "nothing left aside"])


def _describe_outputs(data: Predictions, outputs: list[str]) -> str:
    meaning = KINDS[data.kind]
    if data.event is not None:
        event = literal(data.event.name, 30)
        meaning = f"log-odds of {event}" if data.kind == "binary_log_odds" else f"P({event})"
    return f"{outputs[0]} is {meaning}" if len(outputs) == 1 else meaning


def _and_more(names: list[str]) -> str:
    return f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""


def _reliability(whole: Evaluation) -> None:
    """The reliability of the raw model over all rows, computed by a worker."""
    view = whole.view
    style = method_style("identity")
    compute = partial(diagram_parts, clusters=whole.clusters, weights=whole.weights)
    key = ("diagram", "all rows")
    parts = fits.ready(key, "the reliability of the raw model", compute, *whole.pair)
    scale = usual_scale(parts.curve, view)
    draw = partial(reliability_diagram, parts, style, view=view, scale=scale)
    show_cached("data/reliability", draw, "reliability", explain_diagram(view, parts))


def about_rows(session: OpenSession) -> None:
    """One line for the event and one for clusters, where there are any."""
    data = session.data
    if data.event is not None and data.kind != "pairs":
        _event(data)
    if data.clusters is not None:
        n_clusters = len(set(data.clusters.tolist()))
        st.markdown(
            f":material/workspaces: **Clusters:** {plural(n_clusters, 'value')} of {_column(data, 'cluster')}; splits "
            "and intervals keep the rows of each together."
        )


def _event(data: Predictions) -> None:
    event = data.event
    assert event is not None
    other = data.class_names[1 - event.column]
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(
            f":material/flag: **Event:** {literal(event.name)} ({literal(event.reason, 80)})",
            width="content",
        )
        st.button(
            f"Take {literal(other)} as the event",
            key="data/swap",
            type="tertiary",
            icon=":material/swap_horiz:",
            on_click=decide,
            kwargs={"event": other, "weight_kind": data.weight_kind},
        )
    session = current_session()
    key = f"{NOUN}/{data.sha256[:12]}"  # of the open data: others must not take the name over

    def call() -> None:
        session.picked[NOUN] = st.session_state[key].strip()
        session.cached.clear()  # figures carry the name

    st.text_input(
        "What figures call the event",
        session.picked.get(NOUN, ""),
        max_chars=40,
        key=key,
        on_change=call,
        placeholder=event.name,
        help="A noun for axes and sentences: P(death) in place of P(1).",
        width=320,
    )


def _weights(data: Predictions) -> None:
    """Switch between the meanings of weights; those that are not applied have none."""
    kinds: dict[str, str] = {UNUSED: "do not apply"} | {kind: kind for kind in WEIGHT_KINDS}
    key = f"{WEIGHTS}/{data.sha256[:12]}"  # of the open data: others must not take the choice over

    def take() -> None:
        kind = st.session_state[key]
        decide(weight_kind=None if kind == UNUSED else kind)

    st.segmented_control(
        f"What the weights in {_column(data, 'weight')} mean",
        list(kinds),
        default=data.weight_kind or UNUSED,
        required=True,
        format_func=kinds.__getitem__,
        key=key,
        on_change=take,
        help=" ".join(
            f"**{kind.capitalize()}**: {meaning}." for kind, meaning in WEIGHT_KINDS.items()
        )
        + " All fits and numbers then count rows by them.",
    )


def _column(data: Predictions, role: str) -> str:
    """Name of the column with a role; where no roles are known, the role's."""
    return literal(next((entry.column for entry in data.roles if entry.role == role), role))


def decide(**decisions: Any) -> None:
    """Open the same rows with another event or kind of weights; how they were read and split stays."""
    session = current_session()
    data = session.data.decided(**decisions)
    opened = OpenSession.from_data(
        data,
        session.part,
        session.seed,
        sample=session.sample,
        reading=_with_decisions(session.reading, data, decisions),
        viewpoint=session.viewpoint,
    )
    open_data(opened)


def _with_decisions(reading: Reading, data: Predictions, decisions: dict[str, Any]) -> Reading:
    inspection = reading.inspection
    if inspection is not None:
        choices = replace(inspection.choices, **decisions)
        decisions = {**decisions, "weights": choices.weights}  # no longer by the name of the column
        inspection = replace(inspection, predictions=data, choices=choices)
    return replace(reading, inspection=inspection, choices=replace(reading.choices, **decisions))


def not_opened(reading: Reading) -> bool:
    """Show why the files read last could not be opened: the question which reading is meant, or what is wrong.

    Returns
    -------
    Whether that is so.
    """
    inspection = reading.inspection
    if inspection is None or inspection.predictions is not None:
        return False
    tasks.show_judge(reading)
    open_tasks = tasks.find_tasks(reading)
    if open_tasks is not None and open_tasks.certain:
        tasks.draw(open_tasks)
        with st.expander("Open the file as one problem", icon=":material/view_column:"):
            _ask(reading)
        return True
    _ask(reading)
    _show_tasks(reading)
    return True


def _ask(reading: Reading) -> None:
    """Findings of files that could not be opened, and what can be chosen."""
    findings(reading)
    changes = roles.ask(reading)
    more_findings(reading)
    if changes:
        read_again(reading, changes)
    change_by_hand(reading)


def stays_open(session: OpenSession) -> None:
    """Between files that could not be opened and what is open."""
    st.divider()
    st.caption(
        f"The new files are not open yet; {literal(session.data.name)} stays open with its fits."
    )


def findings(reading: Reading, session: OpenSession | None = None) -> None:
    """Errors and warnings of the reading, each with its one-click fixes.

    Parameters
    ----------
    session : the open data, whose audit has some of them as sentences of its own.
    """
    inspection = reading.inspection
    assert inspection is not None
    opened = inspection.predictions is not None
    beyond = _beyond_audit(inspection, session)
    for finding in inspection.findings:
        if finding not in beyond and opened:
            _fix_buttons(finding, reading)
    for finding in beyond:
        if finding.level != "info" and finding.code not in LEFT_OUT:
            show_finding(finding)
            _fix_buttons(finding, reading)
            if opened and finding.code == "several_models":
                _show_tasks(reading)


def _show_tasks(reading: Reading, expanded: bool = False) -> None:
    """The tasks of rows that were read together."""
    open_tasks = tasks.find_tasks(reading)
    if open_tasks is not None:
        with st.expander("Each by itself", expanded, icon=":material/table_rows:"):
            tasks.draw(open_tasks)


def more_findings(reading: Reading, session: OpenSession | None = None) -> None:
    """Rows that were left out and what else was understood, each with its one-click fixes."""
    for finding in _beyond_audit(reading.inspection, session) if reading.inspection else ():
        if finding.level == "info" or finding.code in LEFT_OUT:
            text = escape_markdown(f"{finding.message} {finding.action}")
            st.markdown(f"{LEVELS[finding.level][1]} {text}")
            _fix_buttons(finding, reading)


def _beyond_audit(inspection: Inspection, session: OpenSession | None) -> Sequence[Finding]:
    """Findings but for those that are asked as a question, or that the audit of open data has."""
    if inspection.predictions is None or session is None:
        return [finding for finding in inspection.findings if finding.code not in roles.ASKED]
    return audit.audit_of(session).beyond(inspection.findings)


def show_finding(finding: Finding) -> None:
    """A finding with what can be done about it; where that is a few lines of code, these can be copied."""
    action, _, code = finding.action.partition("\n")
    text = escape_markdown(finding.message) + (f" **{escape_markdown(action)}**" if action else "")
    show, icon = LEVELS[finding.level]
    show(text, icon=icon)
    if code:
        st.code(code, language="python", wrap_lines=True)


def chosen_fix(finding: Finding, key: str) -> Mapping[str, Any]:
    """The changes whose button the visitor clicked, of those that a finding offers; empty if none."""
    clicked: Mapping[str, Any] = {}
    for title, changes in finding.offers.items():
        if st.button(
            escape_markdown(title),
            key=f"{key}/{finding.code}/{sorted(map(str, changes.items()))}",
            icon=":material/build:",
        ):
            clicked = changes
    return clicked


def _fix_buttons(finding: Finding, reading: Reading) -> None:
    if changes := chosen_fix(finding, "fix"):
        read_again(reading, changes)


def split_controls(session: OpenSession) -> None:
    """Choose which rows calibrators learn from, and fit there again what was fitted; the test rows judge them."""
    data, data_split = session.data, False
    whole = len(data) - len(session.test)
    part = 0.5 if session.part is None else session.part
    form = st.form(
        f"split/{session.split_key}", border=False
    )  # another split begins with its own values
    with form, st.container(horizontal=True, vertical_alignment="bottom"):
        if data.given_split is not None:
            data_split = st.toggle("Use the split that came with the data", session.part is None)
        share = st.slider(
            "Share for calibration",
            5,
            95,
            round(100 * part),
            5,
            format="%d %%",
            width=320,
            help="Stratified by class. More calibration rows improve the fit; more test rows narrow the intervals.",
        )
        seed = st.number_input("Seed", 0, 10_000, session.seed, width=140)
        most = SAMPLED_ROWS
        if whole > MANY_ROWS:
            most = st.number_input(
                "Rows to fit on",
                1000,
                whole,
                len(session.calibration),
                1000,
                width=180,
                help="Fewer rows are fitted faster. Each number that a method learns costs about 1 / (2 x rows) "
                "nats: 0.00001 with 50,000 rows.",
            )
        label = "Split and fit again" if session.specs else "Split again"
        before = list(session.specs.values())
        if st.form_submit_button(label, icon=":material/call_split:", key="split/again"):
            try:
                fits.change_split(
                    session,
                    None if data_split else share / 100,
                    seed,
                    None if most == SAMPLED_ROWS else most,
                )
                if not session.specs:
                    fits.start([(spec.method, spec.params) for spec in before])
            except DataError as error:
                add_notice(str(error), "error")
            st.rerun()
    if session.drawn:
        st.caption(session.drawn)
    size = None if session.part is None else part_size(session.part, len(data))
    if note := describe_clusters(session.calibration.clusters, session.test.clusters, size):
        st.caption(note)


def next_step(session: OpenSession) -> None:
    """One primary button that follows from the remedy, and the ways to the calibrators."""
    data_audit = audit.audit_of(session)
    names = offered_presets(session, data_audit.methods)["Recommended"]
    step = audit.next_step(session)
    usable = audit.is_usable(session)
    fit = f"Fit {plural(len(names), 'calibrator')} all the same"
    if usable:
        fit = f"Fit the {plural(len(names), 'recommended calibrator')} and compare them"
    with st.container(horizontal=True, vertical_alignment="center"):
        if step == "weights":
            refit = "Refit with weights" if session.specs else "Judge with weights"
            st.button(refit, key="data/weigh", type="primary", on_click=refit_with_weights)
        elif step == "groups":
            if st.button("See the groups", key="data/groups", type="primary"):
                go_to("pages/13_Groups.py")
        elif step == "labels":
            st.button("Check the labels", key="data/labels", type="primary", on_click=open_roles)
        if session.specs:
            page_link("pages/2_Compare.py", "**See the comparison**", ":material/leaderboard:")
        elif st.button(
            fit,
            key="data/fit",
            type="primary" if step == "fit" else "secondary",
            icon=":material/play_arrow:",
        ):
            column = {"column": data_audit.column}
            fits.start([(name, column if name == "by_group" else {}) for name in names])
            go_to("pages/2_Compare.py")
        page_link("pages/1_Fit.py", "Choose calibrators", ":material/model_training:")
    if not session.specs:
        title = "Recommended" if usable else "Not recommended"
        st.caption(f"{title}: {listed([METHODS[name].title for name in names])}.")


def refit_with_weights() -> None:
    """Count rows by their sampling weights, in the judgement and in the fits that were asked for."""
    before = list(current_session().specs.values())
    decide(weight_kind="sampling")
    fits.start([(spec.method, spec.params) for spec in before])


def open_roles() -> None:
    """Open the columns with their roles."""
    st.session_state[READ_AS] = True
