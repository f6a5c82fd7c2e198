"""Whatever a reader does, the process that asked goes on and can say what happened in one sentence."""

from __future__ import annotations

import io
import os
import signal
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import calib
from calib.errors import CalibrationError, DataError
from calib.isolation import client
from calib.isolation.client import READERS, Readers, isolated, limits_for
from tests.conftest import ROOT, wait_until
from tests.isolation import misbehaving

FILE = ("some.h5", io.BytesIO(b"abc"))


@pytest.fixture
def briefly(monkeypatch):
    """Limits that are met at once."""
    tight = replace(limits_for(0), cpu_seconds=1)
    monkeypatch.setattr(client, "limits_for", lambda size: tight)


def code_of(task: Any, *more: Any) -> str:
    with pytest.raises(DataError) as raised:
        isolated(task, FILE, *more)
    (finding,) = raised.value.findings
    assert finding.action
    assert "Traceback" not in str(raised.value)
    return finding.code


def test_what_a_reader_finds_comes_back_as_its_type_says():
    found = isolated(misbehaving.well, FILE, ("cat", "dog", "łoś", "\ud800"))
    assert isinstance(found, misbehaving.Found)
    assert found.text == "some.h5"
    assert found.names == ("cat", "dog", "łoś", "\ud800")
    np.testing.assert_array_equal(found.values, [list(b"abc")])
    assert not found.values.flags.writeable


def test_a_file_on_disk_is_read_from_its_beginning_and_its_position_stays(tmp_path):
    path = tmp_path / "some.bin"
    path.write_bytes(b"abc")
    with path.open("rb") as file:
        file.read(2)
        assert isolated(misbehaving.well, ("some.bin", file), ()).values.tolist() == [list(b"abc")]
        assert file.tell() == 2


@pytest.mark.parametrize(
    ("task", "code"),
    [
        (misbehaving.crash, "reader_ended"),
        (misbehaving.abort, "reader_ended"),
        (misbehaving.other_type, "damaged"),
        (misbehaving.leave, "damaged"),
        (misbehaving.finding, "some_code"),
    ],
    ids=lambda value: getattr(value, "__name__", value),
)
def test_what_goes_wrong_in_a_reader_is_one_finding(task, code):
    assert code_of(task) == code


def test_a_reader_that_takes_too_much_memory_is_refused(monkeypatch):
    small = replace(limits_for(0), memory=10**8)
    monkeypatch.setattr(client, "limits_for", lambda size: small)
    assert code_of(misbehaving.take_memory) == "too_large"


def test_a_reader_that_hands_back_too_much_is_ended(monkeypatch):
    small = replace(limits_for(0), output=10**6)
    monkeypatch.setattr(client, "limits_for", lambda size: small)
    assert code_of(misbehaving.write_much) in ("too_large", "reader_failed")


def test_a_reader_that_never_ends_is_ended(briefly):
    assert code_of(misbehaving.spin) == "too_slow"


def test_a_reader_that_sleeps_is_ended(monkeypatch):
    monkeypatch.setattr(client, "wall_seconds", lambda limits: 0.2)
    assert code_of(misbehaving.sleep) == "too_slow"


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a descriptor is open for all that it was opened for")
def test_all_that_a_reader_can_write_is_its_answer():
    """What else it could write would be memory past its limit."""
    assert isolated(misbehaving.writable, FILE) == 1


def test_the_limits_allow_threads():
    assert isolated(misbehaving.threads, FILE).text == "some.h5"


def test_an_error_for_people_comes_back_and_a_fault_is_logged(caplog):
    with pytest.raises(CalibrationError, match="One sentence"):
        isolated(misbehaving.sentence, FILE)
    assert code_of(misbehaving.fault) == "reader_failed"
    assert "KeyError" in caplog.text
    assert "some.h5" not in caplog.text


def test_a_server_that_is_gone_is_started_again():
    own = Readers(1, ())
    own.start()
    assert own.process is not None
    own.process.kill()
    own.process.wait()
    first = own.process.pid
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(client, "READERS", own)
        assert isolated(misbehaving.well, FILE, ()).text == "some.h5"
    assert own.process.pid != first
    own.close()


def test_a_server_that_answers_no_more_is_no_fault_of_the_file_and_is_replaced(monkeypatch):
    own = Readers(1, ())
    monkeypatch.setattr(client, "READERS", own)
    own.start()
    assert own.process is not None
    first = own.process.pid
    os.kill(first, signal.SIGSTOP)
    with monkeypatch.context() as patch:
        patch.setattr(client, "START_SECONDS", 0.2)
        assert code_of(misbehaving.well) == "reader_failed"
    assert isolated(misbehaving.well, FILE, ()).text == "some.h5"
    assert own.process is not None and own.process.pid != first
    own.close()


def test_readers_end_with_the_one_that_asked():
    own = Readers(1, ())
    own.start()
    assert own.process is not None
    assert own._control is not None
    own._control.close()
    assert own.process.wait(60) == 0


def test_a_server_that_dies_while_reading_is_said(monkeypatch):
    own = Readers(1, ())
    monkeypatch.setattr(client, "READERS", own)
    found: list[str] = []
    asking = threading.Thread(target=lambda: found.append(code_of(misbehaving.sleep)))
    own.start()
    asking.start()
    assert own.process is not None
    server = own.process.pid
    wait_until(lambda: _children(server))
    os.kill(server, signal.SIGKILL)
    asking.join()
    assert found == ["reader_failed"]
    wait_until(lambda: not _children(server))
    own.close()


def _children(pid: int) -> list[str]:
    try:
        return Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return []


def test_no_more_files_are_read_at_once_than_were_set(monkeypatch):
    own = Readers(2, ())
    monkeypatch.setattr(client, "READERS", own)
    now, most, together = [0], [0], threading.Lock()

    def read(descriptors: list[int], seconds: float) -> int:
        with together:
            now[0] += 1
            most[0] = max(most[0], now[0])
        time.sleep(0.02)
        with together:
            now[0] -= 1
        return client.FAULT

    monkeypatch.setattr(own, "read", read)
    threads = [threading.Thread(target=code_of, args=(misbehaving.well, ())) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(300)
    assert most == [2]


@pytest.mark.parametrize("name", ["clinic-tumours.csv", "wine-forest.xlsx", "digits-forest.npz"])
def test_a_sample_read_apart_is_the_same_data(name):
    path = ROOT / "sample_data" / name
    here, apart = calib.load(path), calib.load(path, isolate=True)
    assert here.sha256 == apart.sha256
    assert here.roles == apart.roles
    assert here.findings == apart.findings
    assert here.event == apart.event
    np.testing.assert_array_equal(here.logits, apart.logits)


def test_a_refused_file_and_a_table_to_ask_about_are_the_same_apart(tmp_path):
    asked = tmp_path / "asked.csv"
    asked.write_text("score_a,score_b,default\n" + "".join(f"{i / 40},{1 - i / 41},{i % 2}\n" for i in range(40)))
    empty = tmp_path / "empty.npz"
    empty.write_bytes(b"")
    for path in (asked, empty, tmp_path / "missing.npz"):
        here, apart = calib.data.inspect(path), calib.data.inspect(path, isolate=True)
        assert here.predictions is None
        assert here.findings == apart.findings
        assert here.readings == apart.readings
        assert here.rows == apart.rows
        assert here.choices == apart.choices


def test_what_the_server_loads_is_all_that_reading_needs():
    """What readers load themselves, each of them would load again."""
    assert len(os.listdir(f"/proc/{_server()}/task")) == 1, "a copy of a process with threads may find a lock held"


def _server() -> int:
    READERS.start()
    process = READERS.process
    assert process is not None
    isolated(misbehaving.well, FILE, ())
    return process.pid


@pytest.mark.parametrize("beside", [True, False])
def test_outputs_and_features_of_unlabelled_rows(beside):
    buffer = io.BytesIO()
    np.savez(buffer, features=np.ones((20, 8, 8)), **({"logits": np.zeros((20, 10))} if beside else {}))
    file = ("mine.npz", buffer)
    assert calib.data.read_features(file, isolate=True, beside_outputs=beside).shape == (20, 8, 8)
    if beside:
        assert calib.data.read_outputs(file, isolate=True).shape == (20, 10)
