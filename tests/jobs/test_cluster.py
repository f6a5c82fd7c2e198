"""Fits on a real scheduler with two real workers: the same numbers, progress, cancel, and workers that die."""

from __future__ import annotations

import os
import signal
from importlib import import_module
from pathlib import Path

import pandas as pd
import pytest

import calib
from calib.evaluation import Evaluation
from calib.evaluation.compare import compare_evaluations
from calib.evaluation.studies import repeat_task, size_task
from calib.jobs import FitQueue, FitSpec, Job, TaskSpec
from calib.jobs.dask import DaskExecutor
from calib.jobs.dask_cluster import Cluster
from calib.jobs.executor import LocalExecutor, Place
from tests.conftest import wait_until

pytest.importorskip("distributed")
HERE = Path(__file__).parent
slow_methods = import_module("slow_methods")
cluster_processes = import_module("cluster_processes")


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cluster")
    with cluster_processes.scheduler(folder) as address, cluster_processes.workers(folder, address):
        yield address


@pytest.fixture(scope="module")
def executor(address):
    executor = DaskExecutor(address, local=lambda: pytest.fail("ran on this machine"))
    wait_until(lambda: executor.place().cluster == "cluster of 2 workers")
    yield executor
    executor.shutdown()


@pytest.fixture
def queue(executor):
    return FitQueue(executor, fit=slow_methods.fit)


def running(job: Job) -> bool:
    return job.state == "running" and job.step > 0


def pid_in(file: Path, count: int = 1) -> int:
    """The process id that a task wrote, the ``count``-th time it was started."""
    wait_until(lambda: file.exists() and len(file.read_text().split()) >= count)
    return int(file.read_text().split()[-1])


METHODS = ("identity", "temperature", "isotonic", "bayes_iso")


def test_the_same_comparison_gives_the_same_numbers_as_here(queue, wait, overconfident):
    logits, labels = overconfident
    calibration, test = (logits[:300], labels[:300]), (logits[300:], labels[300:])
    keys = [queue.submit(FitSpec(method, {"random_state": 3}, "comparison"), *calibration) for method in METHODS]
    jobs = [wait(key) for key in keys]
    assert [job.state for job in jobs] == ["done"] * len(METHODS)
    there, here = (
        compare_evaluations({method: Evaluation.from_calibrator(fitted, *test) for method, fitted in fits.items()})
        for fits in (
            {method: job.calibrator for method, job in zip(METHODS, jobs, strict=True)},
            {method: calib.calibrator(method, random_state=3).fit(*calibration) for method in METHODS},
        )
    )
    pd.testing.assert_frame_equal(there, here, check_exact=True)


STUDIES = {
    "repeated splits": (repeat_task, ([("temperature", "temperature", {}), ("isotonic", "isotonic", {})], 0.5, 3, 1)),
    "size curve": (size_task, ([("temperature", "temperature", {})], 0.5, 0, 2, 1)),
}


@pytest.mark.long
@pytest.mark.parametrize("name", ["repeated splits", pytest.param("size curve", marks=pytest.mark.long)])
def test_a_study_gives_the_same_table_as_here(queue, wait, overconfident, name):
    function, arguments = STUDIES[name]
    logits, labels = overconfident
    job = wait(queue.submit(TaskSpec(function, arguments, "study", name), logits, labels))
    assert job.state == "done", job.message
    here = function(*arguments, data={"logits": logits, "labels": labels}, callback=lambda step, total, value: None)
    tables = [table.drop(columns="fit_seconds", errors="ignore") for table in (job.result, here)]
    pd.testing.assert_frame_equal(*tables, check_exact=True)


@pytest.mark.long
def test_parts_of_a_study_run_on_both_workers(queue, wait, data, tmp_path):
    file = tmp_path / "parts"
    key = queue.submit(TaskSpec(slow_methods.study, (str(file), 40, 2), "study of parts"), *data)
    seen = []
    done = wait(key, lambda job: seen.append(job) or not job.active)
    assert done.result == [(part, data[1].sum()) for part in range(4)]
    started = [line.split(":") for line in file.read_text().split()]
    assert sorted(part for part, _ in started) == list("0123")
    assert len({pid for _, pid in started}) == 2
    fractions = [job.fraction for job in seen]
    assert fractions == sorted(fractions) and len(set(fractions)) > 5
    halfway = next(job for job in seen if job.step)
    assert (halfway.total, halfway.message) == (160, f"Step {halfway.step} of 160.")


@pytest.mark.long
def test_cancel_of_a_study_ends_all_of_its_parts(queue, submit, wait, data, tmp_path):
    file = tmp_path / "parts"
    key = queue.submit(TaskSpec(slow_methods.study, (str(file), 10**6), "study that is cancelled"), *data)
    wait(key, running)
    queue.cancel(key)
    assert queue.snapshot([key])[0].state == "cancelled"
    # Two tasks that need a worker each are done though the parts would take hours; the last two parts never start.
    assert [wait(submit("steps", n=4 + n)).state for n in range(2)] == ["done", "done"]
    assert len(file.read_text().split()) <= 2


@pytest.mark.long
def test_a_study_survives_a_worker_that_dies(queue, wait, data, tmp_path):
    file = tmp_path / "parts"
    key = queue.submit(TaskSpec(slow_methods.study, (str(file), 150), "study with a loss"), *data)
    wait(key, running)
    os.kill(int(file.read_text().split()[0].split(":")[1]), signal.SIGKILL)
    job = wait(key)
    assert (job.state, job.result) == ("done", [(part, data[1].sum()) for part in range(4)])
    started = [line.split(":")[0] for line in file.read_text().split()]
    assert sorted(set(started)) == list("0123")
    assert len(started) == 5  # the part that was lost, and no other, started again


@pytest.mark.long
def test_a_real_study_with_a_worker_killed_gives_the_same_table(executor, queue, wait, overconfident):
    logits, labels = overconfident
    arguments = ([("isotonic", "isotonic", {}), ("bbq", "bbq", {})], 0.5, 6, 4)
    pids = list(executor._connection.cluster()._client.run(os.getpid).values())
    key = queue.submit(TaskSpec(repeat_task, arguments, "study", "with a loss"), logits, labels)
    wait(key, running)
    os.kill(pids[0], signal.SIGKILL)
    job = wait(key)
    assert job.state == "done", job.message
    assert (job.step, job.total) == (18, 18)
    data = {"logits": logits, "labels": labels}
    here = repeat_task(*arguments, data=data, callback=lambda step, total, value: None)
    tables = [table.drop(columns="fit_seconds") for table in (job.result, here)]
    pd.testing.assert_frame_equal(*tables, check_exact=True)


def test_what_a_study_refuses_is_a_sentence(queue, wait, data):
    job = wait(queue.submit(TaskSpec(repeat_task, ([], 0.5, 1, 0), "study", "refused"), *data))
    assert (job.state, job.message) == ("failed", "1 split shows no spread; repeat at least twice.")


def test_progress_arrives_and_never_goes_back(submit, wait):
    key = submit("steps", n=60)
    seen = []
    done = wait(key, lambda job: seen.append(job) or not job.active)
    fractions = [job.fraction for job in seen]
    assert fractions == sorted(fractions)
    assert len(set(fractions)) > 5
    assert (done.state, done.fraction) == ("done", 1.0)
    halfway = next(job for job in seen if job.step)
    assert (halfway.total, halfway.value, halfway.message) == (60, 1.0 / halfway.step, f"Step {halfway.step} of 60.")
    assert done.cpu_seconds > 0


def test_failures_are_sentences(submit, wait):
    assert wait(submit("refuses")).message == "Only 3 rows; use at least 10."
    message = wait(submit("breaks")).message
    assert (
        message
        == "breaks failed unexpectedly: ZeroDivisionError: first line of a file; the other methods are not affected."
    )
    assert "SystemExit: 3" in wait(submit("exits")).message


def test_cancel_of_fits_that_run_and_wait(queue, submit, wait, tmp_path):
    two = [submit("steps", n=10**6 + n) for n in range(2)]
    for key in two:
        wait(key, running)
    waiting = submit("counts", file=str(tmp_path / "runs"))
    assert queue.snapshot([waiting])[0].state == "queued"
    for key in [waiting, *two]:
        queue.cancel(key)
    assert [job.state for job in queue.snapshot([waiting, *two])] == ["cancelled"] * 3
    # The workers stopped too: two tasks that need one each are done though the cancelled ones would take hours.
    assert [wait(submit("steps", n=2 + n)).state for n in range(2)] == ["done", "done"]
    assert not (tmp_path / "runs").exists()
    assert [job.state for job in queue.snapshot([waiting, *two])] == ["cancelled"] * 3


def test_a_cancelled_fit_runs_when_tried_again(queue, submit, wait):
    key = submit("steps", n=30)
    wait(key, running)
    queue.cancel(key)
    queue.retry(key)
    assert wait(key).state == "done"


def test_cancel_of_a_fit_that_does_not_listen(queue, submit, wait, tmp_path):
    key = submit("deaf", seconds=3)
    wait(key, running)
    queue.cancel(key)
    assert queue.snapshot([key])[0].state == "cancelled"
    assert wait(submit("temperature")).state == "done"  # on the other worker


def test_data_go_to_the_cluster_once(address, overconfident, wait, monkeypatch):
    import distributed

    sent = []
    scatter = distributed.Client.scatter
    monkeypatch.setattr(distributed.Client, "scatter", lambda *args, **more: sent.append(1) or scatter(*args, **more))
    executor = DaskExecutor(address)
    queue = FitQueue(executor)
    keys = [queue.submit(FitSpec("temperature", {"random_state": n}, "once"), *overconfident) for n in range(4)]
    assert [wait(key, of=queue).state for key in keys] == ["done"] * 4
    executor.shutdown()
    assert sent == [1]


def test_one_worker_killed_changes_nothing_but_the_time(submit, wait, data, tmp_path):
    file = tmp_path / "pids"
    killed = submit("writes_pid", file=str(file), n=200)
    other = submit("steps", n=250)
    for key in (killed, other):
        wait(key, running)
    os.kill(pid_in(file), signal.SIGKILL)
    pid_in(file, 2)  # it was started again
    jobs = [wait(killed), wait(other), wait(submit("temperature", random_state=9))]
    assert [job.state for job in jobs] == ["done"] * 3
    assert len(set(file.read_text().split())) == len(file.read_text().split()) == 2
    fitted = calib.calibrator("temperature").fit(*data)
    assert jobs[2].calibrator.temperature_ == fitted.temperature_


@pytest.mark.long
def test_killed_twice_is_reported(submit, wait, tmp_path):
    file = tmp_path / "pids"
    key = submit("writes_pid", file=str(file), n=3000)
    os.kill(pid_in(file), signal.SIGKILL)
    os.kill(pid_in(file, 2), signal.SIGKILL)
    job = wait(key)
    assert job.state == "failed"
    assert job.message.endswith(
        " was stopped: its worker on the cluster died, and so did the one that tried again; "
        "the other methods are not affected. Try fewer rows, then retry."
    )
    assert "\n" not in job.message
    assert len(file.read_text().split()) == 2
    assert wait(submit("temperature", random_state=10)).state == "done"


def test_nothing_stays_on_the_scheduler(address, executor, submit, wait):
    wait(submit("steps", n=3))
    cluster = Cluster(address, lambda number, progress: None)
    marks = cluster._client.run_on_scheduler(lambda dask_scheduler: list(dask_scheduler.extensions["events"]._events))
    cluster.close()
    assert not [mark for mark in marks if not mark.endswith("/cancel")]


@pytest.mark.long
def test_a_scheduler_that_goes_leaves_its_fits_to_this_machine(tmp_path, data, wait):
    with cluster_processes.scheduler(tmp_path) as address, cluster_processes.workers(tmp_path, address, 1):
        executor = DaskExecutor(address, local=lambda: LocalExecutor(n_fast=1, python_path=[str(HERE)]))
        queue = FitQueue(executor, fit=slow_methods.fit)
        key = queue.submit(FitSpec("steps", {"n": 300}, "data"), *data)
        wait(key, running, of=queue)
    try:
        assert wait(key, of=queue).state == "done"
        assert executor.place() == Place(
            trouble=f"The scheduler at {address} cannot be reached; fits run on this machine meanwhile."
        )
    finally:
        executor.shutdown()
