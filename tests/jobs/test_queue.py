"""The queue of fits: lanes, cancellation, shared arrays; and nothing loads TensorFlow for a fit on the CPU."""

from __future__ import annotations

import logging
import os
import pickle
import subprocess
import sys
import textwrap
import threading
from concurrent.futures import Future

import numpy as np
import pytest
import slow_methods

from calib import hardware
from calib.jobs import FitQueue, FitSpec, Job
from calib.jobs.executor import LocalExecutor
from calib.jobs.protocol import Progress, Run
from calib.jobs.queue import LARGE, share_arrays
from calib.registry import calibrator
from tests.conftest import ROOT, wait_until
from tests.jobs.conftest import HERE


@pytest.fixture(scope="module")
def executor():
    """One for all tests of this file, since each worker that starts imports NumPy anew."""
    executor = LocalExecutor(n_fast=1, python_path=[HERE])
    yield executor
    executor.shutdown()


@pytest.fixture
def new_workers(executor):
    """Workers that have imported nothing yet, and that no later test is given."""

    def end():
        executor.rest()
        wait_until(lambda: not any(worker._process for worker in executor._workers))

    end()
    yield
    end()


def running(job: Job) -> bool:
    return job.state == "running" and job.step > 0


def test_a_fit_gives_what_the_library_gives(queue, wait, overconfident):
    import calib

    job = wait(queue.submit(FitSpec("temperature", {}, "data"), *overconfident))
    assert job.state == "done"
    assert job.fraction == 1.0
    assert job.calibrator.temperature_ == calib.calibrator("temperature").fit(*overconfident).temperature_
    assert job.cpu_seconds > 0
    assert job.message.startswith("Fitted in ")


class Clock:
    """A clock on which only sleeping takes time, in place of ``time``."""

    now = 0.0

    def sleep(self, seconds):
        self.now += seconds

    def monotonic(self):
        return self.now

    process_time = monotonic


class Here:
    """An executor that runs a task at once, in this process."""

    def submit(self, function, /, *args, data, lane, on_progress, owners):
        on_progress(Progress(message="Starting."))
        reply = Run(on_progress, lambda: False)(pickle.dumps((function, args)), data.arrays)
        on_progress(Progress(cpu_seconds=reply.cpu_seconds))
        future = Future()
        future.set_result(pickle.loads(reply.value))
        return future


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    for module in ("calib.jobs.protocol", "calib.jobs.queue", "slow_methods"):
        monkeypatch.setattr(f"{module}.time", clock)
    return clock


def test_a_fit_is_not_charged_with_the_start_of_its_worker(clock, data):
    queue = FitQueue(Here(), fit=slow_methods.fit)
    (job,) = queue.snapshot([queue.submit(FitSpec("starts_slowly", {}, "data"), *data)])
    assert (job.state, job.seconds, job.cpu_seconds) == ("done", 2.0, 2.0)
    assert clock.now == 8.0


def test_progress_never_goes_back_and_moves(queue, submit, wait):
    key = submit("steps")
    seen = []
    wait(key, lambda job: seen.append(job) or not job.active)
    fractions = [job.fraction for job in seen]
    assert fractions == sorted(fractions)
    assert len(set(fractions)) > 5
    assert seen[-1].fraction == 1.0
    states = [job.state for job in seen]
    assert states == sorted(states, key=["queued", "running", "done"].index)
    halfway = next(job for job in seen if job.step)
    assert (halfway.total, halfway.value) == (100, 1.0 / halfway.step)
    assert halfway.message == f"Step {halfway.step} of 100."


def test_progress_messages_are_throttled(clock, data):
    seen = []
    call = pickle.dumps((slow_methods.fit, ("steps", {"n": 2000, "seconds": 0.001})))
    Run(seen.append, lambda: False)(call, {"logits": data[0], "labels": data[1]})
    assert clock.now == pytest.approx(2)
    assert 35 <= len(seen) <= 40  # 20 a second


@pytest.mark.parametrize("method", ["steps", "deaf"])
def test_cancel_of_a_fit_that_listens_and_of_one_that_does_not(submit, wait, queue, method):
    key = submit(method, n=10**6)
    wait(key, running)
    queue.cancel(key)
    job = wait(key)
    assert job.state == "cancelled"
    assert job.calibrator is None
    assert wait(submit("steps", n=2)).state == "done"


def test_a_cooperative_cancel_keeps_the_worker(submit, wait, queue, executor):
    key = submit("steps", n=10**6)
    wait(key, running)
    before = [worker._process.pid for worker in executor._workers if worker._process]
    queue.cancel(key)
    wait(key)
    assert before == [worker._process.pid for worker in executor._workers if worker._process]


def test_cancel_of_a_waiting_fit_is_immediate(submit, wait, queue):
    first = submit("steps", n=10**6)
    second = submit("steps", n=2 * 10**6)
    wait(first, running)
    queue.cancel(second)
    (job,) = queue.snapshot([second])
    assert job.state == "cancelled"
    queue.cancel(first)
    wait(first)


def test_cancel_right_after_submit(submit, wait, queue):
    for n in range(1000, 1010):
        key = submit("steps", n=n)
        queue.cancel(key)
        assert wait(key).state == "cancelled"


def test_one_failure_is_a_sentence_and_the_others_go_on(submit, wait, caplog):
    with caplog.at_level(logging.CRITICAL, "calib.jobs"):
        keys = [submit(method) for method in ("refuses", "breaks", "exits", "dies", "prints", "temperature")]
        jobs = [wait(key) for key in keys]
    assert [job.state for job in jobs] == ["failed"] * 4 + ["done"] * 2
    assert jobs[0].message == "Only 3 rows; use at least 10."
    assert jobs[1].message == (
        "breaks failed unexpectedly: ZeroDivisionError: first line of a file; the other methods are not affected."
    )
    assert "SystemExit: 3" in jobs[2].message
    assert "exit code 7" in jobs[3].message
    assert not any("\n" in job.message or "Traceback" in job.message for job in jobs)


def test_the_traceback_goes_to_the_log(submit, wait, caplog):
    wait(submit("breaks"))
    assert "Traceback" in caplog.text
    assert "slow_methods.py" in caplog.text


def test_a_wrong_parameter_or_method_is_a_sentence(submit, wait):
    assert "no parameter 'no_such'" in wait(submit("temperature", no_such=1)).message
    assert "no calibrator 'nothing'" in wait(submit("nothing")).message


def test_a_killed_worker_is_replaced(new_workers, submit, wait, executor):
    key = submit("deaf")
    wait(key, running)
    (process,) = [worker._process for worker in executor._workers if worker._process]
    os.kill(process.pid, 9)
    job = wait(key)
    assert job.state == "failed"
    assert "out of memory" in job.message
    assert wait(submit("steps", n=2)).state == "done"


def test_the_same_fit_is_not_paid_twice(submit, wait, queue, tmp_path):
    file = tmp_path / "runs"
    first = submit("counts", file=str(file))
    assert submit("counts", file=str(file)) == first
    done = wait(first)
    assert submit("counts", file=str(file)) == first
    assert queue.snapshot([first]) == [done]
    assert file.read_text() == "run\n"


def test_many_threads_submit_the_same_fit(submit, wait, queue, tmp_path):
    file = tmp_path / "runs"
    keys = []
    threads = [threading.Thread(target=lambda: keys.append(submit("counts", file=str(file)))) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(keys) == 20
    assert len(set(keys)) == 1
    wait(keys[0])
    assert file.read_text() == "run\n"


def test_retry_and_submit_run_a_cancelled_fit_again(submit, wait, queue):
    key = submit("steps", n=50)
    queue.cancel(key)
    assert wait(key).state == "cancelled"
    queue.retry(key)
    assert wait(key).state == "done"
    queue.retry(key)
    assert queue.snapshot([key])[0].state == "done"


def test_what_is_still_being_cancelled_starts_anew_when_it_is_asked_for_again(submit, wait, queue):
    key = submit("steps", n=20, seconds=0.05)  # far from its next callback, at which it stops
    wait(key, running)
    queue.cancel(key)
    assert submit("steps", n=20, seconds=0.05) == key
    assert wait(key).state == "done"


def test_forget(submit, wait, queue):
    done = submit("steps", n=2)
    wait(done)
    long = submit("steps", n=10**6)
    wait(long, running)
    queue.forget(done)
    queue.forget(long)
    queue.forget("never heard of")
    assert queue.snapshot() == []
    assert wait(submit("steps", n=3)).state == "done"


def test_a_fast_method_does_not_wait_for_a_slow_one(submit, wait, queue):
    slow = submit("deaf")
    wait(slow, running)
    assert wait(submit("temperature")).state == "done"
    assert queue.snapshot([slow])[0].state == "running"
    queue.cancel(slow)
    wait(slow)


def test_a_fit_for_the_gpu_waits_for_the_worker_of_slow_fits(data, monkeypatch):
    class Recorder:
        def __init__(self):
            self.lanes = []

        def submit(self, function, /, *args, data, lane, on_progress, owners):
            self.lanes.append(lane)
            return Future()

    monkeypatch.setattr(hardware, "gpu_present", lambda: True)
    recorder = Recorder()
    queue = FitQueue(recorder)
    for device in ("auto", "cpu", "gpu"):
        queue.submit(FitSpec("temperature", {"device": device}, "data"), *data)
    assert recorder.lanes == ["fast", "fast", "slow"]


def test_each_fit_gets_its_own_data(queue, wait, data):
    logits, labels = data
    keys = {
        scale: queue.submit(
            FitSpec("temperature", {}, f"scaled {scale}"), logits * scale, (logits.argmax(1) + labels // 2) % 3
        )
        for scale in (1.0, 2.0, 4.0)
    }
    temperatures = [wait(keys[scale]).calibrator.temperature_ for scale in (1.0, 2.0, 4.0)]
    np.testing.assert_allclose(temperatures, temperatures[0] * np.array([1, 2, 4]), rtol=1e-4)


def test_finished_fits_are_kept_up_to_a_bound(executor, data):
    queue = FitQueue(executor, max_finished=2)
    keys = []
    for seed in range(4):
        keys.append(queue.submit(FitSpec("identity", {"random_state": seed}, "data"), *data))
        wait_until(lambda: queue.snapshot([keys[-1], keys[0]])[0].state == "done")  # somebody still looks at the first
    assert [job.key for job in queue.snapshot(keys)] == [keys[0], keys[3]]


def test_starting_tensorflow_is_said(new_workers, submit, wait):
    key = submit("imports_tensorflow")
    job = wait(key, lambda job: job.message == "Starting TensorFlow." or not job.active)
    assert job.state == "running"
    wait(key)


def test_no_call_waits_for_a_fit(submit, wait, queue):
    key = submit("deaf")
    wait(key, running)
    for _ in range(100):
        queue.snapshot()
        submit("deaf")
    assert queue.snapshot([key])[0].state == "running"
    queue.cancel(key)


@pytest.fixture
def images(rng):
    """Calibration rows with a training set of 600 images of 16 x 16 in float64, 1.2 MB."""
    n, labels = 600, np.arange(600) % 3
    train = rng.normal(size=(n, 16, 16)) + labels[:, None, None]
    features = rng.normal(size=(60, 16, 16)) + (np.arange(60) % 3)[:, None, None]
    assert train.nbytes >= LARGE
    extras = {"features": features, "train_features": train, "train_labels": labels}
    return rng.normal(size=(60, 3)), np.arange(60) % 3, extras


def test_a_geometric_fit_refers_to_the_training_set_it_was_given(queue, wait, images):
    logits, labels, extras = images
    jobs = [
        wait(queue.submit(FitSpec("geometric", {"map": kind}, "images"), logits, labels, extras))
        for kind in ("isotonic", "sigmoid")
    ]
    for job in jobs:
        assert job.state == "done", job.message
        assert np.shares_memory(job.calibrator.reduced_["train_features"], extras["train_features"])
        here = calibrator("geometric", map=job.spec.params["map"]).fit(logits, labels, **extras)
        given = logits, extras["features"]
        np.testing.assert_array_equal(job.calibrator.predict_confidence(*given), here.predict_confidence(*given))


def test_arrays_of_other_content_are_left_alone(images):
    logits, labels, extras = images
    made = calibrator("geometric").fit(logits, labels, **extras)
    carried = made.reduced_["train_features"] = made.reduced_["train_features"].copy()
    share_arrays(made, {"train_features": extras["train_features"] + 1})
    share_arrays(made, {"train_features": extras["train_features"].astype("f4")})
    assert made.reduced_["train_features"] is carried


def test_cancel_while_tensorflow_is_imported_for_a_fit(new_workers, queue, submit, wait, tmp_path):
    (tmp_path / "tensorflow.py").write_text("import time\ntime.sleep(3600)\n")
    key = submit("starts_tensorflow", folder=str(tmp_path))
    wait(key, lambda job: job.message == "Starting TensorFlow.")
    queue.cancel(key)
    assert wait(key).state == "cancelled"


APP = """
    import slow_methods, sys, time
    from functools import partial
    from pathlib import Path
    import numpy as np
    from calib.jobs import FitQueue, FitSpec
    from calib.jobs.executor import LocalExecutor
    from calib.jobs.protocol import Data

    def ended(key):
        while queue.snapshot([key])[0].active:
            time.sleep(0.02)
        (job,) = queue.snapshot([key])
        return job

    executor = LocalExecutor(n_fast=1, python_path=sys.argv[1:])
    queue = FitQueue(executor, fit=slow_methods.fit)
    generator = np.random.default_rng(0)
    data = generator.normal(size=(80, 3)), generator.integers(0, 3, 80)
    queue.warm_up()
    queue.warm_up()
    print(ended(queue.submit(FitSpec("gpcalib", {"max_iter": 5}, "data"), *data)).state)
    for name in ("scipy", "tensorflow", "gpflow"):
        loaded = partial(slow_methods.loaded, name=name)
        print(executor.submit(loaded, data=Data("", {}), lane="fast", on_progress=lambda progress: None).exception())
    print(sorted({"tensorflow", "gpflow", "scipy", "sklearn"} & set(sys.modules)))
    queue.shutdown()
"""


def test_a_warm_worker_fits_gpcalib_without_tensorflow():
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(APP), HERE],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), HERE])},
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    assert done.stdout.splitlines() == [
        "done",
        "None",
        "tensorflow is not loaded.",
        "gpflow is not loaded.",
        "[]",
    ]


def test_what_a_page_waits_for_is_computed_while_all_other_workers_are_busy(submit, wait, queue):
    runs, waits = submit("steps", n=10**6), submit("steps", n=10**6 + 1)
    wait(runs, running)
    assert queue.compute(sum, [1, 2, 3]).result(timeout=300) == 6
    assert [job.state for job in queue.snapshot([runs, waits])] == ["running", "queued"]
    for key in (waits, runs):
        queue.cancel(key)
