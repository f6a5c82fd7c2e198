"""The folders that predict where Python and NumPy are: a bundle, and an MLflow model."""

from __future__ import annotations

import io
import json
import platform
import zipfile
from pathlib import Path

import calib
from calib.errors import CalibrationError
from calib.export import predict
from calib.export.model_card import model_card
from calib.export.npz import to_npz
from calib.export.runtime import NPZ, ExportedCalibrator

SCRIPT = "predict.py"
LOADER = "calib_predict"
"""What :data:`SCRIPT` is called in an MLflow model, beside other modules."""

_OLDEST = (1980, 1, 1, 0, 0, 0)  # a fixed date, so that equal content gives equal bytes


def bundle_bytes(exported: ExportedCalibrator) -> bytes:
    """The bytes of a zip of the model card, the calibrator and the script that runs it."""
    return zipped({"MODEL_CARD.md": model_card(exported).encode(), NPZ: to_npz(exported), SCRIPT: _script()})


def mlflow_files(exported: ExportedCalibrator) -> dict[str, bytes]:
    """The files of an MLflow model of the flavour ``python_function``, by their paths in its folder.

    The format is that of the documentation of ``mlflow.pyfunc``, section *Filesystem format*: ``MLmodel``, which is
    YAML, and so may be JSON, names the folders of data and of code, and the module that loads the model.
    """
    check_mlflow(exported)
    flavour = {
        "loader_module": LOADER,
        "code": "code",
        "data": "data",
        "env": {"virtualenv": "python_env.yaml"},
        "python_version": platform.python_version(),
    }
    made = {"flavors": {"python_function": flavour}, "metadata": {"calib": calib.__version__, "kind": exported.kind}}
    environment = {"python": platform.python_version(), "dependencies": ["-r requirements.txt"]}
    return {
        "MLmodel": f"{json.dumps(made, indent=2)}\n".encode(),
        "python_env.yaml": f"{json.dumps(environment, indent=2)}\n".encode(),
        "requirements.txt": b"mlflow\nnumpy>=1.26,<3\n",
        "MODEL_CARD.md": model_card(exported).encode(),
        f"data/{NPZ}": to_npz(exported),
        f"code/{LOADER}.py": _script(),
    }


def check_mlflow(exported: ExportedCalibrator) -> None:
    """Raise :class:`CalibrationError` where a calibrator takes more than one table of outputs."""
    if exported.needs_features or exported.kind == "topk":
        raise CalibrationError(
            "An MLflow model takes one table of outputs, and this calibrator takes more beside them; export a pickle."
        )


def zipped(files: dict[str, bytes]) -> bytes:
    """A zip of files by their paths; equal files give equal bytes."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as bundle:
        for name, content in sorted(files.items()):
            member = zipfile.ZipInfo(name, _OLDEST)
            member.compress_type = zipfile.ZIP_DEFLATED
            member.external_attr = 0o644 << 16
            bundle.writestr(member, content)
    return buffer.getvalue()


def _script() -> bytes:
    return Path(predict.__file__).read_bytes()
