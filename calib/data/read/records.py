"""JSON: documents and lines, whose objects become rows; lm-evaluation-harness' samples are known by their keys."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import TYPE_CHECKING, Any

from calib.data.findings import InvalidUpload, count, info, listed, warning
from calib.data.options import Choices
from calib.data.read.base import Allowance, reading, unreadable
from calib.data.read.nested import flat, is_scored, table_of, with_columns
from calib.data.read.numerals import read_written
from calib.data.read.table import Table
from calib.errors import Finding

if TYPE_CHECKING:
    import pyarrow as pa

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
    if not lists and len(objects) == len(document):  # pandas, orient="index" with its numbers of rows, or "columns"
        if all(key.isdecimal() for key in document):
            return iter(document.values())
        lists = objects
    n = max((len(value) for value in lists.values()), default=0)
    whole = {key: value for key, value in lists.items() if len(value) == n}
    return iter([document]) if n < 2 else ({key: value[i] for key, value in whole.items()} for i in range(n))


def open_records(rows: Iterable[Any], allowance: Allowance, choices: Choices, name: str = "The table") -> Table:
    """The table of rows that are objects, lists of values, or single values."""
    left_out: dict[str, None] = {}
    rows = iter(rows)
    first: Any = next(rows, {})
    rows = chain([first], rows)
    findings: list[Finding] = []
    if is_harness_sample(first):
        harness = Harness(name)
        table = table_of(harness.rows(rows), name)
        findings = harness.findings()
    else:
        table = table_of((flat(plain(row), left_out) for row in rows), name)
    if table is None:
        raise InvalidUpload(
            "no_rows",
            f"{name} holds no row with values ({listed(left_out)} left out).",
            "Save a list of objects, or one object a line, with the outputs and the label of each row.",
        )
    if left_out:
        findings.append(info("nested", f"{listed(left_out)} of {name} left out: nested values."))
    table, said = read_written(table, ".", name)
    table = with_columns(table, name)
    if set(table.column_names) == {"label", "score"} and is_first_choice(table):
        table = table.rename_columns(["predicted_label" if c == "label" else "confidence" for c in table.column_names])
        findings.append(first_choice(name))
    contents = Table.from_arrow(name, table, allowance, bool(choices.drop_bad_rows))
    contents.findings = [*findings, *said]
    if is_harness_sample(first) and choices.kind is None:
        contents.format_choices = {"kind": "logits"}
    return contents


def plain(row: Any) -> dict[str, Any]:
    """A row whose NumPy numbers and arrays are Python's; what is no object is the outputs of its row."""
    if not isinstance(row, dict):
        return {"score" if is_scored(row) else "output": row}
    return {str(key): value.tolist() if hasattr(value, "tolist") else value for key, value in row.items()}


def is_first_choice(table: pa.Table) -> bool:
    """Whether scores are those of the likeliest of some labels: none is below the share of each if all were alike."""
    import pyarrow as pa
    import pyarrow.compute as pc

    label, score = table.column("label"), table.column("score")
    if not pa.types.is_string(label.type) or not pa.types.is_floating(score.type):
        return False
    lowest = pc.min(score).as_py()
    return lowest is not None and lowest >= 1 / max(2, pc.count_distinct(label).as_py())


def first_choice(name: str) -> Finding:
    """The warning for a pipeline's first choices alone."""
    text = (
        f"{name} holds label and score alone, as a text-classification pipeline gives its first choice: "
        "read as the predicted label and its confidence."
    )
    action = "Call the pipeline with top_k=None for the scores of all classes, and add a file with the labels."
    return warning("top_label_alone", text, action)


# lm-evaluation-harness.

RESPONSES = ("filtered_resps", "resps")
MOST_CHOICES = 1000


def is_harness_sample(row: Any) -> bool:
    """Whether an object has the keys of a logged sample."""
    known = isinstance(row, dict) and "target" in row and ("doc" in row or "doc_id" in row)
    return known and any(key in row for key in RESPONSES)


class Harness:
    """The samples of one file as rows of log-likelihoods with the number of the right choice.

    lm-evaluation-harness logs them with ``--log_samples``. A line holds ``doc``, ``target``, ``resps`` and
    ``filtered_resps``; each response to a multiple-choice question is a pair: the log-likelihood, and whether greedy
    decoding gives that choice. Newer versions log both as text.
    """

    def __init__(self, name: str):
        self.name = name
        self._widths: Counter[int] = Counter()
        self._width = 0

    def rows(self, samples: Iterable[Any]) -> Iterator[dict[str, Any]]:
        """Number, right choice and log-likelihoods of each question with as many choices as the first.

        Raises
        ------
        InvalidUpload
            If the responses are no log-likelihoods of two choices or more.
        """
        filtered: Any = None
        for sample in samples:
            if not is_harness_sample(sample):
                raise unreadable(self.name, ValueError("an entry is no sample of lm-evaluation-harness"))
            filtered = filtered or {"by": sample.get("filter")}
            if sample.get("filter") != filtered["by"]:  # the same answers once more
                continue
            values, names = log_likelihoods(sample), choice_names(sample.get("doc"))
            if 1 < len(names) < len(values):  # followed by those without the question, for the mutual information
                values = values[: len(names)]
            if not 2 <= len(values) <= MOST_CHOICES:
                raise InvalidUpload(
                    "no_outputs",
                    f"{self.name} holds samples of lm-evaluation-harness without log-likelihoods of several choices.",
                    "Log the samples of a multiple-choice task; generated text has no probabilities.",
                )
            self._widths[len(values)] += 1
            self._width = self._width or len(values)
            if len(values) == self._width:
                right = right_choice(sample["target"], names, len(values))
                logits = {f"logit_{j}": value for j, value in enumerate(values)}
                yield {"id": sample.get("doc_id"), "label": right, **logits}

    def findings(self) -> list[Finding]:
        """What is to be said of the file once its rows were read."""
        text = (
            f"{self.name} holds samples of lm-evaluation-harness: the log-likelihoods of {self._width} choices are "
            "read as logits, so that probabilities are a softmax over the choices of a question."
        )
        found = [info("softmax_over_choices", text)]
        if others := self._widths.total() - self._widths[self._width]:
            text = f"{count(others, 'question')} of {self.name} with another number of choices than {self._width} left "
            found.append(warning("other_choices", f"{text}out.", "Calibrate each number of choices by itself."))
        return found


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


def choice_names(doc: Any) -> list[str]:
    """What a question calls its choices, where it lists them."""
    choices = doc.get("choices", doc.get("options")) if isinstance(doc, dict) else None
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
