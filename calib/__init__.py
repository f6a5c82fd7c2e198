"""Find out whether a classifier's confidence can be trusted, and calibrate it.

- Data: ``load`` (files, tables, arrays), ``from_outputs``, ``load_models``, ``logits``; ``Predictions``.
- Calibrators: ``calibrator(name)``, ``METHODS``; ``Calibrator``, ``geometry``.
- Judgement: ``ece``, ``scores``, ``compare``, ``compare_methods``, ``reliability_curve``, ``find_groups``, ``metrics``;
  ``Comparison``, ``ReliabilityCurve``.
- What follows: ``decisions``, ``report``, ``open_app``, ``export``, ``runtime``.
- Errors: ``CalibrationError``, ``FitCancelled``; of data ``DataError``, ``AmbiguousTable``.

``import calib`` loads NumPy alone; everything else is imported when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from calib import decisions, export, metrics
    from calib.arrays import logits
    from calib.base import Calibrator
    from calib.calibrators import geometric as geometry
    from calib.cli.open_app import open_app
    from calib.data import Predictions, load, load_models
    from calib.data.load import from_outputs
    from calib.diagnostics.find_groups import find_groups
    from calib.diagnostics.reliability import ReliabilityCurve, reliability_curve
    from calib.errors import AmbiguousTable, CalibrationError, DataError, FitCancelled
    from calib.evaluation.compare import Comparison, compare, compare_methods
    from calib.evaluation.scoring import ece, scores
    from calib.export import runtime
    from calib.registry import METHODS
    from calib.reporting.make import report
    from calib.typed import calibrator

__version__ = "0.1.0"

_NAMES = {
    "AmbiguousTable": "errors",
    "CalibrationError": "errors",
    "Calibrator": "base",
    "Comparison": "evaluation.compare",
    "DataError": "errors",
    "FitCancelled": "errors",
    "METHODS": "registry",
    "Predictions": "data",
    "ReliabilityCurve": "diagnostics.reliability",
    "calibrator": "registry",
    "compare": "evaluation.compare",
    "compare_methods": "evaluation.compare",
    "ece": "evaluation.scoring",
    "find_groups": "diagnostics.find_groups",
    "from_outputs": "data.load",
    "load": "data",
    "load_models": "data",
    "logits": "arrays",
    "open_app": "cli.open_app",
    "reliability_curve": "diagnostics.reliability",
    "report": "reporting.make",
    "scores": "evaluation.scoring",
}
_MODULES = {
    "decisions": "decisions",
    "export": "export",
    "geometry": "calibrators.geometric",
    "metrics": "metrics",
    "runtime": "export.runtime",
}

__all__ = [
    "METHODS",
    "AmbiguousTable",
    "CalibrationError",
    "Calibrator",
    "Comparison",
    "DataError",
    "FitCancelled",
    "Predictions",
    "ReliabilityCurve",
    "calibrator",
    "compare",
    "compare_methods",
    "decisions",
    "ece",
    "export",
    "find_groups",
    "from_outputs",
    "geometry",
    "load",
    "load_models",
    "logits",
    "metrics",
    "open_app",
    "reliability_curve",
    "report",
    "runtime",
    "scores",
]


def __getattr__(name: str) -> Any:
    if name in _NAMES:
        return getattr(import_module(f"calib.{_NAMES[name]}"), name)
    if name in _MODULES:
        return import_module(f"calib.{_MODULES[name]}")
    raise AttributeError(f"module 'calib' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, "__version__", "__doc__", "__all__"]
