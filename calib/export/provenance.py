"""An exported calibrator made of a fitted one, with what is recorded of its data and versions."""

from __future__ import annotations

import platform
import sys
from collections.abc import Mapping
from dataclasses import fields
from datetime import UTC, datetime
from typing import Any

import numpy as np

import calib
from calib.base import Calibrator
from calib.calibrators.backend import device_of
from calib.errors import CalibrationError
from calib.export.runtime import ExportedCalibrator
from calib.formatting import listed
from calib.outputs import OutputFormat

_FORM = tuple(f.name for f in fields(OutputFormat) if f.name != "metadata")
_DECIDING = ("decision", "sets")
RECORDED = (
    *(
        "data_name",
        "data_sha256",
        "model",
        "event",
        "event_class",
        "view",
        "split",
        "n_rows",
        "n_calibration",
        "n_test",
    ),
    *("audit", "scores", "notes", "device", "versions", "exported_on", "metadata"),
)
"""Recorded facts of the data and the fit; ``metadata`` holds anything else by name."""

_USED_IN_FITS = ("scipy", "sklearn", "gpflow", "tensorflow")


def exported(
    calibrator: Calibrator | ExportedCalibrator, metadata: Mapping[str, Any] | None = None
) -> ExportedCalibrator:
    """The calibrator as its file will hold it; predicting with it is predicting with the file.

    Notes of the fit, the device, the versions in use and the day are recorded, unless the metadata name them.

    Parameters
    ----------
    calibrator : fitted.
    metadata : as in :func:`save`.

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
    if not isinstance(calibrator, Calibrator):
        raise CalibrationError(f"A fitted calibrator is exported; got {type(calibrator).__name__}.")
    if not calibrator.fitted:
        raise CalibrationError(
            f"This {type(calibrator).__name__} is not fitted yet; fit it, then export it."
        )
    form = calibrator.outputs_
    named = dict(metadata or {})
    special = {name: getattr(form, name) for name in _FORM}
    if unknown := set(named) - {*special, *_DECIDING, *RECORDED}:
        raise CalibrationError(
            f"An export has no {listed(sorted(unknown))}; what else is to be recorded goes into metadata, a dictionary."
        )
    named |= named.pop("metadata", None) or {}
    if named.get("kind", form.kind) != form.kind:
        special |= {"floor": None, "seen": None}
    special |= {key: named.pop(key) for key in (*_FORM, *_DECIDING) if key in named}
    recorded = {
        "notes": calibrator.notes(),
        "device": device_of(calibrator),
        "versions": versions(),
        "exported_on": datetime.now(UTC).date().isoformat(),
        **form.metadata,
        **named,
    }
    return ExportedCalibrator(calibrator=calibrator, metadata=recorded, **special)


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
