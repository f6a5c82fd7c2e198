"""The benchmarks of Bayes-Iso on real data and on the synthetic task of its paper."""

from __future__ import annotations

import sys

import numpy as np
import pandas as pd
import pytest
from scipy.special import logit
from scipy.stats import studentized_range

import calib
from benchmarks import bayes_iso_data as data
from benchmarks import bayes_iso_ranks as ranks
from benchmarks import bayes_iso_real as real
from benchmarks.bayes_iso_table1 import calibration_set, excess, ideal
from calib.data.samples import bayes_iso_map, bayes_iso_scores


def record(model: str, fold: int, **losses: float) -> list[dict[str, object]]:
    """One division of one pair; methods that start with ``f`` are flagged."""
    where = {"data": "d", "model": model, "fold": fold, "size": 100}
    return [
        {**where, "method": method.lstrip("f"), "brier": loss, "flagged": method.startswith("f")}
        for method, loss in losses.items()
    ]


@pytest.fixture
def found() -> pd.DataFrame:
    return pd.DataFrame(
        record("tree", 0, a=0.1, b=0.2, c=0.3)
        + record("tree", 1, fa=0.5, b=0.2, c=0.3)
        + record("bayes", 0, a=0.1, b=0.2, c=0.2)
        + record("svm", 0, fa=0.1, b=0.2, c=0.3)
    )


def test_divisions_of_a_pair_are_averaged_and_wins_counted_by_pair(found):
    losses = ranks.by_pair(found, 100, "brier")
    np.testing.assert_allclose(losses.loc[("d", "tree")], [0.3, 0.2, 0.3])
    assert ranks.win_rate(losses, "a", ["b"]) == pytest.approx(2 / 3)
    assert ranks.win_rate(losses, "b", ["a", "c"]) == pytest.approx(1 / 3)
    assert np.isnan(ranks.win_rate(losses[:0], "a", ["b"]))


def test_a_flagged_division_is_left_out_for_all_methods(found):
    losses = ranks.by_pair(ranks.without_flagged(found, "a"), 100, "brier")
    assert list(losses.index) == [("d", "bayes"), ("d", "tree")]
    np.testing.assert_allclose(losses.loc[("d", "tree")], [0.1, 0.2, 0.3])
    assert len(ranks.without_flagged(found, "b")) == len(found)


def test_equal_losses_share_a_rank(found):
    means = ranks.mean_ranks(ranks.by_pair(found, 100, "brier"))
    np.testing.assert_allclose(means[["a", "b", "c"]], [(1 + 2.5 + 1) / 3, (2.5 + 1 + 2) / 3, (2.5 + 2.5 + 3) / 3])


def test_friedmans_test_tells_an_order_from_chance(rng):
    chance = pd.DataFrame(rng.random((40, 4)), columns=list("abcd"))
    assert ranks.friedman(chance) > 0.05
    assert ranks.friedman(chance + np.arange(4)) < 1e-9


def test_nemenyis_test_is_the_one_of_demsar(rng):
    """Mean ranks differ by more than q sqrt(k (k + 1) / 6 n) for a p value below .05."""
    pytest.importorskip("scikit_posthocs")
    n, k = 30, 5
    losses = pd.DataFrame(rng.random((n, k)) + 0.15 * np.arange(k), columns=list("abcde"))
    means = ranks.mean_ranks(losses).to_numpy()
    critical = studentized_range.ppf(0.95, k, np.inf) / np.sqrt(2) * np.sqrt(k * (k + 1) / (6 * n))
    apart = np.abs(means[:, None] - means) > critical
    np.testing.assert_array_equal(ranks.nemenyi(losses).to_numpy() < 0.05, apart)
    assert apart.any() and not apart.all()


def test_every_row_has_one_use_and_a_training_file_is_only_trained_on():
    whole = data.Task("whole", np.zeros((1000, 2)), np.zeros(1000, dtype=int))
    parted = data.Task("parted", np.zeros((9000, 2)), np.zeros(9000, dtype=int), n_training_pool=4000)
    assert whole.sizes == (100,)
    assert parted.sizes == (100, 1000, 3000)
    for task, lengths in ((whole, (450, 100, 450)), (parted, (3000, 3000, 2000))):
        parts = task.divided(0)
        assert tuple(map(len, parts)) == lengths
        assert len(np.unique(np.concatenate(parts))) == sum(lengths)
        assert not np.array_equal(parts[1], task.divided(1)[1])
    training, calibration, test = parted.divided(0)
    assert training.max() < 4000 <= min(calibration.min(), test.min())


def test_a_classifier_says_more_than_chance():
    (task, *_) = data.tasks()
    training, calibration, _ = task.divided(0)
    for name in ("naive Bayes", "SVM"):
        logits = data.outputs(name, task, training, calibration, 0)
        assert logits.shape == (100, 2)
        assert np.mean(logits.argmax(axis=1) == task.labels[calibration]) > 0.8


@pytest.mark.long
def test_it_runs(monkeypatch, capsys):
    monkeypatch.setattr(real, "tasks", lambda path: list(data.tasks(path))[2::3])
    monkeypatch.setattr(real, "QUICK", ["decision tree", "nearest neighbours"])
    monkeypatch.setattr(sys, "argv", ["bayes_iso_real", "--quick"])
    real.main()
    printed = capsys.readouterr()
    assert "4 at 100, 4 at 1000, 2 at 3000" in printed.out
    assert "digits, odd, decision tree" in printed.err
    tables = [line for line in printed.out.split("\n") if line.startswith("| ---")]
    assert len(tables) == 4
    assert "nan" not in printed.out


def test_draws_are_exactly_balanced():
    logits, labels = calibration_set(100, 3)
    assert logits.shape == (100, 2)
    assert labels.sum() == 50


def test_the_excess_is_what_a_large_test_set_says():
    scores, labels = bayes_iso_scores(300_000, seed=1)
    made = calib.calibrator("platt").fit(*calibration_set(100, 0))
    probs = made.predict_proba(np.stack([np.zeros(len(scores)), logit(scores)], axis=1))[:, 1]
    truth = bayes_iso_map(scores)
    brier = np.mean((probs - labels) ** 2 - (truth - labels) ** 2)
    log_loss = np.mean(np.log(np.where(labels, truth, 1 - truth)) - np.log(np.where(labels, probs, 1 - probs)))
    assert excess(made) == pytest.approx((brier, log_loss), abs=0.001)
    assert log_loss > 0.01


def test_the_ideal_is_the_true_maps_score():
    scores, labels = bayes_iso_scores(300_000, seed=2)
    truth = bayes_iso_map(scores)
    log_loss = -np.mean(np.log(np.where(labels, truth, 1 - truth)))
    assert ideal() == pytest.approx((np.mean((truth - labels) ** 2), log_loss), abs=0.002)


def test_the_ideal_is_the_one_integrated_apart_from_this_code():
    assert ideal() == pytest.approx((0.16205, 0.47403), abs=1e-5)
