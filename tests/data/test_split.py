"""No row is lost or taken twice; sizes are exact and frequencies kept, as far as clusters, which stay whole, allow.

The same arrays through any format are the same data set; the hash says so, and says when they are not.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calib.data import DataError, Predictions, load
from calib.data.split import describe_clusters

CLASSES = st.lists(st.integers(0, 5), min_size=2, max_size=60)


def dataset(labels, **more):
    labels = np.asarray(labels)
    logits = np.arange(len(labels) * 6, dtype=float).reshape(-1, 6)
    return Predictions(
        logits=logits, labels=labels, class_names=tuple("abcdef"), sha256="x", **more
    )


def clustered(labels, clusters, **more):
    return dataset(labels, clusters=np.array([f"c{c}" for c in clusters]), **more)


def row_numbers(part):
    return (part.logits[:, 0] / 6).astype(int)


@settings(deadline=None, max_examples=80)
@given(CLASSES, st.data(), st.integers(0, 3))
def test_a_count_is_exact_a_fraction_rounded_and_every_row_in_one_part(labels, data, seed):
    part = data.draw(st.one_of(st.integers(1, len(labels) - 1), st.floats(0.01, 0.99)))
    calibration, test = dataset(labels).split(part, random_state=seed)
    rounded = min(max(round(part * len(labels)), 1), len(labels) - 1)
    assert len(calibration) == (part if isinstance(part, int) else rounded)
    together = np.concatenate([row_numbers(calibration), row_numbers(test)])
    np.testing.assert_array_equal(np.sort(together), np.arange(len(labels)))
    np.testing.assert_array_equal(calibration.labels, np.asarray(labels)[row_numbers(calibration)])


@settings(deadline=None, max_examples=40)
@given(st.lists(st.integers(4, 30), min_size=2, max_size=6), st.integers(0, 3))
def test_frequencies_are_kept_to_one_row(counts, seed):
    labels = np.repeat(np.arange(len(counts)), counts)
    calibration, _ = dataset(labels).split(0.5, random_state=seed)
    found = np.bincount(calibration.labels, minlength=len(counts))
    assert (np.abs(found - np.array(counts) * len(calibration) / len(labels)) <= 1).all()


def test_the_given_split_is_taken_unless_it_splits_nothing():
    split = np.array([True, False, True, False, False])
    calibration, _ = dataset([0, 1, 0, 1, 1], given_split=split).split()
    assert row_numbers(calibration).tolist() == [0, 2]
    assert calibration.given_split.all()
    assert len(calibration.split()[0]) == 1, (
        "a part is split by half, since its own split marks all of it"
    )
    assert len(dataset([0, 1, 0, 1], given_split=split[:4]).split(3)[0]) == 3


def test_parts_carry_all_that_goes_by_rows_and_share_the_training_set(rng):
    n = 20
    train = rng.normal(size=(7, 2))
    groups, features = np.array([f"g{i}" for i in range(n)]), np.arange(n * 2.0).reshape(n, 2)
    data = dataset(
        [0, 1] * 10,
        groups=groups,
        features=features,
        train_features=train,
        train_labels=np.arange(7),
    )
    calibration, test = data.split(8)
    for part in (calibration, test):
        np.testing.assert_array_equal(part.groups, groups[row_numbers(part)])
        np.testing.assert_array_equal(part.features, features[row_numbers(part)])
        assert part.train_features is train and part.class_names == data.class_names
    assert len({data.sha256, calibration.sha256, test.sha256}) == 3
    assert data.split(8)[0].sha256 == calibration.sha256 != data.split(8, random_state=1)[0].sha256


@pytest.mark.parametrize(
    "part",
    [0, 1.0, 0.0, -1, 4, 1.5, "half", True, [0, 0], [4], [-1], [], [0, 1, 2, 3], [0.5], [[0, 1]]],
)
def test_parts_that_cannot_be_are_refused(part):
    with pytest.raises(DataError, match="row"):
        dataset([0, 1, 0, 1]).split(part)


def test_the_hash_knows_every_cell(make):
    reference = load(make.both()).sha256
    logits, labels = make.logits.copy(), make.labels.copy()
    logits[299, 3] = np.nextafter(logits[299, 3], 99)
    labels[0] = (labels[0] + 1) % 4
    split, groups = np.arange(300) < 9, np.arange(300) % 2
    changed = [{"logits": logits}, {"labels": labels}, {"split": split}, {"groups": groups}]
    others = [load(make.both(**arrays)).sha256 for arrays in changed]
    assert (
        len({reference, *others, load(make.both(), class_names=("a", "b", "c", "d")).sha256}) == 6
    )
    assert load(make.both()).sha256 == reference


@settings(deadline=None, max_examples=40)
@given(CLASSES.filter(lambda labels: len(labels) > 3), st.integers(0, 3))
def test_of_three_parts_the_first_is_that_of_a_split_and_no_row_is_in_two(labels, seed):
    data = dataset(labels)
    parts = data.three_parts(0.4, seed, decision=0.5)
    np.testing.assert_array_equal(row_numbers(parts[0]), row_numbers(data.split(0.4, seed)[0]))
    together = np.concatenate([row_numbers(part) for part in parts])
    np.testing.assert_array_equal(np.sort(together), np.arange(len(labels)))
    assert all(len(part) for part in parts) and abs(len(parts[1]) - len(parts[2])) <= 1


def test_three_parts_are_of_whole_clusters_and_keep_a_split_that_came_with_the_data():
    labels = np.tile([0, 1, 2], 200)
    clusters = np.repeat(np.arange(60), 10)
    parts = dataset(labels, clusters=clusters).three_parts(0.5, 1)
    groups = [set(part.clusters.tolist()) for part in parts]
    assert sum(map(len, groups)) == len(set.union(*groups)) == 60
    given = np.arange(600) < 250
    calibration, decision, judgement = dataset(labels, given_split=given).three_parts()
    np.testing.assert_array_equal(row_numbers(calibration), np.arange(250))
    assert len(decision) == len(judgement) == 175
    with pytest.raises(DataError, match="2 clusters"):
        dataset(labels, clusters=np.repeat(np.arange(4), 150)).three_parts()
    with pytest.raises(DataError, match="cannot be taken"):
        dataset([0, 1]).three_parts(1)


# Whole clusters.

SIZES = st.lists(st.integers(1, 9), min_size=4, max_size=15)


@settings(deadline=None, max_examples=30)
@given(SIZES, st.data(), st.integers(0, 3))
def test_no_cluster_is_on_both_sides_and_no_row_is_lost(sizes, data, seed):
    clusters = data.draw(st.permutations(np.repeat(np.arange(len(sizes)), sizes).tolist()))
    n = len(clusters)
    labels = data.draw(st.lists(st.integers(0, 2), min_size=n, max_size=n))
    asked = data.draw(st.integers(1, n - 1))
    whole = clustered(labels, clusters)
    calibration, test = whole.split(asked, random_state=seed)
    assert not set(calibration.clusters) & set(test.clusters)
    together = np.concatenate([row_numbers(calibration), row_numbers(test)])
    np.testing.assert_array_equal(np.sort(together), np.arange(n))
    np.testing.assert_array_equal(calibration.clusters, whole.clusters[row_numbers(calibration)])
    assert min(len(set(calibration.clusters)), len(set(test.clusters))) >= 2
    again, _ = whole.split(asked, random_state=seed)
    np.testing.assert_array_equal(row_numbers(again), row_numbers(calibration))


def test_branches_of_unequal_size_and_rate_give_about_half_of_the_rows_and_of_the_events(rng):
    clusters = np.repeat(np.arange(60), rng.integers(20, 120, 60))
    rate = np.clip(rng.normal(0.08, 0.04, 60), 0.01, 0.3)
    labels = (rng.random(len(clusters)) < rate[clusters]).astype(int)
    shares, firsts = [], set()
    for seed in range(20):
        calibration, _ = clustered(labels, clusters).split(0.5, random_state=seed)
        assert abs(len(calibration) - len(labels) / 2) <= 0.01 * len(labels)
        shares.append(calibration.labels.sum() / labels.sum())
        firsts.add(frozenset(calibration.clusters))
    assert max(abs(np.array(shares) - 0.5)) < 0.02
    assert len(firsts) == 20, "every seed draws other clusters"


def test_fewer_than_two_clusters_for_each_part_are_refused_with_a_way_out():
    data = clustered([0, 1] * 12, np.arange(24) % 3)
    with pytest.raises(DataError) as refused:
        data.split(0.5)
    (finding,) = refused.value.findings
    assert (finding.code, finding.fix) == ("few_clusters", {"clusters": ""})
    assert "24" in finding.message and finding.action


def test_rows_by_hand_and_the_given_split_stay_and_clusters_in_both_parts_are_counted():
    given_split = np.array([True, False] * 6)
    data = clustered([0, 1] * 6, np.repeat(np.arange(6), 2), given_split=given_split)
    calibration, test = data.split()
    np.testing.assert_array_equal(row_numbers(calibration), np.flatnonzero(given_split))
    assert describe_clusters(calibration.clusters, test.clusters).startswith("6 of 6 clusters")
    calibration, test = data.split([0, 1, 2])
    assert describe_clusters(calibration.clusters, test.clusters).startswith("1 of 6 clusters")
