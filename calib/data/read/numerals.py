"""Numbers as people and programs write them: 12,5 %, 1.234,5, 1 234, 3/4; the whole column decides."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal, NamedTuple

from calib.data.findings import listed, shortened, verb
from calib.errors import Finding

if TYPE_CHECKING:
    import pyarrow as pa

Sign = Literal[".", ","]

BLANKS = "[ '’\u00a0\u2009\u202f]"
"""What separates thousands and is never a decimal sign."""

HEAD = 200
"""Rows of a column of text that show whether it may hold numbers at all."""

_SIGNED = r"^[-+−]?\s?"
_END = r"(?:[eE][-+]?\d+)?\s?(?:%|‰|ppm)?$"
WRITTEN = rf"{_SIGNED}(?:\d{{1,3}}(?:(?:[.,]|{BLANKS})\d{{3}})+(?:[.,]\d+)?|\d+(?:[.,]\d*)?|[.,]\d+){_END}"
"""A number with separators or a unit; without blanks around it."""

UNITS = {"%": 100.0, "‰": 1000.0, "ppm": 1e6}
"""What a number before each of these is divided by."""

FRACTION = r"^\d{1,9}\s?(?:/|of|out of)\s?[1-9]\d{0,8}$"
"""``3/4``, ``7 of 10``."""

YEARS = (1900, 2100)
"""``3/2024`` is a month of a year and no fraction."""

EMPTY = r"^(?i:-|–|n/?a|#n/a|nan|null|none|\\N)?$"
WHOLE = rf"{_SIGNED}(?:\d+|\d{{1,3}}(?:{BLANKS}\d{{3}})+){_END}"
EITHER = rf"{_SIGNED}[1-9]\d{{0,2}}[.,]\d{{3}}{_END}"
"""One sign before three digits, which may be the decimals or the last three of some thousands."""


def _certain(decimal: str, thousands: str) -> str:
    """Two kinds of signs, thousands separated twice, or one sign that cannot separate thousands."""
    groups = rf"\d{{1,3}}(?:{thousands}\d{{3}})+"
    several = rf"\d{{1,3}}(?:{thousands}\d{{3}}){{2,}}"
    spaced = rf"\d{{1,3}}(?:{BLANKS}\d{{3}})+{decimal}\d+"
    single = rf"\d*{decimal}(?:\d{{0,2}}|\d{{4,}})|(?:0\d*|\d{{4,}}){decimal}\d+|{decimal}\d+"
    return rf"{_SIGNED}(?:{groups}{decimal}\d+|{several}|{spaced}|{single}){_END}"


CERTAIN: dict[Sign, str] = {".": _certain(r"\.", ","), ",": _certain(",", r"\.")}
"""Numbers that have one reading only, by their decimal sign."""


def decimal_sign(cells: list[str]) -> tuple[Sign | None, bool]:
    """The decimal sign of some cells: that of the most with one reading; and whether a comma is left undecided.

    Numbers with neither sign say nothing; where all that say something have two readings, the sign is None.
    """
    cells = [cell.strip() for cell in cells if "," in cell or "." in cell]
    found = {sign: sum(bool(re.match(pattern, cell)) for cell in cells) for sign, pattern in CERTAIN.items()}
    if found["."] or found[","]:
        return ("," if found[","] >= found["."] else "."), False
    return None, any("," in cell and re.match(EITHER, cell) for cell in cells)


class Numbers(NamedTuple):
    """A column of text as numbers.

    Attributes
    ----------
    column : int64 or float64, null where a cell is empty.
    unit : the unit that every cell had, by which it was divided; else empty. ``/`` for fractions.
    example : a cell with two readings, where the column does not decide between them; else empty.
    """

    column: pa.ChunkedArray
    unit: str = ""
    example: str = ""


def written_numbers(column: pa.ChunkedArray, decimal: Sign) -> Numbers | None:
    """The numbers of a column of text; None where it holds anything else.

    Parameters
    ----------
    decimal : the decimal sign where the column does not decide.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    head = [str(cell).strip() for cell in column.slice(0, HEAD).to_pylist() if cell is not None]
    written = all(re.match(WRITTEN, cell) or re.match(EMPTY, cell) for cell in head)
    if not written and not all(re.match(FRACTION, cell) or re.match(EMPTY, cell) for cell in head):
        return None
    column = pc.utf8_trim_whitespace(column)
    column = pc.if_else(pc.match_substring_regex(column, EMPTY), pa.scalar(None, column.type), column)
    filled = len(column) - column.null_count
    if not filled:
        return None
    if not written:
        return fractions(column) if _matches(column, FRACTION) == filled else None
    certain = {sign: _matches(column, pattern) for sign, pattern in CERTAIN.items()}
    whole = _matches(column, WHOLE)
    read = sum(certain.values()) + whole + _matches(column, EITHER)
    units = {unit: n for unit in UNITS if (n := _matches(column, f"{unit}$"))}
    if read < filled or (certain["."] and certain[","]) or (units and [*units.values()] != [filled]):
        return None
    decided: Sign | None = "." if certain["."] else "," if certain[","] else None
    first = -1 if decided else pc.index(pc.match_substring_regex(column, EITHER), True).as_py()
    thousands = "." if (decided or decimal) == "," else ","
    plain = pc.replace_substring_regex(column, rf"[%‰\s]|ppm|{BLANKS}|\{thousands}", "")
    plain = pc.replace_substring(pc.replace_substring(plain, ",", "."), "−", "-")
    longest = pc.max(pc.utf8_length(plain)).as_py()
    values = pc.cast(plain, pa.int64() if whole == filled and not units and longest < 18 else pa.float64())
    unit = next(iter(units), "")
    values = pc.divide(values, UNITS[unit]) if unit else values
    return Numbers(values, unit, "" if first < 0 else column[first].as_py())


def fractions(column: pa.ChunkedArray) -> Numbers | None:
    """The numbers of a column of fractions of at most one; None for months of a year."""
    import pyarrow as pa
    import pyarrow.compute as pc

    parts = pc.split_pattern_regex(column, r"\D+").combine_chunks()
    above, below = (pc.list_element(parts, j).cast(pa.int64()) for j in (0, 1))
    span = pc.min_max(below).as_py()
    if pc.any(pc.greater(above, below)).as_py() or YEARS[0] <= span["min"] <= span["max"] <= YEARS[1]:
        return None
    shares = pc.divide(above.cast(pa.float64()), below.cast(pa.float64()))
    return Numbers(pa.chunked_array([shares]), "/") if pc.count_distinct(shares).as_py() > 2 else None


def _matches(column: pa.ChunkedArray, pattern: str) -> int:
    import pyarrow.compute as pc

    return pc.sum(pc.match_substring_regex(column, pattern)).as_py() or 0


def read_written(table: pa.Table, decimal: Sign, certain: bool, file: str) -> tuple[pa.Table, list[Finding]]:
    """A text table whose columns of written numbers are numbers, and what is to be said of them.

    Parameters
    ----------
    decimal : the decimal sign where a column does not decide.
    certain : whether it was chosen, or other cells of the table have it; then nothing is left open.
    """
    import pyarrow as pa

    by_unit: dict[str, list[str]] = {}
    open_names, example = [], ""
    for j, name in enumerate(table.column_names):
        if not (pa.types.is_string(table.schema.field(j).type) and table.num_rows):
            continue
        found = written_numbers(table.column(j), decimal)
        if found is None:
            continue
        table = table.set_column(j, name, found.column)
        if found.unit:
            by_unit.setdefault(found.unit, []).append(name)
        if found.example and not certain:
            open_names.append(name)
            example = example or found.example
    findings = []
    for unit, names in by_unit.items():
        holds = f"{listed(names)} of {file} {verb(len(names), 'holds', 'hold')}"
        if unit == "/":
            text = f"{holds} fractions such as 3/4: divided."
            findings.append(Finding("info", "fractions", text))
        else:
            what = "percent signs" if unit == "%" else f"the unit {unit}"
            findings.append(Finding("info", "percent_signs", f"{holds} {what}: divided by {UNITS[unit]:,.0f}."))
    if open_names:
        findings.append(two_readings(open_names, example, decimal, file))
    return table, findings


def two_readings(names: list[str], example: str, decimal: Sign, file: str) -> Finding:
    """Warn of numbers that have two readings, with the fix that takes the other one."""
    sign = "," if "," in example else "."
    decimals, thousands = example.replace(",", "."), example.replace(sign, "")
    read, other = (decimals, thousands) if sign == decimal else (thousands, decimals)
    return Finding(
        "warning",
        "decimal_unclear",
        f"{listed(names)} of {file} {verb(len(names), 'writes', 'write')} numbers like {shortened(example)}, which may "
        f"be {shortened(decimals)} or {shortened(thousands)}, and no other cell decides; read as {shortened(read)}.",
        f"Read it as {shortened(other)} with the decimal sign {'.' if decimal == ',' else ','} if that is meant.",
        {"decimal": "." if decimal == "," else ","},
    )
