"""Read new data with or without labels, and files of exported calibrators, for the check of a calibration shift."""

from __future__ import annotations

import io
import zipfile
from dataclasses import dataclass, replace
from typing import BinaryIO

import numpy as np

from calib.canonical import IN_UNIT, KINDS, PLAIN
from calib.data import (
    Event,
    Finding,
    Inspection,
    LoadOptions,
    Predictions,
    inspect,
    read_rows,
)
from calib.data.findings import MAX_CLASSES, megabytes
from calib.data.loading import in_a_reader
from calib.data.names import class_names
from calib.data.options import ONE_FILE, Source, changed_options
from calib.data.predictions import has_sha256
from calib.errors import CalibrationError, DataError
from calib.evaluation.evaluation import Evaluation, raw_model, row_arrays
from calib.evaluation.view import view_of
from calib.export.runtime import (
    ExportedCalibrator,
    SavedCalibrator,
    damage_in_words,
    from_arrays,
    npz_in,
)
from calib.metrics.confidence import check_range
from calib.records import LARGEST, arrays_of
from calib.registry import METHODS

_INFERRED = ("class_order", "labels_unmatched")
"""Findings that say that the order of the classes was, or could not be, inferred."""
_WITHOUT_LABELS = {"no_labels", "labels_missing"}
"""Findings that say that a file holds none."""


@dataclass(frozen=True, eq=False)
class NewRows:
    """A file with new data, read for a calibrator.

    Attributes
    ----------
    inspection : how the file was read; its ``predictions`` are None where it cannot be.
    data : the rows in the calibrator's class order, or None.
    labelled : whether the file holds labels; the labels of ``data`` are zeros where it does not.
    notes : what was done to bring them there, a sentence each.
    """

    inspection: Inspection
    data: Predictions | None = None
    notes: tuple[str, ...] = ()
    labelled: bool = True

    @property
    def noticed(self) -> list[Finding]:
        """Findings worth a look, also why times could not be used, which batches need.

        Missing training sets are no matter here, nor labels where none are needed.
        """
        findings = [finding for finding in self.inspection.findings if "train" not in finding.code]
        if not self.labelled:
            return [finding for finding in findings if finding.level == "warning"]
        return [
            finding for finding in findings if finding.level != "info" or finding.code == "times"
        ]

    def fitted_on(self, sha256: str) -> bool:
        """Return whether data with this hash have these rows."""
        read = self.inspection.predictions
        return read is not None and has_sha256(read, sha256)


def read_new_rows(
    exported: ExportedCalibrator,
    source: Source,
    options: LoadOptions | None = None,
    labelled: bool | None = None,
) -> NewRows:
    """Read a file for a calibrator, with labels or without.

    Outputs are read on the calibrator's scale, and zeros become what they became for it. Where the file's labels are
    names and its columns are not, the columns are taken in the calibrator's order.

    Parameters
    ----------
    exported : the calibrator.
    source, options : as for :func:`calib.data.inspect`.
    labelled : whether labels are read; None where the file decides: without any, its outputs are read alone.
    """
    options = options or LoadOptions()
    if exported.floor is not None and options.choices.floor is None:
        options = changed_options(options, floor=exported.floor)
    if options.choices.scale is None and (exported.scale is not None or exported.kind in IN_UNIT):
        options = changed_options(options, scale=exported.scale or PLAIN)
    if exported.needs_groups and options.choices.groups is None:
        options = changed_options(options, groups=exported.group_column or None)
    inspection = inspect(source, options)
    by_name = set(exported.class_names) <= set(inspection.rows) and options.choices.outputs is None
    if by_name and (inspection.predictions is None or labelled is False):
        options = changed_options(options, outputs=exported.class_names)
        inspection = inspect(source, options)
    codes = {finding.code for finding in inspection.findings if inspection.predictions is None}
    unlabelled = bool(codes & _WITHOUT_LABELS)
    if labelled is False or (labelled is None and unlabelled and options.labels is None):
        data, more = _unlabelled(exported, source, options)
        return NewRows(inspection, data, more, labelled=False)
    notes: tuple[str, ...] = ()
    inferred = any(f.code in _INFERRED and f.level != "info" for f in inspection.findings)
    if options.choices.label_values is None and inferred:
        again = inspect(source, options, label_values=exported.class_names)
        if again.predictions is not None:
            inspection = again
            notes = (
                "No column is named, so the columns were taken in the calibrator's class order.",
            )
    if inspection.predictions is None:
        return NewRows(inspection)
    data, more = fitted_to(exported, inspection.predictions)
    return NewRows(inspection, data, (*notes, *more))


def _unlabelled(
    exported: ExportedCalibrator, source: Source, options: LoadOptions
) -> tuple[Predictions, tuple[str, ...]]:
    """Outputs alone as a data set whose labels are zeros."""
    rows = read_rows(source, options.choices, options.isolate, exported.needs_features)
    logits = exported.to_logits(rows.outputs, options.choices.kind)
    names = (
        class_names(rows.columns)
        if len(rows.columns) == exported.n_classes
        else exported.class_names
    )
    names = rows.columns if set(rows.columns) == set(exported.class_names) else names
    same_names = set(names) == set(exported.class_names)
    data = Predictions(
        logits,
        np.zeros(len(logits), dtype=np.int64),
        tuple(names) if same_names else exported.class_names,
        exported.kind,
        features=rows.features,
        metadata={} if rows.groups is None else {exported.group_column: rows.groups},
        model=rows.model,
    )
    return fitted_to(exported, data)


def fitted_to(
    exported: ExportedCalibrator, data: Predictions
) -> tuple[Predictions, tuple[str, ...]]:
    """The rows with their columns in the calibrator's class order, and what was done, a sentence each."""
    if data.n_classes != exported.n_classes:
        raise CalibrationError(
            f"The new data have {data.n_classes:,} classes and the calibrator {exported.n_classes:,}; give outputs "
            "of the model that it was fitted for."
        )
    if data.kind != exported.kind:
        raise CalibrationError(
            f"The calibrator takes {KINDS[exported.kind]}, but the new data were read as {KINDS[data.kind]}; give "
            f"the same outputs as before, or have them read as {KINDS[exported.kind]}."
        )
    if exported.needs_features and data.features is None:
        raise CalibrationError(
            f"{METHODS[exported.method].title} predicts from features too, and the new data have none; put all "
            f"arrays into one file: {ONE_FILE}."
        )
    data, notes = _in_order(data, exported.class_names)
    notes += model_change(str(exported.metadata.get("model", "")), data.model)
    return replace(data, event=_event(exported) or data.event), notes


def model_change(before: str, now: str) -> tuple[str, ...]:
    """Sentence on a model that is another one than at the fit; none where either is unknown."""
    if not before or not now or before == now:
        return ()
    return (f"The model changed: these rows are of {now}, the calibrator was fitted on {before}.",)


def _event(exported: ExportedCalibrator) -> Event | None:
    """The event that the calibrator was fitted for, as far as its file says; metadata are written by anybody."""
    name, of_class = (str(exported.metadata.get(key, "")) for key in ("event", "event_class"))
    if exported.n_classes != 2 or of_class not in exported.class_names:
        return None
    return Event(exported.class_names.index(of_class), name or of_class, "as in the calibrator")


def judge(exported: ExportedCalibrator, data: Predictions) -> tuple[Evaluation, Evaluation]:
    """The raw model and the calibrator on rows of :func:`fitted_to`, in the view of the calibrator's own scores."""
    raw = Evaluation.from_predictions(raw_model(data), data, "top-label")
    view = view_of(data, "event" if exported.metadata.get("view") == "event" else "top-label")
    method = exported.calibrator
    try:
        features = data.features if exported.needs_features else None
        with np.errstate(all="ignore"):
            judged = Evaluation.from_calibrator(
                method,
                data.logits,
                data.labels,
                features,
                **row_arrays(data),
                weight_kind=data.weight_kind,
            )
            judged = judged.seen(raw.view)
        check_range(judged.confidence)
    except CalibrationError:
        raise
    except Exception as error:
        raise CalibrationError(
            f"The calibrator fails on these rows ({type(error).__name__}); their features are of another form than it "
            "learned from, or its file was changed."
        ) from error
    return raw.seen(view), judged.seen(view)


def _in_order(
    data: Predictions, class_names: tuple[str, ...]
) -> tuple[Predictions, tuple[str, ...]]:
    """Columns by name where both sides have names; by position where one of them counts its classes."""
    if data.class_names == class_names:
        return data, ()
    counted = tuple(map(str, range(len(class_names))))
    if counted in (data.class_names, class_names):
        return replace(data, class_names=class_names), (
            "Only one of the two names its classes, so the columns were taken to be in the same order.",
        )
    unknown = [name for name in data.class_names if name not in set(class_names)]
    if unknown or len(set(data.class_names)) < len(class_names):
        odd = f"the calibrator does not know {_few(unknown)}" if unknown else "some names repeat"
        raise CalibrationError(
            f"The new data have other classes than the calibrator: {odd}; give outputs of the same model, or name "
            "the columns alike."
        )
    place = {name: k for k, name in enumerate(data.class_names)}
    order = np.array([place[name] for name in class_names])
    labels = np.argsort(order)[data.labels]
    moved = replace(data, logits=data.logits[:, order], labels=labels, class_names=class_names)
    return moved, (
        "The columns stood in another order and were brought into the calibrator's, by name.",
    )


def _few(names: list[str]) -> str:
    examples = ", ".join(repr(name[:40]) for name in names[:3])
    return f"{examples} and {len(names) - 3:,} more" if len(names) > 3 else examples


_PICKLE = b"\x80"


def read_uploaded(file: tuple[str, BinaryIO], isolate: bool = False) -> ExportedCalibrator:
    """The calibrator in an uploaded file; nothing is unpickled, and sizes are checked before they are allocated.

    Parameters
    ----------
    file : name and open binary file of an npz, or of a bundle.
    isolate : whether a process of its own reads it and tries the calibrator, as by :func:`calib.data.inspect`; nothing
        is computed here then.
    """
    try:
        return in_a_reader(read_calibrator, (file,)) if isolate else read_calibrator((file,))
    except DataError as error:  # the reader came to one of its limits
        raise CalibrationError(
            f"{error.findings[0].message} Export the calibrator again."
        ) from None


def read_calibrator(files: tuple[tuple[str, BinaryIO]]) -> SavedCalibrator:
    """The calibrator in an npz or a bundle; raises as :func:`read_uploaded`."""
    ((name, file),) = files
    name, content = name[:80], _content(name[:80], file)
    if name.lower().endswith((".pkl", ".pickle")) or content.startswith(_PICKLE):
        raise CalibrationError(
            f"{name} is a pickle, which can run code when it is read, so it is not; upload the calibrator's npz or its "
            "bundle."
        )
    with damage_in_words():
        if not zipfile.is_zipfile(io.BytesIO(content)):
            raise CalibrationError(
                f"{name} is no exported calibrator, which is an npz or a bundle that holds one."
            )
        arrays = arrays_of(npz_in(content))
    for key, array in arrays.items():
        if array.dtype.kind not in "biufU" or (
            array.dtype.kind == "f" and array.dtype.itemsize > 8
        ):
            raise CalibrationError(
                f"The calibrator's array {key[:80]!r} holds {array.dtype}, which no export does; export it again."
            )
    calibrator = from_arrays(arrays)
    if calibrator.n_classes > MAX_CLASSES:
        raise CalibrationError(
            f"The calibrator has {calibrator.n_classes:,} classes, and data of up to {MAX_CLASSES:,} are read."
        )
    return calibrator


def _content(name: str, file: BinaryIO) -> bytes:
    size = file.seek(0, io.SEEK_END)
    if size > LARGEST:
        raise CalibrationError(
            f"{name} has {megabytes(size)}; no export has over {megabytes(LARGEST)}."
        )
    file.seek(0)
    return file.read()
