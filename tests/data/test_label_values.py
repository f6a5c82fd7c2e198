"""Labels that belong to no column, columns named after labels, and fractions in the place of labels."""

from __future__ import annotations

import numpy as np
import pytest

from calib.data.build.labels import decode_labels
from calib.data.findings import InvalidUpload
from calib.data.options import Choices


@pytest.mark.parametrize(
    ("labels", "fix"),
    [
        ([-1, 0, 1, 2] * 15, {"label_values": (-1, 0, 1, 2)}),
        ([-1, 0, 1] * 20, {"drop_bad_rows": True}),  # three different labels for four columns
        ([-1, *[0, 1, 2] * 20], {"drop_bad_rows": True}),  # one row of 61: a slip
        ([0, 1, 2, 3, 4] * 12, {}),  # a class without a column: its rows are no slip
    ],
)
def test_as_many_labels_as_columns_are_offered_in_ascending_order_others_left_out(labels, fix):
    with pytest.raises(InvalidUpload) as refused:
        decode_labels(np.array(labels), 4, None, "y", Choices())
    assert refused.value.finding.fix == fix


@pytest.mark.parametrize(
    ("column", "codes", "warned"),
    [("yes", [0, 1, 1], False), ("No", [1, 0, 0], False), ("p", [0, 1, 1], True)],
)
def test_one_binary_column_is_of_the_label_it_is_named_after(column, codes, warned):
    labels, _, findings = decode_labels(np.array(["no", "yes", "yes"]), 2, [column], "y", Choices())
    assert labels.tolist() == codes
    assert any(finding.level == "warning" for finding in findings) == warned


@pytest.mark.parametrize(
    ("row", "code"), [([0.9, 0.1], "labels_fractional"), ([0.9, 0.6], "labels_shape")]
)
def test_rows_of_fractions_are_soft_labels_if_they_sum_to_one(row, code):
    with pytest.raises(InvalidUpload) as refused:
        decode_labels(np.array([row, row[::-1]]), 2, None, "y", Choices())
    assert refused.value.finding.code == code


def test_names_whose_order_is_open_are_asked_about():
    one, ten, two = names = "digit 1", "digit 10", "digit 2"
    with pytest.raises(InvalidUpload) as refused:
        decode_labels(np.array(names), 3, None, "y", Choices())
    finding = refused.value.finding
    assert finding.code == "class_order"
    assert [changes["label_values"] for changes in finding.readings.values()] == [
        names,
        (one, two, ten),
    ]


def test_columns_begin_with_labels():
    columns = ["home", "draw", "away"]
    labels, order, _ = decode_labels(np.array(["A", "D", "H"]), 3, columns, "y", Choices())
    assert order == ("H", "D", "A") and labels.tolist() == [2, 1, 0]
