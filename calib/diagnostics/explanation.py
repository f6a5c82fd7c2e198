"""Why one input has the separation it has."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from calib.calibrators.geometric.pruning import exact
from calib.calibrators.geometric.training_set import TrainingSet


@dataclass(frozen=True)
class Explanation:
    """What decides the separations of one input; rows are of the training set, None where there is none.

    Attributes
    ----------
    same, other : distance (L2) to the nearest training input of the predicted class, and of another class.
    same_row, other_row : their rows.
    fast, exact : the separations.
    deciding_same_row, deciding_other_row : the pair x', x'' that gives the exact value: the plane half-way between
        them bounds the zone.
    """

    same: float
    other: float
    same_row: int | None
    other_row: int | None
    fast: float
    exact: float
    deciding_same_row: int | None
    deciding_other_row: int | None

    @property
    def safe(self) -> bool:
        """Whether the nearest training input is of the predicted class (definition 1); a tie is dangerous."""
        return self.fast > 0


def explain(train_features: Any, train_labels: Any, feature: Any, predicted: int) -> Explanation:
    """Say what decides the separations of one input.

    Parameters
    ----------
    train_features : (N, ...) numbers; images are flattened.
    train_labels : (N,) integers.
    feature : (...) one input.
    predicted : the class predicted for it.
    """
    return explain_among(TrainingSet.of(train_features, train_labels), feature, predicted)


def explain_among(training: TrainingSet, feature: Any, predicted: int) -> Explanation:
    """The same for a training set that is ready to be searched."""
    found = exact(training, *training.queries(np.asarray(feature).reshape(1, -1), np.array([predicted])))
    rows = (found.nearest.same_row, found.nearest.other_row, found.same_row, found.other_row)
    same_row, other_row, deciding_same, deciding_other = (int(row[0]) if row[0] >= 0 else None for row in rows)
    return Explanation(
        same=float(found.nearest.same[0]),
        other=float(found.nearest.other[0]),
        same_row=same_row,
        other_row=other_row,
        fast=float(found.nearest.fast[0]),
        exact=float(found.separation[0]),
        deciding_same_row=deciding_same,
        deciding_other_row=deciding_other,
    )
