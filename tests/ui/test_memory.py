"""Each session, and all together, stay within the memory set aside for them."""

from __future__ import annotations

import numpy as np
import pytest

from calib.data import DataError, Predictions
from calib.ui import session as ui_session
from calib.ui.server import memory
from calib.ui.server.memory import nbytes
from calib.ui.session import OpenSession, keep


def session(tenths: int) -> OpenSession:
    """Data of so many tenths of a megabyte; with the split they take twice that."""
    logits = np.zeros((tenths * 6_250, 2))
    return OpenSession.from_data(Predictions(logits, np.arange(len(logits)) % 2, ("0", "1"), sha256=str(tenths)))


def test_one_visitor_may_not_hold_more_than_there_is_for_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "MOST_OF_ONE", 4_000_000)
    memory.admit(session(13))  # 2 x (1.3 + 0.65) MB, labels included
    with pytest.raises(DataError, match=r"would hold 4,200,\d+ bytes of memory, .* may hold 4,000,000"):
        memory.admit(session(14))


def test_what_is_held_beside_the_data_counts_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "MOST_OF_ONE", 4_000_000)
    opened = session(10)
    memory.admit(opened, np.zeros(100_000))
    for name in ("built", "kept"):
        held = session(10)
        getattr(held, name)["one"] = {"of many": np.zeros(200_000)}
        with pytest.raises(DataError, match="would hold"):
            memory.admit(held)
    with pytest.raises(DataError, match="would hold"):
        memory.admit(opened, np.zeros(200_000))


def test_figures_count_and_the_oldest_make_way(monkeypatch: pytest.MonkeyPatch) -> None:
    now = session(1)
    monkeypatch.setattr(ui_session, "find_session", lambda: now)
    monkeypatch.setattr(ui_session, "MOST_OF_ONE", 100_000)  # a tenth of it is for figures
    before = nbytes(now)
    for i in range(5):
        keep(i, lambda: {"curve": np.zeros(500)})
    assert list(now.kept) == [3, 4]
    assert nbytes(now) == pytest.approx(before + 8000, abs=1500)
    keep(3, lambda: pytest.fail("it is there"))
    keep("large", lambda: np.zeros(5000))
    assert list(now.kept) == ["large"], "what is shown now stays, however large"
    now.split(0.3, 1)
    assert not now.kept


def test_what_another_thread_adds_meanwhile_does_no_harm() -> None:
    class Judged:
        """One of the things a visitor holds; while it is looked at, that visitor's own page adds another."""

        def __init__(self, beside: dict[str, object]):
            self.beside = beside

        @property
        def __class__(self) -> type:
            self.beside[f"{len(self.beside)}"] = b"more"
            return Judged

    held: dict[str, object] = {}
    held["first"] = Judged(held)
    assert nbytes([held]) < 10_000


def test_data_on_disk_take_no_memory(tmp_path) -> None:
    np.save(tmp_path / "logits.npy", np.zeros((62_500, 2)))
    mapped = np.asarray(np.load(tmp_path / "logits.npy", mmap_mode="r"))
    labels = np.arange(62_500) % 2
    opened = OpenSession.from_data(Predictions(mapped, labels, ("0", "1"), sha256="x"))
    # Labels (0.5 MB), and the split's copies of both.
    assert nbytes(opened) == pytest.approx(2 * labels.nbytes + mapped.nbytes, abs=1000)
