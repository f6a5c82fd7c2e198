"""All open sessions together stay within the memory set aside for them."""

from __future__ import annotations

import gc

import numpy as np
import pytest

from calib.data import DataError, Predictions
from calib.ui import memory
from calib.ui.session import Session


def session(megabytes: int) -> Session:
    """Takes twice its data: the data and the split."""
    logits = np.zeros((megabytes * 62_500, 2))
    return Session.opened(Predictions(logits, np.arange(len(logits)) % 2, ("0", "1"), sha256=str(megabytes)))


@pytest.fixture(autouse=True)
def ten_megabytes(monkeypatch: pytest.MonkeyPatch) -> None:
    memory._open.clear()
    monkeypatch.setenv("CALIB_MEMORY_GB", "0.010")


def test_one_too_many_is_refused_with_numbers_and_fits_once_another_has_left() -> None:
    first = session(2)  # 2 x (2 + 1) MB, labels included
    memory.admit(first)
    with pytest.raises(DataError, match=r"need 9 MB, and other visitors' data take 6 MB of the 10 MB"):
        memory.admit(session(3))
    memory.admit(session(1))
    del first
    gc.collect()
    memory.admit(session(3))


def test_other_data_take_the_place_of_the_visitors_own() -> None:
    first = session(2)
    memory.admit(first)
    second = session(3)
    memory.admit(second, leaving=first)


def test_a_single_visitor_is_never_refused() -> None:
    memory.admit(session(8))


def test_data_on_disk_take_no_memory(tmp_path) -> None:
    np.save(tmp_path / "logits.npy", np.zeros((62_500, 2)))
    mapped = np.asarray(np.load(tmp_path / "logits.npy", mmap_mode="r"))
    labels = np.arange(62_500) % 2
    opened = Session.opened(Predictions(mapped, labels, ("0", "1"), sha256="x"))
    # Labels (0.5 MB), and the split's copies of both.
    assert memory._nbytes(opened) == 2 * labels.nbytes + mapped.nbytes
