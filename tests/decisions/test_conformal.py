"""Prediction sets: quantiles and sets against a naive reference and measured numbers, and the law of their coverage."""

from __future__ import annotations

import math

import numpy as np
import pytest

from calib.data.samples import load_sample
from calib.decisions.conformal import PredictionSets, conformal_sets, fewest_rows, quantile_rank
from calib.decisions.set_scores import coverage_range
from calib.errors import CalibrationError
from calib.numerics import softmax
from tests.published import cifar


def naive_quantile(scores, alpha):
    ordered = sorted(scores)
    k = math.ceil((len(ordered) + 1) * (1 - alpha) - 1e-9)
    return ordered[k - 1] if k <= len(ordered) else math.inf


@pytest.mark.parametrize("per_class", [False, True])
def test_sets_of_a_sample_are_those_of_a_naive_reference(per_class, rng):
    data = load_sample("digits-cnn")
    rows = rng.permutation(len(data))[:320]
    probs, labels = softmax(data.logits[rows].astype(float) / 3), data.labels[rows]
    made = conformal_sets(probs[:200], labels[:200], 0.15, per_class=per_class, allow_empty=True)
    scores = [1 - p[y] for p, y in zip(probs[:200], labels, strict=False)]
    for k in range(10):
        own = [s for s, y in zip(scores, labels, strict=False) if not per_class or y == k]
        assert made.quantiles[k] == pytest.approx(naive_quantile(own, 0.15), abs=1e-12)
    for p, found in zip(probs[200:], made.predict(probs[200:]), strict=True):
        np.testing.assert_array_equal(found, [1 - p[k] <= made.quantiles[k] for k in range(10)])


@pytest.mark.parametrize("per_class", [False, True])
def test_quantiles_count_rows_by_their_weights_and_the_heaviest_once_more(per_class, rng):
    probs, labels = rng.dirichlet(np.ones(3), 150), rng.integers(0, 3, 150)
    weights = rng.exponential(size=150)
    made = conformal_sets(
        probs, labels, 0.2, weights=weights, per_class=per_class, allow_empty=True
    )
    for k in range(3):
        rows = [i for i in range(150) if not per_class or labels[i] == k]
        scores = {i: 1 - probs[i, labels[i]] / probs[i].sum() for i in rows}
        needed = 0.8 * (sum(weights[i] for i in rows) + max(weights[i] for i in rows))
        reached = [
            scores[j]
            for j in rows
            if sum(weights[i] for i in rows if scores[i] <= scores[j]) >= needed
        ]
        assert made.quantiles[k] == pytest.approx(min(reached), abs=1e-12)
    alike = conformal_sets(probs, labels, 0.2, weights=np.full(150, 0.3), per_class=per_class)
    plain = conformal_sets(probs, labels, 0.2, per_class=per_class)
    np.testing.assert_array_equal(alike.quantiles, plain.quantiles)
    often = rng.integers(1, 4, 150)
    once = conformal_sets(probs, labels, 0.2, weights=often, new_weight=1.0, per_class=per_class)
    repeated = conformal_sets(
        np.repeat(probs, often, axis=0), np.repeat(labels, often), 0.2, per_class=per_class
    )
    np.testing.assert_array_equal(once.quantiles, repeated.quantiles)


def test_sets_of_a_sample_with_unequal_probabilities_keep_their_promise_for_the_population(rng):
    hard = np.arange(20_000) < 14_000  # seldom sampled, and seldom right
    right = np.where(hard, rng.uniform(0.0, 1.0, 20_000), rng.uniform(0.6, 1.0, 20_000))
    probs, labels = np.stack([right, 1.0 - right], axis=1), np.zeros(20_000, dtype=int)
    weights = np.where(hard, 14.0, 1.0)
    covered = {"weighted": [], "plain": []}
    for _ in range(100):
        drawn = rng.choice(20_000, 400, p=(1.0 / weights) / (1.0 / weights).sum())
        for name, own in (("weighted", weights[drawn]), ("plain", None)):
            made = conformal_sets(probs[drawn], labels[drawn], 0.1, weights=own, allow_empty=True)
            covered[name].append(made.predict(probs)[:, 0].mean())
    mean, error = np.mean(covered["weighted"]), np.std(covered["weighted"]) / 10
    assert 0.9 - 2 * error <= mean < 0.94
    assert np.mean(covered["plain"]) < 0.85


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


def test_a_model_that_is_right_more_often_than_asked_for_gives_its_class_alone(rng):
    for allowed, sizes in ((True, [0, 1]), (False, [1, 1])):
        made = PredictionSets(alpha=0.1, quantiles=np.full(3, 0.4), allow_empty=allowed)
        np.testing.assert_array_equal(
            made.predict([[0.5, 0.3, 0.2], [0.7, 0.2, 0.1]]).sum(axis=1), sizes
        )
    # Of sets that may be empty, some were, although the most probable class alone has the coverage.
    probs = np.where(np.eye(4)[rng.integers(0, 4, 3000)] > 0, 0.97, 0.01)
    labels = np.array([rng.choice(4, p=p) for p in probs])
    inside = conformal_sets(probs[:1000], labels[:1000], 0.1).predict(probs[1000:])
    assert (inside.sum(axis=1) == 1).all()
    assert inside[np.arange(2000), labels[1000:]].mean() > 0.95


def test_what_cannot_be_fitted_says_why():
    probs, labels = np.full((20, 2), 0.5), np.zeros(20, dtype=int)
    for arguments, says in (
        ((probs, labels, 1.5), "alpha=1.5"),
        ((probs[0], labels), "got shape"),
        ((probs, labels + 3), "1 different value"),
        ((-probs, labels), "some of these numbers are negative"),
        ((np.where(labels[:, None] == 0, np.nan, probs), labels), "or NaN"),
    ):
        with pytest.raises(CalibrationError, match=says):
            conformal_sets(*arguments)
    assert conformal_sets(probs, labels).predict([[1.0, -1e-17]]).any(), (
        "a rounding error is no negative probability"
    )
    with pytest.raises(CalibrationError, match=r"2 classes; got an array of shape \(1, 3\)"):
        conformal_sets(probs, labels).predict([[0.2, 0.3, 0.5]])


@pytest.mark.parametrize("allow_empty", [False, True])
def test_coverage_follows_the_beta_binomial_law(allow_empty):
    n, m, alpha, runs = 99, 300, 0.1, 400
    generator, covered = np.random.default_rng(1), np.empty(runs)
    for run in range(runs):
        probs = softmax(1.5 * generator.normal(size=(n + m, 5)))
        labels = np.argmax(np.log(probs) + generator.gumbel(size=probs.shape), axis=1)
        inside = conformal_sets(probs[:n], labels[:n], alpha, allow_empty=allow_empty).predict(
            probs[n:]
        )
        assert allow_empty or inside.any(axis=1).all()
        covered[run] = inside[np.arange(m), labels[n:]].mean()
    k = quantile_rank(n, alpha)
    mean = k / (n + 1)
    sd = np.sqrt(
        mean * (1 - mean) * (1 / m + (1 - 1 / m) / (n + 2))
    )  # of BetaBinomial(m, k, n + 1 - k) / m
    assert abs(covered.mean() - mean) < 4 * sd / np.sqrt(runs)
    assert abs(covered.std() / sd - 1) < 4 / np.sqrt(2 * runs)
    low, high = coverage_range(n, m, alpha)
    assert 0.92 < ((covered >= low) & (covered <= high)).mean() < 0.98
    np.testing.assert_allclose(
        coverage_range(1000, 9000, 0.1), (0.880, 0.919), atol=6e-4
    )  # measured elsewhere
    assert coverage_range(8, 100, 0.1) == (1.0, 1.0)


# Of sets of the WideResNet's outputs for CIFAR-10 and CIFAR-100: quantile, coverage, mean size, share of empty sets,
# and the sets of the first test rows.
MEASURED = {
    (10, 0.1): (0.3559350371360779, 0.8945555555555555, 0.964, 0.036, [[4], [4], [1], [6], [1]]),
    (10, 0.05): (0.9238807111978531, 0.9471111111111111, 1.1336666666666666, 0.0, [[4], [0, 4], [1], [2, 6], [1]]),
    (100, 0.1): (0.9774994980543852, 0.9124444444444444, 2.5196666666666667, 0.0,
                 [[71, 95], [59], [56, 96], [13, 19, 69, 81, 87, 90], [13, 40, 58, 87]]),
}  # fmt: skip


@pytest.mark.parametrize(("n_classes", "alpha"), MEASURED)
def test_sets_of_real_outputs_are_those_that_were_measured(n_classes, alpha):
    quantile, coverage, size, empty, first = MEASURED[n_classes, alpha]
    (probs, labels), (new, truth) = cifar(n_classes)
    made = conformal_sets(probs, labels, alpha, allow_empty=True)
    inside = made.predict(new)
    # The measured numbers are of rows as stored, which sum to one to 2e-7.
    np.testing.assert_allclose(made.quantiles, quantile, atol=3e-7)
    assert inside[np.arange(9000), truth].mean() == pytest.approx(coverage, abs=1e-12)
    assert inside.sum(axis=1).mean() == pytest.approx(size, abs=1e-12)
    assert (inside.sum(axis=1) == 0).mean() == pytest.approx(empty, abs=1e-12)
    assert [np.flatnonzero(row).tolist() for row in inside[: len(first)]] == first


def test_sets_by_class_of_real_outputs_are_those_that_were_measured():
    (probs, labels), (new, truth) = cifar(10)
    made = conformal_sets(probs, labels, 0.1, per_class=True, allow_empty=True)
    expected = [
        *(
            0.9557831361889839,
            0.03911179304122925,
            0.5857330858707428,
            0.5882167816162109,
            0.16528522968292236,
        ),
        *(
            0.9550664834678173,
            0.01962834596633911,
            0.3041002154350281,
            0.09497559070587158,
            0.013843834400177002,
        ),
    ]
    np.testing.assert_allclose(made.quantiles, expected, atol=3e-7)
    covered = made.predict(new)[np.arange(9000), truth]
    assert min(covered[truth == k].mean() for k in range(10)) == pytest.approx(
        0.8558659217877095, abs=1e-12
    )
    (probs, labels), (new, _) = cifar(100)
    made = conformal_sets(probs, labels, 0.1, per_class=True, allow_empty=True)
    assert len(made.always) == 40
    assert made.predict(new).sum(axis=1).mean() == pytest.approx(44.30422222222222, abs=1e-9)
