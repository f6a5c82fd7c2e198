"""Open data: one click on a sample, or an upload."""

from __future__ import annotations

import shutil
import tempfile
from typing import IO, Any

import streamlit as st

from calib.data import Choices, inspect
from calib.data.samples import SAMPLES, load_sample
from calib.ui import fits, memory
from calib.ui.data.limits_view import LARGEST, show_limits
from calib.ui.earlier import open_data
from calib.ui.session import Session, Upload, session

FORMATS = "npz, npy, csv or tsv (also .gz), parquet, hdf5"
CARDS_IN_A_ROW = 4
ROLES = {
    "labels": "Labels, if they are in a file of their own",
    "test": "Test set, if it is in a file of its own",
    "test_labels": "Labels of the test set",
}
FEATURE_ROLES = {
    "features": "Features of the rows, one entry per row of the outputs",
    "train_features": "Features of the training set",
    "train_labels": "Labels of the training set",
}


def sample_cards() -> None:
    """One card per sample: what it is, what to look for, and the button that opens it."""
    st.subheader("Try a sample")
    samples = list(SAMPLES.values())
    for start in range(0, len(samples), CARDS_IN_A_ROW):
        for column, sample in zip(st.columns(CARDS_IN_A_ROW), samples[start:], strict=False):
            with column.container(border=True, height="stretch"):
                st.markdown(f"**{sample.title}**")
                st.caption(f"{sample.description} {sample.n_rows:,} rows, {sample.n_classes:,} classes.")
                st.caption(f":material/visibility: {sample.look_for}")
                if sample.features:
                    st.caption(f":material/image: With features: {sample.features}.")
                st.button("Open", key=f"sample/{sample.name}", on_click=open_sample, args=(sample.name,))


def open_sample(name: str) -> None:
    """Make a sample the open data set."""
    data = load_sample(name)
    open_data(Session.opened(data, sample=name))
    fits.queue().warm_up()


def uploaders() -> None:
    """The uploader, with places for labels, a test set and features in files of their own."""
    st.subheader("Upload outputs")
    main = st.file_uploader(f"Model outputs and labels: {FORMATS}", key="upload/main", max_upload_size=LARGEST)
    show_limits()
    others: dict[str, Any] = {}
    with st.expander("Labels or a test set in separate files"):
        for role, label in ROLES.items():
            others[role] = st.file_uploader(label, key=f"upload/{role}", max_upload_size=LARGEST)
    with st.expander("Features (optional)"):
        st.caption(
            "For methods that look at the inputs too: rows of numbers, or images of shape (rows, height, width) with "
            "or without channels. One npz may hold all three as features, train_features and train_labels, and so may "
            "the file with the outputs; columns of a table are called feature_0, feature_1, ... or x_0, x_1, ..."
        )
        for role, label in FEATURE_ROLES.items():
            others[role] = st.file_uploader(label, key=f"upload/{role}", max_upload_size=LARGEST)
    st.caption(
        "Arrays of shape (rows, classes) with labels, from any framework: logits, probabilities or log-probabilities; "
        "for binary data one column will do. Files stay on this server and nothing in them is ever executed."
    )
    given = {"source": main, **{role: file for role, file in others.items() if file is not None}}
    if main is None:
        return
    mark = tuple((role, file.file_id) for role, file in given.items())
    if st.session_state.get("upload/read") != mark:
        st.session_state["upload/read"] = mark
        with st.spinner("Reading…"):
            read(Upload({role: (file.name, _spool(file)) for role, file in given.items()}), Choices())
        st.rerun()


def read(upload: Upload, choices: Choices) -> None:
    """Read uploaded files with the given choices and open what they hold, or keep the findings that say why not."""
    for _, file in upload.files.values():
        file.seek(0)
    inspection = inspect(choices=choices, **upload.files)  # type: ignore[arg-type]
    if inspection.predictions is None:
        # What was open before stays open with its fits; only the findings are those of the new files.
        now = session()
        now.inspection, now.upload, now.made = inspection, upload, choices
        return
    opened = Session.opened(inspection.predictions, inspection=inspection, upload=upload, made=choices)
    memory.admit(opened, leaving=session())
    open_data(opened)
    fits.queue().warm_up()


def _spool(file: Any) -> IO[bytes]:
    """A copy on disk that vanishes with the session, so that the upload itself need not stay in memory."""
    copy = tempfile.TemporaryFile()  # noqa: SIM115 - closed when the session lets go of it
    shutil.copyfileobj(file, copy, 1 << 20)
    return copy
