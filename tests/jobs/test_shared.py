"""Workers map the large arrays of this process in place of a copy each, and the memory goes back."""

from __future__ import annotations

import gc
import os
import pickle
import sys
import weakref

import numpy as np
import pytest
import slow_methods

from calib.jobs.protocol import Data
from calib.jobs.shared import LARGE, _mapping_of, attach, dumps, share
from calib.ui.server.memory import nbytes

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux has memory without a name")


@pytest.fixture
def array() -> np.ndarray:
    return np.random.default_rng(0).normal(size=(LARGE // 64, 9))


def test_a_worker_sees_the_array_without_a_copy_and_its_parts_too(queue, array):
    shared = share(array)
    assert shared is not array
    np.testing.assert_array_equal(shared, array)
    assert share(shared) is shared
    assert nbytes(shared) == array.nbytes
    data = Data("shared", {"whole": shared, "part": shared[100:300], "turned": shared.T, "own": array[:10]})
    told = queue.compute(slow_methods.where, data=data).result(timeout=300)
    expected = {name: (float(one.sum()), name in ("whole", "part")) for name, one in data.arrays.items()}
    assert told == expected


def test_it_can_be_changed_by_nobody_and_pickles_as_any_other(array):
    shared = share(array)
    with pytest.raises(ValueError, match="read-only"):
        shared[0] = 1.0
    with pytest.raises(PermissionError):
        os.pwrite(_mapping_of(shared).descriptor, b"x", 0)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(shared)), array)


def test_the_memory_goes_back_with_the_last_array(array):
    shared = share(array)
    part = shared[5:]
    mapping, message = weakref.ref(_mapping_of(shared)), dumps(shared, lambda buffer: None)
    assert len(message) < 1000
    del shared
    gc.collect()
    assert mapping() is not None
    np.testing.assert_array_equal(pickle.loads(message)[5:], part)
    del part
    gc.collect()
    assert mapping() is None
    with pytest.raises(OSError, match=r"No such|is gone"):
        pickle.loads(message)


def test_another_file_in_its_place_is_refused(array, tmp_path):
    (tmp_path / "other").write_bytes(bytes(array.nbytes))
    with pytest.raises(OSError, match="is gone"):
        attach(str(tmp_path / "other"), 0, 0, array.dtype.str, array.shape)


def test_small_arrays_and_texts_of_any_length_stay_as_they_are(array):
    small = array[:10]
    assert share(small) is small
    objects = np.full(LARGE, "x", dtype=object)
    assert share(objects) is objects
