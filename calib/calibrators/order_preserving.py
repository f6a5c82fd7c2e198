"""Order-preserving scaling: one weight for each gap between neighbouring logits of a sorted row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from calib.base import KEEPS_ACCURACY, KEEPS_RANKING, Callback, no_callback
from calib.calibrators._folds import FOLD_TOLERANCE, ChosenByFolds, Fit, Predict
from calib.calibrators.minimisation import LBFGSReport, minimise_convex
from calib.calibrators.temperature import TemperatureScaling
from calib.numerics import MEMORY_ENTRIES, Floats, Ints, blocks
from calib.parameters import Array, State, param

LEAST_WEIGHT = 1e-6
"""Least weight of a gap, in units of one over the temperature; above zero, so that different logits stay different."""


@dataclass(eq=False, repr=False, kw_only=True)
class OrderPreservingScaling(ChosenByFolds):
    """Weigh each gap between neighbouring logits of a sorted row by its rank; keeps the accuracy and every ranking.

    The form with constant weights of Rahimi, Shaban, Cheng, Hartley and Boots, Intra Order-Preserving Functions for
    Calibration of Multi-Class Neural Networks, NeurIPS 2020. With a row's logits sorted, z_(1) >= .. >= z_(K)::

        f_(r) = sum_{j >= r} w_j (z_(j) - z_(j + 1)) / T,    p = softmax(f),    w_j >= 1e-6

    K - 1 weights whose negative log-likelihood is convex; all of them 1 is temperature scaling. Minimised is the mean
    negative log-likelihood plus ``penalty`` times the mean of ``(w_j - 1)^2``, T being that of temperature scaling.
    The weights know ranks and no classes, so that a class without calibration rows is treated as any other, and for two
    classes this is temperature scaling.
    """

    penalty: float = param(0.1, low=1e-6, high=1e6, help="Pull towards temperature scaling where it is fixed.")

    state: ClassVar[State] = {"weights_": Array("n_classes-1", low=0)}

    @property
    def grid(self) -> tuple[float, ...]:
        """The strengths to choose from."""
        return (1000.0, 300.0, 100.0, 30.0, 10.0, 3.0, 1.0, 0.3, 0.1, 0.03)

    keeps_half: ClassVar[bool] = True

    def promises(self, n_classes: int) -> frozenset[str]:
        return super().promises(n_classes) | {KEEPS_ACCURACY, KEEPS_RANKING}

    def _fit(self, logits: Floats, labels: Ints, callback: Callback, **extras: Any) -> None:
        penalty = self._chosen_penalty(self._fits_in_fold, logits, labels, callback, extras.get("clusters"))
        scaled = TemperatureScaling(device="cpu").fit(logits, labels, callback=callback)
        self.temperature_, self.temperature_notes_ = scaled.temperature_, scaled.notes()
        self.weights_ = np.ones(logits.shape[1] - 1)
        if penalty is not None:
            problem = GapProblem(*sorted_gaps(logits, labels), scaled.temperature_)
            if isinstance(start := extras.get("start"), OrderPreservingScaling):
                problem.start_at(start.weights_)
            self.weights_, report = problem.minimum(penalty, self.max_iter, callback)
            self.n_iter_, self.converged_ = report.n_iter, report.converged

    def _fits_in_fold(self, logits: Floats, labels: Ints) -> Fit:
        temperature = TemperatureScaling(device="cpu").fit(logits, labels).temperature_
        problem = GapProblem(*sorted_gaps(logits, labels), temperature)

        def at(penalty: float | None) -> Predict:
            weights = np.ones(logits.shape[1] - 1)
            if penalty is not None:
                weights, _ = problem.minimum(penalty, self.max_iter, tolerance=FOLD_TOLERANCE)
            return lambda held: gap_probs(held, weights / temperature)

        return at

    def _predict_proba(self, logits: Floats) -> Floats:
        return gap_probs(logits, self.weights_ / self.temperature_)


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
        self._last = np.ones(gaps.shape[1])
        self._curvature = np.zeros(gaps.shape[1])
        for rows in blocks(len(gaps), gaps.shape[1], MEMORY_ENTRIES):
            above = self._above(self._last, gaps[rows])[0]
            self._curvature += np.einsum("nk,nk->k", above * (1 - above), gaps[rows] ** 2) / len(gaps)

    def start_at(self, weights: Floats) -> None:
        """Start the next search at these weights, (n_classes - 1,)."""
        self._last = np.maximum(weights, LEAST_WEIGHT)

    @staticmethod
    def _above(weights: Floats, gaps: Floats) -> tuple[Floats, Floats, Floats]:
        """Probability of the ranks above each gap, (n, k); how far each rank lies below the first; log of the sum."""
        below = np.cumsum(gaps * weights, axis=1)
        odds = np.exp(-below)
        total = 1 + odds.sum(axis=1)
        above = np.empty(gaps.shape)
        above[:, 0] = 1.0
        np.cumsum(odds[:, :-1], axis=1, out=above[:, 1:])
        above[:, 1:] += 1.0
        above /= total[:, None]
        return above, below, np.log(total)

    def value(self, weights: Floats, strength: float) -> tuple[float, Floats]:
        """The objective and its gradient, (n_classes - 1,)."""
        n, k = self._gaps.shape
        loss, gradient = 0.0, np.zeros(k)
        for rows in blocks(n, k):
            gaps, ranks = self._gaps[rows], self._ranks[rows]
            above, below, log_total = self._above(weights, gaps)
            wrong = ranks > 0
            loss += float(log_total.sum() + below[wrong, ranks[wrong] - 1].sum())
            # Widening a gap takes from the ranks below it, and helps where the label is above.
            above -= np.arange(k) >= ranks[:, None]
            gradient += np.einsum("nk,nk->k", above, gaps)
        away = weights - 1
        return loss / n + strength * float(away @ away) / k, gradient / n + 2 * strength / k * away

    def minimum(
        self, strength: float, max_iter: int, callback: Callback = no_callback, tolerance: float = 1e-7
    ) -> tuple[Floats, LBFGSReport]:
        """The weights, (n_classes - 1,), and how the search ended; it starts at the last ones."""
        unit = (self._curvature + 2 * strength / len(self._curvature)) ** -0.5

        def objective(values: Floats) -> tuple[float, Floats]:
            value, gradient = self.value(1 + unit * values, strength)
            return value, unit * gradient

        values, report = minimise_convex(
            objective,
            (self._last - 1) / unit,
            max_iter,
            callback,
            lower=(LEAST_WEIGHT - 1) / unit,
            tolerance=tolerance,
        )
        self._last = np.maximum(1 + unit * values, LEAST_WEIGHT)
        return self._last, report
