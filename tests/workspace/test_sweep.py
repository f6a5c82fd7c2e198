"""What the workspace deletes by itself: by age, by each visitor's share and by room, and never because of a clock."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from calib.evaluation.studies import SPLITS
from calib.workspace import Content, Entry, Items, KeptStudy
from calib.workspace.files import Clock
from calib.workspace.links import Entries
from calib.workspace.sweep import DAY, Sweep

MEGABYTE = 10**6
START = 1e9


class Time:
    """A clock that a test sets: what it says, and the time that passes in truth."""

    def __init__(self) -> None:
        self.now, self.steady = START, 0.0

    def passes(self, days: float) -> None:
        self.now, self.steady = self.now + days * DAY, self.steady + days * DAY

    def is_set(self, days: float) -> None:
        self.now += days * DAY

    def clock(self) -> Clock:
        return Clock(lambda: self.now, lambda: self.steady)


@pytest.fixture
def time() -> Time:
    return Time()


@pytest.fixture
def items(tmp_path: Path, time: Time) -> Items:
    made = Items(tmp_path, time.clock())
    with made.locked():
        made.swept(time.now)
    return made


def name(number: int) -> str:
    return f"{number:064x}"


def store(items: Items, number: int, megabytes: float = 1.0) -> None:
    items.put("data", name(number), lambda file: file.write(bytes(int(megabytes * MEGABYTE))))
    items.find("data", name(number))  # dated by the test's clock


def link(items: Items, number: int, owner: str = "", **about: object) -> None:
    Entries(items).write(name(number), Entry(f"visitor {number}", name(number), owner=owner, **about))
    items.find("links", name(number))


def sweep(items: Items, max_bytes: float = 1e9, most: float = 1e9) -> Sweep:
    return Sweep(items, Entries(items), int(max_bytes), 30, most / max_bytes)


def stored(items: Items) -> set[int]:
    return {int(item.name, 16) for item in items.all("data", "fits", "studies")}


def links(items: Items) -> set[int]:
    return {int(item.name, 16) for item in items.all("links")}


def test_what_was_unused_for_the_days_goes_while_a_server_runs(items: Items, time: Time) -> None:
    store(items, 1)
    link(items, 1)
    each_day = sweep(items)
    for day in range(40):
        if day == 20:
            store(items, 2)
        time.passes(1)
        each_day()
        assert (1 in stored(items), 1 in links(items)) == (day < 30, day < 30)
    assert stored(items) == {2}


@pytest.mark.parametrize("days", [31, 365, 10_000])
def test_a_clock_that_is_set_forward_deletes_nothing(items: Items, time: Time, days: float) -> None:
    store(items, 1)
    link(items, 1)
    running = sweep(items)
    running()
    time.passes(10)
    running()
    time.is_set(days)
    running()
    assert (stored(items), links(items)) == ({1}, {1})
    time.passes(19)
    running()
    assert stored(items) == {1}  # 29 of 30 days
    time.passes(2)
    running()
    assert not stored(items)


def test_a_server_that_starts_under_another_clock_deletes_nothing(items: Items, time: Time) -> None:
    store(items, 1)
    link(items, 1)
    time.is_set(31)
    sweep(items)()
    assert stored(items) == {1}


def test_a_clock_that_is_set_back_and_forward_deletes_nothing(items: Items, time: Time) -> None:
    store(items, 1)
    running = sweep(items)
    for days in (400, -400, 400, -400):
        time.is_set(days)
        store(items, 2)
        running()
        assert stored(items) == {1, 2}
    time.passes(29)
    running()
    assert stored(items) == {1, 2}
    time.passes(2)
    running()
    assert not stored(items)


def test_a_file_that_is_being_written_outlives_a_clock_that_is_set(items: Items, time: Time) -> None:
    path = items.root / "making" / "1"
    path.write_bytes(b"half")
    os.utime(path, (time.now, time.now))
    time.is_set(31)
    sweep(items)()
    assert path.exists()


def test_beyond_a_share_go_the_visitors_own_oldest_things(items: Items, time: Time) -> None:
    for number, owner in ((1, "others"), (2, "greedy"), (3, "others"), (4, "greedy"), (5, "greedy"), (6, "greedy")):
        time.passes(0.1)
        store(items, number)
        link(items, number, owner)
    removed = sweep(items, max_bytes=1e9, most=2.5 * MEGABYTE)()
    assert stored(items) == {1, 3, 5, 6}
    assert removed == {("data", name(2)), ("links", name(2)), ("data", name(4))}


def test_many_uploads_of_one_address_push_out_no_more_than_its_share(items: Items, time: Time) -> None:
    for number in range(1, 5):
        time.passes(0.01)
        store(items, number)
        link(items, number, f"visitor {number}")
    running = sweep(items, max_bytes=6.5 * MEGABYTE, most=3.5 * MEGABYTE)
    for number in range(100, 130):
        time.passes(0.01)
        store(items, number)
        link(items, number, "greedy")
        running()
    assert stored(items) == {2, 3, 4, 127, 128, 129}


def test_what_another_leads_to_too_stays_for_the_other(items: Items, time: Time) -> None:
    store(items, 1)
    link(items, 1, "other")
    Entries(items).write(name(101), Entry("v", name(1), owner="greedy"))
    items.find("links", name(101))
    time.passes(1)
    for number in (2, 3):
        store(items, number)
        link(items, number, "greedy")
    sweep(items, most=2.5 * MEGABYTE)()
    assert stored(items) == {1, 2, 3}
    assert 1 in links(items)


def test_a_share_cannot_be_escaped_by_asking_for_something_else(items: Items, time: Time) -> None:
    for number in range(1, 6):
        items.put("studies", name(number), lambda file: file.write(bytes(MEGABYTE)))
        items.find("studies", name(number))
        study = KeptStudy(SPLITS, name(number), (), "d", "t")
        Entries(items).write(name(10), Entry("v", owner="greedy", studies=(study,)))
        items.find("links", name(10))
        time.passes(0.01)
    sweep(items, most=2.5 * MEGABYTE)()
    assert stored(items) == {1, 2, 3, 4, 5}  # there is nobody else
    link(items, 20, "other")
    sweep(items, most=2.5 * MEGABYTE)()
    assert stored(items) == {4, 5}


def test_a_link_outlives_its_data_and_data_their_fits(items: Items, time: Time) -> None:
    store(items, 1, 2.0)
    study: Content = ("studies", name(2))
    items.put(*study, lambda file: file.write(bytes(MEGABYTE)))
    link(items, 1, studies=(KeptStudy(SPLITS, name(2), (), "d", "t"),))
    sweep(items, max_bytes=2.5 * MEGABYTE)()
    assert (stored(items), links(items)) == ({1}, {1})
    sweep(items, max_bytes=0.5 * MEGABYTE)()
    assert (stored(items), links(items)) == (set(), {1})
