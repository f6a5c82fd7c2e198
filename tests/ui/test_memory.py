"""Each session, and all together, stay within the memory set aside for them."""

from __future__ import annotations

import gc

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import pytest

from calib.data import DataError, Predictions
from calib.jobs import FitQueue
from calib.ui import session as ui_session
from calib.ui.server import memory
from calib.ui.server.memory import nbytes
from calib.ui.server.shares import network
from calib.ui.session import OpenSession, keep
from tests.ui.conftest import fit, open_page

HERE, THERE = "192.0.2.1", "192.0.2.2"


def session(tenths: int) -> OpenSession:
    """Data of so many tenths of a megabyte; with the split they take twice that."""
    logits = np.zeros((tenths * 6_250, 2))
    return OpenSession.from_data(Predictions(logits, np.arange(len(logits)) % 2, ("0", "1"), sha256=str(tenths)))


@pytest.fixture(autouse=True)
def seven_megabytes(monkeypatch: pytest.MonkeyPatch) -> None:
    memory.open_data.clear()
    monkeypatch.setenv("CALIB_MEMORY_GB", "0.007")
    monkeypatch.setenv("CALIB_ADDRESS_SHARE", "1")


def test_one_too_many_is_refused_with_numbers_and_fits_once_another_has_left() -> None:
    first = session(10)  # 2 x (1 + 0.5) MB, labels included
    memory.admit(first, HERE)
    with pytest.raises(DataError, match=r"need 6,000,\d+ bytes, .* take 3,000,\d+ bytes of the 7,000,000"):
        memory.admit(session(20), HERE)
    memory.admit(session(10), HERE)
    del first
    gc.collect()
    memory.admit(session(20), HERE)


def test_other_data_take_the_place_of_the_visitors_own() -> None:
    first = session(10)
    memory.admit(first, HERE)
    memory.admit(session(20), HERE, leaving=first)


def test_who_is_alone_may_take_what_one_visitor_may() -> None:
    memory.admit(session(80), HERE)


def test_one_visitor_may_not_take_more_than_their_share(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "MOST_OF_ONE", 4_000_000)
    memory.admit(session(13), HERE)
    with pytest.raises(DataError, match=r"need 4,200,\d+ bytes of memory, .* may take 4,000,000"):
        memory.admit(session(14), HERE)


def test_many_tabs_of_one_address_leave_room_for_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CALIB_ADDRESS_SHARE", "0.5")
    first = session(10)
    memory.admit(first, HERE)
    with pytest.raises(DataError) as refused:
        memory.admit(session(5), HERE)
    assert refused.value.findings[0].code == "address_full"
    memory.admit(session(10), THERE)
    memory.admit(session(10), HERE, leaving=first)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("192.0.2.1", "::ffff:192.0.2.1", True),
        ("127.0.0.1", "::1", True),
        ("::ffff:127.0.0.1", "::1", True),
        ("2001:db8::1", "2001:db8::ffff:1", True),
        ("2001:db8::1", "2001:db8:0:1::1", False),
        ("192.0.2.1", "192.0.2.2", False),
        (None, "", True),
    ],
)
def test_what_counts_as_one_address(one: str | None, other: str, same: bool) -> None:
    assert (network(one) == network(other)) is same


def test_figures_count_and_the_oldest_make_way(monkeypatch: pytest.MonkeyPatch) -> None:
    now = session(1)
    monkeypatch.setattr(ui_session, "find_session", lambda: now)
    monkeypatch.setattr(ui_session, "MOST_OF_ONE", 100_000)  # a tenth of it is for figures
    before = now.nbytes
    for i in range(5):
        keep(i, lambda: {"curve": np.zeros(500)})
    assert list(now.kept) == [3, 4]
    assert now.nbytes == before + 8000
    keep(3, lambda: pytest.fail("it is there"))
    keep("large", lambda: np.zeros(5000))
    assert list(now.kept) == ["large"], "what is shown now stays, however large"
    now.split(0.3, 1)
    assert not now.kept_bytes


def test_judgements_of_closed_splits_count_and_are_there_again(queue: FitQueue, with_sample: OpenSession) -> None:
    open_page("pages/2_Compare.py", fit(queue, with_sample, "temperature"))
    judged = dict(with_sample.evaluated)
    with_sample.split(0.3, 1)
    assert not with_sample.evaluated
    total, kept = with_sample.nbytes, with_sample.evaluated_of_splits
    with_sample.evaluated_of_splits = {}
    assert total - with_sample.nbytes == nbytes(judged) > 8 * len(with_sample.test)
    with_sample.evaluated_of_splits = kept
    with_sample.split(None, 0)
    assert with_sample.evaluated == judged


def test_what_a_thing_takes() -> None:
    a = np.zeros(1000)
    assert nbytes(a, [a[:10], {"b": a}]) == 8000
    table = pd.DataFrame({"x": a})
    assert nbytes(table) == pytest.approx(8000, abs=200)
    figure = go.Figure(go.Scatter(x=a, y=a + 1))
    assert nbytes(figure) == pytest.approx(16000, abs=3000)  # beside its curves, plotly's own texts
    assert nbytes(None, 3, nbytes) == 0


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
    assert nbytes([held]) == 0


def test_data_on_disk_take_no_memory(tmp_path) -> None:
    np.save(tmp_path / "logits.npy", np.zeros((62_500, 2)))
    mapped = np.asarray(np.load(tmp_path / "logits.npy", mmap_mode="r"))
    labels = np.arange(62_500) % 2
    opened = OpenSession.from_data(Predictions(mapped, labels, ("0", "1"), sha256="x"))
    # Labels (0.5 MB), and the split's copies of both.
    assert opened.nbytes == pytest.approx(2 * labels.nbytes + mapped.nbytes, abs=1000)
