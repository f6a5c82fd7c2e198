"""What the data may forbid: a direction or an order of columns that agrees worse than another one is asked about."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import mannwhitneyu

import calib
from calib.data import inspect
from calib.data.guess.direction import auroc, better_order

N = 300
RNG = np.random.default_rng(7)
RISK = (1 / (1 + np.exp(0.6 - 1.5 * RNG.normal(size=N)))).round(4)
HAPPENED = RNG.random(N) < RISK

OPPOSITES = """
    died p_alive | died survival_prob | survived p_died | survived mortality_risk | default p_repaid | repaid pd
    churn p_stay | retained p_churn | accepted p_rejected | approved p_declined | passed p_fail | failed p_pass
    malignant p_benign | benign p_malignant | spam p_ham | no_show p_show | show p_no_show | fraud p_legit
    legit p_fraud | relapse relapse_free_prob | response p_nonresponse | paid p_unpaid | y p_0 | label prob_0
    target p_negative | y_true prob_no | won p_lose | readmitted p_no_readmission | event event_free_probability
    y survival | label p_healthy | outcome p_normal | correct error_probability | correct p_wrong
    delayed p_on_time | converted p_not_converted | active p_inactive | safe p_unsafe | toxic nontoxic_score
"""
FORMS = {"numbers": (0, 1), "words": ("no", "yes"), "truth": (False, True), "signs": (-1, 1)}


def falls(data) -> bool:
    """Whether the class that the second column stands for is rarer where its probability is higher."""
    return np.corrcoef(data.probs[:, 1], data.labels)[0, 1] < 0


@pytest.mark.parametrize("form", FORMS)
def test_the_probability_of_the_opposite_is_never_read_inverted_without_a_question(form):
    inverted = []
    for pair in OPPOSITES.replace("\n", "|").split("|"):
        if pair.strip():
            outcome, score = pair.split()
            values = np.array(FORMS[form])[HAPPENED.astype(int)]
            found = inspect(pd.DataFrame({score: (1 - RISK).round(4), outcome: values}))
            if found.predictions is not None and falls(found.predictions):
                inverted.append(pair.strip())
    assert not inverted


@pytest.mark.parametrize(
    ("outcome", "score"),
    [
        ("y", "p_0"),
        ("response", "p_nonresponse"),
        ("relapse", "relapse_free_prob"),
        ("y", "p_alive"),
    ],
)
def test_names_that_turn_the_meaning_round_are_asked_about_even_where_the_data_agree(
    outcome, score
):
    found = inspect(pd.DataFrame({outcome: HAPPENED.astype(int), score: RISK}))
    assert found.predictions is None and len(found.readings) == 2
    assert "AUROC" in found.readings[0].sentence


def test_the_answer_holds_and_is_not_asked_again():
    table = pd.DataFrame({"died": HAPPENED.astype(int), "p_died": 1 - RISK})
    found = inspect(table)
    assert found.predictions is None
    for reading in found.readings:
        data = calib.load(table, roles=reading.roles)
        np.testing.assert_allclose(data.probs[:, 1], 1 - RISK)
    right = calib.load(table, roles=found.readings[0].roles)
    assert right.class_names[right.event.column] == "0" and not falls(right)


def test_a_column_of_two_values_is_no_offer_beside_a_named_outcome():
    table = pd.DataFrame(
        {"ward": np.arange(N) % 2, "died": HAPPENED.astype(int), "p_alive": (1 - RISK).round(4)}
    ).replace({"ward": {0: "east", 1: "west"}})
    found = inspect(table)
    assert found.predictions is None
    assert {reading.roles["outcome"] for reading in found.readings} == {"died"}


def test_a_column_of_correct_answers_is_the_outcome_of_a_confidence_or_where_there_is_no_other():
    columns = {"label": HAPPENED.astype(int), "prob": RISK, "correct": (RISK > 0.5) == HAPPENED}
    data = calib.load(pd.DataFrame(columns))
    assert data.kind == "binary_probability"
    np.testing.assert_array_equal(data.labels, HAPPENED)
    confidence = np.maximum(RISK, 1 - RISK)
    for name in ("confidence", "prob"):
        pairs = calib.load(pd.DataFrame({name: confidence, "correct": columns["correct"]}))
        assert pairs.kind == "pairs"


def test_columns_in_another_order_than_the_labels_are_asked_about():
    probs = RNG.dirichlet(0.3 * np.ones(4), 600).round(4)
    labels = np.array([RNG.choice(4, p=row / row.sum()) for row in probs])
    names = [f"p_{k}" for k in range(4)]
    right = calib.load(pd.DataFrame({**dict(zip(names, probs.T, strict=True)), "label": labels}))
    np.testing.assert_array_equal(right.labels, labels)
    moved = pd.DataFrame(
        {**dict(zip(names, probs[:, [0, 2, 1, 3]].T, strict=True)), "label": labels}
    )
    found = inspect(moved)
    assert found.predictions is None and found.readings[0].roles["label_values"] == (0, 2, 1, 3)
    data = calib.load(moved, roles=found.readings[0].roles)
    assert data.accuracy == pytest.approx(right.accuracy)


def test_another_column_of_fractions_that_agrees_as_well_is_asked_about():
    columns = {"y_true": HAPPENED.astype(int), "prob": RISK, "Framingham": (RISK**1.2).round(4)}
    assert inspect(pd.DataFrame(columns)).predictions is None
    noise = {**columns, "Framingham": RNG.random(N)}
    assert inspect(pd.DataFrame(noise)).predictions is not None


def test_auroc_and_its_deviation_are_those_of_the_rank_sum_test_with_ties():
    score = RISK.round(1)
    area, z = auroc(score, HAPPENED)
    options = {"use_continuity": False, "method": "asymptotic", "alternative": "greater"}
    test = mannwhitneyu(score[HAPPENED], score[~HAPPENED], **options)
    assert area == pytest.approx(test.statistic / HAPPENED.sum() / (~HAPPENED).sum())
    from scipy.stats import norm

    assert norm.sf(z) == pytest.approx(test.pvalue, rel=1e-6)


@pytest.mark.parametrize("n_classes", [3, 10])
def test_weak_models_are_rarely_said_to_have_their_columns_in_another_order(n_classes):
    """Of 200 models that know next to nothing at most 1 % are asked about."""
    asked = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        labels = rng.integers(n_classes, size=300)
        guessed = np.where(rng.random(300) < 0.05, labels, rng.integers(n_classes, size=300))
        asked += better_order(labels, guessed, n_classes) is not None
    assert asked <= 2


def test_roles_to_paste_hold_all_columns_that_the_table_is_read_with():
    """The times were missing in the call to copy, so that the data had none."""
    days = np.array([str(np.datetime64("2024-01-01") + k) for k in range(N)])
    table = pd.DataFrame(
        {
            "p_free": RISK,
            "status": HAPPENED.astype(int),
            "date": days,
            "split": ["val", "test"] * (N // 2),
        }
    )
    asked = inspect(table).readings[0]
    assert asked.roles["time"] == "date" and asked.roles["split"] == "split"
    data = calib.load(table, roles=asked.roles)
    assert data.times is not None and data.times.tolist() == days.tolist()
    assert data.given_split is not None and int(data.given_split.sum()) == N // 2
