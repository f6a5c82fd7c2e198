"""Draws of Bayes-Iso's prior against its definition, and maps of replicates against the truth they come from."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import logit
from scipy.stats import kstest

import calib
from benchmarks.bayes_iso_table1 import bayes_iso_scores
from calib.data.samples import bayes_iso_map
from calib.diagnostics import map_samples
from calib.diagnostics.calibration_maps import posterior_map
from calib.diagnostics.map_samples import N_DRAWS, prior_draws, replicate_maps


@pytest.fixture(scope="module")
def pairs() -> dict[str, np.ndarray]:
    scores, labels = bayes_iso_scores(250, 4)
    return {"logits": np.stack([np.zeros(500), logit(scores)], axis=1), "labels": labels}


@pytest.fixture(scope="module")
def draws(pairs):
    fitted = calib.calibrator("bayes_iso").fit(pairs["logits"], pairs["labels"])
    posterior = posterior_map(fitted)
    assert posterior is not None
    return prior_draws(1, posterior, data=pairs)


def test_maps_rise_and_keep_the_bounds(draws) -> None:
    for maps in (draws.prior, draws.bounded):
        assert maps.shape == (N_DRAWS, len(draws.ranks))
        assert (np.diff(maps, axis=1) >= 0).all()
        assert (maps >= 0).all() and (maps <= 1).all()
    assert (draws.bounded >= draws.lower).all() and (draws.bounded <= draws.upper).all()
    assert draws.bounded.std(axis=0).mean() < 0.5 * draws.prior.std(axis=0).mean()
    assert (draws.low <= draws.mean + 1e-9).all() and (draws.mean <= draws.high + 1e-9).all()


def test_the_prior_has_no_direction(draws) -> None:
    """A rank and a value are drawn uniformly, so that seen from the other class the maps are as likely."""
    middle = len(draws.ranks) // 2
    mirrored = 1 - draws.prior[:, ::-1]
    assert kstest(draws.prior[:, middle], mirrored[:, middle]).pvalue > 0.01
    assert draws.prior.mean() == pytest.approx(0.5, abs=0.03)


def test_replicates_scatter_about_the_truth(pairs, monkeypatch) -> None:
    monkeypatch.setattr(map_samples, "N_REPLICATES", 4)
    found = {
        method: replicate_maps(method, {}, "simulated-binary", data=pairs)
        for method in ("bayes_iso", "isotonic", "platt")
    }
    for each in found.values():
        assert each.maps.shape == (4, len(each.probs))
        np.testing.assert_allclose(each.truth, bayes_iso_map(each.probs))
    assert found["bayes_iso"].error < found["isotonic"].error
    logistic = found["platt"]
    bias = np.abs(logistic.maps.mean(axis=0) - logistic.truth).mean()
    spread = logistic.maps.std(axis=0).mean()
    assert bias > spread, "a family without the true map (Allikivi and Kull 2019, figure 5)"
