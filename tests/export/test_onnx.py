"""ONNX models give NumPy's numbers in onnxruntime, alone and behind the model that was calibrated."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import helper, numpy_helper, shape_inference

import calib
from benchmarks.exports import simulated
from calib.errors import CalibrationError
from calib.export import onnx_model, predict, save, to_onnx, writer
from calib.export.onnx_model import to_model
from calib.export.provenance import exported
from calib.export.runtime import ExportedCalibrator
from calib.numerics import Floats
from tests.conftest import simulate


def run(written: onnx.ModelProto | Path, outputs: Floats, name: str = "outputs") -> Floats:
    """What onnxruntime gives for a model's outputs: the last output of the model."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    content = written.read_bytes() if isinstance(written, Path) else written.SerializeToString()
    session = onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    return session.run(None, {name: outputs})[-1]


@cache
def fitted(name: str) -> ExportedCalibrator:
    """A fit to simulated rows of four classes, of which one has none."""
    params = {"gpcalib": {"max_iter": 5}}.get(name, {})
    return exported(calib.calibrator(name, **params).fit(*simulated(300, 4)))


def test_every_word_of_steps_has_its_nodes():
    assert set(onnx_model.WORDS) == set(predict.STEPS)


def test_at_a_step_of_two_classes_the_side_is_the_same():
    logits, labels = simulated(300, 2)
    for name in ("scaling_binning", "histogram", "imax", "venn_abers", "isotonic"):
        given = exported(calib.calibrator(name).fit(logits, labels))
        states = given.calibrator.get_state()["maps_"][0]
        edges = np.concatenate(
            [states[key] for key in ("edges", "knots", "low_edges", "high_edges") if key in states]
        )
        rows = np.stack([np.zeros(len(edges)), edges], axis=1)
        np.testing.assert_allclose(
            run(to_model(given, "float64"), rows), given.predict_proba(rows, "logits"), atol=1e-12
        )


def test_no_tensor_has_more_than_two_dimensions():
    for name in ("isotonic", "venn_abers", "spline", "gpcalib", "order_preserving"):
        made = to_model(fitted(name))
        onnx.checker.check_model(made, full_check=True)
        known = shape_inference.infer_shapes(
            made, strict_mode=True, data_prop=True
        ).graph.value_info
        assert known
        assert max(len(each.type.tensor_type.shape.dim) for each in known) == 2


def test_rows_that_calib_refuses_give_nan_and_leave_the_others_alone():
    for name in ("isotonic", "gpcalib", "order_preserving", "temperature", "platt"):
        given = fitted(name)
        rows = simulated(6, 4)[0]
        bad = rows.copy()
        bad[1, 2], bad[3, 0], bad[4, 1] = np.nan, np.inf, -np.inf
        said = run(to_model(given, "float64"), bad)
        assert np.isnan(said[[1, 3, 4]]).all()
        np.testing.assert_allclose(
            said[[0, 2, 5]], given.predict_proba(rows, "logits")[[0, 2, 5]], atol=1e-9
        )
        assert run(to_model(given, "float64"), rows[:0]).shape == (0, 4)


def test_outputs_in_single_precision_become_double_first():
    given, rows = fitted("beta"), simulated(50, 4)[0].astype(np.float32)
    said = run(to_model(given), rows)
    assert said.dtype == np.float64
    np.testing.assert_allclose(said, given.predict_proba(rows.astype(float), "logits"), atol=1e-12)
    np.testing.assert_array_equal(run(to_model(given, "float64"), rows.astype(float)), said)
    with pytest.raises(CalibrationError, match="float16; got dtype='int8'"):
        to_model(given, "int8")


def test_a_file_says_what_it_holds(tmp_path):
    made = calib.calibrator("platt", input="score").fit(*simulated(300, 4))
    about = {"class_names": ("a", "b", "é", "d"), "kind": "probabilities", "exported_on": "day"}
    first = to_onnx(made, tmp_path / "a.onnx", **about)
    known = {each.key: each.value for each in onnx.load(first).metadata_props}
    told = {
        "version": calib.__version__,
        "method": "platt",
        "kind": "probabilities",
        "scale": "plain",
    }
    told |= {"input": "outputs", "input_dtype": "float32"}
    assert {name: known[f"calib.{name}"] for name in told} == told
    assert json.loads(known["calib.class_names"]) == ["a", "b", "é", "d"]
    assert json.loads(known["calib.params"])["input"] == "score"
    again = save(made, tmp_path / "b.onnx", **about)
    assert again.read_bytes() == first.read_bytes()
    assert again.read_bytes() == writer.written("onnx", data={"exported": exported(made, about)})


def test_onnx_merges_it_with_the_model_that_was_calibrated():
    weights, inputs = (
        np.random.default_rng(3).normal(size=size).astype(np.float32) for size in ((5, 4), (30, 5))
    )
    nodes = [helper.make_node("MatMul", ["x", "w"], ["logits"])]
    ends = [
        helper.make_tensor_value_info(*each, ["n", k])
        for each, k in ((("x", 1), 5), (("logits", 1), 4))
    ]
    graph = helper.make_graph(
        nodes, "linear", ends[:1], ends[1:], [numpy_helper.from_array(weights, "w")]
    )
    opset = onnx_model.OPSET
    users = helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=onnx_model.IR_VERSION
    )
    for name in ("isotonic", "gpcalib"):
        given = fitted(name)
        both = onnx.compose.merge_models(users, to_model(given), io_map=[("logits", "outputs")])
        onnx.checker.check_model(both, full_check=True)
        logits = run(users, inputs, "x")
        np.testing.assert_allclose(
            run(both, inputs, "x"), given.predict_proba(logits.astype(float), "logits"), atol=1e-9
        )


# -- what is refused --------------------------------------------------------------------------------------


def test_what_has_no_form_is_refused_in_a_sentence(tmp_path, monkeypatch):
    logits, labels = simulate(n=60)
    given = {"features": logits, "train_features": logits, "train_labels": labels}
    geometric = calib.calibrator("geometric").fit(logits, labels, **given)
    with pytest.raises(CalibrationError, match=r"\.pkl"):
        to_onnx(geometric, tmp_path / "a.onnx")
    with pytest.raises(
        CalibrationError, match="predicts from the inputs of the rows"
    ):  # known before a fit
        writer.check_method("onnx", "geometric")
    for ending, name in (("pkl", "geometric"), ("onnx", "beta")):
        writer.check_method(ending, name)
    made = calib.calibrator("temperature").fit(logits, labels)
    of_two = calib.calibrator("temperature").fit(logits[:, :2], labels % 2)
    with pytest.raises(CalibrationError, match="natural logarithms"):
        to_onnx(of_two, tmp_path / "a.onnx", kind="binary_probability", scale="log")
    monkeypatch.setattr(writer, "find_spec", lambda name: None)
    with pytest.raises(CalibrationError, match=r'pip install "calib-studio\[onnx\]"'):
        to_onnx(made, tmp_path / "a.onnx")
    assert not (tmp_path / "a.onnx").exists()
