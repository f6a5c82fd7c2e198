"""Cells that hold a whole row of outputs, as a column for each class.

``[0.1, 0.9]`` by place; ``{"cat": 0.1, "dog": 0.9}``, lists of a label with its score, and scores beside a list of
their labels by name. JSON and Parquet hold them as they are, text tables as text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from calib.data.array_names import OUTPUTS, canonical
from calib.data.findings import info, listed
from calib.data.limits import check_count
from calib.data.names import is_prediction
from calib.data.options import Choices
from calib.data.read.numerals import Sign, from_fractions, read_written
from calib.data.read.table import Table, cells_of

if TYPE_CHECKING:
    import pyarrow as pa

Columns = list[tuple[str, "pa.ChunkedArray"]]
"""Names with their columns; a name may stand there twice."""

VALUES = ("score", "prob", "probability", "confidence", "value")
"""Names of the number beside a label."""

HEAD = 4096
"""Rows of which one shows what the cells of a column of text hold."""

DEPTH = 3
"""Values inside values that become columns; what lies deeper is left out."""


def open_columns(
    name: str,
    table: pa.Table,
    choices: Choices,
    decimal: Sign | None = None,
    certain: bool = False,
) -> Table:
    """The table of columns as a file has them: written numbers as numbers, and nested outputs as columns.

    Parameters
    ----------
    decimal, certain : as for :func:`calib.data.read.numerals.read_written`; what was chosen unless given.
    """
    import pyarrow as pa

    table = without_views(table)
    if decimal is None and choices.decimal in (".", ","):
        decimal = "," if choices.decimal == "," else "."
        certain = True
    table, findings = read_written(table, name, decimal, certain)
    columns = from_text(list(zip(table.column_names, table.columns, strict=True)))
    for _ in range(DEPTH):
        if not any(pa.types.is_nested(column.type) for _, column in columns):
            break
        columns = opened(paired([by_label(*column) for column in columns]), name)
    nested = {own: kind_of(column) for own, column in columns if pa.types.is_nested(column.type)}
    nested = {own: kind for own, kind in nested.items() if kind}
    if left := [f"{own} ({kind})" for own, kind in nested.items()]:
        findings.append(info("nested", f"Nested values of {name} were left out: {listed(left)}."))
    table = pa.table([column for _, column in columns], names=[own for own, _ in columns])
    contents = Table(name, table, bool(choices.drop_bad_rows))
    contents.findings = findings
    contents.nested = nested
    return contents


def without_views(table: pa.Table) -> pa.Table:
    """A table without views of text, with which Arrow can do little; polars gives them."""
    import pyarrow as pa

    def usual(kind: Any) -> Any:
        if pa.types.is_dictionary(kind):
            return pa.dictionary(kind.index_type, usual(kind.value_type))
        return pa.string() if pa.types.is_string_view(kind) else kind

    pairs = [(column, usual(column.type)) for column in table.columns]
    columns = [column if column.type == kind else column.cast(kind) for column, kind in pairs]
    return pa.table(columns, names=table.column_names)


def kind_of(column: pa.ChunkedArray) -> str:
    """Describe nested values that no role can use; "" for lists of equally many numbers."""
    import pyarrow.compute as pc

    if not is_numbers(column):
        return "lists that hold no numbers" if cells_of(column.type) == "list" else "objects"
    lengths = pc.min_max(pc.list_value_length(column)).as_py()
    return "" if width_of(column) else f"lists of {lengths['min']} to {lengths['max']} numbers"


def is_numbers(column: pa.ChunkedArray) -> bool:
    """Return whether a column holds lists of numbers."""
    return cells_of(column.type) == "list" and cells_of(column.type.value_type) == "number"


def width_of(column: pa.ChunkedArray) -> int:
    """Return the length of the lists of numbers in a column; 0 for other columns, and where it differs."""
    import pyarrow.compute as pc

    widths = (
        pc.unique(pc.list_value_length(column)).drop_null().to_pylist()
        if is_numbers(column)
        else []
    )
    return widths[0] if len(widths) == 1 else 0


def opened(columns: Columns, file: str) -> Columns:
    """Columns with one for each field of structures, and for each item of lists of equally many numbers.

    Lists of whole numbers beside as long ones of fractions stay, as the top k of very many classes.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    widths = {name: width_of(column) for name, column in columns}
    kinds = {
        (widths[name], pa.types.is_integer(column.type.value_type))
        for name, column in columns
        if widths[name]
    }
    found: Columns = []
    for name, column in columns:
        items: Columns = []
        if pa.types.is_struct(column.type):
            items = list(zip((field.name for field in column.type), column.flatten(), strict=True))
        elif (width := widths[name]) and not {(width, True), (width, False)} <= kinds:
            check_count(len(found) + width, file)
            items = [(str(j), pc.list_element(column, j)) for j in range(width)]
        found += [(f"{name}_{key}", item) for key, item in items] or [(name, column)]
        check_count(len(found), file)
    return found


def by_name(rows: Sequence[dict[str, float] | None]) -> pa.ChunkedArray:
    """Numbers by name as a column of structures, whose fields are in the order of the names."""
    import pyarrow as pa

    names = sorted({name for row in rows if row for name in row})
    return pa.chunked_array([pa.array(rows, pa.struct([(name, pa.float64()) for name in names]))])


def by_label(name: str, column: pa.ChunkedArray) -> tuple[str, pa.ChunkedArray]:
    """Lists of a label with its number, as pipelines and cloud services write them, as numbers by name."""
    import pyarrow as pa

    kind = column.type.value_type if cells_of(column.type) == "list" else None
    fields = (
        {field.name for field in kind} if kind is not None and pa.types.is_struct(kind) else set()
    )
    value = next((word for word in VALUES if fields == {"label", word}), None)
    if value is None:
        return name, column
    rows = [row and {str(item["label"]): item[value] for item in row} for row in column.to_pylist()]
    return name if canonical(name).base in OUTPUTS else "score", by_name(rows)


def paired(columns: Columns) -> Columns:
    """Columns in which lists of numbers beside one of as many names are numbers by name.

    Such lists are often sorted by their numbers, so that their places name no class.
    """
    import pyarrow.compute as pc

    lists = {name: column for name, column in columns if cells_of(column.type) == "list"}
    names = [name for name, column in lists.items() if cells_of(column.type.value_type) == "text"]
    found = dict(columns) if names else {}
    for name, numbers in lists.items():
        lengths = pc.list_value_length(numbers)
        beside = [
            own
            for own in names
            if own in found and lengths.equals(pc.list_value_length(lists[own]))
        ]
        if is_numbers(numbers) and is_prediction(name) and beside:
            called = max(beside, key=partial(values_in_common, dict(columns)))
            both = zip(found.pop(called).to_pylist(), numbers.to_pylist(), strict=True)
            found[name] = by_name([row[0] and dict(zip(*row, strict=True)) for row in both])
    return list(found.items()) if found else columns


def values_in_common(columns: dict[str, pa.ChunkedArray], lists: str) -> int:
    """Return how many names in a column of lists occur in columns of text, as labels do."""
    import pyarrow.compute as pc

    texts = [column for column in columns.values() if cells_of(column.type) == "text"]
    known = {value for column in texts for value in pc.unique(column.slice(0, HEAD)).to_pylist()}
    names = pc.unique(pc.list_flatten(columns[lists].slice(0, HEAD))).to_pylist()
    return len(known & {*names})


# In cells of text.

BETWEEN = re.compile(r"[\s,;|]+")


def parsed(cell: str) -> Any:
    """Parse a cell: JSON, a list or a dictionary as Python prints it, or numbers; else its text.

    ``[0.1 0.9]`` as NumPy prints it, ``0.1 0.9`` and ``0.1;0.9`` are numbers.
    """
    cell = cell.strip()
    if cell.startswith(("[", "{")):
        for text in (cell, cell.replace("'", '"')):
            try:
                return json.loads(text)
            except (ValueError, RecursionError):
                continue
    inner = cell.strip("[]()").strip()
    pieces = BETWEEN.split(inner)
    try:
        numbers = [float(piece) for piece in pieces]
    except ValueError:
        return cell
    is_list = inner != cell or all("." in piece or piece in ("0", "1") for piece in pieces)
    return numbers if len(pieces) > 1 and is_list else cell


def from_text(columns: Columns) -> Columns:
    """Columns in which text that holds such values in each cell is these values; lists of names, or called outputs."""
    import pyarrow as pa

    found = []
    for name, column in columns:
        if cells_of(column.type) == "text" and is_prediction(name):
            column = from_fractions(column)
        if cells_of(column.type) == "text":
            first = parsed(next(filter(None, column.slice(0, HEAD).to_pylist()), ""))
            names = isinstance(first, list) and all(isinstance(item, str) for item in first)
            if names or (isinstance(first, (list, dict)) and is_prediction(name)):
                with suppress(
                    pa.ArrowException, OverflowError, UnicodeError
                ):  # as where one is of another kind
                    values = [parsed(cell) if cell else None for cell in column.to_pylist()]
                    column = pa.chunked_array([pa.array(values)])
        found.append((name, column))
    return found
