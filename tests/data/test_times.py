"""When each row was scored: dates and week numbers in every spelling that has one reading, and nothing else."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import calib
from calib.data import inspect
from calib.data.read.numerals import as_numbers, parsed
from calib.data.rows import times_of
from tests.data.conftest import the


def table(**columns: object) -> pd.DataFrame:
    generator = np.random.default_rng(0)
    probs = generator.random(60).round(3)
    return pd.DataFrame(
        {"p_default": probs, "default": (generator.random(60) < probs).astype(int), **columns}
    )


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("2026-03-02", "2026-03-02"),
        ("2026-3-2 14:05", "2026-03-02"),
        ("02.03.2026", "2026-03-02"),
        ("2026-W10", "2026-03-02"),
        (17, "17"),
        (2.5, "2.5"),
        ("02/03/2026", None),
        ("2019_14548", None),
        (float("nan"), None),
        (True, None),
    ],
)
def test_one_spelling_of_numbers_and_dates(value: object, text: str | None) -> None:
    readings = times_of(np.array([value]))
    assert readings == [[text]] if text is not None else len(readings) != 1


def test_a_column_is_found_by_its_name() -> None:
    weeks = np.arange(60) // 10 + 1
    for name in ("week", "Date", "timestamp"):
        data = calib.load(table(**{name: weeks}))
        assert data.times.tolist() == [str(week) for week in weeks]
        assert data.take([59, 0]).times.tolist() == ["6", "1"]


def test_dates_of_tables_in_files(tmp_path: Path) -> None:
    days = pd.date_range("2026-01-30", periods=60)
    frame = table(date=days)
    frame.to_csv(tmp_path / "a.csv", index=False)
    frame.to_parquet(tmp_path / "a.parquet")
    frame.to_excel(tmp_path / "a.xlsx", index=False)
    for path in tmp_path.iterdir():
        assert calib.load(path).times.tolist() == [str(day.date()) for day in days]


def test_dates_that_may_name_the_month_first_are_said_to_have_two_readings() -> None:
    days = [f"{month:02}/{day:02}/2024" for month in range(1, 6) for day in range(1, 13)]
    found = inspect(table(date=days))
    assert found.predictions.times is None
    assert "01/01/2024, may name its day or its month first" in the(found, "times").message
    days[7] = "01/28/2024"
    assert calib.load(table(date=days)).times[12] == "2024-02-01"


@pytest.mark.parametrize("odd", ["", "02/03/2026", "spring"])
def test_what_is_no_time_is_left_out_and_said(odd: str) -> None:
    found = inspect(table(date=["2026-03-02"] * 59 + [odd]))
    assert found.predictions.times is None and the(found, "times").level == "info"


def test_codes_with_underscores_are_neither_times_nor_weights_nor_outputs() -> None:
    codes = [f"2019_{k % 9 + 1}" for k in range(60)]
    found = inspect(table(week=codes, weight=codes))
    assert found.predictions.times is None and found.predictions.weights is None
    assert as_numbers([" 1e3", "-.5"]) == [1000, -0.5]
    assert parsed("[1_0.5 0.5]") == "[1_0.5 0.5]" and parsed("[0.25 0.75]") == [0.25, 0.75]
