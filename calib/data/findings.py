"""Findings of reading, the error of an upload that cannot be used, the text of both, and the limits on its size."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from calib.data.roles import Question
from calib.errors import Finding
from calib.formatting import single_line
from calib.settings import limit

Findings = tuple[Finding, ...]
"""Findings of one step, beside its result."""

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
            "error", code, single_line(message), action, fix, readings=readings or {}
        )
        self.question = question
        super().__init__(self.finding.message)

    def left_out(self, array: str) -> Finding:
        """Return why features or training data cannot be used; only methods that need them are left out."""
        return replace(self.finding, level="warning", left_out=array)


def in_order(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Errors first, then warnings, else in the order of the steps."""
    return tuple(sorted(findings, key=lambda finding: ORDER[finding.level]))


def _line(text: str) -> str:
    return text if text.isprintable() else single_line(text)


def warning(code: str, reason: str, action: str = "", **fix: Any) -> Finding:
    """Something that may invalidate results."""
    return Finding("warning", code, _line(reason), action, fix)


def info(code: str, reason: str, action: str = "", **fix: Any) -> Finding:
    """Make a finding about how something was read."""
    return Finding("info", code, _line(reason), action, fix)


def verb(n: int, singular: str, plural: str) -> str:
    """The verb that goes with :func:`calib.formatting.plural`."""
    return singular if n == 1 else plural


def listed(names: Iterable[Any], most: int = 6) -> str:
    """The first few names, each shortened, for a sentence."""
    names = list(names)
    text = ", ".join(shortened(name) for name in names[:most])
    return f"{text} and {len(names) - most:,} more" if len(names) > most else text or "nothing"


def shortened(value: Any, length: int = 40) -> str:
    """One value of an upload, short enough for a sentence and on one line."""
    text = str(value)
    if not text.isprintable():
        text = single_line(text)
    return text if len(text) <= length else text[: length - 1] + "…"


# Limits on the size of an upload, as configured.

MAX_UPLOAD = int(limit("CALIB_UPLOAD_MB") * 2**20)
"""Bytes of a file as it lies on disk (1 GiB)."""

MAX_BYTES = int(limit("CALIB_DATA_MB") * 1e6)
"""Bytes of one array of an upload (500 MB).

50,000 x 1000 float64 logits take 400 MB. Reading needs up to one copy more, which keeps the process near 1 GB.
"""

MAX_TEXT = int(limit("CALIB_TEXT_MB") * 1e6)
"""Characters of a text table once unpacked, and bytes of its cells as numbers (225 MB).

Arrow holds the text, the cells and the columns at the same time while it finds out their types.
"""

MAX_CLASSES = int(limit("CALIB_CLASSES"))
"""Columns of the outputs (100,000); a class costs a name and a counter, whatever the array costs."""

MAX_ROWS = int(limit("CALIB_ROWS"))
"""Rows of the outputs (10 million); a row costs a label and several masks, however narrow it is."""

MAX_ARRAYS = int(limit("CALIB_ARRAYS"))
"""Arrays or columns in one file (10,000; 1000 classes of a table are 1000 columns); each costs a line in the list."""

RESAVE = "Save the outputs and labels again with numpy.savez(file, logits=..., labels=...)."


def check_count(n: int, name: str) -> None:
    """Refuse a file with more arrays or columns than :data:`MAX_ARRAYS`."""
    if n > MAX_ARRAYS:
        reason = f"{name} holds {n:,} arrays or columns; at most {MAX_ARRAYS:,} are read."
        raise InvalidUpload("too_large", reason, RESAVE)


def megabytes(nbytes: int) -> str:
    """A size for people."""
    if nbytes < 10_000_000:
        return f"{nbytes:,} bytes"
    if nbytes < 10_000_000_000:
        return f"{nbytes / 1e6:,.0f} MB"
    return f"{nbytes / 1e9:,.0f} GB"
