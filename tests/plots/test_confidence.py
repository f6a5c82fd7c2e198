from __future__ import annotations

import numpy as np
import pytest

from calib.metrics.intervals import Interval
from calib.over_under import ClassConfidence, theorem_one
from calib.plots.compare import score_dots
from calib.plots.confidence import OverUnder, confidence_densities, over_under_chart
from calib.plots.data import figure_data
from calib.plots.per_class import per_class_chart
from calib.plots.style import Style, alt_text, method_style
from calib.plots.theorem import theorem_chain
from calib.reliability import confidence_histogram
from tests.plots.conftest import table_of

STYLE = method_style("isotonic")
MISSING = Interval(np.nan, np.nan, np.nan)


def classes_of(over: list[float], wrong: list[int], right: list[int]) -> ClassConfidence:
    over_ = np.array(over)
    nothing = np.zeros(len(over))
    return ClassConfidence(
        np.array(wrong), np.array(right), over_, over_, over_, nothing, nothing, nothing
    )  # fmt: skip


def test_over_and_under_are_where_they_were_given_with_intervals() -> None:
    rows = [
        OverUnder("raw", method_style("identity"), Interval(0.8, 0.7, 0.85), Interval(0.02, 0.01, 0.03)),
        OverUnder("<i>", STYLE, Interval(0.6, 0.5, 0.7), MISSING),
    ]
    fig = over_under_chart(rows)
    table = figure_data(fig)
    over = table[table["quantity"] == "overconfidence"]
    assert over["value"].tolist() == [0.8, 0.6]
    assert (over["low"].tolist(), over["high"].tolist()) == ([0.7, 0.5], [0.85, 0.7])
    assert table[table["quantity"] == "underconfidence"]["value"].tolist() == [0.02]
    assert fig.layout.yaxis.ticktext == ("raw", "&lt;i&gt;")


@pytest.mark.parametrize("rows", [[], [OverUnder("all right", STYLE, MISSING, MISSING)]])
def test_nothing_to_show_is_no_error(rows) -> None:
    assert len(figure_data(over_under_chart(rows))) == 0


@pytest.mark.parametrize("scale", ["linear", "logit"])
def test_densities_mirror_right_and_wrong(scale, rng) -> None:
    confidence = rng.random(500)
    correct = rng.random(500) < confidence
    histogram = confidence_histogram(confidence, correct, scale=scale)
    fig = confidence_densities(histogram, STYLE)
    right, wrong = (next(t for t in fig.data if t.name == name) for name in ("right", "wrong"))
    assert (right.y.min(), right.y.max()) == (0, 1)
    assert (wrong.y.max(), wrong.y.min()) == (0, -1)
    table = figure_data(fig)
    assert table.groupby("trace")["count"].sum().to_dict() == {"right": correct.sum(), "wrong": (~correct).sum()}
    assert table["low"].between(0, 1).all()


@pytest.mark.parametrize("correct", [np.ones(5, bool), np.zeros(5, bool)])
def test_densities_of_all_right_or_all_wrong(correct) -> None:
    fig = confidence_densities(confidence_histogram(np.full(5, 0.9), correct), STYLE)
    assert all(np.isfinite(trace.y).all() for trace in fig.data)


def test_the_chain_of_theorem_one_never_steps_left(rng) -> None:
    chains = []
    for name in ("identity", "temperature", "gpcalib"):
        confidence = rng.random(300)
        chains.append((name, theorem_one(confidence, rng.random(300) < confidence**2), method_style(name)))
    fig = theorem_chain(chains)
    for trace, (_, theorem, _) in zip(fig.data, chains, strict=True):
        assert np.all(np.diff(trace.x) >= -1e-12)
        np.testing.assert_allclose(trace.x, [theorem.gap, theorem.ece_1, theorem.ece_2, theorem.ece_inf])
        low, high = 10 ** np.array(fig.layout.xaxis.range)
        assert low < trace.x[0]
        assert trace.x[-1] < high


def test_a_perfect_method_has_a_chain_at_the_left_end() -> None:
    perfect = theorem_one(np.ones(5), np.ones(5, bool))
    fig = theorem_chain([("perfect", perfect, STYLE)])
    assert np.all(fig.data[0].x > 0)
    assert figure_data(fig)["value"].tolist() == [0, 0, 0, 0]


def test_classes_are_sorted_and_those_never_predicted_left_out() -> None:
    classes = classes_of([0.9, np.nan, 0.5], wrong=[4, 0, 1], right=[6, 0, 9])
    fig = per_class_chart(["cat", "never", "<dog>"], classes, STYLE)
    table = figure_data(fig)
    assert table["class"].tolist() == ["cat", "<dog>"]
    np.testing.assert_allclose(table["gap"], [0.36, 0.05])
    assert fig.layout.yaxis.ticktext == ("cat", "&lt;dog&gt;")


def test_of_many_classes_both_ends_are_shown_apart() -> None:
    n = 1000
    over = np.linspace(0.9, 0.1, n)
    classes = classes_of(over.tolist(), wrong=[1] * n, right=[1] * n)
    fig = per_class_chart([f"c{i}" for i in range(n)], classes, STYLE, n=5)
    assert figure_data(fig)["class"].tolist() == [f"c{i}" for i in (*range(5), *range(995, 1000))]
    assert fig.data[0].y.tolist() == [*range(5), *range(6, 11)]
    assert fig.layout.yaxis.ticktext[5] == "… 990 between"
    assert fig.layout.height < 400


def test_no_class_predicted_is_no_error() -> None:
    fig = per_class_chart(["a", "b"], classes_of([np.nan] * 2, [0, 0], [0, 0]), STYLE)
    assert alt_text(fig) == "No class was predicted."


def test_scores_have_one_row_per_method_the_first_as_a_line_and_the_best_marked() -> None:
    fig = score_dots(table_of(), "ECE")
    assert [trace.x[0] for trace in fig.data] == pytest.approx([0.3, 0.25, 0.2])
    assert [trace.marker.color for trace in fig.data] == [
        method_style(name).color for name in ("identity", "temperature", "gpcalib")
    ]
    (line,) = fig.layout.shapes
    assert (line.x0, line.x1) == (0.3, 0.3)
    (best,) = fig.layout.annotations
    assert (best.text, best.y) == ("best", 2)


def test_scores_that_are_not_better_or_worse_have_no_best() -> None:
    fig = score_dots(table_of().assign(better="neither"), "ECE")
    assert not fig.layout.annotations


def test_higher_can_be_better() -> None:
    fig = score_dots(table_of().assign(better="higher"), "ECE")
    assert fig.layout.annotations[0].y == 0


def test_a_method_without_the_score_is_left_out_and_styles_can_be_given() -> None:
    table = table_of()
    table.loc[(table["method"] == "temperature") & (table["score"] == "NLL"), "value"] = np.nan
    given = Style("#123456", "star", "dot")
    fig = score_dots(table, "NLL", {"gpcalib": given})
    assert [trace.name for trace in fig.data] == ["Identity", "Gpcalib"]
    assert fig.data[1].marker.color == "#123456"


def test_an_unknown_score_gives_an_empty_figure() -> None:
    assert len(score_dots(table_of(), "no such score").data) == 0
