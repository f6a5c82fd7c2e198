"""An exported calibrator made of a fitted one, with what is recorded of its data and versions; and one that goes on."""

from __future__ import annotations

import copy
import platform
import sys
from collections.abc import Mapping
from dataclasses import fields
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import numpy as np

import calib
from calib.base import Calibrator, Progress, silent
from calib.calibrators.backend import device_of
from calib.errors import CalibrationError
from calib.export.runtime import ExportedCalibrator
from calib.formatting import listed
from calib.outputs import OutputFormat
from calib.registry import METHODS

if TYPE_CHECKING:
    from calib.data.predictions import Predictions

_FORM = tuple(f.name for f in fields(OutputFormat) if f.name != "metadata")
_OF_FEATURES = ("feature_mean", "feature_scale")
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
    if "features" not in calibrator.needs:
        special |= dict.fromkeys(_OF_FEATURES)
    recorded = {
        "notes": calibrator.notes(),
        "device": device_of(calibrator),
        "versions": versions(),
        "exported_on": datetime.now(UTC).date().isoformat(),
        **form.metadata,
        **named,
    }
    return ExportedCalibrator(calibrator=calibrator, metadata=recorded, **special)


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

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import calib
    >>> first, more = calib.load_sample("breast-cancer-bayes").split(0.5, random_state=0)
    >>> calibrator = calib.calibrator("gpcalib").fit(first)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = calib.export.save(calibrator, Path(folder) / "calibrator.pkl")
    ...     earlier = calib.runtime.load(path)
    >>> resume(earlier, more).metadata["n_rows"]
    569
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
    form = data.output_format()
    earlier.to_logits(data)  # which refuses others
    calibrator.remember(form)
    calibrator.partial_fit(data, progress=progress)
    n_rows = calibrator.get_state()["n_rows_given_"]
    facts: dict[str, Any] = {"n_rows": n_rows, "class_names": earlier.class_names}
    facts["floor"] = data.floor if earlier.floor is None else earlier.floor
    for key, joint in (("data_name", " + "), ("data_sha256", " ")):
        if key in earlier.metadata:
            facts[key] = f"{earlier.metadata[key]}{joint}{form.metadata[key]}"
    share = len(data) / n_rows
    before = earlier.base_rate
    both = before is not None and form.base_rate is not None
    facts["base_rate"] = (1.0 - share) * before + share * form.base_rate if both else None
    return exported(calibrator, facts)


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
