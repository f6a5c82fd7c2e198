"""Rows without outcome or outputs are left out and named, never filled; what stays missing beside them is said."""

from __future__ import annotations

import numpy as np
import pytest

from calib.data import inspect, load
from tests.data.conftest import check_repeatable, the


def with_gaps(make, **gaps):
    """The table with the cells of some rows empty, by column."""
    frame = make.frame().astype(object)
    for column, rows in gaps.items():
        frame.loc[rows, column] = None
    return frame


@pytest.mark.parametrize("write", ["csv", "parquet"])
def test_rows_without_outcome_or_outputs_are_left_out_by_reason_and_named(make, write):
    frame = with_gaps(make, label=[2, 16, 41], p_1=[7], p_3=[7, 9]).astype(float)
    path = getattr(make, write)(frame)
    found = inspect(path)
    data = found.predictions
    gone = [2, 7, 9, 16, 41]
    np.testing.assert_array_equal(data.labels, np.delete(make.labels, gone))
    np.testing.assert_allclose(data.logits, np.log(np.delete(make.probs, gone, axis=0)), rtol=1e-12)
    said = {f.message for f in data.findings if (f.code, f.level) == ("rows_left_out", "warning")}
    assert len(said) == 2
    assert any(
        "no outputs" in text and "rows 8, 10" in text and "2 rows of 300" in text for text in said
    )
    assert any("no label" in text and "rows 3, 17, 42" in text for text in said)
    check_repeatable(path)


def test_where_most_rows_would_go_it_is_asked(make):
    path = make.csv(with_gaps(make, label=range(151)))
    error = inspect(path).findings[0]
    assert (error.level, error.code, error.fix) == (
        "error",
        "mostly_missing",
        {"drop_bad_rows": True},
    )
    assert "151 rows of 300 have no label" in error.message and error.message.count("151") == 1
    assert len(load(path, **error.fix)) == 149
    assert len(load(make.csv(with_gaps(make, label=range(150))))) == 150


def test_values_with_which_no_method_can_compute_are_refused(make):
    logits = make.logits.copy()
    logits[3, 1] = -1e300
    error = inspect(make.both(logits)).findings[0]
    assert (error.code, "1 value that is infinite or beyond 1e+100" in error.message) == (
        "not_finite",
        True,
    )
    assert len(load(make.both(logits), **error.fix)) == 299
    logits[7] = np.nan, np.inf, np.inf, 0
    assert (
        "2 rows of 300: 1 NaN and 3 values that are infinite"
        in inspect(make.both(logits)).findings[0].message
    )
    assert "values beyond 1e+100" in inspect(make.both(make.logits * 1e300)).findings[0].message
    masked = np.where(
        np.arange(4) == 3, np.finfo(np.float32).min, make.logits
    )  # as programs mask a class
    assert len(load(make.both(masked))) == 300


def test_a_missing_cluster_is_a_cluster_of_its_own_and_a_missing_group_is_one_group(make):
    clusters = np.array([f"c{i % 9}" for i in range(300)], dtype=object)
    groups = np.array([f"g{i % 3}" for i in range(300)], dtype=object)
    clusters[[3, 8]] = None
    groups[[5, 6, 7]] = None
    data = load(make.csv(make.frame(cluster=clusters, group=groups)))
    assert len(data) == 300
    assert len(set(data.clusters)) == 11 and data.clusters[3] != data.clusters[8]
    assert set(data.groups[[5, 6, 7]]) == {"(missing)"} and len(set(data.groups)) == 4
    assert "2 rows of 300" in the(data, "clusters_missing").message
    assert "3 rows of 300" in the(data, "groups_missing").message


def test_weights_with_gaps_are_left_out_as_a_whole_and_their_rows_named(make):
    weights = np.arange(1.0, 301.0)
    weights[[1, 4]] = np.nan
    data = load(make.csv(make.frame(sample_weight=weights)))
    assert data.weights is None and len(data) == 300
    assert "rows 2, 5" in the(data, "weights").message
    assert [role.role for role in data.roles if role.column == "sample_weight"] == ["ignore"]


@pytest.mark.parametrize("word", ["N/A", "unknown", "?", "NaN", ""])
def test_a_word_for_no_outcome_beside_yes_and_no_is_a_missing_one(word):
    lines = [f"{('No', 'Yes')[k % 2]},{0.1 + 0.02 * (k % 40)}" for k in range(200)] + [
        f"{word},0.5"
    ] * 20
    data = load(("table.csv", "\n".join(["had_stroke,stroke_prob", *lines]).encode()))
    assert len(data) == 200
    assert data.class_names == ("No", "Yes") and data.event.column == 1
    assert any(
        "20" in finding.message and "left out" in finding.message for finding in data.findings
    )
