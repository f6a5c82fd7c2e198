"""Save a fitted calibrator to files, load it with NumPy alone, and write it in other languages.

The names below are loaded when first used, because a bundle carries this package without their modules.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from calib.export.sql import to_sql
    from calib.export.torch_module import to_torch
    from calib.export.writer import describe, exported, resume, save, to_bundle, to_npz_json, to_pickle

__all__ = ["describe", "exported", "resume", "save", "to_bundle", "to_npz_json", "to_pickle", "to_sql", "to_torch"]

_HOMES = {"to_sql": "sql", "to_torch": "torch_module"}


def __getattr__(name: str) -> Any:
    if name in __all__:
        return getattr(import_module(f"calib.export.{_HOMES.get(name, 'writer')}"), name)
    raise AttributeError(f"module 'calib.export' has no attribute {name!r}")
