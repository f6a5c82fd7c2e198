"""Format of numbers and counts on pages and in reports, and of texts from uploads, which stay texts.

Results show themselves in notebooks by :class:`Displayed`.

Names of classes, columns, groups and files come from uploads. In Markdown such a name can be a link, or a picture that
a browser loads from elsewhere; a spreadsheet runs a cell such as ``=HYPERLINK(...)`` as a formula (OWASP, "CSV
Injection", gives the characters that begin one); and a terminal obeys control characters.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    import pandas as pd


_FORMULA = re.compile(r"[\s\ufeff\u200b]*[=+\-@＝＋－＠]|[\t\r\n]")
_NEXT_CELL = re.compile(r";(?=[\s\ufeff\u200b\"']*[=+\-@＝＋－＠])")
_DIGITS = r"[-+]?(\d[\d,]*\.?\d*|\.\d+|∞)([eE][-+]?\d+)?"
_NUMBER = re.compile(rf"{_DIGITS}(\s+\[{_DIGITS}(, {_DIGITS})?(\s%)?\])?")

_UNSEEN = {"Cc", "Cf", "Cs", "Zl", "Zp"}
"""Unicode's categories of control and format characters, lone surrogates, and ends of lines and paragraphs."""
_JOINERS = "\u200c\u200d"
"""Format characters that words of some scripts, and emoji, are spelled with."""

ROUNDING = 1e-12
"""Smaller numbers are what is left by rounding."""
NO_BREAK = "\u00a0"
"""Keeps a number and its unit on one line."""

_BEGINNING = re.compile(r"^(?:(?=[#>+=-])|\d+(?=[.)](?:\s|$)))")
_MARKS = re.compile(r"[\\`*\[\]<$~|]|(?<!\w)_|_(?!\w)|&(?=#|\w+;)|:(?=\w)")
_ADDRESSES = re.compile(r"(?<=:)(?=//|[\w+/-]+:)|(?<=www)(?=\.)|(?<=@)", re.IGNORECASE)
JOINER = "\u2060"
"""Has no width; it keeps apart what becomes a link or an icon after backslashes were read, so that none prevents it."""


class Displayed:
    """A result that notebooks show as HTML, by the function that ``calib/__init__.py`` sets."""

    to_html: ClassVar[Callable[[Any], str | None]] = staticmethod(lambda _: None)

    def _repr_html_(self) -> str | None:
        return Displayed.to_html(self)


def number(value: float, digits: int = 3) -> str:
    """Three significant digits without an exponent for usual scores: 0.0523, 12.3, 1,230; rounding is 0."""
    if value is None or math.isnan(value):
        return "–"
    if abs(value) < ROUNDING:
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
    """A value with its interval, given as value, low and high: 0.0523 [0.0412, 0.0634]; alone if that is NaN."""
    value, low, high = interval
    return write(value) if math.isnan(low) else f"{write(value)} {brackets(low, high, write)}"


def brief(value: float) -> str:
    """Like :func:`number` with no more than four decimals, where room is short: 0.0071."""
    text = number(value)
    return f"{value:.4f}" if len(text) > len("0.0710") and abs(value) < 1 else text


def percent(share: float, digits: int = 1) -> str:
    """A share as a percentage that no line break divides: 96.5 %."""
    if math.isnan(share):
        return "–"
    rounded = round(float(share), digits + 2)  # 0.7695 goes the way that `number` rounds it
    return f"{100 * rounded:.{digits}f}{NO_BREAK}%"


def round_percent(share: float) -> str:
    """A share that somebody chose, with no more digits than it has: 5 %, 2.5 %, 99.9 %."""
    return f"{100 * share:.6g}{NO_BREAK}%"


def for_terminal(text: str) -> str:
    """The text with the blank and the minus that people type, by which they search what a command printed."""
    return text.replace(NO_BREAK, " ").replace("−", "-")


def points(value: float) -> str:
    """A difference of probabilities in points with its sign: +5.4."""
    text = "–" if math.isnan(value) else f"{100 * value:+.1f}".replace("-", "−")
    return "0.0" if text in ("+0.0", "−0.0") else text


def points_between(low: float, high: float, sign: bool = True) -> str:
    """The ends of an interval in points: +0.4 to +3.8; an end that would be written as 0 gets more digits, +0.03."""

    def end(value: float) -> str:
        texts = (f"{100 * value:{'+' if sign else ''}.{digits}f}" for digits in (1, 2, 3))
        text = next((text for text in texts if float(text)), "0.0")
        return text.replace("-", "−")

    return f"{end(low)} to {end(high)}"


def signed(value: float, digits: int = 3) -> str:
    """A difference with its sign: +0.012, -0.105 (an ASCII minus, by which Streamlit tells better from worse)."""
    if math.isnan(value):
        return "–"
    size = number(abs(value), digits)
    return size if size == "0" else ("+" if value > 0 else "-") + size


def plural(count: int, noun: str, nouns: str | None = None) -> str:
    """A count with its noun: 1 row, 1,000 rows."""
    return f"{count:,} {noun if count == 1 else nouns or noun + 's'}"


def class_phrase(name: str) -> str:
    """A class's name within a sentence: one without a letter is a number that says nothing alone, as in class 46."""
    return name if any(character.isalpha() for character in name) else f"class {name}"


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

    Also behind a byte order mark, and behind a semicolon, at which other locales begin a new cell. Numbers, also with
    an interval or a share in brackets, and classes with names such as -1 and +1, stay as they are.
    """
    if not isinstance(value, str) or _NUMBER.fullmatch(value):
        return value
    inert = _NEXT_CELL.sub(";'", value)
    return f"'{inert}" if _FORMULA.match(value) else inert


def safe_table(table: pd.DataFrame) -> pd.DataFrame:
    """A copy of a table to write with ``to_csv``, whose texts and column names cannot be formulas."""
    safe = table.rename(columns=safe_cell)
    for place, dtype in enumerate(table.dtypes):
        if dtype.kind not in "biufc":
            safe.isetitem(place, table.iloc[:, place].astype(object).map(safe_cell).array)
    return safe


def single_line(text: str) -> str:
    """The text, with a mark for whatever would break its line, turn its direction or drive a terminal.

    Names of files and arrays stand in sentences, and so do the reasons that libraries give, with bytes of the file.
    """
    return "".join(
        "\ufffd" if unicodedata.category(c) in _UNSEEN and c not in _JOINERS else c for c in text
    )


def escape_markdown(text: str) -> str:
    """A text that was not written here, so that Markdown reads it as nothing more than one line of text.

    No emphasis, link, address, picture, formula, HTML or beginning of a list comes of it, and none of what Streamlit
    adds: colours, icons and emoji. It may stand anywhere in a line and in a cell of a table.
    """
    line = single_line(" ".join(text.split()))
    return _BEGINNING.sub(r"\g<0>\\", _MARKS.sub(r"\\\g<0>", _ADDRESSES.sub(JOINER, line)))


def row_numbers(mask: npt.NDArray[np.bool_], first: int = 1, most: int = 6) -> str:
    """``rows 3, 17, 42 and 12 more``: the numbers of the first rows that are marked.

    Parameters
    ----------
    mask : (n,) which rows.
    first : number of the first row.
    """
    rows = np.flatnonzero(mask) + first
    numbers = ", ".join(f"{row:,}" for row in rows[:most].tolist())
    more = f" and {len(rows) - most:,} more" if len(rows) > most else ""
    return f"{'row' if len(rows) == 1 else 'rows'} {numbers}{more}"
