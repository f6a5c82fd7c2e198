"""Strategies of active learning, their settings, and the uncertainty that they ask by."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from calib.active_learning.classifiers import CLASSIFIERS
from calib.errors import CalibrationError
from calib.numerics import Floats
from calib.parameters import check_declared, param
from calib.registry import METHODS, calibrator


def normalised_entropy(probs: Floats) -> Floats:
    """``- sum_k p_k ln p_k / ln K`` of each row, shape (n,) (Wenger et al. 2020, section 5; Settles 2010)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(probs > 0, probs * np.log(probs), 0.0)
    return np.abs(terms.sum(axis=1)) / np.log(probs.shape[1])


CALIBRATORS = tuple(
    name for name, method in METHODS.items() if name != "identity" and not method.needs
)
"""What can calibrate along the way: all that is fitted to outputs and labels alone."""


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Settings that all arms share; the defaults are those of Wenger et al. (2020), section 5, where it has any.

    The paper names the size of calibration batches (250) and that they are regularly spaced, not how far apart.

    Attributes
    ----------
    classifier : str
        What learns.
    calibrator : str
        Calibrator of the arms that calibrate.
    params : dict of str to object
        Parameters of the calibrator.
    threshold : float
        Labels are asked only of rows with a larger normalised entropy.
    pretraining : int
        Rows labelled before the first question, whatever their uncertainty.
    batch : int
        Labels asked at a time.
    budget : int or None
        Most labels to ask after pre-training; None for no end.
    every : int
        At set points: each so many batches one goes to calibration, the first too.
    """

    classifier: str = param(
        "forest", choices=tuple(CLASSIFIERS), help="The classifier that learns."
    )
    calibrator: str = param(
        "gpcalib", choices=CALIBRATORS, help="The calibrator of the arms that calibrate."
    )
    params: dict[str, Any] = field(default_factory=dict)
    threshold: float = param(
        0.25,
        low=0.0,
        high=1.0,
        help="Labels are asked only of rows with a larger normalised entropy.",
    )
    pretraining: int = param(
        500, low=1, help="Rows labelled before the first question, whatever their uncertainty."
    )
    batch: int = param(250, low=1, help="Labels asked at a time.")
    budget: int | None = param(
        None, optional=True, help="Most labels to ask after pre-training; empty: no end."
    )
    every: int = param(
        4, low=1, help="At set points: each so many batches one goes to calibration, the first too."
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
            raise CalibrationError(
                f"budget={self.budget!r} must be a whole number of labels, 0 or more, or None."
            )
        calibrator(self.calibrator, **self.params)


@dataclass(frozen=True)
class Arm:
    """One way to spend labels.

    Attributes
    ----------
    title : str
        How pages call it.
    summary : str
        One sentence on what it does.
    calibrates : bool
        Whether the first batch after pre-training, and each ``plan.every``-th after it, goes to the calibrator (Wenger
        et al. 2020, section 5).
    """

    title: str
    summary: str
    calibrates: bool = False


ARMS = {
    "plain": Arm("Without calibration", "Every label trains the classifier."),
    "set_points": Arm(
        "Calibrated at set points",
        "Batches at regular intervals go to the calibrator, all others train.",
        calibrates=True,
    ),
}
"""By the name used in tables; the first is what the others are compared with."""
