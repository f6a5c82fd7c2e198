"""Temperature and vector scaling: losses, gradients, the conditions of the optimum, L-BFGS, and where a fit runs."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from functools import partial

import numpy as np
import pytest
from scipy.optimize import OptimizeResult, approx_fprime, minimize
from scipy.special import log_softmax

import calib
from calib import hardware
from calib.calibrators import minimisation, temperature
from calib.calibrators.minimisation import LBFGSReport, NumPyCrossEntropy, minimise_convex
from calib.calibrators.vector import VectorScaling
from calib.errors import CalibrationError
from calib.metrics import nll
from calib.numerics import blocks, softmax
from tests.conftest import ROOT, simulate

METHODS = [name for name, method in calib.METHODS.items() if method.cls.passes]

FIXED = {"vector": {"strength": "fixed"}}
"""So that something is left to fit on a device where folds would keep temperature scaling."""


def weights(n_classes: int) -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(1)
    return generator.uniform(0.2, 2, n_classes), generator.normal(size=n_classes)


@pytest.mark.parametrize("n_classes", [2, 5])
def test_the_value_is_the_mean_nll_and_the_gradient_its_derivative(n_classes, monkeypatch):
    monkeypatch.setattr(minimisation, "blocks", partial(blocks, entries=7 * n_classes))  # 7 rows each, the last of 2
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
    from calib.calibrators._tensorflow import TensorFlowCrossEntropy

    logits, labels = simulate(n, n_classes)
    logits = size * logits
    scale, bias = weights(n_classes)
    expected = NumPyCrossEntropy(logits, labels)(scale, bias)
    for ours, theirs in zip(TensorFlowCrossEntropy(logits, labels)(scale, bias), expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-10, atol=1e-10 * size)


@pytest.mark.parametrize("name", METHODS)
def test_a_fit_is_the_same_wherever_it_runs(name, pretend_gpu, overconfident):
    logits, labels = overconfident
    params = FIXED.get(name, {})
    here, there = (calib.calibrator(name, device=device, **params).fit(logits, labels) for device in ("cpu", "gpu"))
    assert here.device_.startswith("CPU (")
    assert there.device_ == "Test GPU"
    assert here.notes() == there.notes() == []
    np.testing.assert_allclose(there.predict_proba(logits), here.predict_proba(logits), atol=1e-6)
    assert here.variant(3) == there.variant(3)


@pytest.mark.parametrize("name", METHODS)
def test_a_small_fit_stays_on_the_cpu_and_a_big_one_goes_to_the_gpu(name, pretend_gpu, overconfident, monkeypatch):
    params = FIXED.get(name, {})
    assert calib.calibrator(name, **params).fit(*overconfident).device_.startswith("CPU (")
    monkeypatch.setattr(hardware, "WORTH_A_GPU", overconfident[0].size)
    assert calib.calibrator(name, **params).fit(*overconfident).device_ == "Test GPU"


@pytest.mark.parametrize("name", METHODS)
def test_a_gpu_asked_for_and_missing_is_said(name, overconfident, monkeypatch):
    monkeypatch.setattr(hardware, "gpu_present", lambda: False)
    params = FIXED.get(name, {})
    fitted = calib.calibrator(name, device="gpu", **params).fit(*overconfident)
    assert fitted.device_.startswith("CPU (")
    assert fitted.notes() == [f"No NVIDIA GPU was found, so the fit ran on the {fitted.device_}."]
    assert calib.calibrator(name, **params).fit(*overconfident).notes() == []


LOGICAL_DEVICES = """
    import sys
    import tensorflow as tf
    (cpu,) = tf.config.list_physical_devices("CPU")
    tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)

    import calib
    from calib import hardware
    from calib.calibrators import _tensorflow
    from calib.calibrators.gpcalib import gpflow_model
    from tests.conftest import simulate

    hardware.gpu_present = lambda: True
    _tensorflow._gpus = lambda: [_tensorflow.Device("/CPU:1", "gpu", "Test GPU")]
    logits, labels = simulate(200, 3)

    def fitted(name):
        params = {"strength": "fixed"} if name == "vector" else {}
        return calib.calibrator(name, device="gpu", **params).fit(logits, labels)

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

    _tensorflow._value_and_gradient = watched(_tensorflow._value_and_gradient)
    gpflow_model.GridLikelihood = watched(gpflow_model.GridLikelihood)
    for name in ("temperature", "vector", "gpcalib"):
        for small in (False, True):
            used.clear()
            done = fitted(name)
            print(name, done.device_.split(" (")[0], *sorted(set(used)), *done.notes(), sep="|")
"""


@pytest.mark.long
def test_a_device_of_its_own_is_used_and_left_when_its_memory_is_not_enough():
    """In a process of its own, with the CPU split in two: TensorFlow takes such settings before it starts only."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(LOGICAL_DEVICES)], cwd=ROOT, capture_output=True, text=True, timeout=300
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
        f"gpcalib|CPU|CPU:1|{note}",
    ]


def test_the_mean_logit_of_the_labels_is_what_the_probabilities_expect(overconfident):
    """Stationarity in 1/T: sum_n z_{n,y} = sum_n sum_k p_nk z_nk."""
    logits, labels = overconfident
    fitted = calib.calibrator("temperature").fit(logits, labels)
    probs = fitted.predict_proba(logits)
    assert np.mean(logits[np.arange(len(labels)), labels] - (probs * logits).sum(axis=1)) == pytest.approx(0, abs=1e-5)


def test_a_known_temperature_is_recovered():
    generator = np.random.default_rng(0)
    logits = generator.normal(size=(50_000, 5))
    labels = np.argmax(logits + generator.gumbel(size=logits.shape), axis=1)
    assert calib.calibrator("temperature").fit(3 * logits, labels).temperature_ == pytest.approx(3, rel=0.02)


@pytest.mark.long
def test_very_many_outputs_have_the_temperature_of_a_bracketed_search(monkeypatch):
    """Which starts from that of a part of the rows, wherever these lie and however little they say."""
    generator = np.random.default_rng(0)
    logits = generator.normal(size=(9000, 250)) * 2
    labels = np.argmax(logits + generator.gumbel(size=logits.shape), axis=1)
    for factor in (1.0, 3e-4, 40.0):
        started = calib.calibrator("temperature").fit(factor * logits, labels)
        with monkeypatch.context() as patched:
            patched.setattr(temperature, "GUESS_ENTRIES", 10**9)
            searched = calib.calibrator("temperature").fit(factor * logits, labels)
        assert started.temperature_ == pytest.approx(searched.temperature_, rel=1e-9)


def test_scores_worse_than_none_reach_the_bound_and_say_so(overconfident):
    logits, _ = overconfident
    fitted = calib.calibrator("temperature").fit(logits, np.argmin(logits, axis=1))
    assert fitted.temperature_ == pytest.approx(np.exp(5) * np.median(np.diff(np.sort(logits)[:, -2:])), rel=0.01)
    assert "at its bound" in fitted.notes()[0]


def test_a_calibration_set_without_mistakes_reaches_the_other_bound_and_says_so(overconfident):
    logits, _ = overconfident
    fitted = calib.calibrator("temperature").fit(logits, np.argmax(logits, axis=1))
    assert fitted.temperature_ == pytest.approx(np.exp(-5) * np.median(np.diff(np.sort(logits)[:, -2:])))
    assert "at its bound" in fitted.notes()[0]


@pytest.mark.reference
@pytest.mark.parametrize(
    ("file", "temperature", "nll"),
    [("wideresnet-16-4-cifar-100.npz", 1.1231, 0.9420), ("wideresnet-16-4-cifar-10.npz", 1.8406, 0.2813)],
)
def test_the_reference_is_reproduced(shared_data, file, temperature, nll):
    with np.load(shared_data / file) as arrays:
        logits, labels = np.log(arrays["predictions"]), arrays["ground_truth"]
    order = np.random.RandomState(0).permutation(len(labels))
    fitted = calib.calibrator("temperature").fit(logits[order[:1000]], labels[order[:1000]])
    probs = fitted.predict_proba(logits[order[1000:]])
    assert fitted.temperature_ == pytest.approx(temperature, abs=1e-3)
    assert -np.log(probs[np.arange(9000), labels[order[1000:]]]).mean() == pytest.approx(nll, abs=1e-4)


def test_the_identity_is_softmax(overconfident):
    logits, labels = overconfident
    np.testing.assert_array_equal(
        calib.calibrator("identity").fit(logits, labels).predict_proba(logits), softmax(logits)
    )


# -- vector scaling ------------------------------------------------------------------------------------


def simulated(n: int = 30_000):
    """Log-probabilities, and labels of another scale and a bias for each class."""
    generator = np.random.default_rng(0)
    logits = log_softmax(generator.normal(size=(n, 3)) * 2, axis=1)
    scale, bias = np.array([0.5, 1.0, 1.5]), np.array([0.5, -0.5, 0.0])
    labels = np.argmax(logits * scale + bias + generator.gumbel(size=logits.shape), axis=1)
    return logits, labels, scale, bias


def naive_loss(weights, logits, labels, penalty, temperature):
    """Summed NLL plus the penalty, as the docstring has it."""
    k = logits.shape[1]
    inputs = log_softmax(logits / temperature, axis=1)
    loss = -log_softmax(inputs * weights[:k] + weights[k:], axis=1)[np.arange(len(labels)), labels].sum()
    away = np.concatenate([weights[:k] - 1, weights[k:]])
    return loss + penalty * k * away @ away


def test_known_scales_and_biases_are_recovered():
    logits, labels, scale, bias = simulated()
    fitted = VectorScaling(strength="likelihood").fit(logits + 50.0, labels)
    np.testing.assert_allclose(1 + fitted.change_, scale, atol=0.05)
    np.testing.assert_allclose(fitted.bias_ - fitted.bias_.mean(), bias - bias.mean(), atol=0.05)
    assert fitted.converged_
    assert fitted.notes() == []


@pytest.mark.parametrize("penalty", [1e-3, 1.0, 50.0])
def test_the_fit_is_the_minimum_of_the_stated_loss(penalty):
    logits, labels, _, _ = simulated(300)
    fitted = VectorScaling(strength="fixed", penalty=penalty).fit(logits, labels)
    reached = np.concatenate([1 + fitted.change_, fitted.bias_])
    given = (logits, labels, penalty, fitted.temperature_)
    reference = minimize(naive_loss, np.r_[np.ones(3), np.zeros(3)], given, tol=1e-8)
    assert naive_loss(reached, *given) == pytest.approx(reference.fun, rel=1e-7)
    np.testing.assert_allclose(reached, reference.x, atol=2e-3)


def test_an_absent_class_keeps_what_temperature_scaling_gives_it():
    logits, labels, _, _ = simulated(500)
    kept = labels != 2
    for strength in ("folds", "fixed"):
        fitted = VectorScaling(strength=strength).fit(logits[kept], labels[kept])
        plain = calib.calibrator("temperature").fit(logits[kept], labels[kept])
        np.testing.assert_allclose(fitted.predict_proba(logits)[:, 2], plain.predict_proba(logits)[:, 2], rtol=1e-6)
        assert "1 of 3 classes has no calibration rows" in fitted.notes()[0]


def test_stopping_early_says_so():
    logits, labels, _, _ = simulated(300)
    fitted = VectorScaling(strength="likelihood", max_iter=1).fit(logits, labels)
    assert "raise max_iter" in fitted.notes()[0]


@pytest.mark.parametrize("n_classes", [2, 10])
def test_few_rows_leave_temperature_scaling_and_many_differences_are_learned(n_classes):
    """Simulated: where one temperature is the truth the likelihood loses, and where classes differ folds win."""
    lost = np.zeros((2, 2))
    for seed in range(5):
        generator = np.random.default_rng(seed)
        true = 2.5 * generator.normal(size=(2100, n_classes))
        labels = np.argmax(true + generator.gumbel(size=true.shape), axis=1)
        for i, logits in enumerate([2 * true, 2 * (true - np.linspace(-2, 2, n_classes))]):
            plain = nll(calib.calibrator("temperature").fit(logits[:100], labels[:100]).predict_proba(logits[100:]),
                        labels[100:])  # fmt: skip
            for j, strength in enumerate(["folds", "likelihood"]):
                fitted = VectorScaling(strength=strength).fit(logits[:100], labels[:100])
                lost[i, j] += (nll(fitted.predict_proba(logits[100:]), labels[100:]) - plain) / 5
    assert lost[0, 0] < 0.02
    assert lost[0, 0] < lost[0, 1]
    assert lost[1, 0] < -0.1


@pytest.mark.reference
@pytest.mark.parametrize(
    ("file", "value", "scales", "biases"),
    [
        (
            "lenet-5-cifar-10.npz",
            1.31122116,
            [0.76323721, 0.72375162, 0.62063275],
            [-0.1731719, 0.32816872, -0.51413391],
        ),
        (
            "wideresnet-16-4-cifar-10.npz",
            0.25452594,
            [0.4613, 0.64966364, 0.64138427],
            [0.33556814, -0.554164, 0.555008],
        ),
    ],
)
def test_the_likelihoods_numbers_are_those_of_another_package(shared_data, file, value, scales, biases):
    """netcal 1.4.0 on 1000 rows, whose optimiser stops at a gradient of 1e-5 or so."""
    fitted, test, labels = fitted_to_1000(shared_data / file, VectorScaling(strength="likelihood"))
    np.testing.assert_allclose((1 + fitted.change_)[:3], scales, atol=5e-4)
    found = fitted.bias_ - fitted.bias_[0]
    np.testing.assert_allclose(found[:3], np.array(biases) - biases[0], atol=5e-3)
    assert nll(fitted.predict_proba(test), labels) == pytest.approx(value, abs=1e-5)


@pytest.mark.reference
def test_on_cifar_10_it_is_better_than_temperature_scaling(shared_data):
    fitted, test, labels = fitted_to_1000(shared_data / "wideresnet-16-4-cifar-10.npz", VectorScaling())
    assert nll(fitted.predict_proba(test), labels) < 0.2813 - 0.02


def fitted_to_1000(path, calibrator):
    """Fitted to the first 1000 rows of the reference's order, and all others."""
    with np.load(path) as file:
        logits, labels = np.log(np.maximum(file["predictions"].astype(float), 1e-38)), file["ground_truth"]
    order = np.random.RandomState(0).permutation(len(labels))
    logits, labels = logits[order], labels[order]
    return calibrator.fit(logits[:1000], labels[:1000]), logits[1000:], labels[1000:]


# -- L-BFGS ----------------------------------------------------------------------------------------------

CENTRE = np.array([3.0, -1.0, 0.5])
STEEPNESS = np.array([1.0, 10.0, 100.0])


def bowl(weights):
    away = weights - CENTRE
    return float(STEEPNESS @ away**2), 2 * STEEPNESS * away


@pytest.mark.parametrize("max_iter", [1, 3, 100])
def test_the_trace_begins_at_the_start_and_has_one_value_for_each_callback(max_iter):
    seen = []
    found, report = minimise_convex(bowl, np.zeros(3), max_iter, lambda *step: seen.append(step))
    assert report.trace[0] == bowl(np.zeros(3))[0]
    assert report.trace[-1] == pytest.approx(bowl(found)[0], abs=1e-12)
    assert seen == [(i + 1, max_iter, value) for i, value in enumerate(report.trace[1:])]
    assert report.n_iter == len(seen) <= max_iter
    assert report.converged == (max_iter == 100)
    if report.converged:
        np.testing.assert_allclose(found, CENTRE, atol=1e-6)


@pytest.mark.parametrize(
    ("status", "value", "converged", "smooth_convex"),
    [(0, 1.0, True, True), (1, 1.0, False, False), (2, 1.0, False, True), (0, np.inf, False, False)],
)
def test_a_line_search_without_a_better_point_has_arrived_on_a_convex_loss_only(
    status, value, converged, smooth_convex
):
    result = OptimizeResult(fun=value, success=status == 0, status=status)
    reports = [LBFGSReport.from_result(result, [2.0, 1.0], smooth_convex=convex) for convex in (False, True)]
    assert [report.converged for report in reports] == [converged, smooth_convex]
    assert {report.message for report in reports} == {reports[0].message}
    assert "1 iteration" in reports[0].message


@pytest.mark.parametrize("value", [1e101, -1.7e308])
def test_logits_larger_than_loading_takes_are_refused(value):
    logits, labels = simulate(n=50, n_classes=3)
    fitted = calib.calibrator("temperature").fit(logits, labels)
    beyond = logits.copy()
    beyond[3, 0] = value
    for call in (lambda: calib.calibrator("temperature").fit(beyond, labels), lambda: fitted.predict_proba(beyond)):
        with pytest.raises(CalibrationError, match=r"1 of 50 rows .* beyond 1e\+100"):
            call()
