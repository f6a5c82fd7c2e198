"""The corpus of tables: what becomes of them."""

from __future__ import annotations

from functools import cache

import pytest

from tests.data import corpus
from tests.data.corpus import SEEDS, Which
from tests.data.corpus.judge import judge
from tests.data.corpus.tables import CorpusTable


@cache
def tables(which: Which) -> tuple[CorpusTable, ...]:
    """The tables of a set, made once."""
    return tuple(corpus.tables(which))


@pytest.mark.parametrize(
    "which", [name if name in ("first", "fifth") else pytest.param(name, marks=pytest.mark.long) for name in SEEDS]
)
def test_none_is_misread_and_most_are_right(which):
    """What is not read is asked, with the right reading among those that are offered, or refused: a question costs a
    look, and a rule that saves it must be understood by everybody who changes the reading."""
    found = [judge(table) for table in tables(which)]
    assert not [j.table.name for j in found if j.outcome in ("misread", "crashed")]
    readable = [j for j in found if j.table.verdict == "readable"]
    assert sum(j.outcome == "right" for j in readable) >= 0.75 * len(readable)
    assert sum(j.outcome in ("right", "partly", "asked") for j in readable) >= 0.9 * len(readable)
    refused = [j for j in found if j.table.verdict == "refuse"]
    assert all(j.outcome in ("refused", "asked without") for j in refused)
