"""A choice that cannot be meant is refused before it gives wrong numbers."""

from __future__ import annotations

from dataclasses import fields
from typing import get_type_hints

import numpy as np
import pytest

from calib.data import Choices, DataError, inspect, load, read_outputs
from calib.data.check_choices import RULES

WRONG = [
    ("kind", "potato", "one of logits, probabilities"),
    ("kind", ["logits"], "one of logits"),
    ("outputs", 7, "one name or several"),
    ("outputs", (("a", "b"), "c"), "one name or several"),
    ("groups", 3.0, "text"),
    ("split", ("a", "b"), "text"),
    ("class_names", "abcd", "several names"),
    ("label_values", (1.5, 2.5), "several names or whole numbers"),
    ("transposed", "yes", "true or false"),
    ("renormalise", 1, "true or false"),
    ("label_shift", 1.0, "a whole number"),
    ("row_shift", True, "a whole number"),
    ("floor", "small", "a number"),
    ("delimiter", 1, "text"),
]


@pytest.mark.parametrize(("name", "value", "expected"), WRONG)
def test_is_refused_with_its_name_and_what_it_may_be(make, name, value, expected):
    path = make.both()
    found = inspect(path, choices=Choices(**{name: value}))
    (error,) = found.findings
    assert (error.level, error.code) == ("error", "choice")
    assert error.message.startswith(f"{name} was chosen as ") and expected in error.message
    with pytest.raises(DataError, match=name):
        load(path, **{name: value})
    with pytest.raises(DataError, match=name):
        read_outputs(path, Choices(**{name: value}))


@pytest.mark.parametrize("floor", [0.0, 1.0, -0.1, float("nan")])
def test_a_floor_is_a_probability_even_where_none_is_needed(make, floor):
    assert inspect(make.both(), choices=Choices(floor=floor)).findings[0].code == "floor"


def test_every_field_has_a_rule():
    assert {str(field.type) for field in fields(Choices)} == set(RULES)
    assert set(get_type_hints(Choices)) == {field.name for field in fields(Choices)}


def test_lists_and_numpy_scalars_are_as_good(make):
    path = make.csv()
    choices = Choices(outputs=["p_0", "p_1", "p_2", "p_3"], floor=np.float32(0.01), label_shift=np.int64(0))
    assert load(path, choices=choices).n_classes == 4
    assert choices == Choices(outputs=("p_0", "p_1", "p_2", "p_3"), floor=np.float32(0.01), label_shift=0)


def test_what_was_guessed_can_be_given_back(make):
    """The form in the app starts from the guesses."""
    for path in (make.both(), make.csv(), make.npz("z.npz", p=np.eye(4)[make.labels], y=make.labels.astype(str))):
        found = inspect(path)
        assert inspect(path, choices=found.choices).predictions.sha256 == found.predictions.sha256
