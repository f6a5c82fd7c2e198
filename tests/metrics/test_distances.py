"""ICI, E50, E90 and Emax are distances of probabilities; their numbers of R are in ``test_risk_reference``."""

from __future__ import annotations

import numpy as np
import pytest

from calib.metrics import distances as module
from calib.metrics import risk_model
from calib.metrics.distances import distances, distances_of_draws, observed_rates
from calib.metrics.estimate import Rows
from calib.metrics.recalibration import fit_spline
from calib.numerics import log_odds_of, sigmoid

pytestmark = pytest.mark.usefixtures("few_simulations")
FAMILY = ("ici", "e50", "e90", "emax")


def overconfident(rate, n, seed):
    """Risks whose log-odds are twice as far from those of the event rate as they should be, and outcomes."""
    rng = np.random.default_rng(seed)
    centre = np.log(rate / (1 - rate))
    log_odds = centre + 1.2 * rng.normal(size=n)
    return sigmoid(2 * log_odds - centre), rng.random(n) < sigmoid(log_odds)


@pytest.mark.long
@pytest.mark.parametrize("rate", [0.001, 0.005, 0.01, 0.035, 0.1, 0.3, 0.5])
@pytest.mark.parametrize("n", [300, 5000])
def test_no_distance_leaves_0_to_1_at_any_event_rate(rate, n):
    for seed in range(2):
        risk, event = overconfident(rate, n, seed)
        panel = risk_model(risk, event, n_resamples=10)
        found = [panel[key].value for key in FAMILY]
        assert min(found) >= 0 and max(found) <= 1 and found[1] <= found[2] <= found[3], (
            rate,
            seed,
            found,
        )
        # The curve lies within [0, 1], so that no distance is beyond what is left on either side of a risk.
        assert panel["emax"].value <= np.maximum(risk, 1 - risk).max()
        assert max(panel[key].high for key in FAMILY) <= 1


@pytest.mark.parametrize("values", [(0.0, 1.0), (0.2, 0.7), (0.1, 0.2, 0.9)])
def test_few_different_risks_are_compared_with_the_rates_of_their_rows(values):
    rows = np.array([40, 60, 300])[: len(values)]
    right = np.rint(np.array(values) * rows).astype(int)
    risk = np.repeat(values, rows)
    event = np.concatenate([np.arange(n) < k for n, k in zip(rows, right, strict=True)])
    panel = risk_model(risk, event, n_resamples=5)
    assert panel["emax"].value == pytest.approx(0, abs=1e-9)  # each risk is the rate of its rows
    other = risk_model(risk, ~event, n_resamples=0)
    gaps = np.abs(2 * np.array(values) - 1)
    assert other["ici"].value == pytest.approx(rows @ gaps / rows.sum())
    assert other["emax"].value == pytest.approx(gaps.max())


def test_separated_outcomes_are_compared_with_a_step():
    rng = np.random.default_rng(0)
    event = rng.random(300) < 0.4
    risk = sigmoid(np.where(event, 150.0, -150.0) + rng.normal(0, 20, 300))
    panel = risk_model(risk, event, n_resamples=20)
    assert panel["ici"].value == pytest.approx(np.abs(risk - event).mean(), abs=1e-12)
    assert panel["emax"].high <= np.abs(risk - event).max() + 1e-12


def draws(case):
    """Risks, and 12 draws of rows and events at each."""
    rng = np.random.default_rng(7)
    x = np.sort(rng.beta(1, 3, 120))
    n = 30 if case == "knots tie" else 900
    rows = rng.multinomial(n, rng.dirichlet(np.full(120, 0.3)), 12).astype(float)
    rate = {
        "few events": 0.05 * x,
        "saturated": np.where(x < 0.2, 0.0, 0.999),
        "far from near": 1 - x,
    }.get(case, x)
    events = rng.binomial(rows.astype(int), rate).astype(float)
    if case == "separated":
        events[::2] = rows[::2] * (x > 0.3)
    if case == "no event":
        events[::3] = 0.0
    if case == "weights":
        size = rng.random(120) * 1e-3
        rows, events = rows * size, events * size
    return x, rows, events


CASES = (
    "plain",
    "few events",
    "saturated",
    "far from near",
    "knots tie",
    "separated",
    "no event",
    "weights",
)


@pytest.mark.parametrize("case", CASES)
def test_many_curves_at_once_are_those_of_single_fits(case):
    x, rows, events = draws(case)
    found = distances_of_draws(x, rows, events, 1e-6, near=x)
    for draw, weights, happened in zip(found, rows, events, strict=True):
        held = weights > 0
        curve = observed_rates(x[held], weights[held], happened[held] / weights[held], 1e-6)
        np.testing.assert_allclose(draw, distances(x[held], curve, weights[held]), atol=1e-7)


def test_no_draw_of_ordinary_risks_is_fitted_by_itself(monkeypatch):
    fits = []
    monkeypatch.setattr(
        module, "fit_spline", lambda *given: fits.append(given) or fit_spline(*given)
    )
    risk_model(*overconfident(0.3, 2000, 0), n_resamples=50)
    assert len(fits) == 2  # the curve of all rows, and of all rows in cells


@pytest.mark.long
def test_intervals_are_those_of_the_bootstrap_of_single_rows():
    risk, event = overconfident(0.3, 1500, 3)
    panel = risk_model(risk, event, n_resamples=400)
    assert "spline" in panel["ici"].convention
    log_odds, rng, naive = log_odds_of(risk, panel.floor), np.random.default_rng(5), []
    for _ in range(200):
        drawn = np.sort(rng.integers(0, len(risk), len(risk)))
        curve = fit_spline(log_odds[drawn], event[drawn], Rows.with_outcome(event[drawn])).at(
            log_odds[drawn]
        )[0]
        naive.append(distances(risk[drawn], curve, np.ones(len(drawn))))
    low, high = np.quantile(naive, [0.025, 0.975], axis=0)
    for place, key in enumerate(FAMILY):
        spread = np.std(naive, axis=0)[place]
        assert panel[key].low == pytest.approx(low[place], abs=spread / 2)
        assert panel[key].high == pytest.approx(high[place], abs=spread / 2)
