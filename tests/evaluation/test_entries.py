"""Kept results: their order, and one table of all."""

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calib.evaluation.entries import COLUMNS, entry_of, natural_order, together


def table(value: float) -> pd.DataFrame:
    rows = [
        {
            "method": title,
            "title": title,
            "score": score,
            "value": value,
            "low": value - 1,
            "high": value + 1,
            "note": "",
        }
        for title in ("Uncalibrated", "GPcalib (n_inducing=20)")
        for score in ("NLL", "ECE")
    ]
    return pd.DataFrame(rows)


METHODS = {"Uncalibrated": "identity", "GPcalib (n_inducing=20)": "gpcalib"}


def test_numbers_in_names_count_by_size():
    assert natural_order(["epoch 10", "epoch 9", "Epoch 1", "best", "2 layers", "10 layers"]) == [
        "2 layers", "10 layers", "best", "Epoch 1", "epoch 9", "epoch 10",
    ]  # fmt: skip


@given(st.lists(st.text(max_size=8), max_size=8))
def test_any_names_can_be_ordered(names):
    assert sorted(natural_order(names)) == sorted(names)


def test_all_entries_in_one_table_in_the_order_asked_for():
    entries = [entry_of(name, name, 7, table(value), METHODS) for name, value in (("b", 2.0), ("a", 1.0))]
    whole = together(entries)
    assert list(whole.columns) == ["entry", "n_rows", *COLUMNS]
    assert list(whole["entry"].unique()) == ["b", "a"]
    assert set(whole["method"]) == {"identity", "gpcalib"}
    ordered = together(entries, natural_order(["b", "a"]))
    assert list(ordered["entry"].unique()) == ["a", "b"]
    assert ordered.groupby("entry")["value"].first().to_dict() == {"a": 1.0, "b": 2.0}
    assert together([]).empty


def test_an_entry_does_not_change_with_the_table_it_is_of():
    source = table(1.0)
    entry = entry_of("a", "a", 7, source, METHODS)
    source["value"] = 9.0
    assert entry.scores["value"].tolist() == pytest.approx([1.0] * 4)
