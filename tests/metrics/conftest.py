"""Pairs of confidences and outcomes that any property must hold for, and simulated probabilities."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import strategies as st

from calib import metrics
from calib.numerics import softmax

rows = st.lists(
    st.tuples(st.one_of(st.sampled_from([0.0, 0.5, 1.0]), st.floats(0.0, 1.0)), st.booleans()),
    min_size=1,
    max_size=60,
)
binnings = st.sampled_from(sorted(metrics.binning.BINNINGS))


def pair(rows: list[tuple[float, bool]]) -> tuple[np.ndarray, np.ndarray]:
    return np.array([c for c, _ in rows]), np.array([r for _, r in rows])


@pytest.fixture
def sample(overconfident):
    logits, labels = overconfident
    return softmax(logits), labels
