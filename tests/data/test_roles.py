"""Which column of a table is what: accepted where it is clear, asked where it is not, refused where something lacks."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import calib
from calib.data import Choices, DataError, inspect, load, read_rows
from calib.tasks import tasks_of
from tests.data.conftest import csv_bytes, the

N = 400
RNG = np.random.default_rng(0)
RISK = RNG.beta(1, 3, N).round(6)
HAPPENED = (RNG.random(N) < RISK).astype(int)
PROBS = RNG.dirichlet(np.ones(3), N).round(6)
LABELS = np.array([RNG.choice(3, p=row / row.sum()) for row in PROBS])
CONFIDENCE = PROBS.max(axis=1)
ANIMALS = np.array(["cat", "dog", "bird"])
IDS, AGE = np.arange(N) * 3 + 1000, RNG.integers(18, 90, N)
AMOUNT = RNG.gamma(2, 1000, N).round(2)


def table(**columns):
    """A csv file with these columns; a double underscore in a name stands for a blank."""
    return "table.csv", csv_bytes(
        **{name.replace("__", " "): values for name, values in columns.items()}
    )


def probability(data, column=1):
    logits = np.asarray(data.logits, dtype=float)
    return (np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True))[:, column]


# Asking.


def test_a_reading_says_what_it_would_give():
    worse = RNG.random(N).round(6)
    file = table(id=IDS, model_a=RISK, model_b=worse, default=HAPPENED, branch=np.arange(N) % 20)
    found = inspect(file)
    assert found.predictions is None and the(found, "ambiguous").level == "error"
    reading = next(reading for reading in found.readings if reading.roles["outputs"] == "model_a")
    assert reading.roles["outcome"] == "default" and reading.roles["cluster"] == "branch"
    assert reading.rows == N
    assert f"{RISK.mean():.1%}" in reading.sentence and f"{HAPPENED.mean():.1%}" in reading.sentence
    offered = the(found, "ambiguous").readings[reading.sentence]
    np.testing.assert_allclose(probability(load(file, choices=Choices(**offered))), RISK)


def test_an_outcome_of_one_value_is_taken_once_it_is_chosen():
    table = pd.DataFrame({"pd": np.linspace(0.1, 0.9, 60), "default": np.zeros(60, dtype=int)})
    assert inspect(table).predictions is None
    found = inspect(table, roles={"outputs": "pd", "outcome": "default"})
    assert found.predictions is not None and "one_class" in {
        finding.code for finding in found.findings
    }


def test_roles_by_hand():
    file = table(
        a=RISK, b=HAPPENED, c=np.arange(N) % 25, d=AMOUNT, e=ANIMALS[LABELS], f=AGE, g=IDS % 2
    )
    given = {
        "outcome": "b",
        "outputs": "a",
        "cluster": "c",
        "weight": "d",
        "group": ["e", "g"],
        "features": ["f"],
    }
    data = load(file, roles=given)
    np.testing.assert_allclose(probability(data), RISK)
    np.testing.assert_allclose(data.weights, AMOUNT)
    assert data.weight_kind is None and len(set(data.clusters)) == 25
    np.testing.assert_array_equal(
        data.groups, [f"{ANIMALS[k]} · {i % 2}" for k, i in zip(LABELS, IDS, strict=True)]
    )
    assert data.features.shape == (N, 1)
    assert {role.reason for role in data.roles} == {"as chosen"}
    with pytest.raises(calib.CalibrationError, match=r"'outcome'.*2"):
        load(file, roles={"outcome": ["a", "b"]})


def test_every_column_of_few_values_is_kept_as_a_further_subgroup():
    sex, region = np.array(["f", "m"])[IDS % 2], np.array(["n", "s", "w"])[np.arange(N) % 3]
    columns = {"p_default": RISK, "default": HAPPENED, "sex": sex, "region": region, "free": IDS}
    data = load(table(**columns), isolate=True)
    assert {role.column: role.role for role in data.roles}["region"] == "metadata"
    np.testing.assert_array_equal(data.groups, sex)
    np.testing.assert_array_equal(data.metadata["region"], region)
    half = data.take(np.arange(0, N, 2))
    np.testing.assert_array_equal(half.metadata["region"], region[::2])
    other = load(table(**{**columns, "region": region[::-1]}))
    assert other.sha256 != data.sha256
    arrays = {"logits": np.log(PROBS), "labels": LABELS, "hospital": region, "age": AGE}
    assert list(load(arrays).metadata) == ["hospital"]


# Several models.


def test_models_side_by_side():
    found = tasks_of(table(id=IDS, score_rf=RISK, score_nn=RISK**2, default=HAPPENED))
    assert [data.name for data in found.values()] == list(found) and set(found) == {"rf", "nn"}
    np.testing.assert_allclose(probability(found["nn"]), RISK**2, atol=1e-9)


def test_models_below_each_other():
    file = table(confidence=CONFIDENCE, correct=LABELS == 0, model=np.array(["a", "b"])[IDS % 2])
    asked = the(inspect(file), "several_models")
    (together,) = asked.readings.values()
    whole, found = load(file, choices=Choices(**together)), tasks_of(file)
    assert set(whole.groups) == {"a", "b"} == set(found)
    np.testing.assert_allclose(found["b"].confidence, CONFIDENCE[IDS % 2 == 1])
    assert len({data.sha256 for data in (whole, *found.values())}) == 3


@pytest.mark.parametrize(
    "names",
    [
        ["a", "b"],
        [f"m{k:02d}" for k in range(60)],
        ["1.0", "2.5"],
        ["", "None", "nan", "missing"],
        ["0.5", "1.0"],
    ],
    ids=["beside groups", "sixty", "numbers", "words", "fractions"],
)
@pytest.mark.parametrize(
    "chosen", [{}, {"group": ["model"]}, {"group": "group"}, {"group": ["group", "model"]}]
)
def test_rows_of_several_models_are_read_together_only_where_that_was_chosen(names, chosen):
    of_model = np.repeat(names, N // len(names))
    n = len(of_model)
    group = np.where(IDS[:n] % 2, "north", "south")
    file = table(default=HAPPENED[:n], pd=RISK[:n], model=of_model, group=group)
    warned = the(inspect(file, roles=chosen), "several_models")
    assert (warned.level == "error") == (not chosen)
    assert bool(warned.offers) == (chosen.get("group") != ["model"])
    tasks = tasks_of(file)
    assert {*tasks, *tasks.reasons} == {name or "(missing)" for name in names}
    assert bool(tasks.reasons) == (n // len(names) < 20)
    for name, data in tasks.items():
        own = of_model == name.replace("(missing)", "")
        np.testing.assert_allclose(probability(data), RISK[:n][own])
        np.testing.assert_array_equal(data.groups, group[own])
        assert "several_models" not in {f.code for f in data.findings}


def test_more_names_of_models_than_groups_may_have_are_said_to_be_too_many():
    of_model = np.array([f"m{k}" for k in np.arange(2400) % 1200])
    file = table(default=np.tile(HAPPENED, 6), pd=np.tile(RISK, 6), model=of_model)
    found = inspect(file, roles={"group": "model"})
    assert {"several_models", "too_many_groups"} <= {finding.code for finding in found.findings}
    assert len(tasks_of(file).reasons) == 1200


@pytest.mark.parametrize(
    ("name", "models"),
    [
        (name, True)
        for name in (
            "model",
            "models",
            "ml_model",
            "Classifier name",
            "classifiers",
            "ModelName",
            "llm",
        )
    ]
    + [
        (name, False)
        for name in (
            "Payment Method",
            "operating_system",
            "system",
            "method",
            "remodel",
            "car_model",
        )
    ],
)
def test_models_are_what_a_name_says_that_speaks_of_nothing_else(name, models):
    """A system and a method counted as models, and ``models`` and ``ml_model`` did not."""
    found = inspect(table(default=HAPPENED, pd=RISK, **{name: np.array(["cash", "card"])[IDS % 2]}))
    assert (found.predictions is None) == models
    assert ("several_models" in {finding.code for finding in found.findings}) == models


# Tables of others.


@pytest.mark.parametrize("chosen", [{"outputs": ("pd", "nope")}, {"predicted": "nope"}])
def test_a_column_that_is_not_there_is_named(chosen):
    for read in (load, read_rows)[: 2 if "outputs" in chosen else 1]:
        with pytest.raises(DataError, match="no array or column 'nope'; it holds pd, default"):
            read(table(pd=RISK, default=HAPPENED), choices=Choices(**chosen))


def test_lists_are_named_as_what_they_are():
    """A column of lists was called "the same in every row; empty", and lists of texts were taken for features."""
    ragged = [[0.5] * (row % 3) for row in range(N)]
    frame = pd.DataFrame({"pd": RISK, "default": HAPPENED, "emb": [["a", "b"]] * N, "logs": ragged})
    data = load(frame)
    said = {role.column: (role.role, role.reason) for role in data.roles}
    assert said["emb"] == ("ignore", "lists that hold no numbers")
    assert said["logs"] == ("ignore", "lists of 0 to 2 numbers") and data.features is None
    finding = inspect(
        pd.DataFrame({"probs": [[0.5] * (1 + row % 3) for row in range(N)], "label": LABELS})
    ).findings[0]
    assert (finding.code, finding.message) == (
        "lists",
        "probs of The table holds lists of 1 to 3 numbers.",
    )
