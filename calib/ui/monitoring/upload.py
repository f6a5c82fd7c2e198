"""Inputs of the Monitoring page: a calibrator, new data with or without labels, and how they are read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import streamlit as st

from calib.canonical import KINDS
from calib.data import Choices, LoadOptions
from calib.data.loading import APART
from calib.data.options import FORMATS
from calib.diagnostics.shift import recorded_scores
from calib.diagnostics.shift_data import NewRows, read_uploaded
from calib.evaluation import Evaluation
from calib.export import provenance
from calib.export.runtime import ExportedCalibrator
from calib.formatting import listed, plural
from calib.metrics.bootstrap import Interval
from calib.plots.style import Style, method_style
from calib.registry import METHODS
from calib.ui import widgets
from calib.ui.compare.answer import recommended
from calib.ui.data import roles
from calib.ui.data.upload import file_uploader, show_limits
from calib.ui.data.view import chosen_fix, show_finding
from calib.ui.export import remembering
from calib.ui.fits import shown_fits
from calib.ui.progress import fit_here
from calib.ui.server.uploads import StoredUpload, uploader
from calib.ui.session import OpenSession, Reading
from calib.ui.text import literal, show_notes

UPLOADED = "an exported calibrator"
FIXES = "monitoring/fixes"
MOST_NAMES = 5
"""Classes that are named; of more, the first ones and the last."""


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
    fits = [] if session is None else shown_fits(session)
    shown = fits[1:]
    titles = {fit.key: fit.title for fit in shown}
    chosen = UPLOADED
    if shown:
        offered = {**titles, UPLOADED: UPLOADED}
        chosen = widgets.one(
            offered, "monitoring/calibrator", "Calibrator", recommended(fits)[1].key, style="list"
        )
    if session is None or chosen == UPLOADED:
        if session is not None and not shown:
            fit_here(
                "temperature",
                "No calibrator is fitted to the open data; one that was exported will do as well.",
            )
        return _uploaded()
    fit = next(fit for fit in shown if fit.key == chosen)
    exported = provenance.exported(remembering(session, fit), {"view": session.view.name})
    return Subject(
        fit.key,
        fit.title,
        exported,
        fit.style,
        fit.evaluation,
        len(fit.evaluation),
        session.data.sha256,
    )


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
    title = METHODS[exported.method].title
    sha256 = exported.metadata.get("data_sha256")
    look = method_style(exported.method)
    known = str(sha256 or "")
    return Subject(
        key, title, exported, look, before or None, n_before, known, record_sentence(exported)
    )


def record_sentence(exported: ExportedCalibrator) -> str:
    """Describe the calibrator in a file: its method, its classes, its data and its day, as far as they are recorded."""
    names = [literal(str(name), 20) for name in exported.class_names]
    few = (
        listed(names)
        if len(names) <= MOST_NAMES
        else f"{', '.join(names[: MOST_NAMES - 1])}, …, {names[-1]}"
    )
    classes = plural(exported.n_classes, "class", "classes")
    text = f"The file holds **{METHODS[exported.method].title}** for {classes} ({few})"
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
    labelled : False where the visitor says that the rows have no labels; None leaves it to the file.
    """

    key: tuple[Any, ...]
    mark: tuple[str, ...]
    main: StoredUpload
    options: LoadOptions
    labelled: bool | None = None


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
    others: dict[str, StoredUpload | None] = {}
    choices = Choices()
    with st.expander("Labels or features in separate files, and how to read them"):
        others["labels"] = file_uploader("labels", "monitoring")
        if subject.exported.needs_features:
            others["features"] = file_uploader("features", "monitoring")
        if st.toggle(f"Read the outputs as {kind}, whatever they look like", key="monitoring/kind"):
            choices = Choices(kind=subject.exported.kind)
        without = st.toggle(
            "These rows have no labels, whatever the file holds", key="monitoring/unlabelled"
        )
    if main is None:
        return None
    files = {role: file for role, file in others.items() if file is not None}
    mark = tuple(file.file_id for file in (main, *files.values()))
    choices = replace(choices, **_fixes(mark))
    sources: dict[str, Any] = {role: (file.filename, file) for role, file in files.items()}
    options = LoadOptions(**sources, choices=choices, isolate=APART)
    labelled = False if without else None
    return NewData((subject.key, mark, choices, labelled), mark, main, options, labelled)


def show_noticed(new: NewRows, given: NewData, unread: bool) -> None:
    """Findings on the new rows, each with its one-click fix where there is one, and what was done to them.

    A table that can be read in several ways asks as the Data page does, with the roles of its columns.

    Parameters
    ----------
    unread : whether no rows came of the files.
    """
    reading = Reading(new.inspection, choices=given.options.choices)
    if unread and (changes := roles.ask(reading)):
        read_with(given, changes)
    for finding in new.noticed:
        if unread and finding.code in roles.ASKED:
            continue
        show_finding(finding)
        if changes := chosen_fix(finding, "monitoring/fix"):
            read_with(given, changes)
    if unread and (changes := roles.choosers(reading)):
        read_with(given, changes)
    show_notes(new.notes)


def read_with(given: NewData, changes: Mapping[str, Any]) -> None:
    """Read the files again with these choices, which hold until other files are given."""
    st.session_state[FIXES] = given.mark, _fixes(given.mark) | dict(changes)
    st.rerun()


def _fixes(mark: tuple[str, ...]) -> dict[str, Any]:
    """Choices that were clicked for these files."""
    of, fixes = st.session_state.get(FIXES, (None, {}))
    return fixes if of == mark else {}
