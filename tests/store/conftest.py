"""A store of the test's own, and something to keep in it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import calib
from calib.data import Predictions
from calib.data.samples import load_sample
from calib.engine import FitSpec, Job
from calib.registry import extras_for
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
    return Job(spec.key, spec, state="done", seconds=1.5, cpu_seconds=1.25, message="Fitted.", result=made)


@pytest.fixture(scope="session")
def sample() -> Predictions:
    return load_sample("digits-cnn")


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """Lets days pass for the index."""
    now = [1e9]
    monkeypatch.setattr("calib.store.index.time.time", lambda: now[0])

    def pass_days(days: float) -> None:
        now[0] += days * 86_400

    return pass_days
