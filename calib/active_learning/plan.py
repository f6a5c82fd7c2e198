"""What a simulation of active learning is to do, apart from its arm and its shuffle."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from calib.active_learning.classifiers import CLASSIFIERS
from calib.active_learning.uncertainty import UNCERTAINTY
from calib.errors import CalibrationError
from calib.parameters import check_declared, param
from calib.registry import METHODS, calibrator

CALIBRATORS = tuple(name for name, method in METHODS.items() if name != "identity" and not method.needs)
"""What can calibrate along the way: all that is fitted to outputs and labels alone."""


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Settings that all arms share; the defaults are those of Wenger et al. (2020), section 5, where it has any.

    The paper names the size of calibration batches (250) and that they are regularly spaced, not how far apart.
    """

    classifier: str = param("forest", choices=tuple(CLASSIFIERS), help="The classifier that learns.")
    calibrator: str = param("gpcalib", choices=CALIBRATORS, help="The calibrator of the arms that calibrate.")
    params: dict[str, Any] = field(default_factory=dict)
    uncertainty: str = param("entropy", choices=tuple(UNCERTAINTY), help="How unsure a prediction is, from 0 to 1.")
    threshold: float = param(0.25, low=0.0, high=1.0, help="Labels are asked only of rows more unsure than this.")
    first: str = param(
        "arrival",
        choices=("arrival", "most_unsure"),
        help="Which of the unsure rows a batch takes: the first to come in the shuffled pool, or the most unsure.",
    )
    pretraining: int = param(500, low=1, help="Rows labelled before the first question, whatever their uncertainty.")
    batch: int = param(250, low=1, help="Labels asked at a time.")
    budget: int | None = param(None, optional=True, help="Most labels to ask after pre-training; empty: no end.")
    every: int = param(4, low=1, help="At set points: each so many batches one goes to calibration, the first too.")
    tolerance: float = param(
        0.05,
        low=0.0,
        high=0.5,
        help="Active calibration: calibrate while the confidence of the rows to ask about is less sure than this.",
    )
    calibrate_on: str = param(
        "unsure",
        choices=("unsure", "any"),
        help="Rows that calibration batches take: unsure ones as in the paper, or any of the pool.",
    )

    def __post_init__(self) -> None:
        """Refuse values out of range.

        Raises
        ------
        CalibrationError
            Naming the setting, and what it may be.
        """
        check_declared(self)
        if self.budget is not None and (type(self.budget) is not int or self.budget < 0):
            raise CalibrationError(f"budget={self.budget!r} must be a whole number of labels, 0 or more, or None.")
        calibrator(self.calibrator, **self.params)
