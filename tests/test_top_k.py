"""The top k of very many classes: what methods and scores make of it, against the matrix of all classes."""

from __future__ import annotations

import math
import subprocess
import sys
from dataclasses import replace
from itertools import product
from zipfile import ZipFile

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

import calib
from calib.base import CalibrationError
from calib.calibrators.gpcalib.interpolation import Grid
from calib.calibrators.gpcalib.statistics import grid_statistics
from calib.calibrators.top_k_outputs import log_partition_bounds
from calib.cli import main
from calib.data import Predictions
from calib.data.predictions import as_outputs
from calib.evaluation import Evaluation
from calib.evaluation.evaluation import said_of_bounds
from calib.numerics import logsumexp, one_vs_rest_log_odds
from calib.registry import METHODS, presets, said_of_kind
from calib.top_k import TopK, equal_others

N, K = 300, 12
TAKES = ("identity", "temperature", "ensemble_temperature", "imax")


def simulated(seed: int = 0, temperature: float = 1.6) -> tuple[np.ndarray, np.ndarray]:
    """Logits (n, K) and labels drawn at another temperature."""
    generator = np.random.default_rng(seed)
    logits = generator.normal(scale=2.5, size=(N, K))
    gumbel = generator.gumbel(size=logits.shape)
    return logits, np.argmax(logits / temperature + gumbel, axis=1)


def with_equal_rest(logits: np.ndarray, k: int) -> np.ndarray:
    """Logits whose values outside the top k are all equal in each row."""
    if k == logits.shape[1]:
        return logits
    changed = logits.copy()
    order = np.argsort(-logits, axis=1)
    rows = np.arange(len(logits))[:, None]
    changed[rows, order[:, k:]] = np.take_along_axis(logits, order[:, k:], axis=1).mean(axis=1, keepdims=True)
    return changed


def of_matrix(probs: np.ndarray, outputs: TopK) -> np.ndarray:
    return np.take_along_axis(probs, outputs.indices.astype(np.int64), axis=1)


@pytest.mark.parametrize("k", [1, 3, 11, 12])
@pytest.mark.parametrize("name", TAKES)
def test_equal_logits_outside_the_top_k_give_the_numbers_of_the_full_matrix(name, k):
    logits, labels = simulated()
    logits = with_equal_rest(logits, k)
    outputs = TopK.from_matrix(logits, k, labels)
    whole = calib.calibrator(name).fit(logits, labels)
    probs = whole.predict_proba(logits)
    if k in (1, K) or name in ("identity", "imax"):
        # The fits end at the same numbers to their tolerance. In between, temperatures come from the labels inside.
        said = calib.calibrator(name).fit(outputs, labels).predict_top_k(outputs)
        assert np.allclose(said.values, of_matrix(probs, outputs), rtol=0, atol=1e-8)
    # The same fit predicts the same to rounding.
    said = whole.predict_top_k(outputs)
    assert np.allclose(said.values, of_matrix(probs, outputs), rtol=0, atol=1e-12)
    assert np.allclose(said.rest, probs.sum(axis=1) - said.values.sum(axis=1), rtol=0, atol=1e-12)
    assert np.array_equal(whole.predict(outputs), whole.predict(logits))
    assert np.allclose(whole.predict_confidence(outputs), whole.predict_confidence(logits), rtol=0, atol=1e-12)


def zipf(seed: int, temperature: float, n: int = 500, n_classes: int = 300) -> tuple[np.ndarray, np.ndarray]:
    """Logits that fall with the logarithm of a class's rank, by row more or less steeply, and labels drawn from all."""
    generator = np.random.default_rng(seed)
    ranks = generator.permuted(np.tile(np.arange(1.0, n_classes + 1), (n, 1)), axis=1)
    logits = 0.7 * generator.normal(size=ranks.shape) - generator.uniform(1.2, 3, size=(n, 1)) * np.log(ranks)
    return logits, np.argmax(logits / temperature + generator.gumbel(size=logits.shape), axis=1)


def by_all_rows(outputs: TopK, labels: np.ndarray) -> float:
    """The temperature of the greatest likelihood of all labels where the others are taken as equal."""
    groups, columns = outputs.to_fit(labels)

    def nll(log_temperature: float) -> float:
        scores = groups.logits * math.exp(-log_temperature) + groups.log_counts
        own = np.take_along_axis(scores, columns[:, None], axis=1)
        return float((logsumexp(scores, axis=1) - own[:, 0]).sum())

    return math.exp(minimize_scalar(nll, bounds=(-2, 2), method="bounded", options={"xatol": 1e-8}).x)


def test_temperature_is_that_of_the_likelihood_given_a_label_in_the_top_k():
    logits, labels = zipf(0, 1.3)
    outputs = TopK.from_matrix(logits, 10, labels)
    columns = outputs.rank_of(labels)
    values, columns = outputs.values[columns < 10], columns[columns < 10]

    def nll(log_temperature: float) -> float:
        scores = values * math.exp(-log_temperature)
        return float((logsumexp(scores, axis=1) - scores[np.arange(len(scores)), columns]).sum())

    best = minimize_scalar(nll, bounds=(-2, 2), method="bounded", options={"xatol": 1e-9}).x
    fitted = calib.calibrator("temperature").fit(outputs, labels)
    assert fitted.temperature_ == pytest.approx(math.exp(best), abs=1e-6)
    # Nothing that is outside changes it: neither the labels there nor the sum.
    other = TopK(outputs.values, outputs.indices, outputs.rest - 3, outputs.n_classes)
    moved = np.where(outputs.rank_of(labels) == 10, np.argmin(logits, axis=1), labels)
    assert calib.calibrator("temperature").fit(other, moved).temperature_ == pytest.approx(fitted.temperature_)


@pytest.mark.long
@pytest.mark.parametrize(("k", "temperature"), [(10, 1.3), (30, 1.8), (10, 0.8)])
def test_temperatures_of_the_top_k_are_unbiased_where_the_others_are_not_equal(k, temperature):
    found, likelihood, outside = {"temperature": [], "ensemble_temperature": []}, [], []
    for seed in range(30):
        logits, labels = zipf(seed, temperature)
        outputs = TopK.from_matrix(logits, k, labels)
        likelihood.append(by_all_rows(outputs, labels))
        for name, those in found.items():
            fitted = calib.calibrator(name).fit(outputs, labels)
            said = fitted.predict_top_k(outputs)
            assert np.allclose(said.values.sum(axis=1) + said.rest, 1.0)
            those.append(fitted.temperature_)
            outside.append(said.rest.mean() - (outputs.rank_of(labels) == k).mean())

    def errors(values: list[float], truth: float) -> float:
        return abs(float(np.mean(values)) - truth) / (np.std(values, ddof=1) / math.sqrt(len(values)))

    assert errors(found["temperature"], temperature) < 2.5
    assert errors(found["ensemble_temperature"], temperature) < 3  # a weight of at most one pulls a little
    assert errors(likelihood, temperature) > 4  # what is asked of the others where they are taken as equal
    assert abs(float(np.mean(outside))) < 0.01


def test_the_others_are_as_many_equal_classes_as_have_their_sum():
    """Where 40 of 300 classes have all the rest, in equal parts, that number is found, and predictions are exact."""
    generator = np.random.default_rng(0)
    n, k, others, temperature = 4000, 10, 40, 1.5
    values = -np.sort(-generator.normal(2, 1, size=(n, k)), axis=1)
    each = values[:, -1:] - generator.uniform(0.1, 1.5, size=(n, 1))
    logits = np.concatenate([values, np.broadcast_to(each, (n, others)), np.full((n, 260), -60.0)], axis=1)
    labels = np.argmax(logits / temperature + generator.gumbel(size=logits.shape), axis=1)
    outputs = TopK.from_matrix(logits, k, labels)
    fitted = calib.calibrator("temperature").fit(outputs, labels)
    assert fitted.equal_others == pytest.approx(others, rel=0.35)
    exact = fitted.predict_proba(logits)[:, :k]
    assert np.allclose(fitted.predict_top_k(outputs).values, exact, atol=0.02)
    best = Evaluation.from_calibrator(fitted, logits, labels).row_nll.mean()
    share = (outputs.rank_of(labels) == k).mean()  # its standard error, times what a log-odds there matters to the NLL
    error = share / math.sqrt(n * share * (1 - share))
    assert Evaluation.from_calibrator(fitted, outputs, labels).row_nll.mean() == pytest.approx(best, abs=3 * error)
    # Its share of all K - k equal classes would be far off.
    fitted.others_ = 0.0
    assert Evaluation.from_calibrator(fitted, outputs, labels).row_nll.mean() > best + 6 * error


def test_equal_classes_have_the_sum_and_no_larger_logit_than_allowed():
    rest, cap = np.array([1.0, 3.0, -50.0, 1.0 + math.log(99)]), np.array([1.0, 1.0, 0.0, 1.0])
    for others in (None, 1.0, 7.5, 1e9):
        logits, counts = equal_others(rest, cap, 99, others)
        assert np.allclose(logits + np.log(counts), rest)
        assert (logits <= cap).all()
        assert ((counts >= 1) & (counts <= 99)).all()
    assert equal_others(rest, cap, 99, 1.0)[1].tolist() == [1, 8, 1, 99]


def test_scores_are_those_of_the_full_matrix_where_k_is_all_classes():
    logits, labels = simulated()
    fitted = calib.calibrator("temperature").fit(logits, labels)
    for k in (6, K):
        equal = with_equal_rest(logits, k)
        whole = Evaluation.from_calibrator(fitted, equal, labels)
        found = Evaluation.from_calibrator(fitted, TopK.from_matrix(equal, k, labels), labels)
        for key in ("row_nll", "row_brier", "confidence", "predicted", "correct", "top5"):
            assert np.allclose(getattr(found, key), getattr(whole, key), rtol=0, atol=1e-12), key
        assert found.n_classes == K
        error = calib.metrics.ece(whole.confidence, whole.correct)
        assert calib.metrics.ece(found.confidence, found.correct) == pytest.approx(error, abs=1e-12)


def test_the_nll_of_the_raw_model_is_exact_whatever_the_rest_looks_like():
    logits, labels = simulated()
    raw = calib.calibrator("identity").fit(logits, labels)
    exact = Evaluation.from_calibrator(raw, logits, labels).row_nll
    for k in (1, 4, 11):
        outputs = TopK.from_matrix(logits, k, labels)
        assert np.allclose(Evaluation.from_calibrator(raw, outputs, labels).row_nll, exact, rtol=0, atol=1e-12)


def test_log_odds_of_one_class_of_a_group_are_those_of_equal_columns():
    logits, labels = simulated()
    logits = with_equal_rest(40 * logits, 4)
    outputs = TopK.from_matrix(logits, 4, labels)
    groups, columns = outputs.with_labels(labels)
    expected = one_vs_rest_log_odds(logits)
    found = groups.one_vs_rest_log_odds()
    rows = np.arange(N)
    assert np.allclose(found[:, :4], of_matrix(expected, outputs), rtol=1e-12)
    assert np.allclose(found[rows, columns], expected[rows, labels], rtol=1e-12)
    outside = columns == 4
    assert outside.any()
    assert np.isneginf(found[~outside, 4]).all()
    assert np.allclose(np.einsum("nm,nm->n", np.exp(groups.logits), groups.counts), np.exp(logits).sum(axis=1))
    assert (groups.counts.sum(axis=1) == K).all()


@pytest.mark.parametrize("space", ["logits", "probs"])
def test_gpcalib_objective_has_the_sums_of_the_full_matrix(space):
    logits, labels = simulated()
    logits = with_equal_rest(logits, 5)
    grid = Grid(0.0, 1.0, 64) if space == "probs" else Grid(float(logits.min()) - 1, float(logits.max()) + 1, 64)
    groups, columns = TopK.from_matrix(logits, 5, labels).with_labels(labels)
    whole, found = grid_statistics(logits, labels, space, grid), grid_statistics(groups, columns, space, grid)
    for name in ("sums", "squares", "label_weights", "label_prior"):
        assert np.allclose(getattr(found, name), getattr(whole, name), rtol=1e-10, atol=1e-12), name


def test_gpcalib_predicts_what_it_predicts_of_the_full_matrix():
    from calib.calibrators.gpcalib.posterior import LatentTable
    from calib.calibrators.gpcalib.prediction import predict

    logits, labels = simulated()
    logits = with_equal_rest(logits, 5)
    outputs = TopK.from_matrix(logits, 5, labels)
    groups = outputs.groups()
    grid = Grid(float(logits.min()) - 1, float(logits.max()) + 1, 64)
    wave = 0.3 * np.sin(grid.nodes)
    table = LatentTable(grid, wave, np.full(64, 0.2), np.stack([wave, -wave, 2 * wave]))
    for way in ("mean", "delta", "draws"):
        probs = predict(way, logits, logits, table, 0.1, 3, 0)
        found = predict(way, groups.logits, groups.logits, table, 0.1, 3, 0, groups.counts)
        assert np.allclose(found[:, :5], of_matrix(probs, outputs), rtol=0, atol=1e-12), way
    with pytest.raises(CalibrationError, match="mc"):
        predict("mc", groups.logits, groups.logits, table, 0.1, 3, 0, groups.counts)


@pytest.mark.long
def test_gpcalib_fits_the_top_k_as_it_fits_all_classes():
    logits, labels = simulated()
    outputs = TopK.from_matrix(logits, K, labels)
    whole, own = (calib.calibrator("gpcalib").fit(each, labels) for each in (logits, outputs))
    probs = whole.predict_proba(logits)
    assert np.allclose(own.predict_top_k(outputs).values, of_matrix(probs, outputs), rtol=0, atol=1e-6)
    logits = with_equal_rest(logits, 6)
    few = TopK.from_matrix(logits, 6, labels)
    whole, own = (calib.calibrator("gpcalib").fit(each, labels) for each in (logits, few))
    nll = [Evaluation.from_calibrator(fitted, few, labels).row_nll.mean() for fitted in (whole, own)]
    assert nll[1] == pytest.approx(nll[0], abs=1e-3)  # their inducing inputs differ


def test_gpcalib_goes_on_with_more_rows_of_the_top_k():
    logits, labels = simulated()
    outputs = TopK.from_matrix(with_equal_rest(logits, 6), 6, labels)
    half = N // 2
    parts = calib.calibrator("gpcalib").fit(outputs[:half], labels[:half])
    parts.partial_fit(outputs[half:], labels[half:])
    assert parts.n_rows_ == N
    whole = calib.calibrator("gpcalib").fit(outputs, labels)
    nll = [Evaluation.from_calibrator(fitted, outputs, labels).row_nll.mean() for fitted in (parts, whole)]
    assert nll[0] == pytest.approx(nll[1], abs=5e-3)  # the method promises some 0.3 nats of the sum over all rows


@pytest.mark.parametrize("name", ["isotonic", "platt", "beta", "histogram"])
def test_methods_of_one_score_learn_the_map_of_the_top_label(name):
    logits, labels = simulated()
    outputs = TopK.from_matrix(logits, 5, labels)
    fitted = calib.calibrator(name).fit(outputs, labels)
    said = fitted.predict_top_k(outputs)
    # The same map, learned by the same method from the two-class problem "is the top label right".
    log_odds = one_vs_rest_log_odds(logits).max(axis=1)
    correct = logits.argmax(axis=1) == labels
    pairs = calib.calibrator(name).fit(np.stack([np.zeros(N), log_odds], axis=1), correct.astype(int))
    expected = np.maximum(pairs.predict_proba(np.stack([np.zeros(N), log_odds], axis=1))[:, 1], 1 / K)
    assert np.allclose(said.confidence, expected, rtol=0, atol=1e-12)
    assert np.array_equal(said.predicted, logits.argmax(axis=1))
    # The others share the rest as they do in the matrix of all, where its logits outside the top k are equal.
    equal = with_equal_rest(logits, 5)
    few = TopK.from_matrix(equal, 5, labels)
    whole = calib.calibrator(name, classes="top").fit(equal, labels).predict_proba(equal)
    said = fitted.fit(few, labels).predict_top_k(few)
    assert np.allclose(said.values, of_matrix(whole, few), rtol=0, atol=1e-12)
    assert np.allclose(said.values.sum(axis=1) + said.rest, 1.0)
    assert np.allclose(fitted.predict_proba(equal), whole, rtol=0, atol=1e-12)
    # A fit on all classes is no longer one of the top class.
    again = fitted.fit(logits, labels).predict_proba(logits)
    assert np.array_equal(again, calib.calibrator(name).fit(logits, labels).predict_proba(logits))


def test_bounds_hold_for_random_rests_and_are_reached():
    generator = np.random.default_rng(1)
    logits = generator.normal(scale=2.0, size=(200, 9))
    labels = generator.integers(0, 9, 200)
    for k, inverse, given in product((1, 2, 5, 8, 9), (0.2, 0.9, 1.0, 1.4, 5.0), (None, labels)):
        outputs = TopK.from_matrix(logits, k, labels)
        low, high = log_partition_bounds(outputs, inverse, given)
        true = np.log(np.exp(inverse * logits).sum(axis=1))
        assert (low <= true + 1e-9).all()
        assert (true <= high + 1e-9).all()
        if inverse == 1.0 or k >= 8:
            assert np.allclose(low, high, atol=1e-9)


@pytest.mark.parametrize("inverse", [0.3, 2.5])
def test_bounds_are_those_of_a_search_over_all_rests(inverse):
    """Three classes outside the top 1, with every split of their sum on a fine grid."""
    cap, total = 1.0, 0.9
    a, b = np.meshgrid(np.linspace(0, math.exp(cap), 1201), np.linspace(0, math.exp(cap), 1201))
    c = math.exp(total) - a - b
    allowed = (c >= 0) & (c <= math.exp(cap))
    sums = (a**inverse + b**inverse + np.where(allowed, c, 0.0) ** inverse)[allowed] + math.exp(inverse * cap)
    outputs = TopK.from_arrays([[cap]], [[0]], rest=[total], n_classes=4)
    low, high = log_partition_bounds(outputs, inverse)
    assert np.log(sums.min()) == pytest.approx(low[0], abs=2e-2)
    assert np.log(sums.min()) >= low[0] - 1e-9
    assert np.log(sums.max()) == pytest.approx(high[0], abs=1e-4)
    assert np.log(sums.max()) <= high[0] + 1e-9


@pytest.mark.parametrize("name", ["identity", "temperature", "ensemble_temperature"])
def test_the_nll_of_the_full_matrix_lies_within_its_bounds(name):
    logits, labels = simulated(temperature=2.5)
    outputs = TopK.from_matrix(logits, 3, labels)
    fitted = calib.calibrator(name).fit(outputs, labels)
    low, high = fitted.nll_bounds(outputs, labels)
    exact = Evaluation.from_calibrator(fitted, logits, labels).row_nll
    spread = Evaluation.from_calibrator(fitted, outputs, labels).row_nll
    for nll in (exact, spread):
        assert (low <= nll + 1e-9).all()
        assert (nll <= high + 1e-9).all()
    if name == "temperature":
        assert fitted.temperature_ > 1.2
        fitted.others_ = 0.0
        spread = Evaluation.from_calibrator(fitted, outputs, labels).row_nll
        assert np.allclose(spread, high)  # T > 1: all as equal is the upper bound
        assert (high - low).max() > 0.01


@pytest.mark.parametrize("name", ["imax", "platt", "histogram"])
def test_maps_of_known_log_odds_have_the_nll_of_the_full_matrix(name):
    logits, labels = zipf(1, 1.3)
    outputs = TopK.from_matrix(logits, 10, labels)
    fitted = calib.calibrator(name).fit(outputs, labels)
    low, high = fitted.nll_bounds(outputs, labels)
    exact = Evaluation.from_calibrator(fitted, logits, labels).row_nll
    assert np.allclose(low, exact, rtol=0, atol=1e-9)
    assert np.array_equal(low, high)
    own = Evaluation.from_calibrator(fitted, outputs, labels).nll_bounds
    assert own == (pytest.approx(exact.mean()), pytest.approx(exact.mean()))
    # Rows that are divided by their sum need every class.
    normalised = calib.calibrator("imax", normalize=True).fit(outputs, labels)
    assert normalised.nll_bounds(outputs, labels) is None


@pytest.mark.long
@pytest.mark.parametrize("options", [{}, {"prediction": "mean"}, {"inputs": "probs"}], ids=str)
def test_gpcalib_bounds_hold_the_nll_of_the_full_matrix(options):
    logits, labels = zipf(2, 1.6)
    outputs = TopK.from_matrix(logits, 10, labels)
    fitted = calib.calibrator("gpcalib", **options).fit(outputs, labels)
    low, high = fitted.nll_bounds(outputs, labels)
    for given in (logits, outputs):
        nll = Evaluation.from_calibrator(fitted, given, labels).row_nll
        assert (low - 1e-6 <= nll).all()
        assert (nll <= high + 1e-6).all()
    assert 0.01 < (high - low).mean() < 2  # nats, of some 5 that the NLL of an unlisted label has
    assert fitted.nll_bounds(outputs[labels == outputs.argmax()], labels[labels == outputs.argmax()]) is not None
    assert replace(fitted, prediction="delta").set_state(fitted.get_state()).nll_bounds(outputs, labels) is None


def test_methods_whose_ranges_overlap_are_named():
    logits, labels = zipf(3, 1.3)
    outputs = TopK.from_matrix(logits, 10, labels)
    fits = {name: calib.calibrator(name).fit(outputs, labels) for name in ("temperature", "ensemble_temperature")}
    found = {name: Evaluation.from_calibrator(fitted, outputs, labels) for name, fitted in fits.items()}
    assert "ranges of temperature and ensemble_temperature overlap" in said_of_bounds(found)
    assert "overlap" not in said_of_bounds({"temperature": found["temperature"]})
    # A known NLL within a range may turn out the lower one too.
    low, high = found["temperature"].nll_bounds
    exact = {"known": replace(found["temperature"], nll_bounds=((low + high) / 2,) * 2)}
    assert "range of temperature overlaps" in said_of_bounds({"temperature": found["temperature"]} | exact)
    # One that lies beyond is not among them.
    apart = {"far": replace(found["temperature"], nll_bounds=(9.0, 9.5))}
    assert "far" not in said_of_bounds(found | apart).partition("The ranges of")[2]


def test_a_label_whose_logit_is_not_known_leaves_no_nll():
    logits, labels = simulated()
    outputs = TopK.from_matrix(logits, 3)
    fitted = calib.calibrator("temperature").fit(outputs, labels)
    found = Evaluation.from_calibrator(fitted, outputs, labels)
    assert found.row_nll is None
    assert found.row_brier is None
    assert found.confidence.shape == (N,)
    known = labels == logits.argmax(axis=1)
    assert Evaluation.from_calibrator(fitted, outputs[known], labels[known]).row_nll is not None


def test_the_order_of_values_in_a_row_does_not_matter():
    logits, labels = simulated()
    whole = TopK.from_matrix(logits, 5, labels)
    back = TopK.from_arrays(whole.values[:, ::-1], whole.indices[:, ::-1], whole.rest, K, whole.label_logit)
    assert np.array_equal(back.values, whole.values)
    assert np.array_equal(back.indices, whole.indices)


def test_rows_that_cannot_be_are_refused():
    good = {"values": [[4.0, 2.0]], "indices": [[7, 1]], "rest": [1.0], "n_classes": 100}
    TopK.from_arrays(**good)
    for changes, word in (
        ({"indices": [[7, 7]]}, "twice"),
        ({"indices": [[7, 100]]}, "0 to 99"),
        ({"indices": [[7, -1]]}, "0 to 99"),
        ({"rest": [2.0 + math.log(98) + 0.01]}, "rest"),
        ({"values": [[np.nan, 2.0]]}, "finite"),
        ({"rest": [np.inf]}, "finite"),
        ({"rest": None}, "missing"),
        ({"rest": [1.0, 1.0]}, "shape"),
        ({"n_classes": 1}, "classes"),
        ({"values": [["a", "b"]]}, "numbers"),
    ):
        with pytest.raises(CalibrationError, match=word):
            TopK.from_arrays(**{**good, **changes})
    assert TopK.from_arrays([[4.0, 2.0, 1.0]], [[0, 1, 2]]).shape == (1, 3)


def test_whatever_needs_all_classes_is_refused_with_a_sentence():
    logits, labels = simulated()
    outputs = TopK.from_matrix(logits, 5, labels)
    with pytest.raises(CalibrationError, match="never"):
        np.asarray(outputs)
    fitted = calib.calibrator("temperature").fit(outputs, labels)
    with pytest.raises(CalibrationError, match="predict_top_k"):
        fitted.predict_proba(outputs)
    data = Predictions(as_outputs(outputs), labels, tuple(map(str, range(K))), "topk")
    for name, method in METHODS.items():
        if not method.cls.takes_top_k():
            with pytest.raises(CalibrationError, match="all classes"):
                calib.calibrator(name).fit(outputs, labels)
            assert name not in presets(data)["All"]
            assert method.title in said_of_kind(data)
    for name, changed in (("imax", {"share_classes": False}), ("gpcalib", {"prediction": "mc"})):
        with pytest.raises(CalibrationError, match=next(iter(changed))):
            calib.calibrator(name, **changed).fit(outputs, labels)


def test_compare_scores_every_method_that_can():
    logits, labels = simulated()
    outputs = TopK.from_matrix(logits, 5, labels)
    data = Predictions(as_outputs(outputs), labels, tuple(map(str, range(K))), "topk").identified()
    calibration, test = data.split(0.5)
    chosen = {name: calib.calibrator(name) for name in ("temperature", "isotonic", "imax", "vector")}
    table = calib.compare(chosen, calibration, test).set_index(["method", "score"])
    for name in ("identity", "temperature", "isotonic", "imax"):
        assert {"NLL", "ECE", "accuracy", "Brier"} <= set(table.loc[name].index), name
        assert np.isfinite(table.loc[(name, "NLL"), "value"])
    assert "all classes" in table.loc["vector"]["note"].iloc[0]


@pytest.mark.parametrize("ending", [".npz", ".zip", ".pkl"])
def test_an_exported_calibrator_takes_the_top_k_and_predicts_what_the_fit_does(tmp_path, ending):
    logits, labels = simulated()
    outputs = TopK.from_matrix(logits, 5, labels)
    data = Predictions(as_outputs(outputs), labels, tuple(map(str, range(K))), "topk").identified()
    for name in ("temperature", "isotonic", "imax"):
        fitted = calib.calibrator(name).fit(outputs, labels)
        path = calib.export.save(fitted, tmp_path / f"calibrator{ending}", **calib.export.describe(data))
        exported = calib.runtime.load(path)
        expected, given = fitted.predict_top_k(outputs), {"values": outputs.values, "indices": outputs.indices}
        said = exported.predict_top_k({**given, "rest": outputs.rest})
        for part in ("values", "rest", "predicted", "confidence"):
            assert np.array_equal(getattr(said, part), getattr(expected, part)), part
        assert np.array_equal(exported.confidence(outputs), expected.confidence)
        assert np.array_equal(exported.predict(outputs), expected.predicted)
        with pytest.raises(CalibrationError, match="rest"):
            exported.predict_top_k(given)
        with pytest.raises(CalibrationError, match="values and indices"):
            exported.calibrate(logits)
        with pytest.raises(CalibrationError, match="5 classes"):
            exported.predict_top_k(TopK.from_matrix(logits[:, :5], 3))


def test_the_script_of_a_bundle_calibrates_an_npz_with_numpy_alone(tmp_path):
    logits, labels = simulated()
    outputs = TopK.from_matrix(logits, 5, labels)
    data = Predictions(as_outputs(outputs), labels, tuple(map(str, range(K))), "topk").identified()
    fitted = calib.calibrator("temperature").fit(outputs, labels)
    calib.export.save(fitted, tmp_path / "calibrator.zip", **calib.export.describe(data))
    with ZipFile(tmp_path / "calibrator.zip") as bundle:
        bundle.extractall(tmp_path / "bundle")
        assert "predict_top_k" in bundle.read("MODEL_CARD.md").decode()
    np.savez(tmp_path / "outputs.npz", values=outputs.values, indices=outputs.indices, rest=outputs.rest)
    blocked = "import sys; sys.modules.update(scipy=None, sklearn=None, pandas=None, tensorflow=None); "
    run = "import runpy; sys.argv = ['predict.py', *sys.argv[1:]]; runpy.run_path('predict.py', run_name='__main__')"
    for out, status in (("calibrated.npz", 0), ("calibrated.csv", 1)):
        command = [sys.executable, "-c", blocked + run, str(tmp_path / "outputs.npz"), "--out", str(tmp_path / out)]
        assert subprocess.run(command, cwd=tmp_path / "bundle", capture_output=True).returncode == status
    with np.load(tmp_path / "calibrated.npz") as written:
        said = fitted.predict_top_k(outputs)
        assert np.array_equal(written["probabilities"], said.values)
        assert np.array_equal(written["rest"], said.rest)
        assert np.array_equal(written["indices"], outputs.indices)


def test_the_command_line_compares_and_fits(tmp_path, monkeypatch, capsys):
    logits, labels = simulated(temperature=2.5)
    outputs = TopK.from_matrix(logits, 5, labels)
    monkeypatch.chdir(tmp_path)
    np.savez("outputs.npz", **outputs.arrays(), labels=labels, n_classes=K)
    assert main(["compare", "outputs.npz", "--methods", "temperature,isotonic", "--report", "report.html"]) == 0
    said = capsys.readouterr().out
    assert "NLL of all logits lies between" in said
    assert "Vector" in said  # left out, with the reason
    assert "topk" not in said
    assert main(["fit", "outputs.npz", "--method", "imax", "--out", "calibrator.npz"]) == 0
    assert main(["apply", "calibrator.npz", "outputs.npz", "--out", "calibrated.npz"]) == 0
    assert main(["inspect", "outputs.npz"]) == 0
    assert main(["fit", "outputs.npz", "--method", "vector", "--out", "vector.npz"]) == 1
    assert "all classes" in capsys.readouterr().err


def test_tied_logits_leave_the_temperature_to_all_rows():
    # Of the top 2 nothing can be learned where they are equal; how many labels lie outside says T.
    logits = np.where(np.arange(K) < 2, 3.0, 0.0) * np.ones((N, 1))
    labels = np.arange(N) % 5
    fitted = calib.calibrator("temperature").fit(TopK.from_matrix(logits, 2), labels)
    whole = calib.calibrator("temperature").fit(logits, labels)  # the others are equal here
    assert fitted.temperature_ == pytest.approx(whole.temperature_, rel=1e-6)


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (lambda: TopK.from_matrix(np.eye(4), 0), "from 1 to the 4"),
        (lambda: TopK.from_matrix(np.eye(4), 5), "from 1 to the 4"),
        (lambda: TopK.from_matrix(np.eye(4), 2, [0, 1, 2, 4]), "from 0 to 3"),
        (lambda: TopK.from_matrix(np.full((3, 4), np.nan), 2), "finite"),
        (lambda: TopK.from_arrays([[1.0, 0.0]], [[0, 1]], rest=["x"], n_classes=5), "rest"),
        (lambda: TopK.from_arrays([[1.0, 0.0]], [[0, 1]], rest=[0.0], n_classes="five"), "five"),
        (lambda: TopK.from_arrays([[1.0, 0.0], [1.0]], [[0, 1]], rest=[0.0], n_classes=5), "values"),
        (lambda: calib.calibrator("temperature").predict_top_k(np.eye(4)), "TopK"),
    ],
)
def test_what_is_no_top_k_is_refused_in_words(made, said):
    with pytest.raises(CalibrationError, match=said):
        made()
