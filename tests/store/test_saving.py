"""A disk that fails at any moment loses nothing that was stored; and where the store of a server is."""

from __future__ import annotations

import errno
import math
import os
import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from calib.data import Predictions
from calib.engine import Job
from calib.store.contents import Entry, get_data, get_job, put_data, put_job
from calib.store.index import NotKept, Store, describe_error, server_store
from tests.store.conftest import fit, name_of

LINK = name_of(1)


def made(seed: int = 0, rows: int = 20_000) -> tuple[Predictions, Job, Entry]:
    """Data of 1.6 MB, a fit on them, and what a link to both leads to."""
    generator = np.random.default_rng(seed)
    logits, labels = generator.normal(size=(rows, 10)), generator.integers(0, 10, rows)
    data = Predictions(logits, labels, tuple("abcdefghij")).identified()
    job = fit("temperature", data.take(np.arange(100)))
    return data, job, Entry("visitor", data.sha256, fits={job.spec.key: job.spec})


@pytest.fixture(scope="module")
def mine() -> tuple[Predictions, Job, Entry]:
    return made()


def why(store: Store, link: str, data: Predictions, job: Job, entry: Entry) -> str:
    """Store all of it; why that failed, empty where it did not."""
    try:
        store.put_link(link, entry, entry.keys())
        put_data(store, data)
        put_job(store, job)
    except (OSError, NotKept) as error:
        return describe_error(error)
    return ""


def missing(root: Path, link: str, data: Predictions, job: Job, entry: Entry) -> set[str]:
    """What of it another process does not find; what it finds is as it was."""
    store = Store(root)
    if store.get_link(link, Entry) != entry:
        return {"data", "fit"}
    back, fitted = get_data(store, data.sha256), get_job(store, job.spec)
    assert back is None or np.array_equal(back.logits, data.logits)
    assert fitted is None or fitted.calibrator.temperature_ == job.calibrator.temperature_
    return {kind for kind, found in (("data", back), ("fit", fitted)) if found is None}


def whole(root: Path, link: str, *kept: Any) -> bool:
    """Whether another process finds all of it."""
    return not missing(root, link, *kept)


def test_a_finished_fit_is_stored_if_a_link_leads_there(store: Store, mine, monkeypatch) -> None:
    _, job, entry = mine
    with monkeypatch.context() as patch:
        patch.setattr(
            type(job.calibrator), "get_state", lambda made: pytest.fail("nobody keeps it")
        )
        put_job(store, job)
    assert get_job(store, job.spec) is None
    store.put_link(LINK, entry, entry.keys())
    put_job(store, job)
    assert get_job(store, job.spec) is not None


def test_what_is_too_large_is_said_and_neither_written_nor_deletes_anything(
    tmp_path: Path, mine, clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, theirs = Store(tmp_path, max_bytes=2_500_000), made(1)
    assert not why(store, LINK, *mine)
    assert (
        why(store, name_of(2), *theirs)
        == "the server has no room for 0.0018 GB beside what others keep"
    )
    clock.run(1)
    huge, _, entry = made(2, 40_000)
    with monkeypatch.context() as patch:
        store.put_link(name_of(3), entry, entry.keys())
        patch.setattr("calib.store.index.write", lambda *given: pytest.fail("it was written"))
        with pytest.raises(NotKept, match=r"no room for 0\.0035 GB"):
            put_data(store, huge)
    assert whole(tmp_path, LINK, *mine)
    assert not why(store, name_of(2), *theirs)  # once the others are idle
    assert whole(tmp_path, name_of(2), *theirs) and not whole(tmp_path, LINK, *mine)


FULL = "database or disk is full"


class Disk:
    """A disk that lets so many calls succeed, of its files and of SQLite's statements, and is full after them."""

    left = math.inf

    def use(self, error: Exception) -> None:
        self.left -= 1
        if self.left < 0:
            raise error


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Disk:
    made, connect = Disk(), sqlite3.connect

    def limited(call: Callable[..., Any]) -> Callable[..., Any]:
        def run(*given: Any, **options: Any) -> Any:
            made.use(OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "/srv/secret/place"))
            return call(*given, **options)

        return run

    class Connection(sqlite3.Connection):
        def execute(self, statement: str, *given: Any) -> sqlite3.Cursor:
            if not statement.startswith(("SELECT", "PRAGMA")):
                made.use(sqlite3.OperationalError(FULL))
            return super().execute(statement, *given)

    for name in ("open", "fsync", "replace"):
        monkeypatch.setattr(os, name, limited(getattr(os, name)))
    monkeypatch.setattr(
        sqlite3, "connect", lambda *given, **more: connect(*given, factory=Connection, **more)
    )
    return made


def test_a_disk_that_is_full_from_any_moment_loses_nothing_that_was_announced(
    tmp_path: Path, disk: Disk
) -> None:
    mine, theirs = made(rows=500), made(1, rows=500)
    for calls in range(100):
        root = tmp_path / f"{calls}"
        store = Store(root)
        assert why(store, LINK, *mine) == ""
        disk.left = calls
        said = why(store, name_of(2), *theirs)
        spared, disk.left = disk.left >= 0, math.inf
        assert whole(root, LINK, *mine)
        assert said in (
            "",
            *(f"the server's disk failed ({cause})" for cause in (os.strerror(errno.ENOSPC), FULL)),
        )
        if said:
            assert why(store, name_of(2), *theirs) == ""
        assert whole(root, name_of(2), *theirs)
        if spared:
            break
    assert 5 < calls < 99


def test_what_cannot_be_deleted_stays_whole_until_it_can(
    store: Store, mine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*given: object, **options: object) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), "/srv/secret/place")

    assert not why(store, LINK, *mine)
    with monkeypatch.context() as failing:
        failing.setattr(Path, "unlink", refuse)
        with pytest.raises(OSError) as raised:
            store.delete([LINK])
    assert describe_error(raised.value) == f"the server's disk failed ({os.strerror(errno.EROFS)})"
    assert whole(store.root, LINK, *mine)
    store.delete([LINK])
    assert not list((store.root / "records").iterdir())


def test_what_is_deleted_while_it_is_stored_is_not_there(
    store: Store, mine, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, job, entry = mine
    state_of = job.calibrator.get_state
    store.put_link(LINK, entry, entry.keys())

    def deleted_meanwhile() -> Any:
        Store(store.root).delete([LINK])
        return state_of()

    monkeypatch.setattr(job.calibrator, "get_state", deleted_meanwhile)
    put_job(store, job)
    assert get_job(store, job.spec) is None and not list((store.root / "records").iterdir())
    assert why(store, LINK, *mine) == "it was deleted in another window"


def test_settings_say_where_and_how_much_and_it_is_tidied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    swept = threading.Event()
    monkeypatch.setattr(Store, "sweep", lambda store: swept.set())
    monkeypatch.setattr(Store, "make_room", lambda store: True)
    given = {
        "CALIB_WORKSPACE": str(tmp_path),
        "CALIB_WORKSPACE_GB": "2",
        "CALIB_WORKSPACE_DAYS": "7",
    }
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    made = server_store.__wrapped__()
    assert (made.root, made.max_bytes, made.max_days) == (tmp_path, 2 * 10**9, 7.0)
    assert swept.wait(60)
    monkeypatch.setenv("CALIB_WORKSPACE", "")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert server_store.__wrapped__().root == tmp_path / "calib"
    monkeypatch.setenv("CALIB_WORKSPACE", "OFF")
    assert server_store.__wrapped__() is None
