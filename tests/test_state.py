"""The conditions on what is learned: each refuses what it says, and what is declared holds for every base."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest

from calib.base import Calibrator
from calib.calibrators.gpcalib.interpolation import Grid
from calib.calibrators.gpcalib.posterior import STEEP, check_shifts, monotone_shifts
from calib.calibrators.identity import Identity
from calib.calibrators.imax import IMaxBinning
from calib.errors import CalibrationError
from calib.parameters import (
    Array,
    Count,
    Either,
    Entries,
    Items,
    Number,
    State,
    Text,
    Truth,
    check_state,
    declared_state,
)
from tests.conftest import simulate

UP, NAN = np.array([0.0, 0.5, 1.0]), np.array([0.0, np.nan, 1.0])
FULL = {"edges": UP[:2], "values": UP}
MAP = Entries(edges=Array("bins-1", order="rising"), values=Array("bins", low=0, high=1))


@pytest.mark.parametrize(
    ("condition", "good", "bad"),
    [
        (Number(0, 2), [0, 2, 1.5, np.float64(1), np.int64(1)], [-1, 2.1, np.nan, np.inf, True, "1", None, 10**400]),
        (Number(), [1e100, -1e100], [1.1e100, np.inf]),
        (Number(free=True), [np.nan, -np.inf, 0.5], ["nan", None, True]),
        (Count(1), [1, 2**53, np.int32(3)], [0, 2**53 + 1, 1.0, True, "1", 10**400]),
        (Truth(), [True, np.bool_(False)], [0, 1, "True", None]),
        (Text(), ["", "a"], [0, None, ["a"], b"a"]),
        (Text("a", "b"), ["a"], ["c", 0]),
        (Array("n"), [UP, UP[::-1]], [UP[:0], UP[None], UP.astype("f4"), UP.astype(">f8"), [1.0], NAN, UP * 1e101]),
        (Array("n-1"), [UP, UP[:0]], [UP[None]]),
        (Array(3), [UP], [UP[:2]]),
        (Array("n", "n"), [np.eye(2)], [np.zeros((2, 3)), np.zeros(2)]),
        (Array("n", low=0, high=1), [UP], [UP - 1e-12, UP * 1.1]),
        (Array("n", order="rising"), [UP, UP[:1]], [UP[::-1], np.zeros(2), np.array([0.0, 5e-324])]),
        (Array("n", order="ascending"), [UP, np.zeros(2)], [UP[::-1], np.array([0.0, -1e-8])]),
        (Array("n", total=1.5), [UP], [UP[:2]]),
        (Array("n", kinds=(np.int64,)), [np.arange(2)], [UP, np.arange(2).astype(bool)]),
        (Array("n", free=True), [NAN], [NAN.astype("f4")]),
        (Items(Count()), [[], [1, 2], (1,)], [[-1], {"0": 1}, "12", 1, None]),
        (Items(Count(), 2), [[1, 2]], [[1], [1, 2, 3]]),
        (MAP, [FULL, {"edges": UP[:0], "values": UP[:1]}], [{}, {**FULL, "more": 1}, {**FULL, "edges": UP}, [FULL]]),
        (Entries(a=Count().or_absent()), [{}, {"a": 1}], [{"a": None}, {"b": 1}]),
        (Either(Entries(), MAP), [{}, FULL], [{"edges": UP}, []]),
    ],
    ids=lambda value: type(value).__name__ if not isinstance(value, list) else "",
)  # fmt: skip
def test_a_condition_takes_what_it_says_and_nothing_else(condition, good, bad):
    for value in good:
        check_state({"a_": value}, {"a_": condition}, {})
    for value in bad:
        with pytest.raises(CalibrationError, match=r"a_[^\n]{5,200}; it was damaged or changed, [^\n]*\.$"):
            check_state({"a_": value}, {"a_": condition}, {})


def test_equal_names_are_equal_sizes_within_their_dictionary_alone():
    whole = {"n_classes_": 2, "bias_": UP[:2], "maps_": [FULL, {"edges": UP[:0], "values": UP[:1]}]}
    declared = {"n_classes_": Count(2), "bias_": Array("n_classes"), "maps_": Items(MAP)}
    check_state(whole, declared, {"n_classes": 2})
    with pytest.raises(CalibrationError, match=r"bias_ has the shape \(3,\)"):
        check_state({**whole, "bias_": UP}, declared, {"n_classes": 2})


@dataclass(eq=False, repr=False, kw_only=True)
class Shifted(Identity):
    state: ClassVar[State] = {"bias_": Array("n_classes"), "note_": Text().or_absent("none")}

    def _fit(self, logits: Any, *others: Any, **extras: Any) -> None:
        self.bias_ = np.zeros(logits.shape[1])


def test_a_subclass_declares_what_it_adds():
    assert set(declared_state(Shifted)) == {"n_classes_", "device_", "bias_", "note_"}
    assert set(declared_state(Calibrator)) == {"n_classes_", "device_"}


def test_what_is_learned_comes_back_checked_and_completed():
    made = Shifted().fit(*simulate(20))
    made.check_state()
    again = Shifted().set_state(made.get_state())
    assert again.fitted and again.note_ == "none" and not hasattr(again, "device_")
    for wrong in ({"more_": 1}, {"bias_": np.zeros(3)}, {"n_classes_": True}, {"predict": 1}, {"__class__": Identity}):
        with pytest.raises(CalibrationError, match=f"{next(iter(wrong))}"):
            Shifted().set_state({**made.get_state(), **wrong})
    with pytest.raises(CalibrationError, match="bias_ is missing"):
        Shifted().set_state({"n_classes_": 2})
    with pytest.raises(CalibrationError, match="dictionary"):
        Shifted().set_state([])


def test_an_attribute_that_is_learned_and_not_declared_is_found():
    made = Shifted().fit(*simulate(20))
    made.forgotten_ = 1.0
    with pytest.raises(CalibrationError, match="forgotten_' is nothing that it learns"):
        made.check_state()


def test_ordered_bins_are_asked_for_where_they_were_promised():
    for monotone in (False, True):
        made = IMaxBinning(monotone=monotone, n_bins=3).fit(*simulate(300))
        made.maps_[0]["values"] = np.array([0.1, 0.9, 0.5])
        if monotone:
            with pytest.raises(CalibrationError, match="must be ascending"):
                made.check_state()
        else:
            made.check_state()


def test_the_cubic_through_exponentials_is_positive_up_to_the_steepest_shifts_that_are_taken():
    """On six nodes, for all shifts that go up or down by the most at each of them."""
    grid, at = Grid(0.0, 5.0, 6), np.linspace(0.0, 5.0, 501)
    lowest = []
    for bound in (2 * STEEP, 4 * STEEP):
        steps = bound * np.stack(np.meshgrid(*[[-1.0, 0.0, 1.0]] * 5), axis=-1).reshape(-1, 5)
        shifts = np.concatenate([np.zeros((len(steps), 1)), np.cumsum(steps, axis=1)], axis=1)
        lowest.append(min(grid.interpolate(np.exp(shift), at).min() for shift in shifts))
        refused = bound > 2 * STEEP
        with pytest.raises(CalibrationError) if refused else np.errstate():
            check_shifts(shifts, grid, "logits", monotone=False)
    assert lowest[0] > 0 > lowest[1]


@pytest.mark.parametrize("space", ["logits", "probs"])
def test_shifts_that_fall_are_refused_where_they_were_promised_to_rise(rng, space):
    grid = Grid(0.0, 1.0, 64, order=1)
    shifts = rng.normal(size=(3, 64))
    risen = monotone_shifts(shifts, grid, space)
    check_shifts(risen, grid, space, monotone=True)
    check_shifts(shifts, grid, space, monotone=False)
    for wrong, at in ((shifts, grid), (risen, Grid(0.0, 1.0, 64))):
        with pytest.raises(CalibrationError, match="shift"):
            check_shifts(wrong, at, space, monotone=True)
