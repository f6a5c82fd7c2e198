"""Save a fitted calibrator to files, load it with NumPy alone, and write it in other languages.

The names of :mod:`calib.export.writer` are loaded when first used, because a bundle carries this package without it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from calib.export.writer import (
        behind,
        describe,
        exported,
        resume,
        save,
        to_bundle,
        to_mlflow,
        to_npz_json,
        to_onnx,
        to_pickle,
        to_sql,
        to_torch,
    )

__all__ = [
    "behind",
    "describe",
    "exported",
    "resume",
    "save",
    "to_bundle",
    "to_mlflow",
    "to_npz_json",
    "to_onnx",
    "to_pickle",
    "to_sql",
    "to_torch",
]


def __getattr__(name: str) -> Any:
    if name in __all__:
        return getattr(import_module("calib.export.writer"), name)
    raise AttributeError(f"module 'calib.export' has no attribute {name!r}")
