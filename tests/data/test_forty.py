"""No table of the forty is read as something that it is not; see :mod:`tests.data.corpus.forty`."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from calib.data import inspect
from tests.data.corpus.forty import Table, differs, judge, tables

TABLES = list(tables())

KNOWN = {"stacked_models": "the rows of several models are pooled"}
"""Tables that are misread today, and how."""


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_no_table_is_misread(table: Table) -> None:
    verdict, said = judge(table)
    assert (verdict == "misread") == (table.name in KNOWN), said


def test_the_tables_are_forty_and_the_same_in_every_run() -> None:
    again = {table.name: table for table in tables()}
    assert len(again) == len(TABLES) == 40
    for table in TABLES:
        # A workbook holds the time at which it was written.
        assert table.filename.endswith(".xlsx") or table.content == again[table.name].content, table.name


def test_each_table_that_can_be_opened_says_what_it_holds() -> None:
    for table in TABLES:
        assert set(table.expected.split("/")) <= {"open", "ask", "refuse"}
        assert table.truths or "refuse" in table.expected, table.name
        assert not table.roles or table.truths, table.name


def test_another_content_is_called_a_misreading() -> None:
    table = next(table for table in TABLES if table.name == "sklearn_breast_cancer")
    data = inspect((table.filename, table.content)).predictions
    (truth,) = table.truths
    inverted = replace(truth, probs=np.flip(truth.probs, axis=1))
    assert not differs(data, table)
    assert differs(data, replace(table, truths=(inverted,)))
    assert judge(replace(table, truths=(inverted,)))[0] == "misread"
    assert judge(replace(table, expected="ask"))[0] == "misread"
    assert judge(replace(table, roles={"age": "cluster"}))[0] == "right but for a side role"
