"""A corpus of tables with the truth beside each, for the reader of tables.

Names and ways of writing come from published data sets and from the documentation of programs. The second set has other
names and other layouts than the first and is for measuring only: nobody looks at it while the reader is written.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from typing import Literal

from tests.data.corpus.tables import CorpusTable, Recipe, build

SEEDS = {"first": 1, "second": 2}


def recipes(which: Literal["first", "second"] = "first") -> tuple[Recipe, ...]:
    """The recipes of a set."""
    return importlib.import_module(f"tests.data.corpus.names_{which}").RECIPES


def tables(which: Literal["first", "second"] = "first", seed: int | None = None) -> Iterator[CorpusTable]:
    """The tables of a set, each from its recipe and the seed; a recipe gives the same bytes in every run."""
    for recipe in recipes(which):
        yield build(recipe, SEEDS[which] if seed is None else seed)
