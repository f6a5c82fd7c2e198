"""Order-preserving scaling: one weight for each gap between neighbouring logits of a sorted row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from calib.base import KEEPS_ACCURACY, KEEPS_HALF, KEEPS_RANKING, Progress, silent
from calib.calibrators._folds import PenalisedScaling
from calib.calibrators.minimisation import Found, newton
from calib.calibrators.steps import Step
from calib.numerics import MEMORY_ENTRIES, Floats, Ints, blocks

LEAST_WEIGHT = 1e-6
"""Least weight of a gap, in units of one over the temperature; above zero, so that different logits stay different."""

PENALTIES = (10.0, 1.0, 0.1, 0.03)
"""The penalties to choose from."""


@dataclass(eq=False, repr=False, kw_only=True)
class OrderPreservingScaling(PenalisedScaling):
    """Weigh each gap between neighbouring logits of a sorted row by its rank; keeps the accuracy and every ranking.

    The form with constant weights of Rahimi, Shaban, Cheng, Hartley and Boots, Intra Order-Preserving Functions for
    Calibration of Multi-Class Neural Networks, NeurIPS 2020. With a row's logits sorted, z_(1) >= .. >= z_(K)::

        f_(r) = sum_{j >= r} w_j (z_(j) - z_(j + 1)) / T,    p = softmax(f),    w_j >= 1e-6

    K - 1 weights whose negative log-likelihood is convex; all of them 1 is temperature scaling. Minimised is the mean
    negative log-likelihood plus ``penalty`` times the mean of ``(w_j - 1)^2``, T being that of temperature scaling. The
    penalty has the least NLL in five folds of the calibration rows, and temperature scaling itself is kept where that
    is no better by more than half a standard error. ``fit(..., clusters=)`` keeps the rows of a cluster in one fold.
    The weights know ranks and no classes, so that a class without calibration rows is treated as any other, and for two
    classes this is temperature scaling.

    Examples
    --------
    >>> import calib
    >>> calibration, test = calib.load_sample("digits-cnn").split(0.5)
    >>> fitted = OrderPreservingScaling().fit(calibration)
    >>> calib.ece(fitted.predict_proba(test), test.labels) < 0.04  # of the raw model
    True
    """

    traits: ClassVar[frozenset[str]] = PenalisedScaling.traits | {
        KEEPS_HALF,
        KEEPS_ACCURACY,
        KEEPS_RANKING,
    }

    def _fit(
        self,
        logits: Floats,
        labels: Ints,
        *,
        progress: Progress,
        clusters: npt.NDArray[Any] | None = None,
    ) -> None:
        rows = logits, labels, np.ones(len(labels))
        strength = self._choose(PENALTIES, *rows, clusters, progress)
        self._finish(self._begin(*rows), strength, progress=progress)

    def _begin(self, logits: Floats, labels: Ints, weights: Floats) -> GapProblem:
        return GapProblem(*sorted_gaps(logits, labels), self.temperature_)

    def _finish(
        self,
        problem: GapProblem,
        strength: float | None,
        tolerance: float = 1e-7,
        progress: Progress = silent,
    ) -> None:
        self.weights_ = np.ones(self.n_classes_ - 1)
        if strength is not None:
            self.weights_, self.n_iter_, self.converged_ = problem.minimum(
                strength, tolerance, progress
            )

    def _predict(self, logits: Floats) -> Floats:
        return gap_probs(logits, self.weights_ / self.temperature_)

    def steps(self) -> list[Step]:
        return [
            {"step": "ranks", "weights": self.weights_ / self.temperature_},
            {"step": "softmax"},
        ]


def sorted_gaps(logits: Floats, labels: Ints) -> tuple[Floats, Ints]:
    """Gaps between neighbours of each sorted row, (n, n_classes - 1), the largest logit's first, and the label's rank.

    Equal logits have ranks in the order of their classes, which their gap of zero leaves without meaning.
    """
    n, n_classes = logits.shape
    gaps = np.empty((n, n_classes - 1))
    for rows in blocks(n, n_classes):
        falling = -np.sort(-logits[rows], axis=1)
        np.subtract(falling[:, :-1], falling[:, 1:], out=gaps[rows])
    of_label = logits[np.arange(n), labels][:, None]
    return gaps, (logits > of_label).sum(axis=1)


def gap_probs(logits: Floats, weights: Floats) -> Floats:
    """Softmax of logits whose neighbours in each sorted row are as far apart as their gap times its weight."""
    order = np.argsort(-logits, axis=1, kind="stable")
    ranked = np.take_along_axis(logits, order, axis=1)
    below = np.cumsum((ranked[:, :-1] - ranked[:, 1:]) * weights, axis=1)
    by_rank = np.ones(logits.shape)
    np.exp(-below, out=by_rank[:, 1:])
    by_rank /= by_rank.sum(axis=1, keepdims=True)
    probs = np.empty(logits.shape)
    np.put_along_axis(probs, order, by_rank, axis=1)
    return probs


class GapProblem:
    """Least mean cross-entropy plus ``s mean((w - 1)^2)`` over the weights of the gaps, at a strength s.

    Parameters
    ----------
    gaps : (n, n_classes - 1) array; divided by the temperature here.
    ranks : (n,) rank of each label, from 0.
    temperature : of temperature scaling.
    """

    def __init__(self, gaps: Floats, ranks: Ints, temperature: float):
        gaps /= temperature
        self._gaps, self._ranks = gaps, ranks
        self._last: Floats = np.ones(gaps.shape[1])

    def value(self, weights: Floats, strength: float) -> tuple[float, Floats, Floats]:
        """The objective, its gradient, (n_classes - 1,), and its second derivatives."""
        n, k = self._gaps.shape
        loss = 0.0
        gradient = np.zeros(k)
        curvature = np.zeros((k, k))
        for rows in blocks(n, k, MEMORY_ENTRIES):  # large blocks, for the matrix product
            gaps = self._gaps[rows]
            ranks = self._ranks[rows]
            below = np.column_stack([np.zeros(len(gaps)), np.cumsum(gaps * weights, axis=1)])
            odds = np.exp(-below)
            total = odds.sum(axis=1)
            loss += float(np.log(total).sum() + below[np.arange(len(gaps)), ranks].sum())
            above = (
                np.cumsum(odds[:, :-1], axis=1) / total[:, None]
            )  # probability of the ranks above each gap
            curvature += (above * gaps).T @ ((1 - above) * gaps)  # right above the diagonal
            # Widening a gap takes from the ranks below it, and helps where the label is above.
            above -= np.arange(k) >= ranks[:, None]
            gradient += np.einsum("nk,nk->k", above, gaps)
        away = weights - 1
        penalty = strength / k
        curvature = (np.triu(curvature) + np.triu(curvature, 1).T) / n + 2 * penalty * np.eye(k)
        return loss / n + penalty * float(away @ away), gradient / n + 2 * penalty * away, curvature

    def minimum(
        self, strength: float, tolerance: float = 1e-7, progress: Progress = silent
    ) -> Found:
        """The weights, (n_classes - 1,), from where the last search ended."""
        self._last, n_iter, converged = newton(
            lambda weights: self.value(weights, strength),
            self._last,
            tolerance**0.5,
            progress,
            low=LEAST_WEIGHT,
        )
        return self._last, n_iter, converged
