"""The reliability of ranks against loops over rows, its figure's numbers, and simulated truth."""

from __future__ import annotations

import numpy as np

from calib.calibrators.identity import Identity
from calib.calibrators.temperature import TemperatureScaling
from calib.diagnostics.ranks import ranks_of_rows
from calib.metrics.bootstrap import wilson_interval
from calib.numerics import softmax
from calib.plots.annotations import figure_data
from calib.plots.ranks import rank_chart
from calib.plots.style import alt_text, method_style
from tests.conftest import simulate


def naive(probs, labels, logits):
    """Sums of the ranks, row by row: by probability, then by logit, then by class."""
    n, k = probs.shape
    predicted, observed = np.zeros(k), np.zeros(k)
    for row in range(n):
        order = sorted(range(k), key=lambda c, row=row: (-probs[row, c], -logits[row, c], c))
        predicted += probs[row, order] / n
        observed[order.index(labels[row])] += 1 / n
    return predicted, observed


class Rounded:
    """Probabilities with many ties."""

    def predict_proba(self, logits):
        return np.round(softmax(logits), 1)


def ranks(logits, labels, method=None):
    return ranks_of_rows(method or Identity().fit(logits, labels), data={"logits": logits, "labels": labels})


def test_each_rank_is_counted(monkeypatch):
    monkeypatch.setattr("calib.diagnostics.ranks.PREDICTED_ENTRIES", 100)  # in blocks
    logits, labels = simulate(200, 4)
    found = ranks(logits, labels, Rounded())
    predicted, observed = naive(Rounded().predict_proba(logits), labels, logits)
    np.testing.assert_allclose(found.predicted, predicted)
    np.testing.assert_allclose(found.observed, observed)
    assert found.names == ["1", "2", "3", "4"]
    low, high = wilson_interval(200 * observed, np.full(4, 200))
    np.testing.assert_allclose([found.low, found.high], [low, high])
    np.testing.assert_array_equal(found.off, (predicted < low) | (predicted > high))


def test_ranks_far_down_are_grouped():
    logits, labels = simulate(50, 23)
    found = ranks(logits, labels)
    assert found.names == ["1", "2", "3", "4", "5", "6–10", "11–20", "21–23"]
    predicted, observed = naive(softmax(logits), labels, logits)
    np.testing.assert_allclose(
        found.predicted[5:], [predicted[5:10].sum(), predicted[10:20].sum(), predicted[20:].sum()]
    )
    np.testing.assert_allclose(found.observed[5:], [observed[5:10].sum(), observed[10:20].sum(), observed[20:].sum()])


def test_overconfidence_shows_at_the_first_rank_and_not_after_temperature_scaling():
    logits, labels = simulate(4000, 5, scale=2.0)
    raw, scaled = ranks(logits, labels), ranks(logits, labels, TemperatureScaling().fit(logits, labels))
    assert raw.predicted[0] > raw.high[0]
    assert raw.off.all()
    assert not scaled.off.any()


def test_the_figure_holds_the_ratios_and_says_them():
    logits, labels = simulate(60, 12)
    found = ranks(logits, labels)
    fig = rank_chart([("Uncalibrated", found, method_style("identity"))])
    table = figure_data(fig)
    assert table["rank"].tolist() == found.names
    np.testing.assert_allclose(table["ratio"], found.observed / found.predicted, rtol=1e-5)
    drawn = np.asarray(fig.data[0].y, dtype=float)
    assert np.isfinite(drawn).all()  # a rank without labels lies at the end of the axis, open
    opened = [symbol.endswith("-open") for symbol in fig.data[0].marker.symbol]
    np.testing.assert_array_equal(opened, np.abs(np.log(np.maximum(table["ratio"], 1e-9))) > np.log(8))
    assert f"observed {found.observed[0]:.3g}" in alt_text(fig)
