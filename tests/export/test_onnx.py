"""ONNX models give NumPy's numbers in onnxruntime, alone and behind the model that was calibrated."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import helper, numpy_helper, shape_inference

import calib
from benchmarks.exports import FORMS, compared_rows, simulated
from calib.errors import CalibrationError
from calib.export import onnx_model, predict, save, to_onnx, writer
from calib.export.onnx_model import to_model
from calib.export.provenance import exported
from calib.export.runtime import ExportedCalibrator
from calib.numerics import Floats, softmax
from tests.conftest import simulate

WITHOUT = {"geometric"}
"""Methods that predict from the inputs of the rows."""

SLOW = {"auto", "dirichlet", "structured_matrix", "order_preserving", "spline", "vector"}
CHEAP = {"gpcalib": {"max_iter": 5}, "bayes_iso": {"n_maps": 200}}
CASES = [
    pytest.param(name, form, marks=[pytest.mark.long] if number and name in SLOW else [], id=f"{name}-{form}")
    for name in calib.METHODS
    if name not in WITHOUT
    for number, form in enumerate(FORMS.get(name, [{}]))
]


def run(written: onnx.ModelProto | Path, outputs: Floats, name: str = "outputs") -> Floats:
    """What onnxruntime gives for a model's outputs: the last output of the model."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    content = written.read_bytes() if isinstance(written, Path) else written.SerializeToString()
    session = onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    return session.run(None, {name: outputs})[-1]


@cache
def fitted(name: str, form: tuple[tuple[str, Any], ...], n_classes: int, n: int = 300) -> ExportedCalibrator:
    """A fit to simulated rows, of which more than two classes lack one."""
    made = calib.calibrator(name, **{**CHEAP.get(name, {}), **dict(form)})
    return exported(made.fit(*simulated(n, n_classes)))


def off(given: ExportedCalibrator, rows: Floats, said: Floats) -> Floats:
    """The rows of which a number is off by more than 1e-9, and is none of those on either side of a step.

    To either side lead changes of the logits in their last digits.
    """
    wrong = np.flatnonzero(~(np.abs(said - given.calibrate(rows, given.kind)) <= 1e-9).all(axis=1))
    generator = np.random.default_rng(0)
    for _ in range(200):
        if not len(wrong):
            break
        signs = generator.choice([-1.0, 1.0], size=(len(wrong), rows.shape[1]))
        moved = rows[wrong] + 1e-13 * signs * (1 + np.abs(rows[wrong]).max(axis=1, keepdims=True))
        wrong = wrong[~(np.abs(said[wrong] - given.calibrate(moved, given.kind)) <= 1e-9).all(axis=1)]
    return rows[wrong]


def test_every_method_has_a_form_or_is_named_here():
    assert {name for name in calib.METHODS if calib.METHODS[name].needs} == WITHOUT
    assert set(onnx_model.WORDS) == set(predict.STEPS)


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize(("name", "form"), CASES)
def test_numbers_are_those_of_numpy(name, form, n_classes):
    given = fitted(name, tuple(sorted(form.items())), n_classes)
    rows = np.concatenate([compared_rows(simulated(300, n_classes)[0])[::7], simulated(300, n_classes)[0]])
    assert not len(off(given, rows, run(to_model(given, "float64"), rows)))


def test_at_a_step_of_two_classes_the_side_is_the_same():
    logits, labels = simulated(300, 2)
    for name in ("scaling_binning", "histogram", "imax", "venn_abers", "isotonic"):
        given = exported(calib.calibrator(name).fit(logits, labels))
        states = given.calibrator.get_state()["maps_"][0]
        edges = np.concatenate([states[key] for key in ("edges", "knots", "low_edges", "high_edges") if key in states])
        rows = np.stack([np.zeros(len(edges)), edges], axis=1)
        np.testing.assert_allclose(run(to_model(given, "float64"), rows), given.calibrate(rows, "logits"), atol=1e-12)


def test_no_tensor_has_more_than_two_dimensions():
    for name in ("isotonic", "venn_abers", "spline", "gpcalib", "order_preserving"):
        made = to_model(fitted(name, (), 4))
        onnx.checker.check_model(made, full_check=True)
        known = shape_inference.infer_shapes(made, strict_mode=True, data_prop=True).graph.value_info
        assert known
        assert max(len(each.type.tensor_type.shape.dim) for each in known) == 2


def test_rows_that_calib_refuses_give_nan_and_leave_the_others_alone():
    for name in ("isotonic", "gpcalib", "order_preserving", "temperature", "platt"):
        given = fitted(name, (), 4)
        rows = simulated(6, 4)[0]
        bad = rows.copy()
        bad[1, 2], bad[3, 0], bad[4, 1] = np.nan, np.inf, -np.inf
        said = run(to_model(given, "float64"), bad)
        assert np.isnan(said[[1, 3, 4]]).all()
        np.testing.assert_allclose(said[[0, 2, 5]], given.calibrate(rows, "logits")[[0, 2, 5]], atol=1e-9)
        assert run(to_model(given, "float64"), rows[:0]).shape == (0, 4)


@pytest.mark.parametrize(
    ("kind", "scale"),
    [
        ("probabilities", None), ("probabilities", "percent"), ("probabilities", 20.0), ("log_probabilities", None),
        ("binary_log_odds", None), ("binary_probability", None), ("pairs", None),
    ],
)  # fmt: skip
def test_every_kind_of_outputs(kind, scale):
    several = kind in ("probabilities", "log_probabilities")
    logits, labels = simulated(300, 4 if several else 2)
    probs = softmax(logits)
    probs[:20, 1] = 0.0
    outputs = {
        "probabilities": probs,
        "log_probabilities": np.log(probs, where=probs > 0, out=np.full(probs.shape, -np.inf)),
        "binary_log_odds": logits[:, 1] - logits[:, 0],
    }.get(kind, probs[:, 1])
    one = {None: 1.0, "percent": 100.0}.get(scale, scale)
    made = calib.calibrator("beta").fit(logits, labels)
    given = exported(made, {"kind": kind, "scale": scale, "floor": 1e-6})
    said = run(to_model(given, "float64"), outputs * one)
    if kind == "pairs":
        np.testing.assert_allclose(said, given.confidence(outputs, kind=kind), atol=1e-9)
    else:
        np.testing.assert_allclose(said, given.calibrate(outputs * one, kind), atol=1e-9)
    if not several:
        np.testing.assert_array_equal(run(to_model(given, "float64"), outputs[:, None]), said)


def test_outputs_in_single_precision_become_double_first():
    given, rows = fitted("beta", (), 4), simulated(50, 4)[0].astype(np.float32)
    said = run(to_model(given), rows)
    assert said.dtype == np.float64
    np.testing.assert_allclose(said, given.calibrate(rows.astype(float), "logits"), atol=1e-12)
    np.testing.assert_array_equal(run(to_model(given, "float64"), rows.astype(float)), said)
    with pytest.raises(CalibrationError, match="float16; got dtype='int8'"):
        to_model(given, "int8")


def test_a_file_says_what_it_holds(tmp_path):
    made = calib.calibrator("platt", input="score").fit(*simulated(300, 4))
    first = to_onnx(
        made, tmp_path / "a.onnx", class_names=("a", "b", "é", "d"), kind="probabilities", exported_on="day"
    )
    known = {each.key: each.value for each in onnx.load(first).metadata_props}
    assert (known["calib.version"], known["calib.method"], known["calib.kind"]) == (
        calib.__version__,
        "platt",
        "probabilities",
    )
    assert (known["calib.input"], known["calib.input_dtype"], known["calib.scale"]) == ("outputs", "float32", "plain")
    assert json.loads(known["calib.class_names"]) == ["a", "b", "é", "d"]
    assert json.loads(known["calib.params"])["input"] == "score"
    again = save(made, tmp_path / "b.onnx", class_names=("a", "b", "é", "d"), kind="probabilities", exported_on="day")
    assert again.read_bytes() == first.read_bytes() == writer.written("onnx", data={"exported": exported(made, {
        "class_names": ("a", "b", "é", "d"), "kind": "probabilities", "exported_on": "day"})})  # fmt: skip


def test_onnx_merges_it_with_the_model_that_was_calibrated():
    weights, inputs = (np.random.default_rng(3).normal(size=size).astype(np.float32) for size in ((5, 4), (30, 5)))
    nodes = [helper.make_node("MatMul", ["x", "w"], ["logits"])]
    ends = [helper.make_tensor_value_info(*each, ["n", k]) for each, k in ((("x", 1), 5), (("logits", 1), 4))]
    graph = helper.make_graph(nodes, "linear", ends[:1], ends[1:], [numpy_helper.from_array(weights, "w")])
    opset = onnx_model.OPSET
    users = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=onnx_model.IR_VERSION)
    for name in ("isotonic", "gpcalib"):
        given = fitted(name, (), 4)
        both = onnx.compose.merge_models(users, to_model(given), io_map=[("logits", "outputs")])
        onnx.checker.check_model(both, full_check=True)
        logits = run(users, inputs, "x")
        np.testing.assert_allclose(run(both, inputs, "x"), given.calibrate(logits.astype(float), "logits"), atol=1e-9)


# -- what is refused --------------------------------------------------------------------------------------


def test_what_has_no_form_is_refused_in_a_sentence(tmp_path, monkeypatch):
    logits, labels = simulate(n=60)
    given = {"features": logits, "train_features": logits, "train_labels": labels}
    geometric = calib.calibrator("geometric").fit(logits, labels, **given)
    with pytest.raises(CalibrationError, match=r"\.pkl"):
        to_onnx(geometric, tmp_path / "a.onnx")
    made = calib.calibrator("temperature").fit(logits, labels)
    with pytest.raises(CalibrationError, match="odds"):
        to_onnx(made, tmp_path / "a.onnx", kind="probabilities", scale="odds")
    monkeypatch.setattr(onnx_model, "MOST_BYTES", 1)
    with pytest.raises(CalibrationError, match="an ONNX file holds 2 GB"):
        to_onnx(fitted("isotonic", (), 4), tmp_path / "a.onnx")
    monkeypatch.setattr(writer, "find_spec", lambda name: None)
    with pytest.raises(CalibrationError, match=r'pip install "calib-studio\[onnx\]"'):
        to_onnx(made, tmp_path / "a.onnx")
    assert not (tmp_path / "a.onnx").exists()
