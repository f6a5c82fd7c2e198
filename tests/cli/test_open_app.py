"""The app on data at hand: it opens them, this machine alone reaches it, and it ends with whoever started it."""

from __future__ import annotations

import errno
import os
import socket
import subprocess
import sys
import urllib.request
from unittest.mock import Mock

import numpy as np
import pytest

import calib
from calib.cli import app as module
from calib.data.loading import from_outputs
from calib.errors import CalibrationError
from calib.store.contents import Entry, get_data, link_name, plain_findings
from calib.store.index import Store
from tests.conftest import ROOT, simulate, wait_until

LOGITS, LABELS = simulate(n=200, n_classes=3)


def answers(address: str) -> bool:
    try:
        with urllib.request.urlopen(address, timeout=300) as answer:
            return answer.status == 200
    except OSError:
        return False


@pytest.mark.long
def test_it_serves_until_it_is_stopped_and_leaves_nothing(capsys, monkeypatch, tmp_path):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    with calib.open_app(LOGITS, LABELS) as app:
        assert capsys.readouterr().out.strip().endswith(app.url)
        assert answers(app.url)
        assert app.url.startswith("http://127.0.0.1:") and list(tmp_path.iterdir())
        assert app.url in app._repr_html_()
    assert not answers(app.url)
    assert not list(tmp_path.glob("calib-*"))


@pytest.mark.long
def test_it_ends_with_the_session(tmp_path):
    code = (
        "import calib, sys\nfrom tests.conftest import simulate\n"
        "app = calib.open_app(simulate(n=200, n_classes=3))\nprint(app.url, flush=True)\n"
        "sys.stdin.read()\n"
    )
    environment = os.environ | {"TMPDIR": str(tmp_path)}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    session = subprocess.Popen(
        [sys.executable, "-c", code], cwd=ROOT, env=environment, text=True, **pipes
    )
    url = session.stdout.readline().split()[-1]
    assert answers(url)
    session.communicate(timeout=300)
    wait_until(lambda: not answers(url))
    assert not list(tmp_path.glob("calib-*"))


def test_the_link_leads_to_the_data_with_their_name_and_findings(tmp_path):
    data = from_outputs(LOGITS * 300, LABELS, name="<script>alert(1)</script>")
    part = data.take(range(150))
    token = module._store(part.identified(), tmp_path)
    store = Store(tmp_path)
    entry = store.get_link(link_name(token), Entry)
    kept = get_data(store, entry.data)
    np.testing.assert_array_equal(kept.logits, part.logits)
    np.testing.assert_array_equal(kept.labels, part.labels)
    assert (entry.name, kept.class_names, kept.kind) == (data.name, data.class_names, "logits")
    assert entry.findings == plain_findings(data.findings) != ()


@pytest.mark.long
def test_a_server_that_does_not_start_says_why(monkeypatch, tmp_path):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setenv("CALIB_WORKSPACE_GB", "many")
    with pytest.raises(CalibrationError, match="CALIB_WORKSPACE_GB='many'"):
        calib.open_app(LOGITS, LABELS)
    assert not list(tmp_path.glob("calib-*"))


def test_a_temporary_folder_that_takes_nothing_is_said(monkeypatch, tmp_path):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "away"))
    with pytest.raises(OSError, match="away"):
        calib.open_app(LOGITS, LABELS)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    monkeypatch.setattr("calib.store.contents.put_data", Mock(side_effect=full))
    with pytest.raises(OSError, match="No space left"):
        calib.open_app(LOGITS, LABELS)
    assert not list(tmp_path.iterdir())


def test_an_interrupt_while_it_starts_leaves_nothing(monkeypatch, tmp_path):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr("calib.cli.app._answers", Mock(side_effect=KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        calib.open_app(LOGITS, LABELS)
    assert not list(tmp_path.iterdir())


def test_a_port_that_is_taken_is_said_before_anything_is_written(monkeypatch, tmp_path):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with socket.create_server(("127.0.0.1", 0)) as other, pytest.raises(OSError, match="in use"):
        calib.open_app(LOGITS, LABELS, port=other.getsockname()[1])
    assert not list(tmp_path.iterdir())
