"""The log says what went wrong and where without names or values of an upload."""

from __future__ import annotations

import pickle
import subprocess
import sys
from unittest.mock import MagicMock

import pytest

from calib.engine import FitSpec, Job
from calib.engine.engine import _ending
from calib.engine.worker import run
from calib.errors import CalibrationError, UnexpectedError
from calib.isolation.logs import trace
from tests.conftest import ROOT

CANARY = "canary-7391"


def fails(word: str) -> None:
    try:
        {}[word]
    except KeyError as error:
        raise ValueError(f"no class is called {word}") from error


def test_a_trace_has_types_and_places_and_no_messages() -> None:
    with pytest.raises(ValueError, match=CANARY) as found:
        fails(CANARY)
    said = trace(found.value)
    assert CANARY not in said
    first, second = said.split("which led to")
    assert first.rstrip().endswith("KeyError") and second.endswith("ValueError")
    assert all("test_logs.py" in part and "in fails" in part for part in (first, second))


def task(word: str, *, data: object, callback: object) -> None:
    fails(word)


def test_what_a_worker_tells_for_the_log_has_no_messages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("distributed.get_worker", MagicMock())
    monkeypatch.setattr("distributed.utils.sync", MagicMock())
    told = run(pickle.dumps((task, (CANARY,))), {}, "a task", "a topic")
    assert isinstance(told, UnexpectedError)
    assert CANARY in str(told)  # for the page of whom it belongs to
    assert CANARY not in told.trace
    assert "KeyError" in told.trace and "in fails" in told.trace


@pytest.mark.parametrize(
    ("error", "kept"),
    [
        (
            UnexpectedError(f"KeyError: {CANARY}", "Traceback of the worker"),
            "Traceback of the worker",
        ),
        (ValueError(CANARY), "ValueError"),
        (CalibrationError(CANARY), ""),  # meant for people: no fault of the server
    ],
)
def test_a_fit_that_fails_says_why_to_its_owner_and_where_to_the_log(error, kept, caplog) -> None:
    job = Job("key", FitSpec("temperature", {}, label=f"Temperature for {CANARY}"))
    assert CANARY in _ending(job, None, error)["message"]
    assert CANARY not in caplog.text
    assert kept in caplog.text and ("temperature" in caplog.text) is bool(kept)


SHOUTS = f"""
import asyncio, logging, sys, threading, warnings
logging.basicConfig(level="INFO")
from calib.isolation.logs import without_data
without_data(); without_data()
word = "{CANARY}"
def fail():
    raise ValueError(word)
other = logging.getLogger("streamlit.upload")
other.info("uploaded %s of %d rows", word, 7)
try:
    fail()
except ValueError as error:
    other.exception("Uncaught app execution")
    other.warning("Not a table: %s", error, exc_info=error)
    logging.getLogger("calib").error("our own %s", "word")
warnings.warn(word, RuntimeWarning)
thread = threading.Thread(target=fail); thread.start(); thread.join()
class Falling:
    def __del__(self):
        fail()
Falling()
async def forgotten():
    task = asyncio.create_task(asyncio.to_thread(fail))
    while not task.done():
        await asyncio.sleep(0.01)
asyncio.run(forgotten())
fail()
"""


def test_nothing_that_a_process_logs_has_names_or_values() -> None:
    done = subprocess.run(
        [sys.executable, "-c", SHOUTS], cwd=ROOT, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 1
    assert CANARY not in done.stdout + done.stderr
    for kept in (
        "uploaded %s of %d rows (streamlit.upload, line",
        "Uncaught app execution",
        "Not a table: %s",
        "our own word",
        "RuntimeWarning",
        "a thread was ended by what nobody caught",
        "an error that could not be raised",
        "Task exception was never retrieved",
        "ended by what nobody caught",
    ):
        assert kept in done.stderr, kept
    assert done.stderr.count("in fail\n") >= 6  # each says where
