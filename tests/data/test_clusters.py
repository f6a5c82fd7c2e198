"""A split keeps clusters whole, loses no row, and is as large and as stratified as they allow."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calib.cli import main
from calib.data import DataError, Predictions, split
from calib.data.split import said_of_clusters, split_rows, stratified_rows


def dataset(labels, clusters, **more):
    logits = np.arange(len(labels) * 3, dtype=float).reshape(-1, 3)
    names = np.array([f"c{c}" for c in clusters])
    return Predictions(logits, np.asarray(labels), tuple("abc"), sha256="x", clusters=names, **more)


def row_numbers(part):
    return (part.logits[:, 0] / 3).astype(int)


SIZES = st.lists(st.integers(1, 9), min_size=4, max_size=15)


@settings(deadline=None, max_examples=80)
@given(SIZES, st.data(), st.integers(0, 3))
def test_no_cluster_is_on_both_sides_and_no_row_is_lost(sizes, data, seed):
    clusters = data.draw(st.permutations(np.repeat(np.arange(len(sizes)), sizes).tolist()))
    n = len(clusters)
    labels = data.draw(st.lists(st.integers(0, 2), min_size=n, max_size=n))
    asked = data.draw(st.integers(1, n - 1))
    whole = dataset(labels, clusters)
    calibration, test = whole.split(asked, random_state=seed)
    assert not set(calibration.clusters) & set(test.clusters)
    together = np.concatenate([row_numbers(calibration), row_numbers(test)])
    np.testing.assert_array_equal(np.sort(together), np.arange(n))
    np.testing.assert_array_equal(calibration.clusters, whole.clusters[row_numbers(calibration)])
    assert min(len(set(calibration.clusters)), len(set(test.clusters))) >= 2
    again, _ = whole.split(asked, random_state=seed)
    np.testing.assert_array_equal(row_numbers(again), row_numbers(calibration))


@settings(deadline=None, max_examples=60)
@given(SIZES, st.data(), st.integers(0, 3))
def test_the_size_is_within_half_a_cluster_of_the_nearest_that_two_for_each_part_allow(sizes, data, seed):
    clusters = np.repeat(np.arange(len(sizes)), sizes)
    asked = data.draw(st.integers(1, len(clusters) - 1))
    calibration, _ = dataset(np.zeros(len(clusters), dtype=int), clusters).split(asked, random_state=seed)
    low, high = sum(sorted(sizes)[:2]), len(clusters) - sum(sorted(sizes)[:2])
    assert abs(len(calibration) - min(max(asked, low), high)) <= max(sizes)


@settings(deadline=None, max_examples=40)
@given(st.lists(st.integers(4, 30), min_size=2, max_size=3), st.integers(0, 3))
def test_clusters_of_one_row_are_split_as_exactly_as_rows(counts, seed):
    labels = np.repeat(np.arange(len(counts)), counts)
    asked = len(labels) // 2
    calibration, _ = dataset(labels, np.arange(len(labels))).split(asked, random_state=seed)
    assert len(calibration) == asked
    found = np.bincount(calibration.labels, minlength=len(counts))
    assert (np.abs(found - np.array(counts) * asked / len(labels)) <= 1).all()


def test_branches_of_unequal_size_and_rate_give_about_half_of_the_rows_and_of_the_events(rng):
    clusters = np.repeat(np.arange(60), rng.integers(20, 120, 60))
    rate = np.clip(rng.normal(0.08, 0.04, 60), 0.01, 0.3)
    labels = (rng.random(len(clusters)) < rate[clusters]).astype(int)
    shares, firsts = [], set()
    for seed in range(20):
        calibration, _ = dataset(labels, clusters).split(0.5, random_state=seed)
        assert abs(len(calibration) - len(labels) / 2) <= 0.01 * len(labels)
        shares.append(calibration.labels.sum() / labels.sum())
        firsts.add(frozenset(calibration.clusters))
    assert max(abs(np.array(shares) - 0.5)) < 0.02
    assert len(firsts) == 20, "every seed draws other clusters"


@pytest.mark.parametrize("n_clusters", [1, 2, 3])
def test_fewer_than_two_clusters_for_each_part_are_refused_with_a_way_out(n_clusters):
    data = dataset([0, 1] * 12, np.arange(24) % n_clusters)
    with pytest.raises(DataError) as refused:
        data.split(0.5)
    (finding,) = refused.value.findings
    assert (finding.code, finding.fix) == ("few_clusters", {"clusters": ""})
    assert "24" in finding.message and finding.action


def test_without_clusters_the_split_is_what_it_was(rng):
    labels = rng.integers(0, 3, 200)
    for seed in range(5):
        for ours, before in zip(split_rows(labels, 0.4, None, seed), stratified_rows(labels, 80, seed), strict=True):
            np.testing.assert_array_equal(ours, before)


def test_rows_by_hand_and_the_given_split_stay_and_clusters_in_both_parts_are_counted():
    given_split = np.array([True, False] * 6)
    data = dataset([0, 1] * 6, np.repeat(np.arange(6), 2), given_split=given_split)
    calibration, test = data.split()
    np.testing.assert_array_equal(row_numbers(calibration), np.flatnonzero(given_split))
    assert said_of_clusters(calibration.clusters, test.clusters).startswith("6 of 6 clusters")
    calibration, test = data.split([0, 1, 2])
    assert said_of_clusters(calibration.clusters, test.clusters).startswith("1 of 6 clusters")


def test_the_sentence_gives_both_sizes_where_they_differ():
    left, right = np.array(["a", "a", "b"]), np.array(["c", "d", "d", "e"])
    assert said_of_clusters(None, None, 3) == ""
    assert "2 for calibration, 3 for the test" in said_of_clusters(left, right, 3)
    assert "asked" not in said_of_clusters(left, right, 3)
    assert "3 calibration rows where 4 were asked for" in said_of_clusters(left, right, 4)


def test_weights_and_clusters_follow_their_rows():
    data = dataset([0, 1, 2] * 8, np.arange(24) // 3, weights=np.arange(24.0), weight_kind="sampling")
    part, _ = data.split(0.5)
    np.testing.assert_array_equal(part.weights, row_numbers(part))
    assert part.weight_kind == "sampling"


def test_rows_read_in_blocks_have_no_clusters_and_say_so(tmp_path, capsys):
    path = tmp_path / "outputs.parquet"
    pd.DataFrame({"p_0": [0.2, 0.8] * 9, "p_1": [0.8, 0.2] * 9, "label": [0, 1] * 9, "q": range(18)}).to_parquet(path)
    fit = ["fit", str(path), "--method", "temperature", "--stream", "--out", str(tmp_path / "c.npz")]
    assert main([*fit, "--read", "clusters=q"]) == 1
    assert "Clusters" in capsys.readouterr().err


def test_very_many_clusters_take_few_orders(monkeypatch):
    labels, clusters = np.arange(4000) % 2, np.arange(4000) // 2
    monkeypatch.setattr(split, "MOST_PLACED", 0)
    calibration, test = split_rows(labels, 1000, None, 0, clusters)
    assert len(calibration) == 1000 and not set(clusters[calibration]) & set(clusters[test])
