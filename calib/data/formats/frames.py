"""Tables that are in memory already: pandas and polars DataFrames, Arrow tables, and lists of dictionaries.

Neither pandas nor polars is imported: a frame that was given brings its own methods, or Arrow's interface.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from calib.data.checks.report import InvalidUpload, shortened
from calib.data.formats.base import Allowance, reading
from calib.data.formats.records import Records
from calib.data.formats.table import TableContents, check_names
from calib.data.limits import check_count
from calib.data.options import Choices

if TYPE_CHECKING:
    import pyarrow as pa

NAME = "The table"


def is_frame(source: Any) -> bool:
    """Whether a source is a table in memory and not a file."""
    rows = isinstance(source, list) and all(isinstance(row, dict) for row in source)
    return rows or _is_pandas(source) or hasattr(source, "__arrow_c_stream__")


def _is_pandas(source: Any) -> bool:
    return type(source).__module__.partition(".")[0] == "pandas" and hasattr(source, "columns")


def open_frame(source: Any, allowance: Allowance, choices: Choices) -> TableContents:
    """The columns of a table in memory.

    Raises
    ------
    InvalidUpload
        If two columns have the same name, or Arrow knows no type for a column.
    """
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
