"""A small pool of simulated clusters."""

from __future__ import annotations

import numpy as np
import pytest

from calib.active_learning import Pool


def simulated_pool(n: int = 400, n_test: int = 200, n_classes: int = 3, seed: int = 0, spread: float = 1.2) -> Pool:
    """Simulated Gaussian clusters that overlap, so that some rows stay unsure."""
    generator = np.random.default_rng(seed)
    centres = generator.normal(size=(n_classes, 4)) * 2
    labels = generator.integers(n_classes, size=n + n_test)
    features = centres[labels] + spread * generator.normal(size=(n + n_test, 4))
    return Pool(features[:n], labels[:n], features[n:], labels[n:], n_classes)


@pytest.fixture(scope="session")
def pool() -> Pool:
    return simulated_pool()
