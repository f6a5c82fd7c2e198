"""A table comes back exactly as it was taken apart, and what could not is refused before it is written."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calib.workspace.arrays import read_folder, write_folder
from calib.workspace.tables import put_together, taken_apart

N = 4
TEXT = st.text(st.characters(exclude_categories=("Cs",)), max_size=8)
COLUMNS = st.one_of(
    st.lists(st.floats(), min_size=N, max_size=N).map(np.array),
    st.lists(st.floats(width=32), min_size=N, max_size=N).map(lambda values: np.array(values, np.float32)),
    st.lists(st.integers(-(2**63), 2**63 - 1), min_size=N, max_size=N).map(lambda values: np.array(values, np.int64)),
    st.lists(st.booleans(), min_size=N, max_size=N).map(np.array),
    st.lists(TEXT, min_size=N, max_size=N).map(lambda texts: pd.Series(texts, dtype="str")),
    st.lists(TEXT | st.none(), min_size=N, max_size=N).map(lambda texts: pd.Series(texts, dtype="str")),
    st.lists(TEXT | st.none(), min_size=N, max_size=N).map(lambda texts: pd.Series(texts, dtype=object)),
)


def stored(table: pd.DataFrame, folder: Path) -> pd.DataFrame:
    columns, arrays = taken_apart(table)
    write_folder(folder, {"columns": columns}, arrays)
    record, back = read_folder(folder)
    return put_together(record["columns"], back)


@settings(max_examples=60)
@given(columns=st.dictionaries(TEXT, COLUMNS, min_size=1, max_size=5))
def test_any_table_of_numbers_and_text_survives_the_disk(tmp_path_factory: pytest.TempPathFactory, columns) -> None:
    table = pd.DataFrame(columns)
    pd.testing.assert_frame_equal(stored(table, tmp_path_factory.mktemp("table")), table, check_exact=True)


def test_no_rows_keep_their_types(tmp_path: Path) -> None:
    table = pd.DataFrame({"b": [1.5], "a": ["x"], "c": [2]}).iloc[:0]
    pd.testing.assert_frame_equal(stored(table, tmp_path), table)


def test_a_large_column_that_stays_on_disk_is_a_column_like_others(tmp_path: Path) -> None:
    table = pd.DataFrame({"value": np.arange(200_000.0), "note": [""] * 200_000})
    back = stored(table, tmp_path)
    pd.testing.assert_frame_equal(back, table)
    back.loc[0, "value"] = 7.0  # pages may change their copy


@pytest.mark.parametrize(
    "table",
    [
        pd.DataFrame({"a": [1.0]}, index=["row"]),
        pd.DataFrame({"a": [1.0, 2.0]}).iloc[1:],
        pd.DataFrame([[1.0, 2.0]], columns=["a", "a"]),
        pd.DataFrame([[1.0, 2.0]]),
        pd.DataFrame({"a": ["x", 1]}),
        pd.DataFrame({"a": [print]}),
        pd.DataFrame({"a": pd.Series(["x", float("nan")], dtype=object)}),
        pd.DataFrame({"a": pd.Categorical(["x"])}),
        pd.DataFrame({"a": pd.to_datetime(["2020-01-01"])}),
    ],
    ids=["names", "cut", "twice", "unnamed", "mixed", "objects", "nan among objects", "categories", "dates"],
)
def test_what_would_come_back_as_something_else_is_refused(table: pd.DataFrame) -> None:
    with pytest.raises(ValueError, match="cannot be stored"):
        taken_apart(table)


@pytest.mark.parametrize(
    ("columns", "error"),
    [
        ([{"name": "gone"}], KeyError),
        ([{"name": "a", "type": "str", "text": ["x"]}, {"name": "value"}], ValueError),
        ([{"name": "a", "type": "str", "text": [1, 2]}], TypeError),
        ([{"name": "a", "type": "datetime64[ns]", "text": ["x", "y"]}], KeyError),
        ([{"name": "a", "text": ["x", "y"]}], KeyError),
    ],
    ids=["no array", "lengths", "no text", "type", "no type"],
)
def test_a_record_that_says_what_was_never_written_is_refused(columns, error: type[Exception]) -> None:
    with pytest.raises(error):
        put_together(columns, {"value": np.zeros(2)})
