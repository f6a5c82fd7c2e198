from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calib.formatting import brief, listed, number, percent, plural, signed


@given(st.floats(-9e5, 9e5).filter(lambda value: abs(value) >= 1e-4))
def test_three_digits_are_kept(value):
    assert float(number(value).replace(",", "")) == pytest.approx(value, rel=0.006)


@pytest.mark.parametrize(
    ("value", "written"),
    [(0.05234, "0.0523"), (12.34, "12.3"), (1234.0, "1,234"), (0.0, "0"), (1.2e-7, "1.20e-07"), (3e6, "3.00e+06"),
     (math.nan, "–"), (math.inf, "∞"), (-math.inf, "-∞")],
)  # fmt: skip
def test_numbers_as_people_write_them(value, written):
    assert number(value) == written


@given(st.floats(-100, 100))
def test_a_difference_begins_with_its_sign(value):
    expected = "+" if value > 0 else "-" if value < 0 else "±"
    assert signed(value) == expected + number(abs(value))


def test_words():
    assert (brief(0.00711), percent(0.965), plural(1, "row"), plural(2000, "class", "classes")) == (
        "0.0071", "96.5 %", "1 row", "2,000 classes"
    )  # fmt: skip
    assert (listed([]), listed(["A"]), listed(["A", "B", "C"])) == ("", "A", "A, B and C")
