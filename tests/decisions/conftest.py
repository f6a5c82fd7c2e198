"""Tables and outputs of real models, and the numbers that other programs made of them."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

COLUMNS = {"credit": ("pd", "default"), "breast": ("risk", "malignant"), "llm": ("confidence", "correct")}
"""Where a table has the predicted risk and the outcome."""


@pytest.fixture
def table(reference_data) -> Callable[[str], dict[str, list[str]]]:
    """The columns of a table, as text."""

    def read(name: str) -> dict[str, list[str]]:
        with (reference_data / f"{name}.csv").open(encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        return {column: [row[column] for row in rows] for column in rows[0]}

    return read


@pytest.fixture
def risks(table) -> Callable[[str], tuple[np.ndarray, np.ndarray]]:
    """The predicted risks of a table and whether the event happened."""

    def read(name: str) -> tuple[np.ndarray, np.ndarray]:
        risk, event = (table(name)[column] for column in COLUMNS[name])
        return np.array(risk, dtype=float), np.isin(event, ["1", "true"])

    return read


@pytest.fixture
def known(reference_data) -> Callable[[str], Any]:
    """Numbers of other programs."""

    def read(name: str) -> Any:
        return json.loads((reference_data.parent / "numbers" / f"{name}.json").read_text(encoding="utf-8"))

    return read


@pytest.fixture
def cifar(reference_data) -> Callable[..., list[tuple[np.ndarray, np.ndarray]]]:
    """Probabilities and labels of a WideResNet for CIFAR: the first rows of a permutation, and the others."""

    def read(n_classes: int, n_first: int = 1000) -> list[tuple[np.ndarray, np.ndarray]]:
        with np.load(reference_data / f"wideresnet-16-4-cifar-{n_classes}.npz") as file:
            probs, labels = file["predictions"].astype(float), file["ground_truth"].ravel().astype(int)
        order = np.random.RandomState(0).permutation(len(labels))
        return [(probs[rows], labels[rows]) for rows in (order[:n_first], order[n_first:])]

    return read
