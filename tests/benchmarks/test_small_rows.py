"""The benchmark of few calibration rows: what counts as a loss, and its table."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks import small_rows
from benchmarks.small_rows import Entry, scores_of, table
from tests.conftest import simulate


def test_a_split_gives_the_nll_and_its_difference_from_the_raw_models():
    logits, labels = simulate(700, 3)
    (raw,) = scores_of(logits, labels, 100, Entry("raw", "identity"), 1)
    order = np.random.default_rng(0).permutation(700)[100:]
    odds = np.exp(logits[order])
    own = odds[np.arange(600), labels[order]] / odds.sum(axis=1)
    assert raw == (pytest.approx(-np.log(own).mean()), 0.0, 0.0)


def test_what_loses_is_bold():
    generator = np.random.default_rng(0)
    logits = 2.5 * generator.normal(size=(1000, 20))
    labels = np.argmax(logits + generator.gumbel(size=logits.shape), axis=1)
    entries = [entry for entry in small_rows.METHODS if entry.title in ("raw", "histogram, paper")]
    lines = table({"calibrated": (logits, labels)}, [100, 900], entries, 1).splitlines()
    assert "calibrated, 100" in lines[0]
    assert "900" not in lines[0]  # too few rows are left to score
    assert [line.count("**") for line in lines[2:]] == [0, 2]
