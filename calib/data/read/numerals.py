"""Numbers as people and programs write them: 12,5 %, 1.234,5, 1 234. The column decides which sign is the decimal one.

A sign is the decimal one where every cell is a number by it and some cell is none by the other.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal, NamedTuple

from calib.data.findings import info, listed, shortened, verb, warning
from calib.errors import Finding

if TYPE_CHECKING:
    import pyarrow as pa

Sign = Literal[".", ","]

BLANKS = " '’\u00a0\u2009\u202f"
"""What separates thousands and is never a decimal sign."""

HEAD = 200
"""Rows of a column of text that show whether it may hold numbers at all."""

UNITS = {"%": 100.0, "‰": 1000.0}
"""What a number before each of these is divided by."""

EMPTY = r"^(?i:-|–|n/?a|#n/a|nan|null|none|\\N)?$"


def _number(decimal: str, thousands: str) -> str:
    whole = rf"(?:\d+|[1-9]\d{{0,2}}(?:[{thousands}{BLANKS}]\d{{3}})+)"
    return rf"^[-+−]?\s?(?:{whole}(?:\{decimal}\d*)?|\{decimal}\d+)(?:[eE][-+]?\d+)?\s?[%‰]?$"


NUMBER: dict[Sign, str] = {".": _number(".", ","), ",": _number(",", ".")}
"""Numbers with separators or a unit, without blanks around them, by their decimal sign."""


def is_number(cell: str) -> bool:
    """Whether a cell holds a number by either decimal sign, or nothing."""
    cell = cell.strip()
    return any(re.match(pattern, cell) for pattern in (*NUMBER.values(), EMPTY, r"(?i)^[-+]?inf(inity)?$"))


def decimal_sign(cells: list[str]) -> tuple[Sign | None, bool]:
    """The decimal sign of some cells: that of the most with one reading; and whether a comma is left undecided.

    Numbers with neither sign say nothing; where all that say something have two readings, the sign is None.
    """
    cells = [cell.strip() for cell in cells if "," in cell or "." in cell]
    readings = [(bool(re.match(NUMBER["."], cell)), bool(re.match(NUMBER[","], cell))) for cell in cells]
    points, commas = readings.count((True, False)), readings.count((False, True))
    if points or commas:
        return ("," if commas >= points else "."), False
    return None, any("," in cell and pair == (True, True) for cell, pair in zip(cells, readings, strict=True))


class Numbers(NamedTuple):
    """A column of text as numbers.

    Attributes
    ----------
    column : int64 or float64, null where a cell is empty.
    unit : the unit that every cell had, by which it was divided; else empty.
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

    def matches(pattern: str) -> int:
        return pc.sum(pc.match_substring_regex(column, pattern)).as_py() or 0

    if not all(is_number(str(cell)) for cell in column.slice(0, HEAD).to_pylist() if cell is not None):
        return None
    column = pc.utf8_trim_whitespace(column)
    column = pc.if_else(pc.match_substring_regex(column, EMPTY), pa.scalar(None, column.type), column)
    filled = len(column) - column.null_count
    fits = [sign for sign, pattern in NUMBER.items() if filled and matches(pattern) == filled]
    units = {unit: n for unit in UNITS if (n := matches(f"{unit}$"))}
    if not fits or (units and [*units.values()] != [filled]):
        return None
    signed = pc.index(pc.match_substring_regex(column, "[.,]"), True).as_py() if len(fits) == 2 else -1
    example = "" if signed < 0 else column[signed].as_py()
    thousands = "." if (fits[0] if len(fits) == 1 else decimal) == "," else ","
    column = pc.replace_substring_regex(column, rf"[%‰\s+{BLANKS}]|\{thousands}", "")
    column = pc.replace_substring(pc.replace_substring(column, ",", "."), "−", "-")
    values = pc.cast(column, pa.int64() if matches(r"^-?\d{1,17}$") == filled and not units else pa.float64())
    unit = next(iter(units), "")
    return Numbers(pc.divide(values, UNITS[unit]) if unit else values, unit, example)


def read_written(
    table: pa.Table, decimal: Sign, file: str, certain: bool = True, but: tuple[str, ...] = ()
) -> tuple[pa.Table, list[Finding]]:
    """A text table whose columns of written numbers are numbers, and what is to be said of them.

    Parameters
    ----------
    decimal : the decimal sign where a column does not decide.
    certain : whether it was chosen, or other cells of the table have it; then nothing is left open.
    but : columns that stay text.
    """
    import pyarrow as pa

    findings: list[Finding] = []
    by_unit: dict[str, list[str]] = {}
    for j, name in enumerate(table.column_names):
        is_text = pa.types.is_string(table.schema.field(j).type) and table.num_rows and name not in but
        found = written_numbers(table.column(j), decimal) if is_text else None
        if found is None:
            continue
        table = table.set_column(j, name, found.column)
        if found.unit:
            by_unit.setdefault(found.unit, []).append(name)
        if found.example and not certain:
            other = "." if decimal == "," else ","
            text = (
                f"{shortened(name)} of {file} holds numbers like {shortened(found.example)}, and no other cell says "
                f"whether its sign separates thousands; read with the decimal sign {decimal!r}."
            )
            action = f"Read it with the decimal sign {other!r} if that is meant."
            findings.append(warning("decimal_unclear", text, action, decimal=other))
    for unit, names in by_unit.items():
        text = f"{listed(names)} of {file} {verb(len(names), 'has', 'have')} the unit {unit}"
        findings.append(info("percent_signs", f"{text}: divided by {UNITS[unit]:,.0f}."))
    return table, findings
