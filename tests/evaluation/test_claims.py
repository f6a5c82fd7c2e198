"""Joint intervals, the four words, and the rows that would decide."""

import math
from dataclasses import replace
from statistics import NormalDist

import numpy as np
import pytest
from scipy.stats import t

from calib.errors import CalibrationError
from calib.evaluation import SCORES, evaluate, scores
from calib.evaluation.claims import SPENT, Claims, relevant_differences, rows_to_decide, word_of
from calib.evaluation.score_registry import bins_of_ece, scored_on, without_noise
from calib.evaluation.view import EVENT
from calib.metrics.bootstrap import Groups, Interval
from calib.metrics.estimate import Estimate
from calib.numerics import softmax
from tests.conftest import plain_scores, simulate

LESS = next(key for key, score in SCORES.items() if score.claims and score.better == "lower")
MORE = next(key for key, score in SCORES.items() if score.claims and score.better == "higher")
SILENT = next(key for key, score in SCORES.items() if not score.claims and score.better == "lower")


def scored(values, errors, n=1000, n_draws=4000, seed=0, key="NLL", n_clusters=None, rho=0.0):
    """Methods with values and standard errors of one score, by name; what each unit adds is normal."""
    generator = np.random.default_rng(seed)
    common = generator.normal(size=n_draws) / math.sqrt(n_draws)
    each = [generator.normal(size=n_draws) for _ in values]
    return {
        name: plain_scores(
            {key: value, "accuracy": 0.8},
            {
                key: error * (math.sqrt(rho) * common + math.sqrt((1 - rho) / n_draws) * own),
                "accuracy": np.zeros(n_draws),
            },
            n,
            n_clusters,
        )
        for name, value, error, own in zip("rabcdefghijklm", values, errors, each, strict=False)
    }


def independent(m):
    """Draws of m independent normal values, by simulation."""
    return np.random.default_rng(9).normal(size=(200_000, m))


@pytest.mark.parametrize("m", [2, 4, 14])
def test_half_the_width_is_that_of_dunnett_against_the_raw_model_and_of_tukey_among_the_others(m):
    # In units of the standard error of one difference, here with accuracies that do not differ. Each family of
    # differences has half of what is spent; of two methods there is but one family.
    claims = Claims(scored([0.5] * m, [0.01] * m, n=10**6, n_draws=20_000), scores=("NLL",))
    draws = independent(m)
    level = 1 - SPENT * (0.05 if m == 2 else 0.025)
    dunnett = np.quantile(np.abs(draws[:, 1:] - draws[:, :1]).max(axis=1) / math.sqrt(2), level)
    assert claims.quantile("NLL", True) == pytest.approx(dunnett, rel=0.03)
    between = claims.between("a", "r", "NLL")
    assert between.high - between.value == pytest.approx(
        claims.quantile("NLL", True) * 0.01 * math.sqrt(2), rel=0.05
    )
    if m > 2:
        tukey = np.quantile(
            (draws[:, 1:].max(axis=1) - draws[:, 1:].min(axis=1)) / math.sqrt(2), level
        )
        assert claims.quantile("NLL", False) == pytest.approx(tukey, rel=0.03)
        between = claims.between("a", "b", "NLL")
        assert between.high - between.value == pytest.approx(
            claims.quantile("NLL", False) * 0.01 * math.sqrt(2), rel=0.05
        )


def test_differences_of_one_score_do_not_widen_those_of_another():
    # One of nine methods changes classes: by accuracy one pair differs, which the normal quantile covers by itself.
    made = scored([0.5] * 9, [0.01] * 9)
    changed = np.random.default_rng(5).normal(size=4000) / math.sqrt(4000)
    made["a"].scores["accuracy"] = Estimate(0.825, 0.0074 * changed)
    claims = Claims(made)
    share = (
        SPENT * 0.05 / 2 / 2
    )  # half for the NLL against the raw model; half for the NLL of the others and this one
    half = NormalDist().inv_cdf(1 - share / 2) * 0.0074
    found = claims.between("a", "r", "accuracy")
    assert (found.low, found.high) == pytest.approx((0.025 - half, 0.025 + half), rel=0.05)
    assert found.word == "better"


def test_two_methods_are_compared_by_the_score_that_decides_alone():
    made = scored([0.5, 0.4, 0.3], [0.01] * 3)
    claims = Claims(made)
    assert claims.deciding == "NLL" and claims.between("a", "b", "NLL").word == "worse"
    assert math.isnan(claims.between("a", "b", "accuracy").value)
    by_error = scored([0.2, 0.1, 0.3], [0.01] * 3, key="ECE")
    by_error["r"].scores["NLL"] = Estimate(0.5, np.ones(4000))
    claims = Claims(by_error)
    assert claims.deciding == "ECE" and claims.between("a", "b", "ECE").word == "better"


def test_few_clusters_widen_by_the_t_distribution():
    few = Claims(scored([0.5] * 2, [0.01] * 2, n_clusters=12), scores=("NLL",)).quantile(
        "NLL", True
    )
    assert few == pytest.approx(t.ppf(1 - SPENT * 0.025, 11), rel=0.03)
    many, few = (
        Claims(scored([0.5] * 3, [0.01] * 3, n_clusters=count)).quantile("NLL", True)
        for count in (None, 12)
    )
    assert few > 1.1 * many


@pytest.mark.parametrize(
    ("low", "high", "word"),
    [
        (-0.0009, 0.0009, "equivalent"),
        (0.0001, 0.0009, "equivalent"),  # a difference, but none that matters
        (-0.0030, -0.0005, "better"),  # excludes 0: the direction is shown, the size is not
        (0.0020, 0.0030, "worse"),
        (-0.0020, 0.0001, "undecided"),
        (-math.inf, math.inf, "undecided"),
    ],
)
def test_each_interval_has_one_word(low, high, word):
    assert word_of(LESS, Interval((low + high) / 2 if low > -1 else 0.0, low, high), 0.001) == word
    turned = {"better": "worse", "worse": "better"}.get(word, word)
    assert (
        word_of(MORE, Interval((low + high) / 2 if low > -1 else 0.0, low, high), 0.001) == turned
    )
    assert word_of(SILENT, Interval(0.0, low, high), 0.001) == ""
    assert word_of("sharpness", Interval(0.0, low, high), 0.001) == ""


def test_close_pairs_do_not_widen_the_intervals_of_others():
    usual = scored([0.5] * 3, [0.01] * 3)
    close = dict(usual)
    for name in "xyz":  # each differs from the raw model in a row of its own, which a resample holds 0, 1, 2, ... times
        times = np.random.default_rng(ord(name)).poisson(1.0, size=4000) - 1.0
        before = usual["r"].scores["NLL"]
        after = Estimate(before.value, before.influence + 1e-6 * times / math.sqrt(4000))
        close[name] = replace(usual["r"], scores=usual["r"].scores | {"NLL": after})
    assert Claims(close).quantile("NLL", True) == pytest.approx(
        Claims(usual).quantile("NLL", True), rel=0.04
    )
    assert Claims(close).between("x", "r", "NLL").word == "equivalent"


def test_the_rows_that_would_decide_decide():
    value, error, q = 0.002, 0.004, 3.0
    needed = rows_to_decide(1000, value, error, q, 0.001)
    exact = 1000 * ((q + NormalDist().inv_cdf(0.8)) * error / value) ** 2
    assert exact <= needed <= 1.1 * exact and needed == float(f"{needed:.1e}")
    # With so many rows, four of five test sets show a difference of this size.
    smaller = error * math.sqrt(1000 / exact)
    assert NormalDist(value, smaller).cdf(q * smaller) == pytest.approx(0.2)
    # A difference of 0 is shown to be equivalent by as many as reach the relevant one.
    assert rows_to_decide(1000, 0.0, error, q, 0.001) == pytest.approx(4 * exact, rel=0.1)
    assert math.isnan(rows_to_decide(1000, 0.0, error, q, 0.0))


def test_the_relevant_difference_can_be_changed():
    made = scored([0.5, 0.5], [0.001] * 2)
    assert Claims(made).between("a", "r", "NLL").word == "undecided"
    assert Claims(made, relevant={"NLL": 0.02}).between("a", "r", "NLL").word == "equivalent"
    assert Claims(made, relevant={"Brier": 0.02}).between("a", "r", "NLL").word == "undecided"


def test_the_noise_of_bins_is_taken_off_in_squares():
    rng = np.random.default_rng(0)
    plain, less = [], []
    for _ in range(100):
        p = rng.random(1000)
        one = evaluate(np.stack([1 - p, p], axis=1), (rng.random(1000) < p).astype(int)).seen(EVENT)
        plain.append(scores(one)["ECE"])
        less.append(
            without_noise(
                plain[-1],
                bins_of_ece(*one.pair, Groups(np.zeros(1000, dtype=int), 1), np.ones(1000))[0],
            )
        )
    assert np.mean(plain) > 0.03 and np.mean(less) < 0.4 * np.mean(plain)
    bins = np.array([[100.0, 90.0, 50.0], [100.0, 30.0, 30.0]])
    noise = np.sqrt(2 / np.pi) * np.mean(
        [np.sqrt(a * (1 - a) / 100) for a in (50.5 / 101, 30.5 / 101)]
    )
    assert without_noise(0.2, bins) == pytest.approx(np.sqrt(0.04 - noise**2))
    assert without_noise(0.01, bins) == 0.0


def test_what_changes_in_no_row_is_unchanged():
    """It had the interval of the smallest standard error, ±.035 points of an accuracy that cannot change."""
    logits, labels = simulate(n=400, n_classes=3)
    raw, half = (evaluate(softmax(each), labels) for each in (logits, logits / 2))
    claims = Claims({"raw": scored_on(raw), "half": scored_on(half)})
    accuracy, nll = (claims.between("half", "raw", key) for key in ("accuracy", "NLL"))
    assert (accuracy.value, accuracy.low, accuracy.high, accuracy.word) == (
        0.0,
        0.0,
        0.0,
        "equivalent",
    )
    assert nll.low < nll.value < nll.high


@pytest.mark.parametrize(
    "relevant", [["NLL"], {"nonsense": 0.1}, {"NLL": "a"}, {"NLL": -1}, {"NLL": math.inf}]
)
def test_a_relevant_difference_is_a_number_for_a_score(relevant):
    with pytest.raises(
        CalibrationError, match=r"relevant is a|nonsense|relevant difference of NLL=.* must"
    ):
        relevant_differences(relevant)
