"""Folds of calibration rows, and methods that change temperature scaling by as much as folds say."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from calib.base import NEEDS_CLASSES, POSITIVE, Calibrator, Progress, silent
from calib.calibrators.minimisation import UNFINISHED
from calib.calibrators.temperature import TemperatureScaling
from calib.numerics import Floats, Ints

FOLDS = 5

FEWEST = 2 * FOLDS
"""Fewer rows choose nothing."""

MANY_ENTRIES = 500_000
"""Of more outputs than this two of the folds are held out."""

MOST_ENTRIES = 2_000_000
"""Of more outputs than this some rows are drawn, or whole clusters: the strength needs no more."""

SURELY = 0.5
"""Standard errors by which a penalty has to gain: one would keep temperature scaling too often on few rows."""

FOLD_TOLERANCE = 1e-3
"""Gradient at which fits inside folds end, each weight in a unit of about one curvature."""

_SMALLEST = np.finfo(np.float64).tiny  # the probability that a loss takes for zero


def row_units(n_rows: int, clusters: npt.NDArray[Any] | None = None) -> Ints:
    """Number of each row's cluster, from 0 in the order of their values; of rows on their own, the row's number.

    Parameters
    ----------
    n_rows : number of rows.
    clusters : (n_rows,) values, equal for rows that belong together; None for rows on their own.
    """
    return np.arange(n_rows) if clusters is None else np.unique(clusters, return_inverse=True)[1]


def deal(units: Ints, random_state: int, n_folds: int = FOLDS) -> Ints:
    """Fold of each row, (n,) in [0, n_folds): the units of :func:`row_units`, dealt to the folds at random.

    Rows with equal outputs are dealt as any others, since new rows have the outputs of calibration rows, too. Held out
    together, they make methods that learn these outputs look worse than they are: on digits of a decision tree a
    structured matrix then had an NLL .05 nats above that of temperature scaling, and .02 below it on new rows.

    Classes are not spread evenly over the folds. A held-out fold would then have the class frequencies of the others,
    which new rows have not, and maps that learn frequencies would look better than they are: vector scaling lost .02 to
    .03 nats by it on 300 simulated rows of 100 classes, and .002 on 1,000 rows of CIFAR-100.
    """
    dealt = np.random.default_rng(random_state).permutation(units.max(initial=-1) + 1) % n_folds
    return dealt[units]


def standard_error(values: Floats, weights: Floats, units: Ints) -> float:
    """Standard error of a weighted mean over rows, all (n,), of which those of a unit may depend on each other."""
    away = weights * (values - np.average(values, weights=weights))
    sums = np.bincount(np.unique(units, return_inverse=True)[1], away)
    m = len(sums)
    return float(np.sqrt(sums @ sums * m / (m - 1)) / weights.sum())


@dataclass(eq=False, repr=False, kw_only=True)
class PenalisedScaling(Calibrator):
    """Base of methods that change temperature scaling by weights with a penalty."""

    traits: ClassVar[frozenset[str]] = Calibrator.traits | {POSITIVE, NEEDS_CLASSES}

    choice_note_ = ""
    device_note_ = ""

    # -- what subclasses write -------------------------------------------------------------------------

    def _begin(self, logits: Floats, labels: Ints, weights: Floats) -> Any:
        """Learn what does not depend on the penalty; returns what :meth:`_finish` needs of these rows."""
        raise TypeError(f"{type(self).__name__} has no _begin")

    def _finish(
        self,
        problem: Any,
        strength: float | None,
        tolerance: float = 1e-7,
        progress: Progress = silent,
    ) -> None:
        """Learn the weights at a strength of the penalty; None leaves temperature scaling."""
        raise TypeError(f"{type(self).__name__} has no _finish")

    # --------------------------------------------------------------------------------------------------

    def notes(self) -> list[str]:
        unfinished = "" if self.converged_ else UNFINISHED
        notes = (
            unfinished,
            *super().notes(),
            *self.start_notes_,
            self.device_note_,
            self.choice_note_,
        )
        return [note for note in notes if note]

    def _scale(self, logits: Floats, labels: Ints, weights: Floats) -> None:
        """Learn temperature scaling."""
        scaled = TemperatureScaling(device="cpu")
        scaled._fit(logits, labels, weights=weights, progress=silent)
        self.temperature_, self.start_notes_ = scaled.temperature_, scaled.notes()
        self.n_iter_, self.converged_ = 0, True

    def _choose(
        self,
        strengths: Sequence[float],
        logits: Floats,
        labels: Ints,
        weights: Floats,
        clusters: npt.NDArray[Any] | None,
        progress: Progress,
    ) -> float | None:
        """Learn temperature scaling; the strength with the least NLL on held-out rows, None if that may be no lower.

        The search goes from the strongest on until the NLL rises. Temperature scaling is kept where the mean difference
        by rows is within half its standard error: the rows' own difficulty, common to both, is no part of it. All but
        the one temperature is learned outside the fold. Of more than :data:`MANY_ENTRIES` outputs two of the folds are
        held out, and of more than :data:`MOST_ENTRIES` a part of the rows is drawn.

        Parameters
        ----------
        strengths : from the strongest to the weakest.
        logits, labels : (n, n_classes) and (n,).
        weights : (n,) how often each row counts.
        clusters : (n,) values, equal for rows that belong together, which stay in one fold; None for rows on their own.
        progress : called after each fit with its number, the most there can be, and the mean NLL of its fold.
        """
        self._scale(logits, labels, weights)
        units = row_units(len(logits), clusters)
        self.penalty_ = 0.0
        self.gain_ = 0.0
        self.gain_error_ = 0.0
        if weights.sum() < FEWEST or units.max() + 1 < FOLDS:
            self.choice_note_ = (
                f"Temperature scaling is kept: a penalty is chosen from {FOLDS} folds, which take at least {FEWEST} "
                f"rows, and {FOLDS} clusters where there are any."
            )
            return None
        parts = -(-logits.size // MOST_ENTRIES)
        folds = deal(units, self.random_state, parts * FOLDS)
        if parts > 1:
            drawn = folds < FOLDS
            logits = logits[drawn]
            labels = labels[drawn]
            weights = weights[drawn]
            units = units[drawn]
            folds = folds[drawn]
        n_judged = FOLDS if logits.size <= MANY_ENTRIES else 2
        fits = []
        for fold in range(n_judged):
            fit = copy(self)
            rows = folds != fold
            fits.append(
                (fit, fit._begin(logits[rows], labels[rows], weights[rows]), np.flatnonzero(~rows))
            )
        weights = np.where(folds < n_judged, weights, 0.0)
        calls = 0

        def fold_losses(strength: float | None) -> Floats:
            """NLL of each held-out row under the fit to the other folds, (n,)."""
            nonlocal calls
            losses = np.zeros(len(labels))
            for fit, problem, rows in fits:
                fit._finish(problem, strength, FOLD_TOLERANCE)
                probs = fit._predict(logits[rows])[np.arange(len(rows)), labels[rows]]
                losses[rows] = -np.log(np.maximum(probs, _SMALLEST))
                calls += 1
                progress(
                    calls,
                    n_judged * (len(strengths) + 1),
                    float(np.average(losses[rows], weights=weights[rows])),
                )
            return losses

        baseline = best = fold_losses(None)
        for strength in strengths:
            losses = fold_losses(strength)
            if np.average(losses - best, weights=weights) >= 0:
                break
            best, self.penalty_ = losses, strength
        self.gain_ = float(np.average(baseline - best, weights=weights))
        self.gain_error_ = standard_error(baseline - best, weights, units)
        if self.gain_ <= SURELY * self.gain_error_:
            self.penalty_ = 0.0
        gain = (
            f"the NLL of the best penalty is {self.gain_:.4f} nats lower than that of temperature scaling, with a "
            f"standard error of {self.gain_error_:.4f}"
        )
        self.choice_note_ = (
            f"{f'The penalty is {self.penalty_:g}' if self.penalty_ else 'Temperature scaling is kept'}: in {n_judged} "
            f"folds of the calibration rows {gain if self.gain_ else 'no penalty has a lower NLL'}."
        )
        return self.penalty_ or None
