"""Arrays and tables the way people really save them: each is read as it is meant, or refused with its sentence."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from calib.data import Choices, inspect, load, read_rows
from tests.data.conftest import cases, check_refused, check_repeatable, the

NAMES = np.array(["ant", "bee", "cat", "dög"])


def with_cell(array, row, column, value):
    array = array.copy()
    array[row, column] = value
    return array


def objects(make):
    path = make.folder / "a.npz"
    np.savez(path, logits=np.array([[1.0], [1.0, 2.0]], dtype=object), labels=make.labels)
    return path


def spoilt(make, row, column, text):
    frame = make.frame().astype({column: object})
    frame.loc[row, column] = text
    return make.csv(frame)


def ragged(make):
    lines = make.lines()
    lines[5] += ",1"
    lines[9] = lines[9].rpartition(",")[0]
    return make.file("ragged.csv", "\n".join(lines))


def nested(make):
    frame = pd.DataFrame({"label": make.labels, "id": "a", "probs": list(make.probs)})
    return make.parquet(frame)


def named(make):
    columns = {f"prob_{name}": make.probs[:, k] for k, name in enumerate(NAMES)}
    return pd.DataFrame({**columns, "species": NAMES[make.labels]})


REFUSED = [
    # name, builder, code of the error, fragment of its sentence
    ("objects", objects, "object_dtype", "unpickled"),
    ("text as outputs", lambda m: m.both(m.logits.astype("U")), "dtype", "numbers are needed"),
    ("no labels", lambda m: m.npz(logits=m.logits), "no_labels", "logits (300, 4)"),
    ("no outputs", lambda m: m.npz(labels=m.labels), "no_outputs", "labels (300,)"),
    ("ensemble", lambda m: m.both(np.stack([m.logits] * 5)), "shape_3d", "(5, 300, 4)"),
    ("rows differ", lambda m: m.both(labels=m.labels[:-10]), "rows_differ", "labels has 290 rows but logits has 300"),
    ("zero rows", lambda m: m.both(m.logits[:0], m.labels[:0]), "no_rows", "logits has 0 rows"),
    ("too many classes", lambda m: m.both(np.zeros((300, 100_001), "i1")), "too_many_classes", "100,001"),
    ("NaN", lambda m: m.both(with_cell(m.logits, 3, 1, np.nan)), "not_finite", "1 row of 300: 1 NaN"),
    ("infinite", lambda m: m.both(with_cell(m.logits, 3, 1, np.inf)), "not_finite", "1 value that is infinite"),
    ("all labels NaN", lambda m: m.both(labels=m.labels * np.nan), "labels_missing", "no label at all"),
    ("a label NaN", lambda m: m.both(labels=np.where(m.labels == 0, np.nan, m.labels)), "labels_missing", "of 300"),
    ("unlabelled rows", lambda m: m.both(labels=np.r_[-1, -1, m.labels[2:]]), "label_negative", "2 rows of 300"),
    ("label too large", lambda m: m.both(labels=np.r_[0, 9, m.labels[2:]]), "label_too_large", "1 row of 300"),
    ("fractional labels", lambda m: m.both(labels=m.labels + 0.5), "labels_fractional", "300 fractions"),
    ("too few names", lambda m: m.both(labels=NAMES[m.labels % 2]), "labels_unmatched", "2 different labels"),
    ("sigmoids", lambda m: m.npz(probs=1 / (1 + np.exp(-m.logits)), labels=m.labels), "sums", "multi-label"),
    ("confidence alone", lambda m: m.npz(confidence=m.probs.max(1), y=m.labels), "single_column", "4 different"),
    # tables
    ("text in cells", lambda m: spoilt(m, 7, "p_1", "oops"), "text_in_cells", "1 of 300 cells"),
    ("infinite cell", lambda m: spoilt(m, 7, "p_1", "inf"), "not_finite", "1 row of 300"),
    ("ragged", ragged, "ragged", "2 lines of ragged.csv have another number of cells than the 5 columns"),
    ("no header, no labels", lambda m: m.csv(pd.DataFrame(m.logits), header=False), "no_outputs", "column_0"),
]  # fmt: skip


@cases("build, code, fragment", REFUSED)
def test_is_refused_with_its_sentence(make, build, code, fragment):
    check_refused(build(make), code, fragment)


def agree(data, make, rows):
    """These rows of the usual data came out, whatever went in."""
    np.testing.assert_array_equal(data.labels, make.labels[rows])
    expected = np.log(make.probs) if "probabilit" in data.kind else make.logits
    tolerance = 2e-3 if data.logits.dtype == np.float32 else 1e-12
    np.testing.assert_allclose(data.logits, expected[rows], rtol=tolerance)


LEFT_OUT = {
    "NaN": [3], "infinite": [3], "unlabelled rows": [0, 1], "a label NaN": None, "label too large": None,
    "sigmoids": None, "text in cells": [7], "infinite cell": [7], "ragged": [4, 8],
}  # fmt: skip
"""The rows that an offered fix leaves out, where the others are those of the usual data."""


@pytest.mark.parametrize("name", LEFT_OUT)
def test_the_offered_fix_mends_it(make, name):
    path = next(row[1] for row in REFUSED if row[0] == name)(make)
    found = inspect(path)
    assert found.findings[0].fix
    for before in (Choices(), found.choices):
        data = inspect(path, choices=replace(before, **found.findings[0].fix)).predictions
        assert data is not None
        if LEFT_OUT[name]:
            agree(data, make, np.delete(np.arange(300), LEFT_OUT[name]))


READ = [
    # name, builder, code of the finding that says what was done (None where there is nothing to say)
    ("logits and labels", lambda m: m.both(), None),
    ("arr_1, arr_0", lambda m: m.npz(arr_0=m.labels, arr_1=m.logits), None),
    ("unicode names", lambda m: m.npz(**{"wyjście": m.logits, "etykiety ✓": m.labels}), None),
    ("beside other arrays", lambda m: m.both(epoch=np.int64(3), images=np.zeros((7, 2, 2, 1)), note="x"), None),
    ("groups without a column", lambda m: m.both(groups=np.zeros((300, 0))), "rows_differ_beside"),
    ("training outputs are left alone", lambda m: m.both(train_logits=m.logits[:50], train_labels=m.labels[:50]), None),
    ("big-endian", lambda m: m.both(m.logits.astype(">f8"), m.labels.astype(">i4")), None),
    ("long double", lambda m: m.both(m.logits.astype(np.longdouble)), None),
    ("transposed", lambda m: m.both(m.logits.T), "transposed"),
    ("an axis of one", lambda m: m.both(m.logits[:, None, :]), None),
    ("one-hot", lambda m: m.both(labels=np.eye(4)[m.labels]), "one_hot"),
    ("one-based", lambda m: m.both(labels=m.labels + 1), "one_based"),
    ("float labels", lambda m: m.both(labels=m.labels.astype(float)), None),
    ("names", lambda m: m.both(labels=NAMES[m.labels]), "class_order"),
    # tables
    ("Windows line ends", lambda m: m.csv(lineterminator="\r\n"), None),
    ("pandas index", lambda m: m.csv(index=True), None),
    ("no header", lambda m: m.csv(header=False), None),
    ("columns out of order", lambda m: m.csv(m.frame()[["p_3", "p_1", "label", "p_0", "p_2"]]), None),
    ("beside other columns", lambda m: m.csv(m.frame(id=np.arange(300), filename="x.png", predicted=m.labels)), None),
    ("csv of names", lambda m: m.csv(named(m)), None),
    ("capital names", lambda m: m.csv(named(m).rename(columns=str.title)), None),
    ("counted from one", lambda m: m.csv(m.frame(label=m.labels + 1).set_axis([*"y1234"], axis=1)), None),
    ("parquet of lists", nested, None),
    ("parquet of categories", lambda m: m.parquet(named(m).astype({"species": "category"})), None),
    ("hdf5", lambda m: m.h5(predictions=m.probs, ytrues=m.labels), None),
    ("hdf5 groups", lambda m: m.h5(run1__outputs__probs=m.probs, run1__labels=m.labels), None),
]  # fmt: skip


@cases("build, code", READ)
def test_is_read_as_meant(make, build, code):
    path = build(make)
    data = load(path)
    agree(data, make, slice(None))
    assert (
        data.logits.flags.c_contiguous
        and data.logits.dtype.isnative
        and data.labels.dtype == np.int64
    )
    assert code is None or code in {finding.code for finding in data.findings}
    check_repeatable(path)


WORTH_A_LOOK = [
    # name, builder, code, fragment
    ("few rows", lambda m: m.both(m.logits[:50], m.labels[:50]), "few_rows", "only 50 rows"),
    ("absent class", lambda m: m.both(labels=m.labels % 3), "absent_classes", "1 class of 4 never occurs among"),
    ("rare class", lambda m: m.both(labels=np.r_[[3] * 4, m.labels[4:] % 3]), "few_per_class", "(3: 4)"),
    ("constant", lambda m: m.both(np.ones((300, 4)) * 2), "constant", "All 300 rows"),
    ("shuffled", lambda m: m.both(labels=np.roll(m.labels, 100)), "labels_shuffled", "better than chance"),
    ("classes swapped", lambda m: m.npz(p=m.probs[:, :2].sum(1), y=m.binary), "labels_inverted", "other way round"),
    ("class names of others", lambda m: m.both(class_names=NAMES[:3]), "class_names", "but there are 4 classes"),
    ("row numbers as groups", lambda m: m.both(np.tile(m.logits, (4, 1)), np.tile(m.labels, 4), groups=np.arange(1200)),
     "too_many_groups", "more than 1,000 different"),
    ("split of three values", lambda m: m.both(split=m.labels % 3), "split_unclear", "3 values"),
]  # fmt: skip


@cases("build, code, fragment", WORTH_A_LOOK)
def test_is_worth_a_look(make, build, code, fragment):
    data = load(build(make))
    finding = the(data, code)
    assert finding.level == "warning" and finding.action
    assert fragment in finding.message, finding.message


def test_rows_that_sum_to_zero_are_read_as_logits_in_one_click(make):
    """To divide them by their sums, as for other rows between 0 and 1, would only lead to the next error."""
    outputs = np.r_[np.zeros((1, 4)), make.probs[1:] / 2]
    error = inspect(make.both(outputs)).findings[0]
    assert (error.code, error.fix) == ("sums", {"kind": "logits"})
    np.testing.assert_array_equal(load(make.both(outputs), **error.fix).logits, outputs)


def test_an_array_of_classes_beside_labels_names_them(make):
    assert load(make.both(classes=NAMES)).class_names == tuple(NAMES)
    assert load(make.npz(logits=make.logits, classes=make.labels)).class_names == (
        "0",
        "1",
        "2",
        "3",
    )


def test_the_predicted_class_is_no_output(make):
    scores = pd.DataFrame(make.probs, columns=list("abcd")).assign(
        y_true=make.labels, id=np.arange(300)
    )
    for name in ("yhat", "Predicted Class"):
        path = make.csv(scores.assign(**{name: make.probs.argmax(axis=1)}))
        data = load(path)
        np.testing.assert_allclose(data.logits, np.log(make.probs), rtol=1e-12)
        assert {role.role for role in data.roles if role.column == name} <= {"predicted", "ignore"}
        np.testing.assert_allclose(read_rows(path).outputs, make.probs, rtol=1e-15)


def test_no_reading_without_rows_is_offered(make):
    p, churn, half = (
        make.probs[:, 2:].sum(axis=1),
        make.binary.astype(float),
        np.arange(len(make.binary)) < 150,
    )
    data = load(
        make.csv(pd.DataFrame({"churn": churn, "score_a": np.full(len(p), np.nan), "score_b": p}))
    )
    assert [role.role for role in data.roles] == ["outcome", "ignore", "outputs"]
    torn = pd.DataFrame(
        {"age": np.arange(len(p)) % 60, "score_a": p**2, "score_b": p, "churned": make.binary}
    )
    torn["churned"] = torn["churned"].astype("Int64").where(half)
    torn.loc[half, ["score_a", "score_b"]] = np.nan
    check_refused(make.csv(torn), "no_rows", "both an outcome and finite outputs")
