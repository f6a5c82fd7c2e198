"""Which column of a table is what: accepted where it is clear, asked where it is not, refused where something lacks."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import calib
from calib.cli import main
from calib.data import AmbiguousTable, Choices, DataError, inspect, load, read_features, read_outputs
from calib.data.load import lines_that_read
from tests.conftest import REFERENCE
from tests.data.conftest import csv_bytes, the

N = 400
RNG = np.random.default_rng(0)
RISK = RNG.beta(1, 3, N).round(6)
HAPPENED = (RNG.random(N) < RISK).astype(int)
PROBS = RNG.dirichlet(np.ones(3), N).round(6)
LABELS = np.array([RNG.choice(3, p=row / row.sum()) for row in PROBS])
PREDICTED, CONFIDENCE = PROBS.argmax(axis=1), PROBS.max(axis=1)
ANIMALS = np.array(["cat", "dog", "bird"])
IDS, AGE = np.arange(N) * 3 + 1000, RNG.integers(18, 90, N)
AMOUNT = RNG.gamma(2, 1000, N).round(2)


def table(**columns):
    """A csv file with these columns; a double underscore in a name stands for a blank."""
    return "table.csv", csv_bytes(**{name.replace("__", " "): values for name, values in columns.items()})


def roles(data):
    return {role.column: role.role for role in data.roles}


def probability(data, column=1):
    logits = np.asarray(data.logits, dtype=float)
    return (np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True))[:, column]


# What is clear.


def test_an_id_and_a_number_are_no_outputs():
    data = load(table(customer_id=IDS, age=AGE, amount=AMOUNT, score=RISK, label=HAPPENED))
    assert (data.kind, data.n_classes) == ("binary_probability", 2)
    np.testing.assert_allclose(probability(data), RISK)
    found = roles(data)
    assert (found["customer_id"], found["score"], found["label"]) == ("id", "outputs", "outcome")
    assert all(role.reason for role in data.roles)


@pytest.mark.parametrize(
    "columns",
    [
        {"customer_id": IDS, "age": AGE, "label": HAPPENED},
        {"id": IDS, "x1": AMOUNT, "x2": AGE, "y": HAPPENED},
        {"sepal_length": AMOUNT, "sepal_width": AMOUNT / 7, "species": ANIMALS[LABELS]},
    ],
)
def test_features_and_outcome_alone_are_refused(columns):
    error = inspect(table(**columns)).findings[0]
    assert (error.level, error.code) == ("error", "no_outputs")
    assert list(columns)[-1] in error.message and error.action


def test_predicted_classes_alone_are_refused():
    error = inspect(table(id=IDS, y_true=LABELS, predicted_label=PREDICTED)).findings[0]
    assert error.code == "hard_predictions" and "predicted_label" in error.message


@pytest.mark.parametrize(
    ("outcome", "outputs", "cluster"),
    [
        ("Ausfall", "Ausfallwahrscheinlichkeit", "Filiale"),
        ("défaut", "probabilité_défaut", "agence"),
        ("impago", "probabilidad de impago", "sucursal"),
        ("defaulted", "PD", "branch"),
        ("y", "p1", "patient_id"),
        ("target", "y_prob", "hospital"),
        ("obs", "pred_risk", "user"),
    ],
)
def test_names_of_four_languages(outcome, outputs, cluster):
    data = load(table(Nr=IDS, **{outcome: HAPPENED, outputs: RISK, cluster: np.arange(N) % 40}))
    np.testing.assert_allclose(probability(data), RISK)
    np.testing.assert_array_equal(data.labels, HAPPENED)
    assert data.clusters is not None and len(set(data.clusters)) == 40
    assert roles(data) == {"Nr": "id", outcome: "outcome", outputs: "outputs", cluster: "cluster"}


@pytest.mark.parametrize(
    ("outcome", "outputs", "written"),
    [
        ("inadimplente", "prob_inadimplencia", ("não", "sim")),
        ("óbito", "risco de óbito", ("Não", "Sim")),
        ("insolvenza", "probabilità", ("no", "sì")),
        ("Opgezegd", "Opzegkans", ("nee", "ja")),
    ],
)
def test_yes_and_no_in_three_more_languages(outcome, outputs, written):
    data = load(table(**{outcome: np.array(written)[HAPPENED], outputs: RISK}))
    assert data.event.name == outcome
    np.testing.assert_allclose(probability(data, data.class_names.index(written[1])), RISK, atol=1e-9)


def test_the_confidence_in_the_predicted_class_makes_pairs():
    data = load(table(predicted=PREDICTED, confidence=CONFIDENCE, label=LABELS))
    assert data.kind == "pairs"
    np.testing.assert_allclose(data.confidence, CONFIDENCE)
    np.testing.assert_array_equal(data.correct, PREDICTED == LABELS)


def test_of_two_classes_a_confidence_is_told_from_a_probability_by_the_predicted_class():
    predicted = (RISK > 0.5).astype(int)
    pairs = load(table(predicted=predicted, confidence=np.maximum(RISK, 1 - RISK), label=HAPPENED))
    assert pairs.kind == "pairs"
    np.testing.assert_array_equal(pairs.correct, predicted == HAPPENED)
    probabilities = load(table(predicted=predicted, confidence=RISK, label=HAPPENED))
    assert probabilities.kind == "binary_probability"
    assert roles(probabilities)["predicted"] == "predicted"


@pytest.mark.parametrize(
    ("actual", "predicted", "score"), [("tag_gold", "tag_found", "tag_conf"), ("breed", "found_breed", "found_prob")]
)
@pytest.mark.parametrize("percent", [False, True])
def test_two_columns_of_the_same_words_are_actual_and_predicted(actual, predicted, score, percent):
    shown = ANIMALS[PREDICTED]
    shown = np.where(AGE < 40, np.char.add(shown, np.char.mod("%d", AGE)), shown)  # words that are no class
    numbers = (CONFIDENCE * 100).round().astype(int) if percent else CONFIDENCE
    side = np.array(["left", "up"])[AGE % 2]
    data = load(table(side=side, **{predicted: shown, actual: ANIMALS[LABELS], score: numbers}))
    assert data.kind == "pairs"
    np.testing.assert_array_equal(data.correct, shown == ANIMALS[LABELS])
    np.testing.assert_allclose(data.confidence, CONFIDENCE, atol=0.006)
    assert (roles(data)[actual], roles(data)[predicted]) == ("outcome", "predicted")


@pytest.mark.parametrize(
    ("outcome", "values", "stem", "end"),
    [
        ("soil_type", ["1", "2", "3"], "prob_soil_", ""),
        ("Type", ["2", "4", "5"], "prob_", ""),
        ("stars", ["3", "4", "5"], "p_stars_", ""),
        ("Partition", ["AB", "CD", "EF"], "", " (%)"),
        ("bracket", ["<=5k", ">5k", "?5k"], "proba_", ""),
    ],
)
def test_a_column_that_lists_the_classes_is_the_outcome(outcome, values, stem, end):
    """Whatever its name says of other roles, and whichever of its values the names count from."""
    named = {f"{stem}{value}{end}": PROBS[:, j] * (100 if end else 1) for j, value in enumerate(values)}
    data = load(table(height=AMOUNT, **{outcome: np.array(values)[LABELS]}, **named))
    np.testing.assert_array_equal(data.labels, LABELS)
    np.testing.assert_allclose(probability(data, 2), PROBS[:, 2], atol=1e-4)
    assert (data.class_names, roles(data)[outcome]) == (tuple(values), "outcome")


def test_two_columns_that_differ_as_by_chance_are_not_compared():
    data = load(table(gold=ANIMALS[AGE % 2], shelter=ANIMALS[IDS % 2], p_cat=RISK))
    assert data.kind == "binary_probability"


def test_a_score_of_the_opposite_by_an_abbreviation_is_asked():
    error = inspect(table(surv2y_prob=RISK, dead2y=HAPPENED)).findings[0]
    assert error.code == "ambiguous"
    assert {reading["label_values"] for reading in error.readings.values()} == {(0, 1), (1, 0)}


@pytest.mark.parametrize("written", [("wrong", "correct"), (0, 1), ("False", "True"), ("no", "yes"), ("nein", "ja")])
def test_confidence_and_correctness_make_pairs(written):
    correct = (PREDICTED == LABELS).astype(int)
    data = load(
        table(question=[f"q{j % 80}" for j in range(N)], confidence=CONFIDENCE, correct=np.array(written)[correct])
    )
    assert data.kind == "pairs" and data.class_names == ("wrong", "correct")
    np.testing.assert_array_equal(data.correct, correct == 1)
    assert len(set(data.clusters)) == 80


@pytest.mark.parametrize(
    ("name", "written", "score"),
    [
        ("mark", ("INCORRECT", "CORRECT"), "confidence"),
        ("agrees_with_expert", (0, 1), "confidence"),
        ("passed_review", ("False", "True"), "confidence"),
        *(("respuesta_bien", (0, 1), "confianza"), ("transcript_ok", (0, 1), "certainty")),
        *(("risposta_corretta", ("no", "sì"), "fiducia"), ("acertou", ("não", "sim"), "confiança")),
        *(("antwoord_juist", ("nee", "ja"), "zekerheid"), ("matched_gt", (0, 1), "box_score")),
        ("execution_match", ("false", "true"), "sql_confidence"),
    ],
)
def test_correctness_by_other_words_makes_pairs(name, written, score):
    correct = (PREDICTED == LABELS).astype(int)
    data = load(table(**{score: CONFIDENCE, name: np.array(written)[correct]}))
    assert data.kind == "pairs"
    np.testing.assert_array_equal(data.correct, correct == 1)


def test_a_logit_is_no_confidence_in_an_answer():
    """What is below 0 and above 0 cannot be, even where the outcome says which answers are good."""
    logits = np.log(RISK / (1 - RISK))
    data = load(table(is_good_answer=HAPPENED, raw_logit=logits))
    assert data.kind == "binary_log_odds"
    np.testing.assert_allclose(probability(data), RISK, rtol=1e-6)


def test_percent_beside_what_is_correct_are_offered_as_a_confidence():
    shares = np.round(100 * RISK)
    with pytest.raises(AmbiguousTable) as asked:
        load(table(correct=np.array(["no", "yes"])[HAPPENED], stated_pct=shares))
    assert [reading.roles["outputs"] for reading in asked.value.readings] == ["stated_pct"]


@pytest.mark.parametrize(("score", "event"), [("malignancy_score", "malignant"), ("benignity", "benign")])
def test_an_outcome_called_after_both_labels_speaks_of_neither(score, event):
    """The score does, by another form of the word: ``benign_malignant`` alone turned it round before."""
    labels = np.array(["benign", "malignant"])[HAPPENED]
    data = load(table(benign_malignant=labels, **{score: RISK}))
    assert data.event.name == event
    np.testing.assert_allclose(probability(data), RISK, rtol=1e-6)


def test_what_is_passed_beside_a_probability_is_an_event():
    assert load(table(p_passed=RISK, passed=HAPPENED)).kind == "binary_probability"


def test_what_names_no_correctness_is_refused():
    words = np.array(["maybe", "perhaps", "well"])[LABELS]
    error = inspect(table(confidence=CONFIDENCE, correct=words), choices=Choices(kind="pairs")).findings[0]
    assert error.code == "correct_unclear"


def test_columns_are_in_the_order_of_the_numbers_in_their_names():
    probs = RNG.dirichlet(np.ones(12), N)
    labels = RNG.integers(0, 12, N)
    names = [f"class_{k}" for k in sorted(range(12), key=str)]
    data = load(table(**{name: probs[:, int(name[6:])] for name in names}, label=labels))
    np.testing.assert_allclose(probability(data, 2), probs[:, 2], rtol=1e-6)
    np.testing.assert_array_equal(data.labels, labels)
    assert data.class_names == tuple(map(str, range(12)))


def test_labels_are_matched_to_the_numbers_in_the_names():
    numbers = np.array([0, 1, 10, 2])
    probs = RNG.dirichlet(np.ones(4), N)
    labels = RNG.choice(numbers, N)
    data = load(table(**{f"class_{k}": probs[:, j] for j, k in enumerate(numbers)}, label=labels))
    assert data.class_names == ("0", "1", "2", "10")
    np.testing.assert_array_equal(np.array([0, 1, 2, 10])[data.labels], labels)
    np.testing.assert_allclose(probability(data, 3), probs[:, 2], rtol=1e-6)


@pytest.mark.parametrize("order", [["0", "2", "1"], [0, 2, 1]])
def test_class_names_that_are_the_columns_own_are_their_order(order):
    file = table(**{f"p_{k}": PROBS[:, k] for k in range(3)}, label=LABELS)
    data = load(file, class_names=order)
    assert data.class_names == ("0", "2", "1")
    np.testing.assert_allclose(probability(data, 1), PROBS[:, 2], rtol=1e-4)
    np.testing.assert_array_equal(np.array([0, 2, 1])[data.labels], LABELS)
    assert load(file, class_names=["ant", "bee", "cow"]).class_names == ("ant", "bee", "cow")


@pytest.mark.parametrize("label", ["none", "null", "nan"])
def test_a_class_that_is_called_like_a_missing_value(label):
    names = np.array([label, "dog", "bird"])
    data = load(table(**{f"p_{name}": PROBS[:, k] for k, name in enumerate(names)}, truth=names[LABELS]))
    np.testing.assert_array_equal(np.array(data.class_names)[data.labels], names[LABELS])
    assert len(data) == N


def human_counts():
    """Label, ten human counts and ten probabilities, without a header."""
    rows = np.column_stack([RNG.integers(0, 10, N), RNG.multinomial(50, np.ones(10) / 10, N)])
    probs = RNG.dirichlet(np.ones(10), N).round(6)
    lines = [",".join([*map(str, a), *map(str, b)]) for a, b in zip(rows.tolist(), probs.tolist(), strict=True)]
    return ("counts.csv", "\n".join(lines).encode()), probs


@pytest.mark.parametrize("chosen", [None, "column_0"])
def test_counts_beside_probabilities_are_never_further_classes(chosen):
    file, probs = human_counts()
    found = inspect(file, choices=Choices(labels=chosen))
    outputs = [len(reading.roles["outputs"]) for reading in found.readings[:2]]
    assert found.predictions is not None or outputs == [10, 10]
    data = load(file, labels=None, roles={"outcome": "column_0", "outputs": [f"column_{j}" for j in range(11, 21)]})
    np.testing.assert_allclose(probability(data, 3), probs[:, 3], rtol=1e-4)


@pytest.mark.parametrize(
    ("labels", "names", "event_first"),
    [
        ((0, 1), ("p_pos", "p_neg"), True),
        ((0, 1), ("p_neg", "p_pos"), False),
        (("no", "yes"), ("positive_score", "negative_score"), True),
        (("good", "bad"), ("P_TARGETbad", "P_TARGETgood"), True),
        (("<=50K", ">50K"), ("P (pay=<=50K)", "P (pay=>50K)"), False),
        ((0, 1), ("prob_cat", "prob_dog"), False),
        ((False, True), ("true_prob", "false_prob"), True),
    ],
)
def test_two_columns_with_other_names_than_the_labels_are_told_apart(labels, names, event_first):
    columns = dict(zip(names, (RISK, 1 - RISK) if event_first else (1 - RISK, RISK), strict=True))
    data = load(table(label=np.array(labels)[HAPPENED], **columns))
    of_event = names[0] if event_first else names[1]
    column = [role.column for role in data.roles if role.role == "outputs"].index(of_event)
    np.testing.assert_array_equal(data.labels == column, HAPPENED == 1)
    np.testing.assert_allclose(probability(data, column), RISK, atol=1e-6)


@pytest.mark.parametrize(
    "columns",
    [
        {"y": HAPPENED, "prob_dog": RISK, "prob_cat": 1 - RISK},
        {"bled_1y": HAPPENED, "stroke_1y": HAPPENED[::-1], "risk": RISK},
        {"label": HAPPENED, "score": (1 + CONFIDENCE) / 2},
        {"loan": AMOUNT, "pfs_12m": RISK, "progressed_12m": HAPPENED},
        {"a": AMOUNT, "b": RISK, "c": HAPPENED},
        {"status": np.array(["paid", "default"])[HAPPENED], "score": RISK},
        {"type": np.array(["No", "Yes"])[HAPPENED], "fitted": RISK},
    ],
)
def test_what_only_a_guess_would_settle_is_asked(columns):
    assert len(inspect(table(**columns)).readings) > 0


@pytest.mark.parametrize(
    ("outcome", "score", "label"),
    [("GB_FLAG", "PROB_BAD", "B"), ("kind", "pathogenicity_score", "pathogenic")],
)
def test_short_words_say_of_which_class_a_column_speaks(outcome, score, label):
    labels = {"GB_FLAG": ("G", "B"), "kind": ("benign", "pathogenic")}[outcome]
    data = load(table(variant=IDS, **{outcome: np.array(labels)[HAPPENED], score: RISK}))
    np.testing.assert_allclose(probability(data, data.class_names.index(label)), RISK, atol=1e-9)


@pytest.mark.parametrize(
    ("outcome", "names", "of_event"),
    [
        ("good", ("prob_bad", "prob_good"), 1),
        ("dead", ("p_alive", "p_dead"), 1),
        ("survived", ("p_died", "p_lived"), 1),
    ],
)
def test_what_the_outcome_is_called_after_is_the_event_of_two_columns(outcome, names, of_event):
    data = load(table(**{outcome: HAPPENED, names[1 - of_event]: 1 - RISK, names[of_event]: RISK}))
    assert data.n_classes == 2 and [role.role for role in data.roles].count("outputs") == 2
    np.testing.assert_array_equal(data.labels == of_event, HAPPENED == 1)


@pytest.mark.parametrize("written", ["[{0}, {1}]", "[{0} {1}]", "DenseVector([{0},{1}])", "({0}, {1})"])
def test_vectors_as_text_are_a_column_for_each_class(written):
    vectors = [written.format(1 - p, p) for p in RISK]
    data = load(table(label=HAPPENED, prediction=(RISK > 0.5).astype(int), probability=vectors, box=vectors))
    assert {name: role for name, role in roles(data).items() if role == "outputs"} == {
        "probability_0": "outputs",
        "probability_1": "outputs",
    }
    np.testing.assert_allclose(probability(data), RISK, atol=1e-6)
    assert "box" in roles(data)


def test_vectors_of_several_lengths_are_text():
    vectors = [f"[{1 - p}, {p}]" if k else "[1, 2, 3]" for k, p in enumerate(RISK)]
    assert "probs" in roles(load(table(label=HAPPENED, probs=vectors, p=RISK)))


def test_the_ends_of_an_interval_are_no_scores():
    data = load(table(infected=HAPPENED, Estimate=RISK, a=np.clip(RISK - 0.1, 0, 1), b=np.clip(RISK + 0.1, 0, 1)))
    np.testing.assert_allclose(probability(data), RISK)


def test_fractions_called_after_another_event_are_the_risk_of_this_one():
    assert roles(load(table(ward=ANIMALS[LABELS], died=HAPPENED, saps_mortality=RISK)))["saps_mortality"] == "outputs"


def test_a_short_word_of_a_longer_name_does_not_say_what_is_correct():
    assert load(table(tp_gt_1mm=HAPPENED, prob=RISK)).kind == "binary_probability"
    assert load(table(is_tp=HAPPENED, prob=RISK)).kind == "pairs"


# What words of a name count.


@pytest.mark.parametrize(("outcome", "predicted"), [("target_idx", "argmax_idx"), ("actual_id", "predicted_id")])
def test_a_number_of_a_class_is_its_label_and_no_id(outcome, predicted):
    data = load(table(**{outcome: LABELS, predicted: PREDICTED, "max_softmax": CONFIDENCE}))
    assert data.kind == "pairs" and roles(data)[outcome] == "outcome"
    np.testing.assert_array_equal(data.correct, PREDICTED == LABELS)


@pytest.mark.parametrize(
    ("outcome", "score"),
    [("Ausfallereignis", "Ausfallwkt."), ("TenYearCHD", "risk"), ("Schwund", "Schwundwahrscheinlichkeit")],
)
def test_compounds_of_two_words_and_years_in_a_name(outcome, score):
    data = load(table(**{"line": ANIMALS[AGE % 2], outcome: HAPPENED, score: RISK}))
    assert roles(data)[outcome] == "outcome" and roles(data)[score] == "outputs"


# Of which class one column speaks.


@pytest.mark.parametrize(
    ("outcome", "outputs", "happens"),
    [
        ("default", "p_default", True),
        ("label", "p_no", False),
        ("survived", "survival_prob", True),
        ("churn", "prob_no_churn", False),
    ],
)
def test_names_say_of_which_class_a_column_speaks(outcome, outputs, happens):
    data = load(table(**{outputs: RISK if happens else 1 - RISK, outcome: HAPPENED}))
    column = data.class_names.index("1")
    assert data.event.column == column
    np.testing.assert_allclose(probability(data, column), RISK, atol=1e-9)
    np.testing.assert_array_equal(data.labels == column, HAPPENED == 1)


@pytest.mark.parametrize(
    ("outcome", "labels", "outputs", "spoken"),
    [
        ("answer", ("correct", "wrong"), "p_wrong", "wrong"),
        ("is_correct", ("yes", "no"), "prob_incorrect", "no"),
        ("passed", ("yes", "no"), "fail_prob", "no"),
        ("acertou", ("sim", "não"), "prob_erro", "não"),
        ("final_test", ("PASS", "FAIL"), "fail_prob", "FAIL"),
        ("grade", ("P", "F"), "p_fail", "F"),
        ("PassFail", ("no", "yes"), "prob_fail", "yes"),
    ],
)
def test_the_probability_of_failing_is_not_that_of_passing(outcome, labels, outputs, spoken):
    counts = {"die_x": np.arange(N) % 40, "die_y": np.arange(N) // 2 % 40}  # with 0 and 1 among them
    data = load(table(**counts, **{outcome: np.array(labels)[HAPPENED], outputs: RISK}))
    assert data.kind == "binary_probability" and roles(data)[outcome] == "outcome"
    column = data.class_names.index(spoken)
    np.testing.assert_allclose(probability(data, column), RISK, atol=1e-9)
    np.testing.assert_array_equal(data.labels == column, labels.index(spoken) == HAPPENED)


@pytest.mark.parametrize(
    ("labels", "outputs"),
    [
        *(((0, 1), "prob_good"), (("cat", "dog"), "score"), (("left", "right"), "probability")),
        *((("good", "bad"), "behaviour_score"), (("paid", "default"), "bureau_score")),
        *((("PASS", "FAIL"), "confidence"), (("success", "failure"), "prob"), (("juist", "onjuist"), "onzekerheid")),
    ],
)
def test_where_names_do_not_say_it_people_are_asked(labels, outputs):
    file = table(**{outputs: RISK, "label": np.array(labels)[HAPPENED]})
    with pytest.raises(AmbiguousTable) as caught:
        load(file)
    readings = caught.value.readings
    assert {str(reading.roles["label_values"][-1]) for reading in readings} == set(map(str, labels))
    for reading in readings:
        data = load(file, roles=reading.roles)
        last = str(reading.roles["label_values"][-1])
        np.testing.assert_allclose(probability(data, data.class_names.index(last)), RISK, atol=1e-9)
        assert reading.rows == N and reading.event_rate == pytest.approx(np.mean(data.labels == 1))


@pytest.mark.parametrize(
    ("outcome", "score"),
    [
        *(("default", "credit_score"), ("target", "credit_score"), ("ausfall", "bonitaet_score")),
        *(("defect", "yield_prob"), ("scrap", "p_yield"), ("failure", "uptime_prob"), ("churn", "loyalty_prob")),
        *(("default", "repayment_prob"), ("noshow", "attendance_prob"), ("died", "recovery_prob")),
    ],
)
def test_a_score_of_something_to_wish_for_beside_something_bad_is_asked_about(outcome, score):
    with pytest.raises(AmbiguousTable) as caught:
        load(table(**{score: RISK, outcome: HAPPENED}))
    assert {reading.roles["label_values"] for reading in caught.value.readings} == {(0, 1), (1, 0)}


@pytest.mark.parametrize(
    ("outcome", "score"),
    [
        *(("yielded", "yield_prob"), ("good_die", "yield_probability"), ("repaid", "repayment_prob")),
        *(("fall_during_stay", "fall_risk"), ("correct", "correct_pred"), ("default", "credit_default_prob")),
    ],
)
def test_a_score_of_what_happened_is_its_probability(outcome, score):
    data = load(table(**{score: RISK, outcome: HAPPENED}))
    np.testing.assert_allclose(probability(data, 1), RISK, atol=1e-9)
    np.testing.assert_array_equal(data.labels, HAPPENED)


def test_columns_of_signed_labels_are_told_apart():
    data = load(table(**{"truth": 2 * HAPPENED - 1, "prob.-1": 1 - RISK, "prob.1": RISK}))
    np.testing.assert_allclose(probability(data, data.class_names.index("1")), RISK, atol=1e-9)


@pytest.mark.parametrize(
    ("outcome", "score", "other"), [("stroke", "abc_stroke", "ratio"), ("allergic", "allerg_prob", "logP")]
)
def test_fractions_that_are_called_after_the_outcome_are_its_risk(outcome, score, other):
    others = {other: AMOUNT / 1000 - 3, "points": AGE}
    data = load(table(key=IDS, **others, **{outcome: HAPPENED, score: RISK}))
    assert (data.kind, roles(data)[score]) == ("binary_probability", "outputs")
    np.testing.assert_allclose(probability(data), RISK)


def test_a_column_of_the_past_is_no_risk_whatever_it_is_called_after():
    data = load(table(defaulted=HAPPENED, pd=RISK, defaulted_last_year=RISK[::-1]))
    assert roles(data)["pd"] == "outputs"


def test_a_text_beside_an_event_is_the_outcome_only_if_it_says_so():
    origin = np.array(["Paper", "Web"])[AGE % 2]
    data = load(table(Order__Origin=origin, Cancelled=HAPPENED, Order__Cancellation__Probability=RISK))
    assert roles(data)["Cancelled"] == "outcome"
    np.testing.assert_allclose(probability(data), RISK)


@pytest.mark.parametrize(
    ("name", "written", "role"),
    [
        ("nurse", "N{:02d}", "cluster"),
        ("inspector_id", "{:d}", "cluster"),
        ("colour", "{:d}", "features"),
        ("segment", "S{:d}", "group"),
        ("site_id", "S{:02d}", "cluster"),
        ("unit_nr", "{:d}", "cluster"),
    ],
)
def test_repeated_codes_without_another_role_are_clusters(name, written, role):
    codes = [written.format(7 + j * j % 23) for j in range(N)]
    assert roles(load(table(**{name: codes}, p_fall=RISK, fall=HAPPENED)))[name] == role


def test_of_two_columns_of_codes_neither_is_taken():
    codes = {name: [f"{name[0]}{j * j % 23}" for j in range(N)] for name in ("nurse", "bed")}
    assert load(table(**codes, p_fall=RISK, fall=HAPPENED)).clusters is None


def test_a_bad_model_is_read_as_a_good_one():
    """Agreement with the outcome chooses neither the column nor the direction."""
    for risk in (RISK, 1 - RISK):
        data = load(table(risk=risk, noise=AMOUNT, default=HAPPENED))
        np.testing.assert_allclose(probability(data), risk, atol=1e-9)
    two = {"score_a": RISK, "score_b": RNG.random(N), "default": HAPPENED}
    assert len(inspect(table(**two)).readings) == 2


def test_a_column_that_is_the_largest_output_is_the_prediction():
    data = load(table(F_class=ANIMALS[LABELS], I_class=ANIMALS[PREDICTED], **dict(zip(ANIMALS, PROBS.T, strict=True))))
    assert roles(data)["I_class"] == "predicted" and roles(data)["F_class"] == "outcome"


# Asking.


def test_a_reading_says_what_it_would_give():
    worse = RNG.random(N).round(6)
    found = inspect(table(id=IDS, model_a=RISK, model_b=worse, default=HAPPENED, branch=np.arange(N) % 20))
    assert found.predictions is None and the(found, "ambiguous").level == "error"
    reading = next(reading for reading in found.readings if reading.roles["outputs"] == "model_a")
    assert reading.roles["outcome"] == "default" and reading.roles["cluster"] == "branch"
    assert (reading.rows, reading.event_rate) == (N, pytest.approx(HAPPENED.mean()))
    above = RISK[HAPPENED == 1][:, None] - RISK[HAPPENED == 0]
    assert reading.auroc == pytest.approx(((above > 0) + (above == 0) / 2).mean())
    assert f"{RISK.mean():.1%}" in reading.sentence and f"{HAPPENED.mean():.1%}" in reading.sentence
    offered = the(found, "ambiguous").readings[reading.sentence]
    data = load(table(id=IDS, model_a=RISK, model_b=worse, default=HAPPENED, branch=np.arange(N) % 20), **{
        name: value for name, value in offered.items() if name not in ("labels", "features")
    }, choices=Choices(labels=offered["labels"]))  # fmt: skip
    np.testing.assert_allclose(probability(data), RISK)


def test_the_lines_that_do_the_same(tmp_path, capsys):
    file = tmp_path / "two models.csv"
    file.write_bytes(table(model_a=RISK, model_b=RISK**2, default=HAPPENED)[1])
    reading = inspect(file).readings[0]
    python, shell = lines_that_read(str(file), Choices.from_roles(reading.roles))
    data = eval(python, {"calib": calib})
    np.testing.assert_allclose(probability(data), RISK if reading.roles["outputs"] == "model_a" else RISK**2, atol=1e-9)
    assert shell.startswith("python -m calib inspect ") and "--read outcome=default" in shell
    assert main(["inspect", str(file)]) == 1
    assert reading.sentence in capsys.readouterr().out
    assert main(["inspect", str(file), "--read", "outcome=default", "--read", "outputs=model_b"]) == 0
    assert "model_b  outputs" in capsys.readouterr().out.replace("   ", "  ")


def test_roles_by_hand():
    file = table(a=RISK, b=HAPPENED, c=np.arange(N) % 25, d=AMOUNT, e=ANIMALS[LABELS], f=AGE)
    given = {"outcome": "b", "outputs": "a", "cluster": "c", "weight": "d", "group": ["e"], "features": ["f"]}
    data = load(file, roles=given)
    np.testing.assert_allclose(probability(data), RISK)
    np.testing.assert_allclose(data.weights, AMOUNT)
    assert data.weight_kind is None and len(set(data.clusters)) == 25
    np.testing.assert_array_equal(data.groups, ANIMALS[LABELS])
    assert data.features.shape == (N, 1)
    assert {role.reason for role in data.roles} == {"as chosen"}


def test_several_columns_in_a_role_of_one_are_refused():
    with pytest.raises(calib.CalibrationError, match=r"'outcome'.*2"):
        load(table(a=HAPPENED, b=HAPPENED, p=RISK), roles={"outcome": ["a", "b"]})


def test_an_unknown_role_is_refused():
    with pytest.raises(calib.CalibrationError, match="outcome"):
        load(table(p=RISK, y=HAPPENED), roles={"truth": "y"})


def test_several_columns_of_groups_are_crossed():
    size, region = np.array(["sme", "corporate"])[AGE % 2], np.array(["north", "south"])[IDS % 2]
    data = load(table(pd=RISK, default=HAPPENED, size=size, region=region), roles={"group": ["size", "region"]})
    np.testing.assert_array_equal(data.groups, [f"{a} · {b}" for a, b in zip(size, region, strict=True)])


def test_the_order_of_the_columns_changes_nothing_but_ties():
    columns = {"id": IDS, "age": AGE, "pd": RISK, "default": HAPPENED, "segment": ANIMALS[LABELS]}
    hashes = {load(table(**{name: columns[name] for name in order})).sha256
              for order in (list(columns), list(columns)[::-1], ["default", "segment", "pd", "age", "id"])}  # fmt: skip
    assert len(hashes) == 1


# Several models.


def test_models_side_by_side():
    found = calib.load_models(table(id=IDS, score_rf=RISK, score_nn=RISK**2, default=HAPPENED))
    assert set(found) == {"rf", "nn"}
    np.testing.assert_allclose(probability(found["nn"]), RISK**2, atol=1e-9)
    assert [data.name for data in found.values()] == list(found)


def test_models_side_by_side_with_a_column_for_each_class():
    other = PROBS[:, [1, 2, 0]]
    columns = {f"{model}_{k}": p[:, k] for model, p in (("cnn", PROBS), ("vit", other)) for k in range(3)}
    found = calib.load_models(table(label=LABELS, **columns))
    assert set(found) == {"cnn", "vit"}
    np.testing.assert_allclose(probability(found["vit"], 0), other[:, 0], rtol=1e-4)


def test_models_below_each_other():
    file = table(
        question=np.arange(N) // 2, confidence=CONFIDENCE, correct=LABELS == 0, model=np.array(["a", "b"])[IDS % 2]
    )
    whole = load(file)
    assert set(whole.groups) == {"a", "b"} and len(whole) == N
    assert "several_models" in {finding.code for finding in whole.findings}
    found = calib.load_models(file)
    assert set(found) == {"a", "b"} and sum(map(len, found.values())) == N
    np.testing.assert_allclose(found["b"].confidence, CONFIDENCE[IDS % 2 == 1])
    assert len({data.sha256 for data in (whole, *found.values())}) == 3


def test_a_single_model_goes_by_the_name_of_the_file():
    assert list(calib.load_models(table(pd=RISK, default=HAPPENED))) == ["table"]
    with pytest.raises(DataError):
        calib.load_models(table(age=AGE, label=HAPPENED))


# Tables of others.


def test_a_table_of_loans_is_read_without_options():
    data = load(REFERENCE / "data" / "credit.csv")
    found = roles(data)
    assert (found["loan_id"], found["branch"], found["segment"], found["exposure"]) == (
        "id",
        "cluster",
        "group",
        "weight",
    )
    assert data.weight_kind is None and data.event.name == "default" and len(data) == 4000


def test_a_table_of_answers_is_read_without_options():
    data = load(REFERENCE / "data" / "llm.csv")
    assert (data.kind, len(data), len(set(data.clusters)), len(set(data.groups))) == ("pairs", 1500, 750, 2)
    assert {len(model) for model in calib.load_models(REFERENCE / "data" / "llm.csv").values()} == {750}


def test_a_table_of_patients_is_read_without_options():
    data = load(Path(REFERENCE / "data" / "breast.csv"))
    assert (data.event.name, len(data), roles(data)["patient_id"]) == ("malignant", 569, "id")


@pytest.mark.parametrize("score", ["No-show probability", "p_no_show"])
def test_a_no_in_the_name_of_the_outcome_is_not_the_label_no(score):
    rng = np.random.default_rng(0)
    risk = rng.uniform(0.02, 0.6, 120).round(3)
    missed = np.where(rng.random(120) < risk, "Yes", "No")
    data = load(pd.DataFrame({"Appointment": np.arange(1000, 1120), score: risk, "No-show": missed}))
    np.testing.assert_array_equal(data.labels, missed == "Yes")
    np.testing.assert_allclose(np.exp(data.logits[:, 1]), risk)
    assert data.class_names[data.event.column] == "Yes"


@pytest.mark.parametrize("chosen", [{"outputs": "nope"}, {"outputs": ("pd", "nope")}, {"predicted": "nope"}])
@pytest.mark.parametrize("read", [load, read_outputs, read_features])
def test_a_column_that_is_not_there_is_named(read, chosen):
    if "predicted" in chosen and read is not load:
        return  # without labels there is nothing to check by
    with pytest.raises(DataError, match="no array or column 'nope'; it holds pd, default"):
        read(table(pd=RISK, default=HAPPENED), choices=Choices(**chosen))


def test_labels_in_several_columns_are_refused():
    found = inspect(table(pd=RISK, default=HAPPENED), choices=Choices(labels=("pd", "default"), kind="logits"))
    assert found.predictions is None and found.findings[0].action


@pytest.mark.parametrize(
    ("value", "share"), [(0, "0.0%"), ("no", "0.0%"), (False, "0.0%"), (1, "100.0%"), ("yes", "100.0%")]
)
def test_of_one_label_it_is_said_how_often_the_event_happened(value, share):
    (reading,) = inspect(table(pd=RISK, default=[value] * N)).readings
    assert reading.sentence == f"P(default) in pd: mean {RISK.mean():.1%}, happened {share}"


def test_constant_outputs_are_not_said_to_be_shuffled():
    found = inspect(table(pd=[0.2] * N, default=HAPPENED))
    assert [finding.code for finding in found.findings if finding.level == "warning"] == ["constant"]
    np.testing.assert_allclose(probability(found.predictions), 0.2)
