"""What a file says that a calibrator learned: taken on where it gives probabilities, and refused in a sentence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest

from calib.base import KEEPS_ACCURACY, Calibrator
from calib.errors import CalibrationError
from calib.numerics import softmax
from calib.parameters import MOST_CLASSES
from tests.conftest import simulate


@dataclass(eq=False, repr=False, kw_only=True)
class Shifted(Calibrator):
    """A bias for each class."""

    traits: ClassVar[frozenset[str]] = Calibrator.traits | {KEEPS_ACCURACY}

    def _fit(self, logits: Any, labels: Any, *, progress: Any) -> None:
        self.bias_ = np.zeros(logits.shape[1])

    def _predict(self, logits: Any) -> Any:
        return softmax(logits + self.bias_)

    def notes(self) -> list[str]:
        return [self.note_] if hasattr(self, "note_") else []


@pytest.fixture
def state() -> dict[str, Any]:
    return Shifted().fit(*simulate(20)).get_state()


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"bias_": np.array([0.0, np.nan, 0.0, 0.0])}, "do not lie between 0 and 1"),
        ({"bias_": np.full(4, np.inf)}, "FloatingPointError|between 0 and 1"),
        ({"bias_": np.zeros(3)}, "ValueError"),
        ({"bias_": "zeros"}, "TypeError|UFunc"),
        ({"bias_": np.array([0.0, 0.5, 0.0, 0.0])}, "changes predictions"),
        ({"note_": 3}, "its notes are no sentences"),
        ({"n_classes_": True}, "whole number"),
        ({"n_classes_": MOST_CLASSES + 1}, "whole number"),
        ({"predict": 1}, "names that end in _"),
        ({"__class__": Shifted}, "names that end in _"),
        ({"_hidden_": 1}, "names that end in _"),
    ],
)
def test_what_no_fit_can_have_learned_is_refused_in_a_sentence(state, wrong, says):
    with pytest.raises(CalibrationError, match=rf"cannot be used: [^\n]*({says})[^\n]*\.$"):
        Shifted().set_state({**state, **wrong})


def test_what_is_missing_or_no_dictionary_is_refused(state):
    for wrong in ({"n_classes_": 4}, [], None):
        with pytest.raises(CalibrationError, match="cannot be used"):
            Shifted().set_state(wrong)
