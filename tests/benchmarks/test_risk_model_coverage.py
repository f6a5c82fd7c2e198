"""The simulation of a risk model's intervals: its populations are what they are said to be."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks import risk_model_coverage
from benchmarks.risk_model_coverage import CLUSTERS, ICC, Population, intervals


@pytest.mark.parametrize("clustered", [False, True])
def test_the_truth_is_what_a_large_sample_shows(clustered, monkeypatch):
    monkeypatch.setattr(risk_model_coverage, "CLUSTERS", 20_000)
    population = Population(0.1, clustered)
    risk, event, cluster = population.draw(200_000, np.random.default_rng(0))
    found = intervals(risk, event, cluster, population.rate)
    for key, truth in population.truth.items():
        value, low, high = found[key]
        assert value == pytest.approx(truth, abs=2 * (high - low)), key
    assert event.mean() == pytest.approx(0.1, abs=0.005)


def test_outcomes_of_a_cluster_are_correlated_as_much_as_is_said():
    population = Population(0.1, True)
    generator = np.random.default_rng(1)
    shares = []
    for _ in range(20):
        _, event, cluster = population.draw(40_000, generator)
        shares += list(np.bincount(cluster, weights=event) / np.bincount(cluster))
    assert len(shares) == 20 * CLUSTERS
    assert np.var(shares) / (0.1 * 0.9) == pytest.approx(ICC, rel=0.25)
