"""Which column of a table is what: the rules with examples, and what must not change a guess."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from calib.data import Choices, inspect, load
from calib.data.guess.table import guess
from calib.data.names import class_names

N = 120
RNG = np.random.default_rng(0)
RISK = RNG.beta(1, 2, N).round(4)
HAPPENED = (RNG.random(N) < RISK).astype(int)
PROBS = RNG.dirichlet(np.ones(3), N).round(4)
LABELS = RNG.integers(0, 3, N)
ANIMALS = np.array(["cat", "dog", "cow"])
GUESSED = ANIMALS[PROBS.argmax(axis=1)]
AGE = RNG.integers(18, 90, N)
DAYS = np.array([str(np.datetime64("2024-01-01") + k) for k in range(N)])


def of(**columns):
    """The guess for some columns."""
    return guess({name: np.asarray(cells) for name, cells in columns.items()}, N)


def read(found) -> tuple[str, tuple[str, ...]]:
    """Outcome and outputs of the first reading."""
    reading = found.readings[0]
    return reading.outcome.name, reading.outputs.names


def roles(found) -> dict[str, str]:
    """Role of each column."""
    return {role.column: role.role for role in found.roles}


# Outputs.


@pytest.mark.parametrize("noun", ["elo", "goals", "age"])
def test_whole_numbers_of_each_side_are_no_scores(noun):
    sides = {f"{side}_{noun}": RNG.integers(0, 2500, N) for side in ("white", "black")}
    winner = np.array(["black", "white"])[HAPPENED]
    guessed = of(**sides, white_win_prob=RISK, winner=winner)
    assert guessed.is_clear and read(guessed) == ("winner", ("white_win_prob",))


def test_signs_in_names_tell_classes_apart_that_words_do_not():
    labels, names = np.array(["<=50K", ">50K"]), ("P (income=<=50K)", "P (income=>50K)")
    found = of(income=labels[HAPPENED], **dict(zip(names, (1 - RISK, RISK), strict=True)))
    assert (
        found.is_clear
        and read(found) == ("income", names)
        and found.readings[0].outputs.classes == tuple(labels)
    )


def test_votes_in_columns_called_like_the_labels_are_outputs_whatever_they_sum_to():
    """Trees that did not see a row vote for it, so that sums differ; ratings of each side are no votes."""
    trees = RNG.integers(150, 220, N)
    votes = np.array(
        [
            RNG.multinomial(n, p)
            for n, p in zip(trees, PROBS / PROBS.sum(axis=1, keepdims=True), strict=True)
        ]
    )
    animals = dict(zip(ANIMALS.tolist(), votes.T, strict=True))
    assert read(of(**animals, Species=ANIMALS[LABELS])) == ("Species", tuple(ANIMALS))
    ratings = {f"{animal}_elo": cells for animal, cells in animals.items()}
    assert not of(**ratings, Species=ANIMALS[LABELS]).readings


@pytest.mark.parametrize("shared", ["pd_old default_old", "pd_new default_new", "pd_old old_flag"])
def test_a_word_that_two_names_share_does_not_rule_out_another_pair(shared):
    output, outcome = shared.split()
    old = RNG.random(N)
    found = of(
        pd=RISK, **{output: old}, default=HAPPENED, **{outcome: (RNG.random(N) < old).astype(int)}
    )
    offered = {(reading.outcome.name, reading.outputs.names) for reading in found.readings}
    assert not found.is_clear and offered >= {("default", ("pd",)), (outcome, (output,))}


def test_limits_what_was_before_and_reaction_times_are_no_outputs():
    for name in ("lower", "p_upper", "pd_se", "previous_default_prob", "last_score"):
        found = of(default=HAPPENED, pd=RISK, **{name: RNG.random(N)})
        assert found.is_clear and read(found)[1] == ("pd",)
    assert not of(correct=HAPPENED, reaction_time=RNG.gamma(2, 0.3, N)).readings


# Of which class one column speaks.


@pytest.mark.parametrize(
    ("outcome", "labels", "score", "last"),
    [
        ("kind", ("dog", "cat"), "p_cat", "cat"),
        ("survived", (0, 1), "survival_prob", None),
        ("No-show", ("No", "Yes"), "p_no_show", "Yes"),
    ],
)
def test_names_say_of_which_class_a_column_speaks(outcome, labels, score, last):
    found = of(**{outcome: np.array(labels)[HAPPENED], score: RISK})
    values = found.readings[0].label_values
    assert found.is_clear and (None if values is None else str(values[-1])) == last


@pytest.mark.parametrize(
    ("outcome", "labels", "score"),
    [
        ("class", ("left", "right"), "probability"),
        ("died", (0, 1), "survival_prob"),
        ("diagnosis", ("B", "M"), "prob_malignant"),
        ("churn", (0, 1), "prob_no_churn"),
        ("no_show", (0, 1), "prob_show"),
    ],
)
def test_where_names_do_not_say_it_both_are_offered(outcome, labels, score):
    found = of(**{outcome: np.array(labels)[HAPPENED], score: RISK})
    assert not found.is_clear
    last = {
        str(reading.label_values[-1])
        for reading in found.readings
        if reading.outcome.name == outcome
    }
    assert last == set(map(str, labels))


def test_columns_of_names_in_no_order_beside_numbers_are_asked_about():
    columns = {f"prob_{name}": PROBS[:, k] for k, name in enumerate(["dog", "cat", "bird"])}
    found = of(label=LABELS, **columns)
    assert [reading.label_values for reading in found.readings] == [(0, 1, 2), (2, 1, 0)]
    assert of(label=LABELS, **dict(sorted(columns.items()))).is_clear


@pytest.mark.parametrize(
    ("names", "outcome"),
    [
        ("bad good", "label"),
        ("approved rejected", "approved"),
        ("high low", "label"),
        ("leaves no_churn", "churn"),
        ("bad no_default", "default"),
        ("benign malignant", "benign"),
        ("a b", "outcome"),
    ],
)
def test_names_that_do_not_say_that_the_second_happens_beside_zeros_and_ones_are_asked_about(
    names, outcome
):
    first, second = (f"p_{name}" for name in names.split())
    for columns in ({first: RISK, second: 1 - RISK}, {second: 1 - RISK, first: RISK}):
        found = of(**{outcome: HAPPENED}, **columns)
        offered = {(reading.outputs.names, reading.label_values) for reading in found.readings}
        assert not found.is_clear and {values for names, values in offered if len(names) == 2} == {
            (0, 1),
            (1, 0),
        }


def test_columns_chosen_in_another_order_keep_their_labels_where_one_has_no_rows():
    columns = {
        "label": np.where(LABELS == 0, 3, 2),
        **{f"p_{k + 1}": PROBS[:, k] for k in range(3)},
    }
    chosen = Choices(outputs=("p_3", "p_1", "p_2"), labels="label")
    choices = guess(columns, N, chosen).choices(chosen)
    assert (choices.outputs, choices.label_values) == (("p_3", "p_1", "p_2"), (3, 1, 2))


def test_names_of_rows_that_begin_with_a_year_are_no_dates():
    games = [f"{2000 + k % 20}_{k * 7919 % 10007:05d}" for k in range(N)]
    assert roles(of(pd=RISK, default=HAPPENED, game=games))["game"] != "time"


# Where one condition of a rule decides.

NAMED = np.array(["active", "gone"])[HAPPENED]
ODD, LOGIT = np.arange(N) % 2, np.log(RISK / (1 - RISK) + 1e-4)
EACH = {f"p_{k}": PROBS[:, k] for k in range(3)}
YES_NO = np.array(["no", "yes"])


@pytest.mark.parametrize(
    ("columns", "outcome", "outputs"),
    [
        ({**EACH, "y_true": LABELS, "correct": HAPPENED}, "y_true", "p_0 p_1 p_2"),
        ({"logit": LOGIT, "score": AGE * 10, "default": HAPPENED}, "default", "logit"),
        ({"chance": RISK, "fraud": HAPPENED, "fold": ODD}, "fraud", "chance"),
        ({"chance": RISK, "fraud": HAPPENED, "year": ODD + 1}, "fraud", "chance"),
    ],
)
def test_a_column_beside_does_not_stand_for_outcome_or_outputs(columns, outcome, outputs):
    found = of(**columns)
    assert found.is_clear and read(found) == (outcome, tuple(outputs.split()))


@pytest.mark.parametrize(
    ("columns", "outcome"),
    [
        ({"p_churn": RISK, "churn": NAMED, "label": ODD}, "churn"),
        ({"p_default": RISK, "default_label": NAMED, "label": ODD}, "default_label"),
        ({"p_no": 1 - RISK, "p_yes": RISK, "outcome": np.array(["A", "B"])[HAPPENED]}, "outcome"),
        ({"confidence": 0.5 + RISK / 2, "paid": YES_NO[HAPPENED], "insured": YES_NO[ODD]}, "paid"),
    ],
)
def test_what_is_likelier_is_offered_first(columns, outcome):
    found = of(**columns)
    assert not found.is_clear and read(found)[0] == outcome and found.readings[0].predicted is None


@pytest.mark.parametrize(
    "columns",
    [
        {"weight": RISK, "default": HAPPENED},
        {"gold": ANIMALS[LABELS], "observed": GUESSED, "confidence": RISK},
        {
            "gold": ANIMALS[LABELS],
            "farm": np.array(["cat", *"uvwxyz"])[AGE % 7],
            "confidence": RISK,
        },
    ],
)
def test_where_outputs_or_predictions_are_missing_nothing_is_read(columns):
    assert not of(**columns).readings


# What is beside.


def test_dates_in_any_usual_form_are_times_and_text_of_few_values_groups():
    for name in ("scored_at", "Stichtag", "Opened", "anything"):
        for form in ("{0}-{1}-{2}", "{2}.{1}.{0}", "{1}/{2}/{0}", "{0}-{1}-{2} 10:30"):
            days = [form.format(*day.split("-")) for day in DAYS]
            assert roles(of(pd=RISK, default=HAPPENED, **{name: days}))[name] == "time"
    for name in ("Filiale", "Team", "topic", "region", "mean texture", "colour"):
        assert roles(of(pd=RISK, default=HAPPENED, **{name: ANIMALS[AGE % 3]}))[name] == "group"


@pytest.mark.parametrize(
    ("name", "cells", "role"),
    [
        ("patient_id", AGE, "cluster"),
        ("subject", [f"S{k % 20}" for k in range(N)], "cluster"),
        *(
            (f"school{end}", [f"S{k % 20}" for k in range(N)], "cluster")
            for end in ("", "id", "_id")
        ),
        *(
            (own, [f"level {k % 16}" for k in range(N)], "group")
            for own in ("education", "schooling")
        ),
        *((own, [f"S{k % 16}" for k in range(N)], "cluster") for own in ("sample", "subj")),
        ("depot", [f"D{k % 60}" for k in range(N)], "cluster"),
        ("sample_weight", RISK + 0.1, "weight"),
        ("Resample", [f"Fold{k % 4}.Rep{k % 5}" for k in range(N)], "group"),
        ("hospital_no", [f"HS{k % 9}" for k in range(N)], "cluster"),
        ("village", [f"VIL{k % 14:02}" for k in range(N)], "cluster"),
        ("ward", [f"ward {k % 14}" for k in range(N)], "cluster"),
        ("Stationsnr", 101 + AGE % 10, "cluster"),
        ("engaged_sessions", AGE % 20, "metadata"),
        ("accident_year", 1998 + AGE % 5, "time"),
        ("year_of_birth", 1950 + AGE % 5, "ignore"),
        ("birth_year", 1950 + AGE % 5, "ignore"),
        ("report_date", AGE % 5, "ignore"),
        ("mean texture", RNG.normal(size=N), "ignore"),
        ("key", [f"K{k * 7919 % 1000}" for k in range(N)], "id"),
        ("constant", np.ones(N), "ignore"),
        ("split", np.array(["cal", "test"])[AGE % 2], "split"),
    ],
)
def test_the_role_of_a_column_beside(name, cells, role):
    found = of(p_default=RISK, default=HAPPENED, **{name: cells})
    assert found.is_clear and roles(found)[name] == role


def test_patients_and_not_the_six_wards_they_lie_in_are_clusters():
    """Six wards of very many rows are groups to compare; as clusters nothing could be shown of them."""
    n = 2_400
    risk = RNG.random(n).round(3)
    died = (RNG.random(n) < risk).astype(int)
    patient = RNG.integers(0, 900, n)
    ward = [f"ward {k % 6}" for k in range(n)]
    found = roles(of(p_died=risk, died=died, ward=ward, patient_id=patient))
    assert found["patient_id"] == "cluster" and found["ward"] == "group"
    assert roles(of(p_died=risk, died=died, ward=ward))["ward"] == "group"
    hospital = [f"H{k % 45}" for k in range(n)]
    found = roles(of(p_died=risk, died=died, hospital=hospital, patient_id=patient))
    assert found["hospital"] == "cluster"  # which holds its patients, and is one of many


def test_a_weight_beside_a_height_is_that_of_a_body():
    assert roles(of(pd=RISK, y=HAPPENED, weight=AGE + 0.5, height=AGE + 90.5))["weight"] != "weight"


# Other forms.


def test_a_row_for_each_class_is_told_from_predictions():
    found = of(image=np.repeat(np.arange(N // 3), 3), **{"class": np.tile(ANIMALS, N // 3)},
               probability=PROBS[: N // 3].ravel(), true_class=np.repeat(ANIMALS[LABELS[: N // 3]], 3))  # fmt: skip
    assert not found.readings and found.problem.code == "melted" and "pivot" in found.problem.action


def test_labels_in_a_column_each_are_named_as_one_hot_or_asked_about_with_their_own_scores():
    scores = {f"p_{a}": RNG.random(N) for a in ANIMALS}
    one_hot = {f"true_{a}": (k == LABELS).astype(int) for k, a in enumerate(ANIMALS)}
    found = of(**one_hot, **scores)
    assert not found.readings and found.problem.code == "one_hot"
    several = {f"true_{a}": (RNG.random(N) < 0.4).astype(int) for a in ANIMALS}
    found = of(**several, **scores)
    offered = {(reading.outcome.name, reading.outputs.names) for reading in found.readings[:6]}
    assert not found.is_clear and offered == {(f"true_{a}", (f"p_{a}",)) for a in ANIMALS}


# What must not change a guess.


TABLES = [
    {"id": np.arange(N), "pd": RISK, "score": AGE, "default": HAPPENED},
    {
        "day": DAYS,
        **EACH,
        "y_true": LABELS,
        "predicted": PROBS.argmax(axis=1),
        "farm": ANIMALS[AGE % 3],
    },
    {
        "key": [f"K{k * 7919 % 1000}" for k in range(N)],
        "confidence": 0.5 + RISK / 2,
        "correct": HAPPENED,
        "age": AGE,
    },
    {
        "constant": np.ones(N),
        "pd_glm": RISK,
        "pd_gbm": RNG.random(N),
        "default": HAPPENED,
        "subject": AGE,
    },
]


@pytest.mark.parametrize("columns", TABLES)
def test_order_and_names_of_columns_left_alone_change_nothing(columns):
    def told(names=lambda name: name):
        changed = {names(name): cells for name, cells in columns.items()}
        return [of(**dict(items)) for items in (changed.items(), reversed(changed.items()))]

    def shape(found):
        return {
            (r.outcome.name, frozenset(r.outputs.names), r.pairs) for r in found.readings
        }, roles(found)

    first, reverse = told()
    assert [role.column for role in first.roles] == list(columns) and all(
        r.role and r.reason for r in first.roles
    )
    assert first.readings and shape(reverse) == shape(first)
    alone = [
        role.column for role in first.roles if first.is_clear and role.role in ("id", "ignore")
    ]
    for found in told(lambda name: "qzqz xyxy" if name in alone else name):
        assert shape(found)[0] == shape(first)[0]


def test_a_range_that_was_seen_in_part_is_said_to_be():
    assert (
        guess({"pd": RISK, "default": HAPPENED}, 100 * N).roles[0].reason.endswith("rows looked at")
    )
    assert (
        guess({"pd": RISK, "default": HAPPENED}, N)
        .roles[0]
        .reason.endswith(f"{RISK.min():.4g} to {RISK.max():.4g}")
    )


def test_what_names_do_not_have_in_common():
    for names, classes in (
        (("P(cat)", "P(dog)"), ("cat", "dog")),
        (("no_prob", "yes_prob"), ("no", "yes")),
        (("P_settledYes", "P_settledNo"), ("Yes", "No")),
        (("V1", "V2"), ("V1", "V2")),
        (("Class_1", "Class_2", "Class_10"), ("1", "2", "10")),
    ):
        assert class_names(names) == classes


# Weights.


@pytest.mark.parametrize(
    "name, kind",
    [
        ("survey_weight", "sampling"),
        ("sample_weight", "sampling"),
        ("ip_weights", "sampling"),
        ("ipw", "sampling"),
        ("pspwght", "sampling"),
        ("weight", None),
        ("car_weight", None),
        ("freq_weight", None),
        ("sample_freq", None),
        ("Exposure", None),
    ],
)
def test_weights_named_as_those_of_a_sample_are_applied(name, kind):
    columns = {"pd": RISK, "default": HAPPENED, name: RNG.integers(100, 900, N)}
    choices = of(**columns).choices(Choices())
    assert (choices.weights, choices.weight_kind) == (name, kind)
    given = Choices(weights=name)
    assert guess(columns, N, given).choices(given).weight_kind is None
    other = Choices(weight_kind="exposure")
    assert guess(columns, N, other).choices(other).weight_kind == "exposure"


# Pairs of texts.

AGREES = RNG.random(N) < RISK
INTENT = RNG.choice(["buy", "sell", "ask"], N)
OTHER = np.where(AGREES, INTENT, np.where(INTENT == "buy", "ask", "buy"))


@pytest.mark.parametrize(
    "predicted, true, score",
    [
        ("pred_label", "true_label", "confidence"),
        ("answer", "gold", "confidence"),
        ("predicted_intent", "intent", "score"),
    ],
)
def test_two_texts_beside_a_confidence_are_pairs(predicted, true, score):
    """Correct is where both texts agree; a question is allowed with this reading first."""
    found = of(**{predicted: OTHER, true: INTENT, score: RISK})
    first = found.readings[0]
    assert read(found) == (true, (score,))
    assert first.pairs and first.predicted.name == predicted


@pytest.mark.parametrize(
    "predicted, true", [("pred_label", "true_label"), ("answer", "gold"), ("label_a", "label_b")]
)
def test_two_texts_beside_a_confidence_open_with_their_agreement(predicted, true):
    columns = {predicted: OTHER, true: INTENT, "confidence": RISK}
    data = load(pd.DataFrame(columns))
    assert data.kind == "pairs"
    np.testing.assert_array_equal(data.labels, AGREES)


def test_labels_that_differ_in_signs_alone_keep_their_rates():
    happened = np.arange(200) % 4 == 0
    income = np.where(happened, ">50K", "<=50K")
    table = {"income": income, "Scored Probabilities": np.linspace(0.1, 0.9, 200)}
    found = inspect(pd.DataFrame(table))
    assert "happened 25.0%" in found.findings[0].message
