"""JSON: documents and lines, whose objects become rows, with what known programs write recognised by its keys.

Transformers' lists of ``{"label", "score"}`` and the samples of lm-evaluation-harness are known.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import TYPE_CHECKING, Any

from calib.data.array_names import CLASS_NAMES, canonical
from calib.data.findings import InvalidUpload, count, listed
from calib.data.limits import MAX_TEXT, check_count, megabytes
from calib.data.options import Choices
from calib.data.read.base import Allowance, reading, unreadable
from calib.data.read.nested import Spread, by_number, one_hot_as_labels, paired, typed, united, with_columns
from calib.data.read.numerals import read_written
from calib.data.read.table import Table
from calib.errors import Finding

if TYPE_CHECKING:
    import pyarrow as pa

AT_ONCE = 2**10
"""Rows that are Python objects at a time."""

BLANK = re.compile(r"[ \t\r\n]*")
BETWEEN = re.compile(r"[ \t\r\n,]*")


def open_json(name: str, text: str, allowance: Allowance, choices: Choices) -> Table:
    """The table that a JSON file holds: a list of objects, one object a line, or an object of lists."""
    with reading(name):
        rows = entries(text, name)
        first, second = next(rows, None), next(rows, None)
        if isinstance(first, dict) and second is None and not is_list(text):
            return open_records(rows_of(first), allowance, choices, name)
        return open_records(chain((row for row in (first, second) if row is not None), rows), allowance, choices, name)


def is_list(text: str) -> bool:
    """Whether the text is one list, and not one list in each line."""
    start = text.lstrip(" \t\r\n")
    if not start.startswith("["):
        return False
    line, _, rest = start.partition("\n")
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return True
    return not rest.strip()


def entries(text: str, name: str) -> Iterator[Any]:
    """The entries of the list that is the document, or one document after the other."""
    decoder = json.JSONDecoder(strict=False)  # NaN and Infinity are read, as Python and NumPy write them
    listed = is_list(text)
    at = BLANK.match(text, text.index("[") + 1 if listed else 0).end()  # type: ignore[union-attr]
    n = 0
    while at < len(text) and not (listed and text[at] == "]"):
        n += 1
        try:
            entry, at = decoder.raw_decode(text, at)
        except json.JSONDecodeError as error:
            raise unreadable(f"Entry {n:,} of {name}", ValueError(error.msg)) from error
        except RecursionError as error:
            raise InvalidUpload(
                "nested", f"{name} nests lists or objects too deeply.", "Save one flat object a row."
            ) from error
        yield entry
        at = (BETWEEN if listed else BLANK).match(text, at).end()  # type: ignore[union-attr]
    if listed and at >= len(text):
        raise unreadable(name, EOFError("the list that it begins does not end"))


def rows_of(document: dict[str, Any]) -> Iterator[Any]:
    """The rows of a document that is one object: lists or objects with one entry per row, or a list of rows."""
    columns, data = document.get("columns"), document.get("data")
    if isinstance(columns, list) and isinstance(data, list):  # pandas, orient="split"
        return (dict(zip(map(str, columns), row, strict=False)) for row in data if isinstance(row, list))
    tables = [v for v in document.values() if isinstance(v, list) and v and all(isinstance(row, dict) for row in v)]
    if len(tables) == 1:
        return iter(tables[0])
    lists = {key: value for key, value in document.items() if isinstance(value, list)}
    objects = {key: list(value.values()) for key, value in document.items() if isinstance(value, dict)}
    if not lists and len(objects) == len(document):
        if all(key.isdecimal() for key in document):  # pandas, orient="index"
            return iter(document.values())
        lists = objects  # pandas, orient="columns"
    names = list(map(str, next((v for key, v in lists.items() if canonical(key).base in CLASS_NAMES), [])))
    lists = {key: value for key, value in lists.items() if canonical(key).base not in CLASS_NAMES}
    n = max((len(value) for value in lists.values()), default=0)
    whole = {key: value for key, value in lists.items() if len(value) == n}
    if n < 2:
        return iter([document])

    def named(value: Any) -> Any:
        fits = isinstance(value, list) and len(value) == len(set(names)) > 0
        return dict(zip(names, value, strict=True)) if fits else value

    return ({key: named(value[i]) for key, value in whole.items()} for i in range(n))


def open_records(rows: Iterable[Any], allowance: Allowance, choices: Choices, name: str = "The table") -> Table:
    """The table of rows that are objects, lists of values, or single values."""
    import pyarrow as pa

    spread, parts = Spread(), []
    harness: Harness | None = None
    top_labels, n_rows = True, 0
    names: set[str] = set()
    block: list[dict[str, Any]] = []

    def flush() -> None:
        columns: dict[str, list[Any]] = {}
        keys = dict.fromkeys(key for row in block for key in row)
        for key in keys:
            columns |= spread.columns(key, [row.get(key) for row in block])
        names.update(columns)
        check_count(len(names), "columns", name)
        if len(names) * n_rows > MAX_TEXT // 8:
            raise too_many_cells(name)
        parts.append(pa.table({key: typed(values) for key, values in columns.items()}) if columns else None)
        block.clear()

    for row in rows:
        row = plain(row) if isinstance(row, dict) else {"output": row}
        if is_harness_sample(row) and (harness or not n_rows):
            harness = harness or Harness(name)
            row = harness.row(row)
            if row is None:
                continue
        else:
            row = paired(row)
        top_labels &= set(row) == {"label", "score"} and isinstance(row["label"], str)
        block.append(row)
        n_rows += 1
        if len(block) == AT_ONCE:
            flush()
    if block:
        flush()
    if not any(part is not None for part in parts):
        raise InvalidUpload(
            "no_rows",
            f"{name} holds no row with values ({listed(spread.nested)} left out).",
            "Save a list of objects, or one object a line, with the outputs and the label of each row.",
        )
    table = united([part for part in parts if part is not None], spread.apart)
    findings = said_of(spread, name)
    if harness:
        table, said = harness.choices_alone(table)
        findings += said
    else:
        table, said = read_written(table, ".", choices.decimal is not None, name)
        table, one_hot = one_hot_as_labels(with_columns(table), name)
        findings += [*said, *one_hot]
    if top_labels and is_first_choice(table):
        renamed = {"label": "predicted_label", "score": "confidence"}
        table = table.rename_columns([renamed.get(column, column) for column in table.column_names])
        findings.append(first_choice(name))
    if spread.scored:
        table = table.select(sorted(table.column_names, key=by_number))
    contents = Table.from_arrow(name, table, allowance, bool(choices.drop_bad_rows))
    contents.findings = findings
    if harness and choices.kind is None:
        contents.format_choices = {"kind": "logits"}
    return contents


def plain(row: dict[Any, Any]) -> dict[str, Any]:
    """A row whose NumPy numbers and arrays are Python's."""
    return {str(key): value.tolist() if hasattr(value, "tolist") else value for key, value in row.items()}


def too_many_cells(name: str) -> InvalidUpload:
    """The error for more cells than are read."""
    return InvalidUpload(
        "too_large",
        f"{name} has more than {MAX_TEXT // 8:,} cells ({megabytes(MAX_TEXT)}).",
        "Save it as npz or Parquet, or fewer rows: 20,000 are plenty to calibrate.",
    )


def said_of(spread: Spread, name: str) -> list[Finding]:
    """What is to be said of nested values."""
    found = []
    if spread.nested:
        found.append(Finding("info", "nested", f"{listed(spread.nested)} of {name} left out: nested values."))
    if spread.n_ragged:
        text = f"{count(spread.n_ragged, 'list')} of {name} of another length than the first; read as missing."
        found.append(Finding("warning", "ragged", text, "Save one value for each class in every row."))
    if spread.scored:
        text = f"The lists of label and score of {name} were read as one column for each label."
        found.append(Finding("info", "label_scores", text))
    return found


def first_choice(name: str) -> Finding:
    """The warning for a pipeline's first choices alone."""
    text = (
        f"{name} holds label and score alone, as a text-classification pipeline gives its first choice: "
        "read as the predicted label and its confidence."
    )
    action = "Call the pipeline with top_k=None for the scores of all classes, and add a file with the labels."
    return Finding("warning", "top_label_alone", text, action)


def is_first_choice(table: pa.Table) -> bool:
    """Whether scores are those of the likeliest of some labels: none is below the share of each if all were alike."""
    import pyarrow as pa
    import pyarrow.compute as pc

    label, score = table.column("label"), table.column("score")
    if not pa.types.is_string(label.type) or not pa.types.is_floating(score.type):
        return False
    lowest = pc.min(score).as_py()
    return lowest is not None and lowest >= 1 / max(2, pc.count_distinct(label).as_py())


# lm-evaluation-harness.

RESPONSES = ("filtered_resps", "resps")
MOST_CHOICES = 1000


def is_harness_sample(row: dict[str, Any]) -> bool:
    """Whether an object has the keys of a logged sample."""
    return "target" in row and ("doc" in row or "doc_id" in row) and any(key in row for key in RESPONSES)


class Harness:
    """The samples of one file as rows of log-likelihoods with the number of the right choice.

    lm-evaluation-harness logs them with ``--log_samples``. A line holds ``doc``, ``target``, ``resps`` and
    ``filtered_resps``; each response to a multiple-choice question is a pair: the log-likelihood, and whether greedy
    decoding gives that choice. Newer versions log both as text.
    """

    def __init__(self, name: str):
        self.name = name
        self._filter: Any = None
        self._n_repeated = 0
        self._widths: dict[int, int] = {}

    def row(self, sample: dict[str, Any]) -> dict[str, Any] | None:
        """A sample's number, right choice and log-likelihoods; None for another filter of the same answers.

        Raises
        ------
        InvalidUpload
            If the responses are no log-likelihoods of two choices or more.
        """
        if not self._widths:
            self._filter = sample.get("filter")
        elif sample.get("filter") != self._filter:
            self._n_repeated += 1
            return None
        doc = sample.get("doc")
        names = choice_names(doc) if isinstance(doc, dict) else []
        values = log_likelihoods(sample)
        if 1 < len(names) < len(values):  # followed by those without the question, for the mutual information
            values = values[: len(names)]
        if not 2 <= len(values) <= MOST_CHOICES:
            raise InvalidUpload(
                "no_outputs",
                f"{self.name} holds samples of lm-evaluation-harness without the log-likelihoods of several choices.",
                "Log the samples of a multiple-choice task; generated text has no probabilities.",
            )
        self._widths[len(values)] = self._widths.get(len(values), 0) + 1
        found = {"id": sample.get("doc_id"), "label": right_choice(sample["target"], names, len(values))}
        return {**found, "n_choices": len(values), **{f"logit_{j}": value for j, value in enumerate(values)}}

    def choices_alone(self, table: pa.Table) -> tuple[pa.Table, list[Finding]]:
        """The rows with the usual number of choices, and what is to be said of the file."""
        import pyarrow.compute as pc

        usual = max(self._widths, key=lambda width: self._widths[width])
        others = sum(n for width, n in self._widths.items() if width != usual)
        table = table.filter(pc.equal(table.column("n_choices"), usual))
        names = ["id", "label", *(f"logit_{j}" for j in range(usual))]
        text = (
            f"{self.name} holds samples of lm-evaluation-harness: the log-likelihoods of {usual} choices are read as "
            "logits, so that probabilities are a softmax over the choices of a question."
        )
        findings = [Finding("info", "softmax_over_choices", text)]
        if others:
            text = f"{count(others, 'question')} of {self.name} with another number of choices than {usual} left out."
            findings.append(Finding("warning", "other_choices", text, "Calibrate each number of choices by itself."))
        if self._n_repeated:
            text = f"{count(self._n_repeated, 'sample')} of {self.name} of another filter left out."
            findings.append(Finding("info", "other_filters", text))
        return table.select([name for name in names if name in table.column_names]), findings


def log_likelihoods(sample: dict[str, Any]) -> list[float]:
    """The log-likelihood of each choice; empty where the responses are none."""
    for key in RESPONSES:
        responses = sample.get(key)
        if not isinstance(responses, list):
            continue
        pairs = [r[0] if isinstance(r, list) and len(r) == 1 else r for r in responses]
        if pairs and all(isinstance(pair, list) and len(pair) == 2 and is_truth(pair[1]) for pair in pairs):
            try:
                return [float(pair[0]) for pair in pairs]
            except (TypeError, ValueError, OverflowError):
                return []
    return []


def is_truth(value: Any) -> bool:
    """Whether a value says yes or no, as it is or as text."""
    return isinstance(value, bool) or str(value) in ("True", "False")


def choice_names(doc: dict[str, Any]) -> list[str]:
    """What a question calls its choices, where it lists them."""
    choices = doc.get("choices", doc.get("options"))
    if isinstance(choices, dict):
        choices = choices.get("text", choices.get("label"))
    return [str(choice) for choice in choices] if isinstance(choices, list) else []


def right_choice(target: Any, names: list[str], n: int) -> int | None:
    """The number of the right choice, from its number, its letter or its text; None where it is none of them."""
    text = str(target).strip()
    if text.removeprefix("-").isdecimal() and len(text) < 9:
        return int(text) if 0 <= int(text) < n else None
    stripped = [name.strip() for name in names[:n]]
    if text in stripped:
        return stripped.index(text)
    letter = ord(text) - ord("A") if len(text) == 1 else -1
    return letter if 0 <= letter < n else None
