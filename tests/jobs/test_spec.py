import dataclasses

import numpy as np
import pytest

from calib import hardware
from calib.jobs import FitSpec


def test_key_ignores_order_defaults_and_label():
    spec = FitSpec("temperature", {"random_state": 3, "max_log_temperature": 2.0}, "data")
    assert spec.key == FitSpec("temperature", {"max_log_temperature": 2.0, "random_state": 3}, "data", label="mine").key
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
        FitSpec("temperature", {"max_log_temperature": 4.0}, "data"),
        FitSpec("temperature", {}, "other data"),
    ],
)
def test_key_differs_where_the_fit_differs(other):
    assert FitSpec("temperature", {}, "data").key != other.key


def test_a_wrong_parameter_has_a_key_too():
    assert FitSpec("temperature", {"no_such": 1}, "data").key != FitSpec("temperature", {}, "data").key


def test_title():
    assert FitSpec("temperature", {"random_state": 5}).title == "Temperature"
    assert FitSpec("temperature", {"max_log_temperature": 2.0}).title == "Temperature (max_log_temperature=2.0)"
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
        (FitSpec("gpcalib", {"device": "cpu"}), False, False),
        (FitSpec("imax", {"representatives": "gpcalib"}), False, False),
        (FitSpec("imax", {"representatives": "isotonic"}), True, True),
        (FitSpec("imax", {"representatives": "temperature"}), True, False),
        (FitSpec("no such method"), False, False),
    ],
)
def test_a_fit_that_starts_tensorflow_is_not_fast(spec, present, fast, monkeypatch):
    monkeypatch.setattr(hardware, "gpu_present", lambda: present)
    assert spec.fast(10**9) is fast


def test_few_logits_leave_the_gpu_alone_unless_it_is_asked_for(monkeypatch):
    monkeypatch.setattr(hardware, "gpu_present", lambda: True)
    assert FitSpec("vector").fast(10_000)
    assert not FitSpec("vector", {"device": "gpu"}).fast(10_000)


def test_frozen_and_hashable():
    spec = FitSpec("temperature", {"random_state": 5}, "data")
    with pytest.raises(dataclasses.FrozenInstanceError):
        spec.method = "identity"
    assert hash(spec) == hash(FitSpec("temperature", {"random_state": 5}, "data"))
