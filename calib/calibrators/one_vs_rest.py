"""Binary calibrators for many classes: one-vs-rest with a shared map or class-wise maps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, Self

import numpy as np
import numpy.typing as npt

from calib.base import (
    EQUIVARIANT,
    KEEPS_ACCURACY,
    KEEPS_RANKING,
    ROWS_SUM_TO_ONE,
    Calibrator,
    Progress,
)
from calib.calibrators.steps import Step, side_by_side
from calib.numerics import (
    MEMORY_ENTRIES,
    PREDICTED_ENTRIES,
    Floats,
    Ints,
    one_vs_rest_log_odds,
    sigmoid,
    softmax,
)
from calib.parameters import param, unusable

Bools = npt.NDArray[np.bool_]

ROWS_OF_MAP = 2000
"""Rows in a block of class-wise maps, where memory allows them: fewer cost more calls than work."""

SHARING = (
    "Shared map: one map for the one-vs-rest pairs of all classes; class-wise: one map for each class (sCW and CW in "
    "Patel et al. 2020)."
)
"""Explanation of the two words in titles."""
LEAST_LOG_ODDS = 1e-100
"""Smaller ones are zero in a fit: slopes over smaller distances would not be finite."""


class Map(Protocol):
    """A fitted one-dimensional map: a frozen dataclass of numbers and arrays."""

    def apply(self, log_odds: Floats) -> Floats:
        """Probabilities, elementwise, of an array of any shape; with NumPy alone."""

    def steps(self) -> list[Step]:
        """:meth:`apply` as steps; maps of one class differ in their numbers alone."""


@dataclass(eq=False, repr=False, kw_only=True)
class OneVsRest(Calibrator):
    """Base of methods that map one log-odds to one probability.

    A subclass names the class of its maps as ``map_type`` and writes ``_fit_map(log_odds, positives, weights)``, which
    learns one of them from (m,) log-odds, (m,) booleans that hold both outcomes, and (m,) weights above zero or None.

    A *shared map* (sCW; I-Max, Patel et al. 2020, section 4.3) is learned from the one-vs-rest pairs of all
    classes, n * n_classes of them; *class-wise* maps (CW) are one for each class. Two
    classes need one map, on class 1's log-odds ``z_1 - z_0``, and its complement. A map needs both outcomes:
    a class that holds none or all of the calibration rows keeps what temperature scaling of all rows gives it, which
    is finite and never makes a row sum to zero; of two classes, its raw probability. A row whose mapped values sum to
    zero keeps its probabilities before the map.
    """

    share_classes: bool = param(
        True, help="One map for all classes (shared map) instead of one for each (class-wise)."
    )
    normalize: bool = param(
        True, help="Divide each row by its sum; without it rows need not sum to one."
    )

    traits: ClassVar[frozenset[str]] = frozenset()
    map_type: ClassVar[type[Map]]
    weighted: ClassVar[bool] = True
    """True where ``_fit_map`` can weigh rows."""
    mirrored: ClassVar[bool] = True
    """True where a map of two classes is the same seen from the other of them."""
    scales_first: ClassVar[bool] = False
    """True where logits of more than two classes are divided by the best temperature before they are mapped."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if not cls.weighted:
            cls.takes = cls.takes - {"weights"}

    @property
    def is_monotone(self) -> bool:
        """Return whether a higher log-odds never gets a lower probability."""
        return True

    # -- what subclasses write -------------------------------------------------------------------------

    def _fit_map(self, log_odds: Floats, positives: Bools, weights: Floats | None) -> Map:
        raise TypeError(f"{type(self).__name__} has no _fit_map")

    # -- the contract ----------------------------------------------------------------------------------

    def promises(self, n_classes: int) -> frozenset[str]:
        promised = set(self.traits)
        if self.mirrored or n_classes > 2:
            promised.add(EQUIVARIANT)
        if self.normalize or n_classes == 2:
            promised.add(ROWS_SUM_TO_ONE)
        # At two classes the one map may move the point where its value crosses one half.
        if self.is_monotone and self.share_classes and n_classes > 2:
            promised |= {KEEPS_ACCURACY, KEEPS_RANKING}
        return frozenset(promised)

    def notes(self) -> list[str]:
        notes = super().notes()
        if self.unmapped_classes_:
            notes.append(self._why_unmapped())
        if ROWS_SUM_TO_ONE not in self.promises(self.n_classes_):
            notes.append(
                "Rows are not normalised and need not sum to one: each entry is the probability of a class against "
                "the rest."
            )
        return notes

    def _why_unmapped(self) -> str:
        if self.n_classes_ == 2:
            return "All calibration rows are of one class: the probabilities stay the raw ones."
        return (
            f"{self.unmapped_classes_} of {self.n_classes_} classes hold none or all of the calibration rows: they "
            f"keep what one temperature for all classes gives (T = {self.temperature_:.3g}). Shared maps avoid this."
        )

    def variant(self, n_classes: int) -> str:
        changed = [change for change in self._changed() if not change.startswith("share_classes=")]
        sharing = "shared map" if self.share_classes else "class-wise"
        return ", ".join(changed if n_classes == 2 and self.share_classes else [sharing, *changed])

    def _fit(
        self, logits: Floats, labels: Ints, *, progress: Progress, weights: Floats | None = None
    ) -> None:
        n_classes = logits.shape[1]
        self.n_rows_ = len(labels)
        self.temperature_ = 1.0
        if self.scales_first and n_classes > 2:
            self.temperature_ = best_temperature(logits, labels, weights)
        log_odds, positives = one_vs_rest_pairs(self._scaled(logits), labels)
        log_odds[(log_odds > -LEAST_LOG_ODDS) & (log_odds < LEAST_LOG_ODDS)] = 0.0
        n_columns = log_odds.shape[1]
        weight = len(labels) if weights is None else float(weights.sum())
        # The margin counts the pairs of all classes, also for class-wise maps, so that the classes of a row share about
        # one part in n of its mass. Weights may be on any scale, and no row is less than one.
        self.margin_ = 1 / (n_columns * max(weight, len(labels)) + 2)
        if self.share_classes:
            log_odds = log_odds.reshape(-1, 1)
            positives = positives.reshape(-1, 1)
            weights_of_pairs = None if weights is None else np.repeat(weights, n_columns)
        else:
            weights_of_pairs = weights
        n_maps = log_odds.shape[1]
        self.maps_: list[Any] = []
        for k in range(n_maps):
            self.maps_.append(
                self._learned(
                    np.ascontiguousarray(log_odds[:, k]), positives[:, k], weights_of_pairs
                )
            )
            progress(k + 1, n_maps, 0.0)
        self.unmapped_classes_ = self.maps_.count(None)
        if self.unmapped_classes_ and n_maps > 1 and not self.scales_first:
            self.temperature_ = best_temperature(logits, labels, weights)

    def _predict(self, logits: Floats) -> Floats:
        logits = self._scaled(logits)
        probs = self._mapped(logits)
        if self.n_classes_ == 2:
            return probs
        total = probs.sum(axis=1, keepdims=True)
        empty = total[:, 0] < np.finfo(float).tiny  # a division by less would lose all digits
        if empty.any():
            probs[empty] = softmax(logits[empty])
            total[empty] = 1.0
        if self.normalize:
            probs /= total
        return probs

    def steps(self) -> list[Step]:
        scaled = self.scales_first and self.temperature_ != 1.0
        start: list[Step] = [{"step": "affine", "scale": 1 / self.temperature_}] if scaled else []
        if self.n_classes_ == 2:
            difference = {"step": "matrix", "matrix": np.array([[-1.0, 1.0]])}
            both = {
                "step": "matrix",
                "matrix": np.array([[-1.0], [1.0]]),
                "offset": np.array([1.0, 0.0]),
            }
            return [*start, difference, *_steps_of(self.maps_), both]
        mapped = [k for k, class_map in enumerate(self.maps_) if class_map is not None]
        others = [k for k, class_map in enumerate(self.maps_) if class_map is None]
        steps = _steps_of(self.maps_)
        if len(self.maps_) > 1 and others:
            # The logarithm of the sigmoid of log-odds is the log-softmax of the logits.
            temperature = 1.0 if self.scales_first else self.temperature_
            rest: list[Step] = [
                {"step": "log_sigmoid"},
                {"step": "affine", "scale": 1 / temperature},
            ]
            parts = (
                [steps, [*rest, {"step": "softmax"}]] if mapped else [[*rest, {"step": "softmax"}]]
            )
            indicators = [
                np.isin(np.arange(self.n_classes_), of).astype(float)
                for of in (mapped, others)
                if of
            ]
            steps = [{"step": "mix", "weights": indicators, "parts": parts}]
        normalised: list[Step] = [{"step": "normalise"}] if self.normalize else []
        return [*start, {"step": "one_vs_rest", "steps": steps}, *normalised]

    def get_state(self) -> dict[str, Any]:
        maps = [None if class_map is None else dict(vars(class_map)) for class_map in self.maps_]
        return {**super().get_state(), "maps_": maps}

    def set_state(self, state: Mapping[str, Any]) -> Self:
        try:
            maps = [
                None if fields is None else self.map_type(**fields) for fields in state["maps_"]
            ]
        except (KeyError, TypeError) as error:
            raise unusable("what it learned holds no maps") from error
        return super().set_state({**state, "maps_": maps})

    # -- for diagnostics -------------------------------------------------------------------------------

    def has_class_map(self, k: int) -> bool:
        """Return whether class ``k`` before normalisation depends on its own log-odds against the rest alone."""
        if self.n_classes_ == 2:
            return True
        unscaled = self._map_of(k) is not None and not self.scales_first
        return unscaled or self.temperature_ == 1.0

    def class_map(self, log_odds: Floats, k: int) -> Floats:
        """Probability that the fitted map of class ``k`` gives to its log-odds against the rest, before normalisation.

        Parameters
        ----------
        log_odds : array of any shape.
        k : the class; of two classes the map is class 1's, whatever ``k``.
        """
        return _applied(self._map_of(k), log_odds)

    def _map_of(self, k: int) -> Any:
        return self.maps_[k if len(self.maps_) > 1 else 0]

    # -- steps of the fit and of the prediction --------------------------------------------------------

    def _scaled(self, logits: Floats) -> Floats:
        """The logits that the maps are for."""
        return (
            logits / self.temperature_ if self.scales_first and self.temperature_ != 1.0 else logits
        )

    def _learned(self, log_odds: Floats, positives: Bools, weights: Floats | None) -> Map | None:
        if positives.all() or not positives.any():
            return None
        return self._fit_map(log_odds, positives, weights)

    def _predicted_entries(self) -> int:
        """Number of entries a call, enough rows for each of a thousand classes; few classes take no more for that."""
        if len(self.maps_) == 1:
            return super()._predicted_entries()
        return min(max(PREDICTED_ENTRIES, ROWS_OF_MAP * self.n_classes_), MEMORY_ENTRIES)

    def _mapped(self, logits: Floats) -> Floats:
        """One-vs-rest probabilities of scaled logits before any normalisation, shape (n, n_classes)."""
        if self.n_classes_ == 2:
            positive = _applied(self.maps_[0], logits[:, 1] - logits[:, 0])
            return np.stack([1 - positive, positive], axis=1)
        log_odds = one_vs_rest_log_odds(logits)
        if len(self.maps_) == 1:
            return _applied(self.maps_[0], log_odds)
        by_class = np.ascontiguousarray(log_odds.T)
        for k, class_map in enumerate(self.maps_):
            if class_map is not None:
                by_class[k] = class_map.apply(by_class[k])
        probs = np.ascontiguousarray(by_class.T)
        unmapped = [k for k, class_map in enumerate(self.maps_) if class_map is None]
        if unmapped:
            probs[:, unmapped] = softmax(
                logits if self.scales_first else logits / self.temperature_
            )[:, unmapped]
        return probs


def one_vs_rest_pairs(logits: Floats, labels: Ints) -> tuple[Floats, Bools]:
    """Log-odds and whether they belong to the label, both (n, n_classes), or (n, 1) for two classes."""
    if logits.shape[1] == 2:
        return (logits[:, 1] - logits[:, 0])[:, None], (labels == 1)[:, None]
    positives = np.zeros(logits.shape, dtype=bool)
    positives[np.arange(len(labels)), labels] = True
    return one_vs_rest_log_odds(logits), positives


def platt_targets(n_positive: float, n_negative: float) -> tuple[float, float]:
    """Values for 0 and for 1 among Platt's smoothed labels: ``1 / (N- + 2)`` and ``(N+ + 1) / (N+ + 2)``.

    Platt, Probabilistic Outputs for Support Vector Machines, 1999, section 2.2.
    """
    return 1 / (n_negative + 2), 1 - 1 / (n_positive + 2)


def best_temperature(logits: Floats, labels: Ints, weights: Floats | None = None) -> float:
    """The temperature of these rows, 1 where they have no best one."""
    from calib.calibrators.temperature import TemperatureScaling

    scaling = TemperatureScaling().fit(logits, labels, kind="logits", weights=weights)
    return 1.0 if scaling.at_bound else scaling.temperature_


def _applied(learned: Map | None, log_odds: Floats) -> Floats:
    return sigmoid(log_odds) if learned is None else learned.apply(log_odds)


def _steps_of(maps: list[Any]) -> list[Step]:
    """The map of all columns, or those of each side by side, of which the ones that are absent take that of another."""
    fitted = [class_map for class_map in maps if class_map is not None]
    if not fitted:
        return [{"step": "sigmoid"}]
    return side_by_side(
        [(fitted[0] if class_map is None else class_map).steps() for class_map in maps]
    )
