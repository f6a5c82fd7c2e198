"""Fast and exact geometric separation (Chouraqui et al. 2023)."""

from __future__ import annotations

from typing import Any

from calib.calibrators.geometric.neighbours import nearest
from calib.calibrators.geometric.pruning import exact
from calib.calibrators.geometric.training_set import TrainingSet
from calib.numerics import Floats


def fast_separation(
    train_features: Any, train_labels: Any, features: Any, predicted: Any, distance: str = "l2"
) -> Floats:
    """Half the difference of the distances to the other classes and to the predicted one (definition 5).

    Its absolute value is the radius of a ball in which the nearest class stays as it is, under any metric
    (proposition 2). Positive inputs are safe, all others dangerous.

    Parameters
    ----------
    train_features : (N, ...) numbers; images are flattened. Distances are taken in their precision.
    train_labels : (N,) integers, the true class of each.
    features : (n, ...) the inputs.
    predicted : (n,) integers, the class the model predicts for each.
    distance : "l2", "l1" or "linf".

    Returns
    -------
    (n,) float64; -inf where the predicted class is not in the training set, +inf where no other one is.

    Raises
    ------
    CalibrationError
        If an array is not usable; the message says what to change.
    """
    training = TrainingSet.from_arrays(train_features, train_labels)
    return nearest(training, *training.queries(features, predicted), distance).fast


def exact_separation(train_features: Any, train_labels: Any, features: Any, predicted: Any) -> Floats:
    """Radius (L2) of a ball in which the nearest class stays as it is, negative for dangerous inputs (definition 4).

    The minimum over x'' of another class of the maximum over x' of the predicted class of
    (d²(x, x'') - d²(x, x')) / (2 d(x', x'')); pairs at zero distance are left out. It has the sign of fast separation
    and is no smaller in absolute value. With several x' it may fall short of the largest such ball, which the paper
    says it is (proposition 1): beyond the plane of one x', another x' may still be nearer than x''.

    Parameters and result are as for :func:`fast_separation`.
    """
    training = TrainingSet.from_arrays(train_features, train_labels)
    return exact(training, *training.queries(features, predicted)).separation
