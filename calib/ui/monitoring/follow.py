"""Monitoring over time: the tests after every batch of new rows, and how many rows a check needs."""

from __future__ import annotations

from collections.abc import Callable, Hashable

import numpy as np
import pandas as pd
import streamlit as st

from calib.decisions.sample_size import WIDTHS, rows_needed
from calib.diagnostics.sequential_tests import SequentialTests, default_size, tests_over_time, weekly_lines
from calib.diagnostics.shift import FEW
from calib.errors import CalibrationError
from calib.evaluation import Evaluation
from calib.formatting import escape_markdown, percent, plural
from calib.plots.monitoring import e_value_chart, o_e_chart
from calib.ui import widgets
from calib.ui.fits import ready
from calib.ui.monitoring.upload import NewData, Subject, read_with
from calib.ui.monitoring.view import Checked
from calib.ui.session import find_session
from calib.ui.text import literal
from calib.ui.widgets import HALF

FILE_ORDER = "the order of the file"
SIZE = "monitoring/batch"


def over_time(subject: Subject, given: NewData, answer: Checked) -> None:
    """Both tests after every batch, in words and as charts, and what the batches are."""
    evaluation, times = answer.check.evaluation, answer.times
    n = len(evaluation)
    if n < FEW:
        return
    size = int(st.session_state.get(f"{SIZE}/{given.mark}", default_size(n)))
    key = "over time", given.key, None if times is not None else size
    found: SequentialTests = ready(key, "the tests after every batch", tests_over_time, *evaluation.pair, times, size)
    st.subheader("Looked at after every batch")
    st.markdown("  \n".join(weekly_lines(found)))
    with st.container(horizontal=True, gap="medium"):
        with st.container(width=HALF):
            widgets.show(
                e_value_chart(found, subject.style), "monitoring-e-values",
                "An e-value of 20 or more is an alarm. A calibrated model raises one with a probability of at most "
                "5\u00a0% for each test, however often one looks. Below 1 the rows speak for calibration.",
            )  # fmt: skip
        with st.container(width=HALF):
            widgets.show(
                o_e_chart(found, subject.style), "monitoring-o-e",
                f"All rows up to each batch: {evaluation.view.outcome} over {evaluation.view.mean_said}. The band "
                "holds the true ratio at all times together with a probability of 95\u00a0%.",
            )  # fmt: skip
    _batches(given, answer, len(found))


def _batches(given: NewData, answer: Checked, n_batches: int) -> None:
    """What the batches are, and how to have others."""
    n, timed, columns = len(answer.check.evaluation), answer.times is not None, answer.columns
    with st.container(horizontal=True, vertical_alignment="bottom"):
        if columns:
            options = [FILE_ORDER, *columns]
            now = answer.time_column if timed else FILE_ORDER
            picked = st.selectbox(
                "Batches by", options, index=options.index(now), format_func=lambda name: literal(name, 30),
                key=f"monitoring/times/{given.mark}/{now}", width=280,
            )  # fmt: skip
            if picked != now:
                read_with(given, {"times": "" if picked == FILE_ORDER else picked})
        if not timed:
            st.number_input("Rows in a batch", 1, max(n, 1), default_size(n), key=f"{SIZE}/{given.mark}", width=160)
    clustered = ""
    if answer.check.evaluation.clusters is not None:
        clustered = " The tests take rows of a cluster as independent, and so raise more false alarms than they say."
    said = "weeks, days or numbers of the chosen column" if timed else "rows in the order of the file"
    st.caption(
        f"{plural(n_batches, 'batch', 'batches')}: {said}. The order must not depend on the outcomes: rows whose "
        f"labels come late enter when the labels are known.{clustered}"
    )


def plan(subject: Subject, answer: Checked | None) -> None:
    """How many labelled rows a check needs; folded, since it is for the time before rows are collected."""
    labelled = answer.check.evaluation if answer is not None and answer.check.change is not None else None
    evaluation = subject.before if isinstance(subject.before, Evaluation) else labelled
    if evaluation is None:
        return
    key = subject.key if answer is None else answer.key
    _fold("Plan: how many labelled rows does a check need?", "monitoring/plan", lambda: _plan(evaluation, key))


def _fold(label: str, key: str, draw: Callable[[], object]) -> None:
    if find_session() is not None:
        widgets.folded(label, key, draw)
    else:
        with st.expander(label):
            draw()


def _plan(evaluation: Evaluation, key: Hashable) -> None:
    said, came = evaluation.pair
    view = evaluation.view
    widths = {}
    with st.container(horizontal=True):
        for target, width in WIDTHS.items():
            if target == "net benefit" and not view.is_event:
                continue
            widths[target] = st.number_input(
                f"Width of {target}", 0.02, 2.0, width, 0.02, key=f"monitoring/width/{target}", width=150
            )
        threshold = None
        if view.is_event:
            rate = float(np.clip(np.round(came.mean(), 2), 0.01, 0.99))
            threshold = st.number_input(
                "Threshold of net benefit", 0.01, 0.99, rate, 0.01, key="monitoring/threshold", width=180
            )
    try:
        asked = ("plan", key, threshold, *widths.values())
        what = "how many rows are needed"
        needed = ready(asked, what, rows_needed, said, came, threshold, widths, evaluation.clusters)
    except CalibrationError as error:
        st.caption(escape_markdown(str(error)))
        return
    widgets.show_table(
        pd.DataFrame(
            [
                {
                    "interval of": one.target,
                    "width": f"{one.width:g}",
                    "rows": f"{one.rows:,}",
                    view.right: f"{one.events:,}",
                }
                for one in needed
            ]
        ),
        "interval of",
    )
    most = max(needed, key=lambda one: one.rows)
    clustered = (
        " Rows for O:E are multiplied by the design effect of the clusters." if evaluation.clusters is not None else ""
    )
    st.caption(
        f"Rows for 95\u00a0% intervals of these widths, for rows like the {len(evaluation):,} judged here "
        f"({view.outcome} {percent(float(came.mean()))}): {most.rows:,} rows reach them all. Formulas of Riley et al. "
        f"(2021).{clustered} The tests after every batch need no such number: they may go on until "
        "one of them raises an alarm."
    )
