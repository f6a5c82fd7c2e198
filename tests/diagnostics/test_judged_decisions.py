"""Decisions as a worker computes them: the same as the library's on arrays, in blocks and from logits."""

from __future__ import annotations

import numpy as np
import pytest

from calib.calibrators.identity import Identity
from calib.calibrators.temperature import TemperatureScaling
from calib.data.predictions import Predictions
from calib.decisions import CostMatrix, classes_at_rates, decide_classes, estimate_rate
from calib.diagnostics import judged_decisions
from calib.diagnostics.judged_decisions import classes_shifted, costs_beside_raw, rates_of_rows
from calib.diagnostics.judgement import arrays_to_judge
from calib.numerics import softmax
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
    return CostMatrix(costs=costs, hand_over=1.1)


def test_costs_in_blocks_are_those_of_all_rows(rows, rule, monkeypatch):
    data, raw, fitted = rows
    monkeypatch.setattr(judged_decisions, "MEMORY_ENTRIES", 4 * 100)  # nine blocks
    found = costs_beside_raw(raw, fitted, rule, data=arrays_to_judge(data))
    probs = [each.predict_proba(data.logits) for each in (raw, fitted)]
    for one, p in zip((found.raw, found.method), probs, strict=True):
        whole = decide_classes(p, data.labels, rule, clusters=data.clusters)
        np.testing.assert_array_equal(one.actions, whole.actions)
        for name in ("cost", "plain", "saved", "changed", "handed_over"):
            assert getattr(one, name) == pytest.approx(getattr(whole, name))
    assert found.saved.value == pytest.approx(found.raw.cost.value - found.method.cost.value)
    moved = found.method.actions != probs[1].argmax(axis=1)
    assert found.moved[:, 2].sum() == moved.sum() and np.all(np.diff(found.moved[:, 2]) <= 0)
    first, action, count = found.moved[0]
    assert count == (moved & (probs[1].argmax(axis=1) == first) & (found.method.actions == action)).sum()


def test_shifted_decisions_in_blocks_are_those_of_all_rows(rows, rule, monkeypatch):
    data, _, fitted = rows
    monkeypatch.setattr(judged_decisions, "MEMORY_ENTRIES", 4 * 250)
    old, new = np.full(4, 0.25), np.array([0.7, 0.1, 0.15, 0.05])
    found = classes_shifted(fitted, rule, old, new, data=arrays_to_judge(data))
    whole = classes_at_rates(fitted.predict_proba(data.logits), data.labels, rule, old, new, clusters=data.clusters)
    np.testing.assert_array_equal(found.moved.actions, whole.moved.actions)
    assert found.saved == pytest.approx(whole.saved) and found.kept.cost == pytest.approx(whole.kept.cost)


@pytest.mark.parametrize("column", [None, 2])
def test_rates_are_estimated_from_logits(rows, column):
    data, *_ = rows
    chosen = np.r_[np.flatnonzero(data.labels == 2), np.flatnonzero(data.labels != 2)[:250]]
    arrays = {"logits": data.logits, "labels": data.labels, "clusters": data.clusters}
    found = rates_of_rows(data.logits[chosen], column, 20, data=arrays)
    probs, fresh = softmax(data.logits), softmax(data.logits[chosen])
    if column is not None:
        known = estimate_rate(probs[:, 2], data.labels == 2, fresh[:, 2], clusters=data.clusters, n_resamples=20)
        assert len(found.rates) == 1
    else:
        known = estimate_rate(probs, data.labels, fresh, clusters=data.clusters, n_resamples=20)
        assert sum(rate.value for rate in found.rates) == pytest.approx(1.0)
    assert [*found.rates] == [*known.rates]
    rate = found.rates[0 if column is not None else 2]
    assert abs(rate.value - (data.labels[chosen] == 2).mean()) < 0.08
