"""The parts of the Export page: the files, how to use them, and calibrated probabilities of any upload."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from calib import export
from calib.data import read_outputs
from calib.numerics import Floats, Ints
from calib.ui.data_view import KINDS
from calib.ui.fits import ShownFit, intervals_of
from calib.ui.session import session
from calib.ui.wording import plural

USAGE = """import pickle
with open("calibrator.pkl", "rb") as file:    # needs numpy and calib; only unpickle files you trust
    calibrator = pickle.load(file)
probs = calibrator.calibrate(outputs)         # outputs: what your model writes, as uploaded here"""
USAGE_SAFE = """from calib import runtime
calibrator = runtime.load("calibrator.npz")              # calibrator.json beside it; nothing is unpickled
probs = calibrator.calibrate(outputs)"""
USAGE_BUNDLE = """unzip calibrator.zip -d calibrator
python calibrator/predict.py outputs.npy --out calibrated.npz    # needs numpy alone"""


def downloads(fit: ShownFit, raw: ShownFit) -> None:
    """The three files; each is built when it is clicked."""
    metadata = metadata_of(fit, raw)
    columns = st.columns(4)
    choices: list[tuple[str, str, Callable[[], str | bytes], str]] = [
        ("Pickle", "calibrator.pkl", lambda: export.to_pickle(fit.calibrator, metadata), ":material/deployed_code:"),
        ("Bundle with model card", "calibrator.zip", lambda: export.to_bundle(fit.calibrator, metadata),
         ":material/folder_zip:"),
        ("Arrays (npz)", "calibrator.npz", lambda: export.to_npz_json(fit.calibrator, metadata)[0],
         ":material/data_array:"),
        ("Record (json)", "calibrator.json", lambda: export.to_npz_json(fit.calibrator, metadata)[1],
         ":material/data_object:"),
    ]  # fmt: skip
    for column, (label, name, build, icon) in zip(columns, choices, strict=True):
        column.download_button(
            label, data=build, file_name=name, on_click="ignore", icon=icon, key=f"export/{name}", width="stretch",
            type="primary" if name.endswith(".pkl") else "secondary",
        )  # fmt: skip
    size = len(export.to_pickle(fit.calibrator, metadata))
    st.caption(f"The pickle is {size / 1024:,.1f} kB. The npz and the json belong together and hold no code at all.")
    for note in fit.calibrator.notes():
        st.caption(f":material/info: {note}")


def metadata_of(fit: ShownFit, raw: ShownFit) -> dict[str, Any]:
    """What an export records: the data, the split, and the scores before and after with their intervals."""
    now = session()
    assert now.data is not None
    assert now.calibration is not None
    assert now.test is not None
    before, after = intervals_of(raw), intervals_of(fit)
    return {
        **export.describe(now.data),
        "n_calibration": len(now.calibration),
        "n_test": len(now.test),
        "split": {"part": now.part if now.part is not None else "as given", "random_state": now.seed},
        "scores": {key: {"before": list(before[key]), "after": list(after[key])} for key in after if key in before},
    }


def usage() -> None:
    """The lines that use each file."""
    pickle_tab, safe_tab, bundle_tab = st.tabs(["Pickle", "npz + json", "Bundle"])
    pickle_tab.code(USAGE, language="python")
    safe_tab.code(USAGE_SAFE, language="python")
    bundle_tab.code(USAGE_BUNDLE, language="bash")


def calibrate_upload(fit: ShownFit) -> None:
    """Calibrated probabilities of the test rows, of all rows, or of any upload with the same classes."""
    now = session()
    assert now.data is not None
    assert now.test is not None
    st.subheader("Calibrated probabilities")
    parts = {"test rows": now.test, "all rows": now.data}
    chosen = st.segmented_control("Of", [*parts, "an upload"], default="test rows", required=True, key="export/of")
    if chosen in parts:
        logits, labels = parts[chosen].logits, parts[chosen].labels
    else:
        uploaded = _upload(fit)
        if uploaded is None:
            return
        logits, labels = uploaded, None
    names = now.data.class_names  # a download is built outside the page's run, where there is no session
    with st.container(horizontal=True):
        st.download_button(
            "Download npz", data=lambda: _npz(fit, logits, labels), file_name="calibrated.npz", on_click="ignore",
            icon=":material/download:", key=f"export/npz/{chosen}",
        )  # fmt: skip
        st.download_button(
            "Download csv", data=lambda: _csv(fit, logits, labels, names), file_name="calibrated.csv", mime="text/csv",
            on_click="ignore", icon=":material/download:", key=f"export/csv/{chosen}",
        )  # fmt: skip
    st.caption(f"{plural(len(logits), 'row')}, {plural(now.data.n_classes, 'class', 'classes')}.")


def _upload(fit: ShownFit) -> Floats | None:
    """Canonical logits of an upload, made by the exported calibrator itself; labels are not needed."""
    now = session()
    assert now.data is not None
    kind = KINDS[now.data.kind]
    file = st.file_uploader(
        f"Outputs of the same model ({kind}, without labels or with): npz, npy, csv, parquet, hdf5", key="export/upload"
    )
    if file is None:
        return None
    made = export.exported(fit.calibrator, export.describe(now.data))
    return made.to_logits(read_outputs((file.name, file)))


def _npz(fit: ShownFit, logits: Floats, labels: Ints | None) -> bytes:
    packed = io.BytesIO()
    arrays: dict[str, Any] = {"probabilities": fit.calibrator.predict_proba(logits)}
    if labels is not None:
        arrays["labels"] = labels
    np.savez_compressed(packed, allow_pickle=False, **arrays)
    return packed.getvalue()


def _csv(fit: ShownFit, logits: Floats, labels: Ints | None, names: tuple[str, ...]) -> str:
    table = pd.DataFrame(fit.calibrator.predict_proba(logits), columns=[f"p_{name}" for name in names])
    if labels is not None:
        table["label"] = labels
    return table.to_csv(index=False)
