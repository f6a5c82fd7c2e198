"""The arena: excess NLL by quadrature, failures, parts that resume, ties and ranks."""

from __future__ import annotations

import json
from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy.integrate import quad
from scipy.special import expit, xlog1py, xlogy
from scipy.stats import norm

from benchmarks import arena, arena_tables
from benchmarks.truths import BINARY, CENTRE, SPREAD, binary


def test_the_excess_of_two_classes_is_the_integral_over_the_density():
    def loss(
        log_odds: float,
    ) -> float:  # of the uncalibrated model, whose log-odds are twice the truth's
        p, q = expit(log_odds / 2), expit(log_odds)
        divergence = xlogy(p, p) + xlog1py(1 - p, -p) - p * np.log(q) - (1 - p) * np.log1p(-q)
        return norm.pdf(log_odds, CENTRE, SPREAD) * divergence

    inputs, truth = arena.judged_points("overconfident", 2, 5_000)
    found, _ = arena.excess(expit(np.stack([-inputs[:, 1], inputs[:, 1]], axis=1)), truth)
    assert found == pytest.approx(quad(loss, -30, 30)[0], rel=1e-3)
    assert arena.excess(truth, truth)[0] == 0.0


def test_calibration_rows_are_drawn_where_methods_are_judged():
    logits, labels = binary("parabola", 20_000, 3)[:2]
    log_odds = logits[:, 1] - logits[:, 0]
    inputs, truth = arena.judged_points("parabola", 2, 1_000)
    np.testing.assert_allclose(
        log_odds.mean(), inputs[:, 1].mean(), atol=4 * SPREAD / np.sqrt(20_000)
    )
    np.testing.assert_allclose(log_odds.std(), inputs[:, 1].std(), rtol=0.02)
    np.testing.assert_allclose(labels.mean(), truth[:, 1].mean(), atol=4 * 0.5 / np.sqrt(20_000))


def test_what_fails_is_a_record_and_a_finished_part_is_read(tmp_path, monkeypatch):
    cells = list(arena.known((arena.Size(2, 50, 2, 10),)))[:1]
    monkeypatch.setattr(arena, "methods", lambda n_classes: ["identity", "temperature", "beta"])

    def own(trial, name):
        if name == "beta":
            raise ValueError("no curve")
        return np.full(trial.inputs.shape, np.nan if name == "temperature" else 1.0), 0.5

    monkeypatch.setattr(arena, "own", own)
    found = arena.run(iter(cells), None, tmp_path)
    assert [(one["method"], one["replicate"], bool(one["failure"])) for one in found] == [
        (method, replicate, method != "Uncalibrated")
        for replicate, method in product((0, 1), ("Uncalibrated", "Temperature", "Beta"))
    ]
    # Rows are divided by their sum.
    truth = arena.judged_points(next(iter(BINARY)), 2, 10)[1]
    assert found[0]["score"] == pytest.approx(arena.excess(np.full((10, 2), 0.5), truth)[0])
    (part,) = tmp_path.iterdir()
    assert json.loads(part.read_text()) == found
    monkeypatch.setattr(arena, "own", None)
    assert arena.run(iter(cells), None, tmp_path) == found


def records(scores: dict[str, np.ndarray]) -> pd.DataFrame:
    """Records of scores (cells, replicates) by method."""
    return pd.DataFrame(
        {"shape": f"s{cell}", "classes": 2, "rows": 100, "replicate": replicate, "method": method,
         "score": value, "failure": "" if np.isfinite(value) else "broken"}
        for method, values in scores.items()
        for (cell, replicate), value in np.ndenumerate(values)
    )  # fmt: skip


def test_ties_are_judged_by_paired_differences():
    generator = np.random.default_rng(0)
    common = generator.normal(size=(6, 20))
    noise = 0.01 * generator.normal(size=(3, 6, 20))
    failing = common - 5
    failing[0, 0] = np.nan
    found = records(
        {
            "a": common,
            "b": common + noise[0] - noise[0].mean(),
            "c": common + 0.02 + noise[1],
            "d": failing,
        }
    )
    table = arena_tables.behind(found)
    # The common part of the error is a hundred times the difference.
    assert table["tied"].to_dict() | {"d": False} == {"a": True, "b": True, "c": False, "d": False}
    assert np.isnan(table.loc["d", "mean"])
    errors = common.var(axis=1, ddof=1).sum() / 20 / 36
    assert table.loc["a", "error"] == pytest.approx(np.sqrt(errors))
    ranks = arena_tables.mean_ranks(arena_tables.by_cell(found))
    assert ranks["d"] == pytest.approx(
        (4 + 5 * 1) / 6
    )  # last where a fit failed, and first elsewhere


def test_the_critical_difference_is_that_of_the_published_quantiles():
    for n_methods, quantile in {
        2: 1.960,
        3: 2.343,
        5: 2.728,
        10: 3.164,
    }.items():  # Demsar (2006), table 5 (a)
        expected = quantile * np.sqrt(n_methods * (n_methods + 1) / (6 * 14))
        assert arena_tables.critical_difference(n_methods, 14) == pytest.approx(expected, abs=2e-3)
