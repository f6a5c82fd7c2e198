"""Turns at the processor."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from calib.ui import computing
from calib.ui.computing import AT_ONCE, my_turn


@pytest.fixture(autouse=True)
def turns_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(computing, "_turns", threading.BoundedSemaphore(AT_ONCE))


def test_no_more_compute_at_once_than_there_are_turns() -> None:
    lock, inside, most = threading.Lock(), 0, 0

    def compute(number: int) -> int:
        nonlocal inside, most
        with my_turn():
            with lock:
                inside += 1
                most = max(most, inside)
            time.sleep(0.02)
            with lock:
                inside -= 1
        return number

    with ThreadPoolExecutor(4 * AT_ONCE) as pool:
        assert sorted(pool.map(compute, range(4 * AT_ONCE))) == list(range(4 * AT_ONCE))
    assert most == AT_ONCE


def test_what_is_computed_within_a_turn_is_part_of_it() -> None:
    def compute() -> bool:
        with my_turn(), my_turn(), my_turn():
            return True

    with ThreadPoolExecutor(AT_ONCE) as pool:  # were a turn needed for each, none would be left
        made = [pool.submit(compute) for _ in range(3 * AT_ONCE)]
        assert all(one.result(timeout=60) for one in made)


def test_a_turn_ends_with_a_failure() -> None:
    for _ in range(2 * AT_ONCE):
        with pytest.raises(ZeroDivisionError), my_turn():
            raise ZeroDivisionError
    assert computing._turns.acquire(blocking=False)


def test_nobody_waits_for_ever_behind_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(computing, "PATIENCE", 0.05)
    for _ in range(AT_ONCE):
        assert computing._turns.acquire(blocking=False)
    with my_turn():
        pass
    assert not computing._turns.acquire(blocking=False)  # it gave back none that it did not have
