"""A store of the test's own, and something to keep in it."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from math import ceil
from pathlib import Path

import pytest

import calib
from calib.base import extras_for
from calib.data import Predictions
from calib.data.samples import load_sample
from calib.engine import FitSpec, Job
from calib.store.contents import Entry
from calib.store.index import Store


def name_of(number: int) -> str:
    """A link's name."""
    return f"{number:064x}"


def link_to(store: Store, number: int, *keys: str, **about: object) -> str:
    """Store a link that leads to these; its name."""
    name = name_of(number)
    entry = Entry(f"visitor {number}", **about)  # type: ignore[arg-type]
    store.put_link(name, entry, keys)
    return name


def fit(method: str, data: Predictions) -> Job:
    """A fit that is done."""
    spec = FitSpec(method, {}, data_key=data.sha256)
    made = calib.calibrator(method)
    made.fit(data.logits, data.labels, **extras_for(made, data))
    return Job(
        spec.key, spec, state="done", seconds=1.5, cpu_seconds=1.25, message="Fitted.", result=made
    )


@pytest.fixture(scope="session")
def sample() -> Predictions:
    return load_sample("digits-cnn")


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path)


@dataclass
class Clock:
    """The clock as the store reads it; files keep the times of the machine's own."""

    store: Store
    now: float = field(default_factory=time.time)

    def jump(self, days: float) -> None:
        """Set it."""
        self.now += days * 86_400

    def run(self, days: float) -> None:
        """Let days pass for a server, which sweeps once a day at least."""
        for _ in range(ceil(days)):
            self.jump(days / ceil(days))
            self.store.sweep()


@pytest.fixture
def clock(store: Store, monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock(store)
    monkeypatch.setattr("calib.store.index.time.time", lambda: made.now)
    return made
