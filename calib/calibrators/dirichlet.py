"""Dirichlet calibration, shrunk towards temperature scaling."""

from __future__ import annotations

from dataclasses import dataclass

from calib.calibrators._multinomial import ChangedTemperature, MatrixProblem
from calib.numerics import Floats, Ints, log_softmax
from calib.parameters import param


@dataclass(eq=False, repr=False, kw_only=True)
class DirichletCalibration(ChangedTemperature):
    """A weight from every class's log-probability to every class, and a bias, shrunk towards one temperature.

    Kull, Perello-Nieto, Kängsepp, Silva Filho, Song and Flach, Beyond temperature scaling: Obtaining well-calibrated
    multi-class probabilities with Dirichlet calibration, NeurIPS 2019: ``q = softmax(W ln p + b)``. Minimised is the
    mean negative log-likelihood plus a penalty. With ``target="temperature"`` it is ``l |W - I / T|^2 + (l / 10)
    |b|^2`` with ``l = penalty K / n`` and T of temperature scaling, so that temperature scaling is what few rows
    leave. With ``target="odir"`` it is the paper's ODIR, ``penalty (sum_{i != j} W_ij^2 + |b|^2)``, on the parameters
    themselves: the authors' code first takes the last class's row from all others, which punishes the identity and
    makes the order of the classes matter. ODIR's diagonal is free, and has no best value where rows are few.

    A class without calibration rows keeps its probability after temperature scaling, and K is the number of the others.
    Neither accuracy nor ranking is kept.
    """

    penalty: float = param(100.0, low=1e-6, high=1e6, help="Strength of the penalty where it is fixed.")
    target: str = param(
        "temperature",
        choices=("temperature", "odir"),
        help="What is penalised: the distance from temperature scaling, or off-diagonal weights and biases (ODIR).",
    )

    @property
    def grid(self) -> tuple[float, ...]:
        """The strengths to choose from."""
        if self.target == "odir":
            return (1000.0, 100.0, 10.0, 3.0, 1.0, 0.3, 0.1, 0.03, 0.01)
        return (3000.0, 1000.0, 300.0, 100.0, 30.0, 10.0, 3.0)

    def _inputs(self, logits: Floats, start: Floats) -> Floats:
        return log_softmax(logits)

    def _problem(self, scores: Floats, inputs: Floats, labels: Ints, in_fold: bool) -> MatrixProblem:
        if self.target == "odir":
            return MatrixProblem(scores, inputs, labels, off_diagonal=1.0, diagonal=0.0, bias=1.0)
        n, n_classes = inputs.shape
        unit = n_classes / n
        return MatrixProblem(scores, inputs, labels, off_diagonal=unit, diagonal=unit, bias=unit / 10)
