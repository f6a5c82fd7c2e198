"""Geometric separation: where an input lies among the training data, whatever the model says of it.

Chouraqui et al., Uncertainty Estimation based on Geometric Separation, 2023. F is the training inputs of the class
predicted for x, O all others.
"""

from calib.geometry.explanation import Explanation, explain, explain_among
from calib.geometry.neighbours import DISTANCES, Nearest, nearest
from calib.geometry.pruning import Exact, exact
from calib.geometry.reductions import REDUCTIONS, Reduced, reduce_training
from calib.geometry.separation import exact_separation, fast_separation
from calib.geometry.training_set import TrainingSet

__all__ = [
    "DISTANCES",
    "REDUCTIONS",
    "Exact",
    "Explanation",
    "Nearest",
    "Reduced",
    "TrainingSet",
    "exact",
    "exact_separation",
    "explain",
    "explain_among",
    "fast_separation",
    "nearest",
    "reduce_training",
]
