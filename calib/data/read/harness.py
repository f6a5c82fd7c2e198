"""Samples of lm-evaluation-harness, which logs them with ``--log_samples``; they are known by their keys.

A line holds ``doc``, ``target``, ``resps`` and ``filtered_resps``; each response to a multiple-choice question is a
pair: the log-likelihood, and whether greedy decoding gives that choice. Newer versions log both as text.
"""

from __future__ import annotations

from collections.abc import Iterable
from string import ascii_uppercase
from typing import Any

from calib.data.findings import InvalidUpload, info, warning
from calib.data.read.base import damaged
from calib.errors import Finding
from calib.formatting import plural

RESPONSES = ("filtered_resps", "resps")
MOST_CHOICES = 1000


def is_harness_sample(row: Any) -> bool:
    """Return whether an object has the keys of a logged sample."""
    known = isinstance(row, dict) and "target" in row and ("doc" in row or "doc_id" in row)
    return known and any(key in row for key in RESPONSES)


def harness_rows(samples: Iterable[Any], file: str) -> tuple[list[dict[str, Any]], list[Finding]]:
    """Number, right choice and log-likelihoods of each question with as many choices as the first, and what to say.

    Raises
    ------
    InvalidUpload
        If the responses are no log-likelihoods of two choices or more.
    """
    rows: list[dict[str, Any]] = []
    first = None
    width = 0
    others = 0
    for n, sample in enumerate(samples):
        if not is_harness_sample(sample):
            raise damaged(file, "an entry is no sample of lm-evaluation-harness")
        first = sample.get("filter") if n == 0 else first
        if sample.get("filter") != first:  # the same answers once more
            continue
        values = log_likelihoods(sample)
        doc = sample.get("doc")
        choices = doc.get("choices") if isinstance(doc, dict) else None
        choices = choices.get("text") if isinstance(choices, dict) else choices
        names = [str(choice).strip() for choice in choices] if isinstance(choices, list) else []
        if (
            1 < len(names) < len(values)
        ):  # followed by those without the question, for the mutual information
            values = values[: len(names)]
        if not 2 <= len(values) <= MOST_CHOICES:
            raise InvalidUpload(
                "no_outputs",
                f"{file} holds samples of lm-evaluation-harness without log-likelihoods of several choices.",
                "Log the samples of a multiple-choice task; generated text has no probabilities.",
            )
        width = width or len(values)
        if len(values) == width:
            logits = {f"logit_{j}": value for j, value in enumerate(values)}
            target = str(sample["target"]).strip()  # a number, a letter, or the text of the choice
            places = {name: j for j, name in enumerate(names[:width])}
            places |= {
                written: j for j in range(width) for written in (str(j), ascii_uppercase[j : j + 1])
            }
            rows.append({"id": sample.get("doc_id"), "label": places.get(target), **logits})
        else:
            others += 1
    text = (
        f"{file} holds samples of lm-evaluation-harness: the log-likelihoods of {width} choices are read as logits, so "
        "that probabilities are a softmax over the choices of a question."
    )
    findings = [info("softmax_over_choices", text)]
    if others:
        text = f"{plural(others, 'question')} of {file} with another number of choices than {width} left out."
        findings.append(
            warning("other_choices", text, "Calibrate each number of choices by itself.")
        )
    return rows, findings


def log_likelihoods(sample: dict[str, Any]) -> list[float]:
    """The log-likelihood of each choice; empty where the responses are none."""
    for key in RESPONSES:
        try:
            pairs = [r[0] if len(r) == 1 else r for r in sample.get(key) or []]
            if pairs and all(
                len(pair) == 2 and str(pair[1]) in ("True", "False") for pair in pairs
            ):
                return [float(value) for value, _ in pairs]
        except (TypeError, ValueError, OverflowError, KeyError):
            continue
    return []
