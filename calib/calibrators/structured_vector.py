"""Structured vector and matrix scaling, and the search for a scale and a bias of every class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from calib.base import Progress, silent
from calib.calibrators._multinomial import AffineScaling, MatrixProblem, Minimum, check_matrix
from calib.calibrators.backend import DEVICES, Loss, run
from calib.calibrators.minimisation import Found, minimise, newton
from calib.calibrators.temperature import DEVICE_HELP
from calib.numerics import Floats, Ints
from calib.parameters import param

NEWTON_CLASSES = 100
"""Up to so many classes Newton's method is quicker than L-BFGS."""

LEAST_PENALTY = 1e-12
"""Penalty on the mean loss, which weights of more than about a trillion rows would not leave."""


@dataclass(eq=False, repr=False, kw_only=True)
class DiagonalScaling(AffineScaling):
    """Base of methods that learn a scale and a bias for every class: ``p = softmax((1 + v) x + b)``."""

    device: str = param("auto", choices=DEVICES, help=DEVICE_HELP)

    diagonal: ClassVar[bool] = True

    def _fit_at(
        self,
        strength: float | None,
        logits: Floats,
        labels: Ints,
        weights: Floats,
        progress: Progress,
    ) -> None:
        """Fit to all rows with this penalty, None for temperature scaling alone."""

        def search(on_gpu: bool) -> None:
            self._finish(self._begin(logits, labels, weights, on_gpu), strength, progress=progress)

        _, self.device_, self.device_note_ = run(search, self.device, logits.shape)

    def _problem(
        self, scores: Floats, inputs: Floats, labels: Ints, weights: Floats, on_gpu: bool
    ) -> Minimum:
        n_classes = inputs.shape[1]
        loss = Loss(inputs, labels, weights, on_gpu)
        # Without any penalty what softmax cannot see would have no curvature.
        return VectorProblem(
            loss, n_classes, max(n_classes / float(weights.sum()), LEAST_PENALTY)
        ).minimum


class VectorProblem:
    """The least mean cross-entropy of ``softmax((1 + v) x + b)`` plus ``strength * unit * (|v|^2 + |b|^2)``.

    Parameters
    ----------
    loss : the cross-entropy at a scale and a bias for each class.
    n_classes : how many there are.
    unit : what a strength of one stands for.
    """

    def __init__(self, loss: Loss, n_classes: int, unit: float):
        self._loss = loss
        self._n_classes = n_classes
        self._unit = unit
        self._last: Floats = np.zeros(2 * n_classes)

    def minimum(
        self, strength: float, tolerance: float = 1e-7, progress: Progress = silent
    ) -> Found:
        """The weights of least value, (n_classes, 2), v and b, from where the last search ended."""
        loss = self._loss
        penalty = strength * self._unit
        k = self._n_classes
        if k <= NEWTON_CLASSES and not loss.on_gpu:

            def with_curvature(values: Floats) -> tuple[float, Floats, Floats]:
                value, gradient, curvature = loss.with_curvature(1 + values[:k], values[k:])
                curvature[np.diag_indices(2 * k)] += 2 * penalty
                return (
                    value + penalty * float(values @ values),
                    gradient + 2 * penalty * values,
                    curvature,
                )

            # The last step squares the error that is left.
            self._last, n_iter, converged = newton(
                with_curvature, self._last, tolerance**0.5, progress
            )
            return self._last.reshape(2, k).T, n_iter, converged

        # In this unit the penalty is half the squared length, so that no direction is steeper than the data make it.
        unit = (2 * penalty) ** -0.5

        def objective(values: Floats) -> tuple[float, Floats]:
            value, by_scale, by_bias = loss(1 + unit * values[:k], unit * values[k:])
            return value + float(values @ values) / 2, unit * np.append(by_scale, by_bias) + values

        values, n_iter, converged = minimise(
            objective, self._last / unit, progress, tolerance=tolerance
        )
        self._last = unit * values
        return self._last.reshape(2, k).T, n_iter, converged


@dataclass(eq=False, repr=False, kw_only=True)
class StructuredScaling(DiagonalScaling):
    """Temperature scaling, then an L2-regularised scale and bias for every class (SVS).

    Berta, Holzmüller, Jordan and Bach, Structured Matrix Scaling for Multi-Class Calibration, AISTATS 2026 (arXiv
    2511.03685), with details and constants of the authors' package, probmetrics 1.1 and later::

        p = softmax((1 + v) x + b),    x = log((n softmax(z / T) + 1 / K) / (n + 1))

    so that a uniform distribution counts as one row of n + 1. Minimised is the mean negative log-likelihood plus
    ``1 / n`` times ``K |v|^2 + K |b|^2``: where rows are few for the parameters, temperature scaling is what remains.
    For two classes the paper has a method of its own; here they are as any other number. A class without calibration
    rows keeps its probability after temperature scaling, where the authors' code pushes it down; K is then the number
    of the others.

    ``fit(..., weights=)`` counts each row as often as its weight says; n is then the sum of the weights.

    Examples
    --------
    >>> import calib
    >>> calibration, test = calib.load_sample("digits-cnn").split(0.5)
    >>> fitted = StructuredScaling().fit(calibration)
    >>> calib.ece(fitted.predict_proba(test), test.labels) < 0.04  # of the raw model
    True
    """

    smoothed: ClassVar[bool] = True

    def _fit(
        self, logits: Floats, labels: Ints, *, progress: Progress, weights: Floats | None = None
    ) -> None:
        rows = logits, labels, np.ones(len(labels)) if weights is None else weights
        self._scale(*rows)
        self._fit_at(1.0, *rows, progress)


@dataclass(eq=False, repr=False, kw_only=True)
class StructuredMatrixScaling(AffineScaling):
    """Temperature scaling, then an L2-regularised matrix of weights between all classes, and a bias (SMS).

    Berta et al., Structured Matrix Scaling for Multi-Class Calibration, AISTATS 2026 (arXiv 2511.03685), from the
    smoothed log-probabilities x of :class:`StructuredScaling`::

        p = softmax((I + M) x + b)

    Minimised is the mean negative log-likelihood plus ``1 / n`` times ``K sum_i M_ii^2 + K (K - 1) sum_{i != j} M_ij^2
    + K |b|^2``: the K (K - 1) weights between two classes weigh as much as the K of one. A class without calibration
    rows keeps its probability after temperature scaling, where the authors' code pushes it down; K is then the number
    of the others.

    Examples
    --------
    >>> import calib
    >>> calibration, test = calib.load_sample("digits-cnn").split(0.5)
    >>> fitted = StructuredMatrixScaling().fit(calibration)
    >>> calib.ece(fitted.predict_proba(test), test.labels) < 0.04  # of the raw model
    True
    """

    smoothed: ClassVar[bool] = True

    def _fit(self, logits: Floats, labels: Ints, *, progress: Progress) -> None:
        check_matrix(*logits.shape)
        rows = logits, labels, np.ones(len(labels))
        self._scale(*rows)
        self._finish(self._begin(*rows), 1.0, progress=progress)

    def _problem(
        self, scores: Floats, inputs: Floats, labels: Ints, weights: Floats, on_gpu: bool
    ) -> Minimum:
        n, k = inputs.shape
        return MatrixProblem(
            scores, inputs, labels, off_diagonal=k * (k - 1) / n, diagonal=k / n, bias=k / n
        ).minimum
