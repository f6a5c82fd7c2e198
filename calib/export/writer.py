"""Write a fitted calibrator to a file that works elsewhere."""

from __future__ import annotations

import io
import pickle
import zipfile
from collections.abc import Callable, Mapping
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal, cast

from calib.base import Calibrator
from calib.errors import CalibrationError, missing_package
from calib.export import predict
from calib.export.model_card import model_card
from calib.export.npz import npz_bytes
from calib.export.provenance import exported
from calib.export.runtime import NPZ, ExportedCalibrator
from calib.records import LARGEST
from calib.registry import METHODS

MODEL_CARD, SCRIPT = "MODEL_CARD.md", "predict.py"

_OLDEST = (1980, 1, 1, 0, 0, 0)  # a fixed date, so that equal content gives equal bytes
SUFFIXES = (".pkl", ".npz", ".zip", ".onnx", ".py", ".sql")
"""Endings of the files that :func:`save` writes."""

Ending = Literal["zip", "npz", "pkl", "onnx", "onnx64", "py", "sql"]
"""Of a file; "onnx64" is an ONNX model of outputs in double precision."""


def save(calibrator: Calibrator | ExportedCalibrator, path: str | Path, **metadata: Any) -> Path:
    """Write a fitted calibrator; the suffix chooses how. Returns the path.

    ``.npz``: arrays and text, no code; calib reads it, and so does the script of a bundle with NumPy alone.
    ``.zip``: a bundle of the npz, that script and a model card. ``.pkl``: a pickle of the fitted object that needs
    calib, and which every method has. ``.onnx``: an ONNX model (:func:`to_onnx`). ``.py``: the source of a
    :class:`torch.nn.Module` that needs torch alone: ``Calibrator()(outputs)`` are the probabilities, in float64, of
    outputs of any floating dtype; rows with NaN or infinite values become NaN. Gradients flow where the map is smooth,
    and ``torch.export`` and ``torch.jit.script`` take the module. ``.sql``: an expression of the column ``score``
    (:func:`to_sql`). None of the last three is read back.

    Parameters
    ----------
    calibrator : Calibrator or ExportedCalibrator
        Fitted.
    path : str or Path
        File to write; one that is there already is replaced.
    **metadata
        Attributes of :class:`~calib.export.runtime.ExportedCalibrator` in the place of those that the fit remembers,
        ``decision`` and ``sets`` that were fitted with this calibrator, and ``metadata``, a dictionary of whatever else
        the model card is to show.

    Returns
    -------
    Path
        The same path.

    Examples
    --------
    >>> import tempfile, calib
    >>> logits, labels = [[2.0, 0.0], [0.0, 1.0], [1.0, 0.0], [0.0, 3.0]], [0, 1, 1, 1]
    >>> fitted = calib.calibrator("temperature").fit(logits, labels)
    >>> path = save(fitted, tempfile.mkdtemp() + "/calibrator.py")
    >>> path.name, "torch.softmax" in path.read_text()
    ('calibrator.py', True)
    """
    path = Path(path)
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise CalibrationError(
            f"A calibrator is saved as {', '.join(SUFFIXES[:-1])} or {SUFFIXES[-1]}; got {path.name!r}."
        )
    if not path.parent.is_dir():
        raise CalibrationError(
            f"There is no folder {str(path.parent)!r} to write {path.name!r} to; make it first."
        )
    content = to_bytes(cast(Ending, suffix[1:]), calibrator, metadata)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def to_bytes(
    ending: Ending,
    calibrator: Calibrator | ExportedCalibrator,
    metadata: Mapping[str, Any] | None = None,
) -> bytes | str:
    """Content of the file that :func:`save` writes with this ending; of "py" and "sql" as text.

    Parameters
    ----------
    ending : kind of file; "onnx64" is an ONNX model of outputs in double precision.
    calibrator : fitted.
    metadata : as in :func:`save`.
    """
    return written(ending, data={"exported": exported(calibrator, metadata)})


def written(ending: Ending, *, data: Mapping[str, Any]) -> bytes | str:
    """The same of an ``exported`` calibrator, as a worker writes it."""
    exported: ExportedCalibrator = data["exported"]
    exported.calibrator.check_state()
    return _WRITERS[ending](exported)


def to_onnx(
    calibrator: Calibrator | ExportedCalibrator,
    path: str | Path,
    *,
    dtype: str = "float32",
    **metadata: Any,
) -> Path:
    """Write a fitted calibrator as an ONNX model, which computes in double precision; returns the path.

    Its one input, ``outputs``, is what the model writes, of the calibrator's kind: (n, n_classes), or (n,) or (n, 1) of
    kinds with one column. Its one output is ``calibrated_probabilities`` (n, n_classes), or ``calibrated_confidence``
    (n,) of pairs, both float64. A row with NaN or an infinite value, which calib refuses, gives NaN. Name, dtype, kind
    and scale of the input, class names and versions are in its metadata; a decision and prediction sets are not.

    Parameters
    ----------
    calibrator : Calibrator or ExportedCalibrator
        Fitted.
    path : str or Path
        File to write.
    dtype : {"float32", "float64", "float16"}, default "float32"
        Dtype of the outputs that it takes; nearly every ONNX model writes float32. An input of ONNX has one dtype, and
        a runtime refuses others. It becomes float64 first.
    **metadata
        As in :func:`save`; without ``kind`` the outputs are logits.

    Returns
    -------
    Path
        The same path.

    Raises
    ------
    CalibrationError
        If the method or the kind of outputs has no ONNX form, or the package onnx is not installed.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import calib
    >>> calibrator = calib.calibrator("temperature").fit(calib.load_sample("digits-cnn"))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     print(to_onnx(calibrator, Path(folder) / "calibrator.onnx").name)
    calibrator.onnx
    """
    path = Path(path)
    path.write_bytes(_onnx(exported(calibrator, metadata), dtype))
    return path


def check_onnx() -> None:
    """Raise :class:`CalibrationError` where the package onnx is not installed."""
    if find_spec("onnx") is None:
        raise CalibrationError(
            missing_package(ModuleNotFoundError("No module named 'onnx'", name="onnx"))
        )


def check_method(ending: str, method: str) -> None:
    """Raise :class:`CalibrationError` where a method has no file of this ending, which is known before a fit."""
    if ending == "onnx":
        check_onnx()
    by_group = METHODS[method].needs == {"groups"}
    if by_group and ending not in ("pkl", "npz", "zip"):
        METHODS[method].cls().steps()
    if ending != "pkl" and METHODS[method].needs and not by_group:
        raise CalibrationError(
            f"{METHODS[method].title} predicts from the inputs of the rows too; save a .pkl."
        )


def to_sql(
    calibrator: Calibrator | ExportedCalibrator, column: str = "score", **metadata: Any
) -> str:
    """A fitted map of one score as an SQL expression of a column: the calibrated probability of the event.

    The same text gives the same numbers to 1e-9 in DuckDB, PostgreSQL and SQLite (3.35 or later, built with its
    mathematical functions, as Python's usually is). It needs ``CASE``, ``CAST``, ``ABS``, ``EXP`` and ``LN`` alone, and
    no argument of these overflows. NULL stays NULL; NaN, infinite values and probabilities outside 0 to 1 become NULL.
    At a step of a map, where the last digit decides, the number is that of either side.

    Parameters
    ----------
    calibrator : Calibrator or ExportedCalibrator
        Fitted, of two classes.
    column : str, default "score"
        Name of the column as SQL writes it: ``score``, ``loans.score``, ``"default risk"``. It holds log-odds of the
        second class for the kinds ``binary_log_odds``, ``logits`` and ``log_probabilities`` (of two logits their
        difference), its probability for ``binary_probability`` and ``probabilities``, and the confidence in an answer
        for ``pairs``.
    **metadata
        As in :func:`calib.export.save`; without ``kind`` the column holds log-odds.

    Returns
    -------
    str
        The expression.

    Raises
    ------
    CalibrationError
        For more than two classes, a method that is no map of one score, and what is no name.

    Examples
    --------
    >>> import calib
    >>> log_odds, labels = [-2.0, -1.0, 0.0, 0.5, 1.0, 2.0], [0, 0, 1, 0, 1, 1]
    >>> fitted = calib.calibrator("platt").fit([[0.0, s] for s in log_odds], labels)
    >>> "EXP(-" in to_sql(fitted, "risk", kind="binary_log_odds")
    True
    """
    from calib.export.sql import expression

    return expression(exported(calibrator, metadata), column)


def _pickle(exported: ExportedCalibrator) -> bytes:
    content = pickle.dumps(exported, protocol=4)
    if len(content) > LARGEST:
        raise CalibrationError(
            f"The calibrator carries {len(content) / 1e9:.1f} GB, and an export holds up to {LARGEST / 1e9:.1f} GB; "
            "fit it with a smaller training set, or with a reduction of it."
        )
    return content


def _onnx(exported: ExportedCalibrator, dtype: str = "float32") -> bytes:
    check_onnx()
    from calib.export.onnx_model import to_model

    model: bytes = to_model(exported, dtype).SerializeToString(deterministic=True)
    return model


def _torch(exported: ExportedCalibrator) -> str:
    from calib.export.torch_module import torch_source

    return torch_source(exported)


def _sql(exported: ExportedCalibrator) -> str:
    from calib.export.sql import script

    return script(exported)


def bundle_bytes(exported: ExportedCalibrator) -> bytes:
    """The bytes of a zip of the model card, the calibrator and the script that runs it."""
    return zipped(
        {MODEL_CARD: model_card(exported).encode(), NPZ: npz_bytes(exported), SCRIPT: script()}
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


def script() -> bytes:
    """Source of the script that runs an npz."""
    return Path(predict.__file__).read_bytes()


_WRITERS: dict[str, Callable[[ExportedCalibrator], bytes | str]] = {
    "zip": bundle_bytes,
    "npz": npz_bytes,
    "pkl": _pickle,
    "onnx": _onnx,
    "onnx64": partial(_onnx, dtype="float64"),
    "py": _torch,
    "sql": _sql,
}
