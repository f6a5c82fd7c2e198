"""Decisions as a worker computes them: the same as the library's on arrays, in blocks and from logits."""

from __future__ import annotations

import numpy as np
import pytest

from calib.calibrators.identity import Identity
from calib.calibrators.temperature import TemperatureScaling
from calib.data.predictions import Predictions
from calib.decisions import CostMatrix, decide_classes
from calib.diagnostics import risk_coverage
from calib.diagnostics.histograms import sided_counts, threshold_counts
from calib.diagnostics.judgement import arrays_to_judge
from calib.diagnostics.risk_coverage import costs_against_raw
from tests.conftest import simulate


@pytest.fixture(scope="module")
def rows():
    """Test rows with clusters, the raw model and a temperature."""
    logits, labels = simulate(n=900)
    clusters = np.array([f"c{k % 60}" for k in range(len(labels))])
    names = tuple(map(str, range(logits.shape[1])))
    data = Predictions(logits, labels, names, clusters=clusters, sha256="rows")
    raw, fitted = Identity().fit(logits, labels), TemperatureScaling().fit(logits, labels)
    return data, raw, fitted


@pytest.fixture
def rule(rng):
    costs = rng.uniform(0, 4, (4, 4))
    np.fill_diagonal(costs, 0.0)
    return CostMatrix(costs=costs, abstain=1.1)


def test_costs_in_blocks_are_those_of_all_rows(rows, rule, monkeypatch):
    data, raw, fitted = rows
    monkeypatch.setattr(risk_coverage, "MEMORY_ENTRIES", 4 * 100)  # nine blocks
    found = costs_against_raw(raw, fitted, rule, data=arrays_to_judge(data))
    probs = [each.predict_proba(data.logits) for each in (raw, fitted)]
    for one, p in zip((found.raw, found.method), probs, strict=True):
        whole = decide_classes(p, data.labels, rule, clusters=data.clusters)
        np.testing.assert_array_equal(one.actions, whole.actions)
        for name in ("cost", "plain", "saved", "changed", "handed_over"):
            assert getattr(one, name) == pytest.approx(getattr(whole, name))
    assert found.saved.value == pytest.approx(found.raw.cost.value - found.method.cost.value)


@pytest.mark.parametrize("scale", ["linear", "logit"])
@pytest.mark.parametrize("threshold", [0.0001, 1 / 3, 0.9999])
def test_each_row_is_counted_once_on_its_own_side_of_a_threshold(rng, scale, threshold):
    probs = np.r_[rng.beta(1, 6, 500), 0.0, 1.0, threshold, np.full(20, 1 / 3)]
    event = rng.random(len(probs)) < probs
    found = threshold_counts(probs, event, threshold, scale)
    assert np.all(np.diff(found.edges) > 0)
    assert len(found.edges) <= 47
    for counts, rows in ((found.right, event), (found.wrong, ~event)):
        assert counts.sum() == rows.sum()
        assert counts[found.reached].sum() == (probs[rows] >= threshold).sum()


@pytest.mark.parametrize("value", [0.0, -2.0, 1e-30, 1e18])
def test_values_that_differ_by_rounding_alone_are_counted(value) -> None:
    found = sided_counts(np.array([value, np.nextafter(value, 1e20)]), np.array([True, False]), 0.0)
    assert found.right.sum() == found.wrong.sum() == 1
    assert (found.right + found.wrong)[found.reached].sum() == 2 * (value >= 0)
