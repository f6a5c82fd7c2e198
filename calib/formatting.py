"""How numbers and counts are written, the same on every page and in every report."""

from __future__ import annotations

import math
from collections.abc import Sequence


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


def brief(value: float) -> str:
    """Like :func:`number` with no more than four decimals, where room is short: 0.0071."""
    text = number(value)
    return f"{value:.4f}" if len(text) > len("0.0710") and abs(value) < 1 else text


def percent(share: float, digits: int = 1) -> str:
    """A share as a percentage with a thin space: 96.5 %."""
    return "–" if math.isnan(share) else f"{100 * share:.{digits}f} %"


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
