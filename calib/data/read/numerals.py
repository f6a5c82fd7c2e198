"""Numbers as people and programs write them: 12,5 %, 1.234,5, 1 234. The cells decide which sign is the decimal one.

A sign is the decimal one where every cell is a number by it and some cell is none by the other.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from calib.data.findings import info, listed, shortened, warning
from calib.data.options import Sign
from calib.errors import Finding

if TYPE_CHECKING:
    import pyarrow as pa

BLANKS = " '’\u00a0\u2009\u202f"
"""Separators of thousands that are never a decimal sign."""

CODE = re.compile(r"\s*(0\d+|\d{16,})\s*")
"""Digits that name something, such as 007: as a number they would be written in another way."""

HEAD = 200
"""Rows of a column of text that show whether it may hold numbers at all."""

UNITS = {"%": 100.0, "‰": 1000.0}
"""Divisor of a number by the unit after it."""

EMPTY = r"^(?i:-|–|n/?a|#n/a|nan|null|none|\\N)?$"


def _number(decimal: str, thousands: str) -> str:
    whole = rf"(?:\d+|[1-9]\d{{0,2}}(?:[{thousands}{BLANKS}]\d{{3}})+)"
    return rf"^[-+−]?\s?(?:{whole}(?:\{decimal}\d*)?|\{decimal}\d+)(?:[eE][-+]?\d+)?[\s{BLANKS}]?[%‰]?$"


NUMBER: dict[Sign, str] = {".": _number(".", ","), ",": _number(",", ".")}
"""Numbers with separators or a unit, without blanks around them, by their decimal sign."""


FRACTION = r"^\s*\d{1,6}\s*/\s*[1-9]\d{0,5}\s*$"
"""Votes of all votes, such as 7/11."""


def from_fractions(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return text such as 7/11 as its value; a column that holds anything else as it is."""
    import pyarrow as pa
    import pyarrow.compute as pc

    text = column.cast(pa.string())
    filled = pc.drop_null(text)
    if not len(filled) or not all_match(filled, FRACTION):
        return column
    parts = pc.split_pattern(text, "/")
    items = [pc.utf8_trim_whitespace(pc.list_element(parts, j)) for j in (0, 1)]
    return pc.divide(*(pc.cast(item, pa.float64()) for item in items))


def all_match(column: pa.ChunkedArray, pattern: str) -> bool:
    """Return whether each text of a column matches a pattern."""
    import pyarrow.compute as pc

    return bool(pc.all(pc.match_substring_regex(column, pattern), min_count=0).as_py())


def are_numbers(cells: Iterable[str]) -> Iterator[bool]:
    """Yield for each cell whether it holds a number by either decimal sign, or nothing."""
    forms = (*NUMBER.values(), EMPTY, r"(?i)^[-+]?inf(inity)?$")
    return (any(re.match(form, cell.strip()) for form in forms) for cell in cells)


def are_values(cells: Sequence[str]) -> Iterator[bool]:
    """Yield for each cell whether it holds a number, or several values such as ``[0.1, 0.9]``."""
    for cell, is_number in zip(cells, are_numbers(cells), strict=True):
        yield bool(cell.strip()) and (is_number or isinstance(parsed(cell), (list, dict)))


BETWEEN = re.compile(r"[\s,;|]+")


def as_numbers(texts: Iterable[str]) -> list[float]:
    """Return texts as numbers.

    Raises
    ------
    ValueError
        If one is none, such as ``2019_14548``: between digits Python takes an underscore for none.
    """
    texts = list(texts)
    if any("_" in text for text in texts):
        raise ValueError("A text with an underscore is no number.")
    return [float(text) for text in texts]


def parsed(cell: str) -> Any:
    """Parse a cell: JSON, a list or a dictionary as Python prints it, or numbers; else its text.

    ``[0.1 0.9]`` as NumPy prints it, ``0.1 0.9`` and ``0.1;0.9`` are numbers.
    """
    cell = cell.strip()
    if cell.startswith(("[", "{")):
        for text in (cell, cell.replace("'", '"')):
            try:
                return json.loads(text)
            except (ValueError, RecursionError):
                continue
    inner = cell.strip("[]()").strip()
    pieces = BETWEEN.split(inner)
    try:
        numbers = as_numbers(pieces)
    except ValueError:
        return cell
    is_list = inner != cell or all("." in piece or piece in ("0", "1") for piece in pieces)
    return numbers if len(pieces) > 1 and is_list else cell


def decimal_sign(cells: list[str], delimiter: str) -> tuple[Sign, bool]:
    """The decimal sign of most cells with one reading, and True; else, and False, a comma where it may be one.

    Between other delimiters ``1,234`` is a fraction; commas beside commas, in quotes, separate thousands.
    """
    cells = [cell.strip() for cell in cells if "," in cell or "." in cell]
    readings = [[sign for sign in NUMBER if re.match(NUMBER[sign], cell)] for cell in cells]
    points = readings.count(["."])
    commas = readings.count([","])
    if points or commas:
        return ("," if commas >= points else "."), True
    pairs = zip(cells, readings, strict=True)
    unclear = any("," in cell and len(signs) == 2 for cell, signs in pairs)
    return ("," if unclear and delimiter != "," else "."), False


def read_written(
    table: pa.Table, file: str, decimal: Sign | None = None, certain: bool = False
) -> tuple[pa.Table, list[Finding]]:
    """A table whose columns of written numbers are numbers, and what is to be said of them.

    Parameters
    ----------
    decimal : the decimal sign where a column does not decide; None for that of most cells of the table.
    certain : whether it was chosen, or other cells of the table have it; then nothing is left open.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    findings: list[Finding] = []
    divided: dict[str, list[str]] = {}
    heads = {}
    for j, kind in enumerate(table.schema.types):
        if pa.types.is_string(kind) or pa.types.is_large_string(kind):
            cells = list(filter(None, table.column(j).slice(0, HEAD).to_pylist()))
            if all(are_numbers(cells)) and not any(map(CODE.fullmatch, cells)):
                heads[j] = cells
    if decimal is None:
        decimal, certain = decimal_sign([cell for cells in heads.values() for cell in cells], "")
    other: Sign = "." if decimal == "," else ","
    for j in heads:
        name = table.column_names[j]
        column = pc.utf8_trim_whitespace(table.column(j).cast(pa.string()))
        empty = pc.match_substring_regex(column, EMPTY)
        column = pc.if_else(empty, pa.scalar(None, column.type), column)
        filled = pc.drop_null(column)
        signs = [sign for sign in (decimal, other) if all_match(filled, NUMBER[sign])]
        units = [unit for unit in UNITS if pc.any(pc.ends_with(filled, unit)).as_py()]
        same_unit = all(pc.all(pc.ends_with(filled, unit)).as_py() for unit in units)
        if not len(filled) or not signs or not same_unit:
            continue
        marked = pc.index(pc.match_substring_regex(filled, "[.,]"), True).as_py()
        if len(signs) == 2 and marked >= 0 and not certain:
            reason = (
                f"{shortened(name)} of {file} holds numbers like {shortened(filled[marked].as_py())}, and no other "
                f"cell says whether its sign separates thousands; read with the decimal sign {decimal!r}."
            )
            action = f"Read it with the decimal sign {other!r} if that is meant."
            findings.append(warning("decimal_unclear", reason, action, decimal=other))
        thousands = "." if signs[0] == "," else ","
        digits = pc.replace_substring_regex(column, rf"[%‰\s+{BLANKS}]|\{thousands}", "")
        digits = pc.replace_substring(pc.replace_substring(digits, ",", "."), "−", "-")
        whole = not units and all_match(pc.drop_null(digits), r"^-?\d{1,17}$")
        values = pc.cast(digits, pa.int64() if whole else pa.float64())
        for unit in units:
            values = pc.divide(values, UNITS[unit])
            divided.setdefault(unit, []).append(name)
        table = table.set_column(j, name, values)
    for unit, names in divided.items():
        reason = f"{unit} in {listed(names)} of {file}: divided by {UNITS[unit]:,.0f}."
        findings.append(info("percent_signs", reason))
    return table, findings
