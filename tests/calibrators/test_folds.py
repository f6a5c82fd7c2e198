"""Folds of calibration rows, and the strength of a penalty that they choose."""

from __future__ import annotations

import numpy as np
import pytest

import calib
from calib.calibrators import _folds
from calib.calibrators._folds import FEWEST, FOLDS, choose_strength, fold_of_rows, standard_error
from calib.errors import FitCancelled
from calib.numerics import softmax
from tests.conftest import simulate


def test_folds_are_as_large_and_leave_the_classes_to_chance():
    folds = fold_of_rows(100)
    assert np.ptp(np.bincount(folds)) == 0
    together = (folds[::2] == folds[1::2]).mean()
    assert 0.05 < together < 0.4  # one pair in five, as classes of two rows are; spread over the folds, none would be
    assert (fold_of_rows(100, random_state=1) != folds).any()


def test_other_names_of_the_clusters_give_the_same_folds():
    rng = np.random.default_rng(0)
    clusters, names = rng.integers(0, 30, size=90), rng.permutation(30)
    np.testing.assert_array_equal(fold_of_rows(90, clusters=clusters), fold_of_rows(90, clusters=names[clusters]))


def test_clusters_stay_whole():
    rng = np.random.default_rng(0)
    clusters = rng.integers(0, 40, size=300)
    folds = fold_of_rows(300, clusters=clusters.astype(str))
    assert all(len(set(folds[clusters == c])) == 1 for c in range(40))
    assert set(folds) == set(range(FOLDS))


def test_clusters_of_one_row_are_rows():
    labels = np.random.default_rng(0).integers(0, 3, size=50)
    np.testing.assert_array_equal(fold_of_rows(len(labels), clusters=np.arange(50)), fold_of_rows(len(labels)))


def test_the_standard_error_is_that_of_a_mean_and_of_cluster_means():
    values = np.random.default_rng(0).normal(size=60)
    assert standard_error(values) == pytest.approx(values.std(ddof=1) / np.sqrt(60))
    # Three copies of each row are no more rows.
    assert standard_error(np.repeat(values, 3), np.repeat(np.arange(60), 3)) == pytest.approx(standard_error(values))


def powers(fitted_to: list[int] | None = None):
    """Fits that divide logits by the strength whatever the rows are, and by 1 in place of temperature scaling."""

    def start(logits, labels):
        if fitted_to is not None:
            fitted_to.append(len(labels))
        return lambda strength: lambda held: softmax(held / (1 if strength is None else strength))

    return start


def test_the_strength_of_least_held_out_loss_is_chosen_and_the_search_ends_behind_it():
    logits, labels = simulate(500, 3, scale=2.0)
    steps, sizes = [], []
    choice = choose_strength(
        [8.0, 4.0, 2.0, 1.0, 0.5, 0.25], powers(sizes), logits, labels, lambda *step: steps.append(step)
    )
    assert choice.strength == 2.0
    assert choice.tried == (8.0, 4.0, 2.0, 1.0, 0.5)
    assert sizes == [400] * FOLDS
    assert [number for number, _, _ in steps] == list(range(1, 6 * FOLDS + 1))
    rows = np.arange(500)
    loss = {t: -np.log(softmax(logits / t)[rows, labels]) for t in (1.0, 2.0, 4.0)}
    assert choice.baseline == pytest.approx(loss[1.0].mean())
    assert choice.losses[1:4] == pytest.approx([loss[t].mean() for t in (4.0, 2.0, 1.0)])
    difference = loss[1.0] - loss[2.0]
    assert (choice.gain, choice.error) == pytest.approx((difference.mean(), difference.std(ddof=1) / np.sqrt(500)))
    assert choice.note.startswith("The penalty is 2: ")
    assert (
        f"{choice.gain:.4f} nats lower than temperature scaling has, with a standard error of {choice.error:.4f}."
        in choice.note
    )


def test_temperature_is_kept_within_the_standard_error():
    logits, labels = simulate(60, 3, scale=1.0, seed=3)
    choice = choose_strength([1.02], powers(), logits, labels, lambda *step: None)
    assert choice.strength is None
    assert choice.gain <= choice.error
    assert f"{choice.gain:.4f} nats lower than it has, with a standard error of {choice.error:.4f}." in choice.note
    # The same rows many times over are certain of the same gain, unless it is said that they belong together.
    if choice.gain <= 0:
        pytest.fail("the example needs a small gain")
    many, groups = np.repeat(logits, 50, axis=0), np.repeat(np.arange(60), 50)
    often = choose_strength([1.02], powers(), many, np.repeat(labels, 50), lambda *step: None)
    assert often.strength == 1.02
    grouped = choose_strength([1.02], powers(), many, np.repeat(labels, 50), lambda *step: None, clusters=groups)
    assert grouped.strength is None
    assert grouped.gain == pytest.approx(often.gain)


def test_too_few_rows_or_clusters_choose_nothing():
    logits, labels = simulate(FEWEST, 3)
    assert choose_strength([1.0], powers(), logits[1:], labels[1:], lambda *step: None).tried == ()
    clusters = np.arange(FEWEST) % (FOLDS - 1)
    choice = choose_strength([1.0], powers(), logits, labels, lambda *step: None, clusters=clusters)
    assert choice.strength is None
    assert f"{FEWEST} rows and {FOLDS} clusters" in choice.note
    assert choose_strength([1.0], powers(), logits, labels, lambda *step: None).tried == (1.0,)


def test_of_very_many_outputs_some_rows_choose(monkeypatch):
    logits, labels = simulate(600, 3, scale=2.0)
    clusters = np.arange(600) // 3
    monkeypatch.setattr(_folds, "MOST_ENTRIES", 900)
    drawn = []

    def start(train, of_train):
        drawn.append(np.bincount(of_train, minlength=3))
        return powers()(train, of_train)

    assert choose_strength([2.0], start, logits, labels, lambda *step: None).strength == 2.0
    assert len(drawn) == FOLDS
    for counts in drawn:  # half of the rows, four fifths of these; classes as they come
        assert counts.sum() == 240
        np.testing.assert_allclose(counts, 0.4 * np.bincount(labels), atol=25)
    drawn.clear()
    choose_strength([2.0], start, logits, labels, lambda *step: None, clusters=clusters)
    assert {counts.sum() % 3 for counts in drawn} == {0}


def test_a_callback_can_cancel():
    def cancel(*step):
        raise FitCancelled

    with pytest.raises(FitCancelled):
        choose_strength([1.0], powers(), *simulate(30, 3), cancel)


@pytest.mark.parametrize("name", ["order_preserving", "dirichlet", "structured_matrix"])
def test_a_method_keeps_clusters_whole(name):
    """Each row ten times over: on its own it shows its copies' labels, as one cluster it does not."""
    logits, labels = simulate(40, 8)
    many, of_many, clusters = np.repeat(logits, 10, axis=0), np.repeat(labels, 10), np.repeat(np.arange(40), 10)
    leaked = calib.calibrator(name, strength="folds").fit(many, of_many)
    whole = calib.calibrator(name, strength="folds").fit(many, of_many, clusters=clusters)
    assert leaked.penalty_ > 0
    assert whole.penalty_ == 0
    assert "Temperature scaling is kept" in whole.notes()[-1]
