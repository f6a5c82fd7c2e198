"""Text that others wrote, in CSV files that spreadsheets open: none of it may run as a formula.

Names of classes, groups, traces and files come from uploads, and a cell such as ``=HYPERLINK(...)`` is carried out by
the program of whoever opens the export. OWASP, "CSV Injection", gives the characters that begin a formula.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

_FORMULA = re.compile(r"\s*[=+\-@＝＋－＠]|[\t\r\n]")
_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")


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
