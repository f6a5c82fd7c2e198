"""What all tests share: seeded data, and the reference material where it is present."""

from __future__ import annotations

import os
from pathlib import Path

# One BLAS thread: on small matrices two threads are slower, and tests run side by side.
for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
# Tests leave the workspace of whoever runs them alone; those of the workspace have folders of their own.
os.environ["CALIB_WORKSPACE"] = "off"

import numpy as np
import pytest
from hypothesis import settings

# The same examples in every run, and no deadline: a busy machine is no failure.
# HYPOTHESIS_PROFILE=default searches anew.
settings.register_profile("steady", derandomize=True, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "steady"))

ROOT = Path(__file__).resolve().parents[1]
SHARED = ROOT.parent / "shared"


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


def simulate(n: int = 400, n_classes: int = 4, scale: float = 2.0, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Simulated logits that are overconfident by ``scale``: labels come from softmax(logits / scale)."""
    generator = np.random.default_rng(seed)
    logits = generator.normal(size=(n, n_classes)) * 1.5
    gumbel = generator.gumbel(size=(n, n_classes))
    return logits * scale, np.argmax(logits + gumbel, axis=1)


@pytest.fixture(scope="session")
def overconfident() -> tuple[np.ndarray, np.ndarray]:
    return simulate()


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Folder of real CNN outputs; tests that use it skip where it is not present."""
    if not (SHARED / "data").is_dir():
        pytest.skip("the reference material is not present")
    return SHARED / "data"
