"""Calibration and test rows that come apart, separate label files, and what else a file may hold."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from calib.data import Choices, inspect, load
from tests.data.conftest import the

CUT = 100


def check(make, data):
    np.testing.assert_array_equal(data.logits, make.logits)
    np.testing.assert_array_equal(data.labels, make.labels)
    np.testing.assert_array_equal(data.given_split, np.arange(300) < CUT)
    calibration, test = data.split()
    assert (len(calibration), len(test)) == (CUT, 300 - CUT)


@pytest.mark.parametrize(
    ("first", "second"),
    [("cal_{}", "test_{}"), ("{}", "test_{}"), ("{}_calibration", "{}"), ("dev_{}", "test-{}")],
)
def test_parts_under_names_of_their_own(make, first, second):
    arrays = {}
    for pattern, rows in ((first, slice(CUT)), (second, slice(CUT, None))):
        arrays |= {
            pattern.format("logits"): make.logits[rows],
            pattern.format("labels"): make.labels[rows],
        }
    check(make, load(make.npz(**arrays)))


def test_two_files(make):
    first = make.npz("a.npz", logits=make.logits[:CUT], labels=make.labels[:CUT])
    second = make.npz("b.npz", arr_0=make.labels[CUT:], arr_1=make.logits[CUT:])
    found = inspect(first, test=second)
    check(make, found.predictions)
    assert [(a.name, a.file) for a in found.arrays][-1] == ("arr_1", "b.npz")
    assert (found.choices.test_outputs, found.choices.test_labels) == ("arr_1", "arr_0")
    assert (
        inspect(first, test=second, choices=found.choices).predictions.sha256
        == found.predictions.sha256
    )


def test_parts_with_other_columns_are_refused(make):
    second = make.npz("b.npz", logits=make.logits[:, :3], labels=make.labels % 3)
    error = inspect(make.both(), test=second).findings[0]
    assert error.code == "columns_differ"
    assert error.message == "logits of outputs.npz has 4 columns but logits of b.npz has 3 columns."


def test_a_column_may_mark_the_split(make):
    for words in (("cal", "test"), ("val", "test"), ("train", "test"), (1, 0), (True, False)):
        frame = make.frame(split=[words[0]] * CUT + [words[1]] * 200)
        np.testing.assert_array_equal(load(make.csv(frame)).given_split, np.arange(300) < CUT)


def test_every_guess_can_be_overruled(make):
    path = make.both(other=make.logits[:, ::-1].copy(), truth=3 - make.labels)
    data = load(
        path, choices=Choices(outputs="other", labels="truth", class_names=("d", "c", "b", "a"))
    )
    np.testing.assert_array_equal(data.logits, make.logits[:, ::-1])
    np.testing.assert_array_equal(data.labels, 3 - make.labels)
    assert data.class_names == ("d", "c", "b", "a")
    table = load(make.csv(), outputs=("p_1", "p_0", "p_2", "p_3"), label_values=(1, 0, 2, 3))
    np.testing.assert_array_equal(np.array([1, 0, 2, 3])[table.labels], make.labels)


def test_choices_that_do_not_fit_are_said_so(make):
    for choices, code in (
        ({"outputs": "nowhere"}, "no_such_array"),
        ({"labels": "logits"}, "chosen_twice"),
        ({"test_outputs": "nowhere", "test_labels": "labels"}, "no_such_array"),
        ({"kind": "binary_log_odds"}, "kind"),
    ):
        error = inspect(make.both(), choices=Choices(**choices)).findings[0]
        assert (error.level, error.code) == ("error", code) and error.action, error
    for name, said in (("knid", "did you mean kind"), ("outcome", "roles={'outcome'")):
        with pytest.raises(TypeError, match=said):
            load(make.both(), **{name: "x"})


CLASSES = ("cat", "dog", "cow", "ant")


def two_tables(make, order, stem="", scale=(1.0, 1.0)):
    """Two files with the same model's probabilities; the columns of the second stand in another order."""
    probs, frames = make.probs, []
    for rows, columns, factor in (
        (slice(0, CUT), range(4), scale[0]),
        (slice(CUT, None), order, scale[1]),
    ):
        cells = {f"{stem}{CLASSES[k]}": probs[rows, k] * factor for k in columns}
        frames.append(pd.DataFrame({"label": np.array(CLASSES)[make.labels[rows]], **cells}))
    return make.csv(frames[0], "a.csv"), make.csv(frames[1], "b.csv")


def test_other_names_of_columns_in_a_test_file_are_refused(make):
    first, second = two_tables(make, range(4), "p_")
    second.write_text(second.read_text().replace("p_ant", "p_bee"))
    error = inspect(first, test=second).findings[0]
    assert (error.level, error.code) == ("error", "columns_differ")
    assert (
        error.message
        == "a.csv has columns for cat, dog, cow, ant but b.csv has columns for cat, dog, cow, bee."
    )
    first, second = two_tables(make, (2, 1, 3, 0))
    assert (
        "but b.csv has columns for cow, dog, ant, cat"
        in the(inspect(first, test=second), "columns_differ").message
    )


def test_arrays_with_names_of_classes_in_two_orders_are_refused(make):
    order = [2, 1, 3, 0]
    names, whole = np.array(CLASSES), {"labels": make.labels}
    first = make.npz("a.npz", logits=make.logits, **whole, class_names=names)
    second = make.npz("b.npz", logits=make.logits[:, order] + 0, **whole, class_names=names[order])
    error = inspect(first, test=second).findings[0]
    assert (error.level, error.code) == ("error", "columns_differ")
    assert "but logits of b.npz has columns for cow, dog, ant, cat" in error.message


@pytest.mark.parametrize("chosen", [{}, {"scale": "percent"}, {"kind": "probabilities"}])
def test_outputs_on_two_scales_are_refused_together(make, chosen):
    first, second = two_tables(make, range(4), scale=(1.0, 100.0))
    error = inspect(first, test=second, **chosen).findings[0]
    assert (error.level, error.code) == ("error", "scales_differ")
    assert (
        "a.csv holds" in error.message
        and "but b.csv holds" in error.message
        and "from" in error.message
    )
    arrays = {"cal_logits": make.logits, "cal_labels": make.labels, "test_logits": make.probs}
    both = make.npz(**arrays, test_labels=make.labels)
    assert chosen or inspect(both).findings[0].code == "scales_differ"


def test_the_same_rows_as_calibration_and_test_part_are_said(make):
    warned = the(inspect(make.both(), test=make.both()), "same_rows")
    assert warned.level == "warning"
    assert "300 rows" in warned.message
