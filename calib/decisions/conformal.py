"""Split conformal prediction sets: for each row the classes that cannot be ruled out (Vovk et al. 2005; NumPy alone).

The score of a class is 1 - p, high where it is strange for a row (LAC, Sadinle, Lei and Wasserman 2019): of all scores
it gives the smallest sets on average. Of n labelled rows that the calibrator has not seen,
``k = ceil((n + 1)(1 - alpha))`` and the quantile is the k-th smallest score of the labels. The set of a new row holds
the classes whose score is at most that quantile. The label is in the set with a probability of at least 1 - alpha if
the n rows and the new one are exchangeable. That is a mean over draws of the n rows and over rows: it holds neither for
each class nor for each row.

Of rows that were sampled with unequal probabilities, each counts by its weight, the inverse of that. The quantile is
the smallest score up to which the weights sum to ``(1 - alpha)(W + w)``, with their sum W and the weight w of the new
row (Tibshirani, Barber, Candès and Ramdas 2019; of surveys Wieczorek 2023). The w of a new row is not known, and the
largest of the weights stands for it: the quantile rises with w, so the promise for a random row of the population holds
where no new row is heavier.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from calib.arrays import as_numbers, check_number
from calib.decisions.rules import check_array
from calib.errors import CalibrationError
from calib.formatting import plural, round_percent
from calib.metrics.confidence import check_weights
from calib.numerics import MEMORY_ENTRIES, Floats, Ints, blocks, normalised
from calib.outputs import column_names, encode_labels
from calib.parameters import ROUNDING, number_fault, short_repr

SLACK = 1e-15
"""By how much a score may exceed the quantile: the last digits of equal probabilities differ between machines."""


def quantile_rank(n: int, alpha: float) -> int:
    """Rank k of the score of n that is the quantile; n + 1, for which there is no score, where n is below 1/alpha - 1.

    Examples
    --------
    >>> quantile_rank(1000, 0.1), quantile_rank(8, 0.1)
    (901, 9)
    """
    return max(1, int(np.ceil((n + 1) * (1.0 - alpha) - 1e-9)))


def fewest_rows(alpha: float) -> int:
    """Rows from which on the quantile is finite: ceil(1/alpha) - 1; 9 at alpha = .1, 19 at .05."""
    return int(np.ceil(1.0 / alpha - 1e-9)) - 1


@dataclass(frozen=True, eq=False, kw_only=True)
class PredictionSets:
    """Quantiles that turn a calibrator's probabilities into sets of classes; see :func:`conformal_sets`.

    Attributes
    ----------
    alpha : float
        1 - alpha is the coverage that is promised.
    quantiles : ndarray of shape (n_classes,)
        Largest score with which a class is in a set; infinite where there were too few rows, and then the class is in
        every set. One number for all classes unless ``per_class``.
    per_class : bool
        Whether each class has a quantile of its own, and so coverage within each class (Mondrian sets).
    n_rows : int
        Rows that the quantiles are of.
    allow_empty : bool
        Whether sets may be empty; see :func:`conformal_sets`.
    """

    alpha: float
    quantiles: Floats
    per_class: bool = False
    n_rows: int = 1
    allow_empty: bool = False

    def __post_init__(self) -> None:
        check_number("alpha", self.alpha, 1e-9, 1 - 1e-9)
        check_array("quantiles", self.quantiles, low=-1.0, high=np.inf)
        check_number("n_rows", self.n_rows, 1, whole=True)
        for name in ("per_class", "allow_empty"):
            if not isinstance(getattr(self, name), (bool, np.bool_)):
                raise CalibrationError(
                    f"{name}={short_repr(getattr(self, name))} must be True or False."
                )

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.quantiles)

    @property
    def always(self) -> Ints:
        """Classes that are in every set, because too few rows were theirs to rule them out."""
        return np.flatnonzero(np.isinf(self.quantiles))

    @property
    def top_alone(self) -> bool:
        """Return whether the most probable class alone reaches the coverage, so that every set is that class alone."""
        return not self.allow_empty and not self.quantiles.any()

    def predict(self, probs: Any) -> npt.NDArray[np.bool_]:
        """Membership of each class in the set of each row, booleans of shape (n, n_classes).

        Parameters
        ----------
        probs : array_like of shape (n, n_classes)
            Calibrated probabilities; rows are brought to a sum of one.

        Returns
        -------
        ndarray of bool of shape (n, n_classes)
            True where the class is in the set.

        Raises
        ------
        CalibrationError
            If there are other classes than those of the quantiles, or numbers that are no probabilities.

        Examples
        --------
        >>> sets = PredictionSets(alpha=0.1, quantiles=np.array([0.7, 0.7, 0.7]))
        >>> sets.predict([[0.6, 0.35, 0.05]])
        array([[ True,  True, False]])
        """
        probs = as_numbers(probs, "probabilities")
        if probs.ndim != 2 or probs.shape[1] != self.n_classes:
            raise CalibrationError(
                f"The sets are of {self.n_classes:,} classes; got an array of shape {probs.shape}."
            )
        inside = np.empty(probs.shape, dtype=bool)
        for rows in blocks(len(probs), self.n_classes, MEMORY_ENTRIES):
            np.less_equal(
                _scores(probs[rows], self.allow_empty), self.quantiles + SLACK, out=inside[rows]
            )
        return inside

    def said(self) -> str:
        """Describe the sets in a sentence.

        Returns
        -------
        str
            Plain text.
        """
        each = (
            "one quantile for each class" if self.per_class else f"quantile {self.quantiles[0]:.6g}"
        )
        always = (
            f"; in every set {plural(len(self.always), 'class', 'classes')}"
            if len(self.always)
            else ""
        )
        return f"Promised coverage {round_percent(1 - self.alpha)}, {each}, from {plural(self.n_rows, 'row')}{always}."


def conformal_sets(
    probs: Any,
    labels: Any,
    alpha: float = 0.1,
    *,
    per_class: bool = False,
    allow_empty: bool = False,
    weights: Any = None,
    new_weight: float | None = None,
) -> PredictionSets:
    """Fit the quantiles of prediction sets from labelled rows that the calibrator was not fitted on.

    The most probable class is in every set: its score counts as the lowest, on these rows and on new ones, so that the
    promise holds as for any score. Where the accuracy is above 1 - alpha already, a set is that class alone.

    Parameters
    ----------
    probs : array_like of shape (n, n_classes)
        Calibrated probabilities; rows are brought to a sum of one in float64, because sums that are off by 1e-7 would
        decide about scores near one.
    labels : array_like of shape (n,)
        Integers in [0, n_classes).
    alpha : float, default 0.1
        Sets hold the label with a probability of at least 1 - alpha.
    per_class : bool, default False
        One quantile for each class. A class with fewer than :func:`fewest_rows` rows is then in every set.
    allow_empty : bool, default False
        Give the most probable class the score of its own. Sets then have the coverage asked for and no more, and are
        empty where every class is strange for a row.
    weights : array_like of shape (n,) or None, default None
        How much each row counts: the inverse of its probability to be sampled.
    new_weight : float or None, default None
        Largest weight of a new row; None for the largest of ``weights``.

    Returns
    -------
    PredictionSets
        ``predict`` gives the sets of new rows.

    Raises
    ------
    CalibrationError
        If alpha is not between 0 and 1, or the arrays do not fit together.

    Examples
    --------
    >>> probs = np.array([[0.9, 0.1], [0.8, 0.2], [0.3, 0.7], [0.4, 0.6]])
    >>> conformal_sets(probs, np.array([0, 0, 1, 0]), alpha=0.25).quantiles.round(2)
    array([0.6, 0.6])
    """
    if fault := number_fault(alpha, False, 1e-9, 1 - 1e-9):
        raise CalibrationError(
            f"alpha={short_repr(alpha)} {fault}; it is the share of sets that may leave out the label."
        )
    names = column_names(probs)
    probs = as_numbers(probs, "probabilities")
    if probs.ndim != 2 or not len(probs):
        raise CalibrationError(
            f"Sets are fitted on (n, n_classes) probabilities; got shape {probs.shape}."
        )
    n, n_classes = probs.shape
    labels = encode_labels(labels, n, n_classes, names)[0]
    of_label = np.empty(n)
    for rows in blocks(n, n_classes, MEMORY_ENTRIES):
        scores = _scores(probs[rows], allow_empty)
        of_label[rows] = scores[np.arange(len(scores)), labels[rows]]
    checked = check_weights(weights, n)
    weight = np.ones(n) if checked is None else checked
    parts = [labels == k for k in range(n_classes)] if per_class else [np.full(n, True)]
    limits = [_quantile(of_label[part], weight[part], alpha, new_weight) for part in parts]
    quantiles = np.array(limits if per_class else limits * n_classes)
    return PredictionSets(
        alpha=alpha, quantiles=quantiles, per_class=per_class, n_rows=n, allow_empty=allow_empty
    )


def _scores(probs: Floats, allow_empty: bool) -> Floats:
    """Scores of all classes, (n, n_classes); that of the most probable one is 0, unless sets may be empty."""
    if not (probs.min(initial=0.0) >= -ROUNDING and probs.max(initial=0.0) < np.inf):
        raise CalibrationError(
            "Sets are of probabilities, but some of these numbers are negative, infinite or NaN; take the softmax of "
            "logits, and leave out rows that are missing."
        )
    shares = normalised(probs)
    scores: Floats = 1.0 - shares
    if not allow_empty:
        scores[np.arange(len(shares)), np.argmax(shares, axis=1)] = 0.0
    return scores


def _quantile(scores: Floats, weights: Floats, alpha: float, new_weight: float | None) -> float:
    """Smallest score up to which the weights sum to a share of 1 - alpha of theirs and that of a new row."""
    order = np.argsort(scores)
    reached = np.cumsum(weights[order])
    heaviest = float(weights.max(initial=0.0)) if new_weight is None else new_weight
    needed = (1.0 - alpha) * (reached[-1:].sum() + heaviest)
    place = int(np.searchsorted(reached, needed - 1e-9 * heaviest))
    return float(scores[order[place]]) if place < len(scores) else np.inf
