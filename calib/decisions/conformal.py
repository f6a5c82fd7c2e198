"""Split conformal prediction sets: for each row the classes that cannot be ruled out (Vovk et al. 2005; NumPy alone).

A score s(row, class) is high where a class is strange for a row. Of n labelled rows that the calibrator has not seen,
``k = ceil((n + 1)(1 - alpha))`` and the quantile is the k-th smallest score of the labels. The set of a new row holds
the classes whose score is at most that quantile. The label is in the set with a probability of at least 1 - alpha if
the n rows and the new one are exchangeable. That is a mean over draws of the n rows and over rows: it holds neither for
each class nor for each row.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal, Self, get_args

import numpy as np
import numpy.typing as npt

from calib.decisions.stored import check_array, check_number, made_of
from calib.errors import CalibrationError
from calib.formatting import round_percent
from calib.numerics import MEMORY_ENTRIES, Floats, Ints, blocks, normalised
from calib.parameters import shown, unusable

Score = Literal["lac", "aps", "raps"]
SCORES: dict[str, str] = {
    "lac": "LAC: 1 - p; the smallest sets on average",
    "aps": "APS: cumulative probability; larger sets for difficult rows",
    "raps": "RAPS: APS with a penalty on long sets",
}

SLACK = 1e-15
"""By how much a score may exceed the quantile: the last digits of equal probabilities differ between machines."""


def quantile_rank(n: int, alpha: float) -> int:
    """Rank k of the score of n that is the quantile; n + 1, for which there is no score, where n is below 1/alpha - 1.

    Examples
    --------
    >>> quantile_rank(1000, 0.1), quantile_rank(8, 0.1)
    (901, 9)
    """
    return max(1, int(np.ceil((n + 1) * (1.0 - alpha) - 1e-9)))


def fewest_rows(alpha: float) -> int:
    """Rows from which on the quantile is finite: ceil(1/alpha) - 1; 9 at alpha = .1, 19 at .05."""
    return int(np.ceil(1.0 / alpha - 1e-9)) - 1


def row_uniforms(logits: Floats, seed: int) -> Floats:
    """One number in [0, 1) for each row, from the row's own logits and the seed.

    APS and RAPS are randomised with it. A hash in place of a stream of random numbers: a row has the same number
    whenever it comes and whatever comes with it, and rows that differ have numbers that look independent. Rows are
    exchangeable with it as without: it is a function of the row. The hash is the finaliser of SplitMix64 (Steele et
    al. 2014), chained over the columns.

    Parameters
    ----------
    logits : (n, n_classes) canonical logits; taken as float64.
    seed : whole number from 0 to 2^63 - 1.
    """
    columns = np.ascontiguousarray((np.asarray(logits, dtype=np.float64) + 0.0).T).view(np.uint64)  # + 0.0: -0 is 0
    state = np.full(columns.shape[1], seed, dtype=np.uint64)
    for column in (np.zeros_like(state), *columns):
        state = _mixed(state ^ column)
    return (state >> np.uint64(11)) * 2.0**-53


def _mixed(state: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    state = state + np.uint64(0x9E3779B97F4A7C15)
    state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return state ^ (state >> np.uint64(31))


def class_scores(
    probs: Floats, score: Score, u: Floats, k_reg: int = 2, penalty: float = 0.05, allow_empty: bool = False
) -> Floats:
    """Scores of all classes, shape (n, n_classes), high where a class is strange for a row.

    - LAC: ``1 - p`` (Sadinle, Lei and Wasserman 2019).
    - APS: ``C - u p``, with C the sum of the probabilities from the top class down to and including this one, and one
      u for all classes of a row (Romano, Sesia and Candès 2020).
    - RAPS: that plus ``penalty max(0, rank - k_reg)``, with ranks from 1 (Angelopoulos et al. 2021).

    Parameters
    ----------
    probs : (n, n_classes) probabilities; of equal ones the first class ranks first.
    score : "lac", "aps" or "raps".
    u : (n,) numbers in [0, 1), as from :func:`row_uniforms`.
    k_reg, penalty : of RAPS.
    allow_empty : whether the most probable class has its own score; by default its score is 0, the lowest that there
        is, so that it is in every set.
    """
    scores = 1.0 - probs if score == "lac" else _cumulative_scores(probs, score, u, k_reg, penalty)
    if not allow_empty:
        scores[np.arange(len(probs)), np.argmax(probs, axis=1)] = 0.0
    return scores


def _cumulative_scores(probs: Floats, score: Score, u: Floats, k_reg: int, penalty: float) -> Floats:
    """Scores of APS and RAPS."""
    order = np.argsort(-probs, axis=1, kind="stable")
    in_order = np.take_along_axis(probs, order, axis=1)
    strange = np.cumsum(in_order, axis=1) - u[:, None] * in_order
    if score == "raps":
        strange += penalty * np.maximum(0, np.arange(1, probs.shape[1] + 1) - k_reg)
    scores = np.empty_like(strange)
    np.put_along_axis(scores, order, strange, axis=1)
    return scores


@dataclass(frozen=True, eq=False, kw_only=True)
class PredictionSets:
    """Quantiles that turn a calibrator's probabilities into sets of classes; see :func:`conformal_sets`.

    Attributes
    ----------
    alpha : 1 - alpha is the coverage that is promised.
    quantiles : (n_classes,) largest score with which a class is in a set; infinite where there were too few rows, and
        then the class is in every set. One number for all classes unless ``per_class``.
    score : "lac", "aps" or "raps".
    per_class : whether each class has a quantile of its own, and so coverage within each class (Mondrian sets).
    n_rows : rows that the quantiles are of.
    k_reg, penalty : of RAPS.
    seed : of :func:`row_uniforms`, for APS and RAPS.
    allow_empty : whether sets may be empty; see :func:`conformal_sets`.
    """

    alpha: float
    quantiles: Floats
    score: Score = "lac"
    per_class: bool = False
    n_rows: int = 1
    k_reg: int = 2
    penalty: float = 0.05
    seed: int = 0
    allow_empty: bool = False

    def __post_init__(self) -> None:
        check_number("alpha", self.alpha, 1e-9, 1 - 1e-9)
        check_array("quantiles", self.quantiles, 1, low=-1.0, high=np.inf)
        check_number("n_rows", self.n_rows, 1, whole=True)
        check_number("k_reg", self.k_reg, 0, whole=True)
        check_number("penalty", self.penalty, 0)
        check_number("seed", self.seed, 0, 2**63 - 1, whole=True)
        if self.score not in SCORES:
            raise unusable(f"score={shown(self.score)} is no way to make sets")
        for name in ("per_class", "allow_empty"):
            if not isinstance(getattr(self, name), (bool, np.bool_)):
                raise unusable(f"{name}={shown(getattr(self, name))} must be True or False")

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.quantiles)

    @property
    def always(self) -> Ints:
        """Classes that are in every set, because too few rows were theirs to rule them out."""
        return np.flatnonzero(np.isinf(self.quantiles))

    @property
    def top_alone(self) -> bool:
        """Whether the most probable class has the coverage asked for, so that every set is that class alone."""
        return not self.allow_empty and not self.quantiles.any()

    def predict(self, probs: Any, logits: Floats | None = None, u: Floats | None = None) -> npt.NDArray[np.bool_]:
        """Which classes are in the set of each row, shape (n, n_classes).

        Parameters
        ----------
        probs : (n, n_classes) calibrated probabilities; rows are brought to a sum of one.
        logits : (n, n_classes) canonical logits, from which APS and RAPS take each row's number.
        u : (n,) those numbers, where somebody has drawn them.

        Raises
        ------
        CalibrationError
            If there are other classes than those of the quantiles, or the numbers of APS or RAPS are missing.

        Examples
        --------
        >>> sets = PredictionSets(alpha=0.1, quantiles=np.array([0.7, 0.7, 0.7]))
        >>> sets.predict([[0.6, 0.35, 0.05]])
        array([[ True,  True, False]])
        """
        probs = np.asarray(probs)
        if probs.ndim != 2 or probs.shape[1] != self.n_classes:
            raise CalibrationError(f"The sets are of {self.n_classes:,} classes; got an array of shape {probs.shape}.")
        u = _numbers(self, len(probs), logits, u)
        inside = np.empty(probs.shape, dtype=bool)
        for rows in blocks(len(probs), self.n_classes, MEMORY_ENTRIES):
            scores = self._scores(probs[rows], u[rows])
            np.less_equal(scores, self.quantiles + SLACK, out=inside[rows])
        return inside

    def _scores(self, probs: Floats, u: Floats) -> Floats:
        return class_scores(normalised(probs), self.score, u, self.k_reg, self.penalty, self.allow_empty)

    def said(self) -> str:
        """What they are, in a sentence."""
        each = "one quantile for each class" if self.per_class else f"quantile {self.quantiles[0]:.6g}"
        always = f"; {len(self.always):,} classes are in every set" if len(self.always) else ""
        promised = f"Promised coverage {round_percent(1 - self.alpha)}, {self.score.upper()}"
        return f"{promised}, {each}, from {self.n_rows:,} rows{always}."

    def as_state(self) -> dict[str, Any]:
        """Its fields by name."""
        return {each.name: getattr(self, each.name) for each in fields(self)}

    @classmethod
    def from_state(cls, state: Any) -> Self | None:
        """Undo :meth:`as_state`; None is None.

        Raises
        ------
        CalibrationError
            For anything that was never written so.
        """
        if state is None:
            return None
        if not isinstance(state, Mapping):
            raise CalibrationError(f"Prediction sets are recorded by name; got {shown(state)}.")
        return made_of(cls, state)


def conformal_sets(
    probs: Any,
    labels: Any,
    alpha: float = 0.1,
    *,
    score: Score = "lac",
    per_class: bool = False,
    logits: Floats | None = None,
    u: Floats | None = None,
    k_reg: int = 2,
    penalty: float = 0.05,
    random_state: int = 0,
    allow_empty: bool = False,
) -> PredictionSets:
    """Quantiles of prediction sets from labelled rows that the calibrator was not fitted on.

    The most probable class is in every set: its score counts as the lowest, on these rows and on new ones, so that the
    promise holds as for any score. Where the accuracy is above 1 - alpha already, a set is that class alone.

    Parameters
    ----------
    probs : (n, n_classes) calibrated probabilities; rows are brought to a sum of one in float64, because sums that are
        off by 1e-7 would decide about scores near one.
    labels : (n,) integers in [0, n_classes).
    alpha : sets hold the label with a probability of at least 1 - alpha.
    score : see :func:`class_scores`.
    per_class : one quantile for each class. A class with fewer than :func:`fewest_rows` rows is then in every set.
    logits : (n, n_classes) canonical logits, from which APS and RAPS take each row's number.
    u : (n,) those numbers, where somebody has drawn them.
    k_reg, penalty : of RAPS.
    random_state : seed of those numbers.
    allow_empty : give the most probable class the score of its own. Sets then have the coverage asked for and no more,
        and are empty where every class is strange for a row.

    Raises
    ------
    CalibrationError
        If alpha is not between 0 and 1, the score is unknown, or the arrays do not fit together.

    Examples
    --------
    >>> probs = np.array([[0.9, 0.1], [0.8, 0.2], [0.3, 0.7], [0.4, 0.6]])
    >>> conformal_sets(probs, np.array([0, 0, 1, 0]), alpha=0.25).quantiles.round(2)
    array([0.6, 0.6])
    """
    if not 1e-9 <= alpha <= 1 - 1e-9:
        raise CalibrationError(f"Sets leave out the label with a probability between 0 and 1; got alpha={alpha:g}.")
    if score not in get_args(Score):
        raise CalibrationError(f"The score of sets is one of {', '.join(SCORES)}; got {shown(score)}.")
    probs, labels = np.asarray(probs), np.asarray(labels)
    if probs.ndim != 2 or labels.shape != probs.shape[:1] or not len(labels):
        raise CalibrationError(f"Sets are fitted on (n, n_classes) and (n,) arrays; got {probs.shape}, {labels.shape}.")
    if labels.dtype.kind not in "iu" or labels.min() < 0 or labels.max() >= probs.shape[1]:
        raise CalibrationError(f"Labels must be whole numbers from 0 to {probs.shape[1] - 1}, the columns.")
    n, n_classes = probs.shape
    made = PredictionSets(
        alpha=alpha,
        quantiles=np.full(n_classes, np.inf),
        score=score,
        per_class=per_class,
        n_rows=n,
        k_reg=k_reg,
        penalty=penalty,
        seed=random_state,
        allow_empty=allow_empty,
    )
    u = _numbers(made, n, logits, u)
    of_label = np.empty(n)
    for rows in blocks(n, n_classes, MEMORY_ENTRIES):
        scores = made._scores(probs[rows], u[rows])
        of_label[rows] = scores[np.arange(len(scores)), labels[rows]]
    if per_class:
        made.quantiles[:] = [_quantile(of_label[labels == k], alpha) for k in range(n_classes)]
    else:
        made.quantiles[:] = _quantile(of_label, alpha)
    return made


def _quantile(scores: Floats, alpha: float) -> float:
    rank = quantile_rank(len(scores), alpha)
    return float(np.partition(scores, rank - 1)[rank - 1]) if rank <= len(scores) else np.inf


def _numbers(sets: PredictionSets, n: int, logits: Floats | None, u: Floats | None) -> Floats:
    """The number of each row, as given or from its logits; zeros for LAC, which needs none."""
    if sets.score == "lac":
        return np.zeros(n)
    if u is None and logits is not None:
        u = row_uniforms(logits, sets.seed)
    if u is None or np.shape(u) != (n,):
        raise CalibrationError(
            f"{sets.score.upper()} is randomised with one number for each row: give the {n:,} rows of logits (or u)."
        )
    return np.asarray(u, dtype=np.float64)
