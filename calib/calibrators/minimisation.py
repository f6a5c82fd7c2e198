"""The cross-entropy that scaling methods minimise, on which device, and L-BFGS with a report of how it ended."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeVar

import numpy as np

from calib.base import Callback
from calib.hardware import Ran, cpu_description, no_gpu_note
from calib.numerics import Floats, Ints, blocks

if TYPE_CHECKING:
    from scipy.optimize import OptimizeResult

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


@dataclass(frozen=True, eq=False)
class LBFGSReport:
    """How a fit by L-BFGS ended.

    Attributes
    ----------
    trace : (n_iter + 1,) the objective at the start and after each iteration.
    converged : whether the optimiser finished.
    message : why it stopped, in words.
    """

    trace: Floats
    converged: bool
    message: str

    @property
    def n_iter(self) -> int:
        """Number of iterations, over all starts."""
        return len(self.trace) - 1

    @classmethod
    def from_result(cls, result: OptimizeResult, trace: list[float], *, smooth_convex: bool = False) -> LBFGSReport:
        """Read SciPy's result.

        Where the line search finds no better point, a ``smooth_convex`` objective is at its minimum to rounding, and
        any other may be on a slope.
        """
        n_iter = len(trace) - 1
        iterations = f"{n_iter} iteration{'' if n_iter == 1 else 's'}"
        if not np.isfinite(result.fun):
            return cls(np.array(trace), False, f"stopped where the objective overflows, after {iterations}")
        if result.success:
            return cls(np.array(trace), True, f"converged after {iterations}")
        if result.status == 1:
            return cls(np.array(trace), False, f"stopped at the limit of {iterations}")
        return cls(np.array(trace), smooth_convex, f"the line search found no better point after {iterations}")


def minimise_convex(
    objective: Callable[[Floats], tuple[float, Floats]],
    start: Floats,
    max_iter: int,
    callback: Callback,
    *,
    lower: Floats | None = None,
    tolerance: float = 1e-7,
) -> tuple[Floats, LBFGSReport]:
    """Where a smooth convex function is least, and how the search ended.

    Parameters
    ----------
    objective : value and gradient, (m,), at (m,) weights.
    start : (m,) weights.
    max_iter : largest number of iterations.
    callback : called after each with its number, ``max_iter`` and the value.
    lower : (m,) least weights; none without.
    tolerance : largest gradient of a single weight at which the search ends; at its square it also ends on the value.
    """
    from scipy.optimize import minimize

    trace: list[float] = []

    def traced(weights: Floats) -> tuple[float, Floats]:
        value, gradient = objective(weights)
        if not trace:
            trace.append(value)
        return value, gradient

    def after_iteration(intermediate_result: OptimizeResult) -> None:
        trace.append(float(intermediate_result.fun))
        callback(len(trace) - 1, max_iter, trace[-1])

    options = {"maxiter": max_iter, "maxfun": 10 * max_iter, "ftol": tolerance**2, "gtol": tolerance}
    bounds = None if lower is None else [(low, None) for low in lower]
    result = minimize(
        traced, start, jac=True, method="L-BFGS-B", bounds=bounds, callback=after_iteration, options=options
    )
    return result.x, LBFGSReport.from_result(result, trace, smooth_convex=True)
