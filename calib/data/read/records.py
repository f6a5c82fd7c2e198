"""JSON: documents and lines, whose objects become rows."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import TYPE_CHECKING, Any

from calib.data.findings import InvalidUpload, listed, shortened, warning
from calib.data.limits import check_count
from calib.data.options import Choices
from calib.data.read.base import damaged, reading
from calib.data.read.decisions import by_question, is_decision_log
from calib.data.read.harness import harness_rows, is_harness_sample
from calib.data.read.nested import open_columns
from calib.data.read.table import Table
from calib.errors import Finding

if TYPE_CHECKING:
    import pyarrow as pa

BLANK = re.compile(r"[ \t\r\n]*")


def open_json(name: str, text: str, choices: Choices) -> Table:
    """The table that a JSON file holds: one document, or one after the other, as in lines."""
    with reading(name):
        rest = documents(text, name)
        first = next(rest, None)
        second = next(rest, None)
        rows = rows_of(first, name) if second is None else chain((first, second), rest)
        return open_records(rows, choices, name)


def documents(text: str, name: str) -> Iterator[Any]:
    """One document after the other, with nothing but blanks between them."""
    decoder = json.JSONDecoder(
        strict=False
    )  # NaN and Infinity are read, as Python and NumPy write them
    at, n = BLANK.match(text).end(), 0  # type: ignore[union-attr]
    while at < len(text):
        n += 1
        try:
            document, at = decoder.raw_decode(text, at)
        except json.JSONDecodeError as error:
            raise damaged(name if n == 1 else f"Entry {n:,} of {name}", error.msg) from error
        except RecursionError as error:
            reason = f"{name} nests lists or objects too deeply."
            raise InvalidUpload("nested", reason, "Save one flat object a row.") from error
        yield document
        at = BLANK.match(text, at).end()  # type: ignore[union-attr]


def rows_of(document: Any, name: str) -> Iterable[Any]:
    """The rows of one document: a list of them, or an object with lists or objects of one entry per row.

    Raises
    ------
    InvalidUpload
        If it holds several lists of objects.
    """
    if isinstance(document, list):
        return document
    tables = dict(tables_in(document))
    if len(tables) > 1:
        held = ", ".join(
            f"{shortened(path)} ({len(rows):,})" for path, rows in list(tables.items())[:6]
        )
        reason = f"{name} holds {len(tables):,} lists of rows: {held}."
        raise InvalidUpload(
            "several_tables",
            reason,
            "Save the list with the outputs and labels in a file of its own.",
        )
    if tables:
        return next(iter(tables.values()))
    while len(document) == 1 and isinstance(inner := next(iter(document.values())), dict):
        document = inner  # {"data": {"logits": [...], "labels": [...]}}
    if {"columns", "data"} <= document.keys() and isinstance(
        document["data"], list
    ):  # pandas, orient="split"
        return [dict(zip(document["columns"], row, strict=False)) for row in document["data"]]
    objects = [list(value.values()) for value in document.values() if isinstance(value, dict)]
    if len(objects) == len(
        document
    ):  # pandas, orient="index" with its numbers of rows, or "columns"
        if all(map(str.isdecimal, document)):
            return list(document.values())
        document = dict(zip(document, objects, strict=True))
    lists = {key: value for key, value in document.items() if isinstance(value, list)}
    n = max(map(len, lists.values()), default=0)
    whole = {key: value for key, value in lists.items() if len(value) == n}
    return (
        [document] if n < 2 else ({key: value[i] for key, value in whole.items()} for i in range(n))
    )


def tables_in(document: dict[str, Any], path: str = "") -> Iterator[tuple[str, list[Any]]]:
    """The lists of objects in an object and in those inside it, by their places."""
    for key, value in document.items():
        if isinstance(value, dict):
            yield from tables_in(value, f"{path}{key}.")
        elif isinstance(value, list) and value and all(isinstance(row, dict) for row in value):
            yield f"{path}{key}", value


def open_records(rows: Iterable[Any], choices: Choices, name: str = "The table") -> Table:
    """The table of rows that are objects, lists of values, or single values."""
    rows = iter(rows)
    first: Any = next(rows, {})
    rows = chain([first], rows)
    findings: list[Finding] = []
    of_harness = is_harness_sample(first)
    if of_harness:
        rows, findings = harness_rows(rows, name)
    elif is_decision_log(first):
        rows = map(by_question, rows)
    contents = open_columns(name, table_of(rows, name), choices)
    if not set(contents.cells.values()) - {"list", "other"}:
        reason = f"{name} holds no row with values ({listed(contents.names)} left out)."
        action = "Save a list of objects, or one object a line, with the outputs and the label of each row."
        raise InvalidUpload("no_rows", reason, action)
    if set(contents.names) == {"label", "score"} and is_first_choice(contents):
        names = {"label": "predicted_label", "score": "confidence"}
        table = contents.table.select(["label", "score"]).rename_columns(names)
        contents = Table(name, table, bool(choices.drop_bad_rows))
        text = (
            f"{name} holds label and score alone, as a text-classification pipeline gives its first choice: "
            "read as the predicted label and its confidence."
        )
        action = "Call the pipeline with top_k=None for the scores of all classes, and add a file with the labels."
        findings.append(warning("top_label_alone", text, action))
    contents.findings = [*findings, *contents.findings]
    if of_harness and choices.kind is None:
        contents.format_choices = {"kind": "logits"}
    return contents


def is_first_choice(contents: Table) -> bool:
    """Return whether scores are those of the likeliest label: none is below one over the number of labels."""
    import pyarrow.compute as pc

    if contents.cells != {"label": "text", "score": "number"}:
        return False
    lowest = pc.min(contents.column("score")).as_py()
    return lowest is not None and lowest >= 1 / max(
        2, pc.count_distinct(contents.column("label")).as_py()
    )


def table_of(rows: Iterable[Any], file: str) -> pa.Table:
    """Rows as a table; what some rows lack is missing there, and what is no object is the outputs of its row."""
    import pyarrow as pa

    columns: dict[str, list[Any]] = {}
    n_rows = 0
    for n_rows, row in enumerate(rows, 1):
        for name, value in (row if isinstance(row, dict) else {"output": row}).items():
            cells = columns.setdefault(str(name), [])
            cells += [None] * (n_rows - 1 - len(cells))
            cells.append(value.tolist() if hasattr(value, "tolist") else value)
        check_count(len(columns), file)
    for cells in columns.values():
        cells += [None] * (n_rows - len(cells))
    return pa.table({name: typed(cells) for name, cells in columns.items()})


def typed(values: list[Any]) -> pa.Array:
    """Values as an Arrow array; as text where they are of several kinds."""
    import pyarrow as pa

    try:
        return pa.array(values)
    except (OverflowError, UnicodeError, pa.ArrowException):
        texts = [
            value if value is None or isinstance(value, str) else json.dumps(value)
            for value in values
        ]
        # A half of a character that JSON wrote as two becomes a question mark.
        return pa.array(
            [None if text is None else text.encode("utf-8", "replace").decode() for text in texts]
        )
