"""Fits on simulated rows, shared by the tests of what a latent function does."""

from __future__ import annotations

import pytest

from calib.calibrators.gpcalib import GPCalib
from tests.conftest import simulate


@pytest.fixture(scope="session")
def data():
    return simulate(1500, 4)


@pytest.fixture(scope="session")
def fitted(data):
    return {inputs: GPCalib(inputs=inputs).fit(*data) for inputs in ("logits", "probs")}


@pytest.fixture(params=["logits", "probs"])
def calibrator(request, fitted):
    return fitted[request.param]
