"""Fits on workers of this machine: followed, cancelled, tried again; and what is left when things end."""

from __future__ import annotations

import logging
import os
import re
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import numpy as np
import pytest
import slow_methods
from distributed import Client, Security

import calib
from calib.engine import Data, Engine, FitSpec, Job, QueueFull, TaskSpec, on_disk
from calib.engine.clusters import PLACES
from calib.engine.specs import LARGE, folder
from tests.conftest import ROOT, alive, finished, wait_until
from tests.engine.conftest import HERE, rows_of, running

SLOW_WORKERS = 2
linux = pytest.mark.skipif(not Path("/proc").is_dir(), reason="looks for processes in /proc")


def lines(file: Path, count: int = 1) -> list[str]:
    """What tasks wrote into a file, once there are so many lines."""
    return wait_until(
        lambda: file.exists() and len(found := file.read_text().split()) >= count and found
    )


def workers(engine: Engine) -> set[int]:
    """Processes of all workers, once none of them is just being replaced."""
    client = engine._here.client()

    def all_of_them() -> set[int]:
        try:
            found = set(client.run(os.getpid, on_error="ignore").values())
        except Exception:  # one that is leaving
            return set()
        return found if len(found) == len(PLACES) else set()

    return wait_until(all_of_them)


# What is asked for


def test_a_fit_gives_what_the_library_gives(submit, wait, data):
    job = wait(submit("temperature"))
    assert (job.state, job.fraction) == ("done", 1.0)
    assert job.calibrator.temperature_ == calib.calibrator("temperature").fit(*data).temperature_
    assert re.fullmatch(r"Fitted in \d+\.\d s\.", job.message)


def test_progress_never_goes_back_and_moves(submit, wait):
    seen = []
    wait(submit("steps"), lambda job: seen.append(job) or not job.active)
    fractions = [job.fraction for job in seen]
    assert fractions == sorted(fractions) and len(set(fractions)) > 5 and fractions[-1] == 1.0
    states = [job.state for job in seen]
    assert states == sorted(states, key=["queued", "running", "done"].index)
    halfway = next(job for job in seen if job.step)
    assert (halfway.total, halfway.message) == (100, f"Step {halfway.step} of 100.")


def test_the_same_fit_is_not_paid_twice_whoever_asks_for_it(submit, wait, engine, tmp_path):
    file, keys = tmp_path / "runs", []
    threads = [
        threading.Thread(target=lambda: keys.append(submit("writes", file=str(file))))
        for _ in range(20)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    done = wait(keys[0])
    assert submit("writes", file=str(file)) == keys[0]
    assert engine.snapshot([keys[0]]) == [done]
    assert len(keys) == 20 and len(set(keys)) == 1
    assert lines(file) == ["run"]


def test_one_failure_is_a_sentence_and_the_others_go_on(submit, wait):
    jobs = [
        wait(submit(method)) for method in ("refuses", "breaks", "exits", "prints", "temperature")
    ]
    assert [job.state for job in jobs] == ["failed"] * 3 + ["done"] * 2
    assert jobs[0].message == "Only 3 rows; use at least 10."
    assert jobs[1].message == (
        "breaks failed unexpectedly: ZeroDivisionError: first line of a file."
    )
    assert "SystemExit: 3" in jobs[2].message
    assert not any("\n" in job.message or "Traceback" in job.message for job in jobs)
    assert "no parameter 'no_such'" in wait(submit("temperature", no_such=1)).message
    assert "no calibrator 'nothing'" in wait(submit("nothing")).message


def test_a_job_is_stored_before_anybody_sees_that_it_is_done_and_done_where_that_fails(
    data, monkeypatch
):
    seen = []

    def full(job: Job) -> None:
        seen.append((job, engine.snapshot([job.key])[0].state))
        raise OSError("no space left")

    engine = Engine(on_done=full)
    monkeypatch.setattr(engine, "_result", lambda task: "what it gave")
    (job,) = finished(engine, [engine.submit(FitSpec("identity", {}, "data"), rows_of(*data))])
    assert seen == [(job, "queued")] and (job.state, job.result) == ("done", "what it gave")
    wait_until(lambda: not engine._going)


# Cancelling, and what follows


def test_a_cancelled_fit_that_listens_keeps_its_worker_and_starts_anew_when_it_is_asked_for(
    submit, wait, engine
):
    before = workers(engine)
    wait(
        key := submit("steps", n=20, seconds=0.05), running
    )  # far from its next callback, at which it stops
    engine.cancel(key)
    (job,) = engine.snapshot([key])
    assert (job.state, job.message, job.calibrator) == ("cancelled", "Cancelled.", None)
    assert submit("steps", n=20, seconds=0.05) == key
    assert wait(key).state == "done"
    wait_until(lambda: not engine._going)
    assert workers(engine) == before


def test_the_worker_of_a_cancelled_fit_that_does_not_listen_is_replaced(
    submit, wait, engine, tmp_path
):
    before = workers(engine)
    key = submit("locked", file=str(tmp_path / "mark"))
    lines(tmp_path / "mark")  # before that it may hear that it is cancelled
    engine.cancel(key)
    assert engine.snapshot([key])[0].state == "cancelled"
    wait_until(lambda: not engine._going)
    wait_until(lambda: len(before & workers(engine)) == len(PLACES) - 1)
    keys = [submit("steps", n=n) for n in range(2, 6)]
    assert [wait(each).state for each in keys] == ["done"] * 4


def test_cancel_of_a_fit_that_waits_is_immediate_and_it_never_runs(submit, wait, engine, tmp_path):
    busy = [submit("steps", n=10**6 + n) for n in range(SLOW_WORKERS)]
    for key in busy:
        wait(key, running)
    waiting = submit("writes", file=str(tmp_path / "runs"))
    engine.cancel(waiting)
    assert engine.snapshot([waiting])[0].state == "cancelled"
    wait_until(lambda: len(engine._going) == len(busy))
    for key in busy:
        engine.cancel(key)
    assert [wait(submit("steps", n=2 + n)).state for n in range(3)] == ["done"] * 3
    assert not (tmp_path / "runs").exists()


def test_what_a_page_gave_up_is_stopped(engine):
    future = engine.compute(slow_methods.deaf_page, kind="file")
    wait_until(lambda: any(task.started for task in engine._going.values()))
    assert future.cancel()
    wait_until(lambda: not engine._going)
    done = engine.compute(sum, [1, 2], kind="file")
    assert done.result(timeout=300) == 3
    assert not done.cancel()


def test_a_fit_that_two_want_ends_only_with_the_last_who_leaves(submit, wait, engine):
    wait(key := submit("steps", owner="a", n=10**6), running)
    submit("steps", owner="b", n=10**6)
    assert engine.leave(key, "b")
    assert engine.snapshot([key])[0].state == "running"
    assert not engine.leave(key, "a")
    assert wait(key).state == "cancelled"
    assert not engine.leave("never heard of", "a")


@pytest.fixture
def nobody_works(monkeypatch):
    """Engines whose tasks wait for ever."""
    monkeypatch.setattr(Engine, "_follow", lambda self, task: None)


def ask(engine, owner, n):
    return engine.submit(
        FitSpec("steps", {"n": n}, "data"), rows_of(np.zeros((2, 2)), np.zeros(2)), owner
    )


@pytest.mark.usefixtures("nobody_works")
def test_who_deletes_leaves_no_cancelled_fit_behind():
    """Its title and parameters stayed until 256 newer ones pushed it out."""
    engine = Engine()
    key, other = ask(engine, "a", 1), ask(engine, "a", 2)
    assert not engine.leave(key, "a") and not engine.leave(other, "a")
    assert [job.state for job in engine.snapshot()] == ["cancelled"] * 2
    ask(engine, "b", 2)
    assert not engine.leave(other, "b"), "who cancelled it wants it no more"
    ask(engine, "b", 2)
    engine.forget("a")
    assert [job.key for job in engine.snapshot()] == [other], "another has asked for it since"
    engine.forget("b")
    assert not engine.snapshot()


@pytest.mark.usefixtures("nobody_works")
def test_who_left_a_failed_fit_does_not_keep_it_running_for_who_tries_it_again():
    """The one who tried it again could not stop it."""
    engine = Engine()
    key = FitSpec("steps", {"n": 1}, "data").key
    engine.adopt(Job(key, FitSpec("steps", {"n": 1}, "data"), state="failed"), "a")
    assert not engine.leave(key, "a")
    assert ask(engine, "b", 1) == key
    assert not engine.leave(key, "b")
    assert [job.state for job in engine.snapshot()] == ["cancelled"]


# Who waits for whom


@pytest.mark.usefixtures("nobody_works")
def test_no_more_may_wait_than_there_is_room_for():
    engine = Engine(most_waiting=2)
    keys = [ask(engine, "a", n) for n in range(2)]
    with pytest.raises(
        QueueFull,
        match=r"^2 fits and studies of yours are waiting, and a visitor may have 2\. Cancel",
    ):
        ask(engine, "a", 3)
    assert ask(engine, "a", 1) == keys[1], "it waits already"
    ask(engine, "b", 4)
    assert len(engine.snapshot()) == 3, "what is refused leaves nothing behind"


@pytest.mark.usefixtures("nobody_works")
def test_what_pages_wait_for_comes_in_the_order_in_which_it_was_asked_for():
    """Who asked for two things would else wait behind everybody who came later, for as long as somebody comes."""
    engine = Engine()
    for owner in "aab":
        engine.compute(sum, [1, 2], owner=owner)
    assert len({task.priority for task in engine._going.values()}) == 1


def test_finished_fits_are_kept_up_to_a_bound(data, monkeypatch):
    monkeypatch.setattr("calib.engine.engine.MOST_FINISHED", 2)
    engine, keys = Engine(), []
    monkeypatch.setattr(engine, "_result", lambda task: None)
    for seed in range(4):
        keys.append(
            engine.submit(FitSpec("identity", {"random_state": seed}, "data"), rows_of(*data))
        )
        finished(engine, [keys[-1], keys[0]])  # somebody still looks at the first
    wait_until(lambda: not engine._going)
    assert [job.key for job in engine.snapshot(keys)] == [keys[0], keys[3]]


def test_one_fit_of_another_does_not_wait_behind_thirty(submit, wait, engine):
    busy = [submit("steps", owner="a", n=10**6 + n) for n in range(SLOW_WORKERS)]
    for key in busy:
        wait(key, running)
    many = [submit("steps", owner="a", n=n) for n in range(20, 50)]
    one = submit("steps", owner="b", n=5)
    wait_until(lambda: all(task.sent is not None for task in engine._going.values()))  # handed over
    for key in busy:
        engine.cancel(key)
    assert wait(one).state == "done"
    assert sum(job.state == "done" for job in engine.snapshot(many)) <= 2 * SLOW_WORKERS


def test_fast_fits_and_pages_do_not_wait_for_slow_fits_nor_one_slow_fit_for_another(
    submit, wait, engine
):
    wait(slow := submit("steps", n=10**6), running)
    several = [submit("steps", n=n) for n in range(2, 6)]
    assert [wait(key).state for key in several] == ["done"] * 4
    wait(another := submit("steps", n=10**6 + 1), running)
    waiting = submit("steps", n=7)
    fast = [submit("temperature", random_state=n) for n in range(4)]
    assert [wait(key).state for key in fast] == ["done"] * 4
    assert engine.compute(sum, [1, 2, 3]).result(timeout=300) == 6
    states = [job.state for job in engine.snapshot([slow, another, waiting])]
    assert states == ["running", "running", "queued"]


def test_a_page_does_not_wait_for_the_page_of_another(engine):
    """One worker computed for the pages of all visitors."""
    long = engine.compute(slow_methods.deaf_page, owner="a")
    wait_until(lambda: any(task.started for task in engine._going.values()))
    assert [engine.compute(sum, [1, n], owner="b").result(timeout=300) for n in range(5)] == [
        1,
        2,
        3,
        4,
        5,
    ]
    assert long.cancel()
    wait_until(lambda: not engine._going)


@pytest.mark.skipif(
    not hasattr(signal, "setitimer"), reason="this system has no limit of processor time"
)
def test_what_takes_more_processor_time_than_it_may_is_ended_with_a_sentence(engine):
    with pytest.raises(
        calib.CalibrationError,
        match=r"or because it took more than 1 s of processor time\. Try fewer",
    ):
        engine.compute(slow_methods.busy_page, 3600.0, kind="file", most_seconds=1.0).result(
            timeout=300
        )
    assert (
        engine.compute(slow_methods.busy_page, 2.0, kind="file", most_seconds=60.0).result(
            timeout=300
        )
        >= 2.0
    )
    for _ in PLACES:  # the limit is that of one task
        assert engine.compute(slow_methods.busy_page, 1.5, kind="file").result(timeout=300) >= 1.5


# Workers that end


def test_a_fit_that_ends_two_workers_is_a_sentence_and_takes_no_other_along(submit, wait, caplog):
    keys = [submit("steps", n=100 + n) for n in range(6)]
    bad = submit("dies", owner="another")  # it comes early
    with caplog.at_level(logging.ERROR, "calib"):
        job = wait(bad)
    assert (job.state, job.message) == (
        "failed",
        "Its process was ended again and again, most likely because the machine ran out of memory. Try fewer rows, "
        "then retry.",
    )
    assert "failed: Its process was ended again and again" in caplog.text
    assert [wait(key).state for key in keys] == ["done"] * 6


@pytest.mark.long
def test_a_host_that_is_killed_is_started_again(submit, wait, engine):
    assert wait(submit("steps", n=2)).state == "done"
    host = engine._here._process.pid
    wait(runs := submit("steps", n=300), running)
    os.kill(host, signal.SIGKILL)
    assert wait(runs).state == "done"
    assert wait(submit("temperature")).state == "done"
    assert engine.compute(sum, [1, 2]).result(timeout=300) == 3
    assert engine._here._process.pid != host


# Studies


def test_a_study_whose_worker_is_lost_starts_again(engine, wait, data, tmp_path):
    file, seen = tmp_path / "runs", []
    key = engine.submit(TaskSpec(slow_methods.study, (str(file), 60), "a study"), rows_of(*data))
    wait(key, running)
    os.kill(int(lines(file)[0]), signal.SIGKILL)
    job = wait(key, lambda job: seen.append(job) or not job.active)
    assert (job.state, job.result, len(lines(file))) == ("done", data[1].sum(), 2)
    assert [job.fraction for job in seen] == sorted(job.fraction for job in seen)


def test_a_study_cancelled_as_it_starts_is_stopped(engine, wait, data, tmp_path):
    """Whenever the cancellation comes, the next study runs: the place of a cancelled one is not kept by it unseen."""
    for moment in range(12):
        key = engine.submit(
            TaskSpec(slow_methods.study, (str(tmp_path / "long"), 10**6), f"study {moment}"),
            rows_of(*data),
        )
        wait_until(lambda: engine._going)
        time.sleep(0.004 * moment)
        engine.cancel(key)
    short = engine.submit(
        TaskSpec(slow_methods.study, (str(tmp_path / "short"), 2), "short study"), rows_of(*data)
    )
    assert wait(short).state == "done"


# Arrays


@pytest.fixture
def array(rng) -> np.ndarray:
    return rng.normal(size=(LARGE // 64, 9))


def test_workers_map_large_arrays_and_are_sent_the_rest(engine, array):
    mapped = on_disk(array)
    arrays = {
        "whole": mapped,
        "part": mapped[100:-100],
        "turned": mapped.T,
        "every other": mapped[::2],
        "one": mapped[3, 4, ...],
        "fortran": on_disk(np.asfortranarray(array)),
        "integers": on_disk(np.arange(LARGE, dtype=">i4")),
        "own": array,
        "number": np.array(3.0),
        "nothing": array[:0],
    }
    told = engine.compute(slow_methods.where, data=Data("arrays", arrays)).result(timeout=300)
    lie_in_files = ("whole", "part", "integers")
    assert told == {
        name: (float(np.sum(each)), name in lie_in_files) for name, each in arrays.items()
    }
    back = engine.compute(slow_methods.give_back, data=Data("arrays", arrays)).result(timeout=300)
    for name, each in arrays.items():
        np.testing.assert_array_equal(back[name], each)
        assert slow_methods.is_mapped(back[name]) == (name in lie_in_files)


def test_an_array_in_a_file_is_read_only_and_the_file_goes_with_it(array):
    before = set(folder().iterdir())
    mapped = on_disk(array)
    assert on_disk(mapped) is mapped
    with pytest.raises(ValueError, match="read-only"):
        mapped[0] = 1.0
    (file,) = set(folder().iterdir()) - before
    part = mapped[5:]
    del mapped
    assert file.exists()
    np.testing.assert_array_equal(part, array[5:])
    del part
    assert not file.exists()


# What is left when things end, and who may come near


@linux
def test_empty_folders_of_processes_that_were_killed_as_they_started_are_removed(
    tmp_path, monkeypatch
):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    for name in (
        f"calib-{ended.pid}-empty",
        f"calib-{ended.pid}-full/x",
        f"calib-{os.getppid()}-lives",
        "calib-other",
    ):
        (tmp_path / name).mkdir(parents=True)
    made = folder.__wrapped__()
    left = {path.name for path in tmp_path.iterdir()}
    assert left == {
        made.name,
        f"calib-{ended.pid}-full",
        f"calib-{os.getppid()}-lives",
        "calib-other",
    }


APP = """
    import json, os, sys, time
    import numpy as np
    import slow_methods
    from calib.engine import Data, Engine, FitSpec, on_disk

    engine = Engine(fit=slow_methods.fit)
    kept = on_disk(np.zeros((1 << 18, 8)))
    rows = Data.of("rows", logits=kept, labels=np.zeros(1 << 18))
    keys = [engine.submit(FitSpec(method, {{}}, "data"), rows) for method in ("deaf", "locked")]
    while any(job.state == "queued" for job in engine.snapshot(keys)):
        time.sleep(0.01)
    print(engine._here._process.pid if all(job.active for job in engine.snapshot(keys)) else "failed", flush=True)
    {end}
"""


def family(pid: int) -> list[int]:
    """Processes below one, and itself."""
    children = " ".join(
        file.read_text() for file in Path(f"/proc/{pid}/task").glob("*/children")
    ).split()
    return [pid, *(each for child in children for each in family(int(child)))]


@pytest.mark.long
@linux
@pytest.mark.parametrize("end", ["sys.exit(0)", "time.sleep(3600)"])
def test_nothing_of_the_workers_stays(end, tmp_path):
    folder = tmp_path / ("a path too long for a socket, which has at most 107 characters" * 2)
    folder.mkdir()
    app = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(APP).format(end="sys.stdin.readline(); " + end)],
        env={**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{HERE}", "TMPDIR": str(folder)},
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
    )  # fmt: skip
    try:
        processes = family(int(app.stdout.readline()))
        assert len(processes) >= 5 and list(folder.iterdir())
        app.stdin.write("\n")
        app.stdin.flush()
        if "sleep" in end:
            app.send_signal(signal.SIGKILL)
        app.wait(timeout=300)
    finally:
        app.kill()
        app.communicate()
    wait_until(lambda: not any(map(alive, processes)))
    wait_until(lambda: not list(folder.iterdir()))


def test_who_has_no_certificate_of_ours_cannot_send_a_task(engine):
    client = engine._here.client()
    addresses = [client.scheduler.address, *client.scheduler_info()["workers"]]
    for address in addresses:
        host, port = address.removeprefix("tls://").rsplit(":", 1)
        assert address.startswith("tls://") and host == "127.0.0.1"
        for to, security in ((f"tcp://{host}:{port}", None), (address, Security.temporary())):
            with pytest.raises(OSError):
                Client(to, security=security, timeout=2, set_as_default=False)


@linux
def test_workers_listen_to_this_machine_alone(engine):
    processes = family(engine._here._process.pid)
    sockets = {
        os.readlink(link)
        for pid in processes
        for link in Path(f"/proc/{pid}/fd").iterdir()
        if link.is_symlink()
    }
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            _, local, _, state, *_, inode = line.split()[:10]
            if state == "0A" and f"socket:[{inode}]" in sockets:
                assert local.startswith("0100007F:"), local


def test_shutdown_cancels_and_refuses(engine, wait, data):
    """The last of the file, since the engine is that of all others."""
    keys = [
        engine.submit(FitSpec(method, {}, "end"), rows_of(*data)) for method in ("deaf", "steps")
    ]
    wait(keys[0], running)
    engine.shutdown()
    finished(engine, keys)
    assert engine.snapshot(keys)[0].state == "cancelled"
    with pytest.raises(RuntimeError, match="shut down"):
        engine.submit(FitSpec("steps", {"n": 7}, "data"), rows_of(*data))
    engine.shutdown()
