"""Write a fitted calibrator to a file that works elsewhere with NumPy alone."""

from __future__ import annotations

import pickle
import platform
import sys
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import calib
from calib.base import CalibrationError, Calibrator
from calib.runtime import ExportedCalibrator, to_record

if TYPE_CHECKING:
    from calib.data.predictions import Predictions

_USED_IN_FITS = ("scipy", "sklearn", "gpflow", "tensorflow")
_DISTRIBUTIONS = {"sklearn": "scikit-learn"}


def save(calibrator: Calibrator | ExportedCalibrator, path: str | Path, **metadata: Any) -> Path:
    """Write a fitted calibrator; the suffix chooses how. Returns the path.

    ``.pkl``: one pickle. ``.npz``: arrays, with a ``.json`` written beside it; holds no code at all.
    ``.zip``: a bundle with both, a model card, a script and the code to run it without installing anything.

    Parameters
    ----------
    calibrator : fitted calibrator.
    path : where to write.
    **metadata : ``kind``, ``floor`` and ``class_names`` as in :class:`~calib.runtime.ExportedCalibrator` (see
        :func:`describe`); all else is recorded, and shown in the model card.
    """
    path = Path(path)
    suffix = path.suffix.lower()
    if suffix == ".pkl":
        path.write_bytes(to_pickle(calibrator, metadata))
    elif suffix == ".npz":
        arrays, text = to_npz_json(calibrator, metadata)
        path.write_bytes(arrays)
        path.with_suffix(".json").write_text(text, encoding="utf-8")
    elif suffix == ".zip":
        path.write_bytes(to_bundle(calibrator, metadata))
    else:
        raise CalibrationError(f"A calibrator is saved as .pkl, .npz or .zip; got {path.name!r}.")
    return path


def to_pickle(calibrator: Calibrator | ExportedCalibrator, metadata: Mapping[str, Any] | None = None) -> bytes:
    """Bytes of a pickle that ``pickle.load`` turns into an :class:`~calib.runtime.ExportedCalibrator`."""
    return pickle.dumps(exported(calibrator, metadata), protocol=4)


def to_npz_json(
    calibrator: Calibrator | ExportedCalibrator, metadata: Mapping[str, Any] | None = None
) -> tuple[bytes, str]:
    """Bytes of the ``.npz`` and text of the ``.json`` that belongs to it."""
    text, arrays = to_record(exported(calibrator, metadata))
    return arrays, text


def to_bundle(calibrator: Calibrator | ExportedCalibrator, metadata: Mapping[str, Any] | None = None) -> bytes:
    """Bytes of a zip that works unpacked, with Python and NumPy alone; see :mod:`calib.bundle`."""
    from calib.bundle import bundle_bytes

    made = exported(calibrator, metadata)
    return bundle_bytes(made, to_pickle(made))


def exported(
    calibrator: Calibrator | ExportedCalibrator, metadata: Mapping[str, Any] | None = None
) -> ExportedCalibrator:
    """The calibrator as its file will hold it; predicting with it is predicting with the file.

    Notes of the fit and the versions in use are recorded, unless the metadata name them.
    """
    if isinstance(calibrator, ExportedCalibrator):
        if metadata:
            raise CalibrationError("An exported calibrator has its metadata already; export the fitted one anew.")
        return calibrator
    known = dict(metadata or {})
    special = {key: known.pop(key) for key in ("kind", "floor", "class_names") if key in known}
    if not calibrator.fitted:
        raise CalibrationError(f"This {type(calibrator).__name__} is not fitted yet; fit it, then export it.")
    recorded = {"notes": calibrator.notes(), "versions": versions(), **known}
    return ExportedCalibrator(calibrator, metadata=recorded, **special)


def describe(data: Predictions) -> dict[str, Any]:
    """What an export should record about a data set: input kind, floor, class names, name and content hash."""
    return {
        "kind": data.kind,
        "floor": data.floor,
        "class_names": data.class_names,
        "data_name": data.name,
        "data_sha256": data.sha256,
    }


def versions() -> dict[str, str]:
    """Versions of calib, Python, NumPy and of those libraries for fitting that this process has loaded."""
    found = {"calib": calib.__version__, "python": platform.python_version(), "numpy": np.__version__}
    for module in _USED_IN_FITS:
        if module in sys.modules:
            try:
                found[module] = version(_DISTRIBUTIONS.get(module, module))
            except PackageNotFoundError:  # tensorflow also comes as tensorflow-cpu
                found[module] = str(getattr(sys.modules[module], "__version__", "unknown"))
    return found
