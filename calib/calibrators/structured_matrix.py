"""Structured matrix scaling."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from calib.base import Progress
from calib.calibrators._multinomial import AffineScaling, MatrixProblem, Minimum, check_matrix
from calib.numerics import Floats, Ints


@dataclass(eq=False, repr=False, kw_only=True)
class StructuredMatrixScaling(AffineScaling):
    """Temperature scaling, then an L2-regularised matrix of weights between all classes, and a bias (SMS).

    Berta et al., Structured Matrix Scaling for Multi-Class Calibration, AISTATS 2026 (arXiv 2511.03685), from the
    smoothed log-probabilities x of :class:`calib.calibrators.structured_vector.StructuredScaling`::

        p = softmax((I + M) x + b)

    Minimised is the mean negative log-likelihood plus ``1 / n`` times ``K sum_i M_ii^2 + K (K - 1) sum_{i != j} M_ij^2
    + K |b|^2``: the K (K - 1) weights between two classes weigh as much as the K of one. A class without calibration
    rows keeps its probability after temperature scaling, where the authors' code pushes it down; K is then the number
    of the others.
    """

    smoothed: ClassVar[bool] = True

    def _fit(self, logits: Floats, labels: Ints, *, progress: Progress) -> None:
        check_matrix(*logits.shape)
        self._finish(self._begin(logits, labels, np.ones(len(labels))), 1.0, progress=progress)

    def _problem(self, scores: Floats, inputs: Floats, labels: Ints, weights: Floats, on_gpu: bool) -> Minimum:
        n, k = inputs.shape
        return MatrixProblem(scores, inputs, labels, off_diagonal=k * (k - 1) / n, diagonal=k / n, bias=k / n).minimum
