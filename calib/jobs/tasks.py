"""The functions that workers run, named by reference in the messages sent to them."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from calib.base import Calibrator, Callback
from calib.registry import calibrator


def fit_calibrator(
    method: str, params: Mapping[str, Any], *, data: Mapping[str, Any], callback: Callback
) -> Calibrator:
    """Fit a registered method on ``data``: ``logits``, ``labels`` and the arrays the method needs."""
    return calibrator(method, **params).fit(**data, callback=callback)


def import_modules(names: tuple[str, ...], *, data: Mapping[str, Any], callback: Callback) -> None:
    """Import modules that the first fit would otherwise wait for."""
    for name in names:
        import_module(name)
