"""Open a sample or an upload, with its limits, and the form that changes what was inferred about it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pandas as pd
import streamlit as st

from calib.canonical import KINDS
from calib.data import Choices, DataError, Inspection, inspect, limits
from calib.data.findings import InvalidUpload
from calib.data.guess.files import SOURCE, Looked, look_at, roles_of_files
from calib.data.limits import megabytes
from calib.data.load import APART, in_a_reader
from calib.data.options import COLUMNS, FEATURE_FILES, FILES, FORMATS, NOTHING, OPTIONS, SWITCH, TEXT
from calib.data.samples import SAMPLES, load_sample
from calib.data.scales import SCALES, in_words
from calib.settings import limit
from calib.store.saving import keeper
from calib.ui.data import roles
from calib.ui.link import open_data, private
from calib.ui.server.memory import MOST_OF_ONE, admit
from calib.ui.server.uploads import LARGEST, StoredUpload, uploader
from calib.ui.server.uploads import uploaders as several_files
from calib.ui.session import FROM_THE_TOP, REJECTED, OpenSession, Reading, Upload, find_session
from calib.ui.text import add_notice, literal
from calib.ui.widgets import draw_table

ROW_OF_1000 = 8 * 1000
"""Bytes of a row of 1,000 classes in float64."""

SWITCHES = tuple(name for name, option in OPTIONS.items() if option["type"] is SWITCH and option["title"])
ARRAYS = tuple(name for name, option in OPTIONS.items() if option["type"] in (COLUMNS, TEXT) and option["title"])
LOOKED = "upload/looked"
"""The files that were looked at and what they are probably given for, in Streamlit's session state."""
FILE_WIDTH = 320
"""Pixels of the choice what a file is."""


def show_limits() -> None:
    """How files are kept, and all limits a click away."""
    kept = "Nothing is kept on disk." if not _kept() or private() else f"Deleted {_kept()}."
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption(f"Never run as code. {kept}", width="content")
        with st.popover("All limits", icon=":material/straighten:", type="tertiary"):
            rows = "\n".join(f"| {what} | {most} |" for what, most in _limits().items())
            st.markdown(f"| Of | At most |\n|:--|:--|\n{rows}")
            st.caption("From a shell, `python -m calib fit FILE` draws random rows of a file of any size.")


def _kept() -> str:
    """For how long, in words; empty where this server keeps nothing."""
    store = keeper()
    return "" if store is None else f"{store.max_days:g} days after the last use"


def _limits() -> dict[str, str]:
    store = keeper()
    uploads = megabytes(int(limit("CALIB_UPLOADS_GB") * 1e9))
    rows = limits.MAX_BYTES // ROW_OF_1000
    return {
        "A file": f"{LARGEST:,} MB",
        "A text table, unpacked": megabytes(limits.MAX_TEXT),
        "All arrays of an upload": f"{megabytes(limits.MAX_BYTES)}, such as {rows:,} rows of 1,000 classes in float64",
        "Rows": f"{limits.MAX_ROWS:,}",
        "Classes": f"{limits.MAX_CLASSES:,}",
        "Arrays or columns in a file": f"{limits.MAX_ARRAYS:,}",
        "Your data, fits and figures in memory": megabytes(MOST_OF_ONE),
        "Your uploaded files": f"{megabytes(MOST_OF_ONE)}, and {uploads} of all visitors on their way",
        "Your fits that wait for a worker": f"{limit('CALIB_WAITING'):,.0f}",
        "What is kept on disk": "nothing"
        if store is None
        else f"{_kept()}, and {megabytes(store.max_bytes)} of all visitors",
    }


def gallery() -> None:
    """The samples, each one click from its result; what each shows is told by a pointer on it."""
    with st.grid(2, min_column_width=230, gap="xsmall"):
        for sample in SAMPLES.values():
            st.button(
                sample.title, key=f"sample/{sample.name}", width="stretch", on_click=open_sample, args=(sample.name,),
                help=f"{sample.description} {sample.look_for}",
            )  # fmt: skip


def open_sample(name: str) -> None:
    """Make a sample the open data set."""
    data = load_sample(name)
    open_data(OpenSession.from_data(data, sample=name))


def uploaders() -> None:
    """The uploader, which takes several files at once, and what each of them is given for."""
    files = several_files(
        f"Outputs and labels, in one file or in several: {FORMATS}", "upload/main",
        help="A table with the probability of an event and whether it happened, or arrays of shape (rows, classes) "
        "with labels: logits, probabilities or log-probabilities. Labels, a test set, and features (rows of numbers, "
        "or images with a training set as train_features and train_labels) may lie in files of their own.",
    )  # fmt: skip
    show_limits()
    given = files_by_role(files)
    if SOURCE not in given:
        return
    mark = tuple((role, file.file_id) for role, file in given.items())
    if st.session_state.get("upload/read") != mark:
        st.session_state["upload/read"] = mark
        with st.spinner("Reading…"):
            read_first({role: (file.filename, file) for role, file in given.items()})
        st.rerun()


def files_by_role(files: Sequence[StoredUpload]) -> dict[str, StoredUpload]:
    """The files by what they are given for; of several ones that is proposed, and can be changed."""
    if len(files) < 2:
        return dict(zip([SOURCE], files, strict=False))
    mark = tuple(file.file_id for file in files)
    if st.session_state.get(LOOKED, (None,))[0] != mark:
        st.session_state[LOOKED] = mark, proposed_roles(files)
    proposed = st.session_state[LOOKED][1]
    titles = {SOURCE: "Model outputs", **FILES, NOTHING: "Left aside"}
    given: dict[str, StoredUpload] = {}
    st.markdown("**What each file is.** Change it where it is wrong.")
    with st.container(horizontal=True):
        for file, role in zip(files, proposed, strict=True):
            chosen = st.selectbox(
                literal(file.filename, 40), list(titles), list(titles).index(role), format_func=titles.__getitem__,
                key=f"upload/role/{len(files)}/{file.file_id}", width=FILE_WIDTH,
            )  # fmt: skip
            if chosen in given:
                st.warning(f"Two files are given as {titles[chosen]}: {literal(given[chosen].filename)} is read.")
            elif chosen:
                given[chosen] = file
    if SOURCE not in given:
        st.warning("None of the files holds the model outputs. Say which one does.")
    return {role: given[role] for role in titles if role in given}


def proposed_roles(files: Sequence[StoredUpload]) -> tuple[str, ...]:
    """What each of several files is probably given for; all but the first few are left aside."""
    most = files[: 1 + len(FILES)]
    sources: tuple[Any, ...] = tuple((file.filename, file) for file in most)
    try:
        looked = in_a_reader(look_at, sources) if APART else look_at(sources)
    except (DataError, InvalidUpload):  # a file ended its reader, which is said when it is read
        looked = tuple(Looked(file.filename, None, "") for file in most)
    for file in most:
        file.seek(0)
    session = find_session()
    opened = [] if session is None else [file for _, file in session.reading.upload.values()]
    n_read = sum(any(file is one for one in opened) for file in most)
    return (*roles_of_files(looked, n_read), *[NOTHING] * (len(files) - len(most)))


def file_uploader(role: str, page: str = "upload") -> StoredUpload | None:
    """The place for one of the files beside the outputs."""
    return uploader(FILES[role], f"{page}/{role}")


def read_first(upload: Upload) -> None:
    """Read files that were just uploaded; a table with the columns of an earlier one takes the roles chosen for it."""
    reading = Reading(_inspect(upload, Choices()), upload)
    if known := roles.remembered(reading):
        choices = Choices(**known)
        again = _inspect(upload, choices)
        if again.predictions is not None:
            reading = Reading(again, upload, choices)
            add_notice("This table has the columns of an earlier one and was read with the roles chosen for that.")
    take(reading)


def read(upload: Upload, choices: Choices) -> None:
    """Read uploaded files with the given choices and open what they hold, or keep the findings that say why not."""
    take(Reading(_inspect(upload, choices), upload, choices))


def _inspect(upload: Upload, choices: Choices) -> Inspection:
    return inspect(choices=choices, isolate=APART, **upload)  # type: ignore[arg-type]


def take(reading: Reading) -> None:
    """Open what was read, or keep the findings that say why it cannot be."""
    inspection = reading.inspection
    assert inspection is not None
    st.session_state[FROM_THE_TOP] = True
    if inspection.predictions is None:
        # What was open before stays open with its fits; only the findings are those of the new files.
        st.session_state[REJECTED] = reading
        return
    try:
        opened = OpenSession.from_data(inspection.predictions, reading=reading)
    except DataError as error:  # too few clusters to split
        findings = (*error.findings, *inspection.findings)
        refused = replace(inspection, findings=findings, predictions=None)
        st.session_state[REJECTED] = replace(reading, inspection=refused)
        return
    roles.remember(reading)
    admit(opened)
    open_data(opened)


def read_again(reading: Reading, changed: Mapping[str, Any]) -> None:
    """Read the same files with some other choices."""
    with st.spinner("Reading again…"):
        read(reading.upload, replace(reading.choices, **changed))
    st.rerun()


def last_reading() -> Reading:
    """How the files that were given last were read, also where they could not be opened."""
    session = find_session()
    return st.session_state.get(REJECTED) or (Reading() if session is None else session.reading)


def change_by_hand(reading: Reading) -> None:
    """A folded form with every inferred option filled in; applying it reads the files again."""
    inspection = reading.inspection
    if inspection is None:
        return
    with st.expander("What was inferred, to change by hand", icon=":material/tune:"):
        draw_table(
            pd.DataFrame(
                [{"name": a.name, "shape": "×".join(map(str, a.shape)), "dtype": a.dtype} for a in inspection.arrays]
            ),
            height=min(38 + 35 * len(inspection.arrays), 250),
        )
        with st.form("choices", border=False):
            chosen = _form(inspection)
            if st.form_submit_button("Read again with these choices", icon=":material/refresh:"):
                inferred = inspection.choices
                read_again(reading, {k: v for k, v in chosen.items() if v != getattr(inferred, k)})


def _form(inspection: Inspection) -> dict[str, Any]:
    inferred = inspection.choices
    names = [array.name for array in inspection.arrays]
    chosen: dict[str, Any] = {}
    columns = st.columns(3)
    # The columns of a table have their form: see :func:`calib.ui.data.roles.choosers`.
    in_files = not inspection.rows or len({array.file for array in inspection.arrays}) > 1
    for i, name in enumerate(ARRAYS if in_files else ()):
        with columns[i % 3]:
            chosen[name] = _columns(name, names, getattr(inferred, name))
    with columns[0]:
        kinds = [None, *KINDS]
        chosen["kind"] = st.selectbox(
            OPTIONS["kind"]["title"],
            kinds,
            kinds.index(inferred.kind),
            format_func=lambda kind: KINDS.get(kind, "inferred"),
        )
        scales = list(dict.fromkeys([None, *SCALES, inferred.scale]))
        chosen["scale"] = st.selectbox(
            OPTIONS["scale"]["title"],
            scales,
            scales.index(inferred.scale),
            format_func=lambda scale: "inferred" if scale is None else in_words(scale),
        )
        chosen["floor"] = st.number_input(
            OPTIONS["floor"]["title"], 0.0, 1.0, inferred.floor, format="%.3g",
            help="Half the smallest positive probability of the upload unless you say otherwise.",
        )  # fmt: skip
    with columns[1]:
        title = OPTIONS["class_names"]["title"]
        text = st.text_area(title, "\n".join(inferred.class_names or ()), height=120)
        chosen["class_names"] = tuple(line.strip() for line in text.splitlines() if line.strip()) or None
        if inferred.verbal:
            text = st.text_area(OPTIONS["verbal"]["title"], "\n".join(inferred.verbal), height=120)
            chosen["verbal"] = tuple(line.strip() for line in text.splitlines() if line.strip())
        if inferred.label_values is not None:
            chosen["label_values"] = _label_values(inferred.label_values)
    with columns[2]:
        for name in SWITCHES:
            on = st.toggle(OPTIONS[name]["title"], bool(getattr(inferred, name)))
            chosen[name] = on if on != bool(getattr(inferred, name)) else getattr(inferred, name)
    return chosen


def _label_values(inferred: tuple[Any, ...]) -> tuple[Any, ...]:
    """The label that belongs to each column: the order of the classes, where labels are not column numbers."""
    text = st.text_area(OPTIONS["label_values"]["title"], "\n".join(map(str, inferred)), height=120)
    by_text = {str(value): value for value in inferred}
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return tuple(by_text.get(line, line) for line in lines)


def _columns(name: str, names: list[str], current: Any) -> Any:
    """One array or nothing; a table's outputs are several columns, and those of its features count as one choice."""
    title = OPTIONS[name]["title"]
    if isinstance(current, tuple) and name not in FEATURE_FILES:
        return tuple(st.multiselect(title, names, [n for n in current if n in names]))
    options = list(dict.fromkeys([current or NOTHING, NOTHING, *names]))
    chosen = st.selectbox(title, options, format_func=_spelled, key=f"choices/{name}/{current}")
    return current if chosen == (current or NOTHING) else chosen


def _spelled(choice: str | tuple[str, ...]) -> str:
    """A choice for the list: a name, ``none``, or how many columns."""
    return f"{len(choice):,} columns from {choice[0]}" if isinstance(choice, tuple) else choice or "none"
