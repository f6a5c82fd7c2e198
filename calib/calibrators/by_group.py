"""A map for each group of rows, shrunk to the one that all share."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from calib.base import NO_STEPS, POSITIVE, ROWS_SUM_TO_ONE, Calibrator, Progress, silent
from calib.calibrators._folds import FEWEST, FOLDS, deal, row_units
from calib.errors import CalibrationError
from calib.formatting import listed, plural, points
from calib.numerics import Floats, Ints, log_softmax, softmax
from calib.parameters import param
from calib.registry import METHODS, calibrator

SPREADS = (0.0, 0.0625, 0.125, 0.25, 0.5, 1.0)
"""Standard deviations of the departures among which folds choose; 0 for none."""
MISSING = ("", "None", "nan", "NaT", "<NA>", "(missing)")
"""Values of a group that is not known."""
MOST_GROUPS = 1_000
MOST_ENTRIES = 1_000_000
"""Outputs beyond which some of the rows choose the strength."""
MOST_NAMED = 3
STEPS = 30
PRIOR = 1.0
"""Curvature that keeps the offset of a class without rows where it is; one row's worth."""
TINY = float(np.finfo(np.float64).tiny)
"""Least probability of which a logarithm is taken."""
PROTECTED = (
    "The group is an input of these probabilities: for a protected attribute such as sex or ethnicity, check first "
    "that law and policy allow it."
)


class AffineMap(NamedTuple):
    """``slope * logits + offsets``."""

    slope: float
    offsets: Floats


def fit_affine(
    logits: Floats,
    labels: Ints,
    weights: Floats,
    with_offsets: bool = True,
    prior: float = PRIOR,
    slope_prior: float = 0.0,
) -> AffineMap:
    """Maximise the penalised likelihood of one slope and, if wanted, an offset for each class, by Newton's method.

    Parameters
    ----------
    logits : (n, K) finite.
    labels, weights : (n,).
    with_offsets : whether classes have offsets; without them the slope is an inverse temperature.
    prior, slope_prior : inverse variances of each offset about 0 and of the slope about 1.
    """
    n, k = logits.shape
    at, total = np.arange(n), float(weights.sum())
    slope = 1.0
    offsets: Floats = np.zeros(k)
    best = np.inf
    step: Floats = np.zeros(1 + k)
    for _ in range(STEPS):
        for _ in range(20):
            trial = AffineMap(slope + step[0], offsets + step[1:])
            scores = log_softmax(trial.slope * logits + trial.offsets)
            penalty = prior * trial.offsets @ trial.offsets + slope_prior * (trial.slope - 1.0) ** 2
            loss = float(penalty) / 2.0 - float(weights @ scores[at, labels])
            if loss <= best + 1e-9 * abs(best):
                break
            step *= 0.5
        slope, offsets = trial
        if np.abs(step).max() < 1e-6 and best < np.inf:
            break
        best = loss
        probs = np.exp(scores)
        mean = np.einsum("ij,ij->i", probs, logits)
        weighted = probs * weights[:, None]
        curvature = float(weights @ (np.einsum("ij,ij->i", probs, logits**2) - mean**2))
        curvature += slope_prior
        pull = float(weights @ (logits[at, labels] - mean)) - slope_prior * (slope - 1.0)
        if not with_offsets:
            step[0] = np.clip(pull / max(curvature, 1e-9 * total), -1.0, 1.0)
            continue
        hessian = np.empty((1 + k, 1 + k))
        hessian[0, 0] = curvature + 1e-9 * total
        hessian[0, 1:] = hessian[1:, 0] = np.einsum("ij,ij->j", weighted, logits - mean[:, None])
        hessian[1:, 1:] = np.diag(weighted.sum(axis=0) + prior) - weighted.T @ probs
        gradient = np.concatenate(
            [[pull], np.bincount(labels, weights, k) - weighted.sum(axis=0) - prior * offsets]
        )
        step = np.linalg.solve(hessian, gradient)
        step *= min(1.0, 5.0 / max(float(np.abs(step).max()), 1e-300))
    return AffineMap(slope, offsets)


def depart(logits: Floats, code: Ints, maps: list[AffineMap]) -> Floats:
    """Log-probabilities of rows with the map of their group; a ``code`` of -1 has none."""
    logits = log_softmax(logits)
    for group, fitted in enumerate(maps):
        rows = code == group
        logits[rows] = log_softmax(fitted.slope * logits[rows] + fitted.offsets)
    return logits


def fit_departures(
    logits: Floats, labels: Ints, weights: Floats, code: Ints, spread: float
) -> list[AffineMap]:
    """Departure of each group from the map that gave these log-probabilities; none where ``spread`` is 0."""
    k = logits.shape[1]
    n_groups = int(code.max(initial=-1)) + 1
    if not spread:
        return [AffineMap(1.0, np.zeros(k)) for _ in range(n_groups)]
    strength = spread**-2
    inside = (np.flatnonzero(code == group) for group in range(n_groups))
    return [
        fit_affine(logits[rows], labels[rows], weights[rows], True, strength, strength)
        for rows in inside
    ]


@dataclass(eq=False, repr=False, kw_only=True)
class ByGroup(Calibrator):
    """One map for all rows, and a departure from it for each group.

    With the probabilities p of a ``method`` fitted to all rows, a row of group g has::

        p' = softmax((1 + a_g) log p + b_g)

    with the a_g and the K offsets b_g that minimise the group's negative log-likelihood plus
    ``(a_g^2 + |b_g|^2) / (2 s^2)``: the posterior mode under normally distributed departures of standard deviation s
    (Breslow and Clayton, Approximate Inference in Generalized Linear Mixed Models, JASA 1993). With s to 0 all groups
    have the shared map, with s to infinity each has one of its own. Five folds choose s among six values by the
    likelihood of rows outside the fit, 0 among them; rows of a cluster share a fold.

    ``fit`` and ``predict_proba`` need ``groups``, a name or number a row; :class:`calib.Predictions` hold theirs, of
    which ``column`` chooses. Rows of an unknown or missing group have the shared map.

    Examples
    --------
    >>> import calib
    >>> rng = np.random.default_rng(0)
    >>> risk, group = rng.uniform(0.1, 0.9, 2000), rng.choice(["north", "south"], 2000)
    >>> happened = rng.random(2000) < np.where(group == "south", 0.6 * risk, risk)
    >>> fitted = ByGroup().fit(risk, happened, groups=group)
    >>> north, south = fitted.predict_proba([0.5, 0.5], groups=["north", "south"])[:, 1]
    >>> bool(north > south + 0.1)
    True
    """

    method: str = param(
        "platt",
        choices=("platt", *(m.name for m in METHODS.values() if m.member and m.name != "platt")),
        help="The map that groups share.",
    )
    column: str = param("", help="Column of groups in Predictions; the chosen groups where empty.")

    headline = ("spread_",)
    traits: ClassVar[frozenset[str]] = frozenset({ROWS_SUM_TO_ONE, POSITIVE})
    min_rows: ClassVar[int] = 2

    @property
    def shared(self) -> Calibrator:
        """The map that groups share, fitted."""
        return calibrator(self.method, random_state=self.random_state).set_state(self.shared_)

    def notes(self) -> list[str]:
        if not self.spread_:
            return [*super().notes(), "Groups do not depart: folds prefer the map that all share."]
        order = np.argsort(-np.abs(self.changes_).max(axis=1), kind="stable")[:MOST_NAMED]
        named = []
        for group in order:
            largest = int(np.abs(self.changes_[group]).argmax())
            column = 1 if self.n_classes_ == 2 else largest
            change = points(float(self.changes_[group, column]))
            rows = plural(int(self.rows_[group]), "row")
            named.append(f"{self.names_[group]} ({rows}) {change} points of class {column}")
        return [
            *super().notes(),
            f"Departures from the shared map have a standard deviation of {self.spread_:g}, chosen by folds: "
            f"{listed(named)}.",
            PROTECTED,
        ]

    def _fit(  # type: ignore[override]
        self,
        logits: Floats,
        labels: Ints,
        *,
        progress: Progress,
        groups: npt.NDArray[Any],
        weights: Floats | None = None,
        clusters: npt.NDArray[Any] | None = None,
    ) -> None:
        names = [str(name) for name in np.unique(groups.astype(str)) if name not in MISSING]
        if len(names) > MOST_GROUPS:
            raise CalibrationError(
                f"groups has {len(names):,} values for {plural(len(labels), 'row')}; give a column of few values, "
                f"at most {MOST_GROUPS:,}."
            )
        self.names_ = names
        code = self._code(groups)
        counts = np.ones(len(labels)) if weights is None else weights
        units = row_units(len(labels), clusters)
        extras = {"weights": weights, "clusters": clusters}

        def share(rows: Any = slice(None)) -> Calibrator:
            unfitted = calibrator(self.method, random_state=self.random_state)
            row_extras = {
                name: array[rows]
                for name, array in extras.items()
                if array is not None and (name in unfitted.takes or name == "weights")
            }
            return unfitted.fit(
                logits[rows], labels[rows], kind="logits", progress=silent, **row_extras
            )

        losses = np.zeros(len(SPREADS))
        for done, (rows, inside) in enumerate(self._folds(logits, units)):
            progress(done, FOLDS, np.nan)
            shared = np.log(np.maximum(share(rows).probs_from_logits(logits), TINY))
            for j, spread in enumerate(SPREADS):
                maps = fit_departures(shared[rows], labels[rows], counts[rows], code[rows], spread)
                scores = depart(shared[inside], code[inside], maps)
                losses[j] -= counts[inside] @ scores[np.arange(len(inside)), labels[inside]]
        self.spread_ = SPREADS[int(np.argmin(losses))]
        fitted = share()
        self.shared_ = fitted.get_state()
        shared = np.log(np.maximum(fitted.probs_from_logits(logits), TINY))
        maps = fit_departures(shared, labels, counts, code, self.spread_)
        maps += [AffineMap(1.0, np.zeros(logits.shape[1]))] * (len(names) - len(maps))
        self.slopes_ = np.array([departure.slope for departure in maps])
        self.offsets_ = np.array([departure.offsets for departure in maps]).reshape(len(maps), -1)
        self.rows_ = np.bincount(code[code >= 0], minlength=len(names))
        change = np.exp(depart(shared, code, maps)) - np.exp(shared)
        self.changes_ = np.array(
            [
                np.average(change[code == g], axis=0, weights=counts[code == g])
                for g in range(len(names))
            ]
        ).reshape(len(names), -1)

    def _folds(self, logits: Floats, units: Ints) -> Iterator[tuple[Ints, Ints]]:
        """Rows to fit on and rows to judge on; none where there are too few."""
        if units.max() + 1 < FEWEST:
            return
        folds = deal(units, self.random_state)
        part = np.random.default_rng(self.random_state).permutation(units.max() + 1)[units]
        drawn = part < MOST_ENTRIES / logits.size * (units.max() + 1)
        for fold in range(FOLDS):
            yield np.flatnonzero(drawn & (folds != fold)), np.flatnonzero(drawn & (folds == fold))

    def _code(self, groups: npt.NDArray[Any]) -> Ints:
        """(n,) number of each row's group; -1 where it is unknown."""
        names, place = np.unique(groups.astype(str), return_inverse=True)
        number = {name: j for j, name in enumerate(self.names_)}
        return np.array([number.get(str(name), -1) for name in names], dtype=np.int64)[place]

    def _predict(self, logits: Floats, groups: npt.NDArray[Any] | None = None) -> Floats:
        probs = self.shared.probs_from_logits(logits)
        if groups is None:
            return probs
        code = self._code(groups)
        places = np.flatnonzero(code >= 0)
        moved = np.log(np.maximum(probs[places], TINY)) * self.slopes_[code[places], None]
        probs[places] = softmax(moved + self.offsets_[code[places]])
        return probs

    def shared_steps(self) -> list[dict[str, Any]]:
        return self.shared.steps()

    def departures(self) -> dict[str, Any]:
        return {
            "column": self.column,
            "names": self.names_,
            "slopes": self.slopes_,
            "offsets": self.offsets_,
        }

    def steps(self) -> list[dict[str, Any]]:
        raise CalibrationError(NO_STEPS)
