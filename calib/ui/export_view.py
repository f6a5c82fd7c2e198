"""The parts of the Export page: the files, how to use them, and calibrated probabilities of any upload."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from calib import export
from calib.data import inspect
from calib.evaluation import score_intervals
from calib.ui.fits import ShownFit
from calib.ui.session import session
from calib.ui.wording import plural

USAGE = """import pickle
calibrator = pickle.load(open("calibrator.pkl", "rb"))   # needs numpy and calib; only unpickle files you trust
probs = calibrator.calibrate(outputs)                    # outputs: what your model writes, as uploaded here"""
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
    before, after = score_intervals(raw.evaluation), score_intervals(fit.evaluation)
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
    """Calibrated probabilities of the open data or of any upload with the same classes."""
    now = session()
    assert now.data is not None
    assert now.test is not None
    st.subheader("Calibrated probabilities")
    parts = {"test rows": now.test, "all rows": now.data}
    chosen = st.segmented_control("Of", [*parts, "an upload"], default="test rows", required=True, key="export/of")
    if chosen in parts:
        data = parts[chosen]
        logits, labels, names = data.logits, data.labels, data.class_names
    else:
        file = st.file_uploader("Outputs of the same model (npz, npy, csv, parquet, hdf5)", key="export/up")
        if file is None:
            return
        inspection = inspect((file.name, file))
        for finding in inspection.findings:
            if finding.level == "error":
                st.error(f"{finding.message} {finding.action}", icon=":material/error:")
        if inspection.predictions is None:
            return
        logits, labels, names = (inspection.predictions.logits, inspection.predictions.labels, now.data.class_names)
    left, right = st.columns(2)
    left.download_button(
        "Download npz", data=lambda: _npz(fit, logits, labels), file_name="calibrated.npz", on_click="ignore",
        icon=":material/download:", key="export/npz",
    )  # fmt: skip
    right.download_button(
        "Download csv", data=lambda: _csv(fit, logits, labels, names), file_name="calibrated.csv", mime="text/csv",
        on_click="ignore", icon=":material/download:", key="export/csv",
    )  # fmt: skip
    st.caption(f"{plural(len(labels), 'row')}, {plural(len(names), 'class', 'classes')}.")


def _npz(fit: ShownFit, logits: np.ndarray, labels: np.ndarray) -> bytes:
    packed = io.BytesIO()
    np.savez_compressed(packed, probabilities=fit.calibrator.predict_proba(logits), labels=labels)
    return packed.getvalue()


def _csv(fit: ShownFit, logits: np.ndarray, labels: np.ndarray, names: tuple[str, ...]) -> str:
    probs = fit.calibrator.predict_proba(logits)
    return pd.DataFrame(probs, columns=[f"p_{name}" for name in names]).assign(label=labels).to_csv(index=False)
