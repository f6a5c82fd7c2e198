"""What is in memory already: pandas and polars DataFrames, Arrow tables, lists of dictionaries, arrays and tensors.

Neither pandas nor polars, PyTorch nor TensorFlow is imported: what was given brings its own methods, Arrow's interface
or NumPy's.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from calib.data.checks.report import InvalidUpload, shortened
from calib.data.formats.base import Allowance, Array, ArrayInfo, Contents, reading
from calib.data.formats.records import Records
from calib.data.formats.table import TableContents, check_names
from calib.data.formats.texts import book_texts
from calib.data.limits import check_count
from calib.data.options import Choices
from calib.errors import reason

if TYPE_CHECKING:
    import pyarrow as pa

NAME = "The table"
ARRAYS = "The input"


def in_memory(source: Any) -> bool:
    """Whether a source is a table or a dictionary of arrays in memory and not a file."""
    rows = isinstance(source, list) and all(isinstance(row, dict) for row in source)
    return isinstance(source, Mapping) or rows or _is_pandas(source) or hasattr(source, "__arrow_c_stream__")


class ArrayContents(Contents):
    """Arrays and tensors by name, as of a file of NumPy's; loading changes copies of them."""

    def __init__(self, arrays: Mapping[str, Any], allowance: Allowance):
        check_count(len(arrays), "arrays", ARRAYS)
        self._arrays = {name: as_array(value, name) for name, value in arrays.items() if value is not None}
        listed = (ArrayInfo(name, array.shape, str(array.dtype)) for name, array in self._arrays.items())
        super().__init__(ARRAYS, tuple(listed), allowance)

    def read(self, name: str) -> Array:
        """See the base class."""
        array = self._arrays[name]
        if array.dtype.kind == "U":
            book_texts(array.size, array.dtype.itemsize // 4, name, self.allowance)
        else:
            self.allowance.take(array.nbytes, name)
        return np.array(array)


def as_array(value: Any, name: str) -> Array:
    """An array, a list, a DataFrame or a tensor of PyTorch, TensorFlow or JAX, on whatever device, for NumPy.

    Parameters
    ----------
    name : for sentences.

    Raises
    ------
    InvalidUpload
        For what is neither numbers nor text.
    """
    if hasattr(value, "detach"):  # a tensor of PyTorch: without its gradient, and on this side of a GPU
        value = value.detach().cpu()
    try:
        if np.ma.is_masked(value):  # what is masked is missing, whatever stands below
            numbers = np.float64 if value.dtype.kind in "biu" else value.dtype
            value = value.filled("") if value.dtype.kind in "UO" else value.astype(numbers).filled(np.nan)
        array = np.asarray(value)
        if array.dtype.hasobject and all(isinstance(text, str) for text in array.flat):
            array = array.astype(np.str_)
    except Exception as error:  # of whatever library the value is from
        raise _no_array(value, name, reason(error)) from error
    if array.dtype.kind not in "biufU":
        raise _no_array(value, name, f"NumPy reads {array.dtype}")
    return array


def _no_array(value: Any, name: str, why: str) -> InvalidUpload:
    return InvalidUpload(
        "source",
        f"{name} is of the type {shortened(type(value).__name__)}, which is no array of numbers or text here "
        f"({shortened(why, 160)}).",
        "Give an array or a tensor of float32 or of whole numbers, or a list of texts, all rows of the same length.",
    )


def _is_pandas(source: Any) -> bool:
    return type(source).__module__.partition(".")[0] == "pandas" and hasattr(source, "columns")


def open_memory(source: Any, allowance: Allowance, choices: Choices) -> Contents:
    """What is in memory already, as the contents of a file.

    Raises
    ------
    InvalidUpload
        If two columns have the same name, or Arrow knows no type for a column.
    """
    if isinstance(source, Mapping):
        return ArrayContents({str(name): value for name, value in source.items()}, allowance)
    with reading(NAME):
        if isinstance(source, list):
            records = Records(NAME)
            for row in source:
                records.add(plain(row))
            return records.contents(allowance, choices)
        table = pandas_table(source) if _is_pandas(source) else arrow_table(source)
        check_count(table.num_columns, "columns", NAME)
        return TableContents.from_table(NAME, plain_columns(table, NAME), allowance, bool(choices.drop_bad_rows))


def arrow_table(source: Any) -> pa.Table:
    """The table that an object gives to Arrow; a single column, as of pandas or polars, is none."""
    import pyarrow as pa

    try:
        return pa.table(source)
    except pa.ArrowInvalid as error:
        raise InvalidUpload(
            "source",
            f"A {type(source).__name__} is one column, and outputs need the outcome beside them.",
            "Give a DataFrame that holds both.",
        ) from error


def plain(row: dict[Any, Any]) -> dict[str, Any]:
    """A row whose NumPy numbers and arrays are Python's."""
    return {str(key): value.tolist() if hasattr(value, "tolist") else value for key, value in row.items()}


def pandas_table(frame: Any) -> pa.Table:
    """The columns of a pandas DataFrame, with its index where that has a name; objects of several types as text."""
    import pyarrow as pa

    if any(name is not None for name in frame.index.names):
        frame = frame.reset_index()
    names = [" ".join(map(str, name)) if isinstance(name, tuple) else str(name) for name in frame.columns]
    columns = []
    for j, name in enumerate(names):
        column = frame.iloc[:, j]
        try:
            columns.append(pa.array(column, from_pandas=True))
        except (pa.ArrowInvalid, pa.ArrowTypeError):
            columns.append(pa.array(column.astype(str), from_pandas=True))
        except pa.ArrowNotImplementedError as error:
            raise InvalidUpload(
                "dtype",
                f"Column {shortened(name)} holds values of type {column.dtype}, which are neither numbers nor text.",
                "Leave it out, or turn it into numbers.",
            ) from error
    return pa.table(columns, names=names)


def plain_columns(table: pa.Table, file: str) -> pa.Table:
    """A table whose lists of equally many numbers are columns of their own, and whose text has a plain type."""
    import pyarrow as pa
    import pyarrow.compute as pc

    names: list[str] = []
    columns: list[pa.ChunkedArray] = []
    for name, column in zip(table.column_names, table.columns, strict=True):
        if isinstance(column.type, pa.BaseExtensionType):
            column = column.cast(column.type.storage_type)
        if pa.types.is_string_view(column.type):
            column = column.cast(pa.large_string())
        elif pa.types.is_dictionary(column.type) and pa.types.is_string_view(column.type.value_type):
            column = column.cast(pa.dictionary(column.type.index_type, pa.large_string()))
        widths = pc.unique(pc.list_value_length(column)).to_pylist() if is_list(column.type) else []
        if len(widths) == 1 and widths[0]:
            check_count(len(names) + widths[0], "columns", file)
            names += [f"{name}_{j}" for j in range(widths[0])]
            columns += [pc.list_element(column, j) for j in range(widths[0])]
        else:
            names.append(name)
            columns.append(column)
    check_names(names, file)
    return pa.table(columns, names=names)


def is_list(kind: Any) -> bool:
    """Whether a type is that of lists of numbers."""
    import pyarrow as pa

    lists = pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)
    return lists and (pa.types.is_floating(kind.value_type) or pa.types.is_integer(kind.value_type))
