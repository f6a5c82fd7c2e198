"""The Geometry page's sentences claim no more than the numbers allow."""

from __future__ import annotations

import numpy as np

from calib.diagnostics.planes import PrincipalPlane
from calib.diagnostics.reduction_cost import Tradeoff
from calib.diagnostics.separation import Sides
from calib.diagnostics.timed import Timed
from calib.metrics.bootstrap import Interval
from calib.ui.geometry import text as geometry_words


def sides(separation: list[float], right: list[bool]) -> Sides:
    return Sides.of(np.array(separation), np.array(right))


def timed(n: int, rows: int, infinite: int = 0) -> Timed:
    separation = np.r_[np.linspace(-1, 1, rows - infinite), np.full(infinite, -np.inf)]
    return Timed(np.arange(rows), separation, separation / 2, n, 2.0)


def setting(name: str, factor: int, ece: float, draw: float, per_second: float) -> Tradeoff:
    draws = np.full(100, draw) + np.linspace(-0.001, 0.001, 100)
    return Tradeoff(name, factor, 10, 5, Interval(ece, ece - 0.001, ece + 0.001), draws, per_second)


def test_few_rows_are_not_said_to_tell_right_from_wrong() -> None:
    few = geometry_words.finding(sides([1.0, 0.5, -0.1, -0.2], [True, True, False, False]))
    assert "The intervals overlap" in few
    many = geometry_words.finding(sides([1.0] * 100 + [-1.0] * 100, [True] * 100 + [False] * 100))
    assert "The intervals overlap" not in many
    assert "100 of 200 are **dangerous**" in many
    assert "0.0 % of these are right" in many


def test_one_dangerous_row_and_none() -> None:
    assert "1 of 3 is **dangerous**, nearer to another class, and it is wrong" in geometry_words.finding(
        sides([1.0, 2.0, -1.0], [True, True, False])
    )
    assert "None of them is dangerous" in geometry_words.finding(sides([1.0, 2.0], [True, False]))


def test_what_was_left_out_and_what_is_infinite_is_said() -> None:
    whole = geometry_words.whose(timed(100, 100), timed(50, 50), 1234)
    assert whole.startswith("Judged on 100 test rows against 1,234 training rows")
    assert "random draw" not in whole
    assert "finite" not in whole
    part = geometry_words.whose(timed(5000, 300, infinite=1), timed(50, 50), 10)
    assert "a random draw of 300 of 5,000 test rows." in part
    assert "1 test row has no finite separation" in part


def test_costs_say_the_size_of_fast_beside_exact_and_the_rates() -> None:
    said = geometry_words.costs(timed(100, 100), timed(100, 50, infinite=2))
    assert "a correlation of 1.000 (n = 48)" in said
    assert "measured on 100 and 50 rows" in said
    assert "fast has 50 % of the size of exact" in said
    assert "**50 fast** and **25 exact**" in said
    assert "did not reach all 100 rows" in said
    assert "too few rows" in geometry_words.costs(timed(100, 100), timed(100, 29))
    assert "(n = 30)" in geometry_words.costs(timed(100, 100), timed(100, 30))


def test_the_fastest_reduction_is_named_among_those_that_are_no_worse() -> None:
    none = setting("none", 1, 0.02, 0.02, 1000)
    worse, fine = setting("pca", 4, 0.08, 0.08, 9000), setting("pca", 2, 0.02, 0.02, 3000)
    said = geometry_words.tradeoff_sentence([none, worse, fine])
    assert "In 1 of 2 settings the ECE is higher" in said
    assert "**PCA at t = 2**: 3 times as fast" in said
    assert "In none of 1 settings" in geometry_words.tradeoff_sentence([none, fine])
    assert "faster by a fifth" in geometry_words.tradeoff_sentence([none, setting("pca", 2, 0.02, 0.02, 1100)])
    assert "**" not in geometry_words.tradeoff_sentence([none, worse])
    assert geometry_words.tradeoff_sentence([fine]) == ""


def test_a_projection_is_not_said_to_keep_distances() -> None:
    plane = PrincipalPlane(np.arange(5), np.zeros((5, 2)), np.zeros(3), np.zeros((2, 3)), 0.4)
    said = geometry_words.components_sentence(plane, 5, 0)
    assert "all 5 training inputs keep 40 % of their variance" in said
    assert "shrinks distances" in said
    assert "outside in truth" not in said
    assert "1 training input drawn within it is outside" in geometry_words.components_sentence(plane, 9, 1)
