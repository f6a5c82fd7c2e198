"""Weighted scores are those of a sample in which rows stand as often as their weights say."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import calib
from calib import metrics
from calib.data import Predictions
from calib.decisions import Costs, change, outcome_of
from calib.diagnostics.gaps import by_band, subgroups
from calib.diagnostics.over_under import over_under_confidence, theorem_one
from calib.diagnostics.reliability import corp_curve, evaluation_diagram, reliability_curve
from calib.errors import CalibrationError
from calib.evaluation import evaluate, score_intervals, scores
from calib.evaluation.comparison_table import describe_weights
from calib.evaluation.describe import FREQUENCIES
from calib.evaluation.view import EVENT, view_of
from calib.numerics import softmax
from calib.registry import describe_exclusions, presets
from tests.conftest import simulate
from tests.evaluation.test_clusters import judged


def weighted(n=300, n_classes=4, kind="frequency", seed=0) -> Predictions:
    logits, labels = simulate(n, n_classes, seed=seed)
    names = tuple("abcdefgh"[:n_classes])
    weights = np.random.default_rng(seed).integers(0, 5, n).astype(float)
    return Predictions(logits, labels, names, sha256="w", weights=weights, weight_kind=kind)


def repeated(data: Predictions) -> Predictions:
    """Each row as often as its weight says."""
    return replace(
        data.take(np.repeat(np.arange(len(data)), data.weights.astype(int))), weights=None
    )


approx = partial(pytest.approx, abs=1e-12, nan_ok=True)


def corp(*pair, **weights):
    parts = metrics.corp(*pair, **weights)
    return [parts.score, parts.miscalibration, parts.discrimination, parts.uncertainty]


def walk(*pair, **weights):
    found = metrics.cumulative_test(*pair, **weights)
    return [found.kolmogorov, found.kuiper]


@given(st.integers(0, 50), st.integers(2, 5))
def test_each_metric_is_that_of_repeated_rows(seed, n_classes):
    data = weighted(40, n_classes, seed=seed)
    again = repeated(data)
    probs, more = (
        calib.calibrator("identity").fit(d.logits, d.labels).predict_proba(d.logits)
        for d in (data, again)
    )
    for metric in (metrics.nll, metrics.brier, metrics.accuracy, metrics.confidence_gap,
                   metrics.overconfidence, metrics.underconfidence, metrics.scoring_rules.sharpness, corp, walk,
                   calib.ece, metrics.smooth_ece,
                   *(partial(metrics.ece, binning=binning) for binning in metrics.binning.BINNINGS)):  # fmt: skip
        expected = metric(more, again.labels)
        assert metric(probs, data.labels, weights=data.weights) == approx(expected), metric
        assert metric(probs, data.labels, weights=np.full(40, 3.0)) == approx(
            metric(probs, data.labels)
        ), metric
        assert metric(probs, data.labels, weights=data.weights / 7) == approx(expected), metric


@pytest.mark.parametrize("n_classes", [2, 4, 7])
def test_all_scores_are_those_of_repeated_rows(n_classes):
    data = weighted(n_classes=n_classes)
    views = ["event", "top-label"] if n_classes == 2 else ["top-label"]
    for view in views:
        found, again = (judged(each).seen(view_of(each, view)) for each in (data, repeated(data)))
        assert scores(found) == pytest.approx(scores(again), rel=1e-9, abs=1e-9)


def test_the_p_values_of_the_cumulative_test_take_a_row_as_drawn_once():
    generator = np.random.default_rng(0)
    found = []
    for _ in range(400):
        risk, weights = generator.beta(1, 4, 500), generator.exponential(size=500)
        came = generator.random(500) < risk
        one = metrics.cumulative_test(risk, came, weights=weights)
        found.append([one.kolmogorov_p, one.kuiper_p])
        assert metrics.cumulative_test(
            risk, came, weights=1000 * weights
        ).kuiper_p == pytest.approx(one.kuiper_p)
    refused = (np.array(found) < 0.05).mean(axis=0)
    assert ((refused > 0.015) & (refused < 0.085)).all()  # 5 % of 400, within three standard errors


def test_the_interval_of_a_weighted_ece_holds_the_error_of_the_population():
    generator, held = np.random.default_rng(0), 0
    for _ in range(100):
        risk, often = generator.uniform(0.6, 0.9, 400), generator.random(400) < 0.5
        came = generator.random(400) < risk - np.where(often, 0.12, 0.02)
        weights = np.where(
            often, 3.0, 1.0
        )  # the population has three rows of the one kind for one of the other
        interval = calib.ece(risk, came, ci=True, weights=weights)
        assert interval.value == pytest.approx(calib.ece(risk, came, weights=weights))
        held += interval.low <= 0.75 * 0.12 + 0.25 * 0.02 <= interval.high
    assert held >= 90
    assert calib.ece(risk, came, ci=True, weights=1000 * weights) == pytest.approx(interval)


def test_weights_nobody_has_explained_are_never_applied():
    unsaid = weighted(kind=None)
    assert scores(judged(unsaid)) == scores(judged(replace(unsaid, weights=None)))
    assert "not applied" in describe_weights(unsaid)
    assert describe_weights(replace(unsaid, weights=None)) == ""


def test_the_number_of_equal_rows_is_kishs():
    assert metrics.confidence.effective_sample_size(np.full(7, 2.5)) == pytest.approx(7)
    assert metrics.confidence.effective_sample_size([1.0, 3.0]) == pytest.approx(16 / 10)
    data = replace(weighted(4, kind="sampling"), weights=np.array([1.0, 3.0, 0.0, 0.0]))
    assert "as 2 equal" in describe_weights(data)


@pytest.mark.parametrize("kind", ["sampling", "frequency"])
def test_a_comparison_fits_and_judges_by_the_same_weights(kind):
    """A map was fitted by weights and judged without, and so the wrong method was recommended."""
    calibration, test = weighted(n=600, kind=kind).split(0.5)
    # The ends of an isotonic map are smoothed by the number of rows, which weights of a sample are no count of.
    names = ("temperature", "platt", *(("isotonic",) if kind == "frequency" else ()))
    found, again = (
        calib.compare({name: calib.calibrator(name) for name in names}, *parts).table
        for parts in ((calibration, test), (repeated(calibration), repeated(test)))
    )
    if kind == "sampling":  # whose class frequencies are smoothed by less than those of more rows
        found, again = (each[each["method"] != FREQUENCIES] for each in (found, again))
    for column in ("value", "difference"):
        assert found[column].to_numpy() == approx(again[column].to_numpy(), abs=1e-8), column


def test_frequency_weights_have_the_intervals_of_repeated_rows():
    data = weighted(n=400, n_classes=2, kind="frequency")
    found, again = (score_intervals(judged(each).seen(EVENT)) for each in (data, repeated(data)))
    for key in ("NLL", "Brier", "accuracy", "event rate", "signed gap"):
        assert found[key] == pytest.approx(again[key], rel=5e-3), key


def test_the_interval_of_a_weighted_score_holds_that_of_the_population():
    generator = np.random.default_rng(0)
    held = 0
    for _ in range(200):
        often = generator.random(300) < 0.5
        risk = generator.uniform(0.2, 0.8, 300)
        came = generator.random(300) < risk - np.where(often, 0.15, 0.0)
        weights = np.where(often, 5.0, 1.0)  # the population has five rows of the one kind for one
        one = replace(
            evaluate(np.column_stack([1 - risk, risk]), came.astype(int)).seen(EVENT),
            weights=weights,
            weight_kind="sampling",
        )
        gap = score_intervals(one)["signed gap"]
        held += gap.low <= 5 / 6 * 0.15 <= gap.high
    assert 181 <= held <= 199  # 95 % of 200, within three standard errors


def test_methods_that_take_no_weights_are_left_out_with_one_line():
    calibration, test = weighted(kind="sampling").split(0.5)
    found = calib.compare({"geometric": calib.calibrator("imax")}, calibration, test)
    assert "takes no weights" in found.notes["geometric"]
    assert "imax" not in presets(calibration)["All"]
    said = describe_exclusions(calibration)
    assert said.startswith("Not here, as they take no weights: ") and "I-Max" in said
    assert describe_exclusions(replace(calibration, weights=None)) == ""


def test_a_reliability_curve_is_weighted_and_its_intervals_know_how_much():
    evaluation, again = judged(weighted()), judged(repeated(weighted()))
    curve = reliability_curve(*evaluation.pair, weights=evaluation.weights)
    expected = reliability_curve(*again.pair)
    np.testing.assert_allclose(curve.accuracy, expected.accuracy)
    np.testing.assert_allclose(curve.confidence, expected.confidence)
    assert curve.ece == pytest.approx(expected.ece)
    assert (curve.high - curve.low > expected.high - expected.low).all(), (
        "repeated rows are no new ones"
    )


@pytest.mark.parametrize("factor", [1e-6, 1e6])
def test_weights_mean_the_same_times_any_factor(factor):
    data = weighted(n_classes=2, kind="sampling")
    risks, clusters = softmax(data.logits)[:, 1], np.arange(len(data)) % 40

    def found(weights):
        curve = reliability_curve(risks, data.labels == 1, weights=weights)
        panel = metrics.risk_model(risks, data.labels, weights, "sampling", n_resamples=0)
        platt = calib.calibrator("platt").fit(data.logits, data.labels, weights=weights)
        outcome = outcome_of(risks > 0.4, data.labels, Costs(1, 5), weights)
        saved = change(risks > 0.4, risks > 0.6, data.labels, Costs(1, 5), weights).saved
        net = [
            metrics.net_benefit(risks, data.labels, [0.3], weights, each).model.at(0)
            for each in (None, clusters)
        ]
        of_panel = panel.table.loc[["oe", "slope", "citl", "auroc"]].to_numpy().ravel()
        scored = scores(judged(replace(data, weights=weights)))
        each = np.ravel([outcome.recall, outcome.cost, saved, *net])
        return [
            *curve.low,
            *curve.high,
            *of_panel,
            *each,
            *scored.values(),
            *platt.predict_proba(data.logits)[:, 1],
        ]

    expected = found(data.weights)
    assert np.isfinite(expected).all() and found(factor * data.weights) == pytest.approx(expected)


@pytest.mark.parametrize(
    "weights", [[1.0, 2.0], [[1.0], [1.0], [1.0]], [1, -1, 1], [0, 0, 0], ["a", "b", "c"]]
)
def test_weights_that_cannot_be_are_refused(weights):
    with pytest.raises(CalibrationError, match=r"[Ww]eights"):
        metrics.accuracy(np.full((3, 2), 0.5), [0, 1, 0], weights=weights)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_figures_and_groups_are_those_of_repeated_rows(n_classes):
    data = weighted(n=400, n_classes=n_classes)
    data = data.take(np.flatnonzero(data.weights))
    again = repeated(data)
    one, more = (judged(each) for each in (data, again))
    group = one.labels % 3
    names = np.array(["a", "b", "c"])

    def numbers(evaluation, names):
        pair, weights = evaluation.pair, evaluation.weights
        gaps = subgroups(evaluation, names, least_rows=1).gaps
        bands = by_band(evaluation)
        over = over_under_confidence([evaluation])[0]
        chain = theorem_one(*pair, weights=weights)
        corp = corp_curve(*pair, weights=weights)
        curve = evaluation_diagram(evaluation).curve
        return [
            *np.ravel([[each.gap, each.confidence, each.accuracy, each.over] for each in (gaps,)]),
            *np.ravel([bands.gap, bands.share, bands.contribution, bands.under]),
            *(each.value for each in (over.over, over.under, over.ratio, over.odds, over.gap)),
            *(over.ratio_over_odds.value, *chain.chain, *evaluation.means),
            *(corp.parts.score, corp.parts.miscalibration, corp.parts.discrimination),
            *(curve.ece, curve.mean_confidence, curve.mean_accuracy),
        ]

    expected = numbers(more, names[np.repeat(group, data.weights.astype(int))])
    assert numbers(one, names[group]) == pytest.approx(expected, abs=1e-9, nan_ok=True)
