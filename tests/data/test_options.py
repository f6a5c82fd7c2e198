"""Options by hand: what each takes, in Python and on the command line, and that anything else is refused."""

from __future__ import annotations

import shlex
from dataclasses import fields

import numpy as np
import pytest
from typer import BadParameter

from calib.cli.arguments import parse_choice
from calib.data import Choices, DataError, Predictions, inspect, load, read_outputs
from calib.data.assemble.beside import ROW_ROLES
from calib.data.options import OPTIONS
from calib.parameters import written

WRONG = [
    ("kind", "potato", "one of logits, probabilities"),
    ("kind", ["logits"], "one of logits"),
    ("outputs", 7, "one name or several"),
    ("outputs", (("a", "b"), "c"), "one name or several"),
    ("groups", 3.0, "one name or several"),
    ("clusters", 3.0, "text"),
    ("weight_kind", "heavy", "one of sampling"),
    ("split", ("a", "b"), "text"),
    ("class_names", "abcd", "several names"),
    ("label_values", (1.5, 2.5), "several names or whole numbers"),
    ("standardise", "yes", "true or false"),
    ("n_classes", 1.0, "a whole number"),
    ("n_classes", True, "a whole number"),
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


def test_lists_and_numpy_scalars_are_as_good(make):
    path = make.csv()
    choices = Choices(outputs=["p_0", "p_1", "p_2", "p_3"], floor=np.float32(0.01), n_classes=np.int64(4))
    assert load(path, choices=choices).n_classes == 4
    assert choices == Choices(outputs=("p_0", "p_1", "p_2", "p_3"), floor=np.float32(0.01), n_classes=4)


@pytest.mark.parametrize(
    ("given", "value"),
    [
        ("kind=logits", "logits"),
        ("outputs=7", "7"),
        ("outputs=p_0", "p_0"),
        ("outputs=cat, dog", ("cat", "dog")),
        ("outputs=['cat', 'dog']", ("cat", "dog")),
        ("outputs=['a,b', 'c']", ("a,b", "c")),
        ("class_names=a,b", ("a", "b")),
        ("class_names=3,5", ("3", "5")),
        ("label_values=3,5", (3, 5)),
        ("label_values=cat,5", ("cat", "5")),
        ("groups=", ""),
        ("labels=a=b", "a=b"),
        ("standardise=True", True),
        ("header=no", False),
        ("n_classes=-1", -1),
        ("floor=1e-6", 1e-6),
        ("delimiter=;", ";"),
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
        ("n_classes=", "a whole number"),
        ("floor=2", "between 0 and 1"),
        ("outputs=[['a'], 'b']", "one name or several"),
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


def test_every_role_of_rows_is_an_option_and_a_field():
    assert ROW_ROLES.keys() <= OPTIONS.keys()
    assert ROW_ROLES.keys() <= {field.name for field in fields(Predictions)}
