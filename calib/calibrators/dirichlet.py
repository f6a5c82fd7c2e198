"""Dirichlet calibration, shrunk towards temperature scaling."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from calib.base import Progress
from calib.calibrators._multinomial import AffineScaling, MatrixProblem, Minimum, check_matrix
from calib.calibrators.steps import Step
from calib.numerics import Floats, Ints, log_softmax

PENALTIES = (300.0, 30.0, 3.0)
"""The penalties to choose from."""


@dataclass(eq=False, repr=False, kw_only=True)
class DirichletCalibration(AffineScaling):
    """A weight from every class's log-probability to every class, and a bias, shrunk towards one temperature.

    Kull, Perello-Nieto, Kängsepp, Silva Filho, Song and Flach, Beyond temperature scaling: Obtaining well-calibrated
    multi-class probabilities with Dirichlet calibration, NeurIPS 2019: ``q = softmax(W ln p + b)``. Minimised is the
    mean negative log-likelihood plus ``l |W - I / T|^2 + (l / 10) |b|^2`` with ``l = penalty K / n`` and T of
    temperature scaling, so that temperature scaling is what few rows leave. The paper's ODIR leaves the diagonal of W
    free, which then has no best value where rows are few.

    The penalty has the least NLL in five folds of the calibration rows, and temperature scaling itself is kept where
    that is no better by more than half a standard error. A class without calibration rows keeps its probability after
    temperature scaling, and K is the number of the others. Neither accuracy nor ranking is kept.
    ``fit(..., clusters=)`` keeps the rows of a cluster in one fold.

    Examples
    --------
    >>> import calib
    >>> calibration, test = calib.load_sample("digits-cnn").split(0.5)
    >>> fitted = DirichletCalibration().fit(calibration)
    >>> calib.ece(fitted.predict_proba(test), test.labels) < 0.04  # of the raw model
    True
    """

    def _fit(
        self,
        logits: Floats,
        labels: Ints,
        *,
        progress: Progress,
        clusters: npt.NDArray[Any] | None = None,
    ) -> None:
        check_matrix(*logits.shape)
        rows = logits, labels, np.ones(len(labels))
        strength = self._choose(PENALTIES, *rows, clusters, progress)
        self._finish(self._begin(*rows), strength, progress=progress)

    def _inputs(self, logits: Floats, scores: Floats) -> Floats:
        return log_softmax(logits)

    def steps(self) -> list[Step]:
        # Softmax does not see what is added to a row, so that the scores of learned classes are their inputs over T.
        matrix = np.eye(self.n_classes_) / self.temperature_ + self.change_
        change = {"step": "matrix", "matrix": matrix, "offset": self.bias_}
        if self.learned_.all():
            return [{"step": "log_softmax"}, change, {"step": "softmax"}]
        some = np.flatnonzero(self.learned_)
        others = np.flatnonzero(~self.learned_)
        away = {
            "step": "affine",
            "offset": np.where(self.learned_, 0.0, -1e300),
        }  # from the softmax of learned classes
        parts = [[away, {"step": "log_softmax"}, change], self._score_steps()]
        return [
            {
                "step": "mix",
                "weights": [self.learned_.astype(float), (~self.learned_).astype(float)],
                "parts": parts,
            },
            {"step": "softmax", "among": some, "kept": others},
        ]

    def _problem(
        self, scores: Floats, inputs: Floats, labels: Ints, weights: Floats, on_gpu: bool
    ) -> Minimum:
        n, n_classes = inputs.shape
        unit = n_classes / n
        return MatrixProblem(
            scores, inputs, labels, off_diagonal=unit, diagonal=unit, bias=unit / 10
        ).minimum
