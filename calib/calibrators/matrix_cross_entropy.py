"""The loss of matrix scaling."""

from __future__ import annotations

import numpy as np

from calib.calibrators.scaling import loss_and_residual
from calib.numerics import MEMORY_ENTRIES, Floats, Ints, blocks


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
