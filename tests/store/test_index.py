"""What the store deletes: by hand, by age and by room; what links share stays, and what was deleted is gone."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from calib.records import BadRecord
from calib.store.contents import Entry
from calib.store.index import ABANDONED, NotKept, Store, _sweep_often
from tests.store.conftest import Clock, link_to, name_of

MEGABYTE = 10**6


def put(store: Store, number: int) -> None:
    """Store 1.5 MB, alike only for equal numbers."""
    store.put(f"{number}", lambda: {"array": np.full(3 * MEGABYTE // 2, number, np.uint8)})


def there(store: Store) -> set[str]:
    """Keys of the data sets that are stored whole."""
    found = set()
    for number in range(10):
        if (
            store.get(f"{number}", dict[str, np.ndarray], lambda value: value["array"].sum())
            is not None
        ):
            found.add(f"{number}")
    return found


def files(store: Store) -> int:
    return len(list((store.root / "records").glob("*")))


def entry_of(store: Store, number: int) -> Entry | None:
    return store.get_link(name_of(number), Entry)


def test_nothing_is_stored_that_no_link_leads_to(store: Store) -> None:
    put(store, 1)
    assert there(store) == set() and files(store) == 0
    link_to(store, 1, "1")
    put(store, 1)
    assert there(store) == {"1"} and files(store) == 1
    store.put("1", lambda: pytest.fail("it is stored"))


@pytest.mark.parametrize("key", ["../../kept", "/{}/kept", "..", "", "a\0b", "a/b"])
def test_a_key_that_is_no_name_leads_to_no_file(store: Store, tmp_path: Path, key: str) -> None:
    kept = tmp_path / "kept"
    kept.write_bytes(b"no record")
    key = key.format(tmp_path)
    link_to(store, 1, "1")
    with pytest.raises(BadRecord):
        store.get(key, dict[str, np.ndarray], pytest.fail)
    assert kept.read_bytes() == b"no record"


def test_deleting_takes_what_no_other_link_leads_to(store: Store) -> None:
    link_to(store, 1, "1", "2")
    link_to(store, 1, "2")  # what it led to before goes with it
    link_to(store, 2, "2")
    put(store, 1)
    put(store, 2)
    store.delete([name_of(1)])
    assert there(store) == {"2"} and files(store) == 1
    assert entry_of(store, 1) is None and entry_of(store, 2) is not None
    store.delete([name_of(1), name_of(2)])
    assert there(store) == set() and files(store) == 0


def test_a_deleted_link_is_never_written_again_nor_what_it_led_to(store: Store) -> None:
    link_to(store, 1, "1")
    other = Store(store.root)  # another server
    store.delete([name_of(1)])
    assert other.get_link(name_of(1), Entry) is None
    with pytest.raises(NotKept, match="deleted in another window"):
        link_to(other, 1, "1")
    put(other, 1)
    assert there(store) == set() and files(store) == 0


def test_what_was_deleted_is_nowhere_in_the_folder(store: Store) -> None:
    secret, large = (
        np.frombuffer(b"a secret of somebody" * 100, np.uint8),
        np.frombuffer(b"and more" * 250_000, np.uint8),
    )
    link_to(store, 1, "f", name="the name of a file")
    store.put("f", lambda: {"small": secret, "large": large, "text": "what somebody wrote"})
    words = (b"a secret of somebody", b"and more", b"what somebody wrote", b"the name of a file")
    assert all(
        any(word in path.read_bytes() for path in store.root.rglob("*") if path.is_file())
        for word in words
    )
    store.delete([name_of(1)])
    for path in store.root.rglob("*"):
        assert not path.is_file() or not any(word in path.read_bytes() for word in words), path


def test_files_are_not_deleted_before_their_record_is_there(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    link_to(store, 1, "1")
    other, replace = Store(store.root), os.replace
    monkeypatch.setattr("calib.store.index.BUSY", 0.0)

    def swept_after(aside: Path, path: Path) -> None:
        replace(aside, path)
        with pytest.raises(OSError, match="locked"):
            other.sweep()

    monkeypatch.setattr("calib.store.index.os.replace", swept_after)
    put(store, 1)
    assert there(store) == {"1"}


def test_what_was_unused_for_long_goes(store: Store, clock: Clock) -> None:
    link_to(store, 1, "1")
    link_to(store, 2, "1", "2")
    put(store, 1)
    put(store, 2)
    clock.run(20)
    link_to(store, 1, "1")  # written once more, it counts as used
    clock.run(20)
    store.sweep()
    assert there(store) == {"1"} and files(store) == 1
    assert entry_of(store, 1) is not None and entry_of(store, 2) is None
    store.delete([name_of(1)])
    clock.run(31)
    store.sweep()
    assert (
        there(store) == set() and store.get_link(name_of(1), Entry) is None
    )  # nor that it was deleted


def test_links_unused_for_longest_make_room_with_all_that_no_other_leads_to(
    store: Store, clock: Clock
) -> None:
    for number in (1, 2, 3):
        link_to(store, number, f"{number}", "3")
        put(store, number)
        clock.run(1)
    store.max_bytes = 5 * MEGABYTE
    assert store.make_room()
    assert there(store) == {"1", "2", "3"}
    assert store.make_room(MEGABYTE)
    assert there(store) == {"2", "3"} and files(store) == 2
    assert entry_of(store, 1) is None
    store.max_bytes = 2 * MEGABYTE
    assert store.make_room()
    assert there(store) == {"3"}


def test_what_is_in_use_makes_no_room(store: Store, clock: Clock) -> None:
    for number in (1, 2):
        link_to(store, number, f"{number}")
        put(store, number)
    store.max_bytes = MEGABYTE
    assert not store.make_room()
    assert there(store) == {"1", "2"}
    clock.run(0.1)
    link_to(store, 1, "1")
    assert not store.make_room()
    assert there(store) == {"1"}


@pytest.mark.parametrize("days", [31, -20_000, 20_000])
def test_a_clock_that_was_wrong_when_a_server_started_deletes_nothing(
    store: Store, clock: Clock, days: float
) -> None:
    """The first sweep of a server whose clock was 31 days ahead deleted everything."""
    link_to(store, 1, "1")
    put(store, 1)
    for _ in range(3):
        clock.jump(days)
        store.sweep()
        clock.jump(-days)
        store.sweep()
    assert there(store) == {"1"} and entry_of(store, 1) is not None


def test_what_was_stored_while_the_clock_stood_in_1970_goes_after_days_without_use(
    store: Store, clock: Clock
) -> None:
    """The first sweep after the clock was set deleted it."""
    today, clock.now = clock.now, 86_400.0
    link_to(store, 1, "1")
    put(store, 1)
    for path in (store.root / "links", store.root / "records"):
        for file in path.iterdir():
            os.utime(file, (86_400, 86_400))
    clock.now = today
    clock.run(20)
    assert there(store) == {"1"}
    clock.run(31)
    assert there(store) == set() and files(store) == 0


def test_what_only_one_of_two_times_calls_old_stays(store: Store, clock: Clock) -> None:
    link_to(store, 1, "1")
    put(store, 1)
    clock.jump(-100)
    clock.run(
        40
    )  # of the store's own time; the clock has not yet come to when the file was written
    assert there(store) == {"1"}
    clock.run(91)
    assert there(store) == set()


@pytest.mark.parametrize(
    "spoil", [Path.unlink, lambda path: path.write_bytes(b"")], ids=["missing", "empty"]
)
def test_an_index_that_is_gone_is_rebuilt_from_the_records(
    store: Store, clock: Clock, caplog: pytest.LogCaptureFixture, spoil: Callable[[Path], object]
) -> None:
    """The first sweep took every record for one that nobody has."""
    for number in (1, 2):
        link_to(store, number, f"{number}", "3", name=f"mine {number}")
    for number in (1, 2, 3):
        put(store, number)
    spoil(store.root / "index.sqlite")
    with caplog.at_level(logging.WARNING, "calib.store"):
        store.sweep()
    assert "the index lacked 2 links on disk: it was rebuilt from them" in caplog.text
    assert there(store) == {"1", "2", "3"} and entry_of(store, 2).name == "mine 2"
    store.delete([name_of(1)])  # whose records are whose is known
    assert there(store) == {"2", "3"} and files(store) == 2
    clock.run(31)
    assert there(store) == set() and files(store) == 0


def test_a_record_whose_link_is_lost_too_is_its_next_owners_and_goes_as_others_do(
    store: Store, clock: Clock
) -> None:
    for number in (1, 2):
        name = link_to(store, number, f"{number}")
        put(store, number)
        (store.root / "links" / name).unlink()
    (store.root / "index.sqlite").unlink()
    store.sweep()
    assert there(store) == {"1", "2"}
    link_to(store, 3, "1")
    store.delete([name_of(3)])
    assert there(store) == {"2"}
    clock.run(31)
    assert files(store) == 0


@pytest.mark.parametrize(("days", "sweeps"), [(-2, 1), (2, 1), (400, 1), (0.5, 3)])
def test_a_clock_that_jumps_stops_the_sweeps_and_the_log_says_so(
    store: Store,
    clock: Clock,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
    days: float,
    sweeps: int,
) -> None:
    link_to(store, 1)
    swept: list[Store] = []

    def sleep(seconds: float) -> None:
        clock.now += seconds
        clock.jump(days)
        if len(swept) == 3:
            clock.jump(9)

    monkeypatch.setattr(Store, "sweep", lambda store: swept.append(store))
    monkeypatch.setattr("calib.store.index.time.sleep", sleep)
    _sweep_often(store)
    assert len(swept) == sweeps
    assert (
        "the clock jumped by more than a day: nothing is deleted for its age until the next start"
        in caplog.text
    )


def test_files_of_dead_processes_go_by_their_age(store: Store) -> None:
    link_to(store, 1, "1")
    put(store, 1)
    path = store.root / "records" / "0.part"
    path.write_bytes(b"half")
    store.sweep()
    assert path.exists()
    old = path.stat().st_mtime - ABANDONED
    os.utime(path, (old, old))
    store.sweep()
    assert not path.exists() and there(store) == {"1"}


def test_an_index_that_is_damaged_is_said(store: Store) -> None:
    link_to(store, 1, *(f"{number}" for number in range(1, 6)))
    path = store.root / "index.sqlite"
    content = path.read_bytes()
    for spoiled in (b"no index" * 999, content[:4096] + bytes(len(content) - 4096)):
        path.write_bytes(spoiled)
        with pytest.raises(OSError, match=r"not a database|malformed"):
            link_to(store, 1, "1")


def test_a_link_that_was_changed_is_refused_and_written_anew(store: Store) -> None:
    name = link_to(store, 1, "1")
    (store.root / "links" / name).write_bytes(b"\0")
    assert store.get_link(name, Entry) is None
    link_to(store, 1, "1")
    assert entry_of(store, 1) is not None


def test_the_folder_is_readable_by_its_owner_alone(tmp_path: Path) -> None:
    store = Store(tmp_path / "new")
    link_to(store, 1, "1")
    put(store, 1)
    for path in (store.root, *store.root.rglob("*")):
        assert not path.stat().st_mode & 0o077, path
