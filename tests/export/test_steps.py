"""Every method and form gives in every engine what it gives in NumPy."""

from __future__ import annotations

import io
from functools import cache

import numpy as np
import pytest

import calib
from benchmarks.exports import FORMS, fits, near_steps, simulated
from calib.calibrators.auto import candidates
from calib.canonical import ONE_COLUMN
from calib.errors import CalibrationError
from calib.export import predict, writer
from calib.export.npz import checked_steps
from calib.export.onnx_model import to_model
from calib.export.predict import run
from calib.export.provenance import exported
from calib.export.runtime import ExportedCalibrator
from calib.export.torch_module import torch_source
from calib.numerics import softmax
from calib.registry import METHODS
from tests.conftest import outputs_of, simulate
from tests.export.test_onnx import run as run_onnx
from tests.export.test_torch_module import module_of


@cache
def fitted_once(method, n_classes):
    """All forms of a method, which all engines are given, with some rows away from steps and what they become."""
    found = []
    for _, params, given, rows in fits(n_classes, [method], n=100):
        rows = rows[::7]
        known = ~near_steps(given, given.to_logits(rows, given.kind))
        assert known.mean() > 0.9, params
        found.append((given, rows[known], given.predict_proba(rows[known], given.kind)))
    return tuple(found)


OFFERED = [name for name, method in METHODS.items() if not method.needs]


def by_steps(given: ExportedCalibrator, rows: np.ndarray) -> np.ndarray:
    """What predict.py computes."""
    return predict.probabilities(given.calibrator.steps(), given.to_logits(rows, given.kind))


def by_onnx(given: ExportedCalibrator, rows: np.ndarray) -> np.ndarray:
    """What onnxruntime computes."""
    return run_onnx(to_model(given, "float64"), rows)


def by_torch(given: ExportedCalibrator, rows: np.ndarray) -> np.ndarray:
    """What PyTorch computes."""
    import torch

    with torch.no_grad():
        return module_of(torch_source(given))(torch.tensor(rows)).numpy()


@pytest.mark.parametrize(
    "engine", [by_steps, by_onnx, pytest.param(by_torch, marks=pytest.mark.engines)]
)
@pytest.mark.parametrize(
    ("method", "n_classes"),
    [
        pytest.param(
            name, k, marks=[pytest.mark.long] * (name == "bayes_iso" or (k, name) == (4, "gpcalib"))
        )  # slow fits
        for name in OFFERED
        for k in (2, 4)
    ],
)
def test_every_engine_gives_what_the_methods_give(method, n_classes, engine):
    """1,400 rows with ties, calibration rows and logits of +-1e3; the last of four classes has no rows."""
    for given, rows, expected in fitted_once(method, n_classes):
        np.testing.assert_allclose(engine(given, rows), expected, rtol=0, atol=1e-9)


def by_script(given: ExportedCalibrator, outputs: np.ndarray) -> np.ndarray:
    """What predict.py makes of outputs as they were uploaded."""
    probs = predict.load(io.BytesIO(writer.to_bytes("npz", given))).predict_proba(
        outputs, given.kind
    )
    return probs[:, 1] if given.kind == "pairs" else probs


@pytest.mark.parametrize("engine", [by_script, by_onnx])
@pytest.mark.parametrize(
    ("kind", "scale"),
    [("logits", None), ("probabilities", None), ("probabilities", "percent"),
     ("probabilities", "counts"), ("probabilities", 500.0), ("log_probabilities", None),
     ("binary_log_odds", None), ("binary_probability", None), ("binary_probability", "percent"), ("pairs", None)],
)  # fmt: skip
def test_every_kind_and_scale_is_taken_as_it_was_uploaded(kind, scale, engine):
    logits, labels = simulated(300, 2 if kind in ONE_COLUMN else 3)
    given = exported(
        calib.calibrator("beta").fit(logits, labels), {"kind": kind, "scale": scale, "floor": 1e-6}
    )
    probs = np.round(softmax(logits), 6)
    probs[:3] = np.eye(logits.shape[1])[0]
    times = {"percent": 100, "counts": 7, 500.0: 500}.get(scale, 1)
    outputs = outputs_of(kind, logits, probs) * times
    expected = (
        given.predict_confidence(outputs, kind=kind)
        if kind == "pairs"
        else given.predict_proba(outputs, kind)
    )
    np.testing.assert_allclose(engine(given, outputs), expected, rtol=0, atol=1e-9)
    if engine is by_onnx and kind in ONE_COLUMN:
        np.testing.assert_array_equal(engine(given, outputs[:, None]), engine(given, outputs))


@pytest.mark.parametrize("method", ["dirichlet", "vector", "structured_matrix", "isotonic"])
def test_two_absent_classes_keep_what_temperature_gives(method):
    logits, labels = simulated(300, 5)
    params = {"share_classes": False} if method == "isotonic" else {}
    made = calib.calibrator(method, **params).fit(logits, np.minimum(labels, 2))
    np.testing.assert_allclose(
        run(made.steps(), logits), made.predict_proba(logits), rtol=0, atol=1e-10
    )


def test_some_dozen_steps_more_are_loaded_than_the_longest_export_has():
    """A mean of all members of Auto, on outputs that become logits in four steps."""
    logits, labels = simulate(n=1500)
    members = [calib.calibrator(name).fit(logits, labels).steps() for name in candidates(4)]
    longest = 1 + sum(str(steps).count("'step': ") for steps in members) + 4
    assert longest + 12 <= predict.MOST_STEPS <= longest + 48


def test_what_has_no_steps_says_so_and_that_the_pickle_is_there():
    assert {name for name, method in METHODS.items() if method.needs} == {"geometric", "by_group"}
    assert set(FORMS) <= set(METHODS)
    with pytest.raises(CalibrationError, match=r"save a \.pkl"):
        calib.calibrator("geometric").steps()
    with pytest.raises(CalibrationError, match=r"save a \.pkl, \.npz or \.zip"):
        calib.calibrator("by_group").steps()


def test_steps_that_give_something_else_are_not_written(monkeypatch):
    made = calib.calibrator("temperature").fit(*simulated(60, 3))
    monkeypatch.setattr(
        type(made), "steps", lambda self: [{"step": "affine", "scale": 9.0}, {"step": "softmax"}]
    )
    with pytest.raises(CalibrationError, match=r"give other probabilities than it does .*\.pkl"):
        checked_steps(made)
