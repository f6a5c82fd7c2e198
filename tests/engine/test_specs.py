"""What can be asked for, and its key."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from calib.calibrators import backend
from calib.calibrators.backend import device_of
from calib.engine import FitSpec, worker
from calib.evaluation.studies import repeat_task
from calib.export.runtime import ExportedCalibrator
from tests.conftest import simulate


def test_a_key_is_of_the_data_the_method_and_its_parameters_whatever_their_order_and_defaults():
    plain = FitSpec("temperature", {}, "data")
    for same in ({"random_state": 0}, {"device": "auto"}, {"device": "auto", "random_state": 0}):
        assert plain.key == FitSpec("temperature", same, "data", label="mine").key
    both = {"random_state": 3, "device": "cpu"}
    assert (
        FitSpec("temperature", both).key == FitSpec("temperature", dict(reversed(both.items()))).key
    )
    others = (
        FitSpec("identity", {}, "data"),
        FitSpec("temperature", {"random_state": 1}, "data"),
        FitSpec("temperature", {"device": "cpu"}, "data"),
        FitSpec("temperature", {}, "other data"),
    )
    assert len({plain.key, *(other.key for other in others)}) == 5
    assert others[2].title == "Temperature"


@pytest.mark.parametrize(
    ("spec", "present", "fast"),
    [
        (FitSpec("temperature"), False, True),
        (FitSpec("temperature"), True, False),
        (FitSpec("isotonic"), True, True),
        (FitSpec("no such method"), False, False),
        (FitSpec("gpcalib", {"kernel": "rbf"}), False, True),
        (FitSpec("gpcalib", {"kernel": "matern32"}), False, False),
        (FitSpec("gpcalib", {"likelihood": "monte_carlo"}), False, False),
        (FitSpec("gpcalib", {"engine": "gpflow"}), False, False),
    ],
)
def test_a_fit_that_starts_tensorflow_is_not_fast(spec, present, fast, monkeypatch):
    monkeypatch.setattr(backend, "gpu_present", lambda: present)
    assert spec.fast(10**9) is fast


def test_a_fit_names_the_processor_it_was_made_on_wherever_it_is_looked_at(monkeypatch):
    logits, labels = simulate(60)
    with monkeypatch.context() as patch:
        patch.setattr(worker, "cpu_description", lambda: "CPU (64 cores)")
        fitted = worker.fit_calibrator(
            "isotonic", {}, data={"logits": logits, "labels": labels}, callback=print
        )
    assert device_of(pickle.loads(pickle.dumps(fitted))) == "CPU (64 cores)"
    exported = pickle.loads(pickle.dumps(ExportedCalibrator(fitted)))
    assert device_of(exported.calibrator) == "CPU (64 cores)"


def test_studies_report_as_many_steps_as_they_planned():
    logits, labels = simulate(200)
    methods = [("temperature", "temperature", {}), ("isotonic", "isotonic", {})]
    seen: list[tuple[int, int]] = []
    repeat_task(
        *(methods, 0.5, 3, 1),
        data={"logits": logits, "labels": labels, "given_split": np.arange(200) < 90},
        callback=lambda step, total, value: seen.append((step, total)),
    )
    assert len({total for _, total in seen}) == 1
    assert seen[-1][0] == seen[-1][1] and seen == sorted(seen)
