"""Learned state as JSON plus named arrays, and back, exactly."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from calib.errors import CalibrationError

ARRAY = "$array"
"""A JSON object with this one key stands for the array of that name."""


def flatten(value: Any, path: str = "") -> tuple[Any, dict[str, np.ndarray]]:
    """Split nested dicts and lists into what JSON can hold and the arrays.

    Parameters
    ----------
    value : dicts with string keys, lists, tuples (which become lists), arrays of numbers, booleans or text,
        Python and NumPy scalars, strings and None, nested at will.
    path : name of the value; an array's name is the path of keys to it, joined by ``/`` (a ``/`` inside a
        key is written ``~1`` and ``~`` is written ``~0``, as in JSON pointers).

    Returns
    -------
    outline : the value with every array replaced by ``{"$array": name}``; JSON can hold it.
    arrays : the arrays by name.

    Raises
    ------
    CalibrationError
        For anything else: a file that needs no unpickling can only hold plain things.
    """
    if isinstance(value, np.ndarray):
        if value.dtype.kind not in "biufUS":
            raise CalibrationError(f"{path or 'The value'} is an array of {value.dtype}, which cannot be exported.")
        return {ARRAY: path}, {path: value}
    if isinstance(value, Mapping):
        items = {_text_key(key, path): item for key, item in value.items()}
        if ARRAY in items:
            raise CalibrationError(f"{path or 'The value'} has the key {ARRAY!r}, which is reserved.")
    elif isinstance(value, (list, tuple)):
        items = {str(i): item for i, item in enumerate(value)}
    else:
        return plain_scalar(value, path), {}
    outlines, arrays = {}, {}
    for key, item in items.items():
        name = key.replace("~", "~0").replace("/", "~1")
        outlines[key], found = flatten(item, f"{path}/{name}" if path else name)
        arrays.update(found)
    return (outlines if isinstance(value, Mapping) else list(outlines.values())), arrays


def unflatten(outline: Any, arrays: Mapping[str, np.ndarray]) -> Any:
    """Undo :func:`flatten`."""
    if isinstance(outline, dict):
        if set(outline) == {ARRAY}:
            return arrays[outline[ARRAY]]
        return {key: unflatten(item, arrays) for key, item in outline.items()}
    if isinstance(outline, list):
        return [unflatten(item, arrays) for item in outline]
    return outline


def without_arrays(value: Any) -> Any:
    """The value with every array as a nested list and every tuple as a list: what JSON can hold by itself."""
    outline, arrays = flatten(value)
    return unflatten(outline, {name: array.tolist() for name, array in arrays.items()})


def plain_scalar(value: Any, path: str = "") -> Any:
    """A Python scalar for a Python or NumPy one; :class:`CalibrationError` for anything else."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    raise CalibrationError(f"{path or 'The value'} is a {type(value).__name__}, which cannot be exported.")


def _text_key(key: Any, path: str) -> str:
    if not isinstance(key, str):
        raise CalibrationError(f"{path or 'The value'} has the key {key!r}; exported dicts need text as keys.")
    return key
