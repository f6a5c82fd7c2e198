"""The keeper of a server: what it says is stored is stored, on a disk that fails at any moment too."""

from __future__ import annotations

import errno
import os
import sqlite3
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from calib.data import Predictions
from calib.engine import Job
from calib.store import saving as store_saving
from calib.store.contents import Entry, get_data, get_job
from calib.store.index import Store
from calib.store.saving import DELETED, Keeper, in_words
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


@pytest.fixture(scope="module")
def theirs() -> tuple[Predictions, Job, Entry]:
    return made(1)


def why(saved: Future[None]) -> str:
    """Why something was not stored; empty where it was."""
    error = saved.exception()
    return "" if error is None else in_words(error)


def whole(root: Path, link: str, data: Predictions, job: Job, entry: Entry) -> bool:
    """Whether another process finds all of it."""
    store = Store(root)
    if store.get_link(link, Entry) != entry:
        return False
    back, fitted = get_data(store, data.sha256), get_job(store, job.spec)
    assert back is None or np.array_equal(back.logits, data.logits)
    assert fitted is None or fitted.calibrator.temperature_ == job.calibrator.temperature_
    return back is not None and fitted is not None


def test_a_finished_fit_is_stored_if_a_link_leads_there(keeper: Keeper, mine) -> None:
    data, job, entry = mine
    keeper.keep_fit(job)
    assert get_job(keeper, job.spec) is None
    keeper.save(LINK, entry, data)
    keeper.keep_fit(job)  # whether or not the link has been written by now
    assert get_job(keeper, job.spec) is not None


def test_what_is_too_large_is_said_and_deletes_nothing(tmp_path: Path, mine, theirs, clock) -> None:
    keeper = Keeper(tmp_path, max_bytes=2_500_000)
    for link, (data, job, entry) in ((LINK, mine), (name_of(2), theirs)):
        said = why(keeper.save(link, entry, data, [job]))
    assert said.startswith("the data take 0.0018 GB, and 0.000") and said.endswith("of 0.0025 GB are free")
    clock(1)
    huge, _, entry = made(2, 40_000)
    said = why(keeper.save(name_of(3), replace(entry, data=huge.sha256), huge))
    assert "the data take 0.0035 GB" in said
    assert whole(tmp_path, LINK, *mine)
    data, job, entry = theirs
    assert why(keeper.save(name_of(2), entry, data, [job])) == ""  # once the others are idle
    assert whole(tmp_path, name_of(2), *theirs) and not whole(tmp_path, LINK, *mine)
    keeper.close()


def full(*given: object) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "/srv/secret/place")


class Disk:
    """A disk that lets so many calls succeed, of its files and of SQLite's statements, and is full after them."""

    def __init__(self) -> None:
        self.left: int | None = None
        self.calls = 0

    def check(self, error: type[Exception] = OSError) -> None:
        self.calls += 1
        if self.left is not None:
            self.left -= 1
            if self.left < 0:
                if error is OSError:
                    full()
                failed = sqlite3.OperationalError("database or disk is full")
                failed.sqlite_errorcode = sqlite3.SQLITE_FULL
                raise failed


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Disk:
    made = Disk()

    def checked(call: Callable[..., Any]) -> Callable[..., Any]:
        def run(*given: Any, **options: Any) -> Any:
            made.check()
            return call(*given, **options)

        return run

    class Connection(sqlite3.Connection):
        def execute(self, statement: str, *given: Any) -> sqlite3.Cursor:
            if not statement.startswith(("SELECT", "PRAGMA")):
                made.check(sqlite3.Error)
            return super().execute(statement, *given)

    class Os:
        def __getattr__(self, name: str) -> Any:
            call = getattr(os, name)
            return checked(call) if name in ("open", "fsync", "replace") else call

    connect = sqlite3.connect
    monkeypatch.setattr("calib.store.index.os", Os())
    monkeypatch.setattr("calib.store.index.sqlite3.connect", lambda *a, **o: connect(*a, factory=Connection, **o))
    return made


def test_a_disk_that_is_full_from_any_moment_loses_nothing_that_was_announced(
    tmp_path: Path, mine, theirs, disk: Disk
) -> None:
    for calls in range(100):
        root = tmp_path / f"{calls}"
        keeper = Keeper(root)
        data, job, entry = mine
        assert why(keeper.save(LINK, entry, data, [job])) == ""
        disk.left = calls
        data, job, entry = theirs
        said = why(keeper.save(name_of(2), entry, data, [job]))
        spared, disk.left = disk.left >= 0, None
        assert whole(root, LINK, *mine)
        assert said in ("", "the server's disk is full")
        if said:
            assert why(keeper.save(name_of(2), entry, data, [job])) == ""
        assert whole(root, name_of(2), *theirs)
        keeper.close()
        if spared:
            break
    assert 5 < calls < 99


@pytest.mark.parametrize("error", [errno.EROFS, errno.EIO])
def test_what_cannot_be_deleted_stays_whole_until_it_can(
    keeper: Keeper, mine, monkeypatch: pytest.MonkeyPatch, error: int
) -> None:
    data, job, entry = mine
    keeper.save(LINK, entry, data, [job]).result()

    def refuse(*given: object, **options: object) -> None:
        raise OSError(error, os.strerror(error), "/srv/secret/place")

    with monkeypatch.context() as failing:
        failing.setattr(Path, "unlink", refuse)
        with pytest.raises(OSError) as raised:
            keeper.delete([LINK])
    assert in_words(raised.value).startswith("the server's") and "secret" not in in_words(raised.value)
    assert whole(keeper.root, LINK, data, job, entry)
    keeper.delete([LINK])
    assert not list((keeper.root / "records").iterdir())


def test_what_is_deleted_while_it_is_stored_is_not_there(keeper: Keeper, mine, monkeypatch: pytest.MonkeyPatch) -> None:
    data, job, entry = mine
    put = Store.put

    def deleted_meanwhile(store: Store, *given: Any) -> None:
        keeper.delete([LINK])
        put(store, *given)

    monkeypatch.setattr(Store, "put", deleted_meanwhile)
    keeper.save(LINK, entry, data, [job]).result()
    assert why(keeper.save(LINK, entry, data, [job])) == DELETED
    assert get_job(keeper, job.spec) is None
    assert not (keeper.root / "records").exists()  # nor was anything written on the way


def test_settings_say_where_and_how_much(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given = {"CALIB_WORKSPACE": str(tmp_path), "CALIB_WORKSPACE_GB": "2", "CALIB_WORKSPACE_DAYS": "7"}
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    made = store_saving.keeper.__wrapped__()
    assert (made.root, made.max_bytes, made.max_days) == (tmp_path, 2 * 10**9, 7.0)
    monkeypatch.setenv("CALIB_WORKSPACE", "")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    usual = store_saving.keeper.__wrapped__()
    assert usual.root == tmp_path / "calib"
    for keeper in (made, usual):
        keeper.close()
    monkeypatch.setenv("CALIB_WORKSPACE", "OFF")
    assert store_saving.keeper.__wrapped__() is None
