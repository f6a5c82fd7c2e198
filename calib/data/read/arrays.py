"""HDF5 files by h5py, and arrays and tensors that are in memory already."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from math import prod
from typing import Any, BinaryIO

import numpy as np

from calib.data.findings import RESAVE, InvalidUpload, check_count, shortened
from calib.data.names import OUTPUTS, canonical, class_names
from calib.data.read.base import Array, ArrayInfo, Arrays, Read, check_size, plain_text, reading
from calib.errors import reason

# HDF5.

FILTERS = {1, 2, 3, 32000}
"""Deflate, shuffle, Fletcher's checksum and LZF, which h5py writes; any other needs a plug-in."""


def open_hdf5(name: str, file: BinaryIO) -> Arrays:
    """Datasets of an HDF5 file, named by their paths; links are not followed, neither to other files nor inside."""
    import h5py

    arrays: list[tuple[ArrayInfo, Read]] = []
    n_entries = 0

    def visit(path: str | bytes, item: Any) -> None:
        nonlocal n_entries
        n_entries += 1
        check_count(n_entries, name)
        if isinstance(item, h5py.Dataset):
            path = path if isinstance(path, str) else path.decode("utf-8", "replace")
            dtype = "structured" if item.dtype.names or item.dtype.subdtype else str(item.dtype)
            read = partial(hdf5_array, item, f"{path} in {name}")
            arrays.append((ArrayInfo(path, item.shape or (), dtype), read))

    with reading(name):
        opened = h5py.File(file, "r")
        opened.visititems(visit)
        links = [] if arrays else [opened.get(key, getlink=True) for key in opened]
        if not all(isinstance(link, h5py.HardLink) for link in links):
            raise linked(f"{name} holds only links to other files")
    return Arrays(name, arrays)


def hdf5_array(dataset: Any, what: str) -> Array:
    """One dataset, if it lies in the file itself, needs no plug-in, and holds plain numbers or strings."""
    import h5py

    if dataset.external or dataset.is_virtual:
        raise linked(f"{what} points to another file")
    packed = dataset.id.get_create_plist()
    if not {packed.get_filter(i)[0] for i in range(packed.get_nfilters())} <= FILTERS:
        reason_ = f"{what} is packed with a filter that is not read here."
        raise InvalidUpload("compression", reason_, 'Save it with compression="gzip".')
    shape = dataset.shape or ()
    dtype = dataset.dtype
    text = h5py.check_string_dtype(dtype)
    if dtype.names or dtype.subdtype or (dtype.hasobject and text is None):
        reason_ = f"{what} holds {dtype!s:.60}, not plain numbers or strings."
        raise InvalidUpload("object_dtype", reason_, RESAVE)
    check_size(prod(shape) * dtype.itemsize, what)
    if text is None:
        return np.asarray(dataset[()])
    if len(shape) not in (1, 2) or prod(shape[1:]) != 1:
        raise InvalidUpload("labels_shape", f"{what} holds strings in the shape {shape}.", RESAVE)
    if text.length is not None:
        return plain_text(np.asarray(dataset[()]).reshape(-1))
    return np.array(dataset.asstr(errors="replace")[()].reshape(-1).tolist(), dtype=np.str_)


def linked(what: str) -> InvalidUpload:
    """Refuse data outside the upload."""
    return InvalidUpload("external_link", f"{what}, which is not part of the upload.", RESAVE)


# In memory.

INPUT = "The input"

NAMES = "class_names"
"""Array that holds the columns of a table of outputs, which name the classes."""


def open_arrays(arrays_by_name: Mapping[Any, Any]) -> Arrays:
    """Arrays and tensors by name, as of a file of NumPy's; loading changes copies of them.

    Raises
    ------
    InvalidUpload
        For what is no array, and for two tables of pandas whose rows are called differently.
    """
    indexed = {str(n): value.index for n, value in arrays_by_name.items() if is_indexed(value)}
    first = next(iter(indexed), "")
    if other := next(
        (name for name, index in indexed.items() if not index.equals(indexed[first])), ""
    ):
        reason_ = (
            f"{first} and {other} have different indexes, so their rows may not belong together."
        )
        action = "Align them by their index, or give arrays in one order with to_numpy()."
        raise InvalidUpload("index", reason_, action)
    arrays = {
        str(n): as_array(value, str(n)) for n, value in arrays_by_name.items() if value is not None
    }
    for name, value in arrays_by_name.items() if NAMES not in arrays else ():
        columns = column_names(value)
        if canonical(str(name)).base in OUTPUTS and arrays[str(name)].shape[1:] == (len(columns),):
            arrays[NAMES] = np.array(columns, dtype=np.str_)
    listed = [
        (ArrayInfo(name, a.shape, str(a.dtype)), partial(np.array, a)) for name, a in arrays.items()
    ]
    return Arrays(INPUT, listed)


def is_indexed(value: Any) -> bool:
    """Return whether a value is a table or a column of pandas, whose index names its rows."""
    return hasattr(getattr(value, "index", None), "equals")


def column_names(value: Any) -> tuple[str, ...]:
    """Return the columns of a table in memory without what they have in common; empty where they have no names."""
    columns = getattr(value, "column_names", None)  # pyarrow calls its arrays columns
    names = [*map(str, getattr(value, "columns", ()) if columns is None else columns)]
    numbered = names == [str(k) for k in range(len(names))]
    return () if len(names) < 2 or numbered else class_names(names)


def as_array(value: Any, name: str) -> Array:
    """An array, a list, a DataFrame or a tensor of PyTorch, TensorFlow or JAX, on whatever device, for NumPy.

    Neither library is imported: what was given brings its own methods, or NumPy's interface.

    Raises
    ------
    InvalidUpload
        For what is neither numbers nor text.
    """
    try:
        if hasattr(value, "detach"):  # PyTorch: without its gradient, and on this side of a GPU
            value = value.detach().cpu()
        if np.ma.is_masked(value):  # what is masked is missing, whatever stands below
            value = value.astype(np.float64).filled(np.nan)
        array = np.asarray(value)
        if array.dtype.hasobject and all(isinstance(text, str) for text in array.flat):
            array = array.astype(np.str_)
        why = f"NumPy reads {array.dtype}"
    except Exception as error:  # of whatever library the value is from
        array = np.empty(0, object)
        why = reason(error)
    if array.dtype.kind in "biufU":
        return array
    reason_ = (
        f"{name} is of the type {shortened(type(value).__name__)}, which is no array of numbers or text here "
        f"({shortened(why, 160)})."
    )
    action = "Give an array or a tensor of float32 or of whole numbers, or a list of texts, all rows equally long."
    raise InvalidUpload("source", reason_, action)
