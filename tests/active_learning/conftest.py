"""A small pool of simulated clusters."""

from __future__ import annotations

import numpy as np
import pytest

from calib.active_learning.simulation import Pool


@pytest.fixture(scope="session")
def pool() -> Pool:
    """Simulated Gaussian clusters that overlap, so that some rows stay unsure."""
    generator = np.random.default_rng(0)
    centres = generator.normal(size=(3, 4)) * 2
    labels = generator.integers(3, size=600)
    features = centres[labels] + 1.2 * generator.normal(size=(600, 4))
    return Pool(features[:400], labels[:400], features[400:], labels[400:], 3)
