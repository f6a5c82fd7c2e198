"""How numbers and counts are written on pages and in reports, and texts that are safe in CSV files.

Names of classes, groups and files come from uploads, and a spreadsheet runs a cell such as ``=HYPERLINK(...)`` as a
formula. OWASP, "CSV Injection", gives the characters that begin one.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd


_FORMULA = re.compile(r"\s*[=+\-@＝＋－＠]|[\t\r\n]")
_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")


def number(value: float, digits: int = 3) -> str:
    """Three significant digits without an exponent for usual scores: 0.0523, 12.3, 1,230."""
    if value is None or math.isnan(value):
        return "–"
    if value == 0:
        return "0"
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    if abs(value) < 1e-4 or abs(value) >= 1e6:
        return f"{value:.{digits - 1}e}"
    decimals = max(0, digits - 1 - math.floor(math.log10(abs(value))))
    return f"{value:,.{decimals}f}"


def fixed(value: float) -> str:
    """Four decimals in ASCII, for plain text whose columns line up: 0.0523, 12.3000."""
    return "-" if math.isnan(value) else f"{value:.4f}"


def brackets(low: float, high: float, write: Callable[[float], str] = number) -> str:
    """The ends of an interval: [0.0412, 0.0634]."""
    return f"[{write(low)}, {write(high)}]"


def with_interval(interval: Sequence[float], write: Callable[[float], str] = number) -> str:
    """A value with its interval, given as value, low and high: 0.0523 [0.0412, 0.0634]."""
    value, low, high = interval
    return write(value) if math.isnan(value) else f"{write(value)} {brackets(low, high, write)}"


def brief(value: float) -> str:
    """Like :func:`number` with no more than four decimals, where room is short: 0.0071."""
    text = number(value)
    return f"{value:.4f}" if len(text) > len("0.0710") and abs(value) < 1 else text


def percent(share: float, digits: int = 1) -> str:
    """A share as a percentage with a thin space: 96.5 %."""
    return "–" if math.isnan(share) else f"{100 * share:.{digits}f} %"


def points(value: float) -> str:
    """A difference of probabilities in points with its sign: +5.4."""
    text = "–" if math.isnan(value) else f"{100 * value:+.1f}".replace("-", "−")
    return "0.0" if text in ("+0.0", "−0.0") else text


def signed(value: float, digits: int = 3) -> str:
    """A difference with its sign: +0.012, -0.105 (an ASCII minus, by which Streamlit tells better from worse)."""
    if math.isnan(value):
        return "–"
    return ("+" if value > 0 else "-" if value < 0 else "±") + number(abs(value), digits)


def plural(count: int, noun: str, nouns: str | None = None) -> str:
    """A count with its noun: 1 row, 1,000 rows."""
    return f"{count:,} {noun if count == 1 else nouns or noun + 's'}"


def listed(names: Sequence[str]) -> str:
    """Names in a sentence: A, B and C."""
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]])) if names else ""


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """One line per row, with columns as wide as their widest cell; empty columns are left out."""
    columns = [column for column in zip(*rows, strict=True) if any(column)]
    padded = [[cell.ljust(max(map(len, column))) for cell in column] for column in columns]
    return ["  ".join(row).rstrip() for row in zip(*padded, strict=True)]


def safe_cell(value: Any) -> Any:
    """The value, or a text that would be a formula behind an apostrophe, which spreadsheets take for "this is text".

    Numbers, and classes with names such as -1 and +1, stay as they are.
    """
    if isinstance(value, str) and _FORMULA.match(value) and not _NUMBER.fullmatch(value):
        return f"'{value}"
    return value


def safe_table(table: pd.DataFrame) -> pd.DataFrame:
    """A copy of a table to write with ``to_csv``, whose texts and column names cannot be formulas."""
    safe = table.rename(columns=safe_cell)
    for place, dtype in enumerate(table.dtypes):
        if dtype.kind not in "biufc":
            safe.isetitem(place, table.iloc[:, place].astype(object).map(safe_cell).array)
    return safe
