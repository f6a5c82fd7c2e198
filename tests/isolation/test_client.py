"""Whatever a reader does, the process that asked goes on and can say what happened in one sentence."""

from __future__ import annotations

import gzip
import io
import os
import signal
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pandas as pd
import pytest

import calib
from calib.apply.sample import sample_rows
from calib.data.read.files import reads_isolated
from calib.data.unlabelled import read_rows
from calib.errors import CalibrationError, DataError
from calib.isolation import client
from calib.isolation.client import Readers, isolated, limits_for
from calib.isolation.sandbox import FILTER, missing_protections
from tests.conftest import ROOT, simulate, wait_until
from tests.isolation import misbehaving

FILE = ("some.h5", io.BytesIO(b"abc"))


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
        (misbehaving.other_type, "damaged"),
        (misbehaving.leave, "damaged"),
        (misbehaving.finding, "some_code"),
    ],
    ids=lambda value: getattr(value, "__name__", value),
)
def test_what_goes_wrong_in_a_reader_is_one_finding(task, code):
    assert code_of(task) == code


@pytest.mark.parametrize(
    ("limit", "task", "codes"),
    [
        ({"memory": 10**8}, misbehaving.take_memory, {"too_large"}),
        ({"output": 10**6}, misbehaving.write_much, {"too_large", "reader_failed"}),
        ({"cpu_seconds": 1}, misbehaving.spin, {"too_slow"}),
    ],
    ids=["memory", "output", "time"],
)
def test_a_reader_that_goes_past_a_limit_is_ended(limit, task, codes, monkeypatch):
    tight = replace(limits_for(0), **limit)
    monkeypatch.setattr(client, "limits_for", lambda size: tight)
    assert code_of(task) in codes


def test_a_reader_that_sleeps_is_ended(monkeypatch):
    monkeypatch.setattr(client, "wall_seconds", lambda limits: 0.2)
    with pytest.raises(DataError) as caught:
        isolated(misbehaving.sleep, FILE)
    (finding,) = caught.value.findings
    assert finding.code == "too_slow"
    # It took next to no processor time, which says nothing against the file.
    assert "machine may be busy" in finding.reason and "damaged" not in finding.reason
    assert "processor" not in finding.reason and "again" in finding.action


@pytest.mark.skipif(
    sys.platform != "linux", reason="elsewhere a descriptor is open for all that it was opened for"
)
def test_all_that_a_reader_can_write_is_its_answer():
    """What else it could write would be memory past its limit."""
    assert isolated(misbehaving.writable, FILE) == 1


def test_an_error_for_people_comes_back_and_a_fault_is_logged(caplog):
    with pytest.raises(CalibrationError, match="One sentence"):
        isolated(misbehaving.sentence, FILE)
    assert code_of(misbehaving.fault) == "reader_failed"
    assert "KeyError" in caplog.text
    assert "some.h5" not in caplog.text


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
    (reader,) = _children(server)
    os.kill(server, signal.SIGKILL)
    asking.join()
    assert found == ["reader_failed"]
    wait_until(
        lambda: not Path(f"/proc/{reader}").exists()
    )  # it ends with the server, however early that was
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


def test_a_sample_read_apart_is_the_same_data():
    path = ROOT / "sample_data" / "wine-forest.xlsx"
    here, apart = calib.load(path), calib.load(path, isolate=True)
    assert here.sha256 == apart.sha256
    assert here.roles == apart.roles
    assert here.findings == apart.findings
    assert here.event == apart.event
    np.testing.assert_array_equal(here.logits, apart.logits)


def hdf5(**arrays):
    buffer = io.BytesIO()
    with h5py.File(buffer, "w") as file:
        for name, values in arrays.items():
            file[name] = values
    return buffer.getvalue()


@pytest.mark.skipif(missing_protections() != [], reason="readers are not closed in")
def test_hdf5_is_read_apart_unless_that_is_refused(tmp_path, monkeypatch):
    logits, labels = simulate(60, 3)
    files = {
        "both": hdf5(logits=logits, labels=labels),
        "outputs": hdf5(logits=logits),
        "labels": hdf5(labels=labels),
    }
    paths = {name: tmp_path / f"{name}.npz" for name in files}  # its name says nothing
    for name, path in paths.items():
        path.write_bytes(files[name])
    frame = pd.DataFrame(logits, columns=["p_0", "p_1", "p_2"])
    monkeypatch.setattr(h5py, "File", None)  # in this process
    np.testing.assert_array_equal(read_rows(paths["outputs"]).outputs, logits)
    for found in (
        calib.load(paths["both"]),
        calib.load(("a.h5", files["both"])),
        calib.load(paths["outputs"], labels=paths["labels"]),
        calib.load(frame, labels=paths["labels"], kind="logits"),
        calib.load({"logits": logits}, labels=("labels", io.BytesIO(files["labels"]))),
    ):
        np.testing.assert_array_equal(found.labels, labels)
        np.testing.assert_array_equal(found.logits, logits)
    (finding,) = calib.data.inspect(("a.h5.gz", gzip.compress(files["both"]))).findings
    assert "HDF5 packed with gzip" in finding.reason
    np.save(tmp_path / "big.npy", logits)
    with pytest.raises(DataError, match=r"labels\.npz is HDF5"):
        sample_rows(tmp_path / "big.npy", 10, labels=paths["labels"])
    (finding,) = calib.data.inspect(paths["both"], isolate=False).findings  # which would call it
    assert finding.level == "error"
    monkeypatch.setattr("calib.data.read.files.missing_protections", lambda: [FILTER])
    assert not reads_isolated(None, paths["both"])


def test_a_refused_file_and_a_table_to_ask_about_are_the_same_apart(tmp_path):
    asked = tmp_path / "asked.csv"
    asked.write_text(
        "score_a,score_b,default\n" + "".join(f"{i / 40},{1 - i / 41},{i % 2}\n" for i in range(40))
    )
    empty = tmp_path / "empty.npz"
    empty.write_bytes(b"")
    for path in (asked, empty, tmp_path / "missing.npz"):
        here, apart = calib.data.inspect(path), calib.data.inspect(path, isolate=True)
        assert here.predictions is None
        assert here.findings == apart.findings
        assert here.readings == apart.readings
        assert here.rows == apart.rows
        assert here.choices == apart.choices
