"""Scores whose distortion is known, real outputs of networks, and a pretended GPU."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from scipy.special import expit

from calib.base import Calibrator
from calib.calibrators import backend
from tests.conftest import REFERENCE


def binary(
    n: int = 300, seed: int = 0, *, digits: int = 1, spread: float = 3.0, slope: float = 0.6
) -> tuple[np.ndarray, np.ndarray]:
    """Log-odds, by default rounded to ties, and labels of which ``expit(slope * log_odds - 0.4)`` are 1."""
    generator = np.random.default_rng(seed)
    log_odds = np.round(spread * generator.normal(size=n), digits)
    return log_odds, (generator.random(n) < expit(slope * log_odds - 0.4)).astype(int)


def as_logits(log_odds: np.ndarray) -> np.ndarray:
    return np.stack([np.zeros_like(log_odds), log_odds], axis=1)


def learned(
    calibrator: Calibrator, log_odds: np.ndarray, labels: np.ndarray, test: np.ndarray
) -> np.ndarray:
    """Probabilities of class 1 after a fit."""
    return calibrator.fit(as_logits(log_odds), labels).predict_proba(as_logits(test))[:, 1]


NETWORKS = (
    pytest.param("lenet-5-cifar-10"),
    pytest.param("wideresnet-16-4-cifar-10"),
    pytest.param("wideresnet-16-4-cifar-100", marks=pytest.mark.long),
)
"""Cases of tests, of which those with a hundred classes are slow."""


@cache
def network(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Logits and labels of 10,000 test images, in the order in which the references took them."""
    with np.load(REFERENCE / "data" / f"{name}.npz") as file:
        probs, labels = file["predictions"].astype(float), file["ground_truth"].astype(int).ravel()
    order = np.random.RandomState(0).permutation(len(labels))
    return np.log(np.maximum(probs, np.finfo(float).tiny))[order], labels[order]


def split_of(name: str, n: int = 1000) -> tuple[np.ndarray, ...]:
    """Logits and labels of the first n rows of a network, and of all others."""
    logits, labels = network(name)
    return logits[:n], labels[:n], logits[n:], labels[n:]


@pytest.fixture
def pretend_gpu(monkeypatch):
    """A machine that says it has a GPU; what is placed on it runs on the CPU, in TensorFlow."""

    monkeypatch.setattr(backend, "gpu_present", lambda: True)
    monkeypatch.setattr(backend, "first_gpu", lambda: ("/CPU:0", "Test GPU"))
