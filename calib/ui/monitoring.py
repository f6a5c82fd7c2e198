"""Parts of the Monitoring page: calibrator and new data, the verdict or what to expect, and a test over time."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import streamlit as st

from calib.canonical import KINDS
from calib.data import Choices, LoadOptions
from calib.data.loading import APART
from calib.data.options import FILES, FORMATS
from calib.diagnostics.new_rows import NewRowsCheck, check_new_rows, sentences
from calib.diagnostics.sequential_tests import SequentialTests, tests_over_time
from calib.diagnostics.shift import CalibrationShift, off, recorded_scores, verdict
from calib.diagnostics.shift_data import NewRows, read_new_rows, read_uploaded
from calib.engine import Data
from calib.errors import CalibrationError
from calib.evaluation import SCORES, Evaluation
from calib.evaluation.compare import SAME_DATA
from calib.export import provenance
from calib.export.runtime import ExportedCalibrator
from calib.formatting import escape_markdown, plural, signed
from calib.metrics.bootstrap import Interval
from calib.plots.monitoring import confidence_drift, e_value_chart, o_e_chart
from calib.plots.reliability import common_limits, explain_diagram, reliability_diagram, usual_scale
from calib.plots.style import Style, method_style
from calib.registry import METHODS
from calib.ui import widgets
from calib.ui.compare.recommendation import recommended
from calib.ui.data import roles
from calib.ui.data.upload import show_limits
from calib.ui.data.view import chosen_fix, show_finding
from calib.ui.export import remembering
from calib.ui.fits import judged_fits, ready
from calib.ui.progress import fit_here
from calib.ui.server.memory import admit
from calib.ui.server.uploads import StoredUpload, all_results, uploader
from calib.ui.session import OpenSession, Reading, find_visitor
from calib.ui.text import interval_cell, literal, show_notes
from calib.ui.widgets import HALF, draw_table, show_table

UPLOADED = "an exported calibrator"
FIXES = "monitoring/fixes"


@dataclass(frozen=True, eq=False)
class Subject:
    """The calibrator that is checked, and what is known of the rows it was judged on.

    Attributes
    ----------
    key : tells it from every other.
    before : its verdict on the test rows, or recorded scores with their intervals, or None.
    data_sha256 : of the data it was fitted on, where that is known.
    record : what an uploaded file says of itself, in a sentence.
    """

    key: str
    title: str
    exported: ExportedCalibrator
    style: Style
    before: Evaluation | dict[str, Interval] | None
    n_before: int | None
    data_sha256: str
    record: str = ""


def choose_calibrator(session: OpenSession | None) -> Subject | None:
    """One of the finished fits, to begin with what Export offers, or an exported calibrator from its npz."""
    fits = [] if session is None else judged_fits(session)
    calibrators = fits[1:]
    titles = {fit.key: fit.title for fit in calibrators}
    chosen = UPLOADED
    if calibrators:
        offered = {**titles, UPLOADED: UPLOADED}
        chosen = widgets.choose_option(
            offered, "monitoring/calibrator", "Calibrator", recommended(fits)[1].key, style="list"
        )
    if session is None or chosen == UPLOADED:
        if session is not None and not calibrators:
            fit_here(
                "temperature",
                "No calibrator is fitted to the open data; one that was exported will do as well.",
            )
        return _uploaded()
    fit = next(fit for fit in calibrators if fit.key == chosen)
    exported = provenance.exported(remembering(session, fit), {"view": session.view.name})
    judged = fit.evaluation
    about = fit.key, fit.title, exported, fit.style
    return Subject(*about, judged, len(judged), session.data.sha256)


def _uploaded() -> Subject | None:
    file = uploader(
        "Exported calibrator: its npz, or the bundle",
        "monitoring/files",
        "From the Export page. It is read as data and nothing in it is executed; pickles are not read.",
    )
    if file is None:
        return None
    key = file.file_id
    read = partial(read_uploaded, (file.filename, file), isolate=APART)
    exported: ExportedCalibrator = file.once(key, read)
    before, n_before = recorded_scores(exported.metadata)
    about = key, METHODS[exported.method].title, exported, method_style(exported.method)
    sha256 = str(exported.metadata.get("data_sha256") or "")
    return Subject(*about, before or None, n_before, sha256, record_sentence(exported))


def record_sentence(exported: ExportedCalibrator) -> str:
    """Describe the calibrator in a file: its method, its classes, its data and its day, as far as they are recorded."""
    classes = plural(exported.n_classes, "class", "classes")
    text = f"The file holds **{METHODS[exported.method].title}** for {classes}"
    if data := exported.metadata.get("data_name"):
        text += f", fitted on {literal(str(data))}"
    if day := exported.metadata.get("exported_on"):
        text += f", exported on {literal(str(day), 10)}"
    return f"{text}."


@dataclass(frozen=True, eq=False)
class NewData:
    """Files with new rows and how to read them.

    Attributes
    ----------
    key : tells the files, the choices and the calibrator from all others.
    mark : tells the files from others.
    main : the file of the outputs, which holds what was made of it.
    options : the other files, and choices made by hand or by clicking a finding's fix.
    """

    key: tuple[Any, ...]
    mark: tuple[str, ...]
    main: StoredUpload
    options: LoadOptions


def choose_new_data(subject: Subject) -> NewData | None:
    """Let the visitor give new rows; None until they are there. The rows stay in the uploads."""
    kind = KINDS[subject.exported.kind]
    main = uploader(
        f"New outputs of the same model ({kind}): {FORMATS}",
        "monitoring/new-data",
        "With labels, calibration is tested; a column of dates or of week numbers is followed from batch to batch. "
        "Without labels, the performance to be expected is estimated.",
    )
    show_limits()
    choices = Choices()
    with st.expander("Labels in a separate file, and how to read them"):
        labels = uploader(FILES["labels"], "monitoring/labels")
        if st.toggle(f"Read the outputs as {kind}, whatever they look like", key="monitoring/kind"):
            choices = Choices(kind=subject.exported.kind)
    if main is None:
        return None
    mark = tuple(file.file_id for file in (main, labels) if file is not None)
    choices = replace(choices, **_fixes(mark))
    of_labels = None if labels is None else (labels.filename, labels)
    options = LoadOptions(labels=of_labels, choices=choices, isolate=APART)
    return NewData((subject.key, mark, choices), mark, main, options)


def show_noticed(new: NewRows, new_data: NewData, unread: bool) -> None:
    """Findings on the new rows, each with its one-click fix where there is one, and what was done to them.

    A table that can be read in several ways asks as the Data page does, with the roles of its columns.

    Parameters
    ----------
    unread : whether no rows came of the files.
    """
    reading = Reading(new.inspection, choices=new_data.options.choices)
    if unread and (changes := roles.ask(reading)):
        read_with(new_data, changes)
    for finding in new.noticed:
        if unread and finding.code in roles.ASKED:
            continue
        show_finding(finding)
        if changes := chosen_fix(finding, "monitoring/fix"):
            read_with(new_data, changes)
    show_notes(new.notes)


def read_with(new_data: NewData, changes: Mapping[str, Any]) -> None:
    """Read the files again with these choices, which hold until other files are given."""
    st.session_state[FIXES] = new_data.mark, _fixes(new_data.mark) | dict(changes)
    st.rerun()


def _fixes(mark: tuple[str, ...]) -> dict[str, Any]:
    """Choices that were clicked for these files."""
    of, fixes = st.session_state.get(FIXES, (None, {}))
    return fixes if of == mark else {}


OPENING = 2
"""Sentences: whether it is calibrated now, and what changed since it was judged."""
DIAGRAM_PIXELS = 330
"""Three figures in a row and the menu fill a window of 1500 pixels."""
CPU_SECONDS, CPU_SECONDS_PER_MILLION = 30, 20
"""Most processor time to judge an uploaded calibrator, and for each million outputs; GPcalib, the slowest, takes 8."""


@dataclass(frozen=True, eq=False)
class Checked:
    """A calibrator's verdict on the new rows, and what the file says of them.

    Attributes
    ----------
    key : of the files, how they are read, and the calibrator.
    check : the verdict.
    same_data : whether these are the rows that it was fitted on.
    times : of the rows, where the file says when they were scored.
    """

    key: Hashable
    check: NewRowsCheck
    same_data: bool = False
    times: npt.NDArray[np.str_] | None = None


def checked(subject: Subject, new_data: NewData) -> Checked | None:
    """Read the new rows and judge the calibrator on them, once; of the rows only scores are kept, as long as the file.

    None where the files cannot be read; the findings, which are shown in any case, say why.

    Raises
    ------
    DataError
        If with the rows, or their scores, the visitor would hold too much.
    """
    noticed, result = new_data.main.once(new_data.key, partial(_read, subject, new_data))
    show_noticed(noticed, new_data, unread=result is None)
    return result


def _read(subject: Subject, new_data: NewData) -> tuple[NewRows, Checked | None]:
    """Findings on the new rows, without the rows, and the verdict."""
    with st.spinner("Reading…"):
        source = new_data.main.filename, new_data.main
        new = read_new_rows(subject.exported, source, new_data.options)
    admit(find_visitor(), all_results(), new)
    bare = replace(new, data=None, inspection=replace(new.inspection, predictions=None))
    return bare, _judged(subject, new_data, new)


def _judged(subject: Subject, new_data: NewData, new: NewRows) -> Checked | None:
    data = new.data
    if data is None:
        return None
    rows = Data(f"new rows {new_data.key!r}", {"rows": data})
    what = f"the scores of {plural(len(data), 'new row')}"
    about = subject.exported, subject.before, subject.n_before, new.labelled
    most = CPU_SECONDS + CPU_SECONDS_PER_MILLION * data.logits.size / 1e6 if subject.record else 0.0
    check = ready(
        ("new rows", new_data.key), what, check_new_rows, *about, data=rows, most_seconds=most
    )
    if not new.labelled:
        return Checked(new_data.key, check)
    return Checked(new_data.key, check, new.fitted_on(subject.data_sha256), data.times)


def unlabelled(subject: Subject, result: Checked) -> None:
    """Show the expectation for rows without labels, its assumption, and the shift of the scores."""
    expected = result.check.expected
    assert expected is not None
    texts = sentences(expected, subject.title, result.check.accuracy_before)
    st.markdown(" ".join(texts[:-2]))
    st.warning(texts[-2], icon=":material/warning:")
    st.caption(texts[-1])
    with st.container(width=2 * DIAGRAM_PIXELS):
        drift(subject, result)


def show_verdict(subject: Subject, result: Checked, change: CalibrationShift) -> None:
    """The verdict, and what to do about it."""
    texts = verdict(change, subject.title)
    st.markdown(" ".join(texts[:OPENING]))
    if len(texts) > OPENING:
        st.caption(" ".join(texts[OPENING:]))
    if result.same_data:
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
    has_before = subject.before is not None
    if has_before:
        show_table(table, "score")
    else:
        draw_table(table[["score", "now"]])
    before = (
        f" Before: {plural(change.n_before, 'test row')}." if has_before and change.n_before else ""
    )
    st.caption(
        f"In brackets 95\u00a0% intervals of each number alone. Now: {plural(change.n, 'new row')}.{before}"
        + (
            " The two sets have different rows, so the interval of the change is wider than that of a difference "
            "between methods on the same rows. Significance and the intervals above the table hold for all claims of "
            "this page together, and so are wider."
            if has_before
            else ""
        )
    )


def pictures(subject: Subject, result: Checked) -> None:
    """Reliability before and now on one scale."""
    view = result.check.evaluation.view
    judged = {"before": result.check.before, "now": result.check.now}
    drawn = {
        when: (check.n, check.diagram)
        for when, check in judged.items()
        if check is not None and check.diagram is not None
    }
    diagrams = [diagram for _, diagram in drawn.values()]
    scale = usual_scale(diagrams[-1].curve, view)
    limits = common_limits(diagrams, scale)
    with st.container(horizontal=True, gap="medium"):
        for when, (n, diagram) in drawn.items():
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


def drift(subject: Subject, result: Checked) -> None:
    """The distribution of what is said, before and now, where the one of before is known."""
    before = result.check.before
    now = result.check.now
    view = result.check.evaluation.view
    if before is None:
        return
    st.markdown(f"**{view.wording.predicted_label.capitalize()} before and now**")
    widgets.show(
        confidence_drift(
            before.histogram, now.histogram, subject.style, height=DIAGRAM_PIXELS, view=view
        ),
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


def over_time(subject: Subject, result: Checked) -> None:
    """The test after every batch, in words and as charts, and what the batches are."""
    if result.check.change is None or result.check.change.untold:
        return
    st.subheader("Looked at after every batch")
    _tests(subject, result.check.evaluation, result.key, result.times)


def open_rows_over_time(subject: Subject, session: OpenSession) -> None:
    """The test after every batch of the open test rows, where these have times; nothing else is uploaded."""
    times = session.whole_test.times
    if times is None or not isinstance(subject.before, Evaluation):
        return
    column = next((role.column for role in session.data.roles if role.role == "time"), "times")
    st.subheader(f"The test rows in the order of {literal(column)}")
    if subject.before.weights is not None:
        st.caption("The test after every batch takes no weights, and these rows have some.")
        return
    try:
        _tests(subject, subject.before, subject.key, times)
    except CalibrationError as error:  # too many batches
        st.caption(escape_markdown(str(error)))


def _tests(
    subject: Subject, evaluation: Evaluation, key: Hashable, times: npt.NDArray[np.str_] | None
) -> None:
    """Draw the test after every batch, in words and as charts."""
    what = "the test after every batch"
    tests: SequentialTests = ready(
        ("over time", key), what, tests_over_time, *evaluation.pair, times
    )
    st.markdown(tests.sentence)
    wording = evaluation.view.wording
    with st.container(horizontal=True, gap="medium"):
        with st.container(width=HALF):
            widgets.show(
                e_value_chart(tests, subject.style),
                "monitoring-e-values",
                "An e-value of 20 or more is an alarm. A calibrated model raises one with a probability of at most "
                "5\u00a0%, however often one looks. Values below 1 support calibration.",
            )
        with st.container(width=HALF):
            widgets.show(
                o_e_chart(tests, subject.style),
                "monitoring-o-e",
                f"All rows up to each batch: {wording.observed_label} over {wording.mean_label}. The band "
                "holds the true ratio at all times together with a probability of 95\u00a0%.",
            )
    basis = "weeks, days or numbers of the column of times"
    if times is None:
        basis = "rows in the order of the file, since no column of dates or week numbers was found"
    clustered = ""
    if evaluation.clusters is not None:
        clustered = " The test takes rows of a cluster as independent, and so raises more false alarms than 5\u00a0%."
    st.caption(
        f"{plural(len(tests), 'batch', 'batches')}: {basis}. The order must not depend on the outcomes: rows whose "
        f"labels come late enter when the labels are known.{clustered}"
    )
