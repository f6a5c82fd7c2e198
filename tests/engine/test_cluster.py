"""Fits on somebody's scheduler with two workers: the same numbers, cancel, data sent once, and what dies."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager

import distributed
import pytest

from calib.engine import Engine, FitSpec
from calib.engine.clusters import Cluster
from tests.conftest import finished, wait_until
from tests.engine.conftest import rows_of, running, slow_methods

pytestmark = pytest.mark.long


@contextmanager
def cluster(workers: int, port: int = 0) -> Iterator[str]:
    """The address of a scheduler whose workers, of one thread each, are replaced when they die."""
    options = {
        "host": "127.0.0.1",
        "scheduler_port": port,
        "dashboard_address": ":0",
        "threads_per_worker": 1,
    }
    with distributed.LocalCluster(n_workers=workers, **options) as made:
        yield made.scheduler_address


@pytest.fixture(scope="module")
def engine():
    with cluster(2) as address:
        engine = Engine(address, fit=slow_methods.fit)
        yield engine
        engine.shutdown()


def test_cancel_of_fits_that_run_and_wait(submit, wait, engine, tmp_path):
    two = [submit("steps", n=10**6 + n) for n in range(2)]
    for key in two:
        wait(key, running)
    waiting = submit("writes", file=str(tmp_path / "runs"))
    engine.cancel(waiting)
    wait_until(lambda: len(engine._going) == 2)
    for key in two:
        engine.cancel(key)
    assert [job.state for job in engine.snapshot([waiting, *two])] == ["cancelled"] * 3
    # The workers stopped too: two tasks that need one each are done though the cancelled ones would take hours.
    assert [wait(submit("steps", n=2 + n)).state for n in range(2)] == ["done", "done"]
    assert not (tmp_path / "runs").exists()


def test_data_go_to_the_cluster_once(engine, overconfident, monkeypatch):
    sent = []
    scatter = distributed.Client.scatter
    monkeypatch.setattr(
        distributed.Client,
        "scatter",
        lambda *args, **more: sent.append(1) or scatter(*args, **more),
    )
    rows = rows_of(*overconfident, "once")
    keys = [
        engine.submit(FitSpec("temperature", {"random_state": n}, "once"), rows) for n in range(4)
    ]
    assert [job.state for job in finished(engine, keys)] == ["done"] * 4
    assert sent == [1]


def test_one_worker_killed_changes_nothing_but_the_time(submit, wait, tmp_path):
    file = tmp_path / "pids"
    wait(key := submit("writes_pid", file=str(file), n=200), running)
    os.kill(int(file.read_text()), signal.SIGKILL)
    assert wait(key).state == "done"
    assert len(set(file.read_text().split())) == 2


def test_a_scheduler_that_comes_back_at_its_address_is_found_again(data):
    with cluster(1) as address:
        engine = Engine(address, fit=slow_methods.fit)
        key = engine.submit(FitSpec("steps", {"n": 300}, "data"), rows_of(*data))
        wait_until(lambda: running(engine.snapshot([key])[0]))
    port = int(address.rpartition(":")[2])
    with cluster(1, port):
        (job,) = finished(engine, [key])
        assert (
            job.state == "done"
            or "cannot be reached" in job.message
            or "has no workers" in job.message
        )
        engine.submit(FitSpec("steps", {"n": 300}, "data"), rows_of(*data))
        assert finished(engine, [key])[0].state == "done"
    engine.shutdown()


def test_without_its_scheduler_fits_say_so_in_a_sentence_and_do_not_wait_for_each_other(
    data, monkeypatch
):
    tried, connect = [], Cluster._connected
    monkeypatch.setattr(Cluster, "_connected", lambda cluster: tried.append(1) or connect(cluster))
    engine = Engine("tcp://127.0.0.1:1")
    keys = [
        engine.submit(FitSpec("identity", {}, f"data {number}"), rows_of(*data))
        for number in range(6)
    ]
    for job in finished(engine, keys):
        assert (job.state, job.message) == (
            "failed",
            "The scheduler at tcp://127.0.0.1:1 cannot be reached. Start it, then try again.",
        )
    assert len(tried) <= 2
    engine.shutdown()
