"""Prediction sets: quantiles and sets against a naive reference and measured numbers, and the law of their coverage."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calib.data.samples import load_sample
from calib.decisions.conformal import (
    SCORES,
    PredictionSets,
    class_scores,
    conformal_sets,
    fewest_rows,
    quantile_rank,
    row_uniforms,
)
from calib.decisions.set_scores import coverage_range
from calib.errors import CalibrationError
from calib.numerics import normalised, softmax


def naive_score(p, k, score, u, k_reg=2, penalty=0.05):
    """The score of one class of one row, with loops as the papers write it."""
    if score == "lac":
        return 1 - p[k]
    above = [j for j in range(len(p)) if p[j] > p[k] or (p[j] == p[k] and j < k)]
    value = sum(p[j] for j in above) + p[k] - u * p[k]
    return value if score == "aps" else value + penalty * max(0, len(above) + 1 - k_reg)


def naive_quantile(scores, alpha):
    ordered = sorted(scores)
    k = math.ceil((len(ordered) + 1) * (1 - alpha) - 1e-9)
    return ordered[k - 1] if k <= len(ordered) else math.inf


@pytest.mark.parametrize("per_class", [False, True])
@pytest.mark.parametrize("score", SCORES)
def test_sets_of_a_sample_are_those_of_a_naive_reference(score, per_class, rng):
    data = load_sample("digits-cnn")
    rows = rng.permutation(len(data))[:320]
    probs, labels = softmax(data.logits[rows].astype(float) / 3), data.labels[rows]
    u = rng.random(320)
    options = {"score": score, "per_class": per_class, "allow_empty": True}
    made = conformal_sets(probs[:200], labels[:200], 0.15, **options, u=u[:200])
    scores = [naive_score(p, y, score, v) for p, y, v in zip(probs[:200], labels, u, strict=False)]
    for k in range(10):
        own = [s for s, y in zip(scores, labels, strict=False) if not per_class or y == k]
        assert made.quantiles[k] == pytest.approx(naive_quantile(own, 0.15), abs=1e-12)
    inside = made.predict(probs[200:], u=u[200:])
    for p, v, found in zip(probs[200:], u[200:], inside, strict=True):
        expected = [naive_score(p, k, score, v) <= made.quantiles[k] for k in range(10)]
        np.testing.assert_array_equal(found, expected)


def test_the_rank_is_exact_where_rounding_would_move_it():
    # (n + 1)(1 - alpha) is 9 for 9 rows at alpha = .1, and 0.9 * 10 = 9.000000000000002 elsewhere.
    assert [quantile_rank(n, 0.1) for n in (8, 9, 19, 99, 999, 1000)] == [9, 9, 18, 90, 900, 901]
    assert [fewest_rows(alpha) for alpha in (0.1, 0.05, 0.2, 0.5, 1 / 3)] == [9, 19, 4, 1, 2]
    for alpha in (0.01, 0.05, 0.1, 0.2, 0.3):
        n = fewest_rows(alpha)
        assert quantile_rank(n, alpha) <= n and quantile_rank(n - 1, alpha) > n - 1


def test_too_few_rows_give_full_sets_and_classes_without_rows_are_always_in():
    probs = np.array([[0.7, 0.2, 0.1]] * 8)
    few = conformal_sets(probs, np.zeros(8, dtype=int), 0.1)
    assert np.isinf(few.quantiles).all() and few.predict(probs).all()
    mixed = conformal_sets(np.tile(probs, (2, 1)), np.repeat([0, 1], [13, 3]), 0.1, per_class=True)
    np.testing.assert_array_equal(mixed.always, [1, 2])
    np.testing.assert_array_equal(mixed.predict([[0.0, 0.0, 1.0]]), [[False, True, True]])


def test_sets_are_empty_only_where_that_is_asked_for():
    probs = [[0.5, 0.3, 0.2], [0.7, 0.2, 0.1]]
    for allowed, sizes in ((True, [0, 1]), (False, [1, 1])):
        made = PredictionSets(alpha=0.1, quantiles=np.full(3, 0.4), allow_empty=allowed)
        np.testing.assert_array_equal(made.predict(probs).sum(axis=1), sizes)


@pytest.mark.parametrize("score", SCORES)
def test_a_model_that_is_right_more_often_than_asked_for_gives_its_class_alone(score, rng):
    # Of sets that may be empty, some were, although the most probable class alone has the coverage.
    probs = np.where(np.eye(4)[rng.integers(0, 4, 3000)] > 0, 0.97, 0.01)
    labels = np.array([rng.choice(4, p=p) for p in probs])
    u = rng.random(3000)
    made = conformal_sets(probs[:1000], labels[:1000], 0.1, score=score, u=u[:1000])
    inside = made.predict(probs[1000:], u=u[1000:])
    assert (inside.sum(axis=1) == 1).all()
    assert inside[np.arange(2000), labels[1000:]].mean() > 0.95


@pytest.mark.parametrize("score", SCORES)
def test_coverage_is_kept_where_no_set_is_empty(score):
    # Mean coverage over 300 draws: at least 1 - alpha, and within 1 / (n + 1) of it, as accuracy is below.
    generator, found = np.random.default_rng(5), []
    for _ in range(300):
        probs = softmax(1.5 * generator.normal(size=(399, 5)))
        labels = np.argmax(np.log(probs) + generator.gumbel(size=probs.shape), axis=1)
        u = generator.random(399)
        made = conformal_sets(probs[:99], labels[:99], 0.1, score=score, u=u[:99])
        inside = made.predict(probs[99:], u=u[99:])
        assert inside.any(axis=1).all()
        found.append(inside[np.arange(300), labels[99:]].mean())
    error = 4 * np.std(found) / np.sqrt(300)
    assert 0.9 - error < np.mean(found) < 0.91 + error


@given(st.integers(0, 10_000), st.sampled_from(list(SCORES)))
def test_higher_coverage_gives_larger_sets(seed, score):
    generator = np.random.default_rng(seed)
    probs, u = generator.dirichlet(np.ones(4), 60), generator.random(60)
    labels = np.array([generator.choice(4, p=p) for p in probs])
    sets = [conformal_sets(probs, labels, alpha, score=score, u=u).predict(probs, u=u) for alpha in (0.4, 0.2, 0.05)]
    assert (sets[0] <= sets[1]).all() and (sets[1] <= sets[2]).all()
    assert sets[1][np.arange(60), labels].mean() >= 0.8


def test_rows_are_brought_to_a_sum_of_one():
    probs = np.array([[0.2, 0.2], [0.0, 0.0], [0.9, 0.3]], dtype=np.float32)
    np.testing.assert_allclose(normalised(probs), [[0.5, 0.5], [0.5, 0.5], [0.75, 0.25]], rtol=1e-7)
    assert np.isnan(normalised([[np.nan, 1.0]])).all()


def test_the_number_of_a_row_is_its_own_and_looks_random(rng):
    logits = rng.normal(size=(4000, 5))
    u = row_uniforms(logits, 3)
    order = rng.permutation(4000)
    np.testing.assert_array_equal(row_uniforms(logits[order], 3), u[order])
    np.testing.assert_array_equal(row_uniforms(np.asfortranarray(logits[:7]), 3), u[:7])
    assert not (row_uniforms(logits, 4) == u).any()
    # Kolmogorov-Smirnov against the uniform distribution, and no correlation with the row or between seeds.
    distance = np.abs(np.sort(u) - (np.arange(4000) + 0.5) / 4000).max()
    assert u.min() >= 0 and u.max() < 1 and distance < 1.95 / np.sqrt(4000)
    others = [row_uniforms(logits, 4), row_uniforms(logits + np.array([0, 0, 0, 0, 1e-12]), 3), *logits.T]
    assert max(abs(np.corrcoef(u, other)[0, 1]) for other in others) < 4 / np.sqrt(4000)
    np.testing.assert_array_equal(row_uniforms(np.array([[0.0, 1.0]]), 0), row_uniforms(np.array([[-0.0, 1.0]]), 0))


def test_what_cannot_be_fitted_says_why():
    probs, labels = np.full((20, 2), 0.5), np.zeros(20, dtype=int)
    for arguments, says in (
        ((probs, labels, 1.5), "alpha=1.5"),
        ((probs[0], labels), "arrays; got"),
        ((probs, labels + 2), "from 0 to 1"),
        ((probs, labels / 1.0), "whole numbers"),
    ):
        with pytest.raises(CalibrationError, match=says):
            conformal_sets(*arguments)
    with pytest.raises(CalibrationError, match="one of lac, aps, raps"):
        conformal_sets(probs, labels, score="top")
    with pytest.raises(CalibrationError, match="APS is randomised"):
        conformal_sets(probs, labels, score="aps")
    with pytest.raises(CalibrationError, match=r"2 classes; got an array of shape \(1, 3\)"):
        conformal_sets(probs, labels).predict([[0.2, 0.3, 0.5]])


# -- the law of coverage -------------------------------------------------------------------------------


def coverages(scores_of, n, m, runs, alpha, seed):
    """Coverage on m new rows of quantiles of n rows, and the share of empty sets, over draws of all rows."""
    generator = np.random.default_rng(seed)
    covered, empty = np.empty(runs), np.empty(runs)
    k = quantile_rank(n, alpha)
    for run in range(runs):
        of_label, least = scores_of(generator, n + m)
        quantile = np.partition(of_label[:n], k - 1)[k - 1]
        covered[run], empty[run] = (of_label[n:] <= quantile).mean(), (least[n:] > quantile).mean()
    return covered, empty


@pytest.mark.parametrize("score", SCORES)
def test_coverage_follows_the_beta_binomial_law_and_some_sets_are_empty(score):
    n, m, alpha, runs = 99, 300, 0.1, 400

    def draw(generator, rows):
        probs = softmax(2.0 * generator.normal(size=(rows, 5)))
        labels = np.argmax(np.log(probs) / 1.5 + generator.gumbel(size=probs.shape), axis=1)
        scores = class_scores(probs, score, generator.random(rows), allow_empty=True)
        return scores[np.arange(rows), labels], scores.min(axis=1)

    covered, empty = coverages(draw, n, m, runs, alpha, 1)
    k = quantile_rank(n, alpha)
    mean = k / (n + 1)
    sd = np.sqrt(mean * (1 - mean) * (1 / m + (1 - 1 / m) / (n + 2)))  # of BetaBinomial(m, k, n + 1 - k) / m
    assert abs(covered.mean() - mean) < 4 * sd / np.sqrt(runs)
    assert abs(covered.std() / sd - 1) < 4 / np.sqrt(2 * runs)
    low, high = coverage_range(n, m, alpha)
    assert 0.92 < ((covered >= low) & (covered <= high)).mean() < 0.98
    assert 0.0 <= empty.mean() < alpha


def test_the_range_of_coverage_is_that_of_the_measured_law():
    # decision notes of the reference: 1000 rows, alpha .1, 9000 test rows.
    np.testing.assert_allclose(coverage_range(1000, 9000, 0.1), (0.880, 0.919), atol=6e-4)
    assert coverage_range(8, 100, 0.1) == (1.0, 1.0)


# -- measured numbers ----------------------------------------------------------------------------------

# Of sets of the WideResNet's outputs for CIFAR-10 and CIFAR-100, from reference/decisions.json: the first 1000 rows of
# RandomState(0).permutation calibrate, u is from RandomState(1) and RandomState(2); quantile, coverage, mean size,
# share of empty sets, sets of the first test rows.
A, B = [[4], [4], [1], [2, 6], [1]], [[4], [0, 4], [1], [2, 6], [1]]
MEASURED = {
    ("10", 0.1, "lac"): (0.3559350371360779, 0.8945555555555555, 0.964, 0.036, [[4], [4], [1], [6], [1]]),
    ("10", 0.1, "aps"): (0.9416366803408486, 0.895, 1.076111111111111, 0.049, A),
    ("10", 0.1, "raps"): (0.9470054573320105, 0.8982222222222223, 1.0678888888888889, 0.044, A),
    ("10", 0.05, "lac"): (0.9238807111978531, 0.9471111111111111, 1.1336666666666666, 0.0, B),
    ("10", 0.05, "raps"): (0.9841786398301933, 0.9405555555555556, 1.1662222222222223, 0.012444444444444444, A),
    ("100", 0.1, "lac"): (0.9774994980543852, 0.9124444444444444, 2.5196666666666667, 0.0,
                          [[71, 95], [59], [56, 96], [13, 19, 69, 81, 87, 90], [13, 40, 58, 87]]),
    ("100", 0.1, "raps"): (1.0095115276465365, 0.9201111111111111, 3.17, 0.0,
                           [[71, 95], [47, 59], [56, 96], [13, 19, 40, 68, 69, 81, 87, 90], [13, 40, 58, 87]]),
    ("100", 0.05, "aps"): (0.9758469567571452, 0.957, 15.317, 0.008666666666666666, [[10, 12, 23, 71, 95], [59]]),
}  # fmt: skip


def cifar(reference_data, n_classes):
    with np.load(reference_data / f"wideresnet-16-4-cifar-{n_classes}.npz") as file:
        probs, labels = file["predictions"].astype(float), file["ground_truth"].astype(int)
    order = np.random.RandomState(0).permutation(len(labels))
    return (probs[order[:1000]], labels[order[:1000]]), (probs[order[1000:]], labels[order[1000:]])


@pytest.mark.parametrize(("n_classes", "alpha", "score"), MEASURED)
def test_sets_of_real_outputs_are_those_that_were_measured(reference_data, n_classes, alpha, score):
    quantile, coverage, size, empty, first = MEASURED[n_classes, alpha, score]
    (probs, labels), (new, truth) = cifar(reference_data, n_classes)
    u = np.random.RandomState(1).uniform(size=1000)
    made = conformal_sets(probs, labels, alpha, score=score, u=u, allow_empty=True)
    inside = made.predict(new, u=np.random.RandomState(2).uniform(size=9000))
    # The measured numbers are of rows as stored, which sum to one to 2e-7.
    np.testing.assert_allclose(made.quantiles, quantile, atol=3e-7)
    assert inside[np.arange(9000), truth].mean() == pytest.approx(coverage, abs=1e-12)
    assert inside.sum(axis=1).mean() == pytest.approx(size, abs=1e-12)
    assert (inside.sum(axis=1) == 0).mean() == pytest.approx(empty, abs=1e-12)
    assert [np.flatnonzero(row).tolist() for row in inside[: len(first)]] == first


def test_sets_by_class_of_real_outputs_are_those_that_were_measured(reference_data):
    (probs, labels), (new, truth) = cifar(reference_data, "10")
    made = conformal_sets(probs, labels, 0.1, per_class=True, allow_empty=True)
    expected = [
        *(0.9557831361889839, 0.03911179304122925, 0.5857330858707428, 0.5882167816162109, 0.16528522968292236),
        *(0.9550664834678173, 0.01962834596633911, 0.3041002154350281, 0.09497559070587158, 0.013843834400177002),
    ]
    np.testing.assert_allclose(made.quantiles, expected, atol=3e-7)
    covered = made.predict(new)[np.arange(9000), truth]
    assert min(covered[truth == k].mean() for k in range(10)) == pytest.approx(0.8558659217877095, abs=1e-12)
    (probs, labels), (new, _) = cifar(reference_data, "100")
    made = conformal_sets(probs, labels, 0.1, per_class=True, allow_empty=True)
    assert len(made.always) == 40
    assert made.predict(new).sum(axis=1).mean() == pytest.approx(44.30422222222222, abs=1e-9)


@pytest.mark.long
def test_coverage_over_1000_splits_of_real_outputs_follows_the_beta_binomial_law(reference_data):
    (probs, labels), (new, truth) = cifar(reference_data, "10")
    probs, labels = np.concatenate([probs, new]), np.concatenate([labels, truth])
    scores = class_scores(normalised(probs), "lac", np.zeros(len(probs)), allow_empty=True)
    of_label, least = scores[np.arange(10_000), labels], scores.min(axis=1)

    def draw(generator, rows):
        order = generator.permutation(rows)
        return of_label[order], least[order]

    covered, empty = coverages(draw, 1000, 9000, 1000, 0.1, 3)
    # Measured over 2000 other splits: mean .89984, SD .00984; the law says .90010 and .00999.
    assert abs(covered.mean() - 0.9000999) < 4 * 0.00999 / np.sqrt(1000)
    assert abs(covered.std() / 0.00999 - 1) < 4 / np.sqrt(2000)
    assert 0.02 < empty.mean() < 0.06
