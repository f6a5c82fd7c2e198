"""Base of temperature, vector and matrix scaling: their loss, and the device of the fit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from calib.base import Calibrator, Callback
from calib.calibrators._lbfgs import minimise_convex
from calib.hardware import DEVICES, cpu_description, no_gpu_note, worth_a_gpu
from calib.numerics import Floats, Ints, blocks
from calib.parameters import param


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
    """

    def __init__(self, logits: Floats, labels: Ints):
        self._logits, self._labels = logits, labels

    def __call__(self, scale: Floats, bias: Floats) -> tuple[float, Floats, Floats]:
        """See :class:`ScaledCrossEntropy`."""
        n, n_classes = self._logits.shape
        loss, by_scale, by_bias = 0.0, np.zeros(n_classes), np.zeros(n_classes)
        for rows in blocks(n, n_classes):
            logits, labels = self._logits[rows], self._labels[rows]
            scores = logits * scale
            scores += bias
            in_block, residual = loss_and_residual(scores, labels)
            loss += in_block
            by_scale += np.einsum("nk,nk->k", residual, logits)
            by_bias += residual.sum(axis=0)
        return loss / n, by_scale / n, by_bias / n


@dataclass(eq=False, repr=False, kw_only=True)
class ScalingCalibrator(Calibrator):
    """Base of methods that scale and shift logits by what minimises their cross-entropy.

    A subclass says in ``passes`` about how often its fit asks for the loss, and writes the hook
    ``_fit_scaling(cross_entropy, logits, labels, callback)``, which stores what it learned and may be called
    again from the start. Only big arrays go to a GPU by themselves: see :data:`calib.hardware.WORTH_A_GPU`.
    """

    device: str = param(
        "auto", choices=DEVICES, help="Where to fit; auto takes a GPU where there is one and the data are big."
    )

    def _fit_scaling(self, cross_entropy: ScaledCrossEntropy, logits: Floats, labels: Ints, callback: Callback) -> None:
        raise TypeError(f"{type(self).__name__} has no _fit_scaling")

    def notes(self) -> list[str]:
        return [self.device_note_] if self.device_note_ else []

    def _fit(self, logits: Floats, labels: Ints, callback: Callback, **extras: Any) -> None:
        if not worth_a_gpu(self.device, self.passes * logits.size):
            self._fit_scaling(NumPyCrossEntropy(logits, labels), logits, labels, callback)
            self.device_ = cpu_description()
            self.device_note_ = no_gpu_note() if self.device == "gpu" else ""
            return
        from calib.calibrators._tensorflow import Device, TensorFlowCrossEntropy, run

        def fit_on(device: Device) -> None:
            on_gpu = device.kind == "gpu"  # on a CPU NumPy is the quicker one
            loss = TensorFlowCrossEntropy(logits, labels) if on_gpu else NumPyCrossEntropy(logits, labels)
            self._fit_scaling(loss, logits, labels, callback)

        ran = run(fit_on, self.device, (len(logits), logits.shape[1]))
        self.device_, self.device_note_ = ran.device, ran.note


class IterativeScaling(ScalingCalibrator):
    """Base of scaling methods with so many weights that L-BFGS fits them; a subclass declares ``max_iter``."""

    max_iter: int

    def _unfinished(self) -> list[str]:
        """A sentence about a fit that did not converge."""
        if self.converged_:
            return []
        return [
            f"The fit stopped after {self.n_iter_} steps before it had converged; raise max_iter to let it go "
            "on, or the penalty to make it easier."
        ]

    def _minimum(
        self, objective: Callable[[Floats], tuple[float, Floats]], start: Floats, callback: Callback
    ) -> Floats:
        """Weights where the objective is least, and store how the search ended."""
        weights, report = minimise_convex(objective, start, self.max_iter, callback)
        self.n_iter_, self.converged_ = report.n_iter, report.converged
        return weights
