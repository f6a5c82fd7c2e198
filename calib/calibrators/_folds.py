"""Choose the strength of a penalty from folds of the calibration rows, with temperature scaling as the one to beat."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from calib.base import Calibrator, Callback
from calib.calibrators.temperature import STARTS_ANYWHERE, TEMPERATURE
from calib.numerics import Floats, Ints
from calib.parameters import Count, Items, Number, State, Text, Truth, param

FOLDS = 5

FEWEST = 2 * FOLDS
"""Fewer rows choose nothing."""

MOST_ENTRIES = 2_000_000
"""Of more outputs than this some rows are drawn, or whole clusters: the strength needs no more."""

PATIENCE = 2
"""The search ends after so many strengths in a row whose NLL is clearly above the least one."""

CLEARLY = 0.001
"""Nats."""

FOLD_TOLERANCE = 1e-4
"""Gradient at which fits inside folds end, each weight in a unit of about one curvature."""

_SMALLEST = np.finfo(np.float64).tiny  # the probability that a loss takes for zero

Predict = Callable[[Floats], Floats]
"""Probabilities (m, n_classes) of logits (m, n_classes)."""

Fit = Callable[[float | None], Predict]
"""The fit to some rows at a strength, None for temperature scaling; it may start where the one before ended."""


@dataclass(frozen=True, eq=False)
class FoldChoice:
    """What the folds say.

    Attributes
    ----------
    strength : the best one, or None where temperature scaling is kept.
    tried : the strengths that were fitted, in order.
    losses : mean NLL of the rows of each fold under the fit to all others, in nats, one for each strength tried.
    baseline : the same for temperature scaling; NaN where there were too few rows.
    gain : how much less the best strength's NLL is than temperature scaling's.
    error : standard error of the gain, from its differences by rows, or by clusters.
    """

    strength: float | None
    tried: tuple[float, ...] = ()
    losses: tuple[float, ...] = ()
    baseline: float = np.nan
    gain: float = 0.0
    error: float = 0.0

    @property
    def note(self) -> str:
        """What was chosen and why, in a sentence."""
        if not self.tried:
            return (
                f"Temperature scaling is kept: a penalty is chosen from {FOLDS} folds, which take at least {FEWEST} "
                f"rows and {FOLDS} clusters."
            )
        chosen = f"The penalty is {self.strength:g}" if self.strength is not None else "Temperature scaling is kept"
        than = "temperature scaling has" if self.strength is not None else "it has"
        change = "lower" if self.gain >= 0 else "higher"
        return (
            f"{chosen}: in {FOLDS} folds of the calibration rows the NLL of the best penalty is {abs(self.gain):.4f} "
            f"nats {change} than {than}, with a standard error of {self.error:.4f}."
        )


def fold_of_rows(
    n: int, *, random_state: int = 0, clusters: npt.NDArray[Any] | None = None, n_folds: int = FOLDS
) -> Ints:
    """A fold for each row, in [0, n_folds), whole clusters in one; their names do not matter.

    Classes are not spread evenly over the folds. A held-out fold would then have the class frequencies of the others,
    which new rows have not, and maps that learn frequencies would look better than they are.

    Parameters
    ----------
    n : number of rows.
    random_state : seed of the order in which rows, or clusters, are dealt to the folds.
    clusters : (n,) values, equal for rows that belong together; None for rows on their own.
    n_folds : number of folds.

    Returns
    -------
    (n,) integers
    """
    unit = np.arange(n) if clusters is None else np.unique(clusters, return_inverse=True)[1].ravel()
    first_row = np.full(unit.max(initial=-1) + 1, n)
    np.minimum.at(first_row, unit, np.arange(n))
    order = np.random.default_rng(random_state).permutation(len(first_row))
    fold = np.empty(len(order), dtype=np.intp)
    fold[np.argsort(first_row, kind="stable")[order]] = np.arange(len(order)) % n_folds
    return fold[unit]


def choose_strength(
    strengths: Sequence[float],
    start: Callable[[Floats, Ints], Fit],
    logits: Floats,
    labels: Ints,
    callback: Callback,
    *,
    random_state: int = 0,
    clusters: npt.NDArray[Any] | None = None,
) -> FoldChoice:
    """The strength with the least NLL on held-out rows, or temperature scaling where that is no worse for certain.

    Temperature scaling is kept where the mean difference by rows is within its standard error: the rows' own
    difficulty, common to both, is no part of it. All that is learned, the temperature too, is learned outside the fold.
    Classes are not spread evenly over the folds: a fold with the class frequencies of the other folds would favour maps
    that learn these. Vector scaling lost .02 to .03 nats by it on 300 simulated rows of 100 classes, else at most .002.
    Of more than :data:`MOST_ENTRIES` outputs a part of the rows is drawn.

    Parameters
    ----------
    strengths : from the strongest to the weakest.
    start : called once for each fold as ``start(logits, labels)`` with the rows outside it.
    logits : (n, n_classes) array.
    labels : (n,) integers in [0, n_classes).
    callback : called after each fit with its number, the most there can be, and the mean NLL so far.
    random_state : seed of the folds.
    clusters : (n,) values, equal for rows that belong together; they stay in one fold.
    """
    n_units = len(labels) if clusters is None else len(np.unique(clusters))
    if len(labels) < FEWEST or n_units < FOLDS:
        return FoldChoice(None)
    parts = -(-logits.size // MOST_ENTRIES)
    folds = fold_of_rows(len(labels), random_state=random_state, clusters=clusters, n_folds=parts * FOLDS)
    if parts > 1:
        drawn = folds < FOLDS
        logits, labels, folds = logits[drawn], labels[drawn], folds[drawn]
        clusters = None if clusters is None else clusters[drawn]
    inside = [np.flatnonzero(folds == fold) for fold in range(FOLDS)]
    fits = [start(logits[folds != fold], labels[folds != fold]) for fold in range(FOLDS)]
    most, calls = FOLDS * (len(strengths) + 1), 0

    def held_out(strength: float | None) -> Floats:
        """NLL of each row under the fit to the other folds, (n,)."""
        nonlocal calls
        losses = np.zeros(len(labels))
        for rows, fit in zip(inside, fits, strict=True):
            probs = fit(strength)(logits[rows])[np.arange(len(rows)), labels[rows]]
            losses[rows] = -np.log(np.maximum(probs, _SMALLEST))
            calls += 1
            callback(calls, most, float(losses[rows].mean()))
        return losses

    baseline = held_out(None)
    tried: list[float] = []
    means: list[float] = []
    best, behind = baseline, 0
    for strength in strengths:
        losses = held_out(strength)
        tried.append(float(strength))
        means.append(float(losses.mean()))
        if np.argmin(means) == len(means) - 1:
            best = losses
        behind = behind + 1 if means[-1] > min(means) + CLEARLY else 0
        if behind == PATIENCE:
            break
    gain = baseline - best
    error = standard_error(gain, clusters)
    chosen = tried[int(np.argmin(means))] if gain.mean() > error else None
    return FoldChoice(chosen, tuple(tried), tuple(means), float(baseline.mean()), float(gain.mean()), error)


def standard_error(values: Floats, clusters: npt.NDArray[Any] | None = None) -> float:
    """Standard error of a mean over rows, (n,), of which those of a cluster may depend on each other."""
    sums = values - values.mean()
    if clusters is not None:
        sums = np.bincount(np.unique(clusters, return_inverse=True)[1].ravel(), weights=sums)
    m = len(sums)
    return float(np.sqrt(sums @ sums * m / (m - 1)) / len(values))


@dataclass(eq=False, repr=False, kw_only=True)
class ChosenByFolds(Calibrator):
    """Base of methods that search from temperature scaling, with a penalty that is fixed or chosen from folds.

    A subclass declares ``penalty`` and names in ``grid`` what to choose from.
    """

    strength: str = param(
        "folds",
        choices=("folds", "fixed"),
        help="Strength of the penalty: chosen from five folds of the calibration rows, or fixed.",
    )

    penalty: float
    max_iter: int = param(500, low=1, high=100_000, help="Largest number of L-BFGS steps.")

    takes: ClassVar[frozenset[str]] = frozenset({"clusters"})
    positive: ClassVar[bool] = True
    needs_classes: ClassVar[bool] = True
    starts: ClassVar[bool] = True
    more_rows: ClassVar[str] = STARTS_ANYWHERE

    state: ClassVar[State] = {
        "temperature_": TEMPERATURE,
        "temperature_notes_": Items(Text()),
        "n_iter_": Count(),
        "converged_": Truth(),
        "penalty_": Number(0).or_absent(0.0),
        "choice_note_": Text().or_absent(""),
    }

    @property
    def grid(self) -> tuple[float, ...]:
        """The strengths to choose from, the strongest first."""
        raise TypeError(f"{type(self).__name__} has no grid")

    def notes(self) -> list[str]:
        unfinished = (
            f"The fit stopped after {self.n_iter_} steps before it had converged; raise max_iter to let it go on, or "
            "the penalty to make it easier."
        )
        notes = [*([] if self.converged_ else [unfinished]), *self.temperature_notes_]
        return [*notes, *([self.choice_note_] if self.choice_note_ else []), *super().notes()]

    def _chosen_penalty(
        self,
        start: Callable[[Floats, Ints], Fit],
        logits: Floats,
        labels: Ints,
        callback: Callback,
        clusters: npt.NDArray[Any] | None,
    ) -> float | None:
        """The penalty to fit with, None for temperature scaling; stored with what is to be said of it."""
        self.choice_note_ = ""
        self.temperature_notes_: list[str] = []
        self.n_iter_, self.converged_ = 0, True
        chosen: float | None = self.penalty
        if self.strength == "folds":
            choice = choose_strength(
                self.grid, start, logits, labels, callback, random_state=self.random_state, clusters=clusters
            )
            chosen, self.choice_note_ = choice.strength, choice.note
        self.penalty_ = chosen or 0.0
        return chosen
