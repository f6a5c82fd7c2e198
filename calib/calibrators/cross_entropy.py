"""The cross-entropy that scaling methods minimise, with its gradient."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar

import numpy as np

from calib.hardware import Ran, cpu_description, no_gpu_note
from calib.numerics import Floats, Ints, blocks

T = TypeVar("T")


class ScaledCrossEntropy(Protocol):
    """Mean cross-entropy of ``softmax(scale * logits + bias)`` on a calibration set, and its gradient."""

    def __call__(self, scale: Floats, bias: Floats) -> tuple[float, Floats, Floats]:
        """Value in nats and gradients in scale and bias; the four arrays have shape (n_classes,)."""
        ...


def loss_and_residual(scores: Floats, labels: Ints) -> tuple[float, Floats]:
    """Cross-entropy summed over the rows, and softmax minus the one-hot labels, which takes the place of the scores."""
    rows = np.arange(len(labels))
    scores -= scores.max(axis=1, keepdims=True)
    loss = -float(scores[rows, labels].sum())
    residual = np.exp(scores, out=scores)
    total = residual.sum(axis=1)
    loss += float(np.log(total).sum())
    residual /= total[:, None]
    residual[rows, labels] -= 1.0
    return loss, residual


class NumPyCrossEntropy:
    """The loss in NumPy, on blocks of rows, so that it takes no memory beside the logits.

    Parameters
    ----------
    logits : (n, n_classes) array, not copied.
    labels : (n,) integers in [0, n_classes).
    log_counts : (n, n_classes) logarithms of the number of classes that a column stands for; None where each is one.
    """

    def __init__(self, logits: Floats, labels: Ints, log_counts: Floats | None = None):
        self._logits, self._labels, self._log_counts = logits, labels, log_counts
        own, n_classes = logits[np.arange(len(labels)), labels], logits.shape[1]
        self._of_labels = np.bincount(labels, own, n_classes), np.bincount(labels, minlength=n_classes)

    def __call__(self, scale: Floats, bias: Floats) -> tuple[float, Floats, Floats]:
        """See :class:`ScaledCrossEntropy`."""
        n, n_classes = self._logits.shape
        loss, (by_scale, by_bias) = 0.0, (-part.astype(float) for part in self._of_labels)
        for rows in blocks(n, n_classes):
            logits, labels = self._logits[rows], self._labels[rows]
            scores = logits * scale
            if bias.any():
                scores += bias
            if self._log_counts is not None:
                scores += self._log_counts[rows]
            scores -= scores.max(axis=1, keepdims=True)
            loss -= float(scores[np.arange(len(labels)), labels].sum())
            odds = np.exp(scores, out=scores)
            total = odds.sum(axis=1)
            loss += float(np.log(total).sum())
            # Probabilities are these odds over their sum, by which only two vectors of classes are divided.
            shares = 1 / total
            by_bias += shares @ odds
            odds *= logits
            by_scale += shares @ odds
        return loss / n, by_scale / n, by_bias / n


def with_loss(
    compute: Callable[[ScaledCrossEntropy], T], logits: Floats, labels: Ints, device: str, gpu_pays: bool
) -> Ran[T]:
    """Run a search with the loss of some rows, on a GPU where that pays and there is one.

    Parameters
    ----------
    compute : given the loss; a second call must start afresh.
    logits, labels : the rows.
    device : "auto", "cpu" or "gpu".
    gpu_pays : see :func:`calib.hardware.worth_a_gpu`.
    """
    if not gpu_pays:
        found = compute(NumPyCrossEntropy(logits, labels))
        return Ran(found, cpu_description(), no_gpu_note() if device == "gpu" else "")
    from calib.calibrators._tensorflow import Device, TensorFlowCrossEntropy, run

    def on(chosen: Device) -> T:
        # On a CPU NumPy is the quicker one.
        loss = TensorFlowCrossEntropy if chosen.kind == "gpu" else NumPyCrossEntropy
        return compute(loss(logits, labels))

    return run(on, device, (len(logits), logits.shape[1]))
