"""The table that tests of every format carry, and what is to come out of it."""

from __future__ import annotations

import numpy as np

from calib.data import Inspection
from calib.numerics import softmax
from tests.data.conftest import simulated

LOGITS, LABELS = simulated(n=240, n_classes=3)
PROBS = softmax(LOGITS)
NAMES = ("cat", "dog", "emu")


def check_read(
    found: Inspection, class_names: tuple[str, ...] = ("0", "1", "2"), within: float = 1e-9
) -> None:
    """The probabilities, or logits of them, came out with their labels."""
    data = found.predictions
    assert data is not None, found.findings
    probs = (
        softmax(np.asarray(data.logits, float)) if data.kind == "logits" else np.exp(data.logits)
    )
    np.testing.assert_allclose(probs, PROBS, atol=within)
    np.testing.assert_array_equal(data.labels, LABELS)
    assert data.class_names == class_names
