"""A zip that works wherever Python and NumPy are: the calibrator, its model card, a script and the code it needs."""

from __future__ import annotations

import io
import json
import platform
import re
import zipfile
from pathlib import Path

import calib
from calib.errors import CalibrationError
from calib.export.model_card import model_card
from calib.export.runtime import ExportedCalibrator, to_record
from calib.registry import METHODS

PACKAGE = Path(calib.__file__).parent

# The package's own __init__ offers the whole library, most of which stays at home.
_PUBLIC = '''"""The part of calib that predicting needs; MODEL_CARD.md shows how."""

from calib.export import runtime

__version__ = "{version}"
'''

# Read with patterns: ``ast`` fails now and then where several threads use it (cpython issue 106905), as visitors do.
_IMPORT = re.compile(r"^from (calib[\w.]*) import (\([^)]*\)|.*)", re.MULTILINE)
_NAME = re.compile(r"\w+")

_LOADER = "calib.export.pyfunc"  # what MLflow loads
_OLDEST = (1980, 1, 1, 0, 0, 0)  # a fixed date, so that equal content gives equal bytes


def bundle_bytes(exported: ExportedCalibrator, pickled: bytes) -> bytes:
    """The bytes of the zip.

    Parameters
    ----------
    exported : the calibrator.
    pickled : its pickle, which travels along for those who prefer one file.
    """
    text, arrays = to_record(exported)
    files = {
        "MODEL_CARD.md": model_card(exported).encode(),
        "calibrator.json": text.encode(),
        "calibrator.npz": arrays,
        "calibrator.pkl": pickled,
        "predict.py": (PACKAGE / "export" / "predict_script.py").read_bytes(),
    }
    files |= _code(exported, "calib.export.predict_script")
    return _zipped(files)


def _zipped(files: dict[str, bytes]) -> bytes:
    """A zip of files by their paths; equal files give equal bytes."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as bundle:
        for name, content in sorted(files.items()):
            member = zipfile.ZipInfo(name, _OLDEST)
            member.compress_type = zipfile.ZIP_DEFLATED
            member.external_attr = 0o644 << 16
            bundle.writestr(member, content)
    return buffer.getvalue()


def mlflow_files(exported: ExportedCalibrator) -> dict[str, bytes]:
    """The files of an MLflow model of the flavour ``python_function``, by their paths in its folder.

    The format is that of the documentation of ``mlflow.pyfunc``, section *Filesystem format*: ``MLmodel``, which is
    YAML, and so may be JSON, names the folders of data and of code, and the module that loads the model.
    """
    check_mlflow(exported)
    text, arrays = to_record(exported)
    flavour = {
        "loader_module": _LOADER,
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
        "data/calibrator.json": text.encode(),
        "data/calibrator.npz": arrays,
        **{f"code/{path}": content for path, content in _code(exported, _LOADER).items()},
        "code/calib/export/pyfunc.py": _source(_LOADER).read_bytes(),
    }


def mlflow_zip(exported: ExportedCalibrator) -> bytes:
    """The bytes of a zip of the folder of an MLflow model."""
    return _zipped(mlflow_files(exported))


def check_mlflow(exported: ExportedCalibrator) -> None:
    """Raise :class:`CalibrationError` where a calibrator takes more than one table of outputs."""
    if exported.needs_features or exported.kind == "topk":
        raise CalibrationError(
            "An MLflow model takes one table of outputs, and this calibrator takes more beside them; export a bundle."
        )


def _code(exported: ExportedCalibrator, entry: str) -> dict[str, bytes]:
    """The part of calib that a module and predicting with a calibrator load, by path."""
    files = {"calib/__init__.py": _PUBLIC.format(version=calib.__version__).encode()}
    for module in needed_modules(exported.method, *exported.calibrator.parts(), entry=entry):
        source = _source(module)
        files[f"calib/{source.relative_to(PACKAGE).as_posix()}"] = source.read_bytes()
    return files


def needed_modules(*methods: str, entry: str = "calib.export.predict_script") -> list[str]:
    """Modules below calib that a module and predicting with methods load, by following module-level imports."""
    script = _imports(entry)
    homes = [f"calib.calibrators.{METHODS[method].where.partition(':')[0]}" for method in methods]
    pending = ["calib.export.runtime", *script, *homes]
    modules: set[str] = set()
    while pending:
        module = pending.pop()
        if module in modules or module == "calib":
            continue
        modules.add(module)
        pending += [module.rpartition(".")[0], *_imports(module)]
    return sorted(modules)


def _imports(module: str) -> list[str]:
    """Modules of calib that one imports when it is loaded, in the order of its lines."""
    names: list[str] = []
    for start, listed in _IMPORT.findall(_source(module).read_text(encoding="utf-8")):
        names += [start, *(f"{start}.{name}" for name in _NAME.findall(listed))]
    return [name for name in names if _source(name).is_file()]


def _source(module: str) -> Path:
    path = PACKAGE.joinpath(*module.split(".")[1:])
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
