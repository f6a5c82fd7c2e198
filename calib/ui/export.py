"""Parts of the Export page: files of a calibrator, what they record and decide, and calibrated outputs of a file."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

import numpy as np
import streamlit as st

from calib.base import Calibrator, groups_for, is_pairs
from calib.canonical import KINDS, Kind
from calib.data import Choices, DataError, read_rows
from calib.data.loading import APART
from calib.data.options import FORMATS
from calib.decisions.conformal import PredictionSets
from calib.decisions.rules import AnyRule
from calib.errors import CalibrationError
from calib.evaluation import score_intervals
from calib.evaluation.evaluation import class_frequencies
from calib.export import npz, provenance, writer
from calib.export.calibrated import Rows, to_csv, to_npz, unseen_groups
from calib.export.runtime import ExportedCalibrator
from calib.export.sql import check_sql
from calib.formatting import escape_markdown, plural
from calib.outputs import AmbiguousOutputs
from calib.ui.audit import audit_of, is_usable
from calib.ui.data.view import show_finding
from calib.ui.fits import RAW, ShownFit, intervals_of
from calib.ui.progress import offer_file
from calib.ui.server.memory import nbytes
from calib.ui.server.uploads import StoredUpload, uploader
from calib.ui.session import EXPORTED, Carried, OpenSession, keep
from calib.ui.text import show_notes

SMALL = 4 << 20
"""Bytes up to which the page waits until a calibrator is packed; the 1.2 MB of a GPcalib take about 0.3 s, once."""
FEW_CELLS = 50_000
"""Cells up to which the page waits until calibrated probabilities are written, which takes about 0.1 s, once."""

FILES = """
| file | needs | holds |
|---|---|---|
| bundle | NumPy | the npz, the script that runs it, and a model card; for production |
| npz | NumPy and the script of a bundle, or calib | arrays and text, no code |
| pickle | calib | the fitted object, for Python code that uses calib; only unpickle files you trust |
"""
LANGUAGES = """
| file | needs | holds |
|---|---|---|
| ONNX model | onnxruntime or another runtime | a model of float32 or float64 outputs, which computes in float64 |
| PyTorch module (py) | torch | source with what was learned; gradients flow where the map is smooth |
| SQL expression (sql), of two classes | DuckDB, PostgreSQL or SQLite | the probability, from a column `score` |

They compute probabilities only: no decision, no prediction sets, and no check that new outputs are of the same kind.
Where a map jumps, the last digit of an output decides: there a probability may be that of the other side.
"""
SHELL = """unzip calibrator.zip -d calibrator
python calibrator/predict.py {file} --out calibrated.csv  # needs NumPy alone"""
PYTHON = """from predict import load                      # in the unzipped folder
calibrator = load("calibrator.npz")           # nothing is unpickled
{call}"""
BY_GROUP = "probs = calibrator.predict_proba(outputs, groups=groups)   # groups: that of each row"
PROBABILITIES = "probs = calibrator.predict_proba(outputs)     # outputs: what your model writes, as uploaded here"
OF_PAIRS = "confidence = calibrator.predict_proba(outputs)[:, 1]   # outputs: confidences in answers, as uploaded here"
CONFIDENCE = """confidence = calibrator.predict_confidence(outputs, features)
# outputs: what your model writes, features: the inputs of the same rows, both as uploaded here"""

EXPORT = "pages/5_Export.py"
SURE = "export/sure of"
"""The upload whose outputs somebody said are of the calibrator's kind, in Streamlit's session state."""


@dataclass(frozen=True, eq=False)
class Packed:
    """A fit as its files will hold it.

    Attributes
    ----------
    key : of the fit and what it decides.
    exported : what every file holds.
    size : bytes of what it learned, which all but the smallest files have too.
    """

    key: Hashable
    exported: ExportedCalibrator
    size: int

    def offer(
        self,
        label: str,
        ending: writer.Ending,
        icon: str,
        checks: Sequence[Callable[[], Any]] = (),
        name: str = "",
        **looks: Any,
    ) -> None:
        """Offer one of its files, at once where it is small; a grey button and the reason where a check fails."""
        key = f"export/calibrator.{ending}"
        name = name or f"calibrator.{ending}"
        icon = f":material/{icon}:"
        try:
            for check in checks:
                check()
        except CalibrationError as error:
            st.button(label, key=f"{key}/none", disabled=True, icon=icon)
            st.caption(escape_markdown(str(error)))
            return
        offer_file(
            label,
            key,
            name,
            writer.written,
            lambda: {"exported": self.exported},
            self.key,
            large=self.size > SMALL,
            arguments=(ending,),
            icon=icon,
            **looks,
        )


def packed(session: OpenSession, fit: ShownFit, raw: ShownFit) -> Packed:
    """A fit with all that is recorded beside it; made once."""
    carried = session.carried.get(fit.key)
    verdict = audit_of(session).verdict

    def pack() -> Packed:
        recorded = metadata_of(session, fit, raw) | {"audit": verdict}
        exported = provenance.exported(remembering(session, fit), recorded)
        return Packed((fit.key, carried), exported, nbytes(fit.calibrator))

    return keep(("packed", fit.key, carried, session.view.key), pack)


def files(package: Packed, advised: bool = True) -> None:
    """The bundle, the npz and the pickle: for whom each is, and how it is used.

    Parameters
    ----------
    advised : whether to export a calibrator is what is recommended; its bundle then stands out.
    """
    kind: Literal["primary", "secondary"] = "primary" if advised else "secondary"
    exported = package.exported
    st.markdown(FILES)
    steps = partial(npz.checked_steps, exported.calibrator, by_group=True)
    with st.container(horizontal=True):
        package.offer("Bundle with model card", "zip", "folder_zip", [steps], type=kind)
        package.offer("Pickle", "pkl", "deployed_code")
        package.offer("Arrays (npz)", "npz", "data_array", [steps])
    if "train_features" in exported.calibrator.needs:
        st.caption("The pickle holds the training rows too.")
    shell, python = st.tabs(["The bundle in a shell", "In Python"])
    shell.code(
        SHELL.format(file="new.csv" if exported.columns else "outputs.npy"),
        language="bash",
        wrap_lines=True,
    )
    of_rows = PROBABILITIES if exported.calibrator.gives_probabilities else CONFIDENCE
    of_rows = BY_GROUP if exported.needs_groups else of_rows
    call = OF_PAIRS if exported.kind == "pairs" else of_rows
    python.code(PYTHON.format(call=call), language="python", wrap_lines=True)
    st.caption(_limits(exported))
    show_notes(exported.calibrator.notes())


def _limits(exported: ExportedCalibrator) -> str:
    metadata, seen = exported.metadata, exported.seen
    between = ""
    if seen is not None:
        low, high = (f"{end:.4g}".replace("-", "−") for end in (seen.low, seen.high))
        between = f" The model's outputs ranged from {low} to {high}; others were not tested."
    classes = (
        ""
        if exported.kind == "pairs"
        else f", with {plural(exported.n_classes, 'class', 'classes')}"
    )
    return (
        f"Fitted on {plural(metadata['n_calibration'], 'row')} and tested on {metadata['n_test']:,}{classes}.{between} "
        f"Outputs that look like another kind than {KINDS[exported.kind]} are refused."
    )


def other_languages(package: Packed) -> None:
    """An ONNX model, a PyTorch module and an SQL expression, or why there is none."""
    st.markdown(LANGUAGES)
    exported = package.exported
    of_outputs = exported.calibrator, exported.kind, exported.n_classes, exported.scale
    steps = partial(npz.checked_steps, exported.calibrator)
    onnx: list[Callable[[], Any]] = [steps, writer.check_onnx]
    with st.container(horizontal=True):
        package.offer("ONNX model", "onnx", "hub", onnx)
        package.offer("ONNX model of float64", "onnx64", "hub", onnx, "calibrator-float64.onnx")
        package.offer("PyTorch module", "py", "code", [steps])
        package.offer("SQL expression", "sql", "code", [partial(check_sql, *of_outputs)])


def metadata_of(session: OpenSession, fit: ShownFit, raw: ShownFit) -> dict[str, Any]:
    """Metadata of an export: the data, the split, and the scores before and after with their intervals."""
    before = intervals_of(raw)
    after = intervals_of(fit)
    constant = score_intervals(class_frequencies(raw.evaluation))
    carried = session.carried.get(fit.key, Carried())
    return {
        "decision": carried.decision,
        "sets": carried.sets,
        "n_calibration": len(session.calibration),
        "n_test": len(session.test),
        "split": {
            "part": session.part if session.part is not None else "as given",
            "random_state": session.seed,
        },
        "view": session.view.name,
        "scores": {
            key: {"before": list(before[key]), "after": list(after[key])}
            | ({"frequencies": list(constant[key])} if key in constant else {})
            for key in after
            if key in before
        },
    }


def remembering(session: OpenSession, fit: ShownFit) -> Calibrator:
    """The calibrator of a fit with the form of the open data, which is computed once."""
    form = keep(("form", session.split_key), session.data.output_format)
    return copy(fit.calibrator).remember(form)


def calibrate_upload(session: OpenSession, fit: ShownFit, package: Packed) -> None:
    """Calibrate the test rows, all rows, or any upload with the same classes."""
    pairs = is_pairs(session.data)
    whole = fit.calibrator.gives_probabilities and not pairs
    st.header("Calibrated probabilities" if whole else "Calibrated confidence")
    parts = {"test rows": session.test, "all rows": session.data}
    chosen = st.segmented_control(
        "Of", [*parts, "an upload"], default="test rows", required=True, key="export/of"
    )
    of: Hashable
    if chosen in parts:
        part = parts[chosen]
        ids = {"row": np.arange(1, len(part) + 1) if part is session.data else session.test_numbers}
        groups = groups_for(fit.calibrator, part)
        rows = Rows(part.logits, part.labels, part.features, part.weights, ids, groups)
        of = (fit.key, chosen)
    else:
        asks = "with features, " if "features" in fit.calibrator.needs else ""
        if fit.calibrator.needs_groups:
            asks = f"with the column {escape_markdown(package.exported.group_column)} of groups, "
        outputs = (
            f"Outputs of the same model ({KINDS[session.data.kind]}, {asks}without labels or with)"
        )
        uploaded = uploaded_rows(session, fit, outputs)
        if uploaded is None:
            return
        rows, of = uploaded
        if unseen := unseen_groups(package.exported, rows):
            st.info(escape_markdown(unseen), icon=":material/group:")
    content = {"exported": package.exported, "rows": rows}
    large = rows.logits.size > FEW_CELLS
    with st.container(horizontal=not large):
        for form, build in (("npz", to_npz), ("csv", to_csv)):
            offer_file(
                f"{'Build' if large else 'Download'} {form}",
                f"export/{form}",
                f"calibrated.{form}",
                build,
                lambda: content,
                of,
                large=large,
                icon=":material/download:",
            )
    classes = (
        "" if is_pairs(session.data) else f", {plural(session.data.n_classes, 'class', 'classes')}"
    )
    st.caption(f"{plural(len(rows.logits), 'row')}{classes}.")


def uploaded_rows(session: OpenSession, fit: ShownFit, what: str) -> tuple[Rows, Hashable] | None:
    """Canonical logits and features of an upload, made by the exported calibrator itself; and which upload.

    Parameters
    ----------
    what : is asked for, for people.
    """
    file = uploader(f"{what}: {FORMATS}", "export/upload")
    if file is None:
        return None
    exported = provenance.exported(remembering(session, fit))
    sure = st.session_state.get(SURE) == file.file_id
    of = fit.key, file.file_id, sure
    try:
        return keep(
            ("upload", *of), lambda: _read(exported, file, exported.kind if sure else None)
        ), of
    except AmbiguousOutputs as error:
        st.warning(escape_markdown(str(error)), icon=":material/help:")
        if st.button(f"They are {KINDS[exported.kind]}: go on with them", key="export/sure"):
            st.session_state[SURE] = file.file_id
            st.rerun()
    except DataError as error:
        for finding in error.findings:
            if finding.level == "error":
                show_finding(finding)
    return None


def _read(exported: ExportedCalibrator, file: StoredUpload, kind: Kind | None) -> Rows:
    groups = exported.group_column or None
    choices = Choices(groups=groups)
    read = read_rows((file.filename, file), choices, APART, exported.needs_features)
    outputs = exported.in_class_order(read.outputs, read.columns)
    logits = exported.to_logits(outputs, kind)
    return Rows(logits, features=read.features, ids=read.ids, groups=read.groups)


def offer_decision(
    session: OpenSession,
    fit: ShownFit,
    name: str,
    decision: AnyRule | None = None,
    sets: PredictionSets | None = None,
    called: str = "this decision",
) -> None:
    """Offer to put a rule, or sets, into the files of a fit, and to go there.

    Parameters
    ----------
    fit : whose probabilities the numbers hold for; the raw model has no files.
    name : of the question, unique on the page.
    called : what the button calls a rule.
    """
    if fit.key == RAW:
        st.caption("Fit a calibrator, and this decision can be exported with it.")
        return
    label = f"Export {escape_markdown(fit.title)} with {called if sets is None else 'these sets'}"
    kind: Literal["primary", "secondary"] = "primary" if is_usable(session) else "secondary"
    if st.button(label, key=f"decide/carry/{name}", icon=":material/download:", type=kind):
        carried = session.carried.get(fit.key, Carried())
        session.carried[fit.key] = (
            replace(carried, decision=decision) if sets is None else replace(carried, sets=sets)
        )
        session.picked[EXPORTED] = fit.key
        st.switch_page(EXPORT)


def decided(session: OpenSession, fit: ShownFit) -> None:
    """Show the decisions in the files of a fit, with a button that leaves them out."""
    carried = session.carried.get(fit.key)
    if carried is None:
        return
    parts = []
    if carried.decision is not None:
        names = list(session.data.class_names)
        event = session.data.event
        if event is not None:
            names[event.column] = event.name
        parts.append(carried.decision.said(tuple(names)))
    if carried.sets is not None:
        parts.append(carried.sets.said())
    st.markdown(f"**These files also decide:** {escape_markdown(' '.join(parts))}")
    if st.button(
        "Leave the decision out", key="export/leave out", icon=":material/close:", type="tertiary"
    ):
        del session.carried[fit.key]
        st.rerun()
