"""Cells that hold the outputs of a row, fractions and units, and lines around a table that are no rows."""

from __future__ import annotations

import json

import numpy as np
import pytest

import calib
from calib.data import DataError
from tests.data.conftest import cases, csv_bytes
from tests.data.read.conftest import LABELS, NAMES, PROBS

TRUE = [NAMES[k] for k in LABELS]
P, HAPPENED = PROBS[:, 0], (LABELS == 0).astype(int)


def by_score(row):
    return sorted(zip(NAMES, row.tolist(), strict=True), key=lambda item: -item[1])


def check_probabilities(data):
    """The classes by name, each with its own probabilities."""
    order = [data.class_names.index(name) for name in NAMES]
    np.testing.assert_allclose(np.exp(data.logits)[:, order], PROBS, atol=1e-9)
    assert [data.class_names[k] for k in data.labels] == TRUE


CELLS = [
    ("brackets", lambda row: f"[{', '.join(map(str, row))}]"),
    ("semicolons", lambda row: ";".join(map(str, row))),
    ("Python's dictionary", lambda row: repr(dict(zip(NAMES, row.tolist(), strict=True)))),
    ("JSON, keys by value", lambda row: json.dumps(dict(by_score(row)))),
    (
        "labels and scores",
        lambda row: json.dumps([{"label": n, "score": v} for n, v in by_score(row)]),
    ),
]


@cases("cell", CELLS)
def test_a_cell_of_outputs_becomes_a_column_for_each_class(cell):
    content = csv_bytes(species_true=TRUE, class_probs=[cell(row) for row in PROBS])
    check_probabilities(calib.load(("cells.csv", content)))


def test_names_beside_sorted_scores_say_whose_they_are():
    """Pipelines sort both lists by score: places name no class."""
    named = [dict(by_score(row)) for row in PROBS]
    rows = [
        {"gold_label": label, "labels": list(of), "scores": list(of.values())}
        for label, of in zip(TRUE, named, strict=True)
    ]
    check_probabilities(calib.load(("zero_shot.jsonl", "\n".join(map(json.dumps, rows)).encode())))
    columns = {
        key: [row[key] if key == "gold_label" else repr(row[key]) for row in rows]
        for key in rows[0]
    }
    check_probabilities(calib.load(("zero_shot.csv", csv_bytes(**columns))))


def test_scores_of_labels_that_differ_from_row_to_row_are_not_taken_by_place():
    labels = [repr(list(NAMES[:2] if k % 2 else NAMES[1:])) for k in range(240)]
    scores = [repr([0.7, 0.3])] * 240
    with pytest.raises(DataError):
        calib.load(("top.csv", csv_bytes(species_true=TRUE, labels=labels, scores=scores)))


def test_numbers_with_units_are_divided():
    cells = [f"{round(p * 20) * 50} ‰" for p in P]
    data = calib.load(("fractions.csv", csv_bytes(defaulted=HAPPENED, default_prob=cells)))
    inside = (np.round(P * 20) % 20) != 0
    found = 1 / (1 + np.exp(data.logits[:, 0] - data.logits[:, 1]))
    np.testing.assert_allclose(found[inside], (np.round(P * 20) / 20)[inside], atol=1e-9)
    assert "percent_signs" in {f.code for f in data.findings}


def test_a_line_below_a_table_is_left_out_in_one_click_but_a_file_cut_off_refused():
    content = csv_bytes(defaulted=HAPPENED, default_prob=P) + b"(240 rows affected)"
    with pytest.raises(DataError) as raised:
        calib.load(("shell.csv", content))
    assert len(calib.load(("shell.csv", content), **raised.value.findings[0].fix).labels) == 240
    content = csv_bytes(
        note=[f"some text {k}" for k in range(240)], default_prob=P, defaulted=HAPPENED
    )
    with pytest.raises(DataError):
        calib.load(("cut.csv", content + b"some te"))


def test_a_class_without_a_column_is_never_taken_for_what_rows_leave_to_one():
    room = {"prob_cat": PROBS[:, 0], "prob_dog": PROBS[:, 1]}
    both = {"prob_cat": PROBS[:, 0] + 0.5, "prob_dog": PROBS[:, 1]}  # sums above one
    only = {"prob_cat": PROBS[:, 0] / 3, "prob_fox": PROBS[:, 1] / 3}  # two labels without a column
    for outputs in (room, both, only):
        with pytest.raises(DataError):
            calib.load(("wrong.csv", csv_bytes(true_class=TRUE, **outputs)))
