"""Values that hold a whole row of outputs: ``[0.1, 0.9]``, ``{"cat": 0.1, "dog": 0.9}``, lists of labels with scores.

In JSON they stand as they are, in the cells of a text table as text. Each becomes a column for each class, named after
the class where the value, or a list of names beside it, says which. Deeper values are left out.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from calib.data.array_names import OUTPUTS, canonical
from calib.data.findings import shortened
from calib.data.guess.names import is_prediction
from calib.data.limits import MAX_CLASSES, check_count
from calib.data.read.table import cells_of

if TYPE_CHECKING:
    import pyarrow as pa

VALUES = ("score", "prob", "probability", "confidence", "value")
"""What programs call the number beside a label."""

LONGEST_KEY = 1000
"""Characters of a key; the rest of a longer one would stand in the name of each of its columns."""

HEAD = 4096
"""Rows of which one shows what the cells of a column hold."""

Row = dict[str, Any]
NESTED = (list, tuple, dict)


def flat(row: Mapping[str, Any], left_out: dict[str, None], depth: int = 2) -> Row:
    """A row with a column for each item of its lists and dictionaries, and of those of a dictionary in it.

    Parameters
    ----------
    left_out : gets the keys whose values are nested more deeply.
    """
    if not any(isinstance(value, NESTED) for value in row.values()):
        return dict(row)
    found: Row = {}
    for key, value in paired(row).items():
        key = key[:LONGEST_KEY]
        if not isinstance(value, NESTED):
            found[key] = value
            continue
        if is_scored(value):  # by label, sorted: programs sort them by score
            key = key if canonical(key).base in OUTPUTS else "score"
            value = dict(sorted((str(item.pop("label")), *item.values()) for item in map(dict, value)))
        if isinstance(value, dict) and depth:
            inner = flat({str(name): item for name, item in value.items()}, left_out, depth - 1)
        else:
            inner = {str(j): item for j, item in enumerate(value) if not isinstance(item, NESTED)}
        if len(inner) < len(value):
            left_out[shortened(key)] = None
        found |= {f"{key}_{name}": item for name, item in inner.items()}
    return found


def is_scored(value: Any) -> bool:
    """Whether a value is a list of labels with their numbers, as pipelines and cloud services write them."""
    return (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(v, dict) and len(v) == 2 and "label" in v and not v.keys().isdisjoint(VALUES) for v in value)
    )


def paired(row: Mapping[str, Any]) -> Row:
    """A row whose list of numbers beside a list of as many names became numbers by name.

    ``{"labels": ["dog", "cat"], "scores": [0.9, 0.1]}`` becomes ``{"scores": {"cat": 0.1, "dog": 0.9}}``: such lists
    are often sorted by their numbers, so that their places name no class.
    """
    found = dict(row)
    lists = {key: value for key, value in row.items() if isinstance(value, list) and len(value) > 1}
    for key, numbers in lists.items():
        if is_row(numbers) and not is_scored(numbers) and is_prediction(key):
            names = [k for k, v in lists.items() if are_names(v) and len(set(v)) == len(numbers) == len(v)]
            if len(names) == 1:
                found[key] = dict(sorted(zip(row[names[0]], numbers, strict=True)))
                found.pop(names[0], None)
    return found


def are_names(value: Any) -> bool:
    """Whether a value is a list of texts."""
    return isinstance(value, list) and all(isinstance(name, str) for name in value)


def is_row(value: Any) -> bool:
    """Whether a value is several numbers, by place or by name."""
    items = list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else []
    numbers = all(isinstance(item, (int, float)) and not isinstance(item, bool) for item in items)
    return is_scored(value) or (len(items) > 1 and numbers)


def table_of(rows: Iterable[Row], file: str) -> pa.Table | None:
    """Flat rows as a table; what some rows lack is missing there. None where there is no value at all."""
    import pyarrow as pa

    columns: dict[str, list[Any]] = {}
    n_rows = 0
    for n_rows, row in enumerate(rows, 1):
        for name, value in row.items():
            cells = columns.setdefault(name, [])
            cells += [None] * (n_rows - 1 - len(cells))
            cells.append(value)
        check_count(len(columns), file)
    for cells in columns.values():
        cells += [None] * (n_rows - len(cells))
    return pa.table({name: typed(cells) for name, cells in columns.items()}) if columns else None


def typed(values: list[Any]) -> pa.Array:
    """Values as an Arrow array: booleans, numbers or texts, and text where they are of several kinds."""
    import pyarrow as pa

    try:
        return pa.array(values)
    except (OverflowError, UnicodeError, pa.ArrowException):
        texts = [value if value is None or isinstance(value, str) else json.dumps(value) for value in values]
        # A half of a character that JSON wrote as two becomes a question mark.
        return pa.array([None if text is None else text.encode("utf-8", "replace").decode() for text in texts])


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

    texts = [name for name in table.column_names if cells_of(table.field(name).type) == "text"]
    firsts = {name: parsed(next(filter(None, table.column(name).slice(0, HEAD).to_pylist()), "")) for name in texts}
    beside = [name for name, first in firsts.items() if are_names(first)]
    columns = dict(zip(table.column_names, table.columns, strict=True))
    for name in [name for name, first in firsts.items() if is_row(first) and is_prediction(name)]:
        found = in_cells(table.select([name, *beside]), name, file)
        if found is not None and columns.keys().isdisjoint(found.column_names):
            del columns[name]
            columns |= zip(found.column_names, found.columns, strict=True)
    return pa.table(columns)


def in_cells(table: pa.Table, name: str, file: str) -> pa.Table | None:
    """The columns that the cells of a column hold; None where one of them holds nothing of that kind.

    Parameters
    ----------
    table : the column, and lists of names in whose order the numbers of each row may stand.
    """
    widths = set()

    def rows() -> Iterator[Row]:
        for values in zip(*table.to_pydict().values(), strict=True):
            row = {key: parsed(cell) for key, cell in zip(table.column_names, values, strict=True) if cell}
            if name in row:
                widths.add(len(row[name]) if is_row(row[name]) else 0)
            yield flat(row, {}) if name in row and len(widths) == 1 else {}

    found = table_of(rows(), file)
    if found is None or widths != {found.num_columns} or not 2 <= found.num_columns <= MAX_CLASSES:
        return None  # the labels differ from row to row, or some cells hold something else
    return found if all(cells_of(kind) == "number" for kind in found.schema.types) else None
