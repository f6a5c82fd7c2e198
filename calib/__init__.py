"""Find out whether a classifier's confidence can be trusted, and calibrate it.

``import calib`` loads NumPy alone; everything else is imported when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

# At once, not on first use: the module of the same name would take the function's place.
from calib.evaluation.compare import compare

if TYPE_CHECKING:
    from calib import geometry, metrics
    from calib.base import Calibrator
    from calib.data import Predictions, load
    from calib.diagnostics.reliability import ReliabilityCurve, reliability_curve
    from calib.errors import CalibrationError, DataError, FitCancelled
    from calib.export import runtime, writer
    from calib.registry import METHODS, calibrator

__version__ = "0.1.0"

_HOMES = {
    "CalibrationError": "base",
    "Calibrator": "base",
    "FitCancelled": "base",
    "METHODS": "registry",
    "calibrator": "registry",
    "DataError": "errors",
    "Predictions": "data",
    "load": "data",
    "ReliabilityCurve": "reliability",
    "reliability_curve": "reliability",
}
_MODULES = ("export", "geometry", "metrics", "runtime")

__all__ = [
    "METHODS",
    "CalibrationError",
    "Calibrator",
    "DataError",
    "FitCancelled",
    "Predictions",
    "ReliabilityCurve",
    "calibrator",
    "compare",
    "export",
    "geometry",
    "load",
    "metrics",
    "reliability_curve",
    "runtime",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"calib.{_HOMES[name]}"), name)
    if name in _MODULES:
        return import_module(f"calib.{name}")
    raise AttributeError(f"module 'calib' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
