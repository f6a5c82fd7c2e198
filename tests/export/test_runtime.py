"""What an exported calibrator does with outputs, and what it says when a file or a value is wrong."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest

import calib
from calib.canonical import IN_UNIT, KINDS, ONE_COLUMN, class_order, to_canonical
from calib.errors import CalibrationError
from calib.export import runtime, writer
from calib.export.runtime import ExportedCalibrator
from calib.numerics import softmax
from tests.conftest import outputs_of


@pytest.fixture(scope="module")
def fitted(overconfident):
    return calib.calibrator("platt", share_classes=False).fit(*overconfident)


# -- canonical logits ----------------------------------------------------------------------------------


def test_each_kind_gives_the_same_probabilities_back(rng):
    logits = rng.normal(size=(20, 3)) * 3
    probs = softmax(logits)
    for kind, outputs in [
        ("logits", logits),
        ("probabilities", probs),
        ("log_probabilities", np.log(probs)),
    ]:
        np.testing.assert_allclose(softmax(to_canonical(outputs, kind)), probs, rtol=1e-12)


def test_zeros_become_the_floor_and_nothing_else_changes():
    probs = np.array([[0.0, 1.0], [1e-30, 1.0]])
    np.testing.assert_allclose(
        to_canonical(probs, "probabilities", 1e-4), np.log([[1e-4, 1.0], [1e-30, 1.0]])
    )
    np.testing.assert_allclose(
        to_canonical(np.array([0.0, 1.0]), "binary_probability", 1e-4)[:, 1], [np.log(1e-4), 0]
    )
    np.testing.assert_allclose(
        to_canonical(np.array([0.0, 1.0]), "binary_probability", 1e-4)[:, 0], [0, np.log(1e-4)]
    )
    assert np.isfinite(to_canonical(probs.astype(np.float32), "probabilities")).all()


def test_a_floor_below_every_float32_is_not_zero():
    tiny = np.array([[0.0, 1e-45]], dtype=np.float32)
    assert np.isfinite(to_canonical(tiny, "probabilities", 0.5e-45)).all()
    for floor in (0.0, 1.0, -1.0):
        with pytest.raises(CalibrationError, match="between 0 and 1"):
            calib.logits([[0.0, 1.0]], floor)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", [*KINDS])
def test_loading_and_predicting_agree_on_the_logits(overconfident, tmp_path, kind, dtype):
    logits, labels = overconfident
    probs = softmax(logits)
    probs[:7] = np.repeat([[0.0, 0.0, 0.3, 0.7], [0.0, 1.0, 0.0, 0.0]], [3, 4], axis=0)
    if kind in ONE_COLUMN:
        logits, labels = logits[:, :2], labels % 2
        probs = np.clip(softmax(logits) * 1.01, 0, 1)
        probs[:, 0] = 1 - probs[:, 1]
    outputs = outputs_of(kind, logits, probs).astype(dtype)
    np.savez(tmp_path / "o.npz", predictions=outputs, labels=labels)
    data = calib.load(tmp_path / "o.npz", kind="pairs" if kind == "pairs" else None)
    assert data.kind == kind
    assert (data.floor is not None) == (kind in IN_UNIT or kind == "log_probabilities")
    made = ExportedCalibrator(
        calib.calibrator("identity").fit(data.logits, data.labels), kind=data.kind, floor=data.floor
    )
    assert data.logits.dtype == (np.float64 if kind in IN_UNIT else dtype)
    np.testing.assert_array_equal(made.to_logits(outputs), data.logits)


# -- predicting ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("columns", "names", "order"),
    [
        (["b", "a"], ["a", "b"], [1, 0]),
        (["2", "10", "1"], ["1", "2", "10"], [2, 0, 1]),
        (["p_10", "p_1", "p_0"], ["0", "1", "10"], [2, 1, 0]),
        (["logit a", "logit aa"], ["aa", "a"], [1, 0]),
        (["P(b)", "P(a)"], ["a", "b"], [1, 0]),
        (["p_b", "q_a"], ["a", "b"], [0, 1]),
        (["p_1", "p_2"], ["0", "1"], [0, 1]),
        (["b", "b"], ["a", "b"], [0, 1]),
        (["b", "a", "c"], ["a", "b"], [0, 1, 2]),
        (["b"], ["a", "b"], [0]),
        ([], ["a", "b"], []),
    ],
)
def test_columns_are_taken_by_name_or_as_they_stand(columns, names, order):
    assert class_order(columns, names) == order


def test_columns_of_a_dataframe_are_taken_by_the_names_of_the_classes(fitted, overconfident):
    logits, _ = overconfident
    exported = ExportedCalibrator(fitted, class_names=("cat", "dog", "cow", "hen"))
    table = pd.DataFrame(logits, columns=[f"logit_{name}" for name in exported.class_names]).iloc[
        :, [3, 1, 0, 2]
    ]
    for method in (exported.predict_proba, exported.predict_confidence):
        np.testing.assert_allclose(method(table), method(logits))
    others = table.set_axis([*"abcd"], axis=1)
    np.testing.assert_allclose(
        exported.predict_proba(others), exported.predict_proba(table.to_numpy())
    )


@pytest.mark.parametrize(
    ("kind", "outputs", "says"),
    [
        ("logits", [[0.0, np.nan, 1.0, 2.0]], "1 of 1 rows"),
        ("logits", [[0.0, -np.inf, 1.0, 2.0]], "infinite"),
        ("logits", [[0.0, 1.0, 2.0]], "3 columns, but the calibrator takes 4"),
        ("logits", [0.0, 1.0, 2.0, 3.0], "shape"),
        ("logits", [["a", "b", "c", "d"]], "numbers"),
        ("probabilities", [[-1.0, 3.0, 0.5, 0.0]], "from -1 to 3"),
        ("log_probabilities", [[0.5, 0.2, 0.2, 0.1]], "never positive"),
        ("log_probabilities", [[np.inf, -1.0, -1.0, -1.0]], "infinite"),
    ],
)
def test_outputs_that_cannot_be_of_the_kind_say_why(fitted, kind, outputs, says):
    with pytest.raises(CalibrationError, match=says):
        ExportedCalibrator(fitted, kind=kind).predict_proba(outputs)


def test_what_cannot_be_exported_says_why(fitted):
    with pytest.raises(CalibrationError, match="not fitted"):
        ExportedCalibrator(calib.calibrator("platt"))
    with pytest.raises(CalibrationError, match="2 class names for 4 classes"):
        ExportedCalibrator(fitted, class_names=("a", "b"))
    with pytest.raises(CalibrationError, match="Unknown kind"):
        ExportedCalibrator(fitted, kind="odds")
    with pytest.raises(CalibrationError, match="have 2 classes"):
        ExportedCalibrator(fitted, kind="binary_log_odds")
    with pytest.raises(CalibrationError, match="cannot be written"):
        ExportedCalibrator(fitted, metadata={"x": object()})


# -- files ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", [".npz", ".zip", ".pkl"])
def test_every_file_gives_the_same_calibrator_back(fitted, overconfident, tmp_path, suffix):
    names = ["a", "b|<i>", "ü", "d"]
    more = {
        "kind": "probabilities",
        "floor": 0.25,
        "class_names": names,
        "metadata": {"rows": np.arange(2)},
    }
    loaded = runtime.load(writer.save(fitted, tmp_path / f"c{suffix}", **more))
    logits = overconfident[0] - 99
    np.testing.assert_allclose(
        loaded.calibrator.predict_proba(logits), fitted.predict_proba(logits), rtol=0, atol=1e-12
    )
    assert (loaded.kind, loaded.floor, loaded.class_names) == ("probabilities", 0.25, tuple(names))
    assert loaded.metadata["rows"] == [0, 1]
    assert (loaded.method, loaded.params) == ("platt", fitted.get_params())
    assert loaded.calibrator.notes() == fitted.notes()
    assert loaded.calibrator.promises(4) == fitted.promises(4)
    again = (
        runtime.load(writer.save(loaded, tmp_path / "again.zip")) if suffix == ".npz" else loaded
    )
    np.testing.assert_array_equal(
        again.calibrator.predict_proba(logits), loaded.calibrator.predict_proba(logits)
    )


def test_wrong_and_damaged_files_say_what_was_expected(fitted, tmp_path):
    pickled = writer.to_bytes("pkl", fitted)
    for name, content, says in [
        ("c.txt", b"x", "expected .npz"),
        ("c.pkl", pickle.dumps([1]), "holds a list"),
        ("c.npz", b"", "does not hold what it should"),
        *(
            ("c.pkl", part, "export the calibrator again")
            for part in (b"", pickled[:-30], pickled[::-1], b"cno\nA\n.")
        ),
    ]:
        (tmp_path / name).write_bytes(content)
        with pytest.raises(CalibrationError, match=says):
            runtime.load(tmp_path / name)
    with pytest.raises(CalibrationError, match="not found"):
        runtime.load(tmp_path / "no.zip")


@pytest.mark.parametrize("unknown", ["class_name", "Kind", "note"])
def test_unknown_arguments_are_refused(fitted, tmp_path, unknown):
    with pytest.raises(CalibrationError, match=f"no {unknown}; .*metadata"):
        writer.save(fitted, tmp_path / "c.npz", **{unknown: ["a"]})


def test_a_slip_in_a_row_is_named_and_not_taken_for_another_kind(overconfident):
    logits, labels = overconfident
    made = ExportedCalibrator(
        calib.calibrator("temperature").fit(logits, labels), kind="probabilities"
    )
    probs = softmax(logits)
    probs[[6, 40]] = [[1.02, 0.0, 0.0, 0.0], [0.1, 0.2, -0.3, 1.0]]
    with pytest.raises(
        CalibrationError,
        match=r"2 of 400 rows .*\(rows 7, 41 of these\).*from -0.3 to 1.02; correct",
    ):
        made.predict_proba(probs)
    probs[[6, 40]] = np.nan
    with pytest.raises(CalibrationError, match=r"2 of 400 rows hold NaN .*\(rows 7, 41 of these\)"):
        made.predict_proba(probs)
    with pytest.raises(CalibrationError, match="apply the softmax"):
        made.predict_proba(logits)


def test_no_rows_have_no_probabilities_and_ragged_ones_are_refused(fitted):
    exported = ExportedCalibrator(fitted)
    assert exported.predict_proba(np.zeros((0, 4))).shape == (0, 4)
    with pytest.raises(CalibrationError, match="different lengths"):
        exported.predict_proba([[1.0] * 4, [1.0]])
