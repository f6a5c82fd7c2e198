"""Figures of over- and underconfidence."""

from __future__ import annotations

import numpy as np
import pytest

from calib.diagnostics.over_under import over_under_confidence, theorem_one
from calib.diagnostics.subgroups import GroupGaps, by_band, gaps_by_group
from calib.evaluation import Evaluation
from calib.plots.annotations import figure_data
from calib.plots.over_under import Row, band_chart, before_after, per_class_chart, ratio_to_odds, theorem_chain
from calib.plots.style import alt_text, method_style
from tests.plots.conftest import words

STYLE = method_style("isotonic")


def evaluation_of(confidence: np.ndarray, correct: np.ndarray) -> Evaluation:
    nothing = np.zeros(len(correct), int)
    return Evaluation(confidence, correct, nothing, nothing, 2)


def methods_of(*pairs: tuple[np.ndarray, np.ndarray]) -> list[Row]:
    names = ("raw", "<i>", "third")[: len(pairs)]
    known = over_under_confidence([evaluation_of(*pair) for pair in pairs])
    styles = [method_style(name) for name in ("identity", "isotonic", "gpcalib")]
    return [(name, result, style) for name, result, style in zip(names, known, styles, strict=False)]


@pytest.fixture
def methods(rng) -> list[Row]:
    """An overconfident model and a calibrated one, of the same 2000 predictions."""
    confidence = rng.beta(8, 2, 2000)
    correct = rng.random(2000) < confidence
    return methods_of((confidence**0.25, correct), (confidence, correct))


def dots_of(fig) -> dict[str, object]:
    return {trace.name: trace for trace in fig.data if trace.customdata is not None}


@pytest.mark.parametrize("quantity", ["over", "under"])
def test_over_and_under_are_where_they_were_given_with_intervals_and_changes(methods, quantity) -> None:
    fig = before_after(methods, quantity)
    table = figure_data(fig).set_index("trace")
    for place, (name, result, _) in enumerate(methods):
        value = getattr(result, quantity)
        assert table.loc[name, ["value", "low", "high"]].tolist() == pytest.approx(list(value), rel=1e-5)
        dot = dots_of(fig)[name]
        assert dot.x[0] == value.value
        assert dot.x[0] + dot.error_x.array[0] == pytest.approx(value.high)
        assert place < dot.y[0] < place + 0.5
    change = list(getattr(methods[1][1].change, quantity))
    assert table.loc["<i>", ["change", "change low", "change high"]].tolist() == pytest.approx(change, rel=1e-5)
    texts = words(fig)
    assert "&lt;i&gt;" in texts and "<i>" not in texts


def test_the_ratio_is_drawn_beside_its_odds(methods) -> None:
    fig = ratio_to_odds(methods)
    dots = dots_of(fig)
    for name, result, _ in methods:
        assert dots[name].x[0] == result.ratio.value
        assert dots[f"{name}, odds"].x[0] == result.odds.value
    low, high = 10 ** np.array(fig.layout.xaxis.range)
    assert low < min(trace.x[0] for trace in dots.values()) <= max(trace.x[0] for trace in dots.values()) < high
    assert fig.layout.xaxis.type == "log"


NOTHING_WRONG = (np.full(12, 0.9), np.ones(12, bool))
NOTHING_RIGHT = (np.full(12, 0.9), np.zeros(12, bool))
NO_DOUBT = (np.ones(12), np.arange(12) < 9)


@pytest.mark.parametrize(
    ("pair", "note"),
    [(NOTHING_WRONG, "none wrong"), (NOTHING_RIGHT, "none right"), (NO_DOUBT, "u = 0")],
)
def test_what_does_not_exist_is_said_in_its_row(pair, note) -> None:
    rows = methods_of(pair)
    figures = [before_after(rows, "over"), before_after(rows, "under"), ratio_to_odds(rows)]
    texts = {text for fig in figures for text in words(fig)}
    assert note in texts
    assert not any("nan" in alt_text(fig) for fig in figures)
    for fig in figures:
        assert all(np.isfinite(np.array(trace.x, dtype=float)).all() for trace in fig.data)


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


def test_the_bars_of_a_method_add_up_to_its_gap_and_empty_bands_are_left_out(rng) -> None:
    confidence = 0.5 + rng.random(500) / 2
    correct = rng.random(500) < confidence**3
    before, after = (by_band(evaluation_of(c, correct)) for c in (confidence, np.maximum(confidence**2, 0.5)))
    fig = band_chart([("raw", before, method_style("identity")), ("<b>", after, STYLE)])
    table = figure_data(fig)
    adds = table.groupby("trace")["adds"].sum()
    assert adds["raw"] == pytest.approx(confidence.mean() - correct.mean(), rel=1e-4)
    assert adds["<b>"] == pytest.approx(np.maximum(confidence**2, 0.5).mean() - correct.mean(), rel=1e-4)
    assert table["band"].unique().tolist() == ["0.5 to 0.7", "0.7 to 0.9", "0.9 to 0.99", "0.99 to 1"]
    assert "&lt;b&gt;" in fig.layout.xaxis.title.text


def groups_of(counts: list[tuple[int, int]], confidence: float = 0.8) -> GroupGaps:
    """Classes with (right, wrong) predictions of one confidence."""
    group = np.repeat(np.arange(len(counts)), [sum(count) for count in counts])
    correct = np.concatenate([np.arange(sum(count)) < count[0] for count in counts])
    return gaps_by_group(np.full(len(group), confidence), correct, group, len(counts))


def test_classes_are_drawn_in_the_order_given_with_intervals() -> None:
    gaps = groups_of([(6, 4), (0, 0), (9, 1)])
    fig = per_class_chart(["cat", "never", "<dog>"], gaps.worst_first(), [("raw", gaps, STYLE)])
    table = figure_data(fig)
    assert table["class"].tolist() == ["cat", "<dog>"]
    np.testing.assert_allclose(table["gap"], [0.2, -0.1])
    assert (table["gap low"] < table["gap"]).all() and (table["gap"] < table["gap high"]).all()
    assert {"cat", "&lt;dog&gt;"} <= set(words(fig))
