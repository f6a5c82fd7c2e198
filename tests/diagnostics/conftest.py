"""Two GPcalib fits on simulated rows, a temperature with its exports, and evaluations of given pairs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pytest

import calib
from calib.base import Calibrator
from calib.calibrators.gpcalib import GPCalib
from calib.data.predictions import Predictions
from calib.evaluation import Evaluation
from calib.export import provenance, writer
from tests.conftest import simulate


def evaluation(confidence: npt.ArrayLike, correct: npt.ArrayLike) -> Evaluation:
    right = np.asarray(correct, bool)
    return Evaluation(
        np.asarray(confidence, float), right, np.zeros(len(right), int), 1 - right.astype(int), 2
    )


@pytest.fixture(scope="session")
def data():
    return simulate(600, 4)


@pytest.fixture(scope="session")
def fitted(data):
    return {inputs: GPCalib(inputs=inputs).fit(*data) for inputs in ("logits", "probs")}


@pytest.fixture(params=["logits", "probs"])
def calibrator(request, fitted):
    return fitted[request.param]


NAMES = ("cat", "dog", "hen", "owl")


@dataclass(frozen=True, eq=False)
class Made:
    """A fit with its files and its data."""

    calibrator: Calibrator
    data: Predictions
    exported: calib.runtime.ExportedCalibrator
    npz: bytes


@pytest.fixture(scope="session")
def made() -> Made:
    data = Predictions(*simulate(n=1200), NAMES, sha256="of the data")
    fitted = calib.calibrator("temperature").fit(data)
    exported = provenance.exported(fitted)
    return Made(fitted, data, exported, writer.to_bytes("npz", exported))
