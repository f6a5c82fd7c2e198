"""Binary calibrators for many classes: one-vs-rest with a shared map or class-wise maps, or on the top class alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

import numpy as np
import numpy.typing as npt

from calib.base import EQUIVARIANT, KEEPS_ACCURACY, KEEPS_RANKING, ROWS_SUM_TO_ONE, Calibrator, Callback
from calib.calibrators.top_class import filled_in_proportion, top_log_odds
from calib.calibrators.top_k_outputs import TopKCalibrator
from calib.errors import CalibrationError
from calib.arrays import check_logits
from calib.numerics import MEMORY_ENTRIES, PREDICTED_ENTRIES, PROBABILITY_FLOOR, Floats, Ints, blocks, less_row_maxima, one_vs_rest_log_odds, row_sums, sigmoid, softmax
from calib.parameters import (
    Array,
    Condition,
    Count,
    Either,
    Entries,
    Items,
    Number,
    State,
    Truth,
    param,
    unusable,
)
from calib.top_k import Groups, TopK

Scores = TypeVar("Scores", Floats, Groups)

Map = dict[str, Any]
"""What one fitted map has learned, as arrays and numbers; empty for the map that changes nothing."""


def maps_of(**conditions: Condition) -> Items:
    """The condition on ``maps_`` of a method whose maps learn these; any may be empty."""
    return Items(Either(Entries(), Entries(**conditions)))


def knots_and_values() -> State:
    """What a map that rises from knot to knot learns."""
    return {"knots": Array("knots", order="rising"), "values": Array("knots", low=0, high=1, order="ascending")}


SHARING = (
    "Shared map: one map for the one-vs-rest pairs of all classes; class-wise: one map for each class (sCW and CW in "
    "Patel et al. 2020)."
)
"""Explanation of the two words in titles."""


@dataclass(eq=False, repr=False, kw_only=True)
class BinaryCalibrator(TopKCalibrator):
    """Base of methods that map one log-odds to one probability.

    A subclass writes two hooks: ``_fit_map(log_odds, positives)`` learns one map from (m,) log-odds, which it may
    reorder, and (m,) booleans that hold both outcomes; ``_apply_map(state, log_odds)`` applies it elementwise to an
    array of any shape, with NumPy alone. What a map learns is declared as ``maps_``, with :func:`maps_of`.

    A constant added to a row of logits changes no log-odds. Their unit matters: maps and bins lie on the log-odds
    themselves, as the papers have them.

    A *shared map* (sCW; I-Max, Patel et al. 2020, section 4.3) is learned from the one-vs-rest pairs of all
    classes, n * n_classes of them; *class-wise* maps (CW) are one for each class. Two
    classes need one map, on class 1's log-odds ``z_1 - z_0``, and its complement. A map needs both outcomes:
    a class that holds none or all of the calibration rows keeps what temperature scaling of all rows gives it, which
    is finite and never makes a row sum to zero; of two classes, its raw probability. A row whose mapped values sum to
    zero keeps its probabilities before the map.

    With ``classes="top"`` (top-versus-all; Le Coz et al., Confidence Calibration of Classifiers with Many Classes,
    NeurIPS 2024) one map takes the confidence in the predicted class to the chance that it is right. The other classes
    share the rest in proportion to what the model gives them, none more than the predicted class, which so is kept; the
    confidence is at least 1 / n_classes for the same reason.

    Of the top k logits of very many classes (:class:`calib.top_k.TopK`) the map is that of the top class in any case.
    """

    share_classes: bool = param(True, help="One map for all classes (shared map) instead of one for each (class-wise).")
    classes: str = param(
        "one_vs_rest",
        choices=("one_vs_rest", "top"),
        help="Map each class against the rest, or only the confidence in the predicted class (top-versus-all); the "
        "other classes then share the rest in proportion, and every prediction is kept.",
    )
    normalize: bool = param(True, help="Divide each row by its sum; without it rows need not sum to one.")
    platt_correction: bool = param(
        False, help="Soften the targets 0 and 1 by their counts, as Platt does; helps small calibration sets."
    )

    mirrored: ClassVar[bool] = True
    """Whether a map of two classes is the same seen from the other of them."""

    more_rows: ClassVar[str] = "Fit it again on all rows, old and new: steps and bins depend on the order of scores."
    state: ClassVar[State] = {
        "n_rows_": Count(1),
        "margin_": Number(0, 0.5),
        "maps_": maps_of(),
        "temperature_": Number(1e-100).or_absent(1.0),
        "unmapped_classes_": Count(),
        "fallback_rows_": Count(),
        "of_top_label_": Truth().or_absent(False),
    }

    @property
    def is_monotone(self) -> bool:
        """Whether a higher log-odds never gets a lower probability; ``monotone`` says so where there is a choice."""
        return bool(getattr(self, "monotone", True))

    @property
    def scales_first(self) -> bool:
        """Whether more than two classes are scaled by one temperature first, as ``after_temperature`` asks for."""
        return bool(getattr(self, "after_temperature", False))

    def _hook_input(self, logits: Any) -> Floats:
        # Log-odds are differences within a row as it is, so that none needs a copy less its maximum.
        return super()._hook_input(logits) if self.classes == "top" or self.scales_first else check_logits(logits)

    def _fit_map(self, log_odds: Floats, positives: npt.NDArray[np.bool_]) -> Map:
        raise TypeError(f"{type(self).__name__} has no _fit_map")

    def _apply_map(self, state: Map, log_odds: Floats) -> Floats:
        raise TypeError(f"{type(self).__name__} has no _apply_map")

    def promises(self, n_classes: int) -> frozenset[str]:
        if self.classes == "top":
            return frozenset({EQUIVARIANT, ROWS_SUM_TO_ONE, KEEPS_ACCURACY, KEEPS_RANKING})
        kept = {EQUIVARIANT} if self.mirrored or n_classes > 2 else set()
        if self.normalize or n_classes == 2:
            kept.add(ROWS_SUM_TO_ONE)
        # At two classes the one map may move the point where its value crosses one half.
        if self.is_monotone and self.share_classes and n_classes > 2:
            kept |= {KEEPS_ACCURACY, KEEPS_RANKING}
        return frozenset(kept)

    def check_state(self) -> None:
        super().check_state()
        n_maps = 1 if self.share_classes or self.maps_the_top or self.n_classes_ == 2 else self.n_classes_
        if len(self.maps_) != n_maps:
            raise unusable(
                f"maps_ holds {len(self.maps_)} maps, and classes={self.classes}, share_classes={self.share_classes} "
                f"takes {n_maps}"
            )

    def notes(self) -> list[str]:
        notes = []
        if self.fallback_rows_:
            notes.append(
                f"In {self.fallback_rows_:,} of {self.n_rows_:,} calibration rows every class was mapped to zero; "
                "such rows keep the probabilities from before the map."
            )
        if self.unmapped_classes_:
            notes.append(self._why_unmapped())
        if self.of_top_label_:
            notes.append(
                "The map is that of the top label: the other classes share what it leaves in the model's proportions."
            )
        elif ROWS_SUM_TO_ONE not in self.promises(self.n_classes_):
            notes.append(
                "Rows are not normalised and need not sum to one: each entry is the probability of a class against "
                "the rest."
            )
        return notes

    def _why_unmapped(self) -> str:
        if self.maps_the_top:
            return (
                "The predictions of the calibration rows are all right or all wrong, so nothing can be learned: their "
                "confidence stays as it is. Calibrate with more rows."
            )
        if self.n_classes_ == 2:
            return (
                "All calibration rows are of one class, so nothing can be learned: the probabilities are the "
                "raw ones. Calibrate with rows of both classes."
            )
        return (
            f"{self.unmapped_classes_} of {self.n_classes_} classes hold none or all of the calibration rows, so no "
            "map can be learned for them; they keep what one temperature for all classes gives "
            f"(T = {self.temperature_:.3g}). Shared maps avoid this."
        )

    def variant(self, n_classes: int) -> str:
        changed = [each for each in self._changed() if not each.startswith(("share_classes=", "classes="))]
        if self.maps_the_top:
            return ", ".join(["top class", *changed])
        sharing = "shared map" if self.share_classes else "class-wise"
        return ", ".join(changed if n_classes == 2 and self.share_classes else [sharing, *changed])

    def targets(self, positives: npt.NDArray[np.bool_]) -> Floats:
        """Targets of a regression, shape (m,): 0 and 1, or with ``platt_correction`` 1/(N- + 2) and 1 - 1/(N+ + 2)."""
        if not self.platt_correction:
            return positives.astype(float)
        low, high = self.target_levels(int(positives.sum()), positives.size)
        return np.where(positives, high, low)

    def target_levels(self, n_positive: int, n: int) -> tuple[float, float]:
        """What stands for 0 and for 1 among n pairs of which so many came true; see :meth:`targets`."""
        return (1 / (n - n_positive + 2), 1 - 1 / (n_positive + 2)) if self.platt_correction else (0.0, 1.0)

    def bounded(self, probs: Floats) -> Floats:
        """Frequencies clipped away from 0 and 1, where a single error would cost an infinite loss.

        The margin 1 / (m + 2) counts all m one-vs-rest pairs of the calibration set, also for class-wise
        maps, so that the classes of a row share about one part in n of its mass.
        """
        return np.clip(probs, self.margin_, 1 - self.margin_)

    def _fit(self, logits: Floats, labels: Ints, callback: Callback, **extras: Any) -> None:
        n_classes = logits.shape[1]
        self.temperature_ = best_temperature(logits, labels) if self.scales_first and n_classes > 2 else 1.0
        log_odds, positives = self.pairs(self._scaled(logits), labels)
        self._count(len(labels), log_odds.size)
        if self.share_classes:
            log_odds, positives = log_odds.reshape(-1, 1), positives.reshape(-1, 1)
        n_maps = log_odds.shape[1]
        maps: list[Map] = []
        for k in range(n_maps):
            maps.append(self._fit_one(np.ascontiguousarray(log_odds[:, k]), positives[:, k]))
            callback(k + 1, n_maps, 0.0)
        self._keep(maps)
        if self.unmapped_classes_ and n_maps > 1 and not self.scales_first:
            self.temperature_ = best_temperature(logits, labels)
        self.fallback_rows_ = self._count_fallbacks(logits)

    def fit_top_k(self, outputs: TopK, labels: Ints, callback: Callback) -> None:
        """Learn the map of the top class, whose log-odds against all others are known."""
        self.temperature_ = best_temperature(outputs, labels) if self.scales_first else 1.0
        self._count(len(outputs), len(outputs))
        log_odds = np.concatenate(
            [
                self._scaled(outputs[rows].groups()).one_vs_rest_log_odds()[:, 0]
                for rows in blocks(len(outputs), outputs.k + 1)
            ]
        )
        self._keep([self._fit_one(log_odds, outputs.indices[:, 0] == labels)])
        self.fallback_rows_, self.of_top_label_ = 0, True
        callback(1, 1, 0.0)

    def predict_groups(self, groups: Groups) -> Floats:
        """See the base class; a map of the top class, or one that was shared by all classes."""
        if len(self.maps_) > 1:
            raise CalibrationError("Each class has a map of its own, which the top k of many classes cannot use.")
        groups = self._scaled(groups)
        log_odds = groups.one_vs_rest_log_odds()
        if self.maps_the_top:
            confidence = self._apply_one(self.maps_[0], log_odds[:, 0])
            return filled_in_proportion(groups.logits, confidence, groups.counts)
        probs = self._apply_one(self.maps_[0], log_odds)
        return self._finished(probs, groups.logits, groups.counts)

    def nll_bounds(self, outputs: TopK, labels: Ints) -> tuple[Floats, Floats] | None:
        """The NLL itself where it does not depend on the logits outside the top k; None where it does.

        A shared map takes each class's own log-odds against all others, which are known, unless rows are normalised. Of
        a map of the top class the others keep their shares, unless one of them may be held at the predicted class's.
        """
        if self.scales_first:
            return None
        nll = np.empty(len(outputs))
        for rows in blocks(len(outputs), outputs.k + 2, PREDICTED_ENTRIES):
            groups, columns = outputs[rows].with_labels(labels[rows])
            probs = self.predict_groups(groups)
            confidence, least = probs.max(axis=1), probs[:, outputs.k - 1]
            kept = (least < confidence) | (confidence >= 0.5) if self.maps_the_top else not self.normalize
            if outputs.n_others and not np.all(kept):
                return None
            nll[rows] = -np.log(np.maximum(probs[np.arange(len(probs)), columns], PROBABILITY_FLOOR))
        nll[np.isnan(outputs.label_logits(labels))] = np.nan
        return nll, nll

    @property
    def maps_the_top(self) -> bool:
        """Whether the map is of the confidence in the predicted class, by choice or by what it was fitted on."""
        return self.classes == "top" or getattr(self, "of_top_label_", False)

    def pairs(self, logits: Floats, labels: Ints) -> tuple[Floats, npt.NDArray[np.bool_]]:
        """Log-odds that maps take and whether they came true, both (n, n_classes), or (n, 1) where there is one map."""
        if self.classes == "top":
            return top_log_odds(logits)[:, None], (np.argmax(logits, axis=1) == labels)[:, None]
        return one_vs_rest_pairs(logits, labels)

    def _scaled(self, logits: Scores) -> Scores:
        """The logits that the maps are for."""
        return logits / self.temperature_ if self.scales_first and self.temperature_ != 1.0 else logits

    def _count(self, n_rows: int, n_pairs: int) -> None:
        """Store the size of the calibration set, which :meth:`bounded` needs; called before any map is fitted."""
        self.n_rows_, self.of_top_label_ = n_rows, False
        self.margin_ = 1 / (n_pairs + 2)

    def _keep(self, maps: list[Map]) -> None:
        self.maps_ = maps
        self.unmapped_classes_ = sum(not state for state in maps)

    def _fit_one(self, log_odds: Floats, positives: npt.NDArray[np.bool_]) -> Map:
        if positives.all() or not positives.any():
            return {}
        state = self._fit_map(log_odds, positives)
        if not state:
            raise CalibrationError(f"{type(self).__name__} learned an empty map, which stands for no map at all.")
        return state

    def _apply_one(self, state: Map, log_odds: Floats) -> Floats:
        return self._apply_map(state, log_odds) if state else sigmoid(log_odds)

    def has_class_map(self, k: int) -> bool:
        """Whether what class ``k`` gets before normalisation depends on its own log-odds against the rest alone."""
        if self.n_classes_ == 2:
            return True
        own = bool(self.maps_[k if len(self.maps_) > 1 else 0]) and not self.scales_first
        return not self.maps_the_top and (own or self.temperature_ == 1.0)

    def class_map(self, log_odds: Floats, k: int) -> Floats:
        """Probability that the fitted map of class ``k`` gives to its log-odds against the rest, before normalisation.

        Parameters
        ----------
        log_odds : array of any shape.
        k : the class; of two classes the map is class 1's, whatever ``k``.
        """
        return self._apply_one(self.maps_[k if len(self.maps_) > 1 else 0], log_odds)

    def _mapped(self, logits: Floats) -> Floats:
        """One-vs-rest probabilities of scaled logits before any normalisation, shape (n, n_classes)."""
        if self.n_classes_ == 2:
            positive = self._apply_one(self.maps_[0], logits[:, 1] - logits[:, 0])
            return np.stack([1 - positive, positive], axis=1)
        log_odds = one_vs_rest_log_odds(logits)
        if len(self.maps_) == 1:
            return self._apply_one(self.maps_[0], log_odds)
        probs = np.empty(logits.shape)
        unmapped = []
        for k, state in enumerate(self.maps_):
            if state:
                probs[:, k] = self._apply_map(state, log_odds[:, k])
            else:
                unmapped.append(k)
        if unmapped:
            scaled = logits if self.scales_first else less_row_maxima(logits, logits) / self.temperature_
            probs[:, unmapped] = softmax(scaled)[:, unmapped]
        return probs

    def _predict_proba(self, logits: Floats) -> Floats:
        logits = self._scaled(logits)
        if self.maps_the_top:
            return filled_in_proportion(logits, self._apply_one(self.maps_[0], top_log_odds(logits)))
        probs = self._mapped(logits)
        return probs if self.n_classes_ == 2 else self._finished(probs, logits)

    def _finished(self, probs: Floats, logits: Floats, counts: Floats | None = None) -> Floats:
        """Mapped probabilities, in place, normalised where that is wanted; rows of zeros become the raw ones."""
        total = row_sums(probs, counts)
        empty = _sums_to_zero(total)
        if empty.any():
            probs[empty], total[empty] = softmax(logits[empty], None if counts is None else counts[empty]), 1.0
        if self.normalize:
            probs /= total
        return probs

    def _count_fallbacks(self, logits: Floats) -> int:
        if self.n_classes_ == 2 or self.classes == "top":
            return 0
        found = 0
        for rows in blocks(len(logits), logits.shape[1], MEMORY_ENTRIES):
            scaled = self._scaled(logits[rows])
            # A row does not sum to zero where its likeliest class is given anything: few are left to be mapped whole.
            doubtful = scaled[_sums_to_zero(self._of_likeliest(scaled))]
            found += int(_sums_to_zero(self._mapped(doubtful).sum(axis=1)).sum())
        return found

    def _of_likeliest(self, logits: Floats) -> Floats:
        """What the maps of more than two classes give the class with the largest logit, (n,); 1 where it has no map."""
        top = np.argmax(logits, axis=1)
        log_odds = one_vs_rest_log_odds(logits)[np.arange(len(top)), top]
        if len(self.maps_) == 1:
            return self._apply_one(self.maps_[0], log_odds)
        probs = np.ones(len(top))
        for k in np.unique(top):
            if self.maps_[k]:
                probs[top == k] = self._apply_map(self.maps_[k], log_odds[top == k])
        return probs


def with_other_sharing(calibrator: Calibrator) -> BinaryCalibrator | None:
    """An unfitted copy with shared maps in place of class-wise ones, or the other way round.

    None for a method that has no one-vs-rest problems to share, such as temperature scaling: sharing helps those that
    do, the scaling methods among them (I-Max, Patel et al. 2020, table 3).
    """
    if not isinstance(calibrator, BinaryCalibrator) or calibrator.maps_the_top:
        return None
    return type(calibrator)(**{**calibrator.get_params(), "share_classes": not calibrator.share_classes})


def one_vs_rest_pairs(logits: Floats, labels: Ints) -> tuple[Floats, npt.NDArray[np.bool_]]:
    """Log-odds and whether they belong to the label, both (n, n_classes), or (n, 1) for two classes."""
    if logits.shape[1] == 2:
        return (logits[:, 1] - logits[:, 0])[:, None], (labels == 1)[:, None]
    positives = np.zeros(logits.shape, dtype=bool)
    positives[np.arange(len(labels)), labels] = True
    return one_vs_rest_log_odds(logits), positives


def best_temperature(logits: Floats | TopK, labels: Ints) -> float:
    """The temperature of these rows, 1 where they have no best one."""
    from calib.calibrators.temperature import TemperatureScaling

    scaling = TemperatureScaling().fit(logits, labels)
    return 1.0 if scaling.at_bound else scaling.temperature_


def _sums_to_zero(total: Floats) -> npt.NDArray[np.bool_]:
    # Below the smallest normal number a division by the sum would lose all digits.
    return np.ravel(total) < np.finfo(float).tiny
