"""Logs of decisions: ``answers`` of each row to several questions, as a list or an object of typed answers.

An answer is ``{"type": "choice", "name": "department", "probabilities": [{"value": ..., "probability": ...}]}``. The
names become columns, one question after the other, so that it can be asked which is meant.
"""

from __future__ import annotations

from typing import Any

ANSWERS = "answers"


def is_decision_log(row: Any) -> bool:
    """Return whether an object holds a list of typed answers with names."""
    answers = row.get(ANSWERS) if isinstance(row, dict) else None
    return isinstance(answers, list) and any(
        isinstance(answer, dict) and {"type", "name"} <= answer.keys() for answer in answers
    )


def by_question(row: Any) -> Any:
    """Return a row with its answers by the names of their questions; a refusal has no probabilities."""
    if not is_decision_log(row):
        return row
    named = {str(a["name"]): _plain(a) for a in row[ANSWERS] if isinstance(a, dict) and "name" in a}
    return {**row, ANSWERS: named}


def _plain(answer: dict[str, Any]) -> dict[str, Any]:
    listed = answer.get("probabilities")
    plain = {key: value for key, value in answer.items() if key != "name"}
    if isinstance(listed, list) and all(isinstance(item, dict) for item in listed):
        plain["probabilities"] = {
            str(item.get("value")): item.get("probability") for item in listed
        }
    return plain
