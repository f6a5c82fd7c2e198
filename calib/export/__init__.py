"""Save a fitted calibrator to files, load it with NumPy alone, and write it in other languages.

Names are loaded when first used: loading a calibrator needs none of the files that write.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from calib.export.writer import save, to_onnx, to_sql

__all__ = ["save", "to_onnx", "to_sql"]


def __getattr__(name: str) -> Any:
    if name in __all__:
        return getattr(import_module("calib.export.writer"), name)
    raise AttributeError(f"module 'calib.export' has no attribute {name!r}")
