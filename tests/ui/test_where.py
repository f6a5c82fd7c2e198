"""The menu says where fits run, and the Fit page why they do not run where they should."""

from __future__ import annotations

import time

import pytest

from calib.jobs import FitQueue
from calib.jobs.dask import DaskExecutor
from calib.jobs.executor import Executor, LocalExecutor
from calib.jobs.place import Place
from calib.ui import fits
from calib.ui.session import Session
from tests.ui.conftest import open_page

FIT = "pages/1_Fit.py"
ELSEWHERE = "The scheduler at tcp://a:8786 cannot be reached; fits run on this machine meanwhile."


def test_a_cluster_is_named_in_the_menu(queue: FitQueue, with_sample: Session, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(queue, "place", lambda: Place("cluster of 2 workers"))
    app = open_page(FIT, with_sample)
    captions = [str(caption.value) for caption in app.sidebar.caption]
    assert ":material/lan: Cluster of 2 workers" in captions
    assert not any(caption.startswith(":material/memory:") for caption in captions)
    assert not app.warning


def test_this_machine_is_named_where_there_is_no_cluster(queue: FitQueue, with_sample: Session):
    app = open_page(FIT, with_sample)
    assert any(str(caption.value).startswith(":material/memory: ") for caption in app.sidebar.caption)
    assert not app.warning


def test_trouble_is_said_in_the_menu_and_on_the_fit_page(
    queue: FitQueue, with_sample: Session, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(queue, "place", lambda: Place(trouble=ELSEWHERE))
    app = open_page(FIT, with_sample)
    captions = [str(caption.value) for caption in app.sidebar.caption]
    assert f":material/warning: {ELSEWHERE}" in captions
    assert any(caption.startswith(":material/memory: ") for caption in captions)
    assert [str(warning.value) for warning in app.warning] == [ELSEWHERE]


def test_a_page_does_not_wait_for_a_scheduler(with_sample: Session, monkeypatch: pytest.MonkeyPatch):
    pytest.importorskip("distributed")

    def local() -> Executor:
        return LocalExecutor(n_fast=1)

    queue = FitQueue(DaskExecutor("tcp://127.0.0.1:1", local=local))
    monkeypatch.setattr(fits, "queue", lambda: queue)
    app = open_page(FIT, with_sample)
    until = time.monotonic() + 60
    while queue.place().connecting:
        assert time.monotonic() < until
        time.sleep(0.05)
    app.run()
    assert not app.exception
    assert "127.0.0.1:1 cannot be reached" in str(app.warning[0].value)
    queue.shutdown()
