"""The keeper of a server: what it says is stored is stored, on a disk that fails at any moment too."""

from __future__ import annotations

import errno
import os
import sqlite3
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from calib.data import Predictions
from calib.engine import Job
from calib.store import Configuration, Entry, Keeper, NotDeleted, counted, saving
from calib.store.contents import content_of
from calib.store.index import Store
from tests.store.conftest import fit, name_of, settled

LINK = name_of(1)


def made(seed: int = 0, rows: int = 20_000) -> tuple[Predictions, Job, Entry]:
    """Data of 1.6 MB, a fit on them, and what a link to both leads to."""
    generator = np.random.default_rng(seed)
    logits, labels = generator.normal(size=(rows, 10)), generator.integers(0, 10, rows)
    data = Predictions(logits, labels, tuple("abcdefghij")).identified()
    job = fit("temperature", data.take(np.arange(100)))
    return data, job, Entry("visitor", data.sha256, fits=(job.spec,))


@pytest.fixture(scope="module")
def mine() -> tuple[Predictions, Job, Entry]:
    return made()


@pytest.fixture(scope="module")
def theirs() -> tuple[Predictions, Job, Entry]:
    return made(1)


def whole(root: Path, link: str, data: Predictions, job: Job, entry: Entry) -> bool:
    """Whether another process finds all of it."""
    keeper = Keeper(Configuration(root))
    try:
        if keeper.recall(link) != entry:
            return False
        back, found = keeper.data(data.sha256), keeper.finished(job.spec)
        assert back is None or np.array_equal(back.logits, data.logits)
        assert found is None or found.calibrator.temperature_ == job.calibrator.temperature_
        return back is not None and found is not None
    finally:
        keeper.close()


def test_what_is_kept_is_stored_and_called_so_afterwards(keeper: Keeper, mine) -> None:
    data, job, entry = mine
    keeper.keep(LINK, entry, data, [job])
    settled(keeper)
    assert keeper.standing(LINK) == saving.Standing()
    assert whole(keeper.configuration.root, LINK, data, job, entry)
    assert not keeper._links  # and stays in memory no longer


def test_nobody_waits_and_what_is_under_way_is_said(keeper: Keeper, mine, monkeypatch: pytest.MonkeyPatch) -> None:
    data, job, entry = mine
    goes_on = threading.Event()
    put_data = saving.put_data
    monkeypatch.setattr(saving, "put_data", lambda *given: (goes_on.wait(), put_data(*given)))
    keeper.keep(LINK, entry, data, [job])
    assert ("data", data.sha256) in keeper.standing(LINK).missing
    assert not keeper.standing(LINK).reasons
    goes_on.set()
    settled(keeper)
    assert not keeper.standing(LINK).missing


def test_a_finished_fit_is_stored_if_a_link_leads_there(keeper: Keeper, mine) -> None:
    data, job, entry = mine
    keeper.keep_fit(job)
    assert keeper.finished(job.spec) is None
    keeper.keep(LINK, entry, data)
    keeper.keep_fit(job)  # whether or not the link has been written by now
    assert keeper.finished(job.spec) is not None


def test_what_is_too_large_is_said(tmp_path: Path, mine) -> None:
    data, job, entry = mine
    keeper = Keeper(Configuration(tmp_path, max_bytes=1_000_000))
    keeper.keep(LINK, entry, data, [job])
    settled(keeper)
    standing = keeper.standing(LINK)
    assert counted(standing.missing) == "the data"
    assert standing.reasons == ("the data take 0.0018 GB, and 0.001 of 0.001 GB are free",)
    keeper.close()


def test_what_finds_no_room_is_stored_once_others_are_idle(tmp_path: Path, mine, theirs, clock) -> None:
    keeper = Keeper(Configuration(tmp_path, max_bytes=2_500_000))
    for link, (data, job, entry) in ((LINK, mine), (name_of(2), theirs)):
        keeper.keep(link, entry, data, [job])
        settled(keeper)
    assert whole(tmp_path, LINK, *mine)
    assert "of 0.0025 GB are free" in keeper.standing(name_of(2)).reasons[0]
    clock(1)
    keeper.try_again()
    settled(keeper)
    assert keeper.standing(name_of(2)) == saving.Standing()
    assert whole(tmp_path, name_of(2), *theirs) and not whole(tmp_path, LINK, *mine)
    keeper.close()


def test_what_nobody_looks_at_any_more_leaves_the_memory(keeper: Keeper, mine, monkeypatch: pytest.MonkeyPatch) -> None:
    data, job, entry = mine
    monkeypatch.setattr(saving, "put_data", full)
    keeper.keep(LINK, entry, data, [job])
    settled(keeper)
    assert keeper._links
    monkeypatch.setattr(saving, "GONE", -1.0)
    keeper.keep(name_of(2), Entry("another", sample="digits-cnn"))
    settled(keeper)
    assert not keeper._links


def test_what_was_dropped_is_not_called_saved_until_it_is(
    keeper: Keeper, mine, monkeypatch: pytest.MonkeyPatch
) -> None:
    data, job, entry = mine
    with monkeypatch.context() as disk:
        disk.setattr(saving, "put_data", full)
        keeper.keep(LINK, entry, data, [job])
        settled(keeper)
        disk.setattr(saving, "GONE", -1.0)
        keeper.keep(name_of(2), Entry("another", sample="digits-cnn"))
        settled(keeper)
    assert keeper.standing(LINK).missing
    assert keeper.standing(name_of(2)) == saving.Standing()
    keeper.keep(LINK, entry, data, [job])
    settled(keeper)
    assert keeper.standing(LINK) == saving.Standing()
    assert whole(keeper.configuration.root, LINK, data, job, entry)


def test_a_page_in_the_background_is_not_dropped() -> None:
    assert saving.GONE > 2 * 60  # browsers let its timers run once a minute


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
    monkeypatch.setattr("calib.store.arrays.os", Os())
    monkeypatch.setattr("calib.store.index.sqlite3.connect", lambda *a, **o: connect(*a, factory=Connection, **o))
    return made


def test_a_disk_that_is_full_from_any_moment_loses_nothing_that_was_announced(
    tmp_path: Path, mine, theirs, disk: Disk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(saving, "AGAIN", 0.0)
    for calls in range(100):
        root = tmp_path / f"{calls}"
        keeper = Keeper(Configuration(root))
        data, job, entry = mine
        keeper.keep(LINK, entry, data, [job])
        settled(keeper)
        disk.left = calls
        data, job, entry = theirs
        keeper.keep(name_of(2), entry, data, [job])
        settled(keeper)
        spared, disk.left = disk.left is not None and disk.left >= 0, None
        link = keeper._links.get(name_of(2))
        assert whole(root, LINK, *mine)
        if link is None:  # all is said to be stored
            assert whole(root, name_of(2), *theirs)
        else:
            assert set(link.failures.values()) == {"the server's disk is full"}
            keeper.standing(name_of(2))  # whoever looks has it tried again
            settled(keeper)
            assert keeper.standing(name_of(2)) == saving.Standing()
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
    keeper.keep(LINK, entry, data, [job])
    settled(keeper)

    def refuse(*given: object, **options: object) -> None:
        raise OSError(error, os.strerror(error), "/srv/secret/place")

    with monkeypatch.context() as disk:
        disk.setattr(Path, "unlink", refuse)
        with pytest.raises(
            NotDeleted, match=r"^Still on the server's disk: the data, 1 fit and the link; the server's"
        ):
            keeper.forget(LINK)
    assert whole(keeper.configuration.root, LINK, data, job, entry)
    keeper.forget(LINK)
    assert keeper.recall(LINK) is None and not list((keeper.configuration.root / "arrays").iterdir())


def test_deleting_takes_the_links_before_it_too(keeper: Keeper, mine, theirs) -> None:
    data, job, entry = mine
    keeper.keep(LINK, entry, data, [job])
    data, job, entry = theirs
    keeper.keep(name_of(2), replace(entry, earlier=(LINK,)), data, [job])
    settled(keeper)
    keeper.forget(name_of(2))
    assert keeper.recall(LINK) is None and keeper.recall(name_of(2)) is None
    assert not list((keeper.configuration.root / "arrays").iterdir())


def test_what_is_deleted_while_it_is_stored_is_not_there(keeper: Keeper, mine, monkeypatch: pytest.MonkeyPatch) -> None:
    data, job, entry = mine
    put = Store.put

    def deleted_meanwhile(store: Store, *given: Any) -> None:
        keeper.store.delete([LINK])
        put(store, *given)

    monkeypatch.setattr(Store, "put", deleted_meanwhile)
    keeper.keep(LINK, entry, data, [job])
    settled(keeper)
    assert keeper.standing(LINK).reasons == (saving.DELETED,)
    assert keeper.recall(LINK) is None and not keeper.store.held(content_of(job))
    assert not list((keeper.configuration.root / "arrays").iterdir())


def test_settings_say_where_and_how_much(tmp_path: Path) -> None:
    given = {"CALIB_WORKSPACE": str(tmp_path), "CALIB_WORKSPACE_GB": "2", "CALIB_WORKSPACE_DAYS": "7"}
    assert Configuration.from_settings(given) == Configuration(tmp_path, 2 * 10**9, 7.0)
    assert Configuration.from_settings({"CALIB_WORKSPACE": "off"}) is None
    assert Configuration.from_settings({"XDG_CACHE_HOME": "/x"}).root == Path("/x/calib").resolve()
    with pytest.raises(ValueError, match="CALIB_WORKSPACE_GB='much'"):
        Configuration.from_settings({"CALIB_WORKSPACE_GB": "much"})
