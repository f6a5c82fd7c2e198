"""A refusal names its cause: sums, a label without a column, percent signs, classes in the place of scores."""

from __future__ import annotations

import numpy as np

from calib.data import inspect, load
from tests.data.conftest import csv_bytes, simulated, the

CLASSES = np.array(["cat", "dog", "cow", "ant"])
LOGITS, LABELS = simulated()
PROBS = np.exp(LOGITS) / np.exp(LOGITS).sum(axis=1, keepdims=True)


def table(outcome=CLASSES[LABELS], cells=PROBS):
    return "t.csv", csv_bytes(true=outcome, **dict(zip(CLASSES, cells.T, strict=True)))


def refused(source, code):
    found = inspect(source)
    assert found.predictions is None
    return the(found, code)


def test_sums_are_the_reason_where_columns_called_as_the_classes_do_not_sum_to_one():
    finding = refused(table(cells=1 / (1 + np.exp(-LOGITS))), "sums")
    assert "300 rows of 300" in finding.message and "do not sum to one" in finding.message


def test_one_unknown_label_leaves_the_columns_scores_of_the_classes():
    labels = CLASSES[LABELS].astype("U6")
    labels[[7, 9]] = "cwo"
    finding = refused(table(labels), "labels_unmatched")
    assert finding.message == "2 labels in true belong to no column (cwo)."
    data = load(table(labels), **finding.fix)
    assert data.class_names == tuple(CLASSES) and len(data) == 298
    np.testing.assert_array_equal(data.labels, np.delete(LABELS, [7, 9]))


def test_blanks_and_question_marks_among_the_labels_are_rows_without_a_label():
    labels = CLASSES[LABELS].astype("U6")
    labels[[7, 9, 11]] = "?", "  ", ""
    data = load(table(labels))
    assert data.class_names == tuple(CLASSES)
    assert "3 rows of 300 have no label (rows 8, 10, 12)" in the(data, "rows_left_out").message


def test_percent_signs_in_half_of_a_column_are_the_reason():
    risk = PROBS[:, 2:].sum(axis=1)
    cells = [f"{100 * p:.1f}%" if row % 2 else f"{100 * p:.1f}" for row, p in enumerate(risk)]
    finding = refused(("t.csv", csv_bytes(default=LABELS // 2, pd=cells)), "percent_signs")
    assert (
        "Some cells of pd in t.csv have a percent sign and the others have none" in finding.message
    )


def test_probabilities_that_are_all_0_or_1_are_predicted_classes():
    risk = "t.csv", csv_bytes(default=LABELS // 2, pd=PROBS.argmax(axis=1) // 2)
    for source in (risk, table(cells=np.eye(4, dtype=int)[PROBS.argmax(axis=1)])):
        assert (
            "predicted classes, which carry no confidence"
            in refused(source, "hard_predictions").message
        )


def test_rows_that_repeat_exactly_are_said_where_labels_agree_more_than_by_chance():
    rows = np.r_[np.arange(300), np.arange(40)]
    finding = the(load({"outputs": LOGITS[rows], "labels": LABELS[rows]}), "repeated_rows")
    assert finding.level == "warning" and "clusters" in finding.action
    assert (
        "40 rows of 340 in outputs repeat an earlier one exactly, with its label (rows 301, 302"
        in finding.message
    )
    votes = np.random.default_rng(2).multinomial(
        3, [0.4, 0.3, 0.2, 0.1], size=300
    )  # a forest of three trees
    labels = (np.random.default_rng(3).random((300, 1)) > votes.cumsum(axis=1) / 3).sum(axis=1)
    for outputs, truth in ((LOGITS, LABELS), (votes / 3, labels)):
        found = inspect({"outputs": outputs, "labels": truth})
        assert found.predictions is not None and "repeated_rows" not in {
            f.code for f in found.findings
        }
