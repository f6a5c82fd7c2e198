"""Find out whether a classifier's confidence can be trusted, and calibrate it.

- Data: ``load`` (files, tables, arrays), ``from_outputs``, ``load_sample``,
  ``logits``; ``Predictions``.
- Calibrators: ``calibrator(name)``, ``METHODS``; ``Calibrator``.
- Judgement: ``audit``, ``ece``, ``scores``, ``compare``, ``reliability_curve``, ``find_groups``, ``metrics``;
  ``audit_tasks``; ``Audit``, ``Comparison``.
- What follows: ``decisions``, ``report``, ``open_app``, ``export``, ``runtime``.
- Errors: ``CalibrationError``, ``CalibrationWarning``, ``FitCancelled``; of data ``DataError``, ``AmbiguousTable``.

``import calib`` loads NumPy alone; everything else is imported when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from calib.formatting import Displayed

if TYPE_CHECKING:
    from calib import decisions, export, metrics
    from calib.auditing import Audit, audit
    from calib.auditing.compare import Comparison, compare
    from calib.base import Calibrator
    from calib.canonical import logits
    from calib.cli.app import open_app
    from calib.data import Predictions, load
    from calib.data.loading import from_outputs
    from calib.data.samples import load_sample
    from calib.diagnostics.find_groups import find_groups
    from calib.diagnostics.reliability import reliability_curve
    from calib.errors import (
        AmbiguousTable,
        CalibrationError,
        CalibrationWarning,
        DataError,
        FitCancelled,
    )
    from calib.evaluation.compare import scores
    from calib.export import runtime
    from calib.metrics import ece
    from calib.registry import METHODS
    from calib.reporting.make import report
    from calib.tasks import audit_tasks
    from calib.typed import calibrator

__version__ = "0.1.0"

_NAMES = {
    "auditing": ("Audit", "audit"),
    "auditing.compare": ("Comparison", "compare"),
    "base": ("Calibrator",),
    "canonical": ("logits",),
    "cli.app": ("open_app",),
    "data": ("Predictions", "load"),
    "data.loading": ("from_outputs",),
    "data.samples": ("load_sample",),
    "diagnostics.find_groups": ("find_groups",),
    "diagnostics.reliability": ("reliability_curve",),
    "errors": (
        "AmbiguousTable",
        "CalibrationError",
        "CalibrationWarning",
        "DataError",
        "FitCancelled",
    ),
    "evaluation.compare": ("scores",),
    "metrics.calibration_error": ("ece",),
    "registry": ("METHODS", "calibrator"),
    "reporting.make": ("report",),
    "tasks": ("audit_tasks",),
}
_MODULES = {
    "decisions": "decisions",
    "export": "export",
    "metrics": "metrics",
    "runtime": "export.runtime",
    "sklearn": "sklearn",
}

__all__ = [
    "METHODS",
    "AmbiguousTable",
    "Audit",
    "CalibrationError",
    "CalibrationWarning",
    "Calibrator",
    "Comparison",
    "DataError",
    "FitCancelled",
    "Predictions",
    "audit",
    "audit_tasks",
    "calibrator",
    "compare",
    "decisions",
    "ece",
    "export",
    "find_groups",
    "from_outputs",
    "load",
    "load_sample",
    "logits",
    "metrics",
    "open_app",
    "reliability_curve",
    "report",
    "runtime",
    "scores",
]


def _to_html(result: Any) -> str | None:
    """HTML of a result for a notebook; None where the extra ``report`` is not installed."""
    try:
        from calib.reporting.make import html_of
    except ModuleNotFoundError:
        return None
    return html_of(result)


Displayed.to_html = staticmethod(_to_html)


def __getattr__(name: str) -> Any:
    for module, names in _NAMES.items():
        if name in names:
            return getattr(import_module(f"calib.{module}"), name)
    if name in _MODULES:
        return import_module(f"calib.{_MODULES[name]}")
    raise AttributeError(f"module 'calib' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, "__version__", "__doc__", "__all__"]
