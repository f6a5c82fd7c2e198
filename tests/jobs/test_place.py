"""Where fits run: chosen by the configuration, said in words, and on this machine if all else fails."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from calib.jobs import FitQueue, FitSpec
from calib.jobs.choose import chosen_executor
from calib.jobs.connection import Connection
from calib.jobs.dask import DaskExecutor
from calib.jobs.executor import LocalExecutor
from calib.jobs.place import HERE, Place
from calib.settings import environment

ROOT = Path(__file__).resolve().parents[2]


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
    executor = chosen_executor()
    assert isinstance(executor, LocalExecutor)
    assert executor.place().trouble.startswith("calib.toml cannot be read: ")
    executor.shutdown()


def test_without_an_address_nothing_of_dask_is_imported():
    code = """
import os, sys
os.environ.pop("CALIB_SCHEDULER", None)
from calib.jobs import FitQueue
from calib.jobs.choose import chosen_executor
queue = FitQueue(chosen_executor())
print(queue.place(), {"dask", "distributed"} & set(sys.modules))
queue.shutdown()
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=60)
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
        start = time.monotonic()
        executor = chosen_executor()
        assert isinstance(executor, DaskExecutor)
        queue = FitQueue(executor)
        key = queue.submit(FitSpec("identity", {}, "data"), *overconfident)
        place = queue.place()
        assert time.monotonic() - start < 0.2  # nothing waits for the network
        assert place == Place(f"cluster at {address}, connecting", connecting=True)
        assert wait(key, of=queue).state == "done"
        assert queue.place() == Place(
            trouble=f"The scheduler at {address} cannot be reached; fits run on this machine meanwhile."
        )
        queue.shutdown()


def test_without_dask_the_extra_is_named(monkeypatch):
    for name in [name for name in sys.modules if name.partition(".")[0] == "distributed"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "distributed", None)
    connection = Connection("tcp://127.0.0.1:1", lambda number, progress: None)
    assert connection.cluster() is None
    assert connection.place().trouble == (
        'This needs distributed, which is not installed: pip install "calib[cluster]"; '
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
