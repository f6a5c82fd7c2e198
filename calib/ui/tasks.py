"""Tasks of an upload with several problems: their table, worst first, and the way from one to the next."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import CancelledError, Future
from dataclasses import dataclass
from functools import partial
from typing import Any

import pandas as pd
import streamlit as st

from calib.data import Choices, DataError
from calib.data.guess.files import SOURCE
from calib.data.loading import APART, in_a_reader
from calib.data.names import tokens
from calib.data.words import JUDGE
from calib.engine import Data
from calib.errors import CalibrationError
from calib.formatting import (
    escape_markdown,
    listed,
    number,
    percent,
    plural,
    points,
    points_between,
    round_percent,
    safe_table,
)
from calib.plots.numbered import numbered_scores_chart
from calib.tasks import Tasks, tasks_of
from calib.tasks.audit import TaskAudit, judge_tasks
from calib.tasks.fits import FittedTask, FittedTasks, fit_task
from calib.tasks.judge import JudgedRows, judge_sentences, read_judge
from calib.tasks.numbered import NumberedScores
from calib.tasks.shapes import scorer_columns
from calib.tasks.thresholds import TaskThresholds
from calib.ui import progress, widgets
from calib.ui.fits import compute, queue, ready
from calib.ui.link import open_data
from calib.ui.ready import awaited, request
from calib.ui.server.memory import admit
from calib.ui.session import OpenSession, Reading, Upload, find_session, find_visitor, once_for
from calib.ui.text import add_notice, literal

SEVERAL = ("ambiguous", "several_models", "sums")
"""Findings of files that may hold several problems."""
TARGETS = (0.8, 0.9, 0.95, 0.99)
"""Accuracies for which thresholds are certified."""
TASKS = "calib_tasks"
"""The tasks of the upload read last, in Streamlit's session state; None for an upload that has none."""
JUDGED = "calib_judged"
"""Verdicts and labels of the upload read last, in Streamlit's session state; None for an upload without a judge."""
FITS = "calib_task_fits"
"""Fits of all tasks of the upload read last, in Streamlit's session state."""
BUNDLE = "calib_task_bundle"
"""Their bundle, in Streamlit's session state."""
DELTA = 0.05
"""Probability with which a threshold of the bundle does not hold."""
CHOSEN = "tasks/chosen"
SWITCH = "tasks/switch"
HOW_TO_READ = (
    "Each line is one score of the models, lower is better; bands are 95\u00a0% intervals. A model whose error falls "
    "while its NLL or ECE rises becomes more accurate and less calibrated."
)
HEIGHT = 460
"""Pixels of the table at most; more tasks scroll."""
WIDTHS = {
    "Stated": 62,
    "Observed": 76,
    "ECE": 60,
    "Rows": 60,
    "Threshold": 80,
    "Answered": 78,
    "Note": 235,
}
"""Pixels of columns."""


@dataclass(frozen=True, eq=False)
class OpenTasks:
    """Judgement of the tasks of an upload, without their rows.

    Attributes
    ----------
    upload : files that they are read from again when one is opened.
    name : of the file.
    summary : their number, kind and rows in words.
    certain : whether names leave no doubt that there are several problems.
    audit : one row a task.
    thresholds : for each of TARGETS.
    models : scores of models that a number orders; None for other tasks.
    """

    upload: Upload
    name: str
    summary: str
    certain: bool
    audit: TaskAudit
    thresholds: tuple[TaskThresholds, ...]
    models: NumberedScores | None

    @property
    def judged(self) -> list[str]:
        """Names of the tasks that can be opened, worst first."""
        return [row.task for row in self.audit if not row.reason]


def marks(upload: Upload) -> tuple[object, ...]:
    """Identify the files of an upload."""
    return tuple((role, id(file)) for role, (_, file) in upload.items())


def find_tasks(reading: Reading) -> OpenTasks | None:
    """Tasks of an upload that may hold several problems; read and judged once."""
    inspection = reading.inspection
    if inspection is None or SOURCE not in reading.upload:
        return None
    codes = {finding.code for finding in inspection.findings} & {*SEVERAL}
    if not codes and not several_scorers(reading):
        return None
    return once_for(marks(reading.upload), TASKS, partial(_judged, reading.upload))


def several_scorers(reading: Reading) -> bool:
    """Return whether an upload is an evaluation log with several scorers."""
    inspection = reading.inspection
    return inspection is not None and len(scorer_columns(inspection.rows)) > 1


def _judged(upload: Upload) -> OpenTasks | None:
    """Read the tasks in a reader and judge them in a worker."""
    visitor = find_visitor()
    if visitor is None:
        return None
    try:
        tasks = _read(upload)
    except DataError:
        return None
    if len(tasks) + len(tasks.reasons) < 2:
        return None
    what = f"the audit of {plural(len(tasks), 'task')}"
    start = partial(compute, visitor, judge_tasks, tasks, TARGETS)
    audit, thresholds, models = awaited(visitor, ("tasks", marks(upload)), what, start)
    count = len(tasks) + len(tasks.reasons)
    summary = f"{plural(count, tasks.kind[:-1], tasks.kind)} over {plural(tasks.n_rows, 'row')}"
    certain = tasks.kind != "models" or all(data.kind == "pairs" for data in tasks.values())
    return OpenTasks(upload, upload[SOURCE][0], summary, certain, audit, thresholds, models)


def _read(upload: Upload) -> Tasks:
    for _, file in upload.values():
        file.seek(0)
    labels = upload.get("labels")
    tasks = tasks_of(upload[SOURCE], labels=labels, isolate=APART)  # type: ignore[arg-type]
    admit(find_session(), dict(tasks.predictions))
    return tasks


def draw(tasks: OpenTasks) -> None:
    """The table of tasks, with the choice of one to open and the thresholds to take away."""
    off = tasks.audit.miscalibrated
    verdict = f"{listed([literal(name) for name in off])} off" if off else "none significantly off"
    st.header(f"{tasks.summary}: {verdict}", anchor=False)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        if tasks.judged:
            name = st.selectbox("Task", tasks.judged, key=CHOSEN, width=260)
            st.button(
                "Open",
                key="tasks/open",
                type="primary",
                icon=":material/arrow_forward:",
                on_click=open_task,
                args=(name,),
            )
        target = st.selectbox(
            "Target accuracy",
            TARGETS,
            index=1,
            format_func=round_percent,
            key="tasks/target",
            width=160,
            help=(
                "Answers at or above the threshold have at least this accuracy. All thresholds hold together with "
                "95\u00a0%."
            ),
        )
        thresholds = tasks.thresholds[TARGETS.index(target)]
        widgets.offer(
            "Thresholds",
            thresholds.to_json(),
            "thresholds.json",
            "tasks/thresholds",
            icon=":material/download:",
        )
    draw_fits(tasks, target)
    frame = table(tasks.audit, thresholds)
    widest = float(frame["size"].max()) if len(frame) else 1.0
    columns = {
        "task": st.column_config.TextColumn("Task", pinned=True, width=95),
        "gap": st.column_config.NumberColumn(
            "Gap, points", width=90, help="Stated minus observed."
        ),
        "interval": st.column_config.TextColumn(
            "Interval", width=96, help="The intervals of all tasks hold together with 95\u00a0%."
        ),
        "size": st.column_config.ProgressColumn(
            "Size", min_value=0.0, max_value=max(widest, 1e-9), format=" ", width=45
        ),
        "Lacks": st.column_config.NumberColumn(
            width=60, help="Labels still needed for a threshold."
        ),
        **{name: st.column_config.Column(width=width) for name, width in WIDTHS.items()},
    }
    height = min(HEIGHT, 38 + 35 * len(frame))
    cells = safe_table(frame).style.format({"gap": format_gap, "Lacks": "{:,.0f}"}, na_rep="")
    looks = {"column_config": columns, "height": height, "placeholder": ""}
    widgets.draw_table(cells, key="tasks/table", **looks)
    if tasks.models is not None:
        widgets.show(numbered_scores_chart(tasks.models), "tasks/numbered", HOW_TO_READ)


def format_gap(gap: Any) -> str:
    """Format a gap that is in points already."""
    return points(gap / 100)


def draw_fits(open_tasks: OpenTasks, target: float) -> None:
    """The button that fits every task; then how far that is with the button that stops it; then the bundle."""
    mark = marks(open_tasks.upload), target
    state: tuple[object, dict[str, Future[FittedTask]]] = st.session_state.get(FITS, (None, {}))
    if state[0] != mark:
        st.button(
            "Fit all",
            key="tasks/fit",
            icon=":material/play_arrow:",
            on_click=fit_all,
            args=(open_tasks, target),
            help="A calibrator for each task on half of its rows; the other half certifies its threshold.",
        )
        return
    progress.follow(partial(_running, state[1]), partial(_draw_progress, mark, state[1]))


def fit_all(open_tasks: OpenTasks, target: float) -> None:
    """Have workers fit the tasks side by side; fits for another target end."""
    visitor = find_visitor()
    if visitor is None:
        return
    cancel_fits()
    try:
        tasks = _read(open_tasks.upload)
    except DataError as error:
        add_notice(str(error), "error")
        return
    mark = marks(open_tasks.upload), target
    futures = {}
    for name, data in tasks.items():
        rows = Data(f"task {visitor.visitor} {data.identified().sha256}", {"predictions": data})
        start = partial(
            queue().compute,
            fit_task,
            "auto",
            target,
            DELTA / len(tasks),
            data=rows,
            owner=visitor.visitor,
            kind="slow",
        )
        futures[name] = request(visitor, ("task fit", mark, name), start)
    st.session_state[FITS] = mark, futures


def cancel_fits() -> None:
    """Stop the fits of tasks."""
    for future in st.session_state.pop(FITS, (None, {}))[1].values():
        future.cancel()


def _running(futures: Mapping[str, Future[FittedTask]]) -> bool:
    return not all(future.done() for future in futures.values())


def _draw_progress(mark: object, futures: Mapping[str, Future[FittedTask]]) -> None:
    done = sum(future.done() for future in futures.values())
    if done < len(futures):
        text = f"{done} of {plural(len(futures), 'task')} fitted"
        progress.bar(done / len(futures), text, "tasks/cancel", cancel_fits)
        return
    content, note = once_for(mark, BUNDLE, partial(_bundle, futures))
    if content:
        icon = ":material/inventory_2:"
        widgets.offer("Calibrators", content, "tasks.zip", "tasks/bundle", icon=icon)
    st.caption(escape_markdown(note))


def _bundle(futures: Mapping[str, Future[FittedTask]]) -> tuple[bytes, str]:
    """Bundle of the tasks that were fitted, and a sentence on them and on the others."""
    fits, reasons = {}, {}
    for name, future in futures.items():
        try:
            fits[name] = future.result()
        except (CalibrationError, CancelledError) as error:
            reasons[name] = str(error) or "stopped"
    failed = "".join(f" {name} has none: {reason}" for name, reason in reasons.items())
    if not fits:
        return b"", f"No task was fitted.{failed}"
    certified = sum(fit.calibrator.decision is not None for fit in fits.values())
    note = f"{plural(len(fits), 'calibrator')}, {certified} with a threshold of the calibrated confidence.{failed}"
    return FittedTasks(fits, reasons).to_bytes(), note


def table(audit: TaskAudit, thresholds: TaskThresholds) -> pd.DataFrame:
    """One row a task, worst first, in words for people."""
    certified = {row.task: row for row in thresholds}
    rows = []
    for row in audit:
        threshold = certified[row.task]
        judged = not row.reason
        cells: dict[str, object] = {
            "task": row.task,
            "gap": None,
            "interval": "",
            "size": abs(row.gap.value) if judged else 0.0,
            "Stated": percent(row.stated) if judged else "",
            "Observed": percent(row.observed) if judged else "",
            "ECE": number(row.ece) if judged else "",
            "Rows": row.rows,
            "Threshold": "" if threshold.threshold is None else number(threshold.threshold),
            "Answered": "" if threshold.coverage is None else percent(threshold.coverage),
            "Lacks": threshold.labels_missing,
            "Note": row.reason or threshold.reason,
        }
        if judged:
            cells["gap"] = 100 * row.gap.value
            cells["interval"] = points_between(row.gap.low, row.gap.high, sign=False)
        rows.append(cells)
    return pd.DataFrame(rows)


def open_task(name: str) -> None:
    """Make a task of the upload the open data set."""
    tasks: OpenTasks = st.session_state[TASKS][1]
    try:
        data = _read(tasks.upload)[name]
        opened = OpenSession.from_data(data, reading=Reading(upload=tasks.upload))
        admit(opened)
    except DataError as error:
        add_notice(str(error), "error")
        return
    open_data(opened)


def switch(session: OpenSession) -> None:
    """At the foot of the menu, the open task and the way to another one."""
    state: tuple[object, OpenTasks | None] = st.session_state.get(TASKS, (None, None))
    tasks = state[1]
    if tasks is None or session.reading.upload is not tasks.upload:
        return
    if session.data.name not in tasks.judged:
        return
    name = session.data.name
    key = f"{SWITCH}/{name}"  # of the open task: pages must not take another one's choice over
    st.selectbox(
        f"Task of {literal(tasks.name, 30)}",
        tasks.judged,
        tasks.judged.index(name),
        key=key,
        on_change=lambda: open_task(st.session_state[key]),
    )


def show_judge(reading: Reading | None) -> None:
    """Say the rate of a judge, corrected by people's labels of some rows, where an upload holds both."""
    rows = None if reading is None else _judged_rows(reading)
    if reading is None or rows is None:
        return
    key = ("judge", marks(reading.upload))
    sentences = ready(key, "the corrected rate", judge_sentences, rows)
    st.info(escape_markdown(" ".join(sentences)), icon=":material/gavel:")


def _judged_rows(reading: Reading) -> JudgedRows | None:
    """Rows of an upload with a judge's column; read once."""
    inspection = reading.inspection
    if inspection is None or SOURCE not in reading.upload:
        return None
    if not any(JUDGE & {*tokens(name)} for name in inspection.rows):
        return None
    return once_for(marks(reading.upload), JUDGED, partial(_read_judge, reading.upload))


def _read_judge(upload: Upload) -> JudgedRows | None:
    source = upload[SOURCE]
    source[1].seek(0)
    try:
        return in_a_reader(read_judge, source, Choices()) if APART else None
    except DataError:
        return None
