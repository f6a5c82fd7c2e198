"""Structured vector scaling, and the start that it shares with structured matrix scaling."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from calib.base import Callback, no_callback
from calib.calibrators._multinomial import ChangedTemperature, Problem
from calib.calibrators.minimisation import (
    LBFGSReport,
    NumPyCrossEntropy,
    ScaledCrossEntropy,
    minimise_convex,
    with_loss,
)
from calib.hardware import DEVICES, cpu_description, no_gpu_note, worth_a_gpu
from calib.numerics import Floats, Ints, softmax
from calib.parameters import Array, State, Text, param

Found = tuple[Floats, Floats, LBFGSReport]


@dataclass(eq=False, repr=False, kw_only=True)
class StructuredMap(ChangedTemperature):
    """Base of structured vector and matrix scaling: a penalised map of smoothed log-probabilities.

    Berta, Holzmüller, Jordan and Bach, Structured Matrix Scaling for Multi-Class Calibration, AISTATS 2026 (arXiv
    2511.03685); details and constants are those of the authors' package, probmetrics 1.1 and later. The logits z
    become log-probabilities x after temperature scaling, mixed with a uniform distribution that counts as one row of
    n + 1::

        x = log((n softmax(z / T) + 1 / K) / (n + 1))
    """

    strength: str = param(
        "fixed",
        choices=("fixed", "folds"),
        help="Strength of the penalty: the authors' times the number given, or chosen from five folds.",
    )
    penalty: float = param(1.0, low=1e-6, high=1e6, help="Pull towards temperature scaling; fades as rows are added.")

    @property
    def grid(self) -> tuple[float, ...]:
        """The strengths to choose from."""
        return (1024.0, 256.0, 64.0, 16.0, 8.0, 4.0, 2.0, 1.0, 0.5, 0.25)

    def _start(self, logits: Floats, temperature: float, n_rows: int) -> Floats:
        probs = softmax(logits / temperature)
        probs *= n_rows
        probs += 1 / logits.shape[1]
        probs /= n_rows + 1
        return np.log(probs, out=probs)

    def _inputs(self, logits: Floats, start: Floats) -> Floats:
        return start


class VectorProblem:
    """The least of the mean cross-entropy of ``softmax((1 + v) x + b)`` plus ``s (sum v^2 + sum b^2)`` at a strength s.

    Parameters
    ----------
    loss : the cross-entropy at a scale and a bias for each class.
    n_classes : how many there are.
    strength : what a penalty of one stands for.
    """

    def __init__(self, loss: ScaledCrossEntropy, n_classes: int, strength: float):
        self._loss, self._n_classes, self._strength = loss, n_classes, strength
        self._last = np.zeros(2 * n_classes)

    def start_at(self, change: Floats, bias: Floats) -> None:
        """Start the next search at such changes, each (n_classes,)."""
        self._last = np.concatenate([change, bias])

    def minimum(
        self, strength: float, max_iter: int, callback: Callback = no_callback, tolerance: float = 1e-7
    ) -> Found:
        """Changes v and b, each (n_classes,), and how the search ended; it starts at the last one."""
        # In these units the penalty is half the squared length, so that no direction is steeper than the data make it.
        unit = (2 * strength * self._strength) ** -0.5
        n_classes = self._n_classes

        def objective(values: Floats) -> tuple[float, Floats]:
            value, by_scale, by_bias = self._loss(1 + unit * values[:n_classes], unit * values[n_classes:])
            gradient = unit * np.concatenate([by_scale, by_bias])
            return value + 0.5 * float(values @ values), gradient + values

        values, report = minimise_convex(objective, self._last / unit, max_iter, callback, tolerance=tolerance)
        self._last = unit * values
        return self._last[:n_classes].copy(), self._last[n_classes:].copy(), report


class OnDevice:
    """The same on a GPU, or on the CPU where the GPU fails.

    Parameters
    ----------
    problem : the problem with a loss.
    inputs, labels : the rows.
    device : as declared.
    ran : called with the device and a note.
    """

    def __init__(
        self,
        problem: Callable[[ScaledCrossEntropy], VectorProblem],
        inputs: Floats,
        labels: Ints,
        device: str,
        ran: Callable[[str, str], None],
    ):
        self._problem, self._inputs, self._labels = problem, inputs, labels
        self._device, self._ran = device, ran
        self._start: tuple[Floats, Floats] | None = None

    def start_at(self, change: Floats, bias: Floats) -> None:
        """See :class:`VectorProblem`."""
        self._start = change, bias

    def minimum(
        self, strength: float, max_iter: int, callback: Callback = no_callback, tolerance: float = 1e-7
    ) -> Found:
        """See :class:`VectorProblem`."""

        def search(loss: ScaledCrossEntropy) -> Found:
            problem = self._problem(loss)
            if self._start is not None:
                problem.start_at(*self._start)
            return problem.minimum(strength, max_iter, callback, tolerance)

        ran = with_loss(search, self._inputs, self._labels, self._device, gpu_pays=True)
        self._ran(ran.device, ran.note)
        return ran.result


@dataclass(eq=False, repr=False, kw_only=True)
class StructuredScaling(StructuredMap):
    """Temperature scaling, then an L2-regularised scale and bias for every class (SVS).

    Berta et al., Structured Matrix Scaling for Multi-Class Calibration, AISTATS 2026 (arXiv 2511.03685), from the
    smoothed log-probabilities x of :class:`StructuredMap`::

        p = softmax((1 + v) x + b)

    Minimised is the mean negative log-likelihood plus ``penalty / n`` times ``K |v|^2 + K |b|^2``: where rows are few
    for the parameters, temperature scaling is what remains. For two classes the paper has a method of its own; here
    they are as any other number. ``strength="folds"`` makes it nearly ``vector``, whose docstring has the
    difference. A class without calibration rows keeps its probability after temperature scaling, where the authors'
    code pushes it down; K is then the number of the others.
    """

    device: str = param(
        "auto", choices=DEVICES, help="Where to fit; auto takes a GPU where there is one and the data are big."
    )

    state: ClassVar[State] = {"change_": Array("n_classes"), "device_note_": Text().or_absent("")}
    passes: ClassVar[int] = 10
    change_dimensions: ClassVar[int] = 1

    def notes(self) -> list[str]:
        return [*super().notes(), *([self.device_note_] if self.device_note_ else [])]

    def _fit(self, logits: Floats, labels: Ints, callback: Callback, **extras: Any) -> None:
        self._ran(cpu_description(), no_gpu_note() if self.device == "gpu" else "")
        super()._fit(logits, labels, callback, **extras)

    def _ran(self, device: str, note: str) -> None:
        self.device_, self.device_note_ = device, note

    def _problem(self, scores: Floats, inputs: Floats, labels: Ints, in_fold: bool) -> Problem:
        n, n_classes = inputs.shape

        def problem(loss: ScaledCrossEntropy) -> VectorProblem:
            return VectorProblem(loss, n_classes, n_classes / n)

        if in_fold or not worth_a_gpu(self.device, self.passes * inputs.size):
            return problem(NumPyCrossEntropy(inputs, labels))
        return OnDevice(problem, inputs, labels, self.device, self._ran)
