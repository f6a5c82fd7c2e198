"""The loss of the scaling methods: NumPy's and TensorFlow's against each other, and where a fit runs."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from scipy.special import log_softmax

import calib
from calib import hardware
from calib.calibrators import scaling
from calib.calibrators.scaling import NumPyCrossEntropy
from calib.numerics import blocks
from tests.conftest import simulate

ROOT = Path(__file__).resolve().parents[2]
METHODS = [name for name, method in calib.METHODS.items() if method.cls.passes]


def weights(n_classes: int) -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(1)
    return generator.uniform(0.2, 2, n_classes), generator.normal(size=n_classes)


@pytest.mark.parametrize("n_classes", [2, 5])
def test_the_value_is_the_mean_nll_and_the_gradient_its_derivative(n_classes, monkeypatch):
    monkeypatch.setattr(scaling, "blocks", partial(blocks, entries=7 * n_classes))  # 7 rows a block, the last one of 2
    logits, labels = simulate(30, n_classes)
    loss = NumPyCrossEntropy(logits, labels)
    scale, bias = weights(n_classes)

    def naive(both):
        return -log_softmax(logits * both[:n_classes] + both[n_classes:], axis=1)[np.arange(30), labels].mean()

    value, by_scale, by_bias = loss(scale, bias)
    both = np.concatenate([scale, bias])
    assert value == pytest.approx(naive(both), rel=1e-12)
    np.testing.assert_allclose(np.concatenate([by_scale, by_bias]), approx_fprime(both, naive), atol=1e-6)


@pytest.mark.parametrize(("n", "n_classes"), [(40, 2), (500, 10), (30, 300)])
@pytest.mark.parametrize("size", [1.0, 1e3])
def test_tensorflow_computes_the_same(n, n_classes, size):
    from calib.gp.cross_entropy import TensorFlowCrossEntropy

    logits, labels = simulate(n, n_classes)
    logits = size * logits
    scale, bias = weights(n_classes)
    expected = NumPyCrossEntropy(logits, labels)(scale, bias)
    for ours, theirs in zip(TensorFlowCrossEntropy(logits, labels)(scale, bias), expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-10, atol=1e-10 * size)


@pytest.fixture
def pretend_gpu(monkeypatch):
    """A machine that says it has a GPU; what is placed on it runs on the CPU, in TensorFlow."""
    from calib.gp import device

    monkeypatch.setattr(hardware, "gpu_present", lambda: True)
    monkeypatch.setattr(device, "_gpus", lambda: [device.Device("/CPU:0", "gpu", "Test GPU")])


@pytest.mark.parametrize("name", METHODS)
def test_a_fit_is_the_same_wherever_it_runs(name, pretend_gpu, overconfident):
    logits, labels = overconfident
    here, there = (calib.calibrator(name, device=device).fit(logits, labels) for device in ("cpu", "gpu"))
    assert here.device_.startswith("CPU (")
    assert there.device_ == "Test GPU"
    assert here.notes() == there.notes() == []
    np.testing.assert_allclose(there.predict_proba(logits), here.predict_proba(logits), atol=1e-6)
    assert here.variant() == there.variant() == ""


@pytest.mark.parametrize("name", METHODS)
def test_a_small_fit_stays_on_the_cpu_and_a_big_one_goes_to_the_gpu(name, pretend_gpu, overconfident, monkeypatch):
    assert calib.calibrator(name).fit(*overconfident).device_.startswith("CPU (")
    monkeypatch.setattr(hardware, "WORTH_A_GPU", overconfident[0].size)
    assert calib.calibrator(name).fit(*overconfident).device_ == "Test GPU"


@pytest.mark.parametrize("name", METHODS)
def test_a_gpu_asked_for_and_missing_is_said(name, overconfident, monkeypatch):
    monkeypatch.setattr(hardware, "gpu_present", lambda: False)
    fitted = calib.calibrator(name, device="gpu").fit(*overconfident)
    assert fitted.device_.startswith("CPU (")
    assert fitted.notes() == [f"No NVIDIA GPU was found, so the fit ran on the {fitted.device_}."]
    assert calib.calibrator(name).fit(*overconfident).notes() == []


LOGICAL_DEVICES = """
    import sys
    import tensorflow as tf
    (cpu,) = tf.config.list_physical_devices("CPU")
    tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)

    import calib
    from calib import hardware
    from calib.gp import cross_entropy, device, training
    from tests.conftest import simulate

    hardware.gpu_present = lambda: True
    device._gpus = lambda: [device.Device("/CPU:1", "gpu", "Test GPU")]
    logits, labels = simulate(200, 3)

    def fitted(name):
        return calib.calibrator(name, device="gpu").fit(logits, labels)

    used = []

    def watched(function):
        def call(*args):
            result = function(*args)
            place = tf.constant(0.0).device[-5:]
            used.append(place)
            if small and place == "CPU:1":
                raise tf.errors.ResourceExhaustedError(None, None, "OOM when allocating tensor")
            return result
        return call

    cross_entropy._value_and_gradient = watched(cross_entropy._value_and_gradient)
    training.GridLikelihood = watched(training.GridLikelihood)
    for name in ("temperature", "vector", "gpcalib"):
        for small in (False, True):
            used.clear()
            done = fitted(name)
            print(name, done.device_.split(" (")[0], *sorted(set(used)), *done.notes(), sep="|")
"""


def test_a_device_of_its_own_is_used_and_left_when_its_memory_is_not_enough():
    """In a process of its own, with the CPU split in two: TensorFlow takes such settings before it starts only."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(LOGICAL_DEVICES)], cwd=ROOT, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr[-2000:]
    lines = done.stdout.splitlines()
    cpu = hardware.cpu_description()
    note = (
        f"The GPU (Test GPU) ran out of memory on 200 rows x 3 classes, so the fit ran on the {cpu}. "
        "Use fewer calibration rows, or end what else uses the GPU, to fit on it."
    )
    assert lines == [
        "temperature|Test GPU|CPU:1",
        f"temperature|CPU|CPU:1|{note}",  # and then NumPy
        "vector|Test GPU|CPU:1",
        f"vector|CPU|CPU:1|{note}",
        "gpcalib|Test GPU|CPU:1",
        f"gpcalib|CPU|CPU:0|CPU:1|{note}",
    ]
