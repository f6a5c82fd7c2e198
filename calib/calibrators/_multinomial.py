"""Penalised affine maps of log-probabilities that start from temperature scaling, and the matrix of one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from calib.base import Progress, silent
from calib.calibrators._folds import PenalisedScaling
from calib.calibrators.minimisation import Found, minimise
from calib.calibrators.steps import Step
from calib.errors import CalibrationError
from calib.numerics import PREDICTED_ENTRIES, Floats, Ints, blocks, log_softmax, row_maxima, softmax

MATRIX_CLASSES = 2000
"""Largest number of classes for which a matrix is fitted: its search takes 1 GB."""

MATRIX_WORK = 20_000_000_000
"""Largest rows times squared classes: 4 s a step, of up to 500."""

Minimum = Callable[[float, float, Progress], Found]
"""Weights of least loss at a strength of the penalty, to a tolerance; the steps taken, and whether they converged.

It starts where the last search ended. Weights are (n_classes, n_classes + 1), a matrix and behind it the bias, or
(n_classes, 2), its diagonal and the bias.
"""


@dataclass(eq=False, repr=False, kw_only=True)
class AffineScaling(PenalisedScaling):
    """Base of methods that change the log-probabilities after temperature scaling by a penalised affine map.

    ``p = softmax(s + M x + b)`` with s the log-probabilities after temperature scaling, and x what :meth:`_inputs`
    makes of a row. A class without calibration rows keeps the probability in ``softmax(s)``, and the others share the
    rest by a map that is fitted to them alone: no label is its own, so that the likelihood would push it to zero.
    """

    diagonal: ClassVar[bool] = False
    """True where M is a diagonal, kept as a vector."""
    smoothed: ClassVar[bool] = False
    """True where a uniform distribution counts as one row of n + 1 in s."""

    # -- what subclasses write -------------------------------------------------------------------------

    def _inputs(self, logits: Floats, scores: Floats) -> Floats:
        """Inputs of the map, from logits and :meth:`_scores`, both of the classes with calibration rows alone."""
        return scores

    def _problem(
        self, scores: Floats, inputs: Floats, labels: Ints, weights: Floats, on_gpu: bool
    ) -> Minimum:
        """The search for the weights of the map that is best for these rows."""
        raise TypeError(f"{type(self).__name__} has no _problem")

    # --------------------------------------------------------------------------------------------------

    def notes(self) -> list[str]:
        notes = super().notes()
        if absent := int((~self.learned_).sum()):
            notes.insert(
                0,
                f"{absent} of {self.n_classes_} classes {'has' if absent == 1 else 'have'} no calibration rows, so "
                f"nothing can be learned about {'it; it keeps' if absent == 1 else 'them; they keep'} what temperature "
                "scaling gives.",
            )
        return notes

    def _scores(self, logits: Floats) -> Floats:
        """Log-probabilities after temperature scaling, (n, n_classes)."""
        if not self.smoothed:
            return log_softmax(logits / self.temperature_)
        probs = softmax(logits / self.temperature_)
        probs *= self.n_rows_
        probs += 1 / self.n_classes_
        probs /= self.n_rows_ + 1
        return np.log(probs, out=probs)

    def _score_steps(self) -> list[Step]:
        """:meth:`_scores` as steps."""
        scaled = {"step": "affine", "scale": 1 / self.temperature_}
        n = self.n_rows_
        if not self.smoothed:
            return [scaled, {"step": "log_softmax"}]
        mixed = {"step": "affine", "scale": n / (n + 1), "offset": 1 / (self.n_classes_ * (n + 1))}
        return [scaled, {"step": "softmax"}, mixed, {"step": "log"}]

    def _begin(
        self, logits: Floats, labels: Ints, weights: Floats, on_gpu: bool = False
    ) -> Minimum | None:
        learned: npt.NDArray[np.bool_] = np.bincount(labels, minlength=logits.shape[1]) > 0
        self.learned_, self.n_rows_ = learned, float(weights.sum())
        if learned.sum() < 2:
            return None
        scores = self._scores(logits)
        if not learned.all():
            logits = logits[:, learned]
            scores = log_softmax(scores[:, learned])
            labels = (np.cumsum(learned) - 1)[labels]
        return self._problem(scores, self._inputs(logits, scores), labels, weights, on_gpu)

    def _finish(
        self,
        problem: Minimum | None,
        strength: float | None,
        tolerance: float = 1e-7,
        progress: Progress = silent,
    ) -> None:
        learned = self.learned_
        n_classes = len(self.learned_)
        self.change_, self.bias_ = (
            np.zeros(n_classes if self.diagonal else (n_classes, n_classes)),
            np.zeros(n_classes),
        )
        if strength is None or problem is None:
            return
        weights, self.n_iter_, self.converged_ = problem(strength, tolerance, progress)
        self.bias_[learned] = weights[:, -1]
        if self.diagonal:
            self.change_[learned] = weights[:, 0]
        else:
            self.change_[np.ix_(learned, learned)] = weights[:, :-1]

    def _predict(self, logits: Floats) -> Floats:
        scores = self._scores(logits)
        every = bool(self.learned_.all())
        some = slice(None) if every else np.flatnonzero(self.learned_)
        inputs = self._inputs(logits[:, some], scores[:, some])
        change = self.change_[some]
        changed = inputs * change if self.diagonal else inputs @ change[:, some].T
        changed += scores[:, some]
        changed += self.bias_[some]
        if every:
            return softmax(changed)
        probs = softmax(scores)
        probs[:, some] = probs[:, some].sum(axis=1, keepdims=True) * softmax(changed)
        return probs

    def steps(self) -> list[Step]:
        # A class that was not learned keeps its score, a log-probability, and the others share the rest.
        changed: Step = {"step": "affine", "scale": 1 + self.change_, "offset": self.bias_}
        if not self.diagonal:
            changed = {
                "step": "matrix",
                "matrix": np.eye(self.n_classes_) + self.change_,
                "offset": self.bias_,
            }
        columns = np.flatnonzero(self.learned_), np.flatnonzero(~self.learned_)
        others = {} if self.learned_.all() else dict(zip(("among", "kept"), columns, strict=True))
        return [*self._score_steps(), changed, {"step": "softmax", **others}]


class MatrixProblem:
    """Least mean cross-entropy of ``softmax(scores + M x + b)`` plus quadratic penalties on M and b.

    The penalty at a strength s is ``s (off_diagonal sum_{i != j} M_ij^2 + diagonal sum M_ii^2 + bias sum b^2)``.

    L-BFGS is given other weights, in which the loss is about as steep in all directions: along the eigenvectors of the
    classes' mean covariance and of the inputs' second moments, in which rows count by how uncertain they are, in units
    of one over the root of the curvature that is expected there. A diagonal with a smaller penalty is moved beside that
    in units of its own.

    Parameters
    ----------
    scores : (n, n_classes) array to be changed, not copied.
    inputs : (n, n_classes) array of rows x.
    labels : (n,) integers in [0, n_classes).
    off_diagonal, diagonal, bias : relative strengths of the penalties.
    """

    def __init__(
        self,
        scores: Floats,
        inputs: Floats,
        labels: Ints,
        *,
        off_diagonal: float,
        diagonal: float,
        bias: float,
    ):
        n, n_classes = scores.shape
        self._scores, self._labels = scores, labels
        self._design = np.column_stack([inputs, np.ones(n)])
        self._last = np.zeros((n_classes, n_classes + 1))
        self._off_diagonal, self._diagonal = off_diagonal, diagonal
        self._penalty = np.full(self._last.shape, off_diagonal)
        np.fill_diagonal(self._penalty, diagonal)
        self._penalty[:, -1] = bias
        moments = np.zeros((n_classes + 1,) * 2)
        covariance = np.zeros((n_classes,) * 2)
        self._own_curvature = np.zeros(n_classes)
        for rows in blocks(n, n_classes, PREDICTED_ENTRIES):
            probs = softmax(scores[rows])
            design = self._design[rows]
            variances = probs * (1 - probs)
            covariance += (np.diag(probs.sum(axis=0)) - probs.T @ probs) / n
            moments += (design * variances.sum(axis=1)[:, None]).T @ design
            self._own_curvature += (
                np.einsum("nk,nk,nk->k", variances, design[:, :-1], design[:, :-1]) / n
            )
        # In units in which a penalty on the bias is that on other weights.
        self._units = np.append(np.ones(n_classes), np.sqrt(off_diagonal / bias))
        moments *= np.outer(self._units, self._units) / max(
            n * np.trace(covariance), np.finfo(float).tiny
        )
        of_classes, self._class_axes = np.linalg.eigh(covariance)
        of_inputs, self._axes = np.linalg.eigh(moments)
        self._curvature = np.outer(np.maximum(of_classes, 0.0), np.maximum(of_inputs, 0.0))

    def value(self, weights: Floats, strength: float) -> tuple[float, Floats]:
        """The objective and its gradient at (n_classes, n_classes + 1) weights, M and behind it b."""
        n, n_classes = self._scores.shape
        loss = 0.0
        gradient = strength * self._penalty * weights
        penalty = float(np.vdot(gradient, weights))
        gradient *= 2
        for rows in blocks(
            n, n_classes, PREDICTED_ENTRIES
        ):  # large blocks, for the matrix products
            scores = self._design[rows] @ weights.T
            labels = self._labels[rows]
            places = np.arange(rows.stop - rows.start)
            scores += self._scores[rows]
            scores -= row_maxima(scores)
            loss -= float(scores[places, labels].sum())
            residual = np.exp(scores, out=scores)
            total = residual.sum(axis=1)
            loss += float(np.log(total).sum())
            residual /= total[:, None]
            residual[places, labels] -= 1.0
            gradient += residual.T @ self._design[rows] / n
        return loss / n + penalty, gradient

    def minimum(
        self, strength: float, tolerance: float = 1e-7, progress: Progress = silent
    ) -> Found:
        """The weights of least value, from where the last search ended."""
        k = len(self._last)
        across = self._class_axes
        along = self._axes * self._units[:, None]
        unit = (self._curvature + 2 * strength * self._off_diagonal) ** -0.5
        on_diagonal, off_diagonal = (
            1 / (self._own_curvature + 2 * strength * penalty)
            for penalty in (self._diagonal, self._off_diagonal)
        )
        diagonal_unit = np.sqrt(on_diagonal - off_diagonal)
        diagonal = np.diag_indices(k)

        def weights(values: Floats) -> Floats:
            changed = across @ (unit * values[k:].reshape(unit.shape)) @ along.T
            changed[diagonal] += diagonal_unit * values[:k]
            return changed

        def objective(values: Floats) -> tuple[float, Floats]:
            value, gradient = self.value(weights(values), strength)
            turned = unit * (across.T @ gradient @ along)
            return value, np.append(diagonal_unit * gradient[diagonal], turned)

        last = across.T @ (self._last / self._units) @ self._axes / unit
        start = np.append(np.zeros(k), last)
        values, n_iter, converged = minimise(objective, start, progress, tolerance=tolerance)
        self._last = weights(values)
        return self._last, n_iter, converged


def check_matrix(n: int, n_classes: int) -> None:
    """Raise :class:`~calib.base.CalibrationError` where a matrix would take too much memory or time."""
    if n_classes > MATRIX_CLASSES or n * n_classes**2 > MATRIX_WORK:
        many = n_classes > MATRIX_CLASSES
        limit = (
            f"{MATRIX_CLASSES:,} classes"
            if many
            else f"{MATRIX_WORK // n_classes**2:,} rows of so many classes"
        )
        raise CalibrationError(
            f"A matrix of {n_classes:,} x {n_classes:,} weights takes too much memory or time to fit to {n:,} rows. It "
            f"is offered up to {limit}; choose structured_vector for more."
        )
