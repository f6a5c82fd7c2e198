"""A corpus of tables with the truth beside each, for the reader of tables.

Names and ways of writing come from published data sets and from the documentation of programs. The sets after
the first have other names than those before and are for measuring only: nobody looks at them while the reader is
written.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from tests.data.corpus.tables import CorpusTable, Recipe, build, read_recipes

Which = Literal["first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth"]

SEEDS = {"first": 1, "second": 2, "third": 3, "fourth": 4, "fifth": 5, "sixth": 6, "seventh": 7, "eighth": 8}


def recipes(which: Which = "first") -> tuple[Recipe, ...]:
    """The recipes of a set, from its file: under a line ``=== readable``, ``=== ask`` or ``=== refuse`` each."""
    text = (Path(__file__).with_name("sets") / f"{which}.txt").read_text(encoding="utf-8")
    found: list[Recipe] = []
    for part in text.split("\n=== ")[1:]:
        verdict, _, own = part.partition("\n")
        found += read_recipes(own, verdict)  # type: ignore[arg-type]
    return tuple(found)


def tables(which: Which = "first", seed: int | None = None) -> Iterator[CorpusTable]:
    """The tables of a set, each from its recipe and the seed; a recipe gives the same bytes in every run."""
    for recipe in recipes(which):
        yield build(recipe, SEEDS[which] if seed is None else seed)
