"""Files of exported calibrators with something changed and the checksum made right again, as anybody can."""

from __future__ import annotations

import json
from collections.abc import Callable
from copy import deepcopy
from typing import Any

import numpy as np

import calib
from calib.export.npz import npz_bytes
from calib.export.runtime import ExportedCalibrator, from_arrays
from calib.records import arrays_of

Node = tuple[Any, Any]
"""A place in nested dicts and lists: the dict or list, and the key or index in it."""

NUMBERS = (
    float("nan"), float("inf"), -float("inf"), 0, -1, 1, 2, 0.5, 3, -1e-9, 1 + 1e-6, 5e-324, 1e-200, 1e15, 1e101, 1e200,
    1.7e308, -1e200, 2**53, 2**63, 2**64, 10**300, 10**400,
)  # fmt: skip
OTHERS = (
    None, True, False, "", "0", "nan", "x" * 5000, [], [0], {}, {"0": 0}, [[[[]]]], {"$array": "nope"}, {"$array": 0},
)  # fmt: skip
KEYS = ("more_", "n_classes_", "__class__", "_private_", "", "values", "$array", "maps_")
TYPES = ("f4", "f2", ">f8", "i8", "i1", "u8", "?", "c16", "U9", "S9")


def reread(exported: ExportedCalibrator) -> ExportedCalibrator:
    """An exported calibrator from its npz."""
    return from_arrays(arrays_of(npz_bytes(exported)))


def opened(npz: bytes) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """The record and the arrays of an npz."""
    arrays = arrays_of(npz)
    return json.loads(arrays.pop("record").tobytes()), arrays


def sealed(record: Any, arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The arrays of an npz."""
    return {**arrays, "record": np.frombuffer(json.dumps(record).encode(), np.uint8)}


def forged(exported: ExportedCalibrator, rng: np.random.Generator, of: str = "steps") -> dict[str, np.ndarray]:
    """The arrays of a file after one to three random changes, most of them in one part, sealed anew."""
    record, arrays = opened(npz_bytes(exported))
    for _ in range(rng.choice([1, 1, 2, 3])):
        part = rng.random()
        if arrays and part < 0.5:
            _change_array(arrays, rng)
        elif part < 0.8:
            _change_node(_nodes(record.get(of)), rng)
        elif part < 0.9:
            _change_parameter(record, rng)
        else:
            _change_node([(record, key) for key in record if key != "format"], rng)
    return sealed(record, arrays)


def _pick(values: Any, rng: np.random.Generator) -> Any:
    """One of some values, of which a list or a dict is a new one each time."""
    value = values[rng.integers(len(values))]
    return deepcopy(value) if isinstance(value, (list, dict)) else value


def _nodes(value: Any) -> list[Node]:
    """Every place below a value."""
    keys = list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    return [node for key in keys for node in ((value, key), *_nodes(value[key]))]


def _change_node(nodes: list[Node], rng: np.random.Generator) -> None:
    if not nodes:
        return
    place, key = _pick(nodes, rng)
    other, other_key = _pick(nodes, rng)
    try:
        value, another = place[key], other[other_key]
    except (KeyError, IndexError):  # an earlier change took it away
        return
    number = value if isinstance(value, (int, float)) and not isinstance(value, bool) else 1
    changes: tuple[Callable[[], Any], ...] = (
        lambda: _pick(NUMBERS, rng),
        lambda: _pick(OTHERS, rng),
        lambda: _pick((-number, number + 1, number * 2, 1e6 * number, 1e-6 * number, float(number)), rng),
        lambda: _pick(([value], {"0": value}, [value, value], str(value)), rng),
        lambda: json.loads(json.dumps(another)),
        lambda: value[::-1] if isinstance(value, (str, list)) else value,
        lambda: value[:-1] if isinstance(value, (str, list)) else value,
    )
    what = rng.random()
    if what < 0.15:
        del place[key]
    elif what < 0.3 and isinstance(place, dict):
        place[_pick(KEYS, rng)] = _pick((value, *OTHERS), rng)
    elif what < 0.4:
        place[key], other[other_key] = json.loads(json.dumps([another, value]))
    else:
        place[key] = _pick(changes, rng)()


def _change_parameter(record: dict[str, Any], rng: np.random.Generator) -> None:
    """Another value that a parameter may have, or any."""
    params = record.get("params")
    if not isinstance(params, dict) or not params or rng.random() < 0.3:
        record["method"] = _pick(list(calib.METHODS), rng)
        return
    name = _pick(list(params), rng)
    choices = (
        "logits", "probs", "full", "mean", "mc", "delta", "draws", "vector", "matrix", "isotonic", "sigmoid", "l1",
    )  # fmt: skip
    params[name] = _pick((*NUMBERS, *OTHERS, *choices, not params[name]), rng)


def _change_array(arrays: dict[str, np.ndarray], rng: np.random.Generator) -> None:
    name = _pick(list(arrays), rng)
    array = arrays[name].copy()
    if array.dtype.kind not in "fiu":  # an earlier change made it text
        return
    flat = array.reshape(-1)
    changes: tuple[Callable[[], Any], ...] = (
        lambda: _with(array, rng, lambda: _pick(NUMBERS[:-4], rng)),
        lambda: _with(array, rng, lambda: _pick(flat, rng)),
        lambda: _with(array, rng, lambda: -_pick(flat, rng)),
        lambda: np.full_like(array, _cast(array, _pick(NUMBERS[:-4], rng))),
        lambda: array * _cast(array, _pick(NUMBERS[:-4], rng)),
        lambda: array + _cast(array, _pick((-1, 1, 1e-7, 0.1, 1e101), rng)),
        lambda: array[..., ::-1] if array.ndim else array,
        lambda: np.sort(array, axis=None).reshape(array.shape),
        lambda: rng.permutation(flat).reshape(array.shape),
        lambda: array[: rng.integers(len(array) + 1)] if array.ndim else array,
        lambda: array[..., :-1] if array.ndim else array,
        lambda: np.concatenate([flat, flat]),
        lambda: np.repeat(array, 2, axis=-1) if array.ndim else array,
        lambda: array.reshape(1, -1),
        lambda: array.T,
        lambda: flat[:1].reshape(()) if array.size else array,
        lambda: np.zeros((0, 3)),
        lambda: np.zeros(()),
        lambda: array.astype(_pick(TYPES, rng)),
        lambda: arrays[_pick(list(arrays), rng)],
        lambda: arrays.pop(name),
    )
    with np.errstate(all="ignore"):
        changed = _pick(changes, rng)()
    if name in arrays:
        arrays[name] = changed


def _cast(array: np.ndarray, value: Any) -> Any:
    """A value as an array can hold it, or one."""
    return value if array.dtype.kind == "f" or (isinstance(value, int) and 0 <= value < 100) else 1


def _with(array: np.ndarray, rng: np.random.Generator, value: Callable[[], Any]) -> np.ndarray:
    """The array with one to all of its numbers replaced."""
    if array.size:
        for at in rng.integers(array.size, size=_pick((1, 1, 2, array.size), rng)):
            array.reshape(-1)[at] = _cast(array, value())
    return array
