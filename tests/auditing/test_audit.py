"""The audit: its numbers against loops and closed forms, and its conclusions on simulated analogues of real sets."""

from __future__ import annotations

import html
import json
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize
from scipy.stats import norm
from sklearn.metrics import roc_auc_score

import calib
from calib.auditing import sentences
from calib.auditing.checks import CHECK_ERROR, Checked, check_level, describe_groups, excludes
from calib.auditing.findings import Audit, Finding, GroupFinding
from calib.auditing.groups import (
    JudgedGroups,
    contrast,
    groups_of_evaluation,
    partition,
    periods,
    rows_in_group,
)
from calib.auditing.make import audit, audit_rows
from calib.auditing.rows import AuditRows, slope_estimate
from calib.calibrators.by_group import fit_affine
from calib.cli import main
from calib.data.loading import from_outputs
from calib.errors import CalibrationError
from calib.evaluation import Evaluation
from calib.metrics.bootstrap import Interval
from calib.metrics.estimate import Estimate
from calib.numerics import log_softmax, sigmoid, softmax
from calib.registry import METHODS, calibrator


def calibrated(rng: np.random.Generator, n: int, k: int = 2) -> tuple[Any, Any]:
    """Probabilities and labels drawn from them."""
    if k == 2:
        p = sigmoid(rng.normal(-1.0, 1.3, n))
        return p, rng.random(n) < p
    probs = softmax(rng.normal(0.0, 1.5, (n, k)))
    return probs, (rng.random(n)[:, None] > probs.cumsum(axis=1)).sum(axis=1).clip(0, k - 1)


def rows_of(probs: Any, labels: Any, **columns: Any) -> AuditRows:
    groups = columns.pop("groups", {})
    return AuditRows.from_predictions(calib.from_outputs(probs, labels), "event", groups)


def clustered(p: Any, happened: Any, region: Any, clusters: Any) -> AuditRows:
    data = replace(calib.from_outputs(p, happened), clusters=clusters.astype(str))
    return AuditRows.from_predictions(data, "event", {"region": region})


def severity(found: Audit) -> dict[str, str]:
    return {finding.check: finding.severity for finding in found.findings}


def test_the_affine_map_is_the_maximum_of_its_likelihood(rng):
    logits = rng.normal(size=(400, 3))
    labels = rng.integers(0, 3, 400)
    labels[:200] = logits[:200].argmax(axis=1)
    weights = rng.uniform(0.5, 2.0, 400)

    def loss(parameters: Any) -> float:
        scores = log_softmax(parameters[0] * logits + parameters[1:])
        own = scores[np.arange(400), labels]
        return float(-weights @ own + 0.5 * parameters[1:] @ parameters[1:])

    best = minimize(loss, [1.0, 0.0, 0.0, 0.0], method="BFGS", options={"gtol": 1e-6})
    fitted = fit_affine(logits, labels, weights)
    np.testing.assert_allclose([fitted.slope, *fitted.offsets], best.x, atol=1e-4)


def test_the_slope_has_the_sandwich_error_of_a_loop(rng):
    probs, labels = calibrated(rng, 500, 4)
    rows = rows_of(probs, labels)
    estimate = slope_estimate(rows.logits, rows.labels, rows.sample)
    slope, scores, curvature = estimate.value, [], 0.0
    for row, label in zip(rows.logits, rows.labels, strict=True):
        p = softmax(slope * row[None])[0]
        scores.append(row[label] - p @ row)
        curvature += p @ row**2 - (p @ row) ** 2
    assert abs(sum(scores)) < 1e-5 * curvature
    error = np.sqrt(500 / 499 * np.square(scores).sum()) / curvature
    assert estimate.error == pytest.approx(error)


@pytest.mark.parametrize("k", [2, 3])
def test_frequencies_leave_each_row_out(rng, k):
    probs, labels = calibrated(rng, 60, k)
    rows = rows_of(probs, labels)
    for i in (0, 7, 33):
        rest = np.delete(rows.labels, i)
        share = (np.bincount(rest, minlength=k) + 0.5) / (59 + k / 2)
        assert rows.frequency_loss[i] == pytest.approx(-np.log(share[rows.labels[i]]))
        own = np.eye(k)[rows.labels[i]]
        difference = np.square(rows.probs[i] - own).sum() - np.square(share - own).sum()
        assert rows.brier_difference[i] == pytest.approx(difference / (2 if k == 2 else 1))


def test_the_level_of_clusters_is_that_of_their_sums(rng):
    p, happened = calibrated(rng, 600)
    clusters = rng.integers(0, 15, 600)
    found = audit(p, happened, clusters=clusters).of("level").estimate
    residual = p - happened
    sums = np.array([(residual - residual.mean())[clusters == c].sum() for c in range(15)])
    error = np.sqrt(15 / 14 * np.square(sums).sum()) / 600
    from scipy.stats import t

    half = t.ppf(0.975, 14) * error
    assert found is not None
    assert [found.value, found.low, found.high] == pytest.approx(
        [residual.mean(), residual.mean() - half, residual.mean() + half]
    )


def test_a_group_differs_from_the_overall_gap_by_its_own_influence(rng):
    p, happened = calibrated(rng, 900)
    column = rng.choice(["north", "south", "west"], 900)
    judged = JudgedGroups.from_rows(rows_of(p, happened, groups={"region": column})).single
    residual = p - happened
    for j in range(3):
        name = judged.finding(j).name
        inside = column == name
        gap = residual[inside].mean()
        added = inside * (residual - gap) / inside.sum() - (residual - residual.mean()) / 900
        m = inside.sum()
        away = np.sqrt(m / (m - 1) * np.square(added).sum())
        assert judged.finding(j).gap.value == pytest.approx(gap)
        assert judged.differences[j] == pytest.approx(gap - residual.mean())
        # The binomial error of the level-shifted predictions is the least that counts.
        assert judged.strength[j] <= abs(judged.differences[j]) / away * (1 + 1e-9)


def test_a_group_of_whole_clusters_has_the_error_of_cluster_sums(rng):
    p, happened = calibrated(rng, 1200)
    clusters = rng.integers(0, 24, 1200)
    happened = rng.random(1200) < sigmoid(np.log(p / (1 - p)) + rng.normal(0, 0.8, 24)[clusters])
    region = np.where(clusters < 12, "north", "south")
    judged = audit(p, happened, groups={"region": region}, clusters=clusters).of("groups")
    assert judged.severity == "fine"
    gap = (p - happened)[region == "north"].mean()
    family = JudgedGroups.from_rows(clustered(p, happened, region, clusters)).single
    own = np.array([(p - happened - gap)[(clusters == c)].sum() for c in range(12)])
    size = (region == "north").sum()
    error = np.sqrt(np.square(own).sum()) / size
    half = family.finding(0).gap.high - gap
    assert half / family.critical["caution"][0] == pytest.approx(error * 1.04, rel=0.05)


def test_columns_become_groups_by_their_values(rng):
    numbers = rng.normal(size=500)
    bins = partition("age", numbers)
    assert bins is not None and len(bins.names) == 5
    assert abs(np.bincount(bins.code) - 100).max() <= 1
    assert partition("name", np.arange(500).astype(str)) is None
    assert partition("site", np.full(500, "a")) is None
    few = partition("flag", np.array([0, 1] * 250))
    assert few is not None and few.names == ("flag 0", "flag 1")


def test_rows_of_a_group_are_those_of_its_name(rng):
    sex = rng.choice(["Female", "Male"], 400)
    race = rng.choice(["Black", "White"], 400)
    groups = {"sex": sex, "race": race}
    inside = rows_in_group(groups, None, ("sex", "race"), "Female × Black")
    np.testing.assert_array_equal(inside, (sex == "Female") & (race == "Black"))
    assert rows_in_group(groups, None, ("sex",), "Other") is None
    assert rows_in_group(groups, None, ("sex", "age"), "Female × 30") is None
    times = np.repeat(["2024-01", "2024-02", "2024-03", "2024-04"], 100)
    inside = rows_in_group(groups, times, ("sex", "time"), "Male × 2024-01")
    np.testing.assert_array_equal(inside, (sex == "Male") & (times == "2024-01"))


def test_all_groups_are_ordered_by_their_gap_and_count_their_events(rng):
    p, happened = calibrated(rng, 2000)
    sex = rng.choice(["Female", "Male"], 2000)
    race = rng.choice(["Black", "White"], 2000)
    rows = rows_of(p, happened, groups={"sex": sex, "race": race})
    ordered = JudgedGroups.from_rows(rows).ordered()
    assert len(ordered) == 8
    assert [group.gap.value for group in ordered] == sorted(group.gap.value for group in ordered)
    pair = next(group for group in ordered if group.name == "Female × White")
    assert pair.columns == ("sex", "race")
    assert pair.events == (happened & (sex == "Female") & (race == "White")).sum()


def test_groups_of_a_calibrator_are_those_of_its_probabilities(rng):
    p, happened = calibrated(rng, 2000)
    sex = rng.choice(["Female", "Male"], 2000)
    part = from_outputs(np.sqrt(p), happened.astype(int))
    part = replace(part, groups=sex)
    raw = calibrator("identity").fit(part.logits, part.labels)
    for view in ("event", "top-label"):
        evaluation = Evaluation.from_predictions(raw, part, view)
        direct = JudgedGroups.from_rows(AuditRows.from_predictions(part, view)).ordered()
        for own, other in zip(groups_of_evaluation(evaluation, part), direct, strict=True):
            assert (own.name, own.rows, own.severity) == (other.name, other.rows, other.severity)
            assert own.gap == pytest.approx(other.gap)


def test_a_group_beside_all_others(rng):
    p, happened = calibrated(rng, 1000)
    sex = rng.choice(["Female", "Male"], 1000)
    age = np.where((sex == "Female") & (rng.random(1000) < 0.5), "young", "old")
    part = replace(from_outputs(p, happened.astype(int)), metadata={"sex": sex, "age": age})
    found = contrast(part, "event", ("sex",), "Female", data={})
    inside = sex == "Female"
    assert found is not None and found.rows == (inside.sum(), (~inside).sum())
    assert found.predicted == pytest.approx((p[inside].mean(), p[~inside].mean()), abs=1e-6)
    assert found.observed == pytest.approx((happened[inside].mean(), happened[~inside].mean()))
    assert found.auroc[0] == pytest.approx(roc_auc_score(happened[inside], p[inside]))
    assert found.shares["young"] == pytest.approx(((age == "young")[inside].mean(), 0.0))
    assert contrast(part, "event", ("sex",), "nobody", data={}) is None


def test_periods_have_about_equal_counts_and_are_named_by_their_ends():
    days = np.array([f"2024-01-{day:02}" for day in range(1, 13)] * 50)
    found, rank = periods(days, 6)
    assert found is not None and found.names[0] == "2024-01-01 to 2024-01-02"
    assert np.bincount(found.code).tolist() == [100] * 6
    assert rank.min() == 0.0 and rank.max() == 1.0


def test_the_tile_of_times_counts_their_periods(rng):
    p, happened = calibrated(rng, 3000)
    times = np.repeat(np.arange(2001, 2007), 500)
    assert audit(p, happened, times=times).of("time").figure == "none of 6 off"
    later = happened | ((times == 2006) & (rng.random(3000) < 0.5))
    assert audit(p, later, times=times).of("time").figure.endswith(" of 6 off")
    assert audit(p, happened).of("time").figure == ""


def test_a_level_that_alone_is_wrong_needs_a_shift_of_the_log_odds(rng):
    score = rng.normal(-1.0, 1.3, 6000)
    happened = rng.random(6000) < sigmoid(score)
    found = audit(sigmoid(score - 0.8), happened)
    assert severity(found)["level"] == "problem" and severity(found)["spread"] == "fine"
    assert found.of("remedy").sentence.startswith("A shift of the log-odds corrects this")
    assert found.methods[0] == "platt"
    assert "intercept and slope" in audit(sigmoid(1.6 * score - 0.8), happened).verdict


def test_a_rare_event_that_is_too_extreme_needs_an_intercept(rng):
    """As insurance policies: ranks, too low, far too spread; worse than giving every row the rate."""
    x = rng.normal(0.0, 1.0, 6000)
    happened = rng.random(6000) < sigmoid(-3.0 + 0.9 * x)
    found = audit(sigmoid(-6.0 + 3.0 * x), happened)
    assert found.of("skill").sentence.startswith("Worse than giving every row")
    assert severity(found)["spread"] == severity(found)["level"] == "problem"
    assert found.methods[0] == "platt"
    assert "worse than giving every row" in found.verdict and "Ranks usefully" in found.verdict


@pytest.mark.parametrize(("factor", "word"), [(2.0, "extreme"), (0.4, "moderate"), (1.0, "")])
def test_risks_may_be_too_extreme_without_a_gap_on_average(rng, factor, word):
    truth = rng.normal(0.0, 1.5, 6000)
    found = audit(sigmoid(factor * truth), rng.random(6000) < sigmoid(truth)).of("spread")
    assert found.severity == ("problem" if word else "fine")
    assert f"too {word}" in found.sentence if word else "Neither" in found.sentence
    assert found.estimate.low <= 1 / factor <= found.estimate.high


def test_a_model_that_knows_nothing_is_not_to_be_used(rng):
    found = audit(sigmoid(rng.normal(0.1, 0.4, 4500)), rng.random(4500) < 0.54)
    assert found.verdict.startswith("Do not use: no better than giving every row")
    assert severity(found)["skill"] == "problem"
    assert severity(found)["spread"] == "untested"
    assert not found.methods


def test_a_model_that_is_fair_on_average_is_wrong_by_group(rng):
    x, sex = rng.normal(-1.5, 1.5, 12_000), rng.choice(["Female", "Male"], 12_000, p=[0.35, 0.65])
    race = rng.choice(["Black", "White"], 12_000, p=[0.1, 0.9])
    shift = np.where(sex == "Female", -0.8, 0.35) - 0.4 * (race == "Black")
    happened = rng.random(12_000) < sigmoid(x + shift)
    found = audit(sigmoid(x - 0.02), happened, groups=pd.DataFrame({"sex": sex, "race": race}))
    assert found.of("groups").severity == "problem"
    assert {group.name for group in found.of("groups").groups[:2]} == {"Female", "Male"}
    assert "Female × Black" in {group.name for group in found.of("groups").groups}
    assert found.verdict.startswith("Right on average, wrong for ")
    assert "A map for each value of sex" in found.verdict


def test_the_verdict_on_groups_says_nothing_that_its_findings_deny():
    """The level's own words, and of the groups that differ from the rest only those that are themselves off."""
    off = GroupFinding("north", 900, 0.1, 0.13, Interval(0.03, 0.02, 0.04), "problem")
    right = GroupFinding("south", 900, 0.1, 0.09, Interval(-0.012, -0.025, 0.001), "problem")
    level = Finding("level", "caution", "On average slightly too low: 10 % predicted.")
    groups = Finding("groups", "problem", "", groups=(right, off))
    assert (
        sentences.wrong_for_groups(level, groups)
        == "On average slightly too low, wrong for north (3.0 points too low)."
    )


def test_a_verdict_without_groups_says_so(rng):
    p, happened = calibrated(rng, 3000)
    found = audit(p, happened)
    assert not found.of("groups").groups and "no groups to compare" in found.verdict
    assert "no groups" not in audit(p, happened, groups=rng.choice(["a", "b"], 3000)).verdict


def test_drift_is_named_where_a_period_is_farthest_from_all_rows():
    early = GroupFinding("early", 900, 0.3, 0.219, Interval(-0.081, -0.1, -0.06), "problem")
    late = GroupFinding("late", 900, 0.2, 0.249, Interval(0.049, 0.03, 0.07), "problem")
    trend = Interval(0.1, 0.05, 0.15)
    sentence = sentences.time("problem", (early, late), 6, trend, overall=-0.039)
    assert sentence.startswith("Drift: worst late +4.9 points")
    assert "all rows −3.9 points" in sentence


def test_classes_that_one_temperature_brings_right_need_no_offsets(rng):
    """Overconfidence moves the mean probability of rare classes too."""
    n, k = 6000, 8
    log_odds = rng.normal(0.0, 1.2, (n, k)) + np.linspace(-1.5, 1.5, k)
    labels = (softmax(log_odds).cumsum(axis=1) > rng.random((n, 1))).argmax(axis=1)
    found = calib.audit(calib.from_outputs(2.5 * log_odds, labels))
    assert found.of("classes").severity == "problem"
    assert found.methods[0] == "temperature"
    shifted = 2.5 * log_odds + np.where(np.arange(k) == 3, 2.0, 0.0)
    assert calib.audit(calib.from_outputs(shifted, labels)).methods[0] == "vector"


def test_every_further_column_of_a_table_is_judged(rng, tmp_path):
    x = rng.normal(size=4000)
    wing = rng.choice(["east", "west"], 4000)
    table = {
        "id": np.arange(4000),
        "p_died": sigmoid(x),
        "died": (rng.random(4000) < sigmoid(x + 0.8 * (wing == "west"))).astype(int),
        "group": rng.choice(["old", "young"], 4000),
        "wing": wing,
    }
    pd.DataFrame(table).to_csv(tmp_path / "wards.csv", index=False)
    found = calib.audit(calib.load(tmp_path / "wards.csv")).of("groups")
    assert found.severity == "problem"
    assert found.sentence.startswith(("east", "west"))


def test_the_loss_is_that_of_the_scores_where_the_label_has_a_probability_of_zero(rng):
    p = rng.integers(0, 3, 400) / 2.0
    happened = rng.integers(0, 2, 400)
    data = calib.from_outputs(p, happened)
    rows = AuditRows.from_predictions(data)
    assert rows.model_loss.mean() == pytest.approx(calib.metrics.nll(data.probs, data.labels))


def test_weights_that_change_the_level_change_the_verdict(rng):
    """As crashes of which severe ones were sampled more often."""
    x = rng.normal(-3.0, 1.5, 9000)
    happened = rng.random(9000) < sigmoid(x)
    weights = np.where(happened, 20.0, 200.0)
    unit = rng.integers(0, 60, 9000)
    once = audit(sigmoid(x), happened, clusters=unit)
    assert "problem" not in severity(once).values()
    weighted = audit(sigmoid(x), happened, clusters=unit, weights=weights)
    assert severity(weighted)["level"] == "problem"
    assert "with sampling weights" in weighted.verdict and "times too high" in weighted.verdict
    assert "with them" in weighted.of("weights").sentence


def test_swapped_labels_come_before_all_else(rng):
    p, happened = calibrated(rng, 1000)
    found = audit(p, ~happened)
    assert found.findings[0].severity == "problem" and severity(found)["labels"] == "problem"
    assert "wrong way round" in found.verdict
    probs, labels = calibrated(rng, 1000, 4)
    found = audit(probs, (labels + 1) % 4)
    assert "different orders" in found.verdict


def test_classes_that_are_predicted_too_rarely_are_named(rng):
    logits = rng.normal(0.0, 1.5, (4000, 3))
    labels = (rng.random(4000)[:, None] > softmax(logits).cumsum(axis=1)).sum(axis=1)
    found = audit(softmax(logits - np.array([0.0, 0.0, 1.2])), labels)
    finding = found.of("classes")
    assert finding.severity == "problem"
    assert finding.sentence.startswith("2 is predicted") or "class" in finding.sentence
    assert found.methods[0] in ("vector", "isotonic")


def test_certain_and_wrong_predictions_are_counted(rng):
    p, happened = calibrated(rng, 2000)
    p[:300], happened[:300] = 0.999, np.arange(300) < 240
    found = audit(p, happened).of("ends")
    assert found.severity == "problem" and found.sentence.startswith("60 of ")


def test_drift_is_found(rng):
    p, happened = calibrated(rng, 6000)
    late = np.arange(6000) > 4000
    happened |= late & (rng.random(6000) < 0.15)
    found = audit(p, happened, times=np.arange(6000)).of("time")
    assert found.severity == "problem" and "Drift" in found.sentence


def test_pairs_of_confidence_and_correctness_are_judged_by_confidence(rng):
    confidence = rng.uniform(0.5, 1.0, 3000)
    correct = rng.random(3000) < confidence - 0.15
    data = calib.from_outputs(confidence, correct, kind="pairs")
    assert data.kind == "pairs"
    found = audit(data)
    assert found.of("level").sentence.startswith("Overconfident")
    assert found.of("level").estimate.value > 0


def test_a_gap_is_predicted_minus_observed(rng):
    p, happened = calibrated(rng, 4000)
    found = audit(np.clip(p + 0.1, 0, 1), happened).of("level")
    assert found.estimate.value > 0 and "too high" in found.sentence


def test_results_print_as_a_list_and_become_a_table(rng):
    p, happened = calibrated(rng, 800)
    found = calib.audit(p, happened, groups=rng.choice(["east", "west"], 800))
    lines = repr(found).splitlines()
    assert lines[0] == found.verdict.replace("\u00a0", " ")
    assert list(found.to_frame().index) == [finding.check for finding in found.findings]
    assert {"severity", "sentence", "value", "low", "high"} <= set(found.to_frame().columns)
    html = found._repr_html_()
    assert html is not None and found.findings[0].check in html


def test_arrays_of_another_length_are_refused(rng):
    p, happened = calibrated(rng, 100)
    with pytest.raises(CalibrationError, match=r"region has shape \(3,\) for 100 rows"):
        audit(p, happened, groups={"region": [1, 2, 3]})
    with pytest.raises(CalibrationError, match=r"clusters has shape \(3,\) for 100 rows"):
        audit(p, happened, clusters=[1, 2, 3])


@pytest.mark.parametrize("n", [1, 2, 5, 30])
def test_few_rows_are_judged_without_an_error(rng, n):
    p, happened = calibrated(rng, n)
    found = audit(p, happened, groups=np.arange(n) % 2, clusters=np.arange(n) // 2)
    assert "problem" not in severity(found).values()


def test_one_label_and_equal_outputs_are_judged_without_an_error(rng):
    assert audit(np.full(200, 0.3), rng.random(200) < 0.3).verdict
    assert audit(rng.uniform(0.1, 0.4, 200), np.zeros(200, dtype=bool)).verdict
    probs = softmax(rng.normal(size=(300, 5)))
    assert audit(probs, np.zeros(300, dtype=int)).verdict


def test_the_command_prints_the_verdict_first(rng, tmp_path, capsys):
    p, happened = calibrated(rng, 900)
    table = pd.DataFrame({"p_default": p, "default": happened.astype(int)})
    table.to_csv(tmp_path / "loans.csv", index=False)
    assert main(["audit", str(tmp_path / "loans.csv")]) == 0
    printed = capsys.readouterr().out
    assert (
        printed.splitlines()[0] == repr(audit(calib.load(tmp_path / "loans.csv"))).splitlines()[0]
    )
    assert main(["audit", str(tmp_path / "loans.csv"), "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["verdict"] and {"check", "severity", "sentence"} <= answer["findings"][0].keys()


def test_all_checks_report_progress(rng):
    steps = []
    rows = rows_of(*calibrated(rng, 200))
    audit_rows(rows, lambda step, total, value: steps.append((step, total)))
    assert [step for step, _ in steps] == list(range(1, len(steps) + 1))
    assert check_level(Checked(rows)).check == "level"


@pytest.mark.long
@pytest.mark.parametrize(
    ("k", "n", "n_clusters"), [(2, 300, 0), (2, 3000, 0), (10, 300, 0), (2, 3000, 12)]
)
def test_calibrated_models_seldom_have_a_problem(k, n, n_clusters):
    """At most 5 % in the long run; a fair coin of 5 % gives more than 8 of 60 in 1 of 500 runs."""
    accused, draws = 0, 60
    for seed in range(draws):
        rng = np.random.default_rng(seed)
        probs, labels = calibrated(rng, n, k)
        groups = {name: rng.choice(["north", "south", "west"], n) for name in "abc"}
        clusters = None if not n_clusters else rng.integers(0, n_clusters, n)
        found = audit(probs, labels, groups=groups, times=np.arange(n), clusters=clusters)
        accused += "problem" in severity(found).values()
    assert accused <= 8


@pytest.mark.long
def test_a_gap_of_ten_points_in_an_eighth_of_the_rows_is_found():
    """In 70 % of draws; a coin of 70 % gives fewer than 18 of 30 in 1 of 10 runs."""
    seen = 0
    for seed in range(30):
        rng = np.random.default_rng(seed)
        p = rng.uniform(0.15, 0.85, 3000)
        groups = {name: rng.choice(list("abcdefgh"), 3000) for name in ("site", "age", "sex")}
        happened = rng.random(3000) < p + 0.1 * (groups["site"] == "a")
        found = audit(p, happened, groups=groups).of("groups")
        seen += found.severity == "problem" and any(
            "site a" in group.name for group in found.groups
        )
    assert seen >= 18


def test_what_the_reading_noticed_is_not_said_twice(rng, tmp_path, capsys):
    p = np.round(rng.uniform(0.02, 0.98, 400), 6)
    table = pd.DataFrame({"p_default": p, "default": (rng.random(400) < 0.5).astype(int)})
    table.to_csv(tmp_path / "loans.csv", index=False)
    data = calib.load(tmp_path / "loans.csv")
    assert "labels_shuffled" in {finding.code for finding in data.findings}
    found = audit(data)
    assert found.of("labels").severity == "caution" and "no better than chance" in repr(found)
    beyond = found.beyond(data.findings)
    assert "labels_shuffled" not in {finding.code for finding in beyond}
    assert [f for f in data.findings if f.code != "labels_shuffled"] == beyond
    assert main(["audit", str(tmp_path / "loans.csv")]) == 0
    printed = capsys.readouterr()
    assert (printed.out + printed.err).count("no better than chance") == 1
    assert "significantly better than chance" not in printed.out + printed.err
    good = audit(*calibrated(rng, 4000))
    assert good.beyond(data.findings) == list(data.findings)


def test_the_gap_of_a_group_is_compared_with_that_of_all_rows_and_the_sentence_says_so(rng):
    p, groups = rng.uniform(0.2, 0.7, 4000), rng.choice(["north", "south"], 4000)
    happened = rng.random(4000) < p + np.where(groups == "north", 0.2, 0.06)
    found = audit(p, happened, groups={"region": groups}).of("groups")
    gap = 100 * (p.mean() - happened.mean())
    assert (
        f"2 of 2 groups differ from the gap of all rows, \u2212{-gap:.1f} points." in found.sentence
    )
    north = 100 * (p - happened)[groups == "north"].mean()
    assert f"north \u2212{-north:.1f}" in found.sentence
    data = replace(calib.from_outputs(p, happened), groups=groups)
    evaluation = Evaluation.from_predictions(calib.calibrator("identity").fit(data), data)
    said = describe_groups(evaluation, data, "The raw model")
    assert said == f"The raw model by group: {found.sentence}"
    fair = replace(data, groups=rng.permutation(groups))
    found = audit(p, happened, groups={"region": fair.groups}).of("groups")
    assert found.severity != "problem"
    said = describe_groups(evaluation, fair, "The raw model")
    assert said == f"The raw model by group: {found.sentence}"
    assert describe_groups(evaluation, replace(data, groups=None), "The raw model") == ""


def test_a_comparison_names_the_groups_for_which_model_and_calibrator_are_off(rng):
    p, region = rng.uniform(0.2, 0.7, 6000), rng.choice(["north", "south"], 6000)
    happened = rng.random(6000) < p**2 + np.where(region == "north", 0.15, 0.0)
    data = replace(calib.from_outputs(p, happened), groups=region)
    calibration, test = data.split(0.5)
    platt = calib.calibrator("platt")
    found = calib.compare({"platt": platt}, calibration, test)
    assert found.recommendation is not None and found.recommendation.method == "platt"
    raw, fitted = found.groups
    north = test.groups == "north"
    for sentence, subject, probs in (
        (raw, "The raw model", test.probs[:, 1]),
        (fitted, "Platt", platt.predict_proba(test)[:, 1]),
    ):
        assert sentence.startswith(f"{subject} by group: ")
        gap = 100 * (probs - test.labels)[north].mean()
        assert f"north {gap:+.1f}".replace("-", "\u2212") in sentence
        assert "differ from the gap of all rows" in sentence
        assert html.escape(sentence) in (found._repr_html_() or "")
    without = replace(test, groups=None)
    assert calib.compare({"platt": platt}, calibration, without).groups == ()


def test_the_checks_share_an_error_of_five_percent(rng):
    p, happened = calibrated(rng, 3000)
    groups = {name: rng.choice(["north", "south", "west"], 3000) for name in "ab"}
    judged = JudgedGroups.from_rows(rows_of(p, happened, groups=groups))
    assert judged.single.share + judged.pairs.share == pytest.approx(1.0)
    shared = (judged.single, judged.pairs)
    others = {"level", "spread", "shape", "ends", "classes", "time"}
    assert judged.single.error + len(others) * CHECK_ERROR == pytest.approx(0.05)
    for family in shared:
        most = norm.ppf(1.0 - family.error * family.share / (2 * len(family)))
        assert (family.critical["problem"] <= most + 1e-9).all()
    half = float(norm.ppf(1.0 - CHECK_ERROR / 2.0))
    just = Estimate(half * 1.01, np.array([1.0]))
    assert excludes(just) == "problem"
    assert excludes(replace(just, value=half * 0.99)) == "caution"


def test_a_file_and_arrays_have_the_same_groups(rng, tmp_path, capsys):
    p, happened = calibrated(rng, 3000)
    groups = {
        "sex": rng.choice(["f", "m"], 3000),
        "race": rng.choice(list("abcde"), 3000),
        "education": rng.choice(list("ghijklmnopqrstuv"), 3000),
    }
    table = pd.DataFrame({"pd": p, "default": happened.astype(int), **groups})
    table.to_csv(tmp_path / "people.csv", index=False)
    assert main(["audit", str(tmp_path / "people.csv"), "--json"]) == 0
    of_file = next(
        f for f in json.loads(capsys.readouterr().out)["findings"] if f["check"] == "groups"
    )
    of_arrays = audit(p, happened, groups=groups).of("groups")
    assert of_file["sentence"] == of_arrays.sentence
    assert of_file["figure"] == of_arrays.figure == "none of 98 off"


def test_a_remedy_of_free_shape_leaves_the_method_to_the_comparison():
    found = audit(calib.load_sample("simulated-binary"))
    assert found.of("remedy").sentence.endswith("a comparison chooses which.")
    assert len(found.methods) > 1 and not any(
        METHODS[name].title.lower() in found.verdict.lower() for name in found.methods
    )
