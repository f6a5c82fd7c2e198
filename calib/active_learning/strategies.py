"""Strategies of active learning, their settings, and the uncertainty that they ask by."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from calib.active_learning.classifiers import CLASSIFIERS
from calib.base import Calibrator
from calib.calibrators.gpcalib import GPCalib
from calib.diagnostics.latent import under_each_draw
from calib.errors import CalibrationError
from calib.numerics import Floats
from calib.parameters import check_declared, param
from calib.registry import METHODS, calibrator


def normalised_entropy(probs: Floats) -> Floats:
    """``- sum_k p_k ln p_k / ln K`` of each row, shape (n,) (Wenger et al. 2020, section 5; Settles 2010)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(probs > 0, probs * np.log(probs), 0.0)
    return np.abs(terms.sum(axis=1)) / np.log(probs.shape[1])


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
    threshold: float = param(
        0.25, low=0.0, high=1.0, help="Labels are asked only of rows with a larger normalised entropy."
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


MOST_ROWS = 2000
"""Rows from which the uncertainty of the confidence is taken; more would not change a mean over them."""


@dataclass(frozen=True)
class StrategyState:
    """The state in which a strategy decides about the next batch.

    Attributes
    ----------
    n_batches : batches asked for so far.
    n_calibration : labels spent on calibration so far.
    calibrator : the calibrator as it stands, or None where these are none, or too few for it.
    logits : (n, n_classes) outputs of the classifier for the rows that the next batch would take.
    """

    n_batches: int
    n_calibration: int
    calibrator: Calibrator | None
    logits: Floats


@dataclass(frozen=True)
class Arm:
    """One way to spend labels.

    Attributes
    ----------
    title : how pages call it.
    summary : one sentence on what it does.
    calibrates : whether the next batch is spent on calibration; None for an arm that never does.
    asks_any : whether rows are taken as they come, however sure the classifier is of them.
    """

    title: str
    summary: str
    calibrates: Callable[[Plan, StrategyState], bool] | None = None
    asks_any: bool = False


def confidence_sd(calibrator: Calibrator, logits: Floats) -> float:
    """Root mean square, over rows, of the standard deviation of the confidence under the latent function's posterior.

    The confidence is the probability of the class with the largest logit; its standard deviation is taken over whole
    functions drawn from the posterior. It falls as calibration rows accumulate where the rows lie, and is large where
    the classifier says what it has not said on calibration rows.

    Parameters
    ----------
    calibrator : a fitted :class:`~calib.calibrators.gpcalib.GPCalib`.
    logits : (n, n_classes), n at least 1; of more than 2000 rows the first 2000 are taken.

    Raises
    ------
    CalibrationError
        For another calibrator, which has no latent function.
    """
    if not isinstance(calibrator, GPCalib):
        raise CalibrationError(
            "Active calibration is led by the uncertainty of a latent function, which only gpcalib has; choose "
            "gpcalib, or calibration at set points."
        )
    rows = logits[:MOST_ROWS]
    draws = under_each_draw(calibrator, rows, rows.argmax(axis=1))
    return float(np.sqrt(draws.var(axis=1, dtype=np.float64).mean()))


def at_set_points(plan: Plan, state: StrategyState) -> bool:
    """The first batch after pre-training, and each ``plan.every``-th after it (Wenger et al. 2020, section 5)."""
    return state.n_batches % plan.every == 0


def when_unsure(plan: Plan, state: StrategyState) -> bool:
    """While the confidence of the rows to ask about is less sure than ``plan.tolerance``.

    This is what Wenger et al. (2020, section 6 (c)) name active calibration and leave open: a switch between labels for
    training and for calibration "based on the uncertainty of the latent Gaussian process". In units of probability
    it needs no scale of its own: 0.05 says that calibrated confidences are known to 5 percentage points. Calibration
    rows that do not suffice for a fit are added to at set points, so that training goes on; and so where the latent
    function has collapsed to the prior mean, which says that they taught it nothing, and not that it is sure.
    """
    fitted = state.calibrator
    if fitted is None or (isinstance(fitted, GPCalib) and fitted.collapsed_):
        return state.n_calibration == 0 or at_set_points(plan, state)
    return confidence_sd(fitted, state.logits) > plan.tolerance


ARMS = {
    "plain": Arm("Without calibration", "Every label trains the classifier."),
    "set_points": Arm(
        "Calibrated at set points",
        "Batches at regular intervals go to the calibrator, all others train.",
        at_set_points,
    ),
    "active": Arm(
        "Active calibration", "A batch goes to the calibrator whenever its latent function is unsure.", when_unsure
    ),
    "random": Arm("Rows as they come", "Labels of rows in random order, sure or not, all to train on.", asks_any=True),
}
"""By the name used in tables; the first is what the others are compared with."""
