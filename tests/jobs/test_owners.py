"""Several owners at one queue: turns, places in line, what they share, and how much may wait."""

from __future__ import annotations

import time

import pytest

from calib.jobs import FitQueue, FitSpec, Job
from calib.jobs.line import LineFull, Room, place_in_line
from calib.jobs.rounds import Rounds

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
    blocking = ask("a", 10_000)
    wait(blocking, started)
    many = [ask("a", n) for n in range(20, 50)]
    one = ask("b", 5)
    queue.cancel(blocking)
    assert wait(one).state == "done"
    assert sum(job.state == "done" for job in queue.snapshot(many)) <= 2
    for key in many:
        queue.cancel(key)


def test_the_place_in_line_is_that_of_the_fair_order_and_moves(queue, ask, wait):
    def message(key, owner):
        return queue.snapshot([key], owner)[0].message

    blocking = ask("a", 10_000)
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
    assert place_in_line(before, "a", FIT) == f"Waiting: {words}"


def test_a_fit_that_two_want_ends_for_neither_when_the_other_leaves(queue, ask, wait):
    blocking = ask("x", 10_000)
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
    key = ask("a", 10_000)
    ask("b", 10_000)
    wait(key, started)
    assert queue.leave(key, "b")
    assert not queue.leave(key, "a")
    assert wait(key).state == "cancelled"
    assert not queue.leave("never heard of", "a")


def test_who_wants_a_waiting_fit_too_brings_it_forward(queue, ask, wait):
    blocking = ask("a", 10_000)
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

    queue = FitQueue(executor, fit=slow_methods.fit, room=Room(for_one=2, in_all=3))
    running = ask("a", 10_000, queue)
    wait(running, started, of=queue)
    keys = [ask("a", n, queue) for n in (10_001, 10_002)]
    with pytest.raises(LineFull, match=r"^2 fits and studies of yours are waiting, and a visitor may have 2\. Cancel"):
        ask("a", 10_003, queue)
    assert ask("a", 10_002, queue) == keys[1], "it waits already"
    keys.append(ask("b", 10_004, queue))
    with pytest.raises(LineFull, match=r"^3 fits and studies of all visitors are waiting, and this server takes 3\."):
        ask("c", 10_005, queue)
    queue.cancel(keys[0])
    keys.append(ask("c", 10_005, queue))
    with pytest.raises(LineFull):
        queue.retry(keys[0], "a")
    for key in (running, *keys):
        queue.cancel(key)


def test_a_refused_fit_leaves_nothing_behind(executor, ask, wait):
    import slow_methods

    queue = FitQueue(executor, fit=slow_methods.fit, room=Room(for_one=1, in_all=9))
    running = ask("a", 10_000, queue)
    wait(running, started, of=queue)
    ask("a", 10_001, queue)
    with pytest.raises(LineFull):
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
    until = time.monotonic() + 10
    while any(worker._process for worker in executor._workers):
        assert time.monotonic() < until, "and then it rests"
        time.sleep(0.01)


def test_rounds_give_one_task_of_each_owner_to_a_round():
    rounds = Rounds()
    assert [rounds.join(["a"]) for _ in range(4)] == [1, 2, 3, 4]
    assert rounds.join(["b"]) == 1
    rounds.started(3)
    assert rounds.join(["c"]) == 3, "nobody comes before the present"
    assert rounds.join(["c", "a"]) == 4
    assert rounds.join(["a"]) == 5
