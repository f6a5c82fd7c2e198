"""Calibrators that take the top k logits of very many classes: their hooks, how they are fitted to them and asked.

At a temperature the log-partition also needs the other classes: how many equal ones stand for them, and its bounds.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Self

import numpy as np

from calib.base import Calibrator, Callback, needs_all_classes
from calib.errors import CalibrationError
from calib.numerics import PREDICTED_ENTRIES, Floats, Ints, argmax_with_ties, blocks, logsumexp, sigmoid, softplus
from calib.top_k import Bools, Groups, TopK, TopKProbs, equal_others, others_without


class TopKCalibrator(Calibrator, ABC):
    """Base of the calibrators that also take a :class:`calib.top_k.TopK` in place of the logits of all classes.

    A subclass writes :meth:`fit_top_k` and :meth:`predict_groups` beside the hooks of the base class.
    """

    # -- what subclasses write -------------------------------------------------------------------------

    @abstractmethod
    def fit_top_k(self, outputs: TopK, labels: Ints, callback: Callback) -> None:
        """Learn from the top k logits of very many classes.

        It stores what ``_fit`` stores, to rounding the same where the k are all classes.

        Parameters
        ----------
        outputs : of n rows; :meth:`TopK.with_labels` gives them as columns that may stand for several classes.
        labels : (n,) integers in [0, n_classes).
        callback : as that of ``_fit``.
        """

    @abstractmethod
    def predict_groups(self, groups: Groups) -> Floats:
        """Probability of one class of each column, (n, m), for rows whose columns may stand for several classes."""

    @property
    def equal_others(self) -> float | None:
        """How many equal classes stand for those outside the top k, ``others_`` of fits that find it; None for all."""
        return getattr(self, "others_", 0.0) or None

    def check_top_k(self) -> None:
        """Raise :class:`CalibrationError` where ``fit_top_k`` cannot fit with these parameters."""

    def nll_bounds(self, outputs: TopK, labels: Ints) -> tuple[Floats, Floats] | None:
        """Bounds of each row's NLL, two (n,) arrays, over all that the other logits can be; None where none are known.

        The NLL of a label whose logit is not known has no upper bound, and counts as NaN.
        """
        return None

    # -- what users call -------------------------------------------------------------------------------

    @classmethod
    def takes_top_k(cls) -> bool:
        return True

    def _fit_to_top_k(self, outputs: TopK, labels: Ints, callback: Callback) -> Self:
        self.check_top_k()
        with self.complete_fit(*outputs.shape):
            self.fit_top_k(outputs, labels, callback)
        return self

    def predict_top_k(self, outputs: TopK) -> TopKProbs:
        """Calibrated probabilities of the top k classes, and that of all others together.

        Parameters
        ----------
        outputs : the top k logits of each row; labels and their logits are not used.

        Raises
        ------
        CalibrationError
            If the number of classes is not that of the fit.
        """
        if not isinstance(outputs, TopK):
            raise CalibrationError(
                f"predict_top_k takes the largest logits of each row, as TopK; got {type(outputs).__name__}. Of the "
                "outputs of all classes predict_proba takes an array."
            )
        self._check_n_classes(outputs.shape)
        n, k = outputs.values.shape
        values, rest, column = np.empty((n, k)), np.zeros(n), np.empty(n, dtype=np.int64)
        for rows in blocks(n, k + 1, PREDICTED_ENTRIES):
            groups = outputs[rows].groups(self.equal_others)
            probs = self.predict_groups(groups)
            values[rows] = probs[:, :k]
            rest[rows] = np.einsum("nm,nm->n", probs[:, k:], groups.counts[:, k:])
            column[rows] = argmax_with_ties(values[rows], outputs.values[rows])
        at = np.arange(n)
        return TopKProbs(
            values, outputs.indices, rest, outputs.indices[at, column].astype(np.int64), values[at, column]
        )


def taking_top_k(calibrator: Calibrator) -> TopKCalibrator:
    """The calibrator itself; :class:`CalibrationError` where it takes no top k."""
    if not isinstance(calibrator, TopKCalibrator):
        raise needs_all_classes(calibrator)
    return calibrator


def effective_others(outputs: TopK, outside: Bools, inverse: float) -> float:
    """How many equal classes stand best for those outside the top k at a temperature, 1 / ``inverse``.

    With shares ``q_j`` of the sum of the rest, the sum of ``exp(b z_j)`` over the rest is ``exp(b rest) D^(1 - b)``, D
    the Hill number of order b, ``(sum_j q_j^b)^(1 / (1 - b))`` (Hill, Diversity and Evenness: A Unifying Notation and
    Its Consequences, Ecology 1973): so many equal classes have the same sum. D is 1 where one class has all the rest,
    and K - k where all are equal. It is taken as the same in all rows, but for what :func:`calib.top_k.equal_others`
    bounds, and has the greatest likelihood of which labels lie outside the top k. One more row counts, which lies
    outside with the mean probability of K - k equal classes; without it, rows whose labels are all inside would say 1.

    Parameters
    ----------
    outputs : rows of the top k.
    outside : (n,) whether a row's label lies outside.
    inverse : b.
    """
    from scipy.optimize import minimize_scalar

    known, cap = logsumexp(inverse * outputs.values, axis=1), outputs.values[:, -1]

    def log_odds(others: float | None) -> Floats:
        """Log-odds of a label outside the top k, (n,)."""
        logits, counts = equal_others(outputs.rest, cap, outputs.n_others, others)
        return inverse * logits + np.log(counts) - known

    weight = outside + sigmoid(log_odds(None)) / len(outputs)
    total = 1 + 1 / len(outputs)

    def loss(log_others: float) -> float:
        scores = log_odds(np.exp(log_others))
        return float(np.mean(total * softplus(scores) - weight * scores))

    most = float(np.log(outputs.n_others))
    return float(np.exp(minimize_scalar(loss, bounds=(0.0, most), method="bounded", options={"xatol": 1e-6}).x))


def log_partition_bounds(outputs: TopK, inverse: float, labels: Ints | None = None) -> tuple[Floats, Floats]:
    """Bounds of ``log sum_j exp(b z_j)`` over all K classes, with b = 1 / T.

    Of the m = K - k classes outside the top k two things are known: with ``a_j = exp(z_j)`` their sum is R = exp(rest),
    and none is above A = exp(v_k), the exponential of the smallest of the top k. What is not known is the sum of their
    powers ``S = sum_j a_j^b``, which is to be bounded over the polytope ``0 <= a_j <= A, sum_j a_j = R``.

    The function ``a -> a^b`` is concave for b < 1 and convex for b > 1, so S is Schur-concave or Schur-convex
    (Marshall, Olkin and Arnold, Inequalities: Theory of Majorization, 2nd ed. 2011, chapter 3, C.1). Every vector of
    the polytope majorises the even one, ``a_j = R / m``, and is majorised by the most uneven one, in which q = floor(R
    / A) entries are A, one is the remainder r = R - q A, and all others are 0 (Kemperman 1973; ibid., chapter 5,
    C.1). So S lies between

        ``m (R / m)^b = m^(1 - b) R^b``  and  ``q A^b + r^b``,

    the first of which is the larger for b < 1 and the smaller for b > 1. The even spread is thus one of the two bounds:
    a temperature above 1 overestimates the partition, and one below 1 underestimates it. Both are sharp: the even one
    is attained, and the other one as the limit of logits that fall without end. At T = 1 both are R. With the label's
    own logit, where the label lies outside the top k, the same holds of the other m - 1 classes.

    Parameters
    ----------
    outputs : rows of the top k.
    inverse : b = 1 / T, above 0.
    labels : (n,) integers, whose own logits are used where they are known; None leaves them aside.

    Returns
    -------
    low, high : (n,) nats.

    Examples
    --------
    Of four classes one logit is known, 1.0, and the log-sum of the others; at T = 2 these may be worth

    >>> outputs = TopK.from_arrays([[1.0]], [[0]], rest=[1.5], n_classes=4)
    >>> low, high = log_partition_bounds(outputs, 0.5)
    >>> print(low.round(3), high.round(3))
    [1.532] [1.671]
    """
    low, high = np.empty(len(outputs)), np.empty(len(outputs))
    for rows in blocks(len(outputs), outputs.k + 2):
        part = outputs[rows]
        low[rows], high[rows] = _of_rows(part, inverse, None if labels is None else labels[rows])
    return low, high


def _of_rows(outputs: TopK, inverse: float, labels: Ints | None) -> tuple[Floats, Floats]:
    known = logsumexp(inverse * outputs.values, axis=1)
    if not outputs.n_others:
        return known, known
    rest, n_others = outputs.rest, np.full(len(outputs), float(outputs.n_others))
    if labels is not None and outputs.label_logit is not None:
        own = outputs.label_logit
        alone = (outputs.rank_of(labels) == outputs.k) & ~np.isnan(own)
        known[alone] = np.logaddexp(known[alone], inverse * own[alone])
        rest = np.where(alone, others_without(rest, np.where(alone, own, -np.inf)), rest)
        n_others -= alone
    cap = outputs.values[:, -1]
    with np.errstate(divide="ignore"):
        even = np.where(n_others > 0, inverse * rest + (1 - inverse) * np.log(np.maximum(n_others, 1)), -np.inf)
        # Sums within their tolerance of a whole number of caps are that: a remainder of rounding is no logit.
        ratio = np.minimum(np.exp(rest - cap), n_others)
        whole = np.floor(ratio * (1 + 1e-12))
        left = np.log(np.maximum(ratio - whole, 0.0))
        uneven = inverse * cap + np.logaddexp(np.log(whole), inverse * left)
    uneven = np.where(n_others > 0, uneven, -np.inf)
    one, other = np.logaddexp(known, even), np.logaddexp(known, uneven)
    return np.minimum(one, other), np.maximum(one, other)
