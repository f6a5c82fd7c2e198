"""An exported calibrator made of a fitted one, with what is recorded of its data and versions; and one that goes on."""

from __future__ import annotations

import copy
import platform
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import numpy as np

import calib
from calib.base import LEARNS_NOTHING, Calibrator, Progress, silent
from calib.calibrators.backend import device_of
from calib.canonical import DEFAULT_FLOOR, ONE_COLUMN, class_order
from calib.errors import CalibrationError
from calib.evaluation.view import view_of
from calib.export.runtime import ExportedCalibrator
from calib.export.seen import Seen
from calib.formatting import listed
from calib.registry import METHODS

if TYPE_CHECKING:
    from calib.data.predictions import Predictions

_OF_THE_EXPORT = (
    "kind",
    "floor",
    "scale",
    "class_names",
    "columns",
    "seen",
    "base_rate",
    "decision",
    "sets",
)
_OF_FEATURES = ("feature_mean", "feature_scale")
RECORDED = (
    *(
        "data_name",
        "data_sha256",
        "event",
        "event_class",
        "view",
        "split",
        "n_rows",
        "n_calibration",
        "n_test",
    ),
    *("scores", "notes", "device", "versions", "exported_on", "metadata"),
)
"""What is recorded of the data and the fit; ``metadata`` holds anything else by name."""

_USED_IN_FITS = ("scipy", "sklearn", "gpflow", "tensorflow")


def exported(
    calibrator: Calibrator | ExportedCalibrator, metadata: Mapping[str, Any] | None = None
) -> ExportedCalibrator:
    """The calibrator as its file will hold it; predicting with it is predicting with the file.

    Notes of the fit, the device, the versions in use and the day are recorded, unless the metadata name them.

    Parameters
    ----------
    calibrator : Calibrator or ExportedCalibrator
        Fitted.
    metadata : mapping of str to object or None, default None
        As in :func:`save`.

    Returns
    -------
    ExportedCalibrator
        As :func:`calib.runtime.load` gives it.
    """
    if isinstance(calibrator, ExportedCalibrator):
        if metadata:
            raise CalibrationError(
                "An exported calibrator has its metadata already; export the fitted one anew."
            )
        return calibrator
    known = dict(metadata or {})
    if unknown := set(known) - {*_OF_THE_EXPORT, *_OF_FEATURES, *RECORDED}:
        raise CalibrationError(
            f"An export has no {listed(sorted(unknown))}; what else is to be recorded goes into metadata, a dictionary."
        )
    known |= known.pop("metadata", None) or {}
    special = {key: known.pop(key) for key in (*_OF_THE_EXPORT, *_OF_FEATURES) if key in known}
    if not isinstance(calibrator, Calibrator):
        raise CalibrationError(f"A fitted calibrator is exported; got {type(calibrator).__name__}.")
    if not calibrator.fitted:
        raise CalibrationError(
            f"This {type(calibrator).__name__} is not fitted yet; fit it, then export it."
        )
    if "features" not in calibrator.needs:
        special = {key: value for key, value in special.items() if key not in _OF_FEATURES}
    if LEARNS_NOTHING in calibrator.traits and special.get("floor"):
        special["floor"] = DEFAULT_FLOOR  # no fit needed more, and so zeros stay zeros
    noted = {"notes": calibrator.notes(), "device": device_of(calibrator), "versions": versions()}
    recorded = {**noted, "exported_on": datetime.now(UTC).date().isoformat(), **known}
    return ExportedCalibrator(calibrator, metadata=recorded, **special)


def resume(
    earlier: ExportedCalibrator, data: Predictions, *, progress: Progress = silent
) -> ExportedCalibrator:
    """An exported calibrator after learning from more calibration data; the earlier rows are not needed.

    A decision and prediction sets are left out: they were fitted with the earlier probabilities, so fit them anew.

    Parameters
    ----------
    earlier : ExportedCalibrator
        From :func:`calib.export.runtime.load`; it stays as it was.
    data : Predictions
        The new rows on the earlier scale, with zeros at the earlier floor:
        ``calib.load(path, floor=earlier.floor, scale=earlier.scale)``.
    progress : callable, optional
        As in :meth:`~calib.base.Calibrator.fit`.

    Returns
    -------
    ExportedCalibrator
        A new one.

    Raises
    ------
    CalibrationError
        If the method cannot go on (GPcalib can), or the data are not outputs of the same kind and classes.
    """
    for name in ("kind", "scale", "floor", "class_names"):
        before = getattr(earlier, name)
        now = getattr(data, name)
        renamed = name == "class_names" and set(before) != set(
            now
        )  # other names of the same columns
        if before != now and not renamed and not (name == "floor" and None in (before, now)):
            raise CalibrationError(
                f"The calibrator was fitted on outputs with {name}={before!r:.200}, and these have {now!r:.200}; give "
                "the same outputs as before."
            )
    calibrator = copy.deepcopy(earlier.calibrator)
    if not hasattr(calibrator, "partial_fit"):
        raise CalibrationError(
            f"{METHODS[earlier.method].title} cannot go on from this file: that takes the pickle of a method that can, "
            "such as GPcalib. Give the .pkl, or fit on all rows."
        )
    calibrator.partial_fit(data.logits, data.labels, progress=progress)
    known = {
        **describe(data),
        "n_rows": calibrator.get_state()["n_rows_given_"],
        "class_names": earlier.class_names,
    }
    known["floor"] = data.floor if earlier.floor is None else earlier.floor
    for key, joint in (("data_name", " + "), ("data_sha256", " ")):
        if key in earlier.metadata:
            known[key] = f"{earlier.metadata[key]}{joint}{known[key]}"
    share = len(data) / known["n_rows"]
    before = earlier.base_rate
    known["base_rate"] = (
        None if before is None else (1.0 - share) * before + share * known["base_rate"]
    )
    return exported(calibrator, known)


def describe(data: Predictions) -> dict[str, Any]:
    """What an export should record about a data set: input kind, scale and floor, class names, name and content hash.

    Also what the outputs look like, which new ones are compared with; with two classes which is the event, and the view
    that scores are of; and what features were standardised with.

    Parameters
    ----------
    data : Predictions
        Whatever a calibrator was fitted and tested on.

    Returns
    -------
    dict of str to object
        For ``**metadata`` of :func:`save`.
    """
    event = data.event
    known = {key: getattr(data, key, None) for key in _OF_FEATURES}
    if len(data):
        known["seen"] = Seen.from_logits(data.logits, data.kind, data.scale)
        known["base_rate"] = np.bincount(data.labels, minlength=data.n_classes) / len(data)
    if event is not None:
        known |= {"event": event.name, "event_class": data.class_names[event.column]}
    return {key: value for key, value in known.items() if value is not None} | {
        "kind": data.kind,
        "floor": data.floor,
        "scale": data.scale,
        "class_names": data.class_names,
        "columns": _columns(data),
        "view": view_of(data).name,
        "data_name": data.name,
        "data_sha256": data.sha256,
    }


def _columns(data: Predictions) -> tuple[str, ...]:
    """The columns of the outputs in the table that the data came from, in the order of the classes."""
    named = [role.column for role in data.roles if role.role == "outputs"]
    n_columns = 1 if data.kind in ONE_COLUMN else data.n_classes
    if len(named) != n_columns:
        return ()
    return (
        tuple(named[k] for k in class_order(named, data.class_names))
        if n_columns > 1
        else tuple(named)
    )


def versions() -> dict[str, str]:
    """Versions of calib, Python, NumPy and of those libraries for fitting that this process has loaded."""
    installed = {
        "calib": calib.__version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
    }
    loaded = {module: sys.modules[module] for module in _USED_IN_FITS if module in sys.modules}
    return installed | {
        module: str(getattr(library, "__version__", "unknown"))
        for module, library in loaded.items()
    }
