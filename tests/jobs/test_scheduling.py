"""FairQueue is fair, whatever is asked for, taken back or shared in between, and nothing is lost.

Several owners at one queue: fair order, positions, what they share, and the limits.
"""

from __future__ import annotations

import queue
import threading
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calib.jobs import FitQueue, FitSpec, Job
from calib.jobs.scheduling import FairQueue, FairQueueTags, QueueFull, QueueLimits, queue_position
from tests.conftest import wait_until

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


class Tracked:
    """A queue with what is known of it from outside."""

    def __init__(self):
        self.fair: FairQueue[int, str] = FairQueue()
        self.waiting: dict[int, set[str]] = {}
        self.taken: list[int] = []
        self.n_put = 0
        self.gone: set[int] = set()

    def put(self, owners):
        self.fair.put(self.n_put, f"item {self.n_put}", owners)
        self.waiting[self.n_put] = set(owners)
        self.n_put += 1

    def get(self, _):
        if not self.waiting:
            return
        expected = self.fair.order()
        item = self.fair.get(timeout=0)
        key = int(item.split()[1])
        assert expected[0] == key
        assert self.fair.order() == expected[1:]
        self.taken.append(key)
        del self.waiting[key]

    def discard(self, key):
        self.fair.discard(key)
        if self.waiting.pop(key, None) is not None:
            self.gone.add(key)

    def own(self, both):
        key, owners = both
        self.fair.set_owners(key, owners)
        if key in self.waiting:
            self.waiting[key] = set(owners)


@given(OPERATIONS)
def test_nothing_is_lost_and_nothing_comes_twice(operations):
    line = Tracked()
    for name, argument in operations:
        getattr(line, name)(argument)
        assert set(line.fair.order()) == set(line.waiting)
    while line.waiting:
        line.get(None)
    assert sorted([*line.taken, *line.gone]) == list(range(line.n_put))
    with pytest.raises(queue.Empty):
        line.fair.get(timeout=0)


ASKED = st.lists(st.tuples(st.sampled_from(OWNERS), st.booleans()), min_size=1, max_size=60)


@given(ASKED)
def test_between_two_turns_of_one_every_other_who_waits_has_one(asked):
    """Each owner asks for things of its own at any time, others of which are taken in between."""
    fair: FairQueue[int, tuple[str, int]] = FairQueue()
    waits: dict[str, int] = {}
    since: dict[str, set[str]] = {}  # who was served since this one's last, of those who wait on
    for number, (owner, take) in enumerate([*asked, *[(OWNERS[0], True)] * len(asked)]):
        if number < len(asked):
            fair.put(number, (owner, number), [owner])
            waits[owner] = waits.get(owner, 0) + 1
            since.setdefault(owner, set())
        if not take or not any(waits.values()):
            continue
        served, _ = fair.get(timeout=0)
        for other, had in since.items():
            if other != served:
                assert served not in had, f"{served} was served twice while {other} waited for one"
                had.add(served)
        since[served] = set()
        waits[served] -= 1
        if not waits[served]:
            del since[served]
            for had in since.values():
                had.discard(served)  # it may ask again, and joins at the end


@given(st.lists(st.sampled_from(OWNERS), min_size=1, max_size=40))
def test_first_come_first_served_within_what_one_asked_for(owners):
    fair: FairQueue[int, int] = FairQueue()
    for number, owner in enumerate(owners):
        fair.put(number, number, [owner])
    order = fair.order()
    for owner in OWNERS:
        own = [number for number in order if owners[number] == owner]
        assert own == sorted(own)


def fair_queue(*asked: tuple[str, str]) -> FairQueue[str, str]:
    fair: FairQueue[str, str] = FairQueue()
    for key, owners in asked:
        fair.put(key, key, owners)
    return fair


def test_one_who_asks_for_much_does_not_keep_another_waiting():
    fair = fair_queue(*((f"a{i}", "a") for i in range(30)), ("b0", "b"), ("b1", "b"))
    assert fair.order()[:5] == ["a0", "b0", "a1", "b1", "a2"]


def test_what_two_want_comes_at_the_earlier_turn_and_costs_nobody_else_theirs():
    fair = fair_queue(("a0", "a"), ("a1", "a"), ("both", "ab"), ("b0", "b"))
    assert fair.order() == ["a0", "both", "a1", "b0"]
    fair.set_owners("both", "a")
    assert fair.order() == ["a0", "b0", "a1", "both"]
    fair.discard("a1")
    assert fair.order() == ["a0", "b0", "both"]


def test_who_wants_it_later_brings_it_forward():
    fair = fair_queue(("a0", "a"), ("a1", "a"), ("a2", "a"), ("c0", "c"))
    fair.set_owners("a2", "ab")
    assert fair.order() == ["a0", "c0", "a2", "a1"]


def test_what_nobody_owns_is_refused():
    fair = fair_queue(("a0", "a"))
    with pytest.raises(ValueError, match="owner"):
        fair.put("x", "x", [])
    assert fair.order() == ["a0"]


def test_a_closed_line_lets_all_go_and_says_what_was_left():
    fair = fair_queue(("a0", "a"), ("b0", "b"))
    assert fair.get() == "a0"
    waiting = FairQueue()
    threads = [threading.Thread(target=waiting.get) for _ in range(3)]
    for thread in threads:
        thread.start()
    time.sleep(0.05)
    assert fair.close() == ["b0"]
    assert waiting.close() == []
    for thread in threads:
        thread.join(timeout=300)
        assert not thread.is_alive()
    assert fair.get() is None


def test_many_threads_take_each_item_once():
    fair: FairQueue[int, int] = FairQueue()
    taken: list[int] = []

    def work() -> None:
        while (item := fair.get(timeout=300)) is not None:
            taken.append(item)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for number in range(500):
        fair.put(number, number, [str(number % 7)])
    wait_until(lambda: not fair.order())
    fair.close()
    for thread in threads:
        thread.join(timeout=300)
    assert sorted(taken) == list(range(500))


FIT = ("fit", "fits")


@pytest.fixture
def ask(queue, data):
    """Ask for a fit of some steps on behalf of an owner; all go to the one slow worker."""

    def ask(owner, n, of=queue):
        return of.submit(FitSpec("steps", {"n": n, "seconds": 0.005}, "data"), *data, owner=owner)

    return ask


def started(job: Job) -> bool:
    return job.state != "queued"


def test_one_fit_of_another_does_not_wait_behind_thirty(queue, ask, wait):
    blocking = ask("a", 10**6)
    wait(blocking, started)
    many = [ask("a", n) for n in range(20, 50)]
    one = ask("b", 5)
    queue.cancel(blocking)
    assert wait(one).state == "done"
    assert sum(job.state == "done" for job in queue.snapshot(many)) <= 2
    for key in many:
        queue.cancel(key)


def test_the_queue_position_is_that_of_the_fair_order_and_moves(queue, ask, wait):
    def message(key, owner):
        return queue.snapshot([key], owner)[0].message

    blocking = ask("a", 10**6)
    wait(blocking, started)
    a = [ask("a", n) for n in (10_001, 10_002, 10_003)]
    b = [ask("b", n) for n in (10_004, 10_005)]
    # The order is a0 b0 a1 b1 a2.
    assert message(a[0], "a") == "Waiting: next to start."
    assert message(b[0], "b") == "Waiting: 1 fit of others comes first."
    assert message(a[1], "a") == "Waiting: 1 fit of your own and 1 of others come first."
    assert message(b[1], "b") == "Waiting: 1 fit of your own and 2 of others come first."
    assert message(a[2], "a") == "Waiting: 2 fits of your own and 2 of others come first."
    assert message(a[2], "c") == "Waiting: 4 fits of others come first."
    queue.cancel(b[0])
    assert message(b[1], "b") == "Waiting: 1 fit of others comes first."
    queue.cancel(blocking)
    wait(a[0], started)
    assert message(b[1], "b") == "Waiting: next to start."
    for key in (*a, *b):
        queue.cancel(key)


@pytest.mark.parametrize(
    ("before", "words"),
    [
        ([], "next to start."),
        ([{"a"}], "1 fit of your own comes first."),
        ([{"b"}, {"c"}, {"b", "c"}], "3 fits of others come first."),
        ([{"a", "b"}, {"a"}, {"c"}], "2 fits of your own and 1 of others come first."),
    ],
)
def test_the_place_in_words(before, words):
    assert queue_position(before, "a", FIT) == f"Waiting: {words}"


def test_a_fit_that_two_want_ends_for_neither_when_the_other_leaves(queue, ask, wait):
    blocking = ask("x", 10**6)
    wait(blocking, started)
    both = ask("a", 30)
    assert ask("b", 30) == both
    assert queue.leave(both, "a")
    queue.cancel(blocking)
    assert wait(both).state == "done"
    queue.forget(both, "a")
    assert queue.snapshot([both])[0].state == "done"
    queue.forget(both, "b")
    assert queue.snapshot([both]) == []


def test_the_last_who_leaves_ends_it(queue, ask, wait):
    key = ask("a", 10**6)
    ask("b", 10**6)
    wait(key, started)
    assert queue.leave(key, "b")
    assert not queue.leave(key, "a")
    assert wait(key).state == "cancelled"
    assert not queue.leave("never heard of", "a")


def test_who_wants_a_waiting_fit_too_brings_it_forward(queue, ask, wait):
    blocking = ask("a", 10**6)
    wait(blocking, started)
    a = [ask("a", n) for n in (10_001, 10_002)]
    ask("b", 10_002)
    assert queue.snapshot([a[1]], "b")[0].message == "Waiting: 1 fit of others comes first."
    ask("c", 10_003)
    assert queue.snapshot([a[1]], "b")[0].message == "Waiting: 1 fit of others comes first."
    queue.cancel(a[0])
    assert queue.snapshot([a[1]], "b")[0].message == "Waiting: next to start."
    for job in queue.snapshot():
        queue.cancel(job.key)


def test_no_more_may_wait_than_there_is_room_for(executor, ask, wait):
    import slow_methods

    queue = FitQueue(executor, fit=slow_methods.fit, limits=QueueLimits(per_owner=2, in_total=3))
    running = ask("a", 10**6, queue)
    wait(running, started, of=queue)
    keys = [ask("a", n, queue) for n in (10_001, 10_002)]
    with pytest.raises(QueueFull, match=r"^2 fits and studies of yours are waiting, and a visitor may have 2\. Cancel"):
        ask("a", 10_003, queue)
    assert ask("a", 10_002, queue) == keys[1], "it waits already"
    keys.append(ask("b", 10_004, queue))
    with pytest.raises(QueueFull, match=r"^3 fits and studies of all visitors are waiting, and this server takes 3\."):
        ask("c", 10_005, queue)
    queue.cancel(keys[0])
    keys.append(ask("c", 10_005, queue))
    with pytest.raises(QueueFull):
        queue.retry(keys[0], "a")
    for key in (running, *keys):
        queue.cancel(key)


def test_one_address_may_not_have_all_that_waits(executor, ask, wait, data):
    import slow_methods

    queue = FitQueue(executor, fit=slow_methods.fit, limits=QueueLimits(per_owner=2, in_total=4, per_address=2))
    running = ask("a", 10**6, queue)
    wait(running, started, of=queue)

    def ask_from(address, owner, n):
        return queue.submit(FitSpec("steps", {"n": n}, "data"), *data, owner=owner, address=address)

    keys = [ask_from("192.0.2.1", owner, n) for owner, n in (("a", 10_001), ("b", 10_002))]
    with pytest.raises(QueueFull, match=r"^2 fits and studies asked for from your address .* may have 2\."):
        ask_from("192.0.2.1", "c", 10_003)
    queue.cancel(keys[0])
    ask_from("192.0.2.1", "c", 10_003)
    with pytest.raises(QueueFull):
        queue.retry(keys[0], "a", "192.0.2.1")
    ask_from("192.0.2.2", "d", 10_004)
    for job in queue.snapshot():
        queue.cancel(job.key)


def test_a_refused_fit_leaves_nothing_behind(executor, ask, wait):
    import slow_methods

    queue = FitQueue(executor, fit=slow_methods.fit, limits=QueueLimits(per_owner=1, in_total=9))
    running = ask("a", 10**6, queue)
    wait(running, started, of=queue)
    ask("a", 10_001, queue)
    with pytest.raises(QueueFull):
        ask("a", 10_002, queue)
    assert len(queue.snapshot()) == 2
    for job in queue.snapshot():
        queue.cancel(job.key)


def test_workers_that_rest_are_started_again(queue, ask, wait, executor):
    assert wait(ask("a", 2)).state == "done"
    executor.rest()
    assert not any(worker._process for worker in executor._workers)
    key = ask("a", 50)
    wait(key, started)
    executor.rest()
    assert wait(key).state == "done", "what runs goes on"
    wait_until(lambda: not any(worker._process for worker in executor._workers))


def test_each_owner_has_one_task_to_a_tag():
    tags = FairQueueTags()
    assert [tags.tag(["a"]) for _ in range(4)] == [1, 2, 3, 4]
    assert tags.tag(["b"]) == 1
    tags.started(3)
    assert tags.tag(["c"]) == 3, "nobody comes before the present"
    assert tags.tag(["c", "a"]) == 4
    assert tags.tag(["a"]) == 5
    tags.started(5)
    assert tags.tag(["a"]) == 6, "the tag that has started is taken"


def test_limits_of_the_queue_come_from_the_settings(monkeypatch):
    monkeypatch.setenv("CALIB_WAITING", "2")
    monkeypatch.setenv("CALIB_WAITING_IN_ALL", "7")
    assert QueueLimits.from_settings() == QueueLimits(per_owner=2, in_total=7, per_address=3)
