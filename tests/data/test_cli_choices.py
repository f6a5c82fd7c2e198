"""Choices as options of a shell."""

import argparse
import shlex

import pytest

from calib.cli.cli_choices import parse_choice, written


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
        ("transposed=True", True),
        ("header=no", False),
        ("label_shift=-1", -1),
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
        ("transposed=perhaps", "true or false"),
        ("label_shift=1.5", "a whole number"),
        ("label_shift=", "a whole number"),
        ("floor=2", "between 0 and 1"),
        ("outputs=[['a'], 'b']", "one name or several"),
    ],
)
def test_a_value_that_cannot_be_meant_is_refused(given, said):
    with pytest.raises(argparse.ArgumentTypeError, match=said):
        parse_choice(given)


@pytest.mark.parametrize(
    "fix",
    [
        {"kind": "probabilities", "renormalise": True},
        {"label_values": (2, 0, 1)},
        {"label_values": ("big cat", "dog's"), "class_names": ("a,b", "[c]")},
        {"label_shift": -1, "drop_bad_rows": True},
    ],
)
def test_a_printed_fix_can_be_pasted(fix):
    options = shlex.split(written(fix))
    assert options[::2] == ["--read"] * len(fix)
    assert dict(map(parse_choice, options[1::2])) == fix
