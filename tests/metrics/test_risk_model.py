"""The panel of a risk model against R's numbers, naive counts and properties."""

from __future__ import annotations

import numpy as np
import pytest

from calib.metrics import nll, risk_model
from calib.metrics.estimate import Rows
from calib.metrics.risk_panel import default_floor
from calib.metrics.scoring_rules import auroc_interval
from calib.numerics import sigmoid
from tests.conftest import minute_of_cpu
from tests.published import risks

pytestmark = pytest.mark.usefixtures("few_simulations")


def test_log_loss_is_the_nll_whatever_the_floor():
    found, other = (
        risk_model(*risks("llm"), floor=floor, n_resamples=0)["log_loss"] for floor in (None, 0.1)
    )
    assert found.value == pytest.approx(nll(*risks("llm"))) and found.low >= 0
    assert other == found


def test_risks_that_are_0_and_1_alone_have_no_recalibration() -> None:
    # Calibration in the large was -0.30 beside an O:E of 1.0: it was that of the floor.
    risk = np.repeat([0.0, 1.0], 100)
    event = np.r_[np.arange(100) < 10, np.arange(100) < 90]
    panel = risk_model(risk, event, n_resamples=0)
    assert panel["oe"].value == pytest.approx(1.0)
    assert np.isnan([*panel["citl"].interval, *panel["slope"].interval]).all()
    assert any("Every risk is 0 or 1" in note for note in panel.notes)
    assert panel["citl"].sentence == "Calibration in the large does not exist for these rows."
    inside = risk_model(np.append(risk, 0.5), np.append(event, True), n_resamples=0)
    assert np.isfinite(inside["slope"].value) and not any(
        "Every risk" in note for note in inside.notes
    )


def test_few_events_are_said_with_their_number():
    rng = np.random.default_rng(1)
    risk = rng.uniform(0.005, 0.02, 1000)
    panel = risk_model(risk, rng.random(1000) < risk, n_resamples=0)
    assert panel.too_few_events
    assert panel.notes[0].startswith("Too few events") and f"{risk.sum():.1f}" in panel.notes[0]


def simulated(n=400, seed=0, slope=0.7):
    """Risks with ties and outcomes of a model that is too extreme."""
    rng = np.random.default_rng(seed)
    log_odds = rng.normal(-1.0, 1.5, n)
    return np.round(sigmoid(log_odds), 3), rng.random(n) < sigmoid(slope * log_odds)


KEYS = (
    "auroc",
    "brier",
    "scaled_brier",
    "log_loss",
    "oe",
    "citl",
    "slope",
    "ici",
    "e50",
    "e90",
    "emax",
)


def values(panel, keys=KEYS):
    return np.array([[panel[key].value, panel[key].low, panel[key].high] for key in keys])


def test_rows_written_out_are_the_same_as_frequencies():
    risk, event = simulated()
    times = np.random.default_rng(1).integers(0, 5, len(risk))
    weighted = risk_model(risk, event, times, "frequency", n_resamples=20)
    written = risk_model(np.repeat(risk, times), np.repeat(event, times), n_resamples=20)
    np.testing.assert_allclose(
        values(weighted), values(written), rtol=1e-9
    )  # cells and seeds are the same too
    assert weighted.n_effective == written.n == times.sum()
    assert weighted.spiegelhalter.z == pytest.approx(written.spiegelhalter.z)
    for name in ("spline", "low", "high", "with_event"):
        np.testing.assert_allclose(
            getattr(weighted.curve, name), getattr(written.curve, name), rtol=1e-7
        )


def test_the_auroc_is_the_share_of_pairs_ranked_right():
    risk, event = simulated(150)
    weights = np.random.default_rng(3).exponential(size=150)
    of_pair = np.outer(weights[event], weights[~event])
    above = np.subtract.outer(risk[event], risk[~event])
    naive = np.sum(of_pair * ((above > 0) + 0.5 * (above == 0))) / of_pair.sum()
    found = auroc_interval(risk, event, Rows.with_outcome(event, weights, "exposure"))
    assert found.value == pytest.approx(naive, abs=1e-12)


def test_few_risks_of_a_binning_have_a_spline_too():
    # Levels as BBQ gives them: between knots that lie as close as these no fit is found.
    levels = np.array([0.03496, 0.035619, 0.0788, 0.147858, 0.149609])
    rng = np.random.default_rng(8)
    risk = rng.choice(levels, 2000, p=[0.2, 0.15, 0.25, 0.2, 0.2])
    curve = risk_model(risk, rng.random(2000) < risk, n_resamples=0).curve
    assert np.isfinite(curve.spline).all()
    assert np.abs(curve.spline - curve.risk).max() < 0.1


@pytest.mark.parametrize(
    ("risk", "floor"),
    [
        ([0, 0.5, 1], 0.05),
        ([0, 0.25, 1], 0.005),
        (np.float32([0.013, 1]), 0.0005),
        ([0.12345, 0], 0.000005),
        ([1 / 3, 1], 1e-6),
        ([0, 1], 1e-6),  # nothing between them shows a step
        ([0.5, 1e-9, 1 - 1e-12], 1e-6),  # not rounded to 0 or 1
    ],
)
def test_the_floor_is_half_the_step_in_which_risks_are_written(risk, floor):
    assert default_floor(np.asarray(risk, dtype=float)) == pytest.approx(floor)


def test_separated_outcomes_have_no_slope_and_one_risk_for_all_no_curve():
    risk = np.linspace(0.01, 0.99, 60)
    assert np.isnan(risk_model(risk, risk > 0.5, n_resamples=0)["slope"].value)
    alike = risk_model(np.full(60, 0.5), risk > 0.3, n_resamples=20)
    assert alike["ici"].value == pytest.approx(abs((risk > 0.3).mean() - 0.5))
    assert np.isnan(alike.spiegelhalter.z) and alike.curve.n_knots == 0


@pytest.mark.parametrize("event", [0, 1])
def test_outcomes_that_are_all_equal_cost_no_step_of_a_fit(event, monkeypatch):
    monkeypatch.setattr("calib.metrics.recalibration._log_likelihood", None)  # a step would call it
    panel = risk_model(np.linspace(0.01, 0.99, 60), np.full(60, event), n_resamples=0)
    assert np.isnan([panel["citl"].value, panel["slope"].value]).all()
    assert panel["emax"].value == pytest.approx(0.99)


def test_without_resamples_nothing_is_simulated():
    risk = np.linspace(0.01, 0.99, 60)
    for n_resamples in (0, 1):
        ici = risk_model(risk, risk > 0.4, n_resamples=n_resamples)["ici"]
        assert (
            (ici.calibrated is not None)
            == ("if calibrated" in ici.meaning)
            == (ici.low == ici.low)
            == (n_resamples > 0)
        )
    assert ici.value > 0 and ici.sentence.startswith("ICI is ")


@pytest.mark.long
def test_a_calibrated_model_is_within_what_chance_gives_it(monkeypatch):
    monkeypatch.setattr("calib.metrics.distances.SIMULATIONS", 100)
    above = []
    for seed in range(150):
        rng = np.random.default_rng(seed)
        risk = rng.beta(1, 3, 500)
        panel = risk_model(risk, rng.random(500) < risk, n_resamples=1)
        above.append(
            [panel[key].value > panel[key].calibrated[1] for key in ("ici", "e50", "e90", "emax")]
        )
    assert (np.abs(np.mean(above, axis=0) - 0.05) < 0.045).all()


@pytest.mark.long
@pytest.mark.parametrize("seed", range(12))
def test_odd_rows_are_judged_or_said_to_have_no_such_measure(seed):
    # Risks of 0, 1 and next to them, weights over many orders of magnitude, few clusters: once this never ended.
    rng = np.random.default_rng(seed)
    n = int(rng.choice([2, 5, 40]))
    risk = [
        rng.beta(0.01, 0.01, n),
        rng.choice([0.0, 1.0], n),
        np.full(n, 0.3),
        rng.random(n) ** 40,
    ][seed % 4]
    weights = [None, rng.exponential(size=n), 10 ** rng.normal(0, 4, n)][seed % 3]
    kind = None if weights is None else "sampling"
    with minute_of_cpu():
        panel = risk_model(
            risk, rng.random(n) < 0.5, weights, kind, rng.integers(0, 4, n), n_resamples=20
        )
    for measure in panel.measures:
        known = np.isfinite(measure.low)
        assert "nan" not in measure.sentence
        assert not known or measure.low <= measure.value + 1e-9 <= measure.high + 2e-9, measure


def test_a_panel_prints_as_a_table_and_is_indexed_by_name():
    risk = np.linspace(0.01, 0.99, 400)
    panel = risk_model(risk, np.random.default_rng(0).random(400) < risk, n_resamples=0)
    assert repr(risk_model([0.3], [1])).startswith("Risk model on 1 row: ")
    lines = repr(panel).splitlines()
    assert "400 rows" in lines[0] and len(lines) == 1 + len(panel.measures) + len(panel.notes)
    np.testing.assert_allclose(
        panel.table.loc["oe"], [panel["oe"].value, panel["oe"].low, panel["oe"].high]
    )
    with pytest.raises(KeyError, match="these are auroc"):
        panel["AUROC"]


def test_risks_that_rank_the_wrong_way_round_are_not_called_too_extreme():
    rng = np.random.default_rng(0)
    risk = rng.beta(1, 3, 600)
    panel = risk_model(1 - risk, rng.random(600) < risk, n_resamples=0)
    assert (
        panel["slope"].high < 0
        and panel["slope"].meaning == "risks fall where the event rate rises"
    )
