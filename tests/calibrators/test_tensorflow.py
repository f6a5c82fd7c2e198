"""Choosing a device for TensorFlow, and going back to the CPU where the GPU fails."""

from __future__ import annotations

import re

import pytest

from calib.errors import CalibrationError, FitCancelled
from tests.conftest import Later

tf, _tensorflow = Later("tensorflow"), Later("calib.calibrators._tensorflow")

SHAPE = (1000, 50_000)


@pytest.fixture
def one_gpu(monkeypatch):
    """A machine that says it has a GPU; what is placed on it runs on the CPU."""
    monkeypatch.setattr(
        "calib.calibrators._tensorflow._gpus", lambda: [_tensorflow.Device("/CPU:0", "gpu", "Test GPU")]
    )


def exhausted(message: str = "OOM when allocating tensor") -> tf.errors.ResourceExhaustedError:
    return tf.errors.ResourceExhaustedError(None, None, message)


def test_there_is_always_a_cpu_in_words():
    cpu = _tensorflow.list_devices()[-1]
    assert cpu.kind == "cpu"
    assert re.fullmatch(r"CPU \(\d+ cores?\)", cpu.description)


@pytest.mark.parametrize("preference", ["auto", "cpu", "gpu"])
def test_without_a_gpu_every_preference_gives_the_cpu(preference, monkeypatch):
    monkeypatch.setattr(tf.config, "list_physical_devices", lambda kind: [])
    assert _tensorflow.choose(preference).kind == "cpu"


@pytest.mark.parametrize("preference", ["auto", "cpu"])
def test_memory_is_set_to_grow_whatever_runs_first(preference, monkeypatch):
    grown = []
    monkeypatch.setattr(tf.config, "list_physical_devices", lambda kind: ["one"])
    monkeypatch.setattr(tf.config.experimental, "get_device_details", lambda gpu: {"device_name": "Test GPU"})
    monkeypatch.setattr(tf.config.experimental, "set_memory_growth", lambda gpu, on: grown.append((gpu, on)))
    expected = {"auto": _tensorflow.Device("/GPU:0", "gpu", "Test GPU"), "cpu": _tensorflow.list_devices()[-1]}
    assert _tensorflow.choose(preference) == expected[preference]
    assert grown == [("one", True)]


def test_a_gpu_already_in_use_is_no_error(monkeypatch):
    def refuse(*_):
        raise RuntimeError("Physical devices cannot be modified after being initialized")

    monkeypatch.setattr(tf.config, "list_physical_devices", lambda kind: ["one"])
    monkeypatch.setattr(tf.config.experimental, "get_device_details", refuse)
    monkeypatch.setattr(tf.config.experimental, "set_memory_growth", refuse)
    assert _tensorflow.choose("gpu").description == "GPU"


def test_what_was_asked_for_and_given_needs_no_note(one_gpu):
    ran = _tensorflow.run(lambda place: place.kind, "auto", SHAPE)
    assert (ran.result, ran.device, ran.note) == ("gpu", "Test GPU", "")
    ran = _tensorflow.run(lambda place: place.kind, "cpu", SHAPE)
    assert (ran.result, ran.note) == ("cpu", "")


def test_a_gpu_asked_for_and_missing_is_said(monkeypatch):
    monkeypatch.setattr("calib.calibrators._tensorflow._gpus", lambda: [])
    ran = _tensorflow.run(lambda place: place.kind, "gpu", SHAPE)
    assert ran.result == "cpu"
    assert re.fullmatch(r"No NVIDIA GPU was found, so the fit ran on the CPU \(\d+ cores?\)\.", ran.note)
    assert _tensorflow.run(lambda place: place.kind, "auto", SHAPE).note == ""


def internal(message: str) -> tf.errors.InternalError:
    return tf.errors.InternalError(None, None, message)


def wrapped() -> Exception:
    error = RuntimeError("the optimiser failed")
    error.__cause__ = exhausted()
    return error


@pytest.mark.parametrize(
    "error",
    [
        exhausted,
        wrapped,
        lambda: internal("CUDA_ERROR_OUT_OF_MEMORY: out of memory"),
        lambda: internal("Failed copying input: Dst tensor is not initialized."),
    ],
    ids=["exhausted", "wrapped", "driver", "copy"],
)
def test_a_gpu_without_enough_memory_hands_over_to_the_cpu_in_words(error, one_gpu):
    tried = []

    def compute(place: _tensorflow.Device) -> str:
        tried.append(place.kind)
        if place.kind == "gpu":
            raise error()
        return "done"

    ran = _tensorflow.run(compute, "auto", SHAPE)
    assert (ran.result, tried) == ("done", ["gpu", "cpu"])
    assert ran.device.startswith("CPU (")
    assert ran.note.startswith(
        "The GPU (Test GPU) ran out of memory on 1,000 rows x 50,000 classes, so the fit ran on the CPU ("
    )


@pytest.mark.parametrize("error", [FitCancelled, lambda: CalibrationError("no"), lambda: internal("bug")])
def test_other_errors_are_not_tried_again(error, one_gpu):
    tried = []

    def compute(place: _tensorflow.Device) -> None:
        tried.append(place.kind)
        raise error()

    with pytest.raises(type(error())):
        _tensorflow.run(compute, "auto", SHAPE)
    assert tried == ["gpu"]


def test_a_machine_without_enough_memory_says_what_to_do(one_gpu):
    def compute(place: _tensorflow.Device) -> None:
        raise exhausted()

    with pytest.raises(CalibrationError, match=r"1,000 rows x 50,000 classes needs more memory .* fewer calibration"):
        _tensorflow.run(compute, "auto", SHAPE)
