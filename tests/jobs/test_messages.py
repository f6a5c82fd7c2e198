import io
import pickle

import numpy as np
import pytest

from calib.jobs.protocol import Cancel, Data, receive, send


def test_round_trip_of_arrays_in_any_layout():
    base = np.arange(24.0).reshape(4, 6)
    arrays = {"c": base, "fortran": np.asfortranarray(base), "strided": base[::2, ::3], "empty": base[:0]}
    stream = io.BytesIO()
    send(stream, Data("key", arrays))
    send(stream, Cancel(3))
    stream.seek(0)
    received = receive(stream)
    assert received.key == "key"
    for name, array in arrays.items():
        np.testing.assert_array_equal(received.arrays[name], array)
    assert receive(stream) == Cancel(3)


def test_big_arrays_travel_beside_the_pickle():
    stream = io.BytesIO()
    send(stream, Data("key", {"a": np.zeros(1_000_000, dtype=np.float32)}))
    assert stream.tell() == pytest.approx(4_000_000, abs=1000)
    assert len(pickle.dumps(Data("key", {}))) < 1000


def test_a_closed_pipe_is_the_end():
    stream = io.BytesIO()
    send(stream, Cancel(3))
    for end in (0, 2, stream.tell() - 1):
        with pytest.raises(EOFError):
            receive(io.BytesIO(stream.getvalue()[:end]))
