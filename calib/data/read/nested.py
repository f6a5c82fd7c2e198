"""Values that hold a whole row of outputs: ``[0.1, 0.9]``, ``{"cat": 0.1, "dog": 0.9}``, lists of labels with scores.

In JSON they stand as they are, in the cells of a text table as text. Each becomes a column for each class, named after
the class where the value, or a list of names beside it, says which.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

from calib.data.array_names import LONGEST_COLUMN, OUTPUTS, STEM_PIECES, canonical
from calib.data.findings import listed, shortened
from calib.data.guess.names import is_prediction
from calib.data.limits import MAX_CLASSES, MAX_TEXT
from calib.data.read.table import is_number, is_text
from calib.errors import Finding

if TYPE_CHECKING:
    import pyarrow as pa

LABEL = "label"
VALUES = ("score", "prob", "probability", "confidence", "value")
"""What programs call the number beside a label."""

LONGEST_KEY = 1000
"""Characters of a key; the rest of a longer one would stand in the name of each of its columns."""

AT_ONCE = 2**13
"""Cells of text that are Python objects at a time."""


class Spread:
    """Takes nested values apart into columns, block after block.

    Attributes
    ----------
    nested : keys that were left out, for their values are nested too deeply.
    n_ragged : lists of another length than the first; they are missing.
    scored : whether lists of labels with scores were among them, which are sorted by their scores.
    apart : keys that were taken apart; in a block without their values they are no column.
    """

    def __init__(self) -> None:
        self.nested: dict[str, None] = {}
        self.n_ragged = 0
        self.scored = False
        self._widths: dict[str, int] = {}
        self.apart: set[str] = set()

    def columns(self, key: str, values: list[Any], depth: int = 0) -> dict[str, list[Any]]:
        """The columns of one key: itself if its values are no lists and no dictionaries."""
        kinds = set(map(type, values)) - {type(None)}
        if len(key) > LONGEST_KEY:
            self.nested[shortened(key)] = None
            return {}
        if not kinds & {list, tuple, dict}:
            return {key: values}
        if depth > 1:
            self.nested[key] = None
            return {}
        self.apart.add(key)
        if dict not in kinds:
            values = [by_label(value) if is_scored(value) else value for value in values]
            if any(isinstance(value, dict) for value in values):
                self.scored = True
                key = key if canonical(key).base in OUTPUTS else "score"
        if any(isinstance(value, dict) for value in values):
            rows = [paired(value) if isinstance(value, dict) else {} for value in values]
            parts = {name: [row.get(name) for row in rows] for name in dict.fromkeys(k for row in rows for k in row)}
            named, depth = {f"{key}_{str(name)[:LONGEST_KEY]}": part for name, part in parts.items()}, depth + 1
        else:
            named, depth = {f"{key}_{j}": part for j, part in enumerate(self._by_place(key, values))}, depth + 2
        found: dict[str, list[Any]] = {}
        for name, part in named.items():
            found |= self.columns(name, part, depth)
        return found

    def _by_place(self, key: str, lists: list[Any]) -> list[list[Any]]:
        """The items of lists of one length, place by place; for a list of another length they are missing."""
        width = self._widths.setdefault(key, next(len(value) for value in lists if isinstance(value, (list, tuple))))
        missing = [None] * width
        fits = [isinstance(value, (list, tuple)) and len(value) == width for value in lists]
        self.n_ragged += sum(value is not None and not fit for value, fit in zip(lists, fits, strict=True))
        rows = (value if fit else missing for value, fit in zip(lists, fits, strict=True))
        return [list(column) for column in zip(*rows, strict=True)]


def is_scored(value: Any) -> bool:
    """Whether a value is a list of labels with their numbers, as pipelines and cloud services write them."""
    return isinstance(value, list) and bool(value) and all(map(is_labelled, value))


def is_labelled(value: Any) -> bool:
    """Whether a value is a label and its number, and nothing else."""
    return isinstance(value, dict) and len(value) == 2 and LABEL in value and not set(value).isdisjoint(VALUES)


def by_label(value: list[dict[str, Any]]) -> dict[str, Any]:
    """The numbers of ``[{"label": "cat", "score": 0.1}, ...]`` by their labels."""
    return {str(item[LABEL]): next(item[key] for key in item if key != LABEL) for item in value}


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


def by_number(name: str) -> tuple[str, int, str]:
    """LABEL_2 before LABEL_10: such lists are sorted by their scores."""
    digits = len(name) - len(name.rstrip("0123456789"))
    return (name[:-digits], int(name[-digits:]), "") if 0 < digits < 18 else (name, -1, "")


# In cells of text.

BETWEEN = re.compile(r"[\s,;|]+")


def parsed(cell: str) -> Any:
    """What a cell holds: JSON, a list or a dictionary as Python prints it, or numbers; None where it is none of them.

    ``[0.1 0.9]`` as NumPy prints it, ``0.1;0.9``, ``0,1;0,9`` and ``DenseVector([0.1, 0.9])`` are numbers.
    """
    cell = cell.strip().removeprefix("DenseVector(")
    if cell.startswith(("[", "{")):
        for text in (cell.removesuffix(")"), cell.replace("'", '"')):
            try:
                return json.loads(text)
            except (ValueError, RecursionError):
                continue
    inner = cell.strip("[]()").strip()
    if any(sign in inner for sign in ";|") or not (", " in inner or "." in inner):
        inner = re.sub(r"(\d),(\d)", r"\1.\2", inner)  # decimal commas
    pieces = BETWEEN.split(inner)
    plain = inner == cell
    try:
        numbers = [float(piece) for piece in pieces]
    except ValueError:
        return None
    return numbers if len(pieces) > 1 and (not plain or all("." in p or p in "01" for p in pieces)) else None


def with_columns(table: pa.Table) -> pa.Table:
    """A table in which text that holds such values, and is called outputs, became a column for each class."""
    import pyarrow as pa

    columns: dict[str, pa.ChunkedArray] = {}
    for name, column in zip(table.column_names, table.columns, strict=True):
        split = None
        if is_text(column.type) and table.num_rows and is_prediction(name):
            split = in_cells(name, column, table)
        new = split if split and set(split).isdisjoint(table.column_names) else {name: column}
        columns |= new
    return table if list(columns) == table.column_names else pa.table(columns)


def in_cells(name: str, column: pa.ChunkedArray, table: pa.Table) -> dict[str, pa.ChunkedArray] | None:
    """The columns that the cells of a column hold; None where one of them holds nothing of that kind."""
    import pyarrow as pa

    first = parsed(next((cell for cell in column.slice(0, AT_ONCE).to_pylist() if cell), ""))
    if not is_row(first):
        return None
    names = names_beside(table, len(first))
    spread, parts = Spread(), []
    for start in range(0, len(column), AT_ONCE):
        cells = column.slice(start, AT_ONCE).to_pylist()
        values = [parsed(cell) if cell else None for cell in cells]
        if not all(is_row(value) for cell, value in zip(cells, values, strict=True) if cell):
            return None
        if names is not None:
            labels = map(names_in, names.slice(start, AT_ONCE).to_pylist())
            both = zip(labels, values, strict=True)
            values = [dict(zip(of, value, strict=False)) if of and value else None for of, value in both]
        split = spread.columns(name, values)
        if spread.n_ragged or spread.nested or len(split) * len(column) > MAX_TEXT // 8:
            return None
        parts.append(pa.table({key: typed(values) for key, values in split.items()}))
    found = united(parts, spread.apart)
    numeric = all(is_number(kind) or pa.types.is_null(kind) for kind in found.schema.types)
    differ = names is not None and any(c.null_count for c in found.columns)  # the labels, from row to row
    if not numeric or differ or not 2 <= found.num_columns <= MAX_CLASSES:
        return None
    by_name = isinstance(first, dict) or spread.scored
    order = sorted(found.column_names, key=by_number) if by_name else found.column_names
    return {key: found.column(key) for key in order}


def is_row(value: Any) -> bool:
    """Whether a value is several numbers, by place or by name."""
    if is_scored(value):
        return True
    cells = list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else []
    return len(cells) > 1 and all(isinstance(cell, (int, float)) and not isinstance(cell, bool) for cell in cells)


def names_beside(table: pa.Table, n_classes: int) -> pa.ChunkedArray | None:
    """The one column of text whose cells are lists of so many names; None where there is none."""
    texts = [column for column in table.columns if is_text(column.type)]
    found = [column for column in texts if len(names_in(column[0].as_py())) == n_classes]
    return found[0] if len(found) == 1 else None


def names_in(cell: str | None) -> list[str]:
    """The names in a list; none where a cell holds no list of texts."""
    found = parsed(cell or "")
    return found if isinstance(found, list) and all(isinstance(name, str) for name in found) else []


# Python values as Arrow's.


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


def united(parts: list[pa.Table], apart: set[str]) -> pa.Table:
    """Blocks of one table: a column that some do not have is missing there, and is text where not all are numbers.

    What was taken ``apart`` in other blocks is no column of a block without its values.
    """
    import pyarrow as pa

    kinds: dict[str, Any] = {}
    for part in parts:
        for field in part.schema:
            old = kinds.get(field.name, pa.null())
            if pa.types.is_null(old) or old == field.type:
                kinds[field.name] = field.type
            elif not pa.types.is_null(field.type):
                kinds[field.name] = pa.float64() if {old, field.type} == {pa.int64(), pa.float64()} else pa.string()
    kinds = {name: kind for name, kind in kinds.items() if not (name in apart and pa.types.is_null(kind))}
    columns: dict[str, list[Any]] = {name: [] for name in kinds}
    for part in parts:
        own = dict(zip(part.column_names, part.columns, strict=True))
        for name, kind in kinds.items():
            columns[name] += own[name].cast(kind).chunks if name in own else [pa.nulls(len(part), kind)]
    return pa.table({name: pa.chunked_array(columns[name], kind) for name, kind in kinds.items()})


# One-hot labels.

SEPARATORS = re.compile(r"[ _.:-]")
MOST_NUMERIC = 2_000
"""Columns that are looked at for one-hot labels."""


def one_hot_as_labels(table: pa.Table, file: str) -> tuple[pa.Table, list[Finding]]:
    """A table whose columns of one-hot labels, ``true_cat`` and ``true_dog``, became one column of names, ``true``.

    They hold one 1 in each row, and numbers stand beside them under the same names of classes: ``pred_cat``.
    """
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    numeric = [name for name, column in zip(table.column_names, table.columns, strict=True) if is_number(column.type)]
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
