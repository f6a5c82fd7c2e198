"""A corpus of tables with the truth beside each, for the reader of tables.

Names and ways of writing come from published data sets and from the documentation of programs. The sets after
the first have other names than those before and are for measuring only, and so are the forty: nobody looks at them
while the reader is written. ``python -m tests.data.corpus`` counts what becomes of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tests.data.corpus import forty
from tests.data.corpus.tables import CorpusTable, Recipe, build, read_recipes

SETS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "forty")


def recipes(which: str) -> tuple[Recipe, ...]:
    """The recipes of a set, from its file: under a line ``=== readable``, ``=== ask`` or ``=== refuse`` each."""
    text = (Path(__file__).with_name("sets") / f"{which}.txt").read_text(encoding="utf-8")
    found: list[Recipe] = []
    for part in text.split("\n=== ")[1:]:
        verdict, _, own = part.partition("\n")
        found += read_recipes(own, verdict)  # type: ignore[arg-type]
    return tuple(found)


def tables(which: str) -> Iterator[CorpusTable]:
    """The tables of a set, each from its recipe and its number; a recipe gives the same bytes in every run."""
    seed = SETS.index(which) + 1
    for recipe in recipes(which):
        yield build(recipe, seed)
    if which == "forty":
        yield from forty.tables(seed)
