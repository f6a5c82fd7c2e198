"""Values that hold a whole row of outputs: ``[0.1, 0.9]``, ``{"cat": 0.1, "dog": 0.9}``, lists of labels with scores.

In JSON they stand as they are, in the cells of a text table as text. Each becomes a column for each class, named after
the class where the value, or a list of names beside it, says which. Deeper values are left out.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from calib.data.array_names import OUTPUTS, canonical
from calib.data.findings import InvalidUpload, shortened
from calib.data.guess.names import is_prediction
from calib.data.limits import MAX_CLASSES, MAX_TEXT, check_count, megabytes
from calib.data.read.table import is_number, is_text

if TYPE_CHECKING:
    import pyarrow as pa

LABEL = "label"
VALUES = ("score", "prob", "probability", "confidence", "value")
"""What programs call the number beside a label."""

LONGEST_KEY = 1000
"""Characters of a key; the rest of a longer one would stand in the name of each of its columns."""

AT_ONCE = 2**12
"""Rows that are Python objects at a time."""

Row = dict[str, Any]


def flat(row: Mapping[str, Any], left_out: dict[str, None]) -> Row:
    """A row with a column for each item of its lists and dictionaries, and of those of a dictionary in it.

    Parameters
    ----------
    left_out : gets the keys whose values are nested more deeply.
    """
    found: Row = {}
    for key, value in paired(row).items():
        if len(key) > LONGEST_KEY:
            left_out[shortened(key)] = None
        elif not isinstance(value, (list, tuple, dict)):
            found[key] = value
        else:
            _add_items(found, key, value, left_out, 2)
    return found


def _add_items(found: Row, key: str, value: Any, left_out: dict[str, None], depth: int) -> None:
    if is_scored(value):
        key = key if canonical(key).base in OUTPUTS else "score"
        value = by_label(value)
    items = paired(value).items() if isinstance(value, dict) else enumerate(value)
    for name, item in items:
        own = f"{key}_{str(name)[:LONGEST_KEY]}"
        if not isinstance(item, (list, tuple, dict)):
            found[own] = item
        elif isinstance(value, dict) and depth > 1:
            _add_items(found, own, item, left_out, depth - 1)
        else:
            left_out[shortened(key)] = None


def is_scored(value: Any) -> bool:
    """Whether a value is a list of labels with their numbers, as pipelines and cloud services write them."""
    return isinstance(value, list) and bool(value) and all(map(_is_labelled, value))


def _is_labelled(value: Any) -> bool:
    return isinstance(value, dict) and len(value) == 2 and LABEL in value and not set(value).isdisjoint(VALUES)


def by_label(value: list[dict[str, Any]]) -> Row:
    """The numbers of ``[{"label": "cat", "score": 0.1}, ...]`` by their labels, which are sorted: scores sort them."""
    named = {str(item[LABEL]): next(item[key] for key in item if key != LABEL) for item in value}
    return {name: named[name] for name in sorted(named)}


def paired(row: Mapping[str, Any]) -> Row:
    """A row whose list of numbers beside a list of as many names became numbers by name.

    ``{"labels": ["dog", "cat"], "scores": [0.9, 0.1]}`` becomes ``{"scores": {"cat": 0.1, "dog": 0.9}}``: such lists
    are often sorted by their numbers, so that their places name no class.
    """
    lists = {key: value for key, value in row.items() if isinstance(value, list) and len(value) > 1}
    names = [key for key, value in lists.items() if all(isinstance(v, str) for v in value)]
    if len(names) != 1 or len(set(lists[names[0]])) < len(lists[names[0]]):
        return dict(row)
    labels = lists[names[0]]
    numbers = [
        key
        for key, value in lists.items()
        if len(value) == len(labels) and all(isinstance(v, (int, float)) for v in value) and is_prediction(key)
    ]
    named = {key: dict(sorted(zip(labels, lists[key], strict=True))) for key in numbers}
    return {key: named.get(key, value) for key, value in row.items() if not numbers or key != names[0]}


def table_of(rows: Iterable[Row], file: str) -> pa.Table | None:
    """Flat rows as a table; what some rows lack is missing there. None where there is no value at all.

    Raises
    ------
    InvalidUpload
        If there are more columns or cells than are read.
    """
    names: dict[str, None] = {}
    parts, block = [], []
    for n_rows, row in enumerate(rows, 1):
        block.append(row)
        names |= dict.fromkeys(row)
        check_count(len(names), "columns", file)
        if len(names) * n_rows > MAX_TEXT // 8:
            raise InvalidUpload(
                "too_large",
                f"{file} has more than {MAX_TEXT // 8:,} cells ({megabytes(MAX_TEXT)}).",
                "Save it as npz or Parquet, or fewer rows: 20,000 are plenty to calibrate.",
            )
        if len(block) == AT_ONCE:
            parts.append(_block(block))
            block = []
    if block:
        parts.append(_block(block))
    return united(parts) if names else None


def _block(rows: Sequence[Row]) -> tuple[int, dict[str, pa.Array]]:
    names = dict.fromkeys(key for row in rows for key in row)
    return len(rows), {name: typed([row.get(name) for row in rows]) for name in names}


def typed(values: Sequence[Any]) -> pa.Array:
    """Values as an Arrow array of the narrowest type: booleans, whole numbers, numbers or text."""
    import pyarrow as pa

    kinds = set(map(type, values)) - {type(None)}
    if kinds <= {bool}:
        return pa.array(values, pa.bool_()) if kinds else pa.nulls(len(values))
    try:
        if kinds <= {int}:
            return pa.array(values, pa.int64())
        if kinds <= {int, float}:
            return pa.array([None if value is None else float(value) for value in values], pa.float64())
    except (OverflowError, pa.ArrowInvalid):
        pass
    return pa.array([None if value is None else _spelled(value) for value in values], pa.string())


def _spelled(value: Any) -> str:
    """A value as text; a half of a character that JSON wrote as two becomes a question mark."""
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return text.encode("utf-8", "replace").decode()


def united(parts: list[tuple[int, dict[str, pa.Array]]]) -> pa.Table:
    """Blocks of one table: a column that some do not have is missing there, and is text where not all are numbers."""
    import pyarrow as pa

    kinds: dict[str, Any] = {}
    for _, columns in parts:
        for name, column in columns.items():
            old, new = kinds.get(name, pa.null()), column.type
            if pa.types.is_null(old) or old == new:
                kinds[name] = new
            elif not pa.types.is_null(new):
                kinds[name] = pa.float64() if {old, new} == {pa.int64(), pa.float64()} else pa.string()
    return pa.table({
        name: pa.chunked_array([own[name].cast(kind) if name in own else pa.nulls(n, kind) for n, own in parts], kind)
        for name, kind in kinds.items()
    })  # fmt: skip


# In cells of text.

BETWEEN = re.compile(r"[\s,;|]+")


def parsed(cell: str) -> Any:
    """What a cell holds: JSON, a list or a dictionary as Python prints it, or numbers; None where it is none of them.

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
        return None
    listed = inner != cell or all("." in piece or piece in ("0", "1") for piece in pieces)
    return numbers if len(pieces) > 1 and listed else None


def with_columns(table: pa.Table, file: str) -> pa.Table:
    """A table in which text that holds such values, and is called outputs, became a column for each class."""
    import pyarrow as pa

    columns: dict[str, pa.ChunkedArray] = {}
    for name, column in zip(table.column_names, table.columns, strict=True):
        split = None
        if is_text(column.type) and table.num_rows and is_prediction(name):
            split = in_cells(name, column, names_beside(table, column), file)
        columns |= split if split and set(split).isdisjoint(table.column_names) else {name: column}
    return table if list(columns) == table.column_names else pa.table(columns)


def cells_of(column: pa.ChunkedArray) -> Iterator[str | None]:
    """The cells of a column, of which few are Python objects at a time."""
    return (cell for start in range(0, len(column), AT_ONCE) for cell in column.slice(start, AT_ONCE).to_pylist())


def names_beside(table: pa.Table, column: pa.ChunkedArray) -> pa.ChunkedArray | None:
    """The one column of text whose cells are lists of as many names as this one holds numbers; None without one."""
    numbers = parsed(column[0].as_py() or "")
    texts = [other for other in table.columns if is_text(other.type) and isinstance(numbers, list)]
    found = [other for other in texts if len(_names_in(other[0].as_py())) == len(numbers)]
    return found[0] if len(found) == 1 else None


def _names_in(cell: str | None) -> list[str]:
    found = parsed(cell or "")
    return found if isinstance(found, list) and all(isinstance(name, str) for name in found) else []


def in_cells(
    name: str, column: pa.ChunkedArray, names: pa.ChunkedArray | None, file: str
) -> dict[str, pa.ChunkedArray] | None:
    """The columns that the cells of a column hold; None where one of them holds nothing of that kind.

    Parameters
    ----------
    names : lists of names in whose order the numbers of each row stand.
    """
    if not is_row(parsed(next((cell for cell in column.slice(0, AT_ONCE).to_pylist() if cell), ""))):
        return None
    widths = set()

    def rows() -> Iterable[Row]:
        for cell, own in zip(cells_of(column), cells_of(column if names is None else names), strict=True):
            if not cell:
                yield {}
                continue
            value, labels = parsed(cell), [] if names is None else _names_in(own)
            if not is_row(value) or (names is not None and len(set(labels)) != len(value)):
                raise _NoRowError
            widths.add(len(value))
            yield flat({name: dict(zip(labels, value, strict=True)) if labels else value}, {})

    try:
        found = table_of(rows(), file)
    except _NoRowError:
        return None
    if found is None or not all(map(is_number, found.schema.types)) or len(widths) > 1:
        return None
    by_name = names is not None and found.num_columns > max(widths)  # the labels differ from row to row
    if by_name or not 2 <= found.num_columns <= MAX_CLASSES:
        return None
    return dict(zip(found.column_names, found.columns, strict=True))


class _NoRowError(Exception):
    """A cell that holds no row of outputs."""


def is_row(value: Any) -> bool:
    """Whether a value is several numbers, by place or by name."""
    if is_scored(value):
        return True
    cells = list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else []
    return len(cells) > 1 and all(isinstance(cell, (int, float)) and not isinstance(cell, bool) for cell in cells)
