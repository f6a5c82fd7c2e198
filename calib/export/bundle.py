"""The folders that predict where Python and NumPy are: a bundle, and an MLflow model."""

from __future__ import annotations

import io
import json
import platform
import zipfile
from pathlib import Path

import calib
from calib.export import predict
from calib.export.model_card import model_card
from calib.export.npz import npz_bytes
from calib.export.runtime import NPZ, ExportedCalibrator

MODEL_CARD, SCRIPT = "MODEL_CARD.md", "predict.py"
LOADER = """from calib_predict import Calibrator, load as _load_pyfunc

Calibrator.predict = lambda self, outputs: next(iter(self.answer(outputs).values()))
"""
"""What MLflow imports."""

_OLDEST = (1980, 1, 1, 0, 0, 0)  # a fixed date, so that equal content gives equal bytes


def bundle_bytes(exported: ExportedCalibrator) -> bytes:
    """The bytes of a zip of the model card, the calibrator and the script that runs it."""
    return zipped(
        {MODEL_CARD: model_card(exported).encode(), NPZ: npz_bytes(exported), SCRIPT: _script()}
    )


def mlflow_files(exported: ExportedCalibrator) -> dict[str, bytes]:
    """The files of an MLflow model of the flavour ``python_function``, by their paths in its folder.

    The format is that of the documentation of ``mlflow.pyfunc``, section *Filesystem format*: ``MLmodel``, which is
    YAML, and so may be JSON, names the data, the folder of code, and the module that loads the model.
    """
    exported.calibrator.steps()  # refuses a map by group
    version = platform.python_version()
    environment = {"python": version, "dependencies": ["-r requirements.txt"]}
    flavour = {
        "loader_module": "calib_loader",
        "code": "code",
        "data": f"data/{NPZ}",
        "env": {"virtualenv": "python_env.yaml"},
        "python_version": version,
    }
    made = {
        "flavors": {"python_function": flavour},
        "metadata": {"calib": calib.__version__, "kind": exported.kind},
    }
    return {
        "MLmodel": f"{json.dumps(made, indent=2)}\n".encode(),
        "python_env.yaml": f"{json.dumps(environment, indent=2)}\n".encode(),
        "requirements.txt": b"mlflow\nnumpy>=1.26,<3\n",
        MODEL_CARD: model_card(exported).encode(),
        f"data/{NPZ}": npz_bytes(exported),
        "code/calib_loader.py": LOADER.encode(),
        "code/calib_predict.py": _script(),
    }


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
