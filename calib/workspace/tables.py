"""A table as a record and arrays, and back: numbers as arrays and text as JSON, in their order, types and gaps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import pandas as pd

NUMBERS = "biuf"
"""Kinds of arrays that are a column; all else must be text."""
MISSING: dict[str, object] = {"str": float("nan"), "object": None}
"""What stands for no text, by the type of the column."""


def taken_apart(table: pd.DataFrame) -> tuple[list[dict[str, Any]], dict[str, np.ndarray]]:
    """The columns as JSON can hold them, without the numbers, and those of numbers by name.

    Raises
    ------
    ValueError
        For a table that could not be put together exactly: with names for its rows, columns of one name, or one that
        is neither numbers nor text.
    """
    import pandas as pd

    names = table.columns
    if not (
        table.index.equals(pd.RangeIndex(len(table))) and names.is_unique and all(isinstance(n, str) for n in names)
    ):
        raise ValueError("A table whose rows have names, or whose columns have none of their own, cannot be stored.")
    columns: list[dict[str, Any]] = []
    arrays: dict[str, np.ndarray] = {}
    for name in names:
        column = table[name]
        if isinstance(column.dtype, np.dtype) and column.dtype.kind in NUMBERS:
            arrays[name] = column.to_numpy()
            columns.append({"name": name})
        else:
            columns.append({"name": name, "type": str(column.dtype), "text": _texts(column)})
    return columns, arrays


def put_together(columns: Sequence[Mapping[str, Any]], arrays: Mapping[str, np.ndarray]) -> pd.DataFrame:
    """Undo :func:`taken_apart`; ValueError, KeyError or TypeError for what it cannot have given."""
    import pandas as pd

    found: dict[str, Any] = {}
    for column in columns:
        if "text" not in column:
            found[column["name"]] = arrays[column["name"]]
            continue
        missing = MISSING[column["type"]]
        if not all(text is None or isinstance(text, str) for text in column["text"]):
            raise TypeError("A column of text holds something else.")
        texts = [missing if text is None else text for text in column["text"]]
        found[column["name"]] = pd.Series(texts, dtype=column["type"])
    return pd.DataFrame(found)


def _texts(column: pd.Series[Any]) -> list[str | None]:
    kind, texts = str(column.dtype), column.tolist()
    if kind == "str":
        texts = [None if gap else text for text, gap in zip(texts, column.isna(), strict=True)]
    if kind not in MISSING or not all(text is None or isinstance(text, str) for text in texts):
        raise ValueError(f"The column {column.name} is neither numbers nor text, and cannot be stored.")
    return texts
