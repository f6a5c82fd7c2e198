"""What can be asked for, its key, and the parts of a study."""

from __future__ import annotations

import dataclasses
import pickle
from functools import partial

import numpy as np
import pytest

from calib.calibrators import backend
from calib.calibrators.backend import device_of
from calib.engine import FitSpec, worker
from calib.engine.clusters import memory_bytes
from calib.engine.worker import Parts, in_parts, parts_of
from calib.errors import CalibrationError
from calib.evaluation.studies import repeat_task, size_task
from calib.export import runtime
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


def test_a_wrong_parameter_has_a_key_too():
    assert FitSpec("temperature", {"no_such": 1}, "data").key != FitSpec("temperature", {}, "data").key


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
        (FitSpec("temperature", {"device": "gpu"}), False, True),
        (FitSpec("isotonic"), True, True),
        (FitSpec("bayes_iso", {"scheme": "auto"}), True, True),
        (FitSpec("gpcalib"), False, True),
        (FitSpec("gpcalib"), True, False),
        (FitSpec("gpcalib", {"device": "cpu"}), True, True),
        (FitSpec("imax", {"representatives": "gpcalib"}), True, False),
        (FitSpec("imax", {"representatives": "isotonic"}), True, True),
        (FitSpec("imax", {"representatives": "temperature"}), True, False),
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
    exported = runtime.from_record(*runtime.to_record(ExportedCalibrator(fitted)))
    assert device_of(exported.calibrator) == "CPU (64 cores)"


def double(numbers, *, data):
    return Parts(double_one, [(number,) for number in numbers], [1] * len(numbers), sum)


@in_parts(double)
def doubled(numbers, *, data, callback):
    return sum(double_one(number, data=data, callback=callback) for number in numbers)


def double_one(number, *, data, callback):
    return number * data["by"]


def test_parts_joined_are_the_whole():
    data = {"by": 2}
    parts = parts_of(doubled, ([1, 2, 3],), data)
    made = [parts.function(*arguments, data=data, callback=None) for arguments in parts.arguments]
    assert parts.join(made) == doubled([1, 2, 3], data=data, callback=None) == 12


def test_an_unmarked_task_is_one_part():
    parts = parts_of(double_one, (1,), {})
    assert (parts.function, parts.arguments, parts.join([2])) == (double_one, [(1,)], 2)


METHODS = [("temperature", "temperature", {}), ("isotonic", "isotonic", {})]


@pytest.mark.parametrize(
    ("task", "arguments", "n_parts"),
    [
        (repeat_task, (METHODS, 0.5, 3, 1), 3),
        (repeat_task, (METHODS, 40, 2, 1), 2),
        (size_task, (METHODS, 0.5, 0, 3, 1), 3),
        (size_task, (METHODS, None, 0, 2, 1), 2),
        (size_task, ([], None, 0, 2, 1), 2),
    ],
)
def test_studies_are_divided_into_parts_that_report_as_many_steps_as_planned(task, arguments, n_parts):
    import pandas as pd

    logits, labels = simulate(200)
    data = {"logits": logits, "labels": labels, "given_split": np.arange(200) < 90}
    parts = parts_of(task, arguments, data)
    assert len(parts.arguments) == len(parts.steps) == n_parts
    made = []
    for planned, part in zip(parts.steps, parts.arguments, strict=True):
        seen: list[tuple[int, int]] = [(0, planned)]
        made.append(parts.function(*part, data=data, callback=partial(remember, seen)))
        assert seen[-1] == (planned, planned)
    whole = task(*arguments, data=data, callback=lambda step, total, value: None)
    tables = [table.drop(columns="fit_seconds", errors="ignore") for table in (parts.join(made), whole)]
    pd.testing.assert_frame_equal(*tables, check_exact=True)


def remember(seen, step, total, value):
    seen.append((step, total))


def test_what_cannot_be_studied_is_refused_before_it_is_parts_of():
    logits, labels = simulate(100)
    with pytest.raises(CalibrationError, match="1 draw shows no spread"):
        parts_of(size_task, (METHODS, 0.5, 0, 1, 1), {"logits": logits, "labels": labels})


@pytest.mark.parametrize(("name", "text"), [("memory.max", "2000000\n"), ("memory/memory.limit_in_bytes", "2000000\n")])
def test_a_container_has_the_memory_that_it_is_limited_to(name, text, tmp_path):
    machine = memory_bytes(tmp_path)
    assert machine > 1e8
    limit = tmp_path / "sys/fs/cgroup" / name
    limit.parent.mkdir(parents=True)
    limit.write_text(text)
    assert memory_bytes(tmp_path) == 2_000_000
    for unlimited in ("max\n", "9223372036854771712\n"):
        limit.write_text(unlimited)
        assert memory_bytes(tmp_path) == machine
