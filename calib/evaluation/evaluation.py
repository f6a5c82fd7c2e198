"""Evaluation of one calibrator on a test set, reduced to vectors of length n."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from calib.base import LEARNS_NOTHING, Calibrator, groups_for
from calib.data.predictions import Predictions, check_predictions
from calib.errors import CalibrationError
from calib.evaluation.view import TOP_LABEL, View, view_of
from calib.metrics.bootstrap import drawn_units
from calib.metrics.calibration_error import classwise_by_row, pairs_above
from calib.metrics.confidence import Bools, check_columns, check_probs, top_label
from calib.metrics.estimate import Rows
from calib.metrics.scoring_rules import label_in_top_k, row_scores
from calib.numerics import MEMORY_ENTRIES, PROBABILITY_FLOOR, Floats, Ints, argmax_with_ties, blocks
from calib.outputs import encode_labels
from calib.registry import calibrator

if TYPE_CHECKING:
    from calib.data.options import WeightKind

TOP_K = 5


@dataclass(frozen=True, eq=False)
class Evaluation:
    """One calibrator on one test set, without the (n, n_classes) probabilities.

    Attributes
    ----------
    confidence : ndarray of shape (n,)
        Confidence in the predicted class.
    correct : ndarray of bool of shape (n,)
        Whether the prediction is right.
    predicted, labels : ndarray of int of shape (n,)
        Classes.
    n_classes : int
        Number of columns.
    row_nll, row_brier : ndarray of shape (n,) or None
        Scores of each row; None where the method gives a confidence only.
    top5 : ndarray of bool of shape (n,) or None
        Whether the label is among the five most probable; None for such methods and up to 5 classes.
    n_clipped : int
        Rows whose label had a probability below 1e-15, which the NLL puts at 1e-15.
    rest : ndarray of shape (n,) or None
        Of two classes, the probability of the one that is not predicted; None for more.
    view : View
        Which pair of vectors scores and curves are about, and its words.
    clusters : ndarray of int of shape (n,) or None
        Number of each row's cluster; None where rows are independent.
    weights : ndarray of shape (n,) or None
        Weights whose meaning was confirmed; all scores count rows by them. None where there are none.
    weight_kind : {"sampling", "frequency", "exposure"} or None
        What the weights mean.
    row_classwise : ndarray of shape (n,) or None
        Values whose mean is the class-wise ECE above 1/K; None for two classes, and without probabilities.
    classwise_noise : float
        What noise alone adds to it on average.
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
    weight_kind: WeightKind | None = None
    row_classwise: Floats | None = None
    classwise_noise: float = 0.0

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def pair(self) -> tuple[Floats, Bools]:
        """Predictions and outcomes, as every calibration error and the reliability curve take them.

        (confidence, correct); in the event view (P(event), event happened).
        """
        if self.view.is_event:
            return self._of_column(self.view.column), self.labels == self.view.column
        return self.confidence, self.correct

    @property
    def rows(self) -> Rows:
        """The rows with their outcomes, clusters and weights."""
        kind = None if self.weights is None else self.weight_kind or "sampling"
        return Rows.with_outcome(self.pair[1], self.weights, kind, self.clusters)

    @property
    def means(self) -> tuple[float, float]:
        """Mean prediction and observed rate; in the top-label view mean confidence and accuracy."""
        predicted, observed = self.pair
        return self.rows.mean(predicted), self.rows.mean(observed)

    @property
    def n_clusters(self) -> int | None:
        """Number of clusters of the rows; None where rows are independent."""
        return None if self.clusters is None else int(self.clusters.max()) + 1

    def seen(self, view: View) -> Evaluation:
        """The same evaluation of two classes in another view.

        Predicted classes, NLL and accuracy stay. Of pairs the prediction is that the answer is correct, and so
        ``confidence`` is its probability and accuracy the share of correct answers.

        Parameters
        ----------
        view : the view to take.
        """
        if view.column is not None and self.rest is None:
            raise CalibrationError(
                f"The view {view.name!r} is one of two classes; there are {self.n_classes}."
            )
        if view.name != "pairs" or view == self.view:
            return replace(self, view=view)
        correct = self.labels == view.column
        predicted = np.full(len(self), view.column)
        probability = self._of_column(view.column)
        return replace(
            self,
            confidence=probability,
            correct=correct,
            predicted=predicted,
            rest=1.0 - probability,
            view=view,
        )

    def _of_column(self, column: int | None) -> Floats:
        """Probability of one of two classes."""
        assert self.rest is not None  # of two classes, as `seen` has checked
        return np.where(self.predicted == column, self.confidence, self.rest)

    @classmethod
    def from_predictions(
        cls, calibrator: Any, data: Predictions, view: str = "event"
    ) -> Evaluation:
        """:meth:`from_calibrator` on a data set, in the view that it has; see :func:`calib.evaluation.view.view_of`.

        Its clusters count, and its weights where their meaning was confirmed.

        Parameters
        ----------
        calibrator : fitted, as for :meth:`from_calibrator`.
        data : rows that it has not seen.
        view : whether the event is looked at, where there is one, or the predicted class.
        """
        check_predictions(data, "The data set")
        if data.floor is not None and LEARNS_NOTHING in getattr(calibrator, "traits", ()):
            calibrator = raw_model(data)
        features = data.features if "features" in getattr(calibrator, "needs", ()) else None
        groups = groups_for(calibrator, data)
        evaluation = cls.from_calibrator(
            calibrator,
            data.logits,
            data.labels,
            features,
            **row_arrays(data),
            weight_kind=data.weight_kind,
            groups=groups,
        )
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
        weight_kind: WeightKind | None = None,
        groups: Any = None,
    ) -> Evaluation:
        """Predict block by block, so that the probabilities never exist whole.

        Parameters
        ----------
        calibrator : anything fitted with ``predict_proba(logits)``, or with ``predict_confidence`` alone; then the
            predicted class is that of the raw logits.
        logits : (n, n_classes) raw logits, which also break ties.
        labels : (n,) integers.
        features : (n, ...) inputs, for methods that predict from them.
        clusters : (n,) what rows that belong together share.
        weights : (n,) weights whose meaning was confirmed.
        weight_kind : what they mean.
        groups : (n,) group of each row, for a map by group.
        """
        logits = check_columns(logits)
        labels = encode_labels(labels, *logits.shape)[0]
        arrays = {"features": features, "groups": groups}
        extras = {name: np.asarray(array) for name, array in arrays.items() if array is not None}
        unit, _, clustered = drawn_units(
            len(labels), None if clusters is None else np.asarray(clusters)
        )
        about: dict[str, Any] = {
            "clusters": unit if clustered else None,
            "weights": weights,
            "weight_kind": weight_kind,
        }
        native = isinstance(calibrator, Calibrator)
        if not gives_probabilities(calibrator):
            predicted = np.argmax(logits, axis=1)
            rate = calibrator.confidence_from_logits if native else calibrator.predict_confidence
            confidence, correct = top_label(np.asarray(rate(logits, **extras)), predicted == labels)
            _check_no_nan(confidence)
            rest = 1.0 - confidence if logits.shape[1] == 2 else None
            return cls(confidence, correct, predicted, labels, logits.shape[1], rest=rest, **about)

        predict = calibrator.probs_from_logits if native else calibrator.predict_proba

        def score(rows: slice) -> RowScores:
            here = {name: array[rows] for name, array in extras.items()}
            return _of_all(predict(logits[rows], **here), labels[rows], logits[rows])

        return _by_blocks(score, logits, labels, about)


def raw_model(data: Predictions) -> Calibrator:
    """The model as it is, as a calibrator that changes nothing: where it said exactly 0, that is what is judged."""
    return calibrator("identity", floor=data.floor or 0.0).fit(
        data.logits[:2], data.labels[:2], kind="logits"
    )


def frequency_scores(labels: Ints, n_classes: int, sample: Rows) -> tuple[Floats, Floats, Floats]:
    """Score class frequencies on each row, which is left out of its own.

    Parameters
    ----------
    labels : (n,) in [0, n_classes).
    sample : weights of the rows; one of a frequency stands for many, of which one is left out.

    Returns
    -------
    tuple
        (n_classes,) weighted counts plus 1/2, and the (n,) NLL and Brier score of the frequencies of the other rows.
    """
    w = sample.weights
    removed = np.ones(len(labels)) if sample.kind == "frequency" else w
    counts = np.bincount(labels, w, n_classes) + 0.5
    rest = counts.sum() - removed
    of_label = (counts[labels] - removed) / rest
    squares = (counts @ counts - counts[labels] ** 2 + (counts[labels] - removed) ** 2) / rest**2
    brier = squares - 2.0 * of_label + 1.0
    return counts, -np.log(of_label), brier / 2.0 if n_classes == 2 else brier


def class_frequencies(evaluation: Evaluation) -> Evaluation:
    """The class frequencies of the same rows as predictions, which a model must beat to be of use.

    The scores of a row are those of the frequencies of all others, ``(W_k - w_i [k = y_i] + 1/2) / (W - w_i + K/2)``;
    confidences are of all rows and so rank none. Of pairs the classes are "wrong" and "correct".
    """
    labels = evaluation.labels
    k = evaluation.n_classes
    n = len(labels)
    counts, nll, brier = frequency_scores(labels, k, evaluation.rows)
    first = int(np.argmax(counts))
    confidence = float(counts[first] / counts.sum())
    common = np.argsort(-counts, kind="stable")[:TOP_K]
    constant = Evaluation(
        np.full(n, confidence),
        labels == first,
        np.full(n, first),
        labels,
        k,
        nll,
        brier,
        np.isin(labels, common) if k > TOP_K else None,
        rest=np.full(n, 1.0 - confidence) if k == 2 else None,
        clusters=evaluation.clusters,
        weights=evaluation.weights,
        weight_kind=evaluation.weight_kind,
    )
    return constant.seen(evaluation.view)


def row_arrays(data: Predictions) -> dict[str, Any]:
    """Arrays of a data set that change how its rows count: clusters, and weights whose meaning was confirmed."""
    return {"clusters": data.clusters, "weights": data.confirmed_weights}


def gives_probabilities(calibrator: Any) -> bool:
    """Test for probabilities of all classes, not just a confidence in the predicted one.

    Parameters
    ----------
    calibrator : fitted or not, also one of another library.
    """
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
    """
    probs = check_probs(probs, sums=False)
    labels = encode_labels(labels, *probs.shape)[0]
    ranking = probs if ranking is None else np.asarray(ranking)
    return _by_blocks(
        lambda rows: _of_all(probs[rows], labels[rows], ranking[rows]), probs, labels, {}
    )


class RowScores(NamedTuple):
    """Scores of a block of m rows, (m,) arrays as in :class:`Evaluation`, and its pairs above 1/K.

    ``n_above`` counts the pairs of each row, ``k``, ``values`` and ``outcome`` are of each pair.
    """

    predicted: Ints
    confidence: Floats
    of_label: Floats
    brier: Floats
    top5: Bools | None
    rest: Floats | None
    n_above: Ints | None
    k: Ints
    values: Floats
    outcome: Bools


def _by_blocks(
    score: Callable[[slice], RowScores], outputs: Floats, labels: Ints, about: Mapping[str, Any]
) -> Evaluation:
    parts = [score(rows) for rows in blocks(len(outputs), outputs.shape[1], MEMORY_ENTRIES)]
    columns: list[Any] = [
        None if column[0] is None else np.concatenate(column) for column in zip(*parts, strict=True)
    ]
    joined = RowScores(*columns)
    _check_no_nan(joined.brier)
    nll = -np.log(np.maximum(joined.of_label, PROBABILITY_FLOOR))
    n_clipped = int((joined.of_label < PROBABILITY_FLOOR).sum())
    right = joined.predicted == labels
    classwise, noise = None, 0.0
    if joined.n_above is not None:
        row = np.repeat(np.arange(len(labels)), joined.n_above)
        pairs = row, joined.k, joined.values, joined.outcome
        classwise, noise = classwise_by_row(
            *pairs, len(labels), outputs.shape[1], about.get("clusters"), about.get("weights")
        )
    return Evaluation(
        joined.confidence,
        right,
        joined.predicted,
        labels,
        outputs.shape[1],
        nll,
        joined.brier,
        joined.top5,
        n_clipped,
        joined.rest,
        row_classwise=classwise,
        classwise_noise=noise,
        **about,
    )


def _of_all(probs: Floats, labels: Ints, ranking: Floats) -> RowScores:
    """Scores of rows of probabilities of all classes."""
    n_classes = probs.shape[1]
    at = np.arange(len(probs))
    predicted = argmax_with_ties(probs, ranking)
    brier, of_label = row_scores(probs, labels)
    top5 = label_in_top_k(probs, labels, TOP_K, ranking) if n_classes > TOP_K else None
    rest = probs[at, 1 - predicted].astype(np.float64) if n_classes == 2 else None
    row, k, values, outcome = pairs_above(probs, labels, 1.0 / n_classes)
    n_above = np.bincount(row, minlength=len(probs)) if n_classes > 2 else None
    confidence = probs[at, predicted].astype(np.float64)
    return RowScores(
        predicted, confidence, of_label, brier, top5, rest, n_above, k, values, outcome
    )


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
    if evaluation.labels is not baseline.labels and not np.array_equal(
        evaluation.labels, baseline.labels
    ):
        raise CalibrationError(
            f"The evaluations have {len(evaluation)} and {len(baseline)} rows with different labels; "
            "compare methods on the same test set."
        )
