"""What a file says that a calibrator learned is taken on only where the calibrator then gives probabilities.

Anybody can write a file with a right checksum. So a few rows, extreme ones among them, must come out as probabilities
that hold what the method promises. The same check stands before every file that is written.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from calib.errors import CalibrationError
from calib.numerics import Floats, argmax_with_ties
from calib.parameters import shown, unusable

if TYPE_CHECKING:
    from calib.base import Calibrator

MOST_CLASSES = 1_000_000
"""Classes of a stored calibrator, above which its file is taken as damaged."""


def check_names(state: Any) -> Mapping[str, Any]:
    """A stored state, whose names must be those of learned attributes: they end in an underscore."""
    if not isinstance(state, Mapping) or not all(
        isinstance(name, str) and name.endswith("_") and not name.startswith("_") for name in state
    ):
        raise unusable("what it learned must be a dictionary of names that end in _")
    return state


def check_learned(calibrator: Calibrator) -> None:
    """Raise :class:`CalibrationError` where a calibrator with what it learned gives no probabilities."""
    n_classes = vars(calibrator).get("n_classes_")
    if type(n_classes) is not int or not 2 <= n_classes <= MOST_CLASSES:
        raise unusable("n_classes_ must be a whole number from 2 upwards")
    try:
        with np.errstate(invalid="raise", divide="raise", over="raise"):
            calibrator._try_state(trial_rows(n_classes))
            notes = calibrator.notes()
    except CalibrationError:
        raise
    except Exception as error:  # whatever a changed file makes of the arithmetic
        raise unusable(f"predicting ends in {type(error).__name__}: {shown(str(error))}") from error
    if not all(isinstance(note, str) for note in notes):
        raise unusable("its notes are no sentences")


def check_probs(calibrator: Calibrator, probs: Floats, logits: Floats) -> None:
    """Raise :class:`CalibrationError` where these are no probabilities, or break a promise of the method."""
    promised = calibrator.promises(logits.shape[1])
    if not (np.all(probs >= 0) and np.all(probs <= 1 + 1e-9) and probs.dtype == np.float64):  # NaN is neither
        raise unusable("its probabilities do not lie between 0 and 1")
    if "rows sum to one" in promised and not np.allclose(probs.sum(axis=1), 1, atol=1e-6):
        raise unusable("its probabilities do not sum to one")
    if "keeps accuracy" in promised and not np.array_equal(argmax_with_ties(probs, logits), np.argmax(logits, axis=1)):
        raise unusable("it changes predictions, which this method never does")


def trial_rows(n_classes: int) -> Floats:
    """A few rows on which a stored calibrator must give probabilities: ties, usual and extreme logits."""
    rows = np.zeros((6, n_classes))
    rows[1:5, 0] = 1.0, -3.0, 40.0, 1e6
    rows[5] = np.linspace(4.0, -4.0, n_classes)
    return rows
