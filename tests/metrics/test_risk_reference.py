"""The panel of a risk model against numbers of R's packages, on three tables and every block they were computed for.

The numbers are those of tests/reference/numbers/risk_model.json, which names the versions of the packages.
"""

from __future__ import annotations

import numpy as np
import pytest

from calib.metrics import risk_model
from calib.metrics.distances import distances
from calib.metrics.estimate import Rows
from calib.metrics.recalibration import fit_spline, recalibrate_logistic
from calib.numerics import log_odds_of
from tests.published import known, risks, table

pytestmark = pytest.mark.usefixtures("few_simulations")
BLOCKS = ("breast", "credit", "llm unclipped", "llm clipped_0.005")
Z = 1.959963984540054


@pytest.fixture(scope="module")
def reference():
    return known("risk_model")


@pytest.fixture(scope="module", params=BLOCKS)
def case(request, reference, few_simulations):
    """Risks, outcomes, the panel without resamples, and the block of numbers for them."""
    name, _, block = request.param.partition(" ")
    risk, event = risks(name)
    risk = np.clip(risk, 0.005, 0.995) if block.startswith("clipped") else risk
    return (
        risk,
        event,
        risk_model(risk, event, n_resamples=0),
        reference[name][block] if block else reference[name],
    )


def check(measure, value, low, high, tolerance=1e-9):
    assert (measure.value, measure.low, measure.high) == pytest.approx(
        (value, low, high), abs=tolerance
    )


def test_each_measure_and_its_interval(case, reference):
    _, _, panel, block = case
    numbers = block["overall"]
    check(
        panel["brier"], *(numbers["brier"] + side * Z * numbers["brier_se"] for side in (0, -1, 1))
    )
    assert panel["scaled_brier"].value == pytest.approx(numbers["scaled_brier"], abs=1e-10)
    assert panel.events == pytest.approx(numbers["events"]) and panel.mean_risk == pytest.approx(
        numbers["mean_risk"]
    )
    if "log_loss" in numbers:
        assert panel["log_loss"].value == pytest.approx(numbers["log_loss"], abs=1e-10)

    numbers = block["discrimination"]
    check(panel["auroc"], numbers["auroc"], *numbers["delong_logit_ci"])

    numbers = block["oe"]
    robust = numbers.get("robust", {}).get("oe_ci_log") or (panel["oe"].low, panel["oe"].high)
    check(panel["oe"], numbers["oe"], *robust)

    # Risks of 0 and 1 are moved by half the step in which the others are written, here .005.
    numbers = block.get("logistic", reference["llm"]["clipped_0.005"]["logistic"])
    robust = numbers["robust"]
    citl, slope = numbers["citl"]["estimate"], numbers["slope"]
    check(panel["citl"], citl, citl - Z * robust["citl_se"], citl + Z * robust["citl_se"], 1e-8)
    check(panel["slope"], slope["estimate"], *slope["wald"], 1e-8)
    large, joint = panel.recalibration.in_the_large, panel.recalibration.joint
    assert np.sqrt(large.model_cov[0, 0]) == pytest.approx(numbers["citl"]["se"], abs=1e-8)
    assert joint.coef[0] == pytest.approx(numbers["intercept"]["estimate"], abs=1e-8)
    assert joint.model_cov[0, 1] == pytest.approx(numbers["cov_intercept_slope"], abs=1e-8)
    np.testing.assert_allclose(
        np.sqrt(np.diag(joint.estimate.covariance)), robust["intercept_slope_se"], atol=1e-8
    )

    assert panel.spiegelhalter.z == pytest.approx(block["spiegelhalter"]["z"], abs=1e-10)
    assert panel.spiegelhalter.p == pytest.approx(block["spiegelhalter"]["p"], rel=1e-8)


@pytest.mark.parametrize(
    "case", [each for each in BLOCKS if each != "llm unclipped"], indirect=True
)  # no 0 and 1
@pytest.mark.parametrize("n_knots", [3, 5])
def test_splines(case, n_knots):
    risk, event, panel, block = case
    numbers = block[f"rcs{n_knots}"]
    spline = fit_spline(np.log(risk / (1 - risk)), event, Rows.with_outcome(event), n_knots)
    np.testing.assert_allclose(spline.knots, numbers["knots"], atol=1e-6)
    np.testing.assert_allclose(spline.fit.coef, numbers["coef"], atol=1e-6)
    at = np.array([float(p) for p, value in numbers["curve"].items() if value is not None])
    for found, name in zip(
        spline.at(np.log(at / (1 - at))), ("curve", "curve_lower", "curve_upper"), strict=True
    ):
        np.testing.assert_allclose(
            found, [value for value in numbers[name].values() if value is not None], atol=1e-6
        )
    x, rows = np.unique(risk, return_counts=True)
    found = distances(x, spline.at(np.log(x / (1 - x)))[0], rows)
    np.testing.assert_allclose(
        found, [numbers["metrics"][name] for name in ("ICI", "E50", "E90", "Emax")], atol=1e-6
    )
    if n_knots == panel.curve.n_knots:
        np.testing.assert_allclose(
            [panel[key].value for key in ("ici", "e50", "e90", "emax")], found, atol=1e-9
        )


def test_clusters(reference):
    panel = risk_model(*risks("credit"), clusters=table("credit")["branch"], n_resamples=0)
    numbers = reference["credit"]["cluster"]
    check(panel["oe"], numbers["survey"]["oe"], *numbers["survey"]["oe_ci_log"])
    for key, error in (
        ("citl", numbers["survey"]["citl_se"]),
        ("slope", numbers["hc0_g_over_g_minus_1"]["intercept_slope_se"][1]),
    ):
        check(
            panel[key],
            panel[key].value,
            panel[key].value - Z * error,
            panel[key].value + Z * error,
            1e-8,
        )
    for key, allowed in (
        ("auroc", 0.08),
        ("scaled_brier", 0.08),
        ("log_loss", 0.08),
    ):  # Monte Carlo error as stated
        error = (panel[key].high - panel[key].low) / (2 * Z)
        assert error == pytest.approx(
            reference["credit"]["bootstrap"]["cluster"][key]["se"], rel=allowed
        )


@pytest.mark.parametrize("by_branch", [False, True])
def test_exposure_weights(reference, by_branch):
    exposure, branch = (
        table("credit")["exposure"].astype(float),
        table("credit")["branch"] if by_branch else None,
    )
    panel = risk_model(*risks("credit"), exposure, "exposure", branch, n_resamples=0)
    numbers = reference["credit"]["exposure_weighted"]
    robust = numbers["robust_branches" if by_branch else "robust_rows"]
    for key in ("brier", "log_loss"):
        assert panel[key].value == pytest.approx(numbers[key], abs=1e-8)
    assert panel.event_rate == pytest.approx(numbers["event_rate"], abs=1e-8)
    check(panel["oe"], robust["oe"], *robust["oe_ci_log"], 1e-8)
    citl, error = robust["citl"], robust["citl_se"]
    check(panel["citl"], citl, citl - Z * error, citl + Z * error, 1e-8)
    slope, error = robust["intercept_slope"][1], robust["intercept_slope_se"][1]
    check(panel["slope"], slope, slope - Z * error, slope + Z * error, 1e-8)
    if not by_branch:
        assert panel.n_effective == pytest.approx(numbers["effective_n_kish"], abs=1e-6)


@pytest.mark.parametrize("floor", ["1e-12", "1e-08", "1e-07", "1e-06", "0.001", "0.005", "0.01"])
@pytest.mark.parametrize("name", ["breast_extreme", "llm"])
def test_other_floors(reference, name, floor):
    block = (
        reference[name]["by_clip"]
        if name == "breast_extreme"
        else reference[name]["clip"]["by_clip"]
    )
    if floor not in block:
        pytest.skip("this floor was not computed")
    risk, event = risks(name)
    numbers = block[floor]
    again = recalibrate_logistic(log_odds_of(risk, float(floor)), event, Rows.with_outcome(event))
    # The numbers are those of risks just below 1 in another arithmetic: 1 - 1e-12 has four digits fewer.
    tolerance = 1e-4 if floor == "1e-12" else 1e-7
    assert again.joint.coef[1] == pytest.approx(
        numbers["logistic"]["slope"]["estimate"], abs=tolerance
    )
    assert again.in_the_large.coef[0] == pytest.approx(
        numbers["logistic"]["citl"]["estimate"], abs=tolerance
    )


def test_risks_of_exactly_one(reference):
    panel = risk_model(*risks("breast_extreme"), n_resamples=0)
    numbers = reference["breast_extreme"]
    check(
        panel["auroc"],
        numbers["discrimination"]["auroc"],
        *numbers["discrimination"]["delong_logit_ci"],
    )
    assert panel["oe"].value == pytest.approx(numbers["oe"]["oe"], abs=1e-9)
    assert panel["brier"].value == pytest.approx(numbers["brier"], abs=1e-10)
    assert f"{numbers['n_at_1']} are exactly 1" in panel.clipping and numbers["n_at_0"] == 0
