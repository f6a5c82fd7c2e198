"""Outputs and labels in tables of their own, joined by an id."""

from __future__ import annotations

import numpy as np
import pandas as pd

from calib.data import Inspection, inspect, read_rows
from calib.data.upload import is_id
from tests.data.conftest import cases, simulated, the

LOGITS, LABELS = simulated(n=240, n_classes=3)
IDS = np.array([f"case {i:03d}" for i in range(240)])
OUTPUTS = pd.DataFrame(LOGITS, columns=["logit_0", "logit_1", "logit_2"])
ORDER = np.random.default_rng(5).permutation(240)


def outputs(ids=IDS, rows=slice(None), name="id"):
    return OUTPUTS.assign(**{name: ids}).iloc[rows]


def truth(ids=IDS, rows=slice(None), name="id"):
    return pd.DataFrame({name: ids, "label": LABELS}).iloc[rows]


def csv(frame: pd.DataFrame, name: str = "labels.csv") -> tuple[str, bytes]:
    return name, frame.to_csv(index=False).encode()


def read(first, labels, **options) -> Inspection:
    return inspect(csv(first, "outputs.csv"), labels=csv(labels), **options)


def check_rows(found: Inspection, rows) -> None:
    """The data hold these rows of the outputs, each with its own label."""
    assert found.predictions is not None, found.findings
    np.testing.assert_allclose(found.predictions.logits, LOGITS[rows])
    np.testing.assert_array_equal(found.predictions.labels, LABELS[rows])


ZEROS = np.array([f"{i:06d}" for i in range(1000, 1240)])
LONG = np.array([f"1234567890123456{i:04d}" for i in range(240)])
POWERS = np.array([f"{i}e5" for i in range(240)])


@cases(
    "ids, theirs",
    [
        ("text", IDS, IDS),
        ("numbers with decimals", np.arange(240), np.arange(240).astype(float)),
        ("zeros before", np.arange(1000, 1240), ZEROS),
        ("zeros in both", ZEROS, ZEROS),
        ("more digits than a number holds", LONG, LONG),
        ("powers", POWERS, POWERS),
    ],
)
def test_labels_in_another_order_are_put_in_order(ids, theirs):
    found = read(outputs(ids), truth(theirs, ORDER))
    check_rows(found, slice(None))
    assert "joined by id" in the(found, "joined").message
    again = read(outputs(ids), truth(theirs, ORDER), choices=found.choices)
    assert again.predictions is not None and again.predictions.sha256 == found.predictions.sha256


def test_rows_without_a_partner_are_counted_and_left_out():
    found = read(outputs(rows=slice(0, 230)), truth(rows=ORDER[ORDER >= 7]))
    check_rows(found, slice(7, 230))
    said = the(found, "unpaired_rows")
    assert said.level == "warning"
    assert (
        "7 rows of outputs.csv" in said.message
        and "10 rows of labels.csv" in said.message
        and "223" in said.message
    )


def test_ids_that_repeat_stop_with_a_sentence():
    repeated = np.repeat(IDS[:80], 3)
    found = read(outputs(), truth(repeated))
    assert found.predictions is None
    refused = the(found, "ids_repeat")
    assert (
        "80 of 80 ids" in refused.message
        and "3 times" in refused.message
        and "labels.csv" in refused.message
    )
    assert "leave ids out" in refused.action
    check_rows(read(outputs(), truth(repeated).drop(columns="id")), slice(None))


def test_ids_that_do_not_overlap_stop_with_a_sentence():
    other = np.array([f"x{i}" for i in range(240)])
    found = read(outputs(), truth(other))
    assert found.predictions is None
    refused = the(found, "ids_differ")
    assert "case 000" in refused.message and "x0" in refused.message
    check_rows(read(outputs().drop(columns="id"), truth(other)), slice(None))


def test_numbers_of_rows_that_mean_other_rows_are_no_ids():
    found = read(outputs(np.arange(240), name="index"), truth(np.arange(500, 740), name="index"))
    check_rows(found, slice(None))
    some = read(
        outputs(np.arange(240), name="index"), truth(np.arange(240), slice(100, 200), name="index")
    )
    check_rows(some, slice(100, 200))


def test_the_test_set_is_joined_with_its_own_labels():
    found = inspect(
        csv(outputs(rows=slice(0, 150)), "val.csv"),
        labels=csv(truth(rows=slice(0, 150))[::-1]),
        test=csv(outputs(rows=slice(150, 240)), "test.csv"),
        test_labels=csv(truth(rows=slice(150, 240))[::-1], "test_labels.csv"),
    )
    check_rows(found, slice(None))
    assert found.predictions is not None and found.predictions.given_split is not None
    assert found.predictions.given_split.sum() == 150


def test_names_of_ids():
    assert all(
        map(is_id, ("id", "ID", "image_id", "CustomerID", "file name", "sample-nr", "id_patient"))
    )
    assert not any(
        map(is_id, ("label", "p_0", "valid", "void", "feature_0", "group", "age", "confidence"))
    )


def test_ids_of_new_rows_are_as_the_file_writes_them():
    ids = ["007", "1e5", "12345678901234567890", *(f"{i:03d}" for i in range(20, 30))]
    lines = [f"{name},{0.1 * j},{-0.2 * j},1.5" for j, name in enumerate(ids)]
    content = "\n".join(["id,logit_0,logit_1,logit_2", *lines[:2], ",,,", *lines[2:]]).encode()
    assert read_rows(("new.csv", content)).ids["id"].tolist() == ids
