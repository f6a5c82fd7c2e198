"""Options by hand: what each takes, in Python and on the command line, and that anything else is refused."""

from __future__ import annotations

import shlex

import numpy as np
import pytest
from typer import BadParameter

from calib.cli.arguments import parse_choice
from calib.data import Choices, DataError, inspect, load, read_outputs
from calib.parameters import written
from tests.data.conftest import csv_bytes, the

WRONG = [
    ("kind", "potato", "one of logits, probabilities"),
    ("outputs", 7, "one name or several"),
    ("clusters", 3.0, "text"),
    ("weight_kind", "heavy", "one of sampling"),
    ("class_names", "abcd", "several names"),
    ("label_values", (1.5, 2.5), "several names or whole numbers"),
    ("standardise", "yes", "true or false"),
    ("n_classes", 1.0, "a whole number"),
    ("floor", "small", "a number"),
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


def test_two_classes_of_one_name_are_refused(make):
    found = inspect(make.both(), class_names=("cat", "dog", "cat", "cow"))
    assert found.findings[0].code == "class_names" and "cat was given more than once" in found.findings[0].message


@pytest.mark.parametrize("weights", [np.full(60, 1e300), np.r_[1e300, np.ones(59)], np.arange(60) - 5.5, np.zeros(60)])
def test_a_kind_of_weights_without_weights_is_said(weights):
    risk = np.random.default_rng(0).random(60).round(3)
    table = ("t.csv", csv_bytes(pd=risk, default=(risk > 0.4).astype(int), weight=weights))
    assert load(table).findings == tuple(f for f in load(table).findings if f.code != "weights")
    data = load(table, weight_kind="sampling")
    assert data.weights is None and "sampling were announced" in the(data, "weights").message


@pytest.mark.parametrize(
    ("given", "value"),
    [
        ("kind=logits", "logits"),
        ("outputs=7", "7"),
        ("outputs=cat, dog", ("cat", "dog")),
        ("outputs=['cat', 'dog']", ("cat", "dog")),
        ("outputs=['a,b', 'c']", ("a,b", "c")),
        ("class_names=a,b", ("a", "b")),
        ("label_values=3,5", (3, 5)),
        ("label_values=cat,5", ("cat", "5")),
        ("labels=a=b", "a=b"),
        ("standardise=True", True),
        ("header=no", False),
        ("floor=1e-6", 1e-6),
        ("delimiter=,", ","),
    ],
)
def test_values_are_read_by_the_type_of_their_field(given, value):
    assert parse_choice(given) == (given.partition("=")[0], value)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("kind=potato", "one of logits"),
        ("kind", "NAME=VALUE"),
        ("colour=red", "not one of"),
        ("standardise=perhaps", "true or false"),
        ("n_classes=1.5", "a whole number"),
        ("floor=2", "between 0 and 1"),
    ],
)
def test_a_value_that_cannot_be_meant_is_refused(given, said):
    with pytest.raises(BadParameter, match=said):
        parse_choice(given)


@pytest.mark.parametrize(
    "fix",
    [
        {"kind": "probabilities", "scale": "counts"},
        {"label_values": (2, 0, 1)},
        {"label_values": ("big cat", "dog's"), "class_names": ("a,b", "[c]")},
        {"n_classes": 4, "drop_bad_rows": True},
    ],
)
def test_a_printed_fix_can_be_pasted(fix):
    options = shlex.split(written(fix))
    assert options[::2] == ["--read"] * len(fix)
    assert dict(map(parse_choice, options[1::2])) == fix
