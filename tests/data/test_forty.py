"""No table of the forty is read as something that it is not; see :mod:`tests.data.corpus.forty`."""

from __future__ import annotations

import pytest

from tests.data.corpus.forty import Table, judge, tables

TABLES = list(tables())

KNOWN = {"stacked_models": "the rows of several models are pooled"}
"""Tables that are misread today, and how."""


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_no_table_is_misread(table: Table) -> None:
    verdict, said = judge(table)
    assert (verdict == "misread") == (table.name in KNOWN), said
