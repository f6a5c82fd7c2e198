"""Tables and outputs of real models, and the numbers that other programs made of them."""

from __future__ import annotations

import csv
import json
from functools import cache
from typing import Any

import numpy as np

from tests.conftest import REFERENCE

COLUMNS = {"credit": ("pd", "default"), "breast": ("risk", "malignant"), "breast_extreme": ("risk", "malignant"),
           "llm": ("confidence", "correct")}  # fmt: skip
"""Where a table has the predicted risk and the outcome."""


@cache
def table(name: str) -> dict[str, np.ndarray]:
    """The columns of a table, as text."""
    with (REFERENCE / "data" / f"{name}.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    return {column: np.array([row[column] for row in rows]) for column in rows[0]}


def risks(name: str) -> tuple[np.ndarray, np.ndarray]:
    """The predicted risks of a table and whether the event happened."""
    risk, event = (table(name)[column] for column in COLUMNS[name])
    return risk.astype(float), np.isin(event, ["1", "true"])


def known(name: str) -> Any:
    """Numbers of other programs."""
    return json.loads((REFERENCE / "numbers" / f"{name}.json").read_text(encoding="utf-8"))


def cifar(
    n_classes: int, n_first: int = 1000, model: str = "wideresnet-16-4"
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Probabilities and labels of a network for CIFAR: the first rows of a permutation, and the others."""
    with np.load(REFERENCE / "data" / f"{model}-cifar-{n_classes}.npz") as file:
        probs, labels = file["predictions"].astype(float), file["ground_truth"].ravel().astype(int)
    order = np.random.RandomState(0).permutation(len(labels))
    return [(probs[rows], labels[rows]) for rows in (order[:n_first], order[n_first:])]
