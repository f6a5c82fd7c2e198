"""Calibrators, one file or package each; classes are imported when first used, and importing one loads NumPy alone."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from calib.registry import METHODS

_MODULES = dict(method.where.split(":")[::-1] for method in METHODS.values())
"""The module of each class."""

__all__ = [*_MODULES]


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'calib.calibrators' has no attribute {name!r}")
    return getattr(import_module(f"calib.calibrators.{_MODULES[name]}"), name)
