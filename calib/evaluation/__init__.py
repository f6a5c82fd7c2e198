"""A fitted method on a test set: scores with intervals, the comparison, the verdict, repeated splits."""

from calib.evaluation.evaluation import Evaluation, evaluate, gives_probabilities
from calib.evaluation.score_registry import SCORES, Score, score_intervals, scores

__all__ = [
    "SCORES",
    "Evaluation",
    "Score",
    "evaluate",
    "gives_probabilities",
    "score_intervals",
    "scores",
]
