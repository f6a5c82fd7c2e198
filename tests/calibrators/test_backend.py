"""Where a fit runs. What is placed on a GPU here runs in TensorFlow on the CPU: these machines have no GPU."""

from __future__ import annotations

import re
from functools import partial

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from scipy.special import log_softmax

import calib
from calib.calibrators import backend
from calib.calibrators.backend import Loss, run
from calib.errors import FitCancelled
from calib.numerics import blocks
from tests.conftest import simulate

METHODS = ("temperature", "vector", "structured_vector")
SHAPE = (1000, 50_000)


# -- the loss --------------------------------------------------------------------------------------------


def some_loss(n: int, n_classes: int, size: float = 1.0):
    """Rows with weights, a scale and a bias of each class."""
    generator = np.random.default_rng(1)
    logits, labels = simulate(n, n_classes)
    logits = size * (logits - logits.max(axis=1, keepdims=True))
    rows = logits, labels, generator.uniform(0.5, 3, n)
    return rows, generator.uniform(0.2, 2, n_classes), generator.normal(size=n_classes)


@pytest.mark.parametrize("n_classes", [2, 5])
def test_the_loss_and_its_derivatives_are_those_of_the_formula(n_classes, monkeypatch):
    monkeypatch.setattr(
        backend, "blocks", partial(blocks, entries=7 * n_classes)
    )  # 7 rows each, the last of 2
    (logits, labels, weights), scale, bias = some_loss(30, n_classes)
    loss = Loss(logits, labels, weights)

    def naive(both):
        scores = logits * both[:n_classes] + both[n_classes:]
        return np.average(-log_softmax(scores, axis=1)[np.arange(30), labels], weights=weights)

    def slope(both):
        return np.concatenate(loss(both[:n_classes], both[n_classes:])[1:])

    both = np.concatenate([scale, bias])
    value, gradient, curvature = loss.with_curvature(scale, bias)
    assert loss(scale, bias)[0] == pytest.approx(naive(both), rel=1e-12)
    assert value == pytest.approx(naive(both), rel=1e-12)
    np.testing.assert_allclose(slope(both), approx_fprime(both, naive), atol=1e-6)
    np.testing.assert_allclose(gradient, slope(both), atol=1e-12)
    np.testing.assert_allclose(curvature, approx_fprime(both, slope), atol=1e-5)

    one = np.ones(n_classes)
    value, first, second = loss.at_temperature(0.7)
    assert value == pytest.approx(naive(np.concatenate([0.7 * one, 0 * one])), rel=1e-12)
    assert first == pytest.approx(float(loss(0.7 * one, 0 * one)[1].sum()), abs=1e-12)
    assert second == pytest.approx((loss.at_temperature(0.7 + 1e-6)[1] - first) / 1e-6, abs=1e-5)


@pytest.mark.long
@pytest.mark.parametrize(("n", "n_classes", "size"), [(40, 2, 1.0), (500, 10, 1e3), (30, 300, 1.0)])
def test_tensorflow_computes_the_same(n, n_classes, size):
    rows, scale, bias = some_loss(n, n_classes, size)
    here, there = Loss(*rows), Loss(*rows, on_gpu=True)
    close = partial(np.testing.assert_allclose, rtol=1e-9, atol=1e-10 * size**2)
    for ours, theirs in zip(there(scale, bias), here(scale, bias), strict=True):
        close(ours, theirs)
    close(there.at_temperature(0.7), here.at_temperature(0.7))


# -- the device ------------------------------------------------------------------------------------------


@pytest.mark.long
@pytest.mark.parametrize("name", METHODS)
def test_a_fit_is_the_same_wherever_it_runs(name, pretend_gpu, overconfident):
    logits, labels = overconfident
    here, there = (
        calib.calibrator(name, device=device).fit(logits, labels) for device in ("cpu", "gpu")
    )
    assert here.device_.startswith("CPU (")
    assert there.device_ == "Test GPU"
    assert here.notes() == there.notes()
    np.testing.assert_allclose(there.predict_proba(logits), here.predict_proba(logits), atol=1e-6)
    assert here.variant(3) == there.variant(3)


@pytest.mark.parametrize(
    "name", [name for name, method in calib.METHODS.items() if method.uses_device]
)
def test_a_gpu_asked_for_and_missing_is_said(name, monkeypatch):
    assert calib.METHODS[name].cls().device == "auto"
    monkeypatch.setattr(backend, "gpu_present", lambda: False)
    fitted = calib.calibrator(name, device="gpu").fit(*simulate(60, 3))
    said = f"No NVIDIA GPU was found, so the fit ran on the {fitted.device_}."
    assert fitted.device_.startswith("CPU (")
    assert said in fitted.notes()
    assert said not in calib.calibrator(name).fit(*simulate(60, 3)).notes()


@pytest.mark.parametrize(
    "hidden", ["find_spec", "first_gpu"], ids=["no TensorFlow", "no CUDA libraries"]
)
def test_a_gpu_that_tensorflow_cannot_use_is_said(hidden, monkeypatch):
    monkeypatch.setattr(backend, "gpu_present", lambda: True)
    monkeypatch.setattr(backend, hidden, lambda *name: None)
    result, device, note = run(str, "gpu", SHAPE)
    assert (result, device) == ("False", backend.cpu_description())
    assert "needs TensorFlow and its CUDA libraries" in note


def internal(message: str) -> Exception:
    return backend.tensorflow().errors.InternalError(None, None, message)


def wrapped() -> Exception:
    error = RuntimeError("the optimiser failed")
    error.__cause__ = backend.tensorflow().errors.ResourceExhaustedError(
        None, None, "OOM when allocating tensor"
    )
    return error


@pytest.mark.long
@pytest.mark.parametrize(
    "error",
    [
        wrapped,
        lambda: internal("CUDA_ERROR_OUT_OF_MEMORY: out of memory"),
        lambda: internal("Failed copying input: Dst tensor is not initialized."),
    ],
    ids=["wrapped", "driver", "copy"],
)
def test_a_gpu_without_enough_memory_hands_over_to_the_cpu_in_words(error, pretend_gpu):
    tried = []

    def compute(on_gpu: bool) -> str:
        tried.append(on_gpu)
        if on_gpu:
            raise error()
        return "done"

    result, _, note = run(compute, "gpu", SHAPE)
    assert (result, tried) == ("done", [True, False])
    said = r"The GPU \(Test GPU\) ran out of memory on 1,000 rows x 50,000 classes, so the fit ran on the CPU \(.*"
    assert re.fullmatch(said, note)


@pytest.mark.long
@pytest.mark.parametrize("error", [FitCancelled, lambda: internal("bug")], ids=["cancelled", "bug"])
def test_other_errors_are_not_tried_again(error, pretend_gpu):
    tried = []

    def compute(on_gpu: bool) -> None:
        tried.append(on_gpu)
        raise error()

    with pytest.raises(type(error())):
        run(compute, "gpu", SHAPE)
    assert tried == [True]


@pytest.mark.parametrize(
    ("file", "visible", "expected"),
    [
        ("dev/nvidiactl", None, False),  # the driver without a card
        ("dev/nvidia3", None, True),  # a container may be given any one of them
        ("usr/lib/wsl/lib/libcuda.so.1", None, True),
        ("dev/nvidia0", "", False),
        ("dev/nvidia0", "-1", False),
        ("dev/nvidia0", "1,0", True),
    ],
)
def test_a_gpu_is_known_by_its_files_unless_it_is_hidden(
    file, visible, expected, tmp_path, monkeypatch
):
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    if visible is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    (tmp_path / file).parent.mkdir(parents=True)
    (tmp_path / file).touch()
    assert backend.gpu_present(tmp_path) is expected
