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

NUMBERS = (
    float("nan"), float("inf"), -float("inf"), 0, -1, 1, 2, 0.5, 3, -1e-9, 1 + 1e-6, 5e-324, 1e-200, 1e15, 1e101, 1e200,
    1.7e308, -1e200, 2**53, 2**63, 2**64, 10**300, 10**400,
)  # fmt: skip
OTHERS = (
    None, True, False, "", "0", "nan", "x" * 5000, [], [0], {}, {"0": 0}, [[[[]]]], {"$array": "nope"}, {"$array": 0},
    *calib.METHODS,
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


def forged(
    exported: ExportedCalibrator, rng: np.random.Generator, of: str = "steps"
) -> dict[str, np.ndarray]:
    """The arrays of a file after one to three random changes, most of them in one part, sealed anew."""
    record, arrays = opened(npz_bytes(exported))
    for _ in range(rng.choice([1, 1, 2, 3])):
        if arrays and rng.random() < 0.5:
            _change_array(arrays, rng)
        else:
            whole = [(record, key) for key in record if key != "format"]
            _change_entry(_entries(record.get(of)) if rng.random() < 0.7 else whole, rng)
    return sealed(record, arrays)


def _pick(values: Any, rng: np.random.Generator) -> Any:
    """One of some values, of which a list or a dict is a new one each time."""
    value = values[rng.integers(len(values))]
    return deepcopy(value) if isinstance(value, (list, dict)) else value


def _entries(value: Any) -> list[tuple[Any, Any]]:
    """Every dict or list below a value, with each key or index of it."""
    keys = (
        list(value)
        if isinstance(value, dict)
        else range(len(value))
        if isinstance(value, list)
        else ()
    )
    return [entry for key in keys for entry in ((value, key), *_entries(value[key]))]


def _change_entry(entries: list[tuple[Any, Any]], rng: np.random.Generator) -> None:
    if not entries:
        return
    (place, key), (other, other_key) = _pick(entries, rng), _pick(entries, rng)
    value, another = place[key], deepcopy(other[other_key])
    number = (
        value if isinstance(value, (int, float)) and abs(value) < 1e300 else 1
    )  # larger ones are no floats
    part = value if isinstance(value, (str, list)) else [value]
    numbers = (-number, number + 1, 2 * number, 1e6 * number, 1e-6 * number)
    what = rng.random()
    if what < 0.15:
        del place[key]
    elif what < 0.3 and isinstance(place, dict):
        place[_pick(KEYS, rng)] = _pick((value, *OTHERS), rng)
    else:
        place[key] = _pick(
            (_pick(NUMBERS, rng), _pick(OTHERS, rng), _pick(numbers, rng), another, part[::-1]), rng
        )


def _change_array(arrays: dict[str, np.ndarray], rng: np.random.Generator) -> None:
    name = _pick(list(arrays), rng)
    array = arrays[name].copy()
    if array.dtype.kind not in "fiu" or not array.size:  # an earlier change made it so
        return
    flat = array.reshape(-1)
    one = np.arange(array.size).reshape(array.shape) == rng.integers(array.size)
    number = _pick(NUMBERS[:-4], rng) if array.dtype.kind == "f" else 1
    changes: tuple[Callable[[], Any], ...] = (
        lambda: np.where(one, number, array),
        lambda: np.where(one, -_pick(flat, rng), array),
        lambda: np.full_like(array, number),
        lambda: array * number,
        lambda: array + _pick((-1, 1, 1e-7, 0.1, 1e101), rng),
        lambda: np.sort(array, axis=None)[::-1].reshape(array.shape),
        lambda: rng.permutation(flat).reshape(array.shape),
        lambda: flat[: rng.integers(len(flat))],
        lambda: np.concatenate([flat, flat]),
        lambda: array.reshape(1, -1),
        lambda: array.T,
        lambda: flat[0],
        lambda: np.zeros((0, 3)),
        lambda: array.astype(_pick(TYPES, rng)),
        lambda: arrays[_pick(list(arrays), rng)],
    )
    with np.errstate(all="ignore"):
        arrays[name] = np.asarray(_pick(changes, rng)())
    if rng.random() < 0.05:
        del arrays[name]
