"""One fit among many: what it says about the test rows, or why it could not."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from calib.base import Calibrator, Callback
from calib.errors import CalibrationError, FitCancelled
from calib.evaluation import Evaluation
from calib.registry import METHODS, calibrator, extras_for

if TYPE_CHECKING:
    from calib.data.predictions import Predictions

BASELINE = "identity"


@dataclass(frozen=True, eq=False)
class Attempt:
    """A fit with its verdict on the test rows; ``evaluation`` is None where it failed, and ``note`` says why."""

    evaluation: Evaluation | None
    fit_seconds: float = float("nan")
    note: str = ""


@dataclass(eq=False)
class Steps:
    """Counts the fits of a study, and lets it be cancelled between two fits and within each."""

    total: int
    callback: Callback
    done: int = 0

    def next(self) -> None:
        """One more fit is done."""
        self.done += 1
        self.callback(self.done, self.total, float("nan"))

    def within(self, step: int, total: int, value: float) -> None:
        """Callback of a single fit, whose own progress is none of the study's."""
        self.callback(self.done, self.total, float("nan"))


def attempt(method: Calibrator, calibration: Predictions, test: Predictions, steps: Steps) -> Attempt:
    """Fit a fresh copy of ``method`` and evaluate it; whatever goes wrong is a note, and only a cancellation passes."""
    try:
        fresh = type(method)(**method.get_params())
        start = time.perf_counter()
        extras = extras_for(fresh, calibration)
        fresh.fit(calibration.logits, calibration.labels, callback=steps.within, **extras)
        seconds = time.perf_counter() - start
        features = test.features if "features" in fresh.needs else None
        return Attempt(Evaluation.from_calibrator(fresh, test.logits, test.labels, features), seconds)
    except FitCancelled:
        raise
    except CalibrationError as error:
        return Attempt(None, note=str(error))
    except Exception as error:
        return Attempt(None, note=f"{type(error).__name__}: {error}")


def with_baseline(calibrators: Mapping[str, Calibrator]) -> dict[str, Calibrator]:
    """The raw model first, then the others."""
    return {BASELINE: calibrator(BASELINE), **calibrators}


def title_of(name: str) -> str:
    """How tables call a method: the registry's title of a registered name, else the name itself."""
    return METHODS[name].title if name in METHODS else name
