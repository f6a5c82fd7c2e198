"""Theorem 1 of Wenger et al. 2020, for any data and any binning."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calib import metrics
from calib.diagnostics.theorem import theorem_by_bins, theorem_one

rows = st.lists(
    st.tuples(st.one_of(st.sampled_from([0.0, 0.5, 1.0]), st.floats(0.0, 1.0)), st.booleans()), min_size=1, max_size=60
)
binnings = st.sampled_from(sorted(metrics.BINNINGS))


def pair_of(rows: list[tuple[float, bool]]) -> tuple[np.ndarray, np.ndarray]:
    return np.array([c for c, _ in rows]), np.array([r for _, r in rows])


@given(rows, st.integers(1, 100), binnings)
def test_theorem_1_holds_on_any_data_in_any_bins(rows, n_bins, binning):
    theorem = theorem_one(*pair_of(rows), n_bins, binning)
    assert theorem.gap <= theorem.ece_1 + 1e-12
    assert theorem.ece_1 <= theorem.ece_2 + 1e-12
    assert theorem.ece_2 <= theorem.ece_inf + 1e-12
    assert theorem.p_right + theorem.p_wrong == pytest.approx(1.0)
    assert theorem.gap == abs(theorem.signed_gap)
    assert theorem.chain.tolist() == [theorem.gap, theorem.ece_1, theorem.ece_2, theorem.ece_inf]


@given(rows)
def test_the_signed_gap_is_what_the_proof_says(rows):
    # E[z] - P(right) = o P(wrong) - u P(right), where a mean over nothing has no share (section S1.2).
    theorem = theorem_one(*pair_of(rows))
    over = theorem.over * theorem.p_wrong if theorem.p_wrong else 0.0
    under = theorem.under * theorem.p_right if theorem.p_right else 0.0
    assert theorem.signed_gap == pytest.approx(over - under, abs=1e-12)


def test_theorem_1_is_an_equality_in_a_single_bin():
    theorem = theorem_one(np.array([0.9, 0.7, 0.8]), np.array([True, False, False]), n_bins=1)
    assert theorem.gap == pytest.approx(0.8 - 1 / 3)
    assert theorem.ece_1 == theorem.ece_2 == theorem.ece_inf == pytest.approx(theorem.gap)
    assert theorem.over == pytest.approx(0.75)
    assert theorem.under == pytest.approx(0.1)


@given(rows, binnings)
def test_by_bins_starts_at_the_gap_and_never_falls_below_it(rows, binning):
    chains = theorem_by_bins(*pair_of(rows), binning)
    assert min(chains) == 1
    gap = chains[1].gap
    np.testing.assert_allclose(chains[1].chain, gap, atol=1e-12)
    for n_bins, theorem in chains.items():
        assert theorem == theorem_one(*pair_of(rows), n_bins, binning) or np.isnan([theorem.over, theorem.under]).any()
        assert theorem.gap == gap
        assert theorem.ece_1 >= gap - 1e-12
