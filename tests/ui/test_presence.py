"""What is open for a visitor who has left is released, unless somebody else wants it or a link leads back to it.

Several visitors and several splits: nobody's fit ends because somebody else changed their mind.
"""

from __future__ import annotations

import io
import threading
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from calib.data import Predictions
from calib.evaluation.studies import SPLITS, STUDIES
from calib.jobs import FitSpec, Job, TaskSpec
from calib.ui import fits, release
from calib.ui.server import memory, presence
from calib.ui.session import OpenSession, Reading, Upload
from tests.ui.conftest import opened


class Queue:
    """Holds jobs in given states and remembers what was forgotten, by whom."""

    def __init__(self, **states: str):
        self.jobs = {name: Job(name, FitSpec("temperature", {}, name), state=state) for name, state in states.items()}
        self.forgotten: list[tuple[str, str]] = []
        self.rested = False

    def snapshot(self, keys) -> list[Job]:
        return [self.jobs[key] for key in keys if key in self.jobs]

    def forget(self, key: str, owner: str) -> None:
        self.forgotten.append((key, owner))

    def rest(self) -> None:
        self.rested = True


@pytest.fixture(autouse=True)
def nobody_else(monkeypatch: pytest.MonkeyPatch) -> None:
    memory.open_data.clear()
    monkeypatch.setattr(presence, "SETTLED", 0.0)
    for module in (presence, release):  # looking through all objects of all tests is tested elsewhere
        monkeypatch.setattr(module, "collect", lambda nobody_there: None)


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> list:
    """Later looks at what still runs, to be taken by the test."""
    later: list = []

    def timer(seconds: float, function, arguments) -> threading.Timer:
        later.append(partial(function, *arguments))
        return threading.Timer(0, lambda: None)

    monkeypatch.setattr(release, "Timer", timer)
    return later


@pytest.fixture
def left() -> OpenSession:
    now = OpenSession.from_data(Predictions(np.zeros((50, 2)), np.arange(50) % 2, ("0", "1"), sha256="x"))
    now.specs_of_splits["one split"] = {name: FitSpec("temperature", {}, name) for name in ("done", "runs")}
    memory.admit(now, "")
    return now


def test_fits_go_on_where_a_link_leads_back_to_them(left: OpenSession, looks: list) -> None:
    queue, visitor = Queue(done="done", runs="running"), left.visitor
    release.release_session(left, None, queue, can_return=True)
    assert queue.forgotten == [("done", visitor)]
    queue.jobs["runs"] = replace(queue.jobs["runs"], state="done")
    looks.pop()()
    assert queue.forgotten == [("done", visitor), ("runs", visitor)]
    assert not looks


def test_a_study_goes_on_where_its_result_is_kept_and_any_other_ends(left: OpenSession) -> None:
    kept = left.studies[SPLITS] = TaskSpec(STUDIES[SPLITS].function, (), "x")
    other = left.studies["active/1"] = TaskSpec(max, (), "x")
    queue = Queue(**dict.fromkeys((kept.key, other.key), "running"))
    again, visitor = replace(left), left.visitor
    release.release_session(left, None, queue, can_return=True)
    assert (other.key, visitor) in queue.forgotten
    assert (kept.key, visitor) not in queue.forgotten
    release.release_session(again, None, queue, can_return=False)
    assert (kept.key, visitor) in queue.forgotten


def test_without_a_link_nobody_will_see_them(left: OpenSession) -> None:
    queue, visitor = Queue(done="done", runs="running"), left.visitor
    release.release_session(left, None, queue, can_return=False)
    assert queue.forgotten == [("done", visitor), ("runs", visitor)]


def test_the_same_link_in_another_tab_keeps_everything(left: OpenSession) -> None:
    other = OpenSession.from_data(left.data, visitor=left.visitor)
    memory.admit(other, "")
    queue = Queue(done="done", runs="queued")
    release.release_session(left, None, queue, can_return=False)
    assert not queue.forgotten


def test_a_session_that_is_over_holds_nothing_even_if_it_is_still_referred_to(left: OpenSession) -> None:
    queue = Queue(done="done", runs="done")
    upload = Upload({"source": ("mine.npz", io.BytesIO())})
    visit = presence.Visit("id", partial(release.release_session, left, Reading(upload=upload), queue, True))
    presence._release([visit])
    assert memory.open_data.holders() == []
    assert not vars(left)
    assert not upload.files
    assert queue.rested


def test_workers_do_not_rest_while_somebody_is_there(left: OpenSession) -> None:
    other = OpenSession.from_data(left.data)
    memory.admit(other, "")
    queue = Queue()
    release.release_session(left, None, queue, can_return=True)
    assert not queue.rested
    assert len(other.data) == 50


class Server:
    """Streamlit's runtime, as far as it is asked here."""

    def __init__(self, *active: str):
        self.active, self.closed = set(active), []

    def is_active_session(self, session_id: str) -> bool:
        return session_id in self.active

    def close_session(self, session_id: str) -> None:
        self.closed.append(session_id)


@pytest.mark.parametrize(
    ("active", "left_again", "closed"), [(False, False, True), (True, False, False), (False, True, False)]
)
def test_only_who_has_not_come_back_is_closed(monkeypatch, active, left_again, closed) -> None:
    released = threading.Event()
    server = Server(*(["id"] if active else []))
    monkeypatch.setattr(presence.runtime, "get_instance", lambda: server)
    visit = presence.Visit("id", released.set)
    presence._left["id"] = presence.Visit("id", released.set) if left_again else visit
    presence._close(visit)
    assert server.closed == (["id"] if closed else [])
    assert released.wait(60 if closed else 0) == closed
    assert ("id" in presence._left) == left_again
    presence._left.clear()


def test_a_hundred_who_leave_together_are_released_by_one_thread_that_collects_a_few_times(monkeypatch) -> None:
    released, collected, left, gone = [], [], threading.Event(), threading.Event()
    server = Server()
    monkeypatch.setattr(presence.runtime, "get_instance", lambda: server)
    monkeypatch.setattr(presence, "collect", lambda nobody_there: collected.append(nobody_there))
    visits = [presence.Visit(f"left-{n}", partial(released.append, n)) for n in range(100)]
    visits = [presence.Visit("first", lambda: left.wait(60)), *visits, presence.Visit("last", gone.set)]
    presence._left.update({visit.session_id: visit for visit in visits})
    for visit in visits:
        presence._close(visit)
    left.set()
    assert gone.wait(60)
    assert released == list(range(100))
    assert sum(thread.name == "calib-release" for thread in threading.enumerate()) == 1
    assert len(collected) <= 4  # before and after the pause, for the first and for all others


def test_parts_refresh_less_often_the_more_visitors_there_are(monkeypatch) -> None:
    monkeypatch.setattr(presence, "_here", {"a", "b"})
    assert presence.refresh_interval(0.5) == 0.5
    monkeypatch.setattr(presence, "_here", set(map(str, range(30))))
    assert presence.refresh_interval(0.5) == presence.refresh_interval(1.0) == pytest.approx(3.0)
    assert presence.refresh_interval(5.0) == 5.0


class Queue_visitors:
    """Remembers what was asked of it; its fits never end by themselves."""

    def __init__(self) -> None:
        self.state: dict[str, str] = {}
        self.specs: dict[str, FitSpec] = {}
        self.owners: dict[str, set[str]] = {}

    def submit(self, spec: FitSpec, logits: object, labels: object, extras: object, owner: str, address: str) -> str:
        self.state[spec.key], self.specs[spec.key] = "running", spec
        self.owners.setdefault(spec.key, set()).add(owner)
        return spec.key

    def leave(self, key: str, owner: str) -> bool:
        self.owners[key].discard(owner)
        if not self.owners[key]:
            self.state[key] = "cancelled"
        return bool(self.owners[key])

    def snapshot(self, keys: object, owner: str) -> list[Job]:
        return [Job(key, self.specs[key], state=self.state[key]) for key in keys if key in self.state]


@pytest.fixture
def stand_in(monkeypatch: pytest.MonkeyPatch) -> Queue_visitors:
    made = Queue_visitors()
    monkeypatch.setattr(fits, "queue", lambda: made)
    return made


def test_a_fit_that_two_want_outlives_one_of_them(
    stand_in: Queue_visitors, with_sample: OpenSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = with_sample, OpenSession.from_data(with_sample.data)
    for session in (first, second):
        opened(monkeypatch, session)
        fits.submit("temperature", {})
    (key,) = first.specs
    assert second.specs.keys() == {key}
    opened(monkeypatch, first)
    fits.cancel(key)
    assert stand_in.state[key] == "running"
    assert key not in first.specs
    opened(monkeypatch, second)
    fits.cancel(key)
    assert stand_in.state[key] == "cancelled"


def test_another_split_cancels_what_runs_and_going_back_finds_what_was_done(
    stand_in: Queue_visitors, with_sample: OpenSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened(monkeypatch, with_sample)
    fits.submit("temperature", {})
    fits.submit("isotonic", {})
    running, done = with_sample.specs
    stand_in.state[done] = "done"
    fits.change_split(with_sample, 0.3, 7)
    assert stand_in.state == {running: "cancelled", done: "done"}
    assert not with_sample.specs
    fits.change_split(with_sample, 0.5, 0)
    assert list(with_sample.specs) == [running, done]  # one to be fitted again, one that is there
