"""The parts of the Export page: the files, how to use them, and calibrated probabilities of any upload."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from calib.canonical import KINDS
from calib.data import Predictions, read_features, read_outputs
from calib.data.options import FORMATS
from calib.export import writer
from calib.formatting import plural, safe_table
from calib.numerics import Floats, Ints
from calib.registry import is_pairs
from calib.ui.fits import ShownFit, intervals_of
from calib.ui.session import OpenSession, current_session, keep
from calib.ui.widgets import at_once, on_request, size_in_words

SMALL = 4 << 20
"""Bytes up to which a calibrator is packed with the page; the 1.2 MB of a GPcalib take about 0.3 s, once."""
FEW_CELLS = 50_000
"""Cells up to which calibrated probabilities are written with the page, which takes about 0.1 s, once."""

USAGE = """import pickle
with open("calibrator.pkl", "rb") as file:    # needs numpy and calib; only unpickle files you trust
    calibrator = pickle.load(file)
{call}"""
USAGE_SAFE = """from calib import runtime
calibrator = runtime.load("calibrator.npz")   # calibrator.json beside it; nothing is unpickled
{call}"""
USAGE_BUNDLE = """unzip calibrator.zip -d calibrator
python calibrator/predict.py {file} --out calibrated.npz    # needs numpy alone"""
PROBABILITIES = "probs = calibrator.calibrate(outputs)         # outputs: what your model writes, as uploaded here"
OF_PAIRS = "confidence = calibrator.confidence(outputs)   # outputs: the confidence in each answer, as uploaded here"
CONFIDENCE = """confidence = calibrator.confidence(outputs, features)
# outputs: what your model writes, features: the inputs of the same rows, both as uploaded here"""


def downloads(session: OpenSession, fit: ShownFit, raw: ShownFit) -> None:
    """The three files."""
    metadata = metadata_of(session, fit, raw)
    columns = st.columns(4)
    pair = cache(lambda: writer.to_npz_json(fit.calibrator, metadata))
    choices: list[tuple[str, str, Callable[[], str | bytes], str]] = [
        ("Pickle", "calibrator.pkl", lambda: writer.to_pickle(fit.calibrator, metadata), ":material/deployed_code:"),
        ("Bundle with model card", "calibrator.zip", lambda: writer.to_bundle(fit.calibrator, metadata),
         ":material/folder_zip:"),
        ("Arrays (npz)", "calibrator.npz", lambda: pair()[0], ":material/data_array:"),
        ("Record (json)", "calibrator.json", lambda: pair()[1], ":material/data_object:"),
    ]  # fmt: skip
    size = keep(("export size", fit.key), lambda: len(writer.to_pickle(fit.calibrator, metadata)))
    offer = at_once if size <= SMALL else on_request
    for column, (label, name, build, icon) in zip(columns, choices, strict=True):
        kind = "primary" if name.endswith(".pkl") else "secondary"
        with column:
            offer(label, f"export/{name}", name, build, of=fit.key, icon=icon, width="stretch", type=kind)
    carried = ", training rows included" if "train_features" in fit.calibrator.needs else ""
    st.caption(
        f"The pickle is {size_in_words(size)}{carried}. The npz and the json belong together and hold no code at all."
    )
    for note in fit.calibrator.notes():
        st.caption(f":material/info: {note}")


def metadata_of(session: OpenSession, fit: ShownFit, raw: ShownFit) -> dict[str, Any]:
    """What an export records: the data, the split, and the scores before and after with their intervals."""
    before, after = intervals_of(raw), intervals_of(fit)
    return {
        **writer.describe(session.data),
        "n_calibration": len(session.calibration),
        "n_test": len(session.test),
        "split": {"part": session.part if session.part is not None else "as given", "random_state": session.seed},
        "view": session.view.name,
        "scores": {key: {"before": list(before[key]), "after": list(after[key])} for key in after if key in before},
    }


def usage(fit: ShownFit) -> None:
    """The lines that use each file."""
    asks = "features" in fit.calibrator.needs
    pairs = is_pairs(current_session().data)
    call = OF_PAIRS if pairs else PROBABILITIES if fit.calibrator.gives_probabilities else CONFIDENCE
    pickle_tab, safe_tab, bundle_tab = st.tabs(["Pickle", "npz + json", "Bundle"])
    pickle_tab.code(USAGE.format(call=call), language="python")
    safe_tab.code(USAGE_SAFE.format(call=call), language="python")
    bundle_tab.code(USAGE_BUNDLE.format(file="outputs.npz" if asks else "outputs.npy"), language="bash")


def calibrate_upload(session: OpenSession, fit: ShownFit) -> None:
    """What the fit says of the test rows, of all rows, or of any upload with the same classes."""
    pairs = is_pairs(session.data)
    whole = fit.calibrator.gives_probabilities and not pairs
    st.subheader("Calibrated probabilities" if whole else "Calibrated confidence")
    parts = {"test rows": session.test, "all rows": session.data}
    chosen = st.segmented_control("Of", [*parts, "an upload"], default="test rows", required=True, key="export/of")
    if chosen in parts:
        part = parts[chosen]
        rows, of = Rows(part.logits, part.labels, part.features, part.weights, pairs), chosen
    else:
        uploaded = _upload(session.data, fit)
        if uploaded is None:
            return
        rows, of = uploaded
    names = session.data.class_names
    few = rows.logits.size <= FEW_CELLS
    offer, verb = (at_once, "Download") if few else (on_request, "Build")
    with st.container(horizontal=True):
        for form, build in (("npz", lambda: _npz(fit, rows)), ("csv", lambda: _csv(fit, rows, names))):
            offer(
                f"{verb} {form}", f"export/{form}", f"calibrated.{form}", build, of=(fit.key, of),
                icon=":material/download:",
            )  # fmt: skip
    st.caption(f"{plural(len(rows.logits), 'row')}, {plural(session.data.n_classes, 'class', 'classes')}.")


@dataclass(frozen=True, eq=False)
class Rows:
    """What is calibrated: canonical logits, and labels, features and weights where they are known.

    Of pairs, the answer is one confidence for each row.
    """

    logits: Floats
    labels: Ints | None = None
    features: Any = None
    weights: Floats | None = None
    pairs: bool = False


def _upload(data: Predictions, fit: ShownFit) -> tuple[Rows, str] | None:
    """Canonical logits and features of an upload, made by the exported calibrator itself; and which upload."""
    asks = "features" in fit.calibrator.needs
    file = st.file_uploader(
        f"Outputs of the same model ({KINDS[data.kind]}, {'with features, ' if asks else ''}without labels or "
        f"with): {FORMATS}",
        key="export/upload",
    )
    if file is None:
        return None
    exported = writer.exported(fit.calibrator, writer.describe(data))
    logits = exported.to_logits(read_outputs((file.name, file)))
    if not asks:
        return Rows(logits, pairs=is_pairs(data)), file.file_id
    file.seek(0)
    return Rows(logits, features=exported.to_features(read_features((file.name, file)))), file.file_id


def _npz(fit: ShownFit, rows: Rows) -> bytes:
    packed = io.BytesIO()
    arrays = {**_answer(fit, rows), "labels": rows.labels, "weights": rows.weights}
    arrays = {name: array for name, array in arrays.items() if array is not None}
    np.savez_compressed(packed, allow_pickle=False, **arrays)
    return packed.getvalue()


def _csv(fit: ShownFit, rows: Rows, names: tuple[str, ...]) -> str:
    answer = _answer(fit, rows)
    if "probabilities" in answer:
        table = pd.DataFrame(answer["probabilities"], columns=[f"p_{name}" for name in names])
    elif "predicted" not in answer:
        table = pd.DataFrame(answer)
    else:
        table = pd.DataFrame({"predicted": np.array(names)[answer["predicted"]], "confidence": answer["confidence"]})
    for name, column in (("label", rows.labels), ("weight", rows.weights)):
        if column is not None:
            table[name] = column
    return safe_table(table).to_csv(index=False)


def _answer(fit: ShownFit, rows: Rows) -> dict[str, Any]:
    """Probabilities of all classes, or the predicted class and the confidence in it where there is no more."""
    calibrator = fit.calibrator
    if rows.pairs:
        return {"confidence": calibrator.predict_proba(rows.logits)[:, 1]}
    if calibrator.gives_probabilities:
        return {"probabilities": calibrator.predict_proba(rows.logits)}
    return {
        "predicted": calibrator.predict(rows.logits),
        "confidence": calibrator.predict_confidence(rows.logits, rows.features),
    }
