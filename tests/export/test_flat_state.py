"""Learned state survives the way through JSON and npz exactly."""

from __future__ import annotations

import io
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calib.errors import CalibrationError
from calib.export.flat_state import flatten, unflatten

SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5)
ARRAYS = st.sampled_from(
    [
        np.arange(3),
        np.array([], dtype=np.float32),
        np.zeros((2, 0)),
        np.array([True, False]),
        np.array(["a/b", ""]),
        np.array(1.5),
        np.array([np.nan, np.inf, -0.0]),
    ]
)
STATES = st.dictionaries(
    st.text(max_size=4),
    st.recursive(
        SCALARS | ARRAYS,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
        max_leaves=8,
    ),
    max_size=4,
)


def same(a: object, b: object) -> bool:
    if isinstance(a, np.ndarray):
        return isinstance(b, np.ndarray) and a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
    if isinstance(a, dict):
        return isinstance(b, dict) and list(a) == list(b) and all(same(a[k], b[k]) for k in a)
    if isinstance(a, list):
        return isinstance(b, list) and len(a) == len(b) and all(map(same, a, b))
    return type(a) is type(b) and a == b


@given(STATES)
def test_round_trip_through_json_is_exact(state):
    outline, arrays = flatten(state)
    assert same(unflatten(json.loads(json.dumps(outline)), arrays), state)


def test_round_trip_through_npz_with_slashes_in_names():
    state = {
        "maps_": [{"knots": np.arange(3.0)}, {"knots": np.empty(0)}],
        "a/b": {"c": np.ones(2)},
        "a": {"b/c": np.zeros(1)},
    }
    outline, arrays = flatten(state)
    assert {"maps_/0/knots", "maps_/1/knots"} < set(arrays)
    assert len(arrays) == 4
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    buffer.seek(0)
    with np.load(buffer, allow_pickle=False) as file:
        assert same(unflatten(outline, dict(file)), state)


def test_numpy_scalars_become_python_scalars():
    outline, _ = flatten({"a": np.float64(0.1), "b": np.int32(3), "c": np.bool_(True)})
    assert outline == {"a": 0.1, "b": 3, "c": True}
    assert [type(v) for v in outline.values()] == [float, int, bool]


@pytest.mark.parametrize("bad", [object(), {1: 2}, np.array([None]), {"$array": "x"}, 1j])
def test_what_is_not_plain_is_refused(bad):
    with pytest.raises(CalibrationError):
        flatten({"x_": bad})
