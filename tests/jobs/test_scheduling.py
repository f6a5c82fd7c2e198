"""Turns are fair, whatever is asked for, taken back or shared in between, and nothing is lost."""

from __future__ import annotations

import queue
import threading
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calib.jobs.scheduling import Turns

OWNERS = "abcd"
OPERATIONS = st.lists(
    st.one_of(
        st.tuples(st.just("put"), st.sets(st.sampled_from(OWNERS), min_size=1, max_size=3)),
        st.tuples(st.just("get"), st.none()),
        st.tuples(st.just("discard"), st.integers(0, 30)),
        st.tuples(st.just("own"), st.tuples(st.integers(0, 30), st.sets(st.sampled_from(OWNERS), min_size=1))),
    ),
    max_size=60,
)


class Line:
    """The line, with what is known of it from outside."""

    def __init__(self):
        self.turns: Turns[int, str] = Turns()
        self.waiting: dict[int, set[str]] = {}
        self.taken: list[int] = []
        self.n_put = 0
        self.gone: set[int] = set()

    def put(self, owners):
        self.turns.put(self.n_put, f"item {self.n_put}", owners)
        self.waiting[self.n_put] = set(owners)
        self.n_put += 1

    def get(self, _):
        if not self.waiting:
            return
        expected = self.turns.order()
        item = self.turns.get(timeout=0)
        key = int(item.split()[1])
        assert expected[0] == key
        assert self.turns.order() == expected[1:]
        self.taken.append(key)
        del self.waiting[key]

    def discard(self, key):
        self.turns.discard(key)
        if self.waiting.pop(key, None) is not None:
            self.gone.add(key)

    def own(self, both):
        key, owners = both
        self.turns.set_owners(key, owners)
        if key in self.waiting:
            self.waiting[key] = set(owners)


@given(OPERATIONS)
def test_nothing_is_lost_and_nothing_comes_twice(operations):
    line = Line()
    for name, argument in operations:
        getattr(line, name)(argument)
        assert set(line.turns.order()) == set(line.waiting)
    while line.waiting:
        line.get(None)
    assert sorted([*line.taken, *line.gone]) == list(range(line.n_put))
    with pytest.raises(queue.Empty):
        line.turns.get(timeout=0)


ASKED = st.lists(st.tuples(st.sampled_from(OWNERS), st.booleans()), min_size=1, max_size=60)


@given(ASKED)
def test_between_two_turns_of_one_every_other_who_waits_has_one(asked):
    """Each owner asks for things of its own at any time, others of which are taken in between."""
    turns: Turns[int, tuple[str, int]] = Turns()
    waits: dict[str, int] = {}
    since: dict[str, set[str]] = {}  # who had a turn since this one's last, of those who wait on
    for number, (owner, take) in enumerate([*asked, *[(OWNERS[0], True)] * len(asked)]):
        if number < len(asked):
            turns.put(number, (owner, number), [owner])
            waits[owner] = waits.get(owner, 0) + 1
            since.setdefault(owner, set())
        if not take or not any(waits.values()):
            continue
        served, _ = turns.get(timeout=0)
        for other, had in since.items():
            if other != served:
                assert served not in had, f"{served} had two turns while {other} waited for one"
                had.add(served)
        since[served] = set()
        waits[served] -= 1
        if not waits[served]:
            del since[served]
            for had in since.values():
                had.discard(served)  # it may ask again, and joins at the end


@given(st.lists(st.sampled_from(OWNERS), min_size=1, max_size=40))
def test_first_come_first_served_within_what_one_asked_for(owners):
    turns: Turns[int, int] = Turns()
    for number, owner in enumerate(owners):
        turns.put(number, number, [owner])
    order = turns.order()
    for owner in OWNERS:
        own = [number for number in order if owners[number] == owner]
        assert own == sorted(own)


def line_of(*asked: tuple[str, str]) -> Turns[str, str]:
    turns: Turns[str, str] = Turns()
    for key, owners in asked:
        turns.put(key, key, owners)
    return turns


def test_one_who_asks_for_much_does_not_keep_another_waiting():
    turns = line_of(*((f"a{i}", "a") for i in range(30)), ("b0", "b"), ("b1", "b"))
    assert turns.order()[:5] == ["a0", "b0", "a1", "b1", "a2"]


def test_what_two_want_comes_at_the_earlier_turn_and_costs_nobody_else_theirs():
    turns = line_of(("a0", "a"), ("a1", "a"), ("both", "ab"), ("b0", "b"))
    assert turns.order() == ["a0", "both", "a1", "b0"]
    turns.set_owners("both", "a")
    assert turns.order() == ["a0", "b0", "a1", "both"]
    turns.discard("a1")
    assert turns.order() == ["a0", "b0", "both"]


def test_who_wants_it_later_brings_it_forward():
    turns = line_of(("a0", "a"), ("a1", "a"), ("a2", "a"), ("c0", "c"))
    turns.set_owners("a2", "ab")
    assert turns.order() == ["a0", "c0", "a2", "a1"]


def test_what_nobody_owns_is_refused():
    turns = line_of(("a0", "a"))
    with pytest.raises(ValueError, match="owner"):
        turns.put("x", "x", [])
    assert turns.order() == ["a0"]


def test_a_closed_line_lets_all_go_and_says_what_was_left():
    turns = line_of(("a0", "a"), ("b0", "b"))
    assert turns.get() == "a0"
    waiting = Turns()
    threads = [threading.Thread(target=waiting.get) for _ in range(3)]
    for thread in threads:
        thread.start()
    time.sleep(0.05)
    assert turns.close() == ["b0"]
    assert waiting.close() == []
    for thread in threads:
        thread.join(timeout=2)
        assert not thread.is_alive()
    assert turns.get() is None


def test_many_threads_take_each_item_once():
    turns: Turns[int, int] = Turns()
    taken: list[int] = []

    def work() -> None:
        while (item := turns.get(timeout=5)) is not None:
            taken.append(item)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for number in range(500):
        turns.put(number, number, [str(number % 7)])
    while turns.order():
        time.sleep(0.001)
    turns.close()
    for thread in threads:
        thread.join(timeout=2)
    assert sorted(taken) == list(range(500))
