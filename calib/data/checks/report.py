"""Findings about an upload, the report that collects them, and the words of their sentences."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from calib.data.options import Choices
from calib.errors import Finding
from calib.formatting import one_line

_ORDER = {"error": 0, "warning": 1, "info": 2}


class InvalidUpload(Exception):
    """The upload cannot be used; carries the one finding that says why."""

    def __init__(
        self,
        code: str,
        message: str,
        action: str = "",
        *,
        readings: Mapping[str, Mapping[str, object]] | None = None,
        **fix: Any,
    ):
        self.finding = Finding("error", code, one_line(message), action, fix, readings=readings or {})
        super().__init__(self.finding.message)


class Report:
    """The findings so far, and the choices with the options inferred so far.

    Attributes
    ----------
    choices : as given, and as inferred where they were not.
    readings : of a table that can be read in several ways, as :class:`calib.data.TableReading`; empty otherwise.
    rows : the first cells of each column of a table, as text.
    words : of confidences in words that have no number yet: each word, and the number proposed for it if there is one.
    models : the roles of each model of a table with columns for several.
    """

    def __init__(self, choices: Choices):
        self.choices = choices
        self.readings: tuple[Any, ...] = ()
        self.rows: dict[str, tuple[str, ...]] = {}
        self.words: dict[str, float | None] = {}
        self.models: dict[str, dict[str, Any]] = {}
        self._findings: list[Finding] = []

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Errors first, then in the order of the checks."""
        return tuple(sorted(self._findings, key=lambda finding: _ORDER[finding.level]))

    def add(self, finding: Finding) -> None:
        """Add a finding."""
        self._findings.append(replace(finding, reason=one_line(finding.reason)))

    def warn(self, code: str, message: str, action: str = "", **fix: Any) -> None:
        """Add a warning."""
        self.add(Finding("warning", code, message, action, fix))

    def info(self, code: str, message: str, action: str = "", **fix: Any) -> None:
        """Add an info."""
        self.add(Finding("info", code, message, action, fix))

    def leave_out(self, array: str, code: str, reason: str, action: str = "", **fix: Any) -> None:
        """Warn that features or training data cannot be used; only methods that need them are left out."""
        self.add(Finding("warning", code, reason, action, fix, array))

    def leave_out_as(self, array: str, invalid: InvalidUpload) -> None:
        """Leave an array out for the reason that makes it unusable; the upload goes on."""
        finding = invalid.finding
        self.leave_out(array, finding.code, finding.reason, finding.action, **finding.fix)

    def decide(self, **inferred: Any) -> None:
        """Fill in options that were inferred."""
        self.choices = replace(self.choices, **inferred)


def count(n: int, noun: str) -> str:
    """``1 row``, ``9,900 rows``, ``2 classes``."""
    if n == 1:
        return f"1 {noun}"
    return f"{n:,} {noun}es" if noun.endswith("s") else f"{n:,} {noun}s"


def verb(n: int, singular: str, plural: str) -> str:
    """The verb that goes with :func:`count`."""
    return singular if n == 1 else plural


def listed(names: Iterable[Any], most: int = 6) -> str:
    """The first few names, each shortened, for a sentence."""
    names = list(names)
    shown = ", ".join(shortened(name) for name in names[:most])
    return f"{shown} and {len(names) - most:,} more" if len(names) > most else shown or "nothing"


def row_numbers(mask: npt.NDArray[np.bool_], first: int = 1, most: int = 6) -> str:
    """``rows 3, 17, 42 and 12 more``: the numbers of the first rows that are marked.

    Parameters
    ----------
    mask : (n,) which rows.
    first : number of the first row.
    """
    rows = np.flatnonzero(mask) + first
    shown = ", ".join(f"{row:,}" for row in rows[:most].tolist())
    more = f" and {len(rows) - most:,} more" if len(rows) > most else ""
    return f"{'row' if len(rows) == 1 else 'rows'} {shown}{more}"


def shortened(value: Any, length: int = 40) -> str:
    """One value of an upload, short enough for a sentence and on one line."""
    text = one_line(str(value))
    return text if len(text) <= length else text[: length - 1] + "…"


def rounded(value: float) -> str:
    """Three or four digits of a number of any size, without an exponent for usual ones: 0.00321, 25.4, 13,290."""
    return f"{value:,.0f}" if 1000 <= abs(value) < 1e9 else f"{value:.4g}"
