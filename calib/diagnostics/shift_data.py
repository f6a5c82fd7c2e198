"""Fresh labelled rows, brought into the form and the class order that a calibrator was fitted on."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from calib.data import Choices, Finding, Inspection, Predictions, inspect
from calib.data.formats.detect import Source
from calib.errors import CalibrationError
from calib.evaluation.evaluation import Evaluation
from calib.export.runtime import ExportedCalibrator
from calib.metrics.top_label import check_range
from calib.registry import METHODS, calibrator

_GUESSED = ("class_order", "labels_unmatched")
"""Findings that say that the order of the classes was, or could not be, guessed."""


@dataclass(frozen=True, eq=False)
class Fresh:
    """What was found in a file with fresh rows.

    Attributes
    ----------
    inspection : how the file was read; its ``predictions`` are None where it cannot be.
    data : the rows in the calibrator's class order, or None.
    notes : what was done to bring them there, a sentence each.
    """

    inspection: Inspection
    data: Predictions | None = None
    notes: tuple[str, ...] = ()

    @property
    def noticed(self) -> list[Finding]:
        """Findings worth a look; missing training sets are no matter here."""
        return [f for f in self.inspection.findings if f.level != "info" and "train" not in f.code]


def read_fresh(exported: ExportedCalibrator, source: Source, *, choices: Choices | None = None, **files: Any) -> Fresh:
    """Read a labelled file for a calibrator.

    Zeros become what they became for the calibrator. Where the file's labels are names and its columns are not, the
    columns are taken in the calibrator's order.

    Parameters
    ----------
    exported : the calibrator.
    source, choices, **files : as for :func:`calib.data.inspect`.

    Raises
    ------
    CalibrationError
        If the rows cannot be those of the same model.
    """
    made = choices or Choices()
    if exported.floor is not None and made.floor is None:
        made = replace(made, floor=exported.floor)
    found = inspect(source, choices=made, **files)
    notes: tuple[str, ...] = ()
    if made.label_values is None and any(f.code in _GUESSED and f.level != "info" for f in found.findings):
        _rewind(source, *files.values())
        again = inspect(source, choices=replace(made, label_values=exported.class_names), **files)
        if again.predictions is not None:
            found, notes = again, ("No column is named, so the columns were taken in the calibrator's class order.",)
    if found.predictions is None:
        return Fresh(found)
    data, more = fitted_to(exported, found.predictions)
    return Fresh(found, data, (*notes, *more))


def fitted_to(exported: ExportedCalibrator, data: Predictions) -> tuple[Predictions, tuple[str, ...]]:
    """The rows with their columns in the calibrator's class order, and what was done, a sentence each.

    Raises
    ------
    CalibrationError
        If they are outputs of another kind, of other classes, or lack the features that the method needs.
    """
    if data.n_classes != exported.n_classes:
        raise CalibrationError(
            f"The fresh rows have {data.n_classes:,} classes and the calibrator {exported.n_classes:,}; give outputs "
            "of the model that it was fitted for."
        )
    if data.kind != exported.kind:
        raise CalibrationError(
            f"The calibrator takes {_words(exported.kind)}, but the fresh rows were read as {_words(data.kind)}; give "
            f"the same outputs as before, or have them read as {_words(exported.kind)}."
        )
    if exported.needs_features and data.features is None:
        raise CalibrationError(
            f"{METHODS[exported.method].title} predicts from features too, and the fresh rows have none; add them as "
            "an array or a file of their own."
        )
    return _in_order(data, exported.class_names)


def judge(exported: ExportedCalibrator, data: Predictions) -> tuple[Evaluation, Evaluation]:
    """The raw model and the calibrator on rows of :func:`fitted_to`.

    Raises
    ------
    CalibrationError
        If the calibrator does not predict what it should; a changed file can hold anything.
    """
    raw = Evaluation.from_calibrator(calibrator("identity").fit(data.logits[:2], data.labels[:2]), *_rows(data))
    method = exported.calibrator
    try:
        features = exported.to_features(data.features) if exported.needs_features else None
        with np.errstate(all="ignore"):
            judged = Evaluation.from_calibrator(method, *_rows(data), features)
        check_range(judged.confidence)
    except CalibrationError:
        raise
    except Exception as error:
        raise CalibrationError(
            f"The calibrator fails on these rows ({type(error).__name__}); their features are of another form than it "
            "learned from, or its file was changed."
        ) from error
    return raw, judged


def _rows(data: Predictions) -> tuple[Any, Any]:
    return data.logits, data.labels


def _in_order(data: Predictions, class_names: tuple[str, ...]) -> tuple[Predictions, tuple[str, ...]]:
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
            f"The fresh rows have other classes than the calibrator: {odd}; give outputs of the same model, or name "
            "the columns alike."
        )
    place = {name: k for k, name in enumerate(data.class_names)}
    order = np.array([place[name] for name in class_names])
    labels = np.argsort(order)[data.labels]
    moved = replace(data, logits=data.logits[:, order], labels=labels, class_names=class_names)
    return moved, ("The columns stood in another order and were brought into the calibrator's, by name.",)


def _few(names: list[str]) -> str:
    shown = ", ".join(repr(name[:40]) for name in names[:3])
    return f"{shown} and {len(names) - 3:,} more" if len(names) > 3 else shown


def _words(kind: str) -> str:
    return kind.replace("_", " ")


def _rewind(*sources: Any) -> None:
    """Opened files are read a second time from their beginning."""
    for source in sources:
        if isinstance(source, tuple) and hasattr(source[1], "seek"):
            source[1].seek(0)
