"""Scores of several data sets side by side: epochs of one model, or several models."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = ("method", "title", "score", "value", "low", "high")


@dataclass(frozen=True, eq=False)
class Entry:
    """What is left of a comparison when its data are gone: a name and a small table.

    Attributes
    ----------
    name : how it is called.
    key : names the data and their split.
    n_rows : test rows that the scores are of.
    scores : a row for each method and score, with the columns ``COLUMNS``; method is a registry name.
    """

    name: str
    key: str
    n_rows: int
    scores: pd.DataFrame


def entry_of(name: str, key: str, n_rows: int, table: pd.DataFrame, methods: Mapping[str, str]) -> Entry:
    """Keep of a comparison what several entries are compared by.

    Parameters
    ----------
    table : from :func:`calib.evaluation.compare.compare_evaluations`.
    methods : registry name of each of its methods.
    """
    scores = table.assign(method=table["method"].map(methods))[list(COLUMNS)]
    return Entry(name, key, n_rows, scores.reset_index(drop=True))


def natural_order(names: Iterable[str]) -> list[str]:
    """Names in alphabetical order, with numbers in them by size: epoch 2 before epoch 10."""

    def parts(name: str) -> list[tuple[bool, int, str]]:
        # Each part says first whether it is a number, so that no number meets a word.
        return [
            (not part.isdecimal(), int(part) if part.isdecimal() else 0, part.casefold())
            for part in re.split(r"(\d+)", name)
            if part
        ]

    return sorted(names, key=parts)


def together(entries: Iterable[Entry], order: Iterable[str] | None = None) -> pd.DataFrame:
    """All entries in one table, with their names in the first column; in the order of names given, else their own."""
    import pandas as pd

    by_name = {entry.name: entry for entry in entries}
    names = list(order) if order is not None else list(by_name)
    tables = [by_name[name].scores.assign(entry=name, n_rows=by_name[name].n_rows) for name in names]
    if not tables:
        return pd.DataFrame(columns=["entry", "n_rows", *COLUMNS])
    table = pd.concat(tables, ignore_index=True)
    return table[["entry", "n_rows", *COLUMNS]]
