"""What reading gives beside its result: findings, the error of an upload that cannot be used, the words of both."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Generic, TypeVar

from calib.data.options import Choices
from calib.data.roles import Question
from calib.errors import Finding
from calib.formatting import one_line

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

ORDER = {"error": 0, "warning": 1, "info": 2}
"""The order in which findings are shown."""


class InvalidUpload(Exception):
    """The upload cannot be used; carries the one finding that says why, and what is asked where that would help."""

    def __init__(
        self,
        code: str,
        message: str,
        action: str = "",
        *,
        readings: Mapping[str, Mapping[str, object]] | None = None,
        question: Question | None = None,
        **fix: Any,
    ):
        self.finding = Finding(
            "error", code, one_line(message), action, fix, readings=readings or {}
        )
        self.question = question
        super().__init__(self.finding.message)


@dataclass(frozen=True)
class Step(Generic[T_co]):
    """What one step of reading gives.

    Attributes
    ----------
    value : its result.
    findings : what people should know about it.
    decided : options of :class:`calib.data.Choices` that it inferred.
    """

    value: T_co
    findings: tuple[Finding, ...] = ()
    decided: Mapping[str, Any] = field(default_factory=dict)


class Notes:
    """What the steps of one upload found: their findings, and the choices with what was inferred so far."""

    def __init__(self, choices: Choices):
        self.choices = choices
        self._findings: list[Finding] = []

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Errors first, then in the order of the steps."""
        return tuple(sorted(self._findings, key=lambda finding: ORDER[finding.level]))

    def add(self, *findings: Finding) -> None:
        """Add findings."""
        self._findings += findings

    def decide(self, **inferred: Any) -> None:
        """Fill in options that were inferred."""
        self.choices = replace(self.choices, **inferred)

    def take(self, step: Step[T]) -> T:
        """The result of a step, whose findings and options are noted."""
        self.add(*step.findings)
        self.decide(**step.decided)
        return step.value


def warning(code: str, reason: str, action: str = "", **fix: Any) -> Finding:
    """Something that may invalidate results."""
    return Finding("warning", code, one_line(reason), action, fix)


def info(code: str, reason: str, action: str = "", **fix: Any) -> Finding:
    """How something was read."""
    return Finding("info", code, one_line(reason), action, fix)


def left_out_as(array: str, invalid: InvalidUpload) -> Finding:
    """Why features or training data cannot be used; only methods that need them are left out."""
    return replace(invalid.finding, level="warning", left_out=array)


def verb(n: int, singular: str, plural: str) -> str:
    """The verb that goes with :func:`calib.formatting.plural`."""
    return singular if n == 1 else plural


def listed(names: Iterable[Any], most: int = 6) -> str:
    """The first few names, each shortened, for a sentence."""
    names = list(names)
    shown = ", ".join(shortened(name) for name in names[:most])
    return f"{shown} and {len(names) - most:,} more" if len(names) > most else shown or "nothing"


def shortened(value: Any, length: int = 40) -> str:
    """One value of an upload, short enough for a sentence and on one line."""
    text = str(value)
    if not text.isprintable():
        text = one_line(text)
    return text if len(text) <= length else text[: length - 1] + "…"
