"""Open a sample or an upload, with its limits, and the form that changes what was inferred about it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from io import BytesIO
from typing import Any

import streamlit as st

from calib.canonical import KINDS, SCALES, describe_scale
from calib.data import Choices, DataError, Inspection, inspect
from calib.data.guess.files import SOURCE, holds_features, roles_of_files
from calib.data.loading import APART
from calib.data.options import (
    COLUMNS,
    FILES,
    FORMATS,
    IN_THE_FILE,
    NOTHING,
    ONE_FILE,
    OPTIONS,
    SWITCH,
    TEXT,
)
from calib.data.samples import FOLDER, SAMPLES, load_sample
from calib.settings import studio
from calib.store.index import server_store
from calib.ui.data import roles
from calib.ui.link import open_data, private
from calib.ui.server.memory import admit
from calib.ui.server.uploads import StoredUpload
from calib.ui.server.uploads import uploaders as several_files
from calib.ui.session import (
    FROM_THE_TOP,
    REJECTED,
    OpenSession,
    Reading,
    Upload,
    find_session,
    once_for,
)
from calib.ui.text import add_notice, literal

SWITCHES = tuple(
    name for name, option in OPTIONS.items() if option["type"] is SWITCH and option["title"]
)
ARRAYS = tuple(
    name
    for name, option in OPTIONS.items()
    if option["type"] in (COLUMNS, TEXT, IN_THE_FILE) and option["title"]
)
PROPOSED = "upload/proposed"
"""What the files are probably given for, in Streamlit's session state."""
DECISIONS = "simulated-decisions.jsonl"
"""Sample of a decision log."""
FILE_WIDTH = 320
"""Pixels of the choice what a file is."""


def show_limits() -> None:
    """Show how files are kept; the uploader itself says how large one may be."""
    store = server_store()
    storage = "Not kept on disk: after a reload, upload your files again."
    if store is not None and not private():
        storage = f"Deleted {store.max_days:g} days after the last use."
    st.caption(f"Never run as code. {storage}")


def gallery(leave_out: Collection[str] = ()) -> None:
    """The samples, each one click from its result; what each shows is told by a pointer on it."""
    with st.grid(2, min_column_width=230, gap="xsmall"):
        for sample in [sample for name, sample in SAMPLES.items() if name not in leave_out]:
            st.button(
                sample.title,
                key=f"sample/{sample.name}",
                width="stretch",
                on_click=open_sample,
                args=(sample.name,),
                help=f"{sample.description} {sample.look_for}",
            )

        st.button(
            "Decision log, simulated",
            key="sample/decisions",
            width="stretch",
            on_click=open_decisions,
            help="Answers of a simulated model to six questions about 1,500 messages. Two questions are off.",
        )


def open_decisions() -> None:
    """Read the sample of a decision log, as an upload of several problems."""
    content = BytesIO((studio() / FOLDER / DECISIONS).read_bytes())
    read_first({SOURCE: (DECISIONS, content)})


def open_sample(name: str) -> None:
    """Make a sample the open data set."""
    data = load_sample(name)
    open_data(OpenSession.from_data(data, sample=name))


def uploaders() -> None:
    """The uploader, which takes several files at once, and what each of them is given for."""
    files = several_files(
        f"Outputs and labels, in one file or in several: {FORMATS}",
        "upload/main",
        help="A table with the probability of an event and whether it happened, or arrays of shape (rows, classes) "
        "with labels: logits, probabilities or log-probabilities. Labels and a test set may lie in files of their own. "
        "Features and a training set lie in the file of the outputs.",
    )
    show_limits()
    by_role = files_by_role(files)
    if SOURCE not in by_role:
        return
    mark = tuple((role, file.file_id) for role, file in by_role.items())
    if st.session_state.get("upload/read") != mark:
        st.session_state["upload/read"] = mark
        with st.spinner("Reading…"):
            read_first({role: (file.filename, file) for role, file in by_role.items()})
        st.rerun()


def files_by_role(files: Sequence[StoredUpload]) -> dict[str, StoredUpload]:
    """The files by what they are given for; of several ones that is proposed, and can be changed."""
    if len(files) < 2:
        return dict(zip([SOURCE], files, strict=False))
    mark = tuple(file.file_id for file in files)
    proposed = once_for(mark, PROPOSED, partial(proposed_roles, files))
    titles = {SOURCE: "Model outputs", **FILES, NOTHING: "Left aside"}
    by_role: dict[str, StoredUpload] = {}
    st.markdown("**What each file is.** Change it where it is wrong.")
    with st.container(horizontal=True):
        for file, role in zip(files, proposed, strict=True):
            chosen = st.selectbox(
                literal(file.filename, 40),
                list(titles),
                list(titles).index(role),
                format_func=titles.__getitem__,
                key=f"upload/role/{len(files)}/{file.file_id}",
                width=FILE_WIDTH,
            )
            if chosen in by_role:
                st.warning(
                    f"Two files are given as {titles[chosen]}: {literal(by_role[chosen].filename)} is read."
                )
            elif chosen:
                by_role[chosen] = file
    if SOURCE not in by_role:
        st.warning("None of the files contains model outputs. Choose the one that does.")
    if any(holds_features(file.filename) for file in files):
        st.info(f"To use features, put all arrays into one file: `{ONE_FILE}`.")
    return {role: by_role[role] for role in titles if role in by_role}


def proposed_roles(files: Sequence[StoredUpload]) -> tuple[str, ...]:
    """Probable role of each of several files."""
    session = find_session()
    opened = [] if session is None else [file for _, file in session.reading.upload.values()]
    n_read = sum(any(file is other for other in opened) for file in files)
    return roles_of_files([file.filename for file in files], n_read)


def read_first(upload: Upload) -> None:
    """Read files that were just uploaded; a table with the columns of an earlier one takes the roles chosen for it."""
    reading = Reading(_inspect(upload, Choices()), upload)
    if decisions := roles.remembered(reading):
        choices = Choices(**decisions)
        again = _inspect(upload, choices)
        if again.predictions is not None:
            reading = Reading(again, upload, choices)
            add_notice(
                "This table has the columns of an earlier one and was read with the roles chosen for that."
            )
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
    opened.reading = replace(
        reading, inspection=replace(inspection, predictions=opened.data)
    )  # its arrays are mapped
    admit(opened)
    open_data(opened)


def read_again(reading: Reading, changed: Mapping[str, Any]) -> None:
    """Read the same files with some other choices."""
    with st.spinner("Reading again…"):
        read(reading.upload, replace(reading.choices, **changed))
    st.rerun()


def last_reading() -> Reading:
    """Reading of the files that were given last, also where they could not be opened."""
    session = find_session()
    return st.session_state.get(REJECTED) or (Reading() if session is None else session.reading)


def change_by_hand(reading: Reading) -> None:
    """A form with every inferred option filled in; applying it reads the files again."""
    inspection = reading.inspection
    if inspection is None:
        return
    shapes = [
        f"{array.name} ({'×'.join(map(str, array.shape))} {array.dtype})"
        for array in inspection.arrays
    ]
    with st.popover("Scale, classes and files", icon=":material/tune:", type="tertiary"):
        if not inspection.rows:
            st.caption(literal("; ".join(shapes), 400))
        with st.form("choices", border=False):
            chosen = _form(inspection)
            if st.form_submit_button("Read again with these choices", icon=":material/refresh:"):
                inferred = inspection.choices
                read_again(reading, {k: v for k, v in chosen.items() if v != getattr(inferred, k)})


def _form(inspection: Inspection) -> dict[str, Any]:
    """Form of every option that is left or changed, by name; columns of a table have their own form."""
    arrays = [array.name for array in inspection.arrays]
    in_files = not inspection.rows or len({array.file for array in inspection.arrays}) > 1
    inferred = {name: getattr(inspection.choices, name) for name in OPTIONS}
    names = [*(ARRAYS if in_files else ()), "kind", "scale", "floor", "class_names"]
    names += ["label_values"] if inferred["label_values"] else []
    with st.grid(3, min_column_width=220):
        return {name: _field(name, inferred[name], arrays) for name in (*names, *SWITCHES)}


def _field(name: str, value: Any, arrays: list[str]) -> Any:
    """The widget of one option; where the visitor leaves it, the value as it is."""
    title = OPTIONS[name]["title"]
    key = f"choices/{name}/{value}"
    if name in SWITCHES:
        on = st.toggle(title, bool(value), key=key)
        return value if on == bool(value) else on
    if name in ("kind", "scale", *ARRAYS):
        fixed: dict[str, Iterable[Any]] = {"kind": KINDS, "scale": SCALES}
        values = fixed.get(name, [NOTHING, *arrays])
        options = list(
            dict.fromkeys([value, *([None] if name in ("kind", "scale") else ()), *values])
        )
        return st.selectbox(title, options, format_func=partial(_spelled, name), key=key)
    listed = isinstance(value, tuple)
    parts = {str(part): part for part in value} if isinstance(value, tuple) else {}
    text = "\n".join(parts) if listed else "" if value is None else f"{value:.3g}"
    written = (st.text_input if name == "floor" else st.text_area)(title, text, key=key).strip()
    if written == text:
        return value
    lines = tuple(
        parts.get(line.strip(), line.strip()) for line in written.splitlines() if line.strip()
    )
    return (
        (OPTIONS[name]["type"].from_text(written) if name == "floor" else lines)
        if written
        else None
    )


def _spelled(name: str, choice: Any) -> str:
    """A choice for the list: a name, "none", "inferred", or how many columns."""
    if name == "kind":
        return KINDS.get(choice, "inferred")
    if name == "scale":
        return "inferred" if choice is None else describe_scale(choice)
    return (
        f"{len(choice):,} columns from {choice[0]}"
        if isinstance(choice, tuple)
        else choice or "none"
    )
