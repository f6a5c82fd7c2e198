"""Several visitors and several splits: nobody's fit ends because somebody else changed their mind."""

from __future__ import annotations

from concurrent.futures import Future

import pytest

from calib.engine import FitSpec, Job
from calib.ui import fits
from calib.ui.session import OpenSession
from tests.ui.conftest import opened


class Queue:
    """Remembers what was asked of it; its fits never end by themselves."""

    def __init__(self) -> None:
        self.state: dict[str, str] = {}
        self.specs: dict[str, FitSpec] = {}
        self.owners: dict[str, set[str]] = {}
        self.given_up: list[Future[object]] = []

    def submit(self, spec: FitSpec, data: object, owner: str) -> str:
        self.state[spec.key], self.specs[spec.key] = "running", spec
        self.owners.setdefault(spec.key, set()).add(owner)
        return spec.key

    def leave(self, key: str, owner: str) -> bool:
        self.owners[key].discard(owner)
        if not self.owners[key]:
            self.state[key] = "cancelled"
        return bool(self.owners[key])

    def give_up(self, future: Future[object]) -> None:
        self.given_up.append(future)

    def snapshot(self, keys: object) -> list[Job]:
        return [Job(key, self.specs[key], state=self.state[key]) for key in keys if key in self.state]


@pytest.fixture
def stand_in(monkeypatch: pytest.MonkeyPatch) -> Queue:
    made = Queue()
    monkeypatch.setattr(fits, "queue", lambda: made)
    return made


def test_a_fit_that_two_want_outlives_one_of_them(
    stand_in: Queue, with_sample: OpenSession, monkeypatch: pytest.MonkeyPatch
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
    stand_in: Queue, with_sample: OpenSession, monkeypatch: pytest.MonkeyPatch
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
