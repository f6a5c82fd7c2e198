"""JSON: one document, or one after the other as in lines; and the logs of programs that write it.

- Samples of lm-evaluation-harness (``--log_samples``) hold ``doc``, ``target``, ``resps`` and ``filtered_resps``; each
  response to a multiple-choice question is a pair: the log-likelihood, and whether greedy decoding gives that choice.
  Newer versions log both as text.
- Logs of decisions hold ``answers`` to several questions, such as
  ``{"type": "choice", "name": "department", "probabilities": [{"value": ..., "probability": ...}]}``. The names become
  columns, one question after the other, so that it can be asked which is meant.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from itertools import chain
from string import ascii_uppercase
from typing import TYPE_CHECKING, Any

from calib.data.findings import (
    Findings,
    InvalidUpload,
    check_count,
    info,
    listed,
    shortened,
    warning,
)
from calib.data.options import Choices
from calib.data.read.base import damaged, reading
from calib.data.read.columns import open_columns
from calib.data.read.numerals import as_numbers
from calib.data.read.table import Table
from calib.formatting import plural

if TYPE_CHECKING:
    import pyarrow as pa

BLANK = re.compile(r"[ \t\r\n]*")

RESPONSES = ("filtered_resps", "resps")
MOST_CHOICES = 1000


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
    decoder = json.JSONDecoder(strict=False)  # NaN and Infinity are read, as Python writes them
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
        sizes = listed(f"{shortened(path)} ({len(rows):,})" for path, rows in tables.items())
        reason = f"{name} holds {len(tables):,} lists of rows: {sizes}."
        action = "Save the list with the outputs and labels in a file of its own."
        raise InvalidUpload("several_tables", reason, action)
    if tables:
        return next(iter(tables.values()))
    while len(document) == 1 and isinstance(inner := next(iter(document.values())), dict):
        document = inner  # {"data": {"logits": [...], "labels": [...]}}
    if {"columns", "data"} <= document.keys() and isinstance(document["data"], list):
        # pandas, orient="split"
        return [dict(zip(document["columns"], row, strict=False)) for row in document["data"]]
    if all(isinstance(value, dict) for value in document.values()):
        if all(map(str.isdecimal, document)):  # pandas, orient="index" with its numbers of rows
            return list(document.values())
        document = {key: [*value.values()] for key, value in document.items()}
    lists = {key: value for key, value in document.items() if isinstance(value, list)}
    n = max(map(len, lists.values()), default=0)
    whole = {key: value for key, value in lists.items() if len(value) == n}
    if n < 2:
        return [document]
    return ({key: value[i] for key, value in whole.items()} for i in range(n))


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
    findings: Findings = ()
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
    if contents.cells == {"label": "text", "score": "number"} and is_first_choice(contents):
        names = {"label": "predicted_label", "score": "confidence"}
        table = contents.table.rename_columns([names[field] for field in contents.names])
        contents = Table(name, table, bool(choices.drop_bad_rows))
        reason = (
            f"{name} holds label and score alone, as a text-classification pipeline gives its first choice: "
            "read as the predicted label and its confidence."
        )
        action = "Call the pipeline with top_k=None for the scores of all classes, and add a file with the labels."
        findings += (warning("top_label_alone", reason, action),)
    contents.findings = [*findings, *contents.findings]
    if of_harness and choices.kind is None:
        contents.format_choices = {"kind": "logits"}
    return contents


def is_first_choice(contents: Table) -> bool:
    """Return whether scores are those of the likeliest label: none is below one over the number of labels."""
    import pyarrow.compute as pc

    lowest = pc.min(contents.column("score")).as_py()
    n_labels = pc.count_distinct(contents.column("label")).as_py()
    return lowest is not None and lowest >= 1 / max(2, n_labels)


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
        plain = (str, type(None))
        texts = [value if isinstance(value, plain) else json.dumps(value) for value in values]
        # A half of a character that JSON wrote as two becomes a question mark.
        return pa.array([text and text.encode("utf-8", "replace").decode() for text in texts])


# Samples of lm-evaluation-harness.


def is_harness_sample(row: Any) -> bool:
    """Return whether an object has the keys of a logged sample."""
    has_target = isinstance(row, dict) and "target" in row and ("doc" in row or "doc_id" in row)
    return has_target and any(key in row for key in RESPONSES)


def harness_rows(samples: Iterable[Any], file: str) -> tuple[list[dict[str, Any]], Findings]:
    """Number, right choice and log-likelihoods of each question with as many choices as the first, and what to say.

    Raises
    ------
    InvalidUpload
        If the responses are no log-likelihoods of two choices or more.
    """
    rows: list[dict[str, Any]] = []
    answered: Any = None
    width = 0
    others = 0
    for n, sample in enumerate(samples):
        if not is_harness_sample(sample):
            raise damaged(file, "an entry is no sample of lm-evaluation-harness")
        answered = sample.get("filter") if n == 0 else answered
        if sample.get("filter") != answered:  # the same answers once more
            continue
        names = choice_names(sample)
        values = log_likelihoods(sample)
        if 1 < len(names) < len(values):  # followed by those without the question
            values = values[: len(names)]
        if not 2 <= len(values) <= MOST_CHOICES:
            reason = f"{file} holds samples of lm-evaluation-harness without log-likelihoods of several choices."
            action = (
                "Log the samples of a multiple-choice task; generated text has no probabilities."
            )
            raise InvalidUpload("no_outputs", reason, action)
        width = width or len(values)
        if len(values) != width:
            others += 1
            continue
        logits = {f"logit_{j}": value for j, value in enumerate(values)}
        places = {name: j for j, name in enumerate(names[:width])}
        places |= {str(j): j for j in range(width)}
        places |= {letter: j for j, letter in enumerate(ascii_uppercase[:width])}
        target = str(sample["target"]).strip()  # a number, a letter, or the text of the choice
        rows.append({"id": sample.get("doc_id"), "label": places.get(target), **logits})
    reason = (
        f"{file} holds samples of lm-evaluation-harness: the log-likelihoods of {width} choices are read as logits, so "
        "that probabilities are a softmax over the choices of a question."
    )
    findings: Findings = (info("softmax_over_choices", reason),)
    if others:
        reason = f"{plural(others, 'question')} of {file} with another number of choices than {width} left out."
        action = "Calibrate each number of choices by itself."
        findings += (warning("other_choices", reason, action),)
    return rows, findings


def choice_names(sample: dict[str, Any]) -> list[str]:
    """The texts of the choices; empty where the question has none."""
    doc = sample.get("doc")
    choices = doc.get("choices") if isinstance(doc, dict) else None
    choices = choices.get("text") if isinstance(choices, dict) else choices
    return [str(choice).strip() for choice in choices] if isinstance(choices, list) else []


def log_likelihoods(sample: dict[str, Any]) -> list[float]:
    """The log-likelihood of each choice; empty where the responses are none."""
    for key in RESPONSES:
        try:
            pairs = [r[0] if len(r) == 1 else r for r in sample.get(key) or []]
            if pairs and all(len(p) == 2 and str(p[1]) in ("True", "False") for p in pairs):
                return as_numbers(str(value) for value, _ in pairs)
        except (TypeError, ValueError, OverflowError, KeyError):
            continue
    return []


# Logs of decisions.


def is_decision_log(row: Any) -> bool:
    """Return whether an object holds a list of typed answers with names."""
    answers = row.get("answers") if isinstance(row, dict) else None
    return isinstance(answers, list) and any(
        isinstance(entry, dict) and {"type", "name"} <= entry.keys() for entry in answers
    )


def by_question(row: Any) -> Any:
    """Return a row with its answers by the names of their questions; a refusal has no probabilities."""
    if not is_decision_log(row):
        return row
    answers = {}
    for entry in row["answers"]:
        if isinstance(entry, dict) and "name" in entry:
            plain = {key: value for key, value in entry.items() if key != "name"}
            options = entry.get("probabilities")
            if isinstance(options, list) and all(isinstance(item, dict) for item in options):
                named = {str(item.get("value")): item.get("probability") for item in options}
                plain["probabilities"] = named
            answers[str(entry["name"])] = plain
    return {**row, "answers": answers}
