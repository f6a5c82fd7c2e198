"""Penalised affine maps of log-probabilities that start from temperature scaling, and the matrix of one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
import numpy.typing as npt

from calib.base import NEEDS_CLASSES, POSITIVE, Calibrator, Progress, silent
from calib.calibrators._folds import FOLD_TOLERANCE, Predict, choose_strength
from calib.calibrators.minimisation import MAX_STEPS, UNFINISHED, minimise_convex
from calib.calibrators.temperature import TemperatureScaling
from calib.errors import CalibrationError
from calib.numerics import MEMORY_ENTRIES, Floats, Ints, blocks, log_softmax, softmax

MATRIX_CLASSES = 2000
"""Largest number of classes for which a matrix is fitted: 1 GB."""

MATRIX_WORK = 20_000_000_000
"""Largest rows times squared classes: 4 s a step."""

_BYTES = 250  # memory that L-BFGS takes for each weight
_WORK_A_SECOND = 5e9  # rows times squared classes in one pass, by one core


class Problem(Protocol):
    """The least penalised loss of ``softmax(scores + M x + b)``."""

    def minimum(self, strength: float, tolerance: float, progress: Progress) -> tuple[Floats, Floats, int, bool]:
        """M, b, how many steps the search took, and whether it converged; it starts where the last one ended.

        M is (n_classes, n_classes), or (n_classes,) for its diagonal, and b (n_classes,).
        """
        ...


@dataclass(eq=False, repr=False, kw_only=True)
class AffineScaling(Calibrator):
    """Base of methods that change the log-probabilities after temperature scaling by a penalised affine map.

    ``p = softmax(s + M x + b)`` with s the log-probabilities after temperature scaling, and x what :meth:`_inputs`
    makes of a row. A class without calibration rows keeps the probability in ``softmax(s)``, and the others share the
    rest by a map that is fitted to them alone: no label is its own, so that the likelihood would push it to zero.
    """

    traits: ClassVar[frozenset[str]] = Calibrator.traits | {POSITIVE, NEEDS_CLASSES}

    change_dimensions: ClassVar[int] = 2
    """1 where M is a diagonal, kept as a vector."""

    # -- what subclasses write -------------------------------------------------------------------------

    def _scores(self, logits: Floats, temperature: float, n_rows: float) -> Floats:
        """Log-probabilities after temperature scaling fitted to so many rows, (n, n_classes)."""
        return log_softmax(logits / temperature)

    def _inputs(self, logits: Floats, scores: Floats) -> Floats:
        """What the map acts on, from logits and :meth:`_scores`, both of the classes with calibration rows alone."""
        return scores

    def _problem(self, scores: Floats, inputs: Floats, labels: Ints, weights: Floats, on_gpu: bool) -> Problem:
        """The problem whose minimum at a strength is the fit to these rows."""
        raise TypeError(f"{type(self).__name__} has no _problem")

    # --------------------------------------------------------------------------------------------------

    def notes(self) -> list[str]:
        notes = [*([] if self.converged_ else [UNFINISHED])]
        if absent := self.n_classes_ - int(self.learned_.sum()):
            notes.append(
                f"{absent} of {self.n_classes_} classes {'has' if absent == 1 else 'have'} no calibration rows, so "
                f"nothing can be learned about {'it; it keeps' if absent == 1 else 'them; they keep'} what temperature "
                "scaling gives."
            )
        return [*notes, *self.temperature_notes_]

    def _chosen_strength(
        self,
        strengths: Sequence[float],
        logits: Floats,
        labels: Ints,
        weights: Floats,
        clusters: npt.NDArray[Any] | None,
        progress: Progress,
    ) -> float | None:
        """The penalty that folds choose, None for temperature scaling; stored with what is to be said of it."""

        def start(*rows: Any) -> Any:
            fit = AffineFit(self, *rows)

            def at(strength: float | None) -> Predict:
                fit.at(strength, FOLD_TOLERANCE)
                return lambda held: _probs(self, held, fit)

            return at

        choice = choose_strength(
            strengths,
            start,
            logits,
            labels,
            weights,
            clusters=clusters,
            random_state=self.random_state,
            progress=progress,
        )
        self.penalty_, self.choice_note_ = choice.strength or 0.0, choice.note
        return choice.strength

    def _learn(self, fit: AffineFit) -> None:
        """Take over what a fit has learned."""
        self.temperature_, self.temperature_notes_, self.n_rows_ = fit.temperature_, fit.temperature_notes_, fit.n_rows_
        self.learned_, self.change_, self.bias_ = fit.learned_, fit.change_, fit.bias_
        self.n_iter_, self.converged_ = fit.n_iter_, fit.converged_

    def _predict(self, logits: Floats) -> Floats:
        return _probs(self, logits, self)


class AffineFit:
    """A fit to some rows, whose penalty can be changed; each search starts where the one before ended.

    What it learns has the names of the method's attributes; changes and biases of classes without rows are 0.

    Parameters
    ----------
    method : what is fitted.
    logits, labels, weights : the rows; no weight is 0.
    on_gpu : whether the search runs on a GPU.
    """

    def __init__(self, method: AffineScaling, logits: Floats, labels: Ints, weights: Floats, on_gpu: bool = False):
        n_classes = logits.shape[1]
        scaled = TemperatureScaling(device="cpu")
        scaled._fit(logits, labels, weights=weights, progress=silent)
        self.temperature_, self.temperature_notes_ = scaled.temperature_, scaled.notes()
        self.n_rows_ = float(weights.sum())
        self.learned_: npt.NDArray[np.bool_] = np.bincount(labels, minlength=n_classes) > 0
        self.change_, self.bias_ = np.zeros((n_classes,) * method.change_dimensions), np.zeros(n_classes)
        self.n_iter_, self.converged_ = 0, True
        self._problem: Problem | None = None
        if (learned := self.learned_).sum() > 1:
            scores = method._scores(logits, self.temperature_, self.n_rows_)
            if not learned.all():
                logits, scores = logits[:, learned], log_softmax(scores[:, learned])
                labels = (np.cumsum(learned) - 1)[labels]
            self._problem = method._problem(scores, method._inputs(logits, scores), labels, weights, on_gpu)

    def at(self, strength: float | None, tolerance: float = 1e-7, progress: Progress = silent) -> AffineFit:
        """Fit with this penalty; None leaves temperature scaling."""
        self.change_[:], self.bias_[:] = 0.0, 0.0
        if strength is not None and self._problem is not None:
            change, bias, self.n_iter_, self.converged_ = self._problem.minimum(strength, tolerance, progress)
            self.bias_[self.learned_] = bias
            self.change_[self.learned_ if change.ndim == 1 else np.ix_(self.learned_, self.learned_)] = change
        return self


def _probs(method: AffineScaling, logits: Floats, by: AffineScaling | AffineFit) -> Floats:
    """Probabilities of a method by what it, or a fit in a fold, has learned."""
    scores, some = method._scores(logits, by.temperature_, by.n_rows_), by.learned_
    if some.all():
        return softmax(_changed(scores, method._inputs(logits, scores), by.change_, by.bias_))
    probs = softmax(scores)
    if some.any():
        change = by.change_[some] if by.change_.ndim == 1 else by.change_[np.ix_(some, some)]
        inputs = method._inputs(logits[:, some], scores[:, some])
        changed = softmax(_changed(scores[:, some], inputs, change, by.bias_[some]))
        probs[:, some] = probs[:, some].sum(axis=1, keepdims=True) * changed
    return probs


def _changed(scores: Floats, inputs: Floats, change: Floats, bias: Floats) -> Floats:
    """Scores plus the affine map of the inputs, whose weights are a matrix, or a vector for its diagonal."""
    result = inputs @ change.T if change.ndim == 2 else inputs * change
    result += scores
    result += bias
    return result


class MatrixProblem:
    """Least mean cross-entropy of ``softmax(scores + M x + b)`` plus quadratic penalties on M and b.

    The penalty at a strength s is ``s (off_diagonal sum_{i != j} M_ij^2 + diagonal sum M_ii^2 + bias sum b^2)``.

    L-BFGS is given other weights, in which the loss is about as steep in all directions: inputs along the
    eigenvectors of their second moments, in which rows count by how uncertain they are, each divided by the root of the
    curvature that is expected for its class and eigenvector. Where the diagonal has a penalty of its own, it is
    given weights of its own beside these, which add to it.

    Parameters
    ----------
    scores : (n, n_classes) array to be changed, not copied.
    inputs : (n, n_classes) array of rows x.
    labels : (n,) integers in [0, n_classes).
    off_diagonal, diagonal, bias : relative strengths of the penalties.
    """

    def __init__(
        self, scores: Floats, inputs: Floats, labels: Ints, *, off_diagonal: float, diagonal: float, bias: float
    ):
        n, n_classes = scores.shape
        self._scores, self._labels = scores, labels
        self._off_diagonal, self._diagonal = off_diagonal, diagonal
        self._bias_unit = np.sqrt(off_diagonal / bias)  # the bias is the weight of an input that is always this
        moments, self._curvature = np.zeros((n_classes + 1, n_classes + 1)), np.zeros(n_classes)
        self._of_diagonal = np.zeros(n_classes)
        for rows in blocks(n, n_classes, MEMORY_ENTRIES):
            probs, design = softmax(scores[rows]), self._design(inputs[rows])
            variances = probs * (1 - probs)
            self._curvature += variances.sum(axis=0) / n
            self._of_diagonal += np.einsum("nk,nk->k", variances, inputs[rows] ** 2) / n
            moments += (design * variances.sum(axis=1)[:, None]).T @ design
        moments /= max(n * float(self._curvature.sum()), np.finfo(float).tiny)
        eigenvalues, self._axes = np.linalg.eigh(moments)
        self._eigenvalues = np.maximum(eigenvalues, 0.0)
        self._inputs = np.empty((n, n_classes + 1))
        for rows in blocks(n, n_classes, MEMORY_ENTRIES):
            np.matmul(self._design(inputs[rows]), self._axes, out=self._inputs[rows])
        self._last = np.zeros((n_classes, n_classes + 1))

    def _design(self, inputs: Floats) -> Floats:
        return np.column_stack([inputs, np.full(len(inputs), self._bias_unit)])

    def value(self, weights: Floats, strength: float) -> tuple[float, Floats]:
        """The objective and its gradient at (n_classes, n_classes + 1) weights of the inputs along the eigenvectors."""
        n, n_classes = self._scores.shape
        loss, gradient = 0.0, np.zeros(weights.shape)
        for rows in blocks(n, n_classes, MEMORY_ENTRIES):  # large blocks, for the matrix products
            scores = self._inputs[rows] @ weights.T
            scores += self._scores[rows]
            in_block, residual = _loss_and_residual(scores, self._labels[rows])
            loss += in_block
            gradient += residual.T @ self._inputs[rows]
        gradient /= n
        gradient += 2 * strength * self._off_diagonal * weights
        penalty = self._off_diagonal * float(np.vdot(weights, weights))
        if self._diagonal != self._off_diagonal:
            more, axes = self._diagonal - self._off_diagonal, self._axes[:n_classes]
            diagonal = self._diagonal_of(weights)
            penalty += more * float(diagonal @ diagonal)
            gradient += 2 * strength * more * diagonal[:, None] * axes
        return loss / n + strength * penalty, gradient

    def minimum(
        self, strength: float, tolerance: float = 1e-7, progress: Progress = silent
    ) -> tuple[Floats, Floats, int, bool]:
        """See :class:`Problem`."""
        shape, n_classes = self._last.shape, len(self._last)
        axes = self._axes[:n_classes]
        unit = (np.outer(self._curvature, self._eigenvalues) + 2 * strength * self._off_diagonal) ** -0.5
        of_diagonal = (self._of_diagonal + 2 * strength * self._diagonal) ** -0.5
        if self._diagonal == self._off_diagonal:
            of_diagonal = np.empty(0)

        def weights(values: Floats) -> Floats:
            made = unit * values[: unit.size].reshape(shape)
            if of_diagonal.size:
                made += (of_diagonal * values[unit.size :])[:, None] * axes
            return made

        def objective(values: Floats) -> tuple[float, Floats]:
            value, gradient = self.value(weights(values), strength)
            more = of_diagonal * self._diagonal_of(gradient) if of_diagonal.size else of_diagonal
            return value, np.concatenate([(unit * gradient).ravel(), more])

        start = np.concatenate([(self._last / unit).ravel(), np.zeros(len(of_diagonal))])
        values, n_iter, converged = minimise_convex(objective, start, progress, tolerance=tolerance)
        self._last = weights(values)
        change = self._last @ self._axes.T
        return np.ascontiguousarray(change[:, :-1]), change[:, -1] * self._bias_unit, n_iter, converged

    def _diagonal_of(self, weights: Floats) -> Floats:
        """The weights of each class's own input, from those along the eigenvectors."""
        return np.einsum("kj,kj->k", weights, self._axes[: len(weights)])


def _loss_and_residual(scores: Floats, labels: Ints) -> tuple[float, Floats]:
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


def check_matrix(n: int, n_classes: int) -> None:
    """Raise :class:`~calib.base.CalibrationError` where a matrix would take too much memory or time."""
    if n_classes > MATRIX_CLASSES:
        raise CalibrationError(
            f"A matrix of {n_classes:,} x {n_classes:,} weights needs about {_BYTES * n_classes**2 / 1e9:.0f} GB "
            f"to fit, and is offered up to {MATRIX_CLASSES:,} classes; choose structured_vector."
        )
    if n * n_classes**2 > MATRIX_WORK:
        raise CalibrationError(
            f"Fitting a matrix of {n_classes:,} x {n_classes:,} weights on {n:,} rows takes about "
            f"{n * n_classes**2 / _WORK_A_SECOND:.0f} s for each of up to {MAX_STEPS} steps; choose "
            f"structured_vector, or at most {MATRIX_WORK // n_classes**2:,} rows."
        )
