"""Cells that hold a whole row of outputs: ``[0.1, 0.9]``, ``0.1;0.9``, ``{"cat": 0.1, "dog": 0.9}``, lists of scores.

Each becomes a column for each class, named after the class where the cell, or a list of names beside it, says which.
"""

from __future__ import annotations

import json
import math
import re
from array import array
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any

from calib.data.checks.report import listed
from calib.data.interpret.names import LONGEST_COLUMN, STEM_PIECES
from calib.data.interpret.vocabulary import is_prediction
from calib.data.limits import MAX_CLASSES, MAX_TEXT
from calib.errors import Finding

if TYPE_CHECKING:
    import pyarrow as pa

HEAD, AT_ONCE = 200, 2**14
"""Rows of a column of text that show whether it may hold vectors at all, and that are Python objects at a time."""

_PART = r"[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?"
_BETWEEN = r"(?:\s*[,;|]\s*|\s+)"
BRACKETED = rf"^\s*(?:DenseVector\()?\s*[\[(]\s*{_PART}(?:{_BETWEEN}{_PART})+\s*[\])]\s*\)?\s*$"
"""``[0.1, 0.9]``, ``[0.1 0.9]``, ``(0.1, 0.9)`` or ``DenseVector([0.1, 0.9])``."""

_DECIMAL = r"[-+]?(?:\d*\.\d+(?:[eE][-+]?\d+)?|[01])"
PLAIN = rf"^\s*{_DECIMAL}(?:{_BETWEEN}{_DECIMAL})+\s*$"
"""``0.1 0.9``, ``0.1;0.9`` or ``0.1|0.9``."""

_COMMA = r"[-+]?(?:\d+,\d+|[01])"
COMMAS = rf"^\s*{_COMMA}(?:(?:\s*[;|]\s*|\s+){_COMMA})+\s*$"
"""``0,1;0,9``"""

OBJECT = r"^\s*(?:\{|\[\s*\{)"
NAMES = r"""^\s*\[\s*['"]"""

SEPARATORS = re.compile(r"[ _.:-]")
MOST_NUMERIC = 2_000
"""Columns that are looked at for one-hot labels."""

LABEL = "label"
VALUES = ("score", "prob", "probability", "confidence", "value")
"""What programs call the number beside a label."""


def with_columns(table: pa.Table) -> pa.Table:
    """A table in which text that holds vectors, and is called outputs, became a column for each class."""
    import pyarrow as pa

    columns: dict[str, pa.ChunkedArray] = {}
    for name, column in zip(table.column_names, table.columns, strict=True):
        split = None
        if pa.types.is_string(column.type) and table.num_rows and is_prediction(name):
            split = _vectors(column, table) or _objects(column)
        new = {f"{name}_{key}": part for key, part in split.items()} if split else {name: column}
        if split and not set(new).isdisjoint(table.column_names):
            new = {name: column}
        columns |= new
    return table if list(columns) == table.column_names else pa.table(columns)


def _vectors(column: pa.ChunkedArray, table: pa.Table) -> Mapping[str, Any] | None:
    """One column for each number of the vectors; None where a cell holds none, or one of another length."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    filled = pc.if_else(pc.equal(column, ""), pa.scalar(None, column.type), column)
    written = next((pattern for pattern in (BRACKETED, PLAIN, COMMAS) if _all_match(filled, pattern)), None)
    if written is None:
        return None
    if written == COMMAS:
        filled = pc.replace_substring(filled, ",", ".")
    plain = pc.utf8_trim(pc.replace_substring_regex(filled, r"DenseVector|[\[\]()]", ""), " ")
    cells = pc.split_pattern_regex(plain, _BETWEEN).combine_chunks()
    lengths = pc.unique(pc.drop_null(pc.list_value_length(cells)))
    if len(lengths) != 1 or lengths[0].as_py() > MAX_CLASSES:
        return None
    parts = [pc.list_element(cells, j).cast(pa.float64()) for j in range(lengths[0].as_py())]
    named = _places(table, len(parts))
    if named is None:
        return {str(j): part for j, part in enumerate(parts)}
    names, places = named
    values = np.column_stack([part.to_numpy(zero_copy_only=False) for part in parts])
    values = np.take_along_axis(values, places, axis=1) if names else values
    return {name: pa.array(values[:, j], from_pandas=True) for j, name in enumerate(names)} or None


def _all_match(column: pa.ChunkedArray, pattern: str) -> bool:
    """Whether every cell that is there matches; Arrow's expressions take linear time whatever the cells hold."""
    import pyarrow.compute as pc

    return all(
        cells.null_count < len(cells) and pc.all(pc.match_substring_regex(cells, pattern)).as_py()
        for cells in (column.slice(0, HEAD), column)
    )


def _places(table: pa.Table, n_classes: int) -> tuple[list[str], Any] | None:
    """Names of the classes, and (n, n_classes) where each row has them, by the one column of lists of so many names.

    None where there is no such column, and no names where its lists do not hold the same ones.
    """
    import numpy as np
    import pyarrow as pa

    texts = [c for c in table.columns if pa.types.is_string(c.type) and _all_match(c.slice(0, HEAD), NAMES)]
    texts = [c for c in texts if len(_names(c[0].as_py())) == n_classes]
    if len(texts) != 1:
        return None
    first = _names(texts[0][0].as_py())
    places = np.empty((table.num_rows, n_classes), dtype=np.int32)
    cell, own = "", list(range(n_classes))
    for i, text in enumerate(_cells(texts[0])):
        if text != cell:
            names = _names(text)
            if sorted(names) != sorted(first) or len(set(names)) < n_classes:
                return [], places
            cell, own = text, [names.index(name) for name in first]
        places[i] = own
    return first, places


def _names(cell: str | None) -> list[str]:
    """The names in a list; none where it is no list of texts."""
    found = _parsed(cell or "")
    return found if isinstance(found, list) and all(isinstance(name, str) for name in found) else []


def _cells(column: pa.ChunkedArray) -> Iterator[str]:
    """The cells of a column of text, few of them at a time; missing ones are empty."""
    for start in range(0, len(column), AT_ONCE):
        yield from (cell or "" for cell in column.slice(start, AT_ONCE).to_pylist())


def _objects(column: pa.ChunkedArray) -> Mapping[str, Any] | None:
    """The numbers of objects by their keys, or of lists of a label and its number; None where a cell is neither."""
    import pyarrow as pa
    import pyarrow.compute as pc

    filled = pc.if_else(pc.equal(column, ""), pa.scalar(None, column.type), column)
    if not _all_match(filled, OBJECT):
        return None
    columns: dict[str, array[float]] = {}
    for i, cell in enumerate(_cells(filled)):
        row = by_label(_parsed(cell)) if cell else {}
        if row is None or len(columns) * len(column) > MAX_TEXT // 8:
            return None
        for name, number in row.items():
            values = columns.setdefault(name, array("d"))
            values.extend([math.nan] * (i - len(values)))
            values.append(number)
    if not 2 <= len(columns) <= MAX_CLASSES:
        return None
    for values in columns.values():
        values.extend([math.nan] * (len(column) - len(values)))
    return {name: pa.array(columns[name], pa.float64(), from_pandas=True) for name in sorted(columns, key=by_number)}


def by_label(value: Any) -> dict[str, float] | None:
    """The numbers of ``{"cat": 0.1, "dog": 0.9}`` or ``[{"label": "cat", "score": 0.1}, ...]`` by their labels."""
    if isinstance(value, list) and value and all(is_labelled(item) for item in value):
        value = {item[LABEL]: next(item[key] for key in item if key != LABEL) for item in value}
    if not isinstance(value, dict) or not all(isinstance(key, (str, int)) for key in value):
        return None
    numbers = all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in value.values())
    return {str(key): float(number) for key, number in value.items()} if numbers else None


def is_labelled(value: Any) -> bool:
    """Whether a value is a label and its number, as pipelines and cloud services write them, and nothing else."""
    return isinstance(value, dict) and len(value) == 2 and LABEL in value and not set(value).isdisjoint(VALUES)


def paired(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row whose list of numbers beside a list of as many names became numbers by name.

    ``{"labels": ["dog", "cat"], "scores": [0.9, 0.1]}`` becomes ``{"scores": {"dog": 0.9, "cat": 0.1}}``: such lists
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
    if not numbers:
        return dict(row)
    named = {key: dict(zip(labels, lists[key], strict=True)) for key in numbers}
    return {key: named.get(key, value) for key, value in row.items() if key != names[0]}


def one_hot_as_labels(table: pa.Table, file: str) -> tuple[pa.Table, list[Finding]]:
    """A table whose columns of one-hot labels, ``true_cat`` and ``true_dog``, became one column of names, ``true``.

    They hold one 1 in each row, and numbers stand beside them under the same names of classes: ``pred_cat``.
    """
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    numeric = [name for name, column in zip(table.column_names, table.columns, strict=True) if _is_number(column.type)]
    families: dict[tuple[str, str], dict[str, str]] = {}
    for name in (name for name in numeric[:MOST_NUMERIC] if len(name) <= LONGEST_COLUMN):
        for at in (match.start() for match in islice(SEPARATORS.finditer(name), STEM_PIECES)):
            families.setdefault((name[: at + 1], ""), {})[name[at + 1 :]] = name
            families.setdefault(("", name[at:]), {})[name[:at]] = name
    by_classes: dict[frozenset[str], list[tuple[str, str]]] = {}
    for around, members in families.items():
        if len(members) > 1:
            by_classes.setdefault(frozenset(members), []).append(around)
    for classes, several in by_classes.items():
        for around in several if len(several) == 2 else ():
            members, stem = families[around], "".join(around).strip(" _.-:")
            columns = [table.column(members[name]) for name in classes]
            if not stem or stem in table.column_names or not all(pa.types.is_integer(c.type) for c in columns):
                continue
            flags = np.column_stack([pc.fill_null(column, -1).to_numpy() for column in columns])
            if not (((flags == 0) | (flags == 1)).all() and (flags.sum(axis=1) == 1).all() and len(flags)):
                continue
            names = list(classes)
            labels = pa.array([names[k] for k in flags.argmax(axis=1).tolist()], pa.string())
            at = min(table.column_names.index(name) for name in members.values())
            rest = table.drop_columns([*members.values()])
            text = f"{listed(sorted(members.values()))} of {file} hold a single 1 in each row: read as {stem}."
            return rest.add_column(min(at, rest.num_columns), stem, labels), [Finding("info", "one_hot", text)]
    return table, []


def _is_number(kind: pa.DataType) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind))


def _parsed(cell: str) -> Any:
    """What a cell holds as JSON, or as Python prints it; None where it is neither."""
    for text in (cell, cell.replace("'", '"')):
        try:
            return json.loads(text)
        except (ValueError, RecursionError):
            continue
    return None


def by_number(name: str) -> tuple[str, int, str]:
    """LABEL_2 before LABEL_10: such lists are sorted by their scores."""
    digits = len(name) - len(name.rstrip("0123456789"))
    return (name[:-digits], int(name[-digits:]), "") if 0 < digits < 18 else (name, -1, "")
