"""The event of two classes: which class it is, how it is called, and how it enters the hash."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from calib.data import Choices, DataError, Predictions, load
from calib.data.event import chosen_event, infer_event
from calib.data.samples import load_sample


@pytest.mark.parametrize(
    ("classes", "share", "column"),
    [
        (("0", "1"), 0.9, 1),
        (("yes", "no"), 0.9, 0),
        (("1", "2"), 0.9, 1),
        (("good", "bad"), 0.7, 0),
        (("good", "bad"), 0.5, 1),
        (("tested_negative", "tested_positive"), 0.7, 1),
    ],
)
def test_what_the_labels_say_comes_first_and_the_rarer_class_next(classes, share, column):
    labels = (np.arange(10) < share * 10).astype(int)
    assert infer_event(classes, labels).column == column


def test_of_one_column_the_event_is_what_it_is_the_probability_of():
    labels = np.array([0, 1, 1, 1])
    assert infer_event(("even", "odd"), labels).column == 0
    assert infer_event(("even", "odd"), labels, scored=True).column == 1
    assert infer_event(("yes", "no"), labels, scored=True).column == 0
    assert load_sample("odd-digits-adaboost").event.name == "odd"


def test_a_label_that_says_no_is_named_so_where_it_is_chosen():
    assert chosen_event(("0", "1"), 0, "default").name == "no default"
    assert chosen_event(("1", "2"), 1, "default").name == "default"
    assert chosen_event(("benign", "malignant"), 0, "diagnosis").name == "benign"


def test_what_rows_share_and_weigh_changes_the_hash():
    plain = Predictions(np.zeros((4, 2)), np.array([0, 1, 0, 1]), ("0", "1"))
    values = {"clusters": np.array(list("aabb")), "weights": np.ones(4), "weight_kind": "sampling"}
    for field, value in values.items():
        assert replace(plain, **{field: value}).take([0, 1]).sha256 != plain.take([0, 1]).sha256


def test_a_decision_gives_what_loading_with_it_gives():
    table = (
        "loans.csv",
        b"p,default,weight\n0.1,0,1\n0.7,1,2\n0.2,0,1\n0.4,0,3\n0.9,1,1\n0.3,1,1\n0.2,0,2\n",
    )
    columns = {"choices": Choices(labels="default", outputs="p", weights="weight")}
    plain = load(table, **columns)
    for decision in (
        {"event": "0"},
        {"weight_kind": "exposure"},
        {"event": "0", "weight_kind": "frequency"},
    ):
        decided, loaded = plain.decided(**decision), load(table, **columns, **decision)
        assert decided.sha256 == loaded.sha256 != plain.sha256
        assert decided.event.column == loaded.event.column
        assert decided.weight_kind == loaded.weight_kind
    assert plain.decided(event="0").decided(event="1").sha256 == plain.sha256
    with pytest.raises(DataError, match="event"):
        load(table, **columns, event="ham")
