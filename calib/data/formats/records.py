"""Rows that are objects, as columns of a table: values, lists and dictionaries by class, and what known programs write.

``{"probs": [.1, .9]}`` gives the columns ``probs_0`` and ``probs_1``, ``{"probs": {"cat": .1, "dog": .9}}`` the columns
``probs_cat`` and ``probs_dog``. Transformers' lists of ``{"label", "score"}`` and the samples of lm-evaluation-harness
are recognised by their keys.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from calib.data.checks.report import InvalidUpload, count, listed, shortened
from calib.data.formats.base import Allowance
from calib.data.formats.cells import read_written
from calib.data.formats.table import TableContents
from calib.data.formats.vectors import LABEL, by_number, is_labelled, one_hot_as_labels, paired, with_columns
from calib.data.interpret.names import OUTPUTS, canonical
from calib.data.limits import MAX_ARRAYS, MAX_TEXT, check_count, megabytes
from calib.data.options import Choices
from calib.errors import Finding

if TYPE_CHECKING:
    import pyarrow as pa

CHUNK = 2**14
LONGEST_KEY = 1000
"""Characters of a key; the rest of a longer one would stand in the name of each of its columns."""

SCALARS = (str, int, float, bool, type(None))
PREDICTION = {"label", "score"}
"""The keys of what a text-classification pipeline of transformers gives for a label."""


class Records:
    """Rows that become a table; of those that are read, only the last few stay objects.

    Parameters
    ----------
    name : of the file, for sentences.
    """

    def __init__(self, name: str):
        self.name = name
        self._n_rows = 0
        self._values: dict[str, list[Any]] = {}
        self._done: dict[str, list[pa.Array]] = {}
        self._flushed = 0
        self._widths: dict[str, int] = {}
        self._nested: dict[str, None] = {}
        self._ragged = 0
        self._top_labels = True
        self._scored = False
        self._harness: HarnessSamples | None = None

    def add(self, row: Any) -> None:
        """Add a row: an object, a list of values, or one value."""
        if not isinstance(row, dict):
            row = {"output": row}
        if is_harness_sample(row) and (self._harness or not self._n_rows):
            self._harness = self._harness or HarnessSamples(self.name)
            row = self._harness.row(row)
            if row is None:
                return
        if not self._harness:
            row = paired(row)
        self._top_labels &= set(row) == PREDICTION and isinstance(row["label"], str)
        for key, value in row.items():
            self._put(str(key), value)
        self._n_rows += 1
        if self._n_rows * len(self._values) > MAX_TEXT // 8:
            raise InvalidUpload(
                "too_large",
                f"{self.name} has more than {MAX_TEXT // 8:,} cells ({megabytes(MAX_TEXT)}).",
                "Save it as npz or Parquet, or fewer rows: 20,000 are plenty to calibrate.",
            )
        if self._n_rows % CHUNK == 0:
            self._flush()

    def _put(self, key: str, value: Any) -> None:
        if len(key) > LONGEST_KEY:
            self._nested[shortened(key)] = None
        elif isinstance(value, SCALARS):
            self._cell(key, value)
        elif isinstance(value, list) and value and all(map(is_labelled, value)):
            self._scored = True
            stem = key if canonical(key).base in OUTPUTS else "score"
            for scored in value:
                number = next(scored[name] for name in scored if name != LABEL)
                self._cell(f"{stem}_{str(scored[LABEL])[:LONGEST_KEY]}", number)
        elif isinstance(value, dict) and (inner := paired(value)) != value:
            for name, own in inner.items():
                self._put(f"{key}_{name[:LONGEST_KEY]}", own)
        elif isinstance(value, dict) and all(isinstance(v, SCALARS) for v in value.values()):
            for name, cell in value.items():
                self._cell(f"{key}_{name[:LONGEST_KEY]}", cell)
        elif isinstance(value, (list, tuple)) and value and all(isinstance(v, SCALARS) for v in value):
            if len(value) != self._widths.setdefault(key, len(value)):
                self._ragged += 1
                return
            for j, cell in enumerate(value):
                self._cell(f"{key}_{j}", cell)
        else:
            self._nested[key] = None

    def _cell(self, name: str, value: Any) -> None:
        column = self._values.get(name)
        if column is None:
            column = self._values[name] = []
            self._done[name] = []
            if len(self._values) > MAX_ARRAYS:
                check_count(len(self._values), "columns", self.name)
        gap = self._n_rows - self._flushed - len(column)
        if gap > 0:
            column.extend([None] * gap)
        if gap >= 0:
            column.append(value if isinstance(value, SCALARS) else None)

    def _flush(self) -> None:
        """Turn the rows of so far into arrays."""
        import pyarrow as pa

        n = self._n_rows - self._flushed
        for name, values in self._values.items():
            missing = self._flushed - sum(map(len, self._done[name]))
            if missing:
                self._done[name].append(pa.nulls(missing))
            self._done[name].append(typed(values + [None] * (n - len(values))))
            values.clear()
        self._flushed = self._n_rows

    def contents(self, allowance: Allowance, choices: Choices) -> TableContents:
        """The table of all rows, with what is to be said of it."""
        import pyarrow as pa

        self._flush()
        if not self._done:
            raise InvalidUpload(
                "no_rows",
                f"{self.name} holds no row with values ({listed(self._nested)} left out).",
                "Save a list of objects, or one object a line, with the outputs and the label of each row.",
            )
        table = pa.table({name: united(parts) for name, parts in self._done.items()})
        self._top_labels = self._top_labels and is_first_choice(table)
        findings = self._findings()
        if self._harness:
            table, said = self._harness.choices_alone(table)
            findings += said
        else:
            table, said = read_written(table, ".", choices.decimal is not None, self.name)
            findings += said
            table, one_hot = one_hot_as_labels(with_columns(table), self.name)
            findings += one_hot
        if self._top_labels:
            renamed = {"label": "predicted_label", "score": "confidence"}
            table = table.rename_columns([renamed.get(name, name) for name in table.column_names])
        if self._scored:
            table = table.select(sorted(table.column_names, key=by_number))
        contents = TableContents.from_table(self.name, table, allowance, bool(choices.drop_bad_rows))
        contents.findings = findings
        if self._harness and choices.kind is None:
            contents.format_choices = {"kind": "logits"}
        return contents

    def _findings(self) -> list[Finding]:
        found = []
        if self._nested:
            found.append(Finding("info", "nested", f"{listed(self._nested)} of {self.name} left out: nested values."))
        if self._ragged:
            text = f"{count(self._ragged, 'list')} of {self.name} of another length than the first; read as missing."
            found.append(Finding("warning", "ragged", text, "Save one value for each class in every row."))
        if self._top_labels:
            text = (
                f"{self.name} holds label and score alone, as a text-classification pipeline gives its first choice: "
                "read as the predicted label and its confidence."
            )
            action = "Call the pipeline with top_k=None for the scores of all classes, and add a file with the labels."
            found.append(Finding("warning", "top_label_alone", text, action))
        elif self._scored:
            text = f"The lists of label and score of {self.name} were read as one column for each label."
            found.append(Finding("info", "label_scores", text))
        return found


def is_first_choice(table: pa.Table) -> bool:
    """Whether scores are those of the likeliest of some labels: none is below the share of each if all were alike."""
    import pyarrow as pa
    import pyarrow.compute as pc

    label, score = table.column("label"), table.column("score")
    if not pa.types.is_string(label.type) or not pa.types.is_floating(score.type):
        return False
    lowest = pc.min(score).as_py()
    return lowest is not None and lowest >= 1 / max(2, pc.count_distinct(label).as_py())


def typed(values: list[Any]) -> pa.Array:
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


def united(parts: list[pa.Array]) -> pa.ChunkedArray:
    """Arrays of one column as one type: numbers where all are, else text."""
    import pyarrow as pa

    kinds = {part.type for part in parts if not pa.types.is_null(part.type)}
    if not kinds:
        kind = pa.null()
    elif len(kinds) == 1:
        (kind,) = kinds
    else:
        kind = pa.float64() if kinds == {pa.int64(), pa.float64()} else pa.string()
    return pa.chunked_array([part.cast(kind) for part in parts], kind)


RESPONSES = ("filtered_resps", "resps")
MOST_CHOICES = 1000


def is_harness_sample(row: dict[str, Any]) -> bool:
    """Whether an object has the keys of a logged sample."""
    return "target" in row and ("doc" in row or "doc_id" in row) and any(key in row for key in RESPONSES)


class HarnessSamples:
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
