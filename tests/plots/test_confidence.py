"""Figures of over- and underconfidence."""

from __future__ import annotations

import numpy as np
import pytest

from calib.diagnostics.over_under import over_under_confidence
from calib.diagnostics.subgroups import by_band
from calib.plots.annotations import figure_data
from calib.plots.over_under import Row, band_chart, before_after
from calib.plots.style import method_style
from tests.diagnostics.conftest import evaluation

STYLE = method_style("isotonic")


def methods_of(*pairs: tuple[np.ndarray, np.ndarray]) -> list[Row]:
    names = ("raw", "<i>", "third")[: len(pairs)]
    known = over_under_confidence([evaluation(*pair) for pair in pairs])
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


def test_the_bars_of_a_method_add_up_to_its_gap_and_empty_bands_are_left_out(rng) -> None:
    confidence = 0.5 + rng.random(500) / 2
    correct = rng.random(500) < confidence**3
    before, after = (by_band(evaluation(c, correct)) for c in (confidence, np.maximum(confidence**2, 0.5)))
    fig = band_chart([("raw", before, method_style("identity")), ("<b>", after, STYLE)])
    table = figure_data(fig)
    adds = table.groupby("trace")["adds"].sum()
    assert adds["raw"] == pytest.approx(confidence.mean() - correct.mean(), rel=1e-4)
    assert adds["<b>"] == pytest.approx(np.maximum(confidence**2, 0.5).mean() - correct.mean(), rel=1e-4)
    assert table["band"].unique().tolist() == ["0.5 to 0.7", "0.7 to 0.9", "0.9 to 0.99", "0.99 to 1"]
    assert [100 * one for one in table["adds"]] == pytest.approx(
        np.concatenate([bar.x for bar in fig.data if bar.type == "bar"]), rel=1e-3
    )
    assert "in points" in fig.layout.xaxis.title.text
