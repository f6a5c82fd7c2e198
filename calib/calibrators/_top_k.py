"""What a calibrator writes to take the top k logits of very many classes, and how it is fitted to them and asked."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Self

import numpy as np

from calib.base import Calibrator, Callback, needs_all_classes
from calib.errors import CalibrationError
from calib.numerics import PREDICTED_ENTRIES, Floats, Ints, argmax_with_ties, blocks
from calib.top_k import Groups, TopK, TopKProbs


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
        """How many equal classes stand for those outside the top k, as the fit found; None for all of them."""
        return None

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
