"""Results of the Monitoring page: the verdict or what to expect, scores before and now, and a test over time."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import numpy.typing as npt
import pandas as pd
import streamlit as st

from calib.diagnostics.new_rows import NewRowsCheck, check_new_rows, sentences
from calib.diagnostics.sequential_tests import SequentialTests, default_size, tests_over_time
from calib.diagnostics.shift import CalibrationShift, off, verdict
from calib.diagnostics.shift_data import NewRows, read_new_rows
from calib.engine import Data
from calib.errors import CalibrationError
from calib.evaluation import SCORES, Evaluation
from calib.evaluation.compare import SAME_DATA
from calib.formatting import escape_markdown, plural, signed
from calib.metrics.bootstrap import Interval
from calib.plots.monitoring import confidence_drift, e_value_chart, o_e_chart
from calib.plots.reliability import common_limits, explain_diagram, reliability_diagram, usual_scale
from calib.ui import widgets
from calib.ui.fits import ready
from calib.ui.monitoring.upload import NewData, Subject, read_with, show_noticed
from calib.ui.server.memory import admit
from calib.ui.server.uploads import all_made
from calib.ui.session import OpenSession, find_visitor
from calib.ui.text import interval_cell, literal
from calib.ui.widgets import HALF, draw_table, show_table

OPENING = 2
"""Sentences: whether it is calibrated now, and what changed since it was judged."""
DIAGRAM_PIXELS = 330
"""Three figures in a row and the menu fill a window of 1500 pixels."""
CPU_SECONDS, CPU_SECONDS_PER_MILLION = 30, 20
"""Most processor time to judge an uploaded calibrator, and for each million outputs; GPcalib, the slowest, takes 8."""
FILE_ORDER = "the order of the file"
SIZE = "monitoring/batch"


@dataclass(frozen=True, eq=False)
class Checked:
    """A calibrator's verdict on the new rows, and what the file says of them.

    Attributes
    ----------
    key : of the files, how they are read, and the calibrator.
    check : the verdict.
    same_data : whether these are the rows that it was fitted on.
    times : of the rows, where the file says when they were scored.
    time_column : of a table, the column that says it.
    columns : of a table.
    """

    key: Hashable
    check: NewRowsCheck
    same_data: bool = False
    times: npt.NDArray[np.str_] | None = None
    time_column: str = ""
    columns: tuple[str, ...] = ()


def checked(subject: Subject, given: NewData) -> Checked | None:
    """Read the new rows and judge the calibrator on them, once; of the rows only scores are kept, as long as the file.

    None where the files cannot be read; the findings, which are shown in any case, say why.

    Raises
    ------
    DataError
        If with the rows, or their scores, the visitor would hold too much.
    """
    noticed, result = given.main.once(given.key, partial(_read, subject, given))
    show_noticed(noticed, given, unread=result is None)
    return result


def _read(subject: Subject, given: NewData) -> tuple[NewRows, Checked | None]:
    """Findings on the new rows, without the rows, and the verdict."""
    with st.spinner("Reading…"):
        source = given.main.filename, given.main
        new = read_new_rows(subject.exported, source, given.options, given.labelled)
    admit(find_visitor(), all_made(), new)
    bare = replace(new, data=None, inspection=replace(new.inspection, predictions=None))
    return bare, _judged(subject, given, new)


def _judged(subject: Subject, given: NewData, new: NewRows) -> Checked | None:
    data = new.data
    if data is None:
        return None
    rows = Data(f"new rows {given.key!r}", {"rows": data})
    what = f"the scores of {plural(len(data), 'new row')}"
    about = subject.exported, subject.before, subject.n_before, new.labelled
    most = CPU_SECONDS + CPU_SECONDS_PER_MILLION * data.logits.size / 1e6 if subject.record else 0.0
    check = ready(
        ("new rows", given.key), what, check_new_rows, *about, data=rows, most_seconds=most
    )
    if not new.labelled:
        return Checked(given.key, check)
    column = next((role.column for role in data.roles if role.role == "time"), "")
    return Checked(
        given.key,
        check,
        new.fitted_on(subject.data_sha256),
        data.times,
        column,
        tuple(new.inspection.rows),
    )


def unlabelled(subject: Subject, answer: Checked) -> None:
    """Show the expectation for rows without labels, its assumption, and the shift of the scores."""
    found = answer.check.expected
    assert found is not None
    said = sentences(found, subject.title, answer.check.accuracy_before)
    st.markdown(" ".join(said[:-2]))
    st.warning(said[-2], icon=":material/warning:")
    st.caption(said[-1])
    with st.container(width=2 * DIAGRAM_PIXELS):
        drift(subject, answer)


def words(subject: Subject, answer: Checked, change: CalibrationShift) -> None:
    """The verdict, and what to do about it."""
    said = verdict(change, subject.title)
    st.markdown(" ".join(said[:OPENING]))
    if len(said) > OPENING:
        st.caption(" ".join(said[OPENING:]))
    if answer.same_data:
        st.warning(SAME_DATA)
    elif off(change):
        st.caption(
            "To correct it, open the new rows on the Data page and fit a calibrator to them."
        )
    if subject.before is None:
        st.caption(
            "The file does not record how the calibrator was judged, so there is nothing to compare with."
        )


def scores(subject: Subject, change: CalibrationShift) -> None:
    """Every score before and now, with the change."""
    rows = []
    for key, score in change.scores.items():
        rows.append(
            {
                "score": SCORES[key].seen(change.view).title,
                "before": interval_cell(score.before),
                "now": interval_cell(score.now),
                "change": interval_cell(score.change, signed),
                "significance": _beyond(key, change.joint[key].change),
            }
        )
    table = pd.DataFrame(rows)
    known = subject.before is not None
    if known:
        show_table(table, "score")
    else:
        draw_table(table[["score", "now"]])
    before = f" Before: {plural(change.n_before, 'test row')}." if known and change.n_before else ""
    st.caption(
        f"In brackets 95\u00a0% intervals of each number alone. Now: {plural(change.n, 'new row')}.{before}"
        + (
            " The two sets have different rows, so the interval of the change is wider than that of a difference "
            "between methods on the same rows. Significance and the intervals above the table hold for all claims of "
            "this page together, and so are wider."
            if known
            else ""
        )
    )


def pictures(subject: Subject, answer: Checked) -> None:
    """Reliability before and now on one scale."""
    view = answer.check.evaluation.view
    known = {"before": answer.check.before, "now": answer.check.now}
    shown = {
        when: (one.n, one.diagram)
        for when, one in known.items()
        if one is not None and one.diagram is not None
    }
    diagrams = [diagram for _, diagram in shown.values()]
    scale = usual_scale(diagrams[-1].curve, view)
    limits = common_limits(diagrams, scale)
    with st.container(horizontal=True, gap="medium"):
        for when, (n, diagram) in shown.items():
            with st.container(width=DIAGRAM_PIXELS):
                st.markdown(f"**{when.capitalize()}**, {plural(n, 'row')}")
                widgets.show(
                    reliability_diagram(
                        diagram,
                        subject.style,
                        view=view,
                        scale=scale,
                        limits=limits,
                        side=DIAGRAM_PIXELS,
                    ),
                    f"monitoring-reliability-{when}",
                    explain_diagram(view),
                )


def drift(subject: Subject, answer: Checked, height: int = DIAGRAM_PIXELS) -> None:
    """The distribution of what is said, before and now, where the one of before is known."""
    before = answer.check.before
    now = answer.check.now
    view = answer.check.evaluation.view
    if before is None:
        return
    st.markdown(f"**{view.wording.predicted_label.capitalize()} before and now**")
    widgets.show(
        confidence_drift(before.histogram, now.histogram, subject.style, height=height, view=view),
        "monitoring-drift",
        "Share of rows, now upwards and before downwards. Where the two differ, the inputs have changed, or the model.",
    )


def _beyond(key: str, change: Interval | None) -> str:
    if change is None:
        return "–"
    if change.low <= 0 <= change.high:
        return "not significant"
    if SCORES[key].better == "neither":
        return "higher" if change.value > 0 else "lower"
    return "better" if (change.value < 0) == (SCORES[key].better == "lower") else "worse"


def over_time(subject: Subject, given: NewData, answer: Checked) -> None:
    """The test after every batch, in words and as charts, and what the batches are."""
    evaluation, times = answer.check.evaluation, answer.times
    if answer.check.change is None or answer.check.change.untold:
        return
    size = int(st.session_state.get(f"{SIZE}/{given.mark}", default_size(len(evaluation))))
    st.subheader("Looked at after every batch")
    found = _tests(subject, evaluation, given.key, times, None if times is not None else size)
    _batches(given, answer, len(found))


def open_rows_over_time(subject: Subject, session: OpenSession) -> None:
    """The test after every batch of the open test rows, where these have times; nothing else is uploaded."""
    times = session.whole_test.times
    if times is None or not isinstance(subject.before, Evaluation):
        return
    column = next((role.column for role in session.data.roles if role.role == "time"), "times")
    st.subheader(f"The test rows in the order of {literal(column)}")
    try:
        found = _tests(subject, subject.before, subject.key, times, None)
    except CalibrationError as error:  # too many batches
        st.caption(escape_markdown(str(error)))
        return
    st.caption(f"{plural(len(found), 'batch', 'batches')}: weeks, days or numbers of the column.")


def _tests(
    subject: Subject,
    evaluation: Evaluation,
    key: Hashable,
    times: npt.NDArray[np.str_] | None,
    size: int | None,
) -> SequentialTests:
    """Draw the test after every batch, in words and as charts."""
    key = "over time", key, size
    found: SequentialTests = ready(
        key, "the test after every batch", tests_over_time, *evaluation.pair, times, size
    )
    st.markdown(found.sentence)
    wording = evaluation.view.wording
    with st.container(horizontal=True, gap="medium"):
        with st.container(width=HALF):
            widgets.show(
                e_value_chart(found, subject.style),
                "monitoring-e-values",
                "An e-value of 20 or more is an alarm. A calibrated model raises one with a probability of at most "
                "5\u00a0%, however often one looks. Values below 1 support calibration.",
            )
        with st.container(width=HALF):
            widgets.show(
                o_e_chart(found, subject.style),
                "monitoring-o-e",
                f"All rows up to each batch: {wording.observed_label} over {wording.mean_label}. The band "
                "holds the true ratio at all times together with a probability of 95\u00a0%.",
            )
    return found


def _batches(given: NewData, answer: Checked, n_batches: int) -> None:
    """Describe the batches, and how to have others."""
    n = len(answer.check.evaluation)
    timed = answer.times is not None
    columns = answer.columns
    with st.container(horizontal=True, vertical_alignment="bottom"):
        if columns:
            options = [FILE_ORDER, *columns]
            now = answer.time_column if timed else FILE_ORDER
            picked = st.selectbox(
                "Batches by",
                options,
                index=options.index(now),
                format_func=lambda name: literal(name, 30),
                key=f"monitoring/times/{given.mark}/{now}",
                width=280,
            )
            if picked != now:
                read_with(given, {"times": "" if picked == FILE_ORDER else picked})
        if not timed:
            st.number_input(
                "Rows in a batch",
                1,
                max(n, 1),
                default_size(n),
                key=f"{SIZE}/{given.mark}",
                width=160,
            )
    clustered = ""
    if answer.check.evaluation.clusters is not None:
        clustered = " The test takes rows of a cluster as independent, and so raises more false alarms than 5\u00a0%."
    said = (
        "weeks, days or numbers of the chosen column" if timed else "rows in the order of the file"
    )
    st.caption(
        f"{plural(n_batches, 'batch', 'batches')}: {said}. The order must not depend on the outcomes: rows whose "
        f"labels come late enter when the labels are known.{clustered}"
    )
