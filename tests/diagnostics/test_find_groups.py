"""Groups that are looked for: against loops over all of them, and how often none and one is found."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import beta, ttest_1samp

import calib
from calib.diagnostics.find_groups import find_groups
from calib.errors import CalibrationError


def simulated(
    seed: int, gap: float, n: int = 5000
) -> tuple[np.ndarray, np.ndarray, dict[str, np.ndarray]]:
    """Confidences of 90 % on average, too high by the gap in one of 12 topics, of 8 % of the rows; 5 other columns."""
    generator = np.random.default_rng(seed)
    topic = generator.choice(list("abcdefghijkl"), n, p=[0.08] + [0.92 / 11] * 11)
    confidence = generator.beta(9, 1, n)
    right = generator.random(n) < confidence - gap * (topic == "a")
    return (
        confidence,
        right,
        {f"x{k}": generator.normal(size=n) for k in range(5)} | {"topic": topic},
    )


def test_groups_and_their_intervals_are_those_of_a_loop() -> None:
    generator = np.random.default_rng(1)
    n = 1500
    sex, site = generator.choice(["f", "m"], n), generator.integers(0, 4, n)
    p = generator.uniform(0, 1, n)
    y = generator.random(n) < np.clip(p - 0.25 * ((sex == "f") & (site == 2)), 0, 1)
    found = find_groups(p, y, {"sex": sex, "site": site}, least_rows=100)
    one = {
        f"{name} = {value}": of == value
        for name, of in (("sex", sex), ("site", site))
        for value in np.unique(of)
    }
    two = {
        f"{first} and {second}": one[first] & one[second]
        for first, second in combinations(one, 2)
        if first.startswith("sex") and second.startswith("site")
    }
    two = {name: rows for name, rows in two.items() if rows.sum() >= 100}
    assert found.n_judged == len(one) + len(two)
    (group,) = found.groups
    assert group.name == "sex = f and site = 2"
    rows = two[group.name]
    k, m, error = int(y[rows].sum()), int(rows.sum()), 0.2 * 0.05 / len(two) / 2
    low, high = beta.ppf(error, k, m - k + 1), beta.ppf(1 - error, k + 1, m - k)
    assert group.rows == m
    assert group.gap == pytest.approx(
        (p[rows].mean() - k / m, p[rows].mean() - high, p[rows].mean() - low)
    )
    assert found.average.value == pytest.approx(p.mean() - y.mean())
    assert (
        str(found).startswith(found.sentence)
        and "sex = f and site = 2" in str(found).splitlines()[-1]
    )


def test_numbers_have_their_tenths_and_missing_values_are_a_group() -> None:
    generator = np.random.default_rng(2)
    age = generator.integers(18, 90, 4000).astype(float)
    age[:400] = np.nan
    p = generator.uniform(0.5, 1, 4000)
    table = pd.DataFrame({"age": age})
    missing = find_groups(p, generator.random(4000) < p - 0.2 * np.isnan(age), table)
    assert [group.name for group in missing.groups] == ["age missing"]
    assert missing.groups[0].rows == 400
    old = find_groups(p, generator.random(4000) < p - 0.2 * (age > 82), table)
    edge = np.quantile(age[400:], 0.9, method="inverted_cdf")
    assert old.groups[0].name == f"age > {edge:g}"
    assert old.groups[0].rows == (age > edge).sum()


def test_classes_arrays_and_known_groups_are_taken() -> None:
    generator = np.random.default_rng(3)
    probs = generator.dirichlet([3, 2, 1], 3000)
    labels = np.array([generator.choice(3, p=p) for p in probs])
    group = generator.choice(["north", "south"], 3000)
    labels[(group == "south") & (generator.random(3000) < 0.4)] = 0
    found = find_groups(probs[:, 0], labels == 0, group)
    assert {each.name for each in found.groups} == {"south"} and found.groups[0].gap.high < 0
    assert found.groups[0].predicted == pytest.approx(probs[group == "south", 0].mean())
    confidence, right, columns = simulated(0, 0.2)
    top = find_groups(
        np.column_stack([confidence, 1 - confidence]),
        1 - right,
        np.column_stack([columns["topic"] == "a"]),
    )
    assert [each.name for each in top.groups] == ["feature 1 = True"]
    assert calib.find_groups is find_groups


def test_a_group_that_is_off_only_by_rows_of_another_is_left_out() -> None:
    confidence, right, columns = simulated(0, 0.4)
    found = find_groups(confidence, right, columns)
    assert [group.name for group in found.groups] == [
        "topic = a"
    ]  # not also "x0 > 0", nor "topic = a and x0 > 0"
    assert len(find_groups(confidence, right, columns, most=1).groups) == 1


def test_what_cannot_be_looked_at_says_why() -> None:
    with pytest.raises(CalibrationError, match=r"age has shape \(2,\) for 3 rows"):
        find_groups([0.1, 0.2, 0.3], [0, 1, 0], {"age": [1, 2]})
    with pytest.raises(CalibrationError, match="no column"):
        find_groups([0.1, 0.2, 0.3], [0, 1, 0], {})
    with pytest.raises(CalibrationError, match=r"groups has shape \(\) for 3 rows"):
        find_groups([0.1, 0.2, 0.3], [0, 1, 0], None)
    for option in ({"most": 0}, {"least_rows": "a"}):
        (name,) = option
        with pytest.raises(CalibrationError, match=f"^{name}=.* must "):
            find_groups([0.1, 0.2, 0.3], [0, 1, 0], {"age": [1, 2, 3]}, **option)
    few = find_groups([0.1, 0.2, 0.3], [0, 1, 0], {"age": [1, 2, 3]})
    assert not few.groups and few.n_judged == 0 and "no group has enough rows" in few.sentence


@pytest.mark.parametrize("n", [12, pytest.param(200, marks=pytest.mark.long)])
def test_a_calibrated_model_is_rarely_accused_and_a_group_that_is_off_is_found(n: int) -> None:
    claimed = sum(bool(find_groups(*simulated(1000 + seed, 0.0)).groups) for seed in range(n))
    assert claimed <= 0.05 * n
    found = [find_groups(*simulated(seed, 0.08)).groups for seed in range(n)]
    assert np.mean(
        [any("topic = a" in group.name for group in groups) for groups in found]
    ) > 0.8 - 0.4 / np.sqrt(n)


@pytest.mark.long
def test_rare_events_in_small_groups_are_not_taken_for_a_gap() -> None:
    """Where normal intervals fail: 1 % events, so that a group of 50 rows has none or a few."""
    generator, claimed = np.random.default_rng(9), 0
    for _ in range(100):
        p = generator.beta(0.5, 50, 4000)
        site = generator.integers(0, 60, 4000)
        columns = {"site": site, "x": generator.normal(size=4000)}
        claimed += bool(find_groups(p, generator.random(4000) < p, columns).groups)
    assert claimed <= 0.05 * 100


def test_a_column_without_a_value_is_one_group() -> None:
    confidence, right, columns = simulated(0, 0.0)
    found = find_groups(confidence, right, columns | {"empty": np.full(len(right), np.nan)})
    assert found.n_judged == find_groups(confidence, right, columns).n_judged


def clustered(
    seed: int, n_clusters: int, gap: float = 0.0
) -> tuple[np.ndarray, np.ndarray, dict[str, np.ndarray]]:
    """Calibrated over clusters of uneven size whose log-odds differ by .4, beside columns of whole clusters."""
    generator = np.random.default_rng(seed)
    cluster = generator.choice(n_clusters, 2400, p=generator.dirichlet(np.full(n_clusters, 2.0)))
    log_odds = 0.5 + generator.normal(size=2400)
    nodes, weights = np.polynomial.hermite_e.hermegauss(31)
    p = 1 / (1 + np.exp(-log_odds[:, None] - 0.4 * nodes)) @ (weights / weights.sum())
    effect = 0.4 * generator.normal(size=n_clusters)[cluster]
    columns = {
        "region": (np.arange(n_clusters) % 3)[cluster],
        "sex": generator.integers(0, 2, 2400),
        "cluster": np.array([f"c{k}" for k in range(n_clusters)])[cluster],
    }
    right = generator.random(2400) < 1 / (1 + np.exp(-log_odds - effect)) - gap * (
        columns["sex"] == 1
    )
    return p, right, columns


def test_ends_of_a_gap_are_those_of_the_t_test_of_cluster_sums() -> None:
    p, y, columns = clustered(0, 60, gap=0.2)
    found = find_groups(p, y, {"sex": columns["sex"]}, clusters=columns["cluster"])
    (group,) = found.groups
    assert group.name == "sex = 1"
    inside = columns["sex"] == 1
    for end in (group.gap.low, group.gap.high):
        residuals = pd.Series((p - y - end)[inside]).groupby(columns["cluster"][inside]).sum()
        assert ttest_1samp(residuals, 0.0).pvalue == pytest.approx(0.8 * 0.05 / 2)


def test_a_row_of_each_cluster_has_at_least_the_interval_of_independent_rows() -> None:
    confidence, right, columns = simulated(0, 0.3)
    alone = find_groups(confidence, right, columns).groups[0]
    group = find_groups(confidence, right, columns, clusters=np.arange(5000)).groups[0]
    assert group.name == alone.name and group.gap.value == alone.gap.value
    assert group.gap.low <= alone.gap.low and group.gap.high >= alone.gap.high
    assert group.gap.high - group.gap.low < 1.2 * (alone.gap.high - alone.gap.low)


def test_groups_within_a_cluster_are_not_judged() -> None:
    p, y, columns = clustered(0, 12)
    found = find_groups(p, y, {"cluster": columns["cluster"]}, clusters=columns["cluster"])
    assert not found.groups and found.n_judged == 0


@pytest.mark.parametrize("n", [20, pytest.param(200, marks=pytest.mark.long)])
@pytest.mark.parametrize("n_clusters", [12, 60])
def test_groups_of_whole_clusters_are_rarely_accused(n: int, n_clusters: int) -> None:
    claimed = 0
    for seed in range(n):
        p, y, columns = clustered(seed, n_clusters)
        claimed += bool(find_groups(p, y, columns, clusters=columns["cluster"]).groups)
    assert claimed <= 0.05 * n
