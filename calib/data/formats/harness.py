"""Samples that lm-evaluation-harness logs (``--log_samples``): the log-likelihood of each choice, and the right one.

A line holds ``doc``, ``target``, ``resps`` and ``filtered_resps``; each response to a multiple-choice question is a
pair: the log-likelihood, and whether greedy decoding gives that choice. Newer versions log both as text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from calib.data.checks.report import InvalidUpload, count
from calib.errors import Finding

if TYPE_CHECKING:
    import pyarrow as pa

RESPONSES = ("filtered_resps", "resps")
MOST_CHOICES = 1000


def is_harness_sample(row: dict[str, Any]) -> bool:
    """Whether an object has the keys of a logged sample."""
    return "target" in row and ("doc" in row or "doc_id" in row) and any(key in row for key in RESPONSES)


class HarnessSamples:
    """The samples of one file as rows of log-likelihoods with the number of the right choice."""

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
