"""From a calibrator and a test set to scores with intervals: ``Evaluation`` first, numbers from it."""

from calib.evaluation.bootstrap import paired_differences, score_intervals
from calib.evaluation.evaluation import Evaluation, evaluate, gives_probabilities
from calib.evaluation.scores import SCORES, Score, scores

__all__ = [
    "SCORES",
    "Evaluation",
    "Score",
    "evaluate",
    "gives_probabilities",
    "paired_differences",
    "score_intervals",
    "scores",
]
