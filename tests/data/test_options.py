"""Options by hand: what each takes, in Python and on the command line, and that anything else is refused."""

from __future__ import annotations

import re
import shlex
from dataclasses import replace

import numpy as np
import pytest
from typer import BadParameter

from calib import from_outputs
from calib.active_learning import pool_from_predictions
from calib.cli.arguments import parse_choice
from calib.data import Choices, DataError, inspect, load, read_rows
from calib.errors import CalibrationError
from calib.evaluation.evaluation import Evaluation, raw_model
from calib.parameters import written
from calib.sklearn import ReliabilityDisplay
from tests.data.conftest import csv_bytes, the

WRONG = [
    ("kind", "potato", "one of logits, probabilities"),
    ("outputs", 7, "one name or several"),
    ("clusters", 3.0, "text"),
    ("weight_kind", "heavy", "one of sampling"),
    ("class_names", "abcd", "several names"),
    ("label_values", (1.5, 2.5), "several names or whole numbers"),
    ("header", "yes", "true or false"),
    ("floor", "small", "a number"),
]


DATA = from_outputs(np.linspace(0.1, 0.9, 40), np.arange(40) % 2)
CLUSTERED = replace(DATA, clusters=(np.arange(40) // 4).astype(str))
CALLS = {
    "event": (lambda: DATA.decided(event="nope"), "event='nope' must be one of two classes; here are 0, 1"),
    "weights": (lambda: DATA.decided(weight_kind="zzz"), "weight_kind='zzz' must be one of sampling, frequency"),
    "seed": (lambda: DATA.split(random_state=-1), "random_state=-1 must lie between 0 and"),
    "seed of clusters": (lambda: CLUSTERED.split(random_state="a"), "random_state='a' must be a whole number"),
    "no data": (lambda: Evaluation.from_predictions(raw_model(DATA), None), "The data set is a NoneType"),
    "no pool": (lambda: pool_from_predictions(None), "The data set is a NoneType"),
    "no labels": (lambda: ReliabilityDisplay.from_predictions(None, [0.5]), "y_true"),
    "no probabilities": (lambda: ReliabilityDisplay.from_predictions([0, 1], None), "y_prob must be numbers"),
}  # fmt: skip


@pytest.mark.parametrize("call", CALLS)
def test_a_call_that_cannot_be_meant_is_refused_in_a_sentence(call):
    refused, said = CALLS[call]
    with pytest.raises(CalibrationError, match=re.escape(said)):
        refused()


def test_is_refused_with_its_name_and_what_it_may_be(make):
    path = make.both()
    for name, value, expected in WRONG:
        (error,) = inspect(path, choices=Choices(**{name: value})).findings
        assert (error.level, error.code) == ("error", "choice")
        assert error.message.startswith(f"{name} was chosen as ") and expected in error.message
        with pytest.raises(DataError, match=name):
            read_rows(path, Choices(**{name: value}))
    for floor in (0.0, 1.0, -0.1, float("nan")):  # even where none is needed
        assert inspect(path, choices=Choices(floor=floor)).findings[0].code == "floor"
    assert (
        the(inspect(path, class_names=("cat", "dog", "cat", "cow")), "class_names").level
        == "warning"
    )


@pytest.mark.parametrize("weights", [np.full(60, 1e300), np.arange(60) - 5.5, np.zeros(60)])
def test_a_kind_of_weights_without_weights_is_said(weights):
    risk = np.random.default_rng(0).random(60).round(3)
    table = ("t.csv", csv_bytes(pd=risk, default=(risk > 0.4).astype(int), weight=weights))
    data = load(table, weight_kind="sampling")
    assert data.weights is None and "sampling were announced" in the(data, "weights").message


@pytest.mark.parametrize(
    ("given", "value"),
    [
        ("kind=logits", "logits"),
        ("outputs=7", "7"),
        ("outputs=cat, dog", ("cat", "dog")),
        ("outputs=['a,b', 'c']", ("a,b", "c")),
        ("label_values=3,5", (3, 5)),
        ("label_values=cat,5", ("cat", "5")),
        ("labels=a=b", "a=b"),
        ("drop_bad_rows=True", True),
        ("header=no", False),
        ("floor=1e-6", 1e-6),
        ("delimiter=,", ","),
    ],
)
def test_values_are_read_by_the_type_of_their_field(given, value):
    assert parse_choice(given) == (given.partition("=")[0], value)


def test_a_value_that_cannot_be_meant_is_refused():
    for given, said in (
        ("kind=potato", "one of logits"),
        ("kind", "NAME=VALUE"),
        ("colour=red", "not one of"),
        ("header=perhaps", "true or false"),
        ("floor=2", "between 0 and 1"),
    ):
        with pytest.raises(BadParameter, match=said):
            parse_choice(given)


def test_a_printed_fix_can_be_pasted():
    names = {"label_values": ("big cat", "dog's"), "class_names": ("a,b", "[c]")}
    fix = {"kind": "probabilities", "scale": "counts", **names, "drop_bad_rows": True}
    options = shlex.split(written(fix))
    assert options[::2] == ["--read"] * len(fix)
    assert dict(map(parse_choice, options[1::2])) == fix
