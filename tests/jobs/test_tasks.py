"""What workers run, without a worker."""

import pickle

from calib.export import runtime
from calib.export.runtime import ExportedCalibrator
from calib.hardware import device_of
from calib.jobs import tasks
from tests.conftest import simulate


def test_a_fit_names_the_processor_it_was_made_on_wherever_it_is_looked_at(monkeypatch):
    logits, labels = simulate(60)
    with monkeypatch.context() as worker:
        worker.setattr(tasks, "cpu_description", lambda: "CPU (64 cores)")
        fitted = tasks.fit_calibrator("isotonic", {}, data={"logits": logits, "labels": labels}, callback=print)
    assert device_of(pickle.loads(pickle.dumps(fitted))) == "CPU (64 cores)"
    exported = runtime.from_record(*runtime.to_record(ExportedCalibrator(fitted)))
    assert device_of(exported.calibrator) == "CPU (64 cores)"
