"""What is left when things end: no process, no file, no memory.

Where fits run: chosen by the configuration, said in words, and on this machine if all else fails.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

import pytest

from calib.jobs import FitQueue, FitSpec
from calib.jobs.dask import Connection, DaskExecutor, executor_from_settings
from calib.jobs.executor import HERE, LocalExecutor, Place
from calib.jobs.local import WorkerProcess
from calib.jobs.protocol import Data
from calib.settings import environment
from tests.conftest import ROOT, wait_until


def alive(pid: int) -> bool:
    """Whether a process runs; a zombie does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def wait_until_gone(pids: list[int]) -> None:
    wait_until(lambda: not any(map(alive, pids)))


APP = """
    import sys, time
    import numpy as np
    sys.path.append({here!r})
    import slow_methods
    from calib.jobs import FitQueue, FitSpec
    from calib.jobs.executor import LocalExecutor
    executor = LocalExecutor(n_fast=1, python_path=[{here!r}])
    queue = FitQueue(executor, fit=slow_methods.fit)
    queue.submit(FitSpec("temperature", {{}}, "d"), np.eye(4), np.arange(4))
    key = queue.submit(FitSpec("deaf", {{}}, "d"), np.eye(4), np.arange(4))
    while queue.snapshot([key])[0].step == 0:
        time.sleep(0.01)
    print(*(worker._process.pid for worker in executor._workers if worker._process), flush=True)
    {end}
"""


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="looks for processes in /proc")
@pytest.mark.parametrize("end", ["sys.exit(0)", "raise ValueError", "time.sleep(3600)"])
def test_workers_end_with_the_app(end, tmp_path):
    code = textwrap.dedent(APP).format(here=str(Path(__file__).parent), end=end)
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(tmp_path)}
    app = subprocess.Popen(
        [sys.executable, "-c", code], env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    try:
        pids = [int(pid) for pid in app.stdout.readline().split()]
        assert len(pids) == 2
        if "sleep" in end:
            app.send_signal(signal.SIGKILL)
        app.wait(timeout=300)
    finally:
        app.kill()
        app.stdout.close()
        app.wait()
    wait_until_gone(pids)
    assert list(tmp_path.iterdir()) == []


def test_an_idle_worker_ends_and_comes_back():
    import slow_methods

    def pid() -> int:
        task = executor.submit(slow_methods.pid, data=Data("", {}), lane="fast", on_progress=lambda progress: None)
        return task.result(timeout=300)

    executor = LocalExecutor(n_fast=1, idle_seconds=0.2, python_path=[str(Path(__file__).parent)])
    try:
        first = pid()
        wait_until_gone([first])
        assert pid() != first
    finally:
        executor.shutdown()


def test_shutdown_cancels_ends_and_refuses(executor, queue, submit, wait):
    keys = [submit("deaf"), submit("steps")]
    wait(keys[0], lambda job: job.step > 0)
    pids = [worker._process.pid for worker in executor._workers if worker._process]
    queue.shutdown()
    wait_until_gone(pids)
    assert [job.state for job in queue.snapshot(keys)] == ["cancelled", "cancelled"]
    with pytest.raises(RuntimeError, match="shut down"):
        submit("steps", n=7)
    queue.shutdown()


def test_nothing_is_written_to_disk(submit, wait, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    assert wait(submit("steps", n=2)).state == "done"
    assert list(tmp_path.iterdir()) == []


def test_the_app_side_loads_no_tensorflow_and_no_streamlit():
    code = "import sys, calib.jobs; print({'tensorflow', 'streamlit', 'scipy', 'pandas'} & set(sys.modules))"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


@pytest.mark.parametrize("method", ["ensemble_temperature", pytest.param("geometric", marks=pytest.mark.long)])
def test_what_a_method_imports_is_there_before_its_time_counts(method):
    code = f"""
        import sys
        import numpy as np
        from calib.jobs.tasks import fit_calibrator
        from calib.registry import METHODS
        rng = np.random.default_rng(0)
        x, y = rng.normal(size=(50, 3)), np.arange(50) % 3
        data, more = dict(logits=x, labels=y), dict(features=x, train_features=x, train_labels=y)
        data |= {{name: more[name] for name in METHODS[{method!r}].needs}}
        def callback(step, total, value):
            if step == total == 0:
                callback.before = set(sys.modules)
        fit_calibrator({method!r}, {{}}, data=data, callback=callback)
        print(sorted(set(sys.modules) - callback.before), "scipy" in sys.modules)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.strip() == "[] True"


def test_a_setting_comes_from_the_environment_or_else_the_file(monkeypatch, tmp_path):
    def address() -> str | None:
        return environment().get("CALIB_SCHEDULER")

    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CALIB_SCHEDULER", raising=False)
    monkeypatch.delenv("CALIB_CONFIG", raising=False)
    assert address() is None
    (tmp_path / "calib.toml").write_text('scheduler = "tcp://a:8786"\n')
    assert address() == "tcp://a:8786"
    (tmp_path / "other.toml").write_text('scheduler = "tcp://b:8786"\n')
    monkeypatch.setenv("CALIB_CONFIG", str(tmp_path / "other.toml"))
    assert address() == "tcp://b:8786"
    monkeypatch.setenv("CALIB_SCHEDULER", "")
    assert address() == ""


def test_a_file_that_is_no_toml_is_a_sentence(monkeypatch, tmp_path):
    monkeypatch.delenv("CALIB_SCHEDULER", raising=False)
    monkeypatch.setenv("CALIB_CONFIG", str(tmp_path / "calib.toml"))
    (tmp_path / "calib.toml").write_text("scheduler: tcp://a\n")
    with pytest.raises(ValueError, match=r"^calib\.toml cannot be read: .* Correct or remove it\.$"):
        environment()
    executor = executor_from_settings()
    assert isinstance(executor, LocalExecutor)
    assert executor.place().trouble.startswith("calib.toml cannot be read: ")
    executor.shutdown()


def test_without_an_address_nothing_of_dask_is_imported():
    code = """
import os, sys
os.environ.pop("CALIB_SCHEDULER", None)
from calib.jobs import FitQueue
from calib.jobs.dask import executor_from_settings
queue = FitQueue(executor_from_settings())
print(queue.place(), {"dask", "distributed"} & set(sys.modules))
queue.shutdown()
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.stdout.strip() == f"{HERE} set()", done.stderr


@pytest.mark.parametrize("kind", ["refused", "silent", "no such host", "not an address"])
def test_a_scheduler_that_cannot_be_reached_is_a_sentence_and_fits_run_here(kind, monkeypatch, wait, overconfident):
    pytest.importorskip("distributed")
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        if kind == "silent":
            silent.listen()  # takes the connection and never says a word
        port = silent.getsockname()[1]
        address = {"no such host": "tcp://nowhere.invalid:8786", "not an address": "tcp://a:b:c"}.get(
            kind, f"tcp://127.0.0.1:{port}"
        )
        monkeypatch.setenv("CALIB_SCHEDULER", address)
        executor = executor_from_settings()
        assert isinstance(executor, DaskExecutor)
        queue = FitQueue(executor)
        key = queue.submit(FitSpec("identity", {}, "data"), *overconfident)
        connecting = Place(f"cluster at {address}, connecting", connecting=True)
        failed = Place(trouble=f"The scheduler at {address} cannot be reached; fits run on this machine meanwhile.")
        # Nothing waits for the network; what is no address, or is refused, may have failed by now.
        assert queue.place() in ([connecting] if kind == "silent" else [connecting, failed])
        assert wait(key, of=queue).state == "done"
        assert queue.place() == failed
        queue.shutdown()


def test_without_dask_the_extra_is_named(monkeypatch):
    for name in [name for name in sys.modules if name.partition(".")[0] == "distributed"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "distributed", None)
    connection = Connection("tcp://127.0.0.1:1", lambda number, progress: None)
    assert connection.cluster() is None
    assert connection.place().trouble == (
        'This needs distributed, which is not installed: pip install "calib-studio[cluster]"; '
        "fits run on this machine meanwhile."
    )
    connection.close()


def test_shutdown_ends_what_waits_for_the_scheduler(monkeypatch, overconfident):
    pytest.importorskip("distributed")
    executor = DaskExecutor("tcp://nowhere.invalid:8786", local=lambda: pytest.fail("not after the end"))
    queue = FitQueue(executor)
    key = queue.submit(FitSpec("identity", {}, "data"), *overconfident)
    queue.shutdown()
    assert queue.snapshot([key])[0].state == "cancelled"
    with pytest.raises(RuntimeError, match="shut down"):
        queue.submit(FitSpec("identity", {"random_state": 1}, "data"), *overconfident)


def test_a_process_that_was_killed_is_given_nothing_more_though_it_has_not_ended_yet() -> None:
    process = WorkerProcess((), nice=0)
    assert process.alive
    process.kill()
    assert not process.alive
    assert process.close() == -signal.SIGKILL
