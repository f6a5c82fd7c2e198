"""What one calibrator says about a test set, reduced to vectors of length n."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from calib.base import Calibrator, argmax_with_ties, check_labels
from calib.errors import CalibrationError
from calib.evaluation.classwise import MAX_CLASSES, ClasswiseSums
from calib.metrics.confidence import Bools, check_pair, check_probs
from calib.metrics.scoring_rules import PROBABILITY_FLOOR, label_in_top_k, row_scores
from calib.numerics import MEMORY_ENTRIES, Floats, Ints, blocks

TOP_K = 5


@dataclass(frozen=True, eq=False)
class Evaluation:
    """One calibrator on one test set, without the (n, n_classes) probabilities.

    Attributes
    ----------
    confidence : (n,) confidence in the predicted class.
    correct : (n,) whether the prediction is right.
    predicted, labels : (n,) classes.
    n_classes : number of columns.
    row_nll, row_brier : (n,) scores of each row; None where the method gives a confidence only.
    top5 : (n,) whether the label is among the five most probable; None for such methods and up to 5 classes.
    n_clipped : rows whose label had a probability below 1e-15, which the NLL puts at 1e-15.
    classwise : what class-wise errors need; None for methods that give a confidence only and above 10,000 classes.
    """

    confidence: Floats
    correct: Bools
    predicted: Ints
    labels: Ints
    n_classes: int
    row_nll: Floats | None = None
    row_brier: Floats | None = None
    top5: Bools | None = None
    n_clipped: int = 0
    classwise: ClasswiseSums | None = None

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def signed_gap(self) -> float:
        """Mean confidence minus accuracy; 0.054 is "overconfident by 5.4 points"."""
        return float(self.confidence.mean() - self.correct.mean())

    @property
    def pair(self) -> tuple[Floats, Bools]:
        """(confidence, correct), as every top-label metric and the reliability curve take it."""
        return self.confidence, self.correct

    @classmethod
    def from_calibrator(cls, calibrator: Any, logits: Any, labels: Any, features: Any = None) -> Evaluation:
        """Predict block by block, so that the probabilities never exist whole.

        Parameters
        ----------
        calibrator : anything fitted with ``predict_proba(logits)``, or with ``predict_confidence`` alone; then the
            predicted class is that of the raw logits.
        logits : (n, n_classes) raw logits, which also break ties.
        labels : (n,) integers.
        features : (n, ...) inputs, for methods that predict from them.

        Raises
        ------
        CalibrationError
            If the arrays do not fit together or a prediction is NaN.
        """
        logits = check_probs(logits)
        labels = check_labels(labels, logits.shape)
        given = {} if features is None else {"features": features}
        if not gives_probabilities(calibrator):
            predicted = np.argmax(logits, axis=1)
            confidence, correct = check_pair(
                np.asarray(calibrator.predict_confidence(logits, **given)), predicted == labels
            )
            _check_no_nan(confidence)
            return cls(confidence, correct, predicted, labels, logits.shape[1])

        def predict(rows: slice) -> Floats:
            here = {name: array[rows] for name, array in given.items()}
            return calibrator.predict_proba(logits[rows], **here)

        return _by_blocks(predict, logits, labels)


def gives_probabilities(calibrator: Any) -> bool:
    """Whether a method predicts probabilities of all classes, not just a confidence in the predicted one."""
    if isinstance(calibrator, Calibrator):
        return calibrator.gives_probabilities
    return hasattr(calibrator, "predict_proba")


def evaluate(probs: Any, labels: Any, ranking: Any = None) -> Evaluation:
    """Reduce probabilities to an :class:`Evaluation`.

    Parameters
    ----------
    probs : (n, n_classes) probabilities; rows need not sum to one.
    labels : (n,) integers in [0, n_classes).
    ranking : (n, n_classes) second key among equal probabilities: the raw logits.

    Raises
    ------
    CalibrationError
        If the arrays do not fit together or a probability is NaN.
    """
    probs = check_probs(probs)
    labels = check_labels(labels, probs.shape)
    ranking = probs if ranking is None else np.asarray(ranking)
    return _by_blocks(lambda rows: probs[rows], ranking, labels)


def _by_blocks(predict: Any, ranking: Floats, labels: Ints) -> Evaluation:
    n, n_classes = ranking.shape
    confidence, nll, brier = np.empty(n), np.empty(n), np.empty(n)
    predicted = np.empty(n, dtype=np.int64)
    top5 = np.empty(n, dtype=bool) if n_classes > TOP_K else None
    n_clipped = 0
    classwise = ClasswiseSums(n, n_classes) if n_classes <= MAX_CLASSES else None
    for rows in blocks(n, n_classes, MEMORY_ENTRIES):
        probs, keys, truth = predict(rows), ranking[rows], labels[rows]
        predicted[rows] = argmax_with_ties(probs, keys)
        confidence[rows] = probs[np.arange(len(probs)), predicted[rows]]
        nll[rows], brier[rows], of_label = row_scores(probs, truth)
        n_clipped += int((of_label < PROBABILITY_FLOOR).sum())
        if top5 is not None:
            top5[rows] = label_in_top_k(probs, truth, TOP_K, keys)
        if classwise is not None:
            classwise.add(rows, probs, truth)
    _check_no_nan(brier)
    correct = predicted == labels
    return Evaluation(confidence, correct, predicted, labels, n_classes, nll, brier, top5, n_clipped, classwise)


def _check_no_nan(values: Floats) -> None:
    bad = int(np.isnan(values).sum())
    if bad:
        raise CalibrationError(f"The predictions of {bad} of {len(values)} rows are NaN.")
