from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from calib.calibrators.pooled_scores import Groups, even_cuts, group_ties, merge_violators, pool

PAIRS = st.lists(st.tuples(st.sampled_from([-7.5, -1.0, 0.0, 0.5, 2.0, 1e3]), st.booleans()), min_size=1, max_size=40)


@given(PAIRS)
def test_equal_scores_are_one_group(pairs):
    scores, labels = np.array([s for s, _ in pairs]), np.array([float(y) for _, y in pairs])
    groups = group_ties(scores, labels)
    np.testing.assert_array_equal(groups.log_odds, sorted(set(scores)))
    for score, count, hits, misses in zip(
        groups.log_odds, groups.counts, groups.positives, groups.negatives, strict=True
    ):
        assert count == sum(s == score for s, _ in pairs)
        assert hits == sum(y for s, y in pairs if s == score)
        assert misses == count - hits
    assert groups.ends[-1] == len(pairs)


def test_pools_keep_counts_and_mean_scores():
    groups = Groups(np.array([0.0, 1.0, 2.0, 10.0]), np.array([1, 3, 2, 4]), np.array([0.0, 3.0, 1.0, 2.0]))
    pooled = pool(groups, np.array([2]))
    np.testing.assert_allclose(pooled.log_odds, [0.75, 22 / 3])
    np.testing.assert_array_equal(pooled.counts, [4, 6])
    np.testing.assert_array_equal(pooled.positives, [3, 3])


def test_parts_hold_like_shares_of_each_outcome(rng):
    """A rare class at the top of the ranking is not left in one part."""
    scores = rng.normal(size=100_000)
    labels = (scores > 2.5).astype(float)
    groups = group_ties(scores, labels)
    pooled = pool(groups, even_cuts(groups, 20))
    assert len(pooled) == 20
    shares = pooled.positives / labels.sum() + pooled.negatives / (1 - labels).sum()
    np.testing.assert_allclose(shares, 2 / 20, atol=0.003)
    assert (pooled.positives > 0).sum() >= 9


@given(PAIRS.filter(lambda pairs: len({y for _, y in pairs}) == 2), st.integers(1, 8))
def test_cuts_leave_no_part_empty(pairs, n_parts):
    groups = group_ties(np.array([s for s, _ in pairs]), np.array([float(y) for _, y in pairs]))
    cuts = even_cuts(groups, n_parts)
    assert len(cuts) < n_parts or n_parts >= len(groups)
    sizes = np.diff(cuts, prepend=0, append=len(groups))
    assert (sizes > 0).all()


def test_scores_in_the_wrong_order_are_one_group():
    """Two thousand pairs that fall from 0.9 to 0.1 between two that rise: no monotone map could have made them."""
    counts, positives = np.array([100, 1000, 1000, 100]), np.array([5.0, 900.0, 100.0, 95.0])
    merged = merge_violators(Groups(np.arange(4.0), counts, positives))
    np.testing.assert_array_equal(merged.counts, [100, 2000, 100])
    np.testing.assert_array_equal(merged.positives, [5, 1000, 95])
    np.testing.assert_array_equal(merged.log_odds, [0, 1.5, 3])


def test_what_chance_can_do_is_left_alone():
    groups = Groups(np.arange(4.0), np.array([100, 100, 100, 100]), np.array([0.0, 55.0, 45.0, 100.0]))
    np.testing.assert_array_equal(merge_violators(groups).counts, groups.counts)
