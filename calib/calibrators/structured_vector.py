"""Structured vector and matrix scaling."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from calib.base import Callback
from calib.calibrators.temperature import (
    TEMPERATURE,
    IterativeScaling,
    ScaledCrossEntropy,
    TemperatureScaling,
    loss_and_residual,
)
from calib.errors import CalibrationError
from calib.hardware import cpu_description
from calib.numerics import MEMORY_ENTRIES, Floats, Ints, blocks, softmax
from calib.parameters import Array, Count, Either, Items, State, Text, param


class MatrixCrossEntropy:
    """Mean cross-entropy of ``softmax(matrix @ x + bias)`` on a calibration set, and its gradient.

    Parameters
    ----------
    logits : (n, n_classes) array of rows x, not copied.
    labels : (n,) integers in [0, n_classes).
    """

    def __init__(self, logits: Floats, labels: Ints):
        self._logits, self._labels = logits, labels

    def __call__(self, matrix: Floats, bias: Floats) -> tuple[float, Floats, Floats]:
        """Value in nats and gradients in the (n_classes, n_classes) matrix and the (n_classes,) bias."""
        n, n_classes = self._logits.shape
        loss, by_matrix, by_bias = 0.0, np.zeros(matrix.shape), np.zeros(n_classes)
        for rows in blocks(n, n_classes, MEMORY_ENTRIES):  # large blocks, for the matrix products
            logits, labels = self._logits[rows], self._labels[rows]
            scores = logits @ matrix.T
            scores += bias
            in_block, residual = loss_and_residual(scores, labels)
            loss += in_block
            by_matrix += residual.T @ logits
            by_bias += residual.sum(axis=0)
        return loss / n, by_matrix / n, by_bias / n


_BYTES = 250  # memory that L-BFGS takes for each weight
_WORK_A_SECOND = 5e9  # rows times squared classes in one pass, by one core

MATRIX_CLASSES = 2000
"""Largest number of classes for which a matrix is fitted: 1 GB."""
MATRIX_WORK = 20_000_000_000
"""Largest rows times squared classes: 4 s a step."""


@dataclass(eq=False, repr=False, kw_only=True)
class StructuredScaling(IterativeScaling):
    """Temperature scaling, then an L2-regularised scale and bias for every class.

    Berta, Holzmüller, Jordan and Bach, Structured Matrix Scaling for Multi-Class Calibration, AISTATS 2026 (arXiv
    2511.03685); details and constants are those of the authors' package, probmetrics 1.1 and later. The logits z
    become log-probabilities x after temperature scaling, mixed with a uniform distribution that counts as one row of
    n + 1::

        x = log((n softmax(z / T) + 1 / K) / (n + 1)),    p = softmax((I + diag(v) + M) x + b)

    with M zero for the vector (SVS) and zero on its diagonal for the matrix (SMS). Minimised is the mean negative
    log-likelihood plus ``penalty / n`` times ``K |v|^2 + K |b|^2 + K (K - 1) |M|^2``: where rows are few for
    the parameters, temperature scaling is what remains. For two classes the paper has a method of its own; here they
    are as any other number.
    """

    structure: str = param(
        "vector",
        choices=("vector", "matrix"),
        help="A scale for each class (vector), or also a weight from every class to every other (matrix).",
    )
    penalty: float = param(1.0, low=1e-6, high=1e6, help="Pull towards temperature scaling; fades as rows are added.")
    max_iter: int = param(500, low=1, high=100_000, help="Largest number of L-BFGS steps.")

    state: ClassVar[State] = {
        "temperature_": TEMPERATURE,
        "temperature_notes_": Items(Text()),
        "n_rows_": Count(1),
        "weights_": Either(Array("n_classes", "n_classes"), Array("n_classes")),
        "bias_": Array("n_classes"),
    }
    passes: ClassVar[int] = 10
    needs_classes: ClassVar[bool] = True

    def notes(self) -> list[str]:
        return [*self._unfinished(), *self.temperature_notes_, *super().notes()]

    def _fit(self, logits: Floats, labels: Ints, callback: Callback, **extras: Any) -> None:
        n, n_classes = logits.shape
        if self.structure == "matrix":
            self._check_matrix(n, n_classes)
        scaled = TemperatureScaling(device=self.device).fit(logits, labels, callback=callback)
        self.temperature_, self.n_rows_ = scaled.temperature_, n
        self.temperature_notes_ = [note for note in scaled.notes() if note != scaled.device_note_]
        features = np.empty(logits.shape)
        for rows in blocks(n, n_classes):
            features[rows] = self._log_probs(logits[rows])
        if self.structure == "vector":
            super()._fit(features, labels, callback)
            return
        self._fit_matrix(MatrixCrossEntropy(features, labels), n_classes, callback)
        self.device_ = cpu_description()
        self.device_note_ = (
            f'A matrix is fitted on the {self.device_}; structure="vector" can use a GPU.'
            if self.device == "gpu"
            else ""
        )

    def _fit_scaling(self, cross_entropy: ScaledCrossEntropy, logits: Floats, labels: Ints, callback: Callback) -> None:
        n_classes = logits.shape[1]

        def loss(change: Floats) -> tuple[float, Floats]:
            value, by_scale, by_bias = cross_entropy(1 + change[:n_classes], change[n_classes:])
            return value, np.concatenate([by_scale, by_bias])

        change = self._regularised_minimum(loss, np.full(2 * n_classes, float(n_classes)), callback)
        self.weights_, self.bias_ = 1 + change[:n_classes], change[n_classes:]

    def _fit_matrix(self, cross_entropy: MatrixCrossEntropy, n_classes: int, callback: Callback) -> None:
        identity = np.eye(n_classes)

        def loss(change: Floats) -> tuple[float, Floats]:
            matrix, bias = np.split(change, [n_classes**2])
            value, by_matrix, by_bias = cross_entropy(identity + matrix.reshape(identity.shape), bias)
            return value, np.concatenate([by_matrix.ravel(), by_bias])

        strength = np.where(identity, n_classes, n_classes * (n_classes - 1.0))
        change = self._regularised_minimum(loss, np.append(strength.ravel(), np.full(n_classes, n_classes)), callback)
        self.weights_ = identity + change[: n_classes**2].reshape(identity.shape)
        self.bias_ = change[n_classes**2 :]

    def _regularised_minimum(self, loss: Any, strength: Floats, callback: Callback) -> Floats:
        """Where the loss plus ``penalty / n`` times the sum of ``strength * change**2`` is least; same shape."""
        # In these units the penalty is half the squared length, so that no direction is steeper than the data make it.
        unit = 1 / np.sqrt(2 * self.penalty / self.n_rows_ * strength)

        def objective(change: Floats) -> tuple[float, Floats]:
            value, gradient = loss(unit * change)
            return value + 0.5 * float(change @ change), unit * gradient + change

        return unit * self._minimum(objective, np.zeros(len(strength)), callback)

    def _check_matrix(self, n: int, n_classes: int) -> None:
        """Raise :class:`~calib.base.CalibrationError` where a matrix would take too much memory or time."""
        if n_classes > MATRIX_CLASSES:
            raise CalibrationError(
                f"A matrix of {n_classes:,} x {n_classes:,} weights needs about {_BYTES * n_classes**2 / 1e9:.0f} GB "
                f'to fit, and is offered up to {MATRIX_CLASSES:,} classes; choose structure="vector".'
            )
        if n * n_classes**2 > MATRIX_WORK:
            raise CalibrationError(
                f"Fitting a matrix of {n_classes:,} x {n_classes:,} weights on {n:,} rows takes about "
                f"{n * n_classes**2 / _WORK_A_SECOND:.0f} s for each of up to {self.max_iter} steps; choose "
                f'structure="vector", or at most {MATRIX_WORK // n_classes**2:,} rows.'
            )

    def _log_probs(self, logits: Floats) -> Floats:
        """Log-probabilities after temperature scaling, mixed with the uniform distribution, (n, n_classes)."""
        probs = softmax(logits / self.temperature_)
        probs *= self.n_rows_
        probs += 1 / logits.shape[1]
        probs /= self.n_rows_ + 1
        return np.log(probs, out=probs)

    def _predict_proba(self, logits: Floats) -> Floats:
        features = self._log_probs(logits)
        scaled = features @ self.weights_.T if self.weights_.ndim == 2 else features * self.weights_
        return softmax(scaled + self.bias_)
