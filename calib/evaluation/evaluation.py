"""What one calibrator says about a test set, reduced to vectors of length n."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from calib.arrays import check_labels
from calib.base import Calibrator
from calib.errors import CalibrationError
from calib.evaluation.view import TOP_LABEL, View, view_of
from calib.metrics.bootstrap import drawn_units
from calib.metrics.confidence import Bools, check_columns, check_probs, top_label
from calib.metrics.scoring_rules import label_in_top_k, row_scores
from calib.numerics import MEMORY_ENTRIES, PROBABILITY_FLOOR, Floats, Ints, argmax_with_ties, blocks
from calib.top_k import TopK, predict_top_k

if TYPE_CHECKING:
    from calib.data.predictions import Predictions

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
    rest : (n,) of two classes, the probability of the one that is not predicted; None for more.
    view : which pair of vectors scores and curves are about, and its words.
    clusters : (n,) number of each row's cluster; None where rows are independent.
    weights : (n,) weights whose meaning was confirmed; None where there are none.
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
    rest: Floats | None = None
    view: View = TOP_LABEL
    clusters: Ints | None = None
    weights: Floats | None = None

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def signed_gap(self) -> float:
        """Mean of the first of the pair minus that of the second; 0.054 is "overconfident by 5.4 points"."""
        said, outcome = self.pair
        return float(said.mean() - outcome.mean())

    @property
    def pair(self) -> tuple[Floats, Bools]:
        """What is said and whether it came true, as every calibration error and the reliability curve take it.

        (confidence, correct); in the event view (P(event), event happened).
        """
        if self.view.is_event:
            return self._of_column(self.view.column), self.labels == self.view.column
        return self.confidence, self.correct

    @property
    def n_clusters(self) -> int | None:
        """Number of clusters of the rows; None where rows are independent."""
        return None if self.clusters is None else int(self.clusters.max()) + 1

    @property
    def outcome(self) -> Bools:
        """(n,) whether what is said of each row came true: the second of the pair."""
        return self.labels == self.view.column if self.view.is_event else self.correct

    def seen(self, view: View) -> Evaluation:
        """The same evaluation of two classes in another view.

        Predicted classes, NLL and accuracy stay. Of pairs the prediction is that the answer is correct, and so
        ``confidence`` is its probability and accuracy the share of correct answers.

        Raises
        ------
        CalibrationError
            If there are more than two classes and the view is not the top-label view.
        """
        if view == self.view:
            return self
        if view.column is None:
            return replace(self, view=view)
        if self.rest is None:
            raise CalibrationError(f"The view {view.name!r} is one of two classes; there are {self.n_classes}.")
        if view.is_event:
            return replace(self, view=view)
        correct = self.labels == view.column
        predicted = np.full(len(self), view.column)
        said = self._of_column(view.column)
        return replace(self, confidence=said, correct=correct, predicted=predicted, rest=1.0 - said, view=view)

    def _of_column(self, column: int | None) -> Floats:
        """Probability of one of two classes."""
        assert self.rest is not None  # of two classes, as `seen` has checked
        return np.where(self.predicted == column, self.confidence, self.rest)

    @classmethod
    def from_predictions(cls, calibrator: Any, data: Predictions, view: str = "event") -> Evaluation:
        """:meth:`from_calibrator` on a data set, in the view that it has; see :func:`calib.evaluation.view.view_of`.

        Its clusters count, and its weights where their meaning was confirmed.
        """
        features = data.features if "features" in getattr(calibrator, "needs", ()) else None
        evaluation = cls.from_calibrator(calibrator, data.logits, data.labels, features, **row_arrays(data))
        return evaluation.seen(view_of(data, view))

    @classmethod
    def from_calibrator(
        cls,
        calibrator: Any,
        logits: Any,
        labels: Any,
        features: Any = None,
        clusters: Any = None,
        weights: Floats | None = None,
    ) -> Evaluation:
        """Predict block by block, so that the probabilities never exist whole.

        Parameters
        ----------
        calibrator : anything fitted with ``predict_proba(logits)``, or with ``predict_confidence`` alone; then the
            predicted class is that of the raw logits.
        logits : (n, n_classes) raw logits, which also break ties; or the top k of very many classes.
        labels : (n,) integers.
        features : (n, ...) inputs, for methods that predict from them.
        clusters : (n,) what rows that belong together share, or None.
        weights : (n,) weights whose meaning was confirmed, or None.

        Raises
        ------
        CalibrationError
            If the arrays do not fit together or a prediction is NaN.
        """
        top_k = isinstance(logits, TopK)
        logits = logits if top_k else check_columns(logits)
        labels = check_labels(labels, logits.shape)
        given = {} if features is None else {"features": features}
        unit, _, clustered = drawn_units(len(labels), None if clusters is None else np.asarray(clusters))
        about: dict[str, Any] = {"clusters": unit if clustered else None, "weights": weights}
        if top_k:
            return _of_top_k(calibrator, logits, labels, **about)
        if not gives_probabilities(calibrator):
            predicted = np.argmax(logits, axis=1)
            confidence, correct = top_label(
                np.asarray(calibrator.predict_confidence(logits, **given)), predicted == labels
            )
            _check_no_nan(confidence)
            rest = 1.0 - confidence if logits.shape[1] == 2 else None
            return cls(confidence, correct, predicted, labels, logits.shape[1], rest=rest, **about)

        def predict(rows: slice) -> Floats:
            here = {name: array[rows] for name, array in given.items()}
            return calibrator.predict_proba(logits[rows], **here)

        return _by_blocks(predict, logits, labels, **about)


def row_arrays(data: Predictions) -> dict[str, Any]:
    """What of a data set changes how its rows are counted: clusters, and weights whose meaning was confirmed."""
    return {"clusters": data.clusters, "weights": data.confirmed_weights}


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
    probs = check_probs(probs, sums=False)
    labels = check_labels(labels, probs.shape)
    ranking = probs if ranking is None else np.asarray(ranking)
    return _by_blocks(lambda rows: probs[rows], ranking, labels)


def _by_blocks(
    predict: Any, ranking: Floats, labels: Ints, clusters: Ints | None = None, weights: Floats | None = None
) -> Evaluation:
    n, n_classes = ranking.shape
    confidence, rest, brier, of_label = np.empty((4, n))
    predicted = np.empty(n, dtype=np.int64)
    top5 = np.empty(n, dtype=bool) if n_classes > TOP_K else None
    for rows in blocks(n, n_classes, MEMORY_ENTRIES):
        probs, keys, truth = predict(rows), ranking[rows], labels[rows]
        predicted[rows] = argmax_with_ties(probs, keys)
        confidence[rows] = probs[np.arange(len(probs)), predicted[rows]]
        if n_classes == 2:
            rest[rows] = probs[np.arange(len(probs)), 1 - predicted[rows]]
        _, brier[rows], of_label[rows] = row_scores(probs, truth)
        if top5 is not None:
            top5[rows] = label_in_top_k(probs, truth, TOP_K, keys)
    made = _judged(confidence, predicted, labels, n_classes, of_label, brier, top5)
    return replace(made, rest=rest if n_classes == 2 else None, clusters=clusters, weights=weights)


def _of_top_k(
    calibrator: Calibrator, outputs: TopK, labels: Ints, clusters: Ints | None = None, weights: Floats | None = None
) -> Evaluation:
    """What a method says of the top k of very many classes, on blocks of rows.

    The probability of a label outside the top k is that of all other classes together times
    :meth:`TopK.share_of_rest`. The Brier score takes the remaining classes as equal.
    """
    n, k = outputs.values.shape
    predicted = np.empty(n, dtype=np.int64)
    confidence, of_label, brier = np.empty((3, n))
    top5 = np.empty(n, dtype=bool) if k >= TOP_K else None
    for rows in blocks(n, k + 1, MEMORY_ENTRIES):
        part, place = outputs[rows], outputs[rows].places(labels[rows])
        said = predict_top_k(calibrator, part)
        predicted[rows], confidence[rows] = said.predicted, said.confidence
        outside, column = place == k, np.minimum(place, k - 1)
        in_rest = np.where(outside, said.rest * part.share_of_rest(), 0.0)
        own = np.where(outside, in_rest, said.values[np.arange(len(place)), column])
        n_left = np.maximum(outputs.n_others - outside, 1)
        squares = (said.values**2).sum(axis=1) + in_rest**2 + (said.rest - in_rest) ** 2 / n_left
        of_label[rows], brier[rows] = own, np.maximum(squares - 2.0 * own + 1.0, 0.0)
        if top5 is not None:
            top5[rows] = ~outside & label_in_top_k(said.values, column, TOP_K, part.values)
    made = _judged(confidence, predicted, labels, outputs.n_classes, of_label, brier, top5)
    return replace(made, clusters=clusters, weights=weights)


def _judged(
    confidence: Floats,
    predicted: Ints,
    labels: Ints,
    n_classes: int,
    of_label: Floats,
    brier: Floats,
    top5: Bools | None,
) -> Evaluation:
    _check_no_nan(brier)
    nll = -np.log(np.maximum(of_label, PROBABILITY_FLOOR))
    n_clipped = int((of_label < PROBABILITY_FLOOR).sum())
    return Evaluation(confidence, predicted == labels, predicted, labels, n_classes, nll, brier, top5, n_clipped)


def _check_no_nan(values: Floats) -> None:
    bad = int(np.isnan(values).sum())
    if bad:
        raise CalibrationError(f"The predictions of {bad} of {len(values)} rows are NaN.")


def check_same_rows(evaluation: Evaluation, baseline: Evaluation) -> None:
    """Raise :class:`CalibrationError` unless both are about the same labels, in the same view."""
    if evaluation.view.key != baseline.view.key:
        raise CalibrationError(
            f"One evaluation is in the view {evaluation.view.name!r} and one in {baseline.view.name!r}; "
            "see both in the same one."
        )
    if evaluation.labels is not baseline.labels and not np.array_equal(evaluation.labels, baseline.labels):
        raise CalibrationError(
            f"The evaluations have {len(evaluation)} and {len(baseline)} rows with different labels; "
            "compare methods on the same test set."
        )
