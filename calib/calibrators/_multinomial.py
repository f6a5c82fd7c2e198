"""Penalised multinomial logistic regression on log-probabilities that starts from temperature scaling."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
import numpy.typing as npt

from calib.base import Callback, no_callback
from calib.calibrators._folds import FOLD_TOLERANCE, ChosenByFolds, Fit, Predict
from calib.calibrators.minimisation import LBFGSReport, loss_and_residual, minimise_convex
from calib.calibrators.temperature import TemperatureScaling
from calib.errors import CalibrationError
from calib.numerics import MEMORY_ENTRIES, Floats, Ints, blocks, log_softmax, softmax
from calib.parameters import Array, Count, State

FOLD_STEPS = 100
"""Most steps of a fit inside a fold, which starts where the one before ended."""

MATRIX_CLASSES = 2000
"""Largest number of classes for which a matrix is fitted: 1 GB."""

MATRIX_WORK = 20_000_000_000
"""Largest rows times squared classes: 4 s a step."""

_BYTES = 250  # memory that L-BFGS takes for each weight
_WORK_A_SECOND = 5e9  # rows times squared classes in one pass, by one core


class Problem(Protocol):
    """A change of the scores and how it is found."""

    def start_at(self, change: Floats, bias: Floats) -> None:
        """Start the next search at such a change."""
        ...

    def minimum(
        self, strength: float, max_iter: int, callback: Callback = ..., tolerance: float = ...
    ) -> tuple[Floats, Floats, LBFGSReport]:
        """The change of the weights, the bias of each class, and how the search ended; it starts at the last one."""
        ...


class MatrixProblem:
    """Least mean cross-entropy of ``softmax(scores + M @ x + b)`` plus quadratic penalties on M and b.

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
    off_diagonal, diagonal, bias : relative strengths of the penalties; ``diagonal`` may be 0.
    """

    def __init__(
        self,
        scores: Floats,
        inputs: Floats,
        labels: Ints,
        *,
        off_diagonal: float = 1.0,
        diagonal: float = 1.0,
        bias: float = 1.0,
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

    def start_at(self, change: Floats, bias: Floats) -> None:
        """See :class:`Problem`."""
        self._last = np.column_stack([change, bias / self._bias_unit]) @ self._axes

    def _design(self, inputs: Floats) -> Floats:
        return np.column_stack([inputs, np.full(len(inputs), self._bias_unit)])

    def value(self, weights: Floats, strength: float) -> tuple[float, Floats]:
        """The objective and its gradient at (n_classes, n_classes + 1) weights of the inputs along the eigenvectors."""
        n, n_classes = self._scores.shape
        loss, gradient = 0.0, np.zeros(weights.shape)
        for rows in blocks(n, n_classes, MEMORY_ENTRIES):  # large blocks, for the matrix products
            scores = self._inputs[rows] @ weights.T
            scores += self._scores[rows]
            in_block, residual = loss_and_residual(scores, self._labels[rows])
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
        self, strength: float, max_iter: int, callback: Callback = no_callback, tolerance: float = 1e-7
    ) -> tuple[Floats, Floats, LBFGSReport]:
        """See :class:`Problem`; the changes are (n_classes, n_classes) and (n_classes,)."""
        shape, n_classes = self._last.shape, len(self._last)
        axes = self._axes[:n_classes]
        unit = (np.outer(self._curvature, self._eigenvalues) + 2 * strength * self._off_diagonal) ** -0.5
        of_diagonal = self._of_diagonal + 2 * strength * self._diagonal + np.finfo(float).tiny ** 0.5
        of_diagonal = of_diagonal**-0.5 if self._diagonal != self._off_diagonal else np.empty(0)

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
        values, report = minimise_convex(objective, start, max_iter, callback, tolerance=tolerance)
        self._last = weights(values)
        change = self._last @ self._axes.T
        return np.ascontiguousarray(change[:, :-1]), change[:, -1] * self._bias_unit, report

    def _diagonal_of(self, weights: Floats) -> Floats:
        """The weights of each class's own input, from those along the eigenvectors."""
        return np.einsum("kj,kj->k", weights, self._axes[: len(weights)])


@dataclass(eq=False, repr=False, kw_only=True)
class ChangedTemperature(ChosenByFolds):
    """Base of methods that change the log-probabilities after temperature scaling by a penalised affine map.

    ``p = softmax(s + M x + b)`` with s the log-probabilities after temperature scaling, and x what :meth:`_inputs`
    makes of a row. A class without calibration rows keeps the probability in ``softmax(s)``, and the others share the
    rest by a map that is fitted to them alone: no label is its own, so that the likelihood would push it to zero.
    """

    state: ClassVar[State] = {
        "n_rows_": Count(1),
        "learned_": Array("n_classes", low=0, high=1, kinds=(np.bool_,)),
        "change_": Array("n_classes", "n_classes"),
        "bias_": Array("n_classes"),
    }

    change_dimensions: ClassVar[int] = 2
    """1 where M is a diagonal, kept as a vector."""

    # -- what subclasses write -------------------------------------------------------------------------

    def _start(self, logits: Floats, temperature: float, n_rows: int) -> Floats:
        """Log-probabilities after temperature scaling fitted to so many rows, (n, n_classes)."""
        return log_softmax(logits / temperature)

    def _inputs(self, logits: Floats, start: Floats) -> Floats:
        """What the map acts on, from logits and :meth:`_start`, both of the classes with calibration rows alone."""
        raise TypeError(f"{type(self).__name__} has no _inputs")

    def _problem(self, scores: Floats, inputs: Floats, labels: Ints, in_fold: bool) -> Problem:
        """The problem whose minimum at a penalty is the fit to these rows."""
        raise TypeError(f"{type(self).__name__} has no _problem")

    # --------------------------------------------------------------------------------------------------

    def notes(self) -> list[str]:
        notes = super().notes()
        absent = self.n_classes_ - int(self.learned_.sum())
        if absent:
            behind_unfinished = 0 if self.converged_ else 1
            notes.insert(
                behind_unfinished,
                f"{absent} of {self.n_classes_} classes {'has' if absent == 1 else 'have'} no calibration rows, so "
                f"nothing can be learned about {'it; it keeps' if absent == 1 else 'them; they keep'} what temperature "
                "scaling gives.",
            )
        return notes

    def _fit(self, logits: Floats, labels: Ints, callback: Callback, **extras: Any) -> None:
        if self.change_dimensions == 2:
            check_matrix(len(logits), logits.shape[1], self.max_iter)
        penalty = self._chosen_penalty(self._fits_in_fold, logits, labels, callback, extras.get("clusters"))
        fit = _Fit(self, logits, labels, callback)
        if isinstance(start := extras.get("start"), ChangedTemperature):
            fit.start_at(start)
        report = fit.at(penalty, callback)
        self.temperature_, self.temperature_notes_, self.n_rows_ = fit.temperature_, fit.notes, fit.n_rows_
        self.learned_, self.change_, self.bias_ = fit.learned_, fit.change_, fit.bias_
        if report:
            self.n_iter_, self.converged_ = report.n_iter, report.converged

    def _fits_in_fold(self, logits: Floats, labels: Ints) -> Fit:
        fit = _Fit(self, logits, labels, no_callback, in_fold=True)

        def at(penalty: float | None) -> Predict:
            fit.at(penalty, no_callback)
            return lambda held: self._probs(held, fit)

        return at

    def _predict_proba(self, logits: Floats) -> Floats:
        return self._probs(logits, self)

    def _probs(self, logits: Floats, by: ChangedTemperature | _Fit) -> Floats:
        """Probabilities by what was learned."""
        start = self._start(logits, by.temperature_, by.n_rows_)
        if by.learned_.all():
            return softmax(_changed(start, self._inputs(logits, start), by.change_, by.bias_))
        probs = softmax(start)
        if by.learned_.any():
            some = by.learned_
            change = _among(by.change_, some)
            scores = _changed(start[:, some], self._inputs(logits[:, some], start[:, some]), change, by.bias_[some])
            probs[:, some] = probs[:, some].sum(axis=1, keepdims=True) * softmax(scores)
        return probs


def _among(change: Floats, classes: npt.NDArray[np.bool_]) -> Floats:
    """The changes of some classes, of a matrix or of a vector for its diagonal."""
    return change[classes] if change.ndim == 1 else change[np.ix_(classes, classes)]


def _changed(scores: Floats, inputs: Floats, change: Floats, bias: Floats) -> Floats:
    """Scores plus the affine map of the inputs, whose weights are a matrix, or a vector for its diagonal."""
    result = inputs @ change.T if change.ndim == 2 else inputs * change
    result += scores
    result += bias
    return result


class _Fit:
    """A fit to some rows, whose penalty can be changed; each starts where the one before ended.

    What it learns has the names of the method's attributes; changes and biases of classes without rows are 0.

    Parameters
    ----------
    method : what is fitted.
    logits, labels : the rows.
    in_fold : whether it only serves to choose the penalty.
    """

    def __init__(
        self, method: ChangedTemperature, logits: Floats, labels: Ints, callback: Callback, in_fold: bool = False
    ):
        n_classes = logits.shape[1]
        scaled = TemperatureScaling(device="cpu").fit(logits, labels, callback=callback)
        self.temperature_, self.n_rows_, self.notes = scaled.temperature_, len(labels), scaled.notes()
        self.learned_: npt.NDArray[np.bool_] = np.bincount(labels, minlength=n_classes) > 0
        self.change_, self.bias_ = np.zeros((n_classes,) * method.change_dimensions), np.zeros(n_classes)
        self._method, self._in_fold, self._problem = method, in_fold, None
        if (learned := self.learned_).sum() > 1:
            start = method._start(logits, self.temperature_, self.n_rows_)
            rows = logits
            if not learned.all():
                rows, start = logits[:, learned], log_softmax(start[:, learned])
                labels = (np.cumsum(learned) - 1)[labels]
            self._problem = method._problem(start, method._inputs(rows, start), labels, in_fold)

    def start_at(self, earlier: ChangedTemperature) -> None:
        """Start the search where an earlier fit ended; a class that had no rows then starts at temperature scaling."""
        if self._problem is not None:
            self._problem.start_at(_among(earlier.change_, self.learned_), earlier.bias_[self.learned_])

    def at(self, penalty: float | None, callback: Callback) -> LBFGSReport | None:
        """Fit with this penalty; None leaves temperature scaling."""
        self.change_[:], self.bias_[:] = 0.0, 0.0
        if penalty is None or self._problem is None:
            return None
        max_iter, tolerance = self._method.max_iter, 1e-7
        if self._in_fold:
            max_iter, tolerance = min(max_iter, FOLD_STEPS), FOLD_TOLERANCE
        change, bias, report = self._problem.minimum(penalty, max_iter, callback, tolerance)
        self.bias_[self.learned_] = bias
        self.change_[self.learned_ if change.ndim == 1 else np.ix_(self.learned_, self.learned_)] = change
        return report


def check_matrix(n: int, n_classes: int, max_iter: int) -> None:
    """Raise :class:`~calib.base.CalibrationError` where a matrix would take too much memory or time."""
    if n_classes > MATRIX_CLASSES:
        raise CalibrationError(
            f"A matrix of {n_classes:,} x {n_classes:,} weights needs about {_BYTES * n_classes**2 / 1e9:.0f} GB "
            f"to fit, and is offered up to {MATRIX_CLASSES:,} classes; choose structured_vector."
        )
    if n * n_classes**2 > MATRIX_WORK:
        raise CalibrationError(
            f"Fitting a matrix of {n_classes:,} x {n_classes:,} weights on {n:,} rows takes about "
            f"{n * n_classes**2 / _WORK_A_SECOND:.0f} s for each of up to {max_iter} steps; choose "
            f"structured_vector, or at most {MATRIX_WORK // n_classes**2:,} rows."
        )
