"""What can be asked for, and its key."""

from __future__ import annotations

import dataclasses
import pickle

import numpy as np
import pytest

from calib.calibrators import backend
from calib.calibrators.backend import device_of
from calib.engine import FitSpec, worker
from calib.evaluation.studies import repeat_task
from calib.export.runtime import ExportedCalibrator
from tests.conftest import simulate


def test_key_ignores_order_defaults_and_label():
    spec = FitSpec("temperature", {"random_state": 3, "device": "cpu"}, "data")
    assert spec.key == FitSpec("temperature", {"device": "cpu", "random_state": 3}, "data", label="mine").key
    assert FitSpec("temperature", {}, "data").key == FitSpec("temperature", {"random_state": 0}, "data").key


def test_key_takes_numpy_numbers_for_numbers():
    assert (
        FitSpec("temperature", {"random_state": np.int64(3)}, "data").key
        == FitSpec("temperature", {"random_state": 3}, "data").key
    )


@pytest.mark.parametrize(
    "other",
    [
        FitSpec("identity", {}, "data"),
        FitSpec("temperature", {"random_state": 1}, "data"),
        FitSpec("temperature", {"device": "cpu"}, "data"),
        FitSpec("temperature", {}, "other data"),
    ],
)
def test_key_differs_where_the_fit_differs(other):
    assert FitSpec("temperature", {}, "data").key != other.key


def test_title():
    assert FitSpec("temperature", {"random_state": 5}).title == "Temperature"
    assert FitSpec("gpcalib", {"n_inducing": 9}).title == "GPcalib (n_inducing=9)"
    assert FitSpec("temperature", label="mine").title == "mine"


def test_another_device_is_another_fit_of_the_same_name():
    assert FitSpec("temperature", {"device": "cpu"}, "data").key != FitSpec("temperature", {}, "data").key
    assert FitSpec("temperature", {"device": "auto"}, "data").key == FitSpec("temperature", {}, "data").key
    assert FitSpec("temperature", {"device": "cpu"}).title == "Temperature"


@pytest.mark.parametrize(
    ("spec", "present", "fast"),
    [
        (FitSpec("temperature"), False, True),
        (FitSpec("temperature"), True, False),
        (FitSpec("temperature", {"device": "cpu"}), True, True),
        (FitSpec("isotonic"), True, True),
        (FitSpec("gpcalib"), False, True),
        (FitSpec("gpcalib"), True, False),
        (FitSpec("no such method"), False, False),
    ],
)
def test_a_fit_that_starts_tensorflow_is_not_fast(spec, present, fast, monkeypatch):
    monkeypatch.setattr(backend, "gpu_present", lambda: present)
    assert spec.fast(10**9) is fast


def test_few_logits_leave_the_gpu_alone_unless_it_is_asked_for(monkeypatch):
    monkeypatch.setattr(backend, "gpu_present", lambda: True)
    assert FitSpec("vector").fast(10_000)
    assert not FitSpec("vector", {"device": "gpu"}).fast(10_000)
    assert FitSpec("gpcalib").fast(10**6)


def test_frozen_and_hashable():
    spec = FitSpec("temperature", {"random_state": 5}, "data")
    with pytest.raises(dataclasses.FrozenInstanceError):
        spec.method = "identity"
    assert hash(spec) == hash(FitSpec("temperature", {"random_state": 5}, "data"))


def test_a_fit_names_the_processor_it_was_made_on_wherever_it_is_looked_at(monkeypatch):
    logits, labels = simulate(60)
    with monkeypatch.context() as patch:
        patch.setattr(worker, "cpu_description", lambda: "CPU (64 cores)")
        fitted = worker.fit_calibrator("isotonic", {}, data={"logits": logits, "labels": labels}, callback=print)
    assert device_of(pickle.loads(pickle.dumps(fitted))) == "CPU (64 cores)"
    exported = pickle.loads(pickle.dumps(ExportedCalibrator(fitted)))
    assert device_of(exported.calibrator) == "CPU (64 cores)"


METHODS = [("temperature", "temperature", {}), ("isotonic", "isotonic", {})]


@pytest.mark.parametrize(
    ("task", "arguments"),
    [
        (repeat_task, (METHODS, 0.5, 3, 1)),
        (repeat_task, (METHODS, 0.5, 3, 1, None, (50, 100))),
        (repeat_task, ([], 0.5, 2, 1)),
    ],
)
def test_studies_report_as_many_steps_as_they_planned(task, arguments):
    logits, labels = simulate(200)
    seen: list[tuple[int, int]] = []
    task(
        *arguments,
        data={"logits": logits, "labels": labels, "given_split": np.arange(200) < 90},
        callback=lambda step, total, value: seen.append((step, total)),
    )
    assert len({total for _, total in seen}) == 1
    assert seen[-1][0] == seen[-1][1] and seen == sorted(seen)
