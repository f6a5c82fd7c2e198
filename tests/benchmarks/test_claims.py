"""The simulation of claims: its populations are what they are said to be, and it counts rightly."""

import numpy as np
import pytest

from benchmarks import claims
from benchmarks.claims import is_false
from benchmarks.populations import alike, better, overconfident, sharper
from calib.metrics.bootstrap import Interval
from tests.conftest import plain_scores


def test_methods_that_are_alike_do_not_differ_by_any_score(rng):
    pool = alike(3, rng)
    truth = pool.truth(["NLL", "Brier", "accuracy", "ECE", "gap", "sharpness"])
    assert set(truth) == {"NLL", "Brier", "accuracy", "ECE", "gap"}
    assert all(np.abs(values).max() < 1e-12 for values in truth.values())
    one, other, *_ = pool.draw(50, rng)
    np.testing.assert_array_equal(one.labels, other.labels)
    assert not np.allclose(one.row_nll, other.row_nll)
    wide = np.mean(overconfident(3, rng).said.max(axis=2))
    assert wide > np.mean(pool.truth_of_rows.max(axis=1)) + 0.05


@pytest.mark.parametrize("gain", [0.003, 0.03])
def test_three_methods_are_better_by_as_much_as_was_asked_for(gain, rng):
    pool = better(gain)(4, rng)
    by_hand = [np.mean(-np.sum(pool.truth_of_rows * np.log(one), axis=1)) for one in pool.said]
    assert by_hand[0] - np.mean(by_hand[1:]) == pytest.approx(gain, abs=1e-9)
    assert pool.truth(["NLL"])["NLL"] == pytest.approx([0, -gain, -gain, -gain], abs=1e-9)
    assert set(pool.truth(["NLL", "ECE"])) == {"NLL"}  # its calibration errors are not known


def test_methods_of_other_sharpness_are_calibrated(rng):
    pool = sharper(2, rng)
    sharpness = pool.said[:, :, 1].var(axis=1)
    assert sharpness[0] < sharpness[1:3].min() and sharpness[1:3].max() < sharpness[3]
    for said in pool.said[:, :, 1]:
        # Given what a method says, the event is as probable: rows that it does not tell apart have it on average.
        _, group = np.unique(np.round(said, 12), return_inverse=True)
        true = np.bincount(group, pool.truth_of_rows[:, 1]) / np.bincount(group)
        np.testing.assert_allclose(true, np.bincount(group, said) / np.bincount(group), atol=1e-9)
    nll = pool.truth(["NLL"])["NLL"]
    assert nll[0] == 0 and nll[3] < nll[1:3].min() < -0.001


@pytest.mark.parametrize(
    ("interval", "truth", "false"),
    [
        ((0.01, 0.02), 0.0, True),
        ((0.01, 0.02), -0.015, True),
        ((0.01, 0.02), 0.015, False),
        ((-0.01, 0.02), 0.0, False),
        ((-0.0005, 0.0005), 0.0, False),
        ((-0.0005, 0.0005), 0.002, True),
    ],
)
def test_what_a_false_claim_is(interval, truth, false):
    assert is_false(Interval(sum(interval) / 2, *interval), truth, 0.001) == false


def test_counts_of_one_test_set():
    generator = np.random.default_rng(0)

    def scored(nll, gap):
        influence = {
            key: 0.001 * generator.normal(size=500) / np.sqrt(500) for key in ("NLL", "gap")
        }
        influence["accuracy"] = np.zeros(500)
        values = {"NLL": nll, "gap": gap, "accuracy": 0.8}
        return plain_scores(values, influence, 1000)

    made = {0: scored(0.5, 0.1), 1: scored(0.4, 0.2), 2: scored(0.4, 0.1)}
    truth = {"NLL": np.array([0.0, -0.1, -0.1]), "gap": np.zeros(3)}
    found = claims.measure(truth, made)
    assert found["NLL"] == {
        "draws": 1,
        "missed": 0,
        "false_alone": 0,
        "false": 0,
        "shown": 2,
        "differing": 2,
    }
    assert found["gap"]["false_alone"] == 1 and found["gap"]["missed"] == 1
    assert found[""] == {"draws": 1, "false": 0}, "a score that claims nothing makes no false claim"
    wrong = claims.measure(truth | {"NLL": np.zeros(3)}, made)
    assert wrong[""]["false"] == 1 and wrong["NLL"]["shown"] == 0
