"""Which column of a table is what: the rules with examples, and what must not change a guess."""

from __future__ import annotations

import numpy as np
import pytest

from calib.data import Choices
from calib.data.guess import guess
from calib.data.guess.names import class_names
from tests.data.corpus import tables

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


def of(chosen: Choices | None = None, **columns):
    """The guess for some columns; a double underscore in a name stands for a blank."""
    return guess({name.replace("__", " "): np.asarray(cells) for name, cells in columns.items()}, N, chosen)


def read(found) -> tuple[str, tuple[str, ...]]:
    """Outcome and outputs of the first reading."""
    reading = found.readings[0]
    return reading.outcome.name, reading.outputs.names


def roles(found) -> dict[str, str]:
    """Role of each column."""
    return {role.column: role.role for role in found.roles}


# Outputs.


@pytest.mark.parametrize(
    ("columns", "names"),
    [
        ({"p_0": 0, "p_1": 1, "p_2": 2}, ("p_0", "p_1", "p_2")),
        ({"prob cat": 0, "prob dog": 1, "prob cow": 2}, ("prob cat", "prob dog", "prob cow")),
    ],
)
@pytest.mark.parametrize("scale", [1, 100, "log"])
def test_columns_that_sum_to_one_are_one_for_each_class(columns, names, scale):
    values = np.log(PROBS.clip(1e-4)) if scale == "log" else PROBS * scale
    labels = ANIMALS[LABELS] if "cat" in names[0] else LABELS
    found = of(label=labels, age=AGE, **{name: values[:, k] for name, k in columns.items()})
    assert found.is_clear and read(found) == ("label", names)


@pytest.mark.parametrize(
    ("outcome", "score", "values"),
    [
        *(("default", "pd", RISK), ("Ausfall", "Ausfallwahrscheinlichkeit", RISK), ("churn", "score", RISK)),
        *(
            ("y", "logit", np.log(RISK / (1 - RISK))),
            ("event", "risk in %", RISK * 100),
            ("label", "score", AGE + 0.5),
        ),
    ],
)
def test_one_column_that_is_named_as_outputs(outcome, score, values):
    found = of(id=np.arange(N), **{outcome: HAPPENED, score: values})
    assert read(found) == (outcome, (score,))


@pytest.mark.parametrize("names", [("score_a", "score_b"), ("pd_glm", "pd_gbm"), ("logreg", "xgb")])
def test_several_models_are_asked_about(names):
    found = of(default=HAPPENED, **{names[0]: RISK, names[1]: RNG.random(N)})
    assert not found.is_clear and len(found.readings) == 2


@pytest.mark.parametrize("name", ["lower", "p_upper", "pd_se", "previous_default_prob", "last_score"])
def test_limits_and_what_was_before_are_no_outputs(name):
    found = of(default=HAPPENED, pd=RISK, **{name: RNG.random(N)})
    assert found.is_clear and read(found)[1] == ("pd",)


def test_reaction_times_are_no_outputs():
    assert not of(correct=HAPPENED, reaction_time=RNG.gamma(2, 0.3, N)).readings


# Outcome.


@pytest.mark.parametrize("name", ["y_true", "actual class", "ground_truth", "gold", "tatsächlich", "classe réelle"])
def test_what_is_named_the_true_class_goes_before_other_labels(name):
    found = of(label=HAPPENED[::-1], p=RISK, **{name: HAPPENED})
    assert read(found)[0] == name


def test_a_column_of_yes_and_no_is_only_asked_about():
    """``neutral`` beside two ratings of a match was taken for its outcome."""
    found = of(elo_prob1=RISK, elo_prob2=1 - RISK, neutral=HAPPENED)
    assert found.readings and not found.is_clear


def test_a_column_that_is_decided_by_the_outputs_is_not_the_outcome():
    columns = {a: PROBS[:, k] for k, a in enumerate(ANIMALS)}
    found = of(F_class=ANIMALS[LABELS], I_class=GUESSED, **columns)
    assert found.is_clear and roles(found)["I_class"] == "ignore" and roles(found)["F_class"] == "outcome"


@pytest.mark.parametrize("name", ["correct", "is_right", "antwort_richtig", "réponse juste", "exact_match", "hit"])
def test_what_tells_which_answers_are_correct_makes_a_score_a_confidence(name):
    found = of(confidence=RISK, **{name: HAPPENED})
    assert found.is_clear and found.readings[0].pairs


# Of which class one column speaks.


@pytest.mark.parametrize(
    ("outcome", "labels", "score", "last"),
    [
        *(("label", ("no", "yes"), "p_no", "no"), ("kind", ("cat", "dog"), "p_cat", "cat")),
        ("survived", (0, 1), "survival_prob", None),
        *(("default", (0, 1), "pd", None), ("No-show", ("No", "Yes"), "p_no_show", "Yes")),
    ],
)
def test_names_say_of_which_class_a_column_speaks(outcome, labels, score, last):
    found = of(**{outcome: np.array(labels)[HAPPENED], score: RISK})
    values = found.readings[0].label_values
    assert found.is_clear and (None if values is None else str(values[-1])) == last


@pytest.mark.parametrize(
    ("outcome", "labels", "score"),
    [
        *(
            ("class", ("left", "right"), "probability"),
            ("died", (0, 1), "survival_prob"),
            ("label", (0, 1), "prob_good"),
        ),
        *(("default", (0, 1), "credit_score"), ("label", ("PASS", "FAIL"), "score"), ("scrap", (0, 1), "p_yield")),
        *(("diagnosis", ("B", "M"), "prob_malignant"), ("passed", ("yes", "no"), "fail_prob")),
        ("churn", (0, 1), "prob_no_churn"),
    ],
)
def test_where_names_do_not_say_it_both_are_offered(outcome, labels, score):
    found = of(**{outcome: np.array(labels)[HAPPENED], score: RISK})
    assert not found.is_clear
    last = {str(reading.label_values[-1]) for reading in found.readings if reading.outcome.name == outcome}
    assert last == set(map(str, labels))


def test_columns_of_names_in_no_order_beside_numbers_are_asked_about():
    columns = {f"prob_{name}": PROBS[:, k] for k, name in enumerate(["dog", "cat", "bird"])}
    found = of(label=LABELS, **columns)
    assert [reading.label_values for reading in found.readings] == [(0, 1, 2), (2, 1, 0)]
    assert of(label=LABELS, **dict(sorted(columns.items()))).is_clear


# What is beside.


@pytest.mark.parametrize("name", ["scored_at", "Stichtag", "Opened", "anything"])
@pytest.mark.parametrize("form", ["{0}-{1}-{2}", "{2}.{1}.{0}", "{1}/{2}/{0}", "{0}-{1}-{2} 10:30"])
def test_dates_in_any_usual_form_are_times(name, form):
    days = [form.format(*day.split("-")) for day in DAYS]
    assert roles(of(pd=RISK, default=HAPPENED, **{name: days}))[name] == "time"


@pytest.mark.parametrize("name", ["Filiale", "Team", "topic", "region", "mean texture", "colour"])
def test_text_of_few_values_are_groups(name):
    assert roles(of(pd=RISK, default=HAPPENED, **{name.replace(" ", "__"): ANIMALS[AGE % 3]}))[name] == "group"


@pytest.mark.parametrize(
    ("name", "cells", "role"),
    [
        *(("patient_id", AGE, "cluster"), ("branch", AGE % 20, "cluster"), ("customer_age", AGE, "features")),
        *(
            ("subject", [f"S{k % 20}" for k in range(N)], "cluster"),
            ("nurse", [f"N{k % 23}" for k in range(N)], "cluster"),
        ),
        *(("sample_weight", RISK + 0.1, "weight"), ("mean texture", RNG.normal(size=N), "features")),
        *(("id", np.arange(N), "id"), ("key", [f"K{k * 7919 % 1000}" for k in range(N)], "id")),
        *(("sex", HAPPENED[::-1], "group"), ("notes", [f"seen by {k}" for k in range(N)], "id")),
        *(("constant", np.ones(N), "ignore"), ("split", np.array(["cal", "test"])[AGE % 2], "split")),
    ],
)
def test_the_role_of_a_column_beside(name, cells, role):
    found = of(p_default=RISK, default=HAPPENED, **{name: cells})
    assert found.is_clear and roles(found)[name] == role


def test_a_weight_beside_a_height_is_that_of_a_body():
    assert roles(of(pd=RISK, y=HAPPENED, weight=AGE + 0.5, height=AGE + 90.5))["weight"] != "weight"


# Other forms.


def test_a_row_for_each_class_is_told_from_predictions():
    found = of(image=np.repeat(np.arange(N // 3), 3), **{"class": np.tile(ANIMALS, N // 3)},
               probability=PROBS[: N // 3].ravel(), true_class=np.repeat(ANIMALS[LABELS[: N // 3]], 3))  # fmt: skip
    assert not found.readings and found.problem.code == "melted" and "pivot" in found.problem.action


@pytest.mark.parametrize(("one_hot", "code"), [(True, "one_hot"), (False, "several_labels")])
def test_labels_in_a_column_each_are_named_as_what_they_are(one_hot, code):
    truth = {f"true_{a}": (k == LABELS if one_hot else RNG.random(N) < 0.4).astype(int) for k, a in enumerate(ANIMALS)}
    found = of(**truth, **{f"p_{a}": RNG.random(N) for a in ANIMALS})
    assert not found.readings and found.problem.code == code


# What was chosen.


def test_what_was_chosen_needs_no_rule():
    found = of(Choices(labels="b", outputs="a", kind="binary_probability"), a=RISK, b=HAPPENED, c=AGE)
    assert found.is_clear and read(found) == ("b", ("a",))
    assert [role.reason for role in found.roles[:2]] == ["as chosen", "as chosen"]


# What must not change a guess.


@pytest.fixture(scope="module")
def samples():
    """Columns of the first set's text tables, as numbers or text."""
    found = {}
    for table in tables("first"):
        if table.filename.endswith((".csv",)) and table.verdict != "refuse":
            lines = [line.split(",") for line in table.content.decode("utf-8", "replace").splitlines()]
            if len({len(line) for line in lines}) == 1 and '"' not in "".join(lines[0]) and len(lines[0]) > 2:
                columns = zip(*lines[1:], strict=True)
                found[table.name] = {name: _typed(cells) for name, cells in zip(lines[0], columns, strict=True)}
    assert len(found) > 60
    return found


def _typed(cells):
    try:
        return np.array([float(cell) if cell else np.nan for cell in cells])
    except ValueError:
        return np.array(cells)


def shape_of(found):
    """What a guess says, whatever the order of the columns."""
    readings = {
        (r.outcome and r.outcome.name, frozenset(r.outputs.names), r.pairs, r.predicted and r.predicted.name)
        for r in found.readings
    }
    return found.is_clear, readings, roles(found)


def test_the_order_of_the_columns_changes_nothing(samples):
    for name, columns in samples.items():
        first = guess(columns, N)
        for order in (list(columns)[::-1], sorted(columns, key=lambda column: hash(column[::-1]))):
            assert shape_of(guess({column: columns[column] for column in order}, N)) == shape_of(first), name


def test_the_name_of_a_column_that_is_left_alone_changes_nothing(samples):
    for name, columns in samples.items():
        first = guess(columns, N)
        if not first.is_clear:
            continue
        for left in [role.column for role in first.roles if role.role in ("id", "ignore")]:
            renamed = guess({("qzqz xyxy" if c == left else c): cells for c, cells in columns.items()}, N)
            assert renamed.is_clear and read(renamed) == read(first), (name, left)


def test_every_column_has_a_role_and_a_reason(samples):
    for name, columns in samples.items():
        found = guess(columns, N)
        assert [role.column for role in found.roles] == list(columns), name
        assert all(role.role and role.reason for role in found.roles), name


def test_agreement_with_the_outcome_changes_nothing(samples):
    """A model that ranks backwards, and one that says nothing, are read as any other."""
    columns = {"id": np.arange(N), "pd": RISK, "score": AGE, "default": HAPPENED}
    told = [shape_of(guess({**columns, "default": labels}, N)) for labels in (HAPPENED, 1 - HAPPENED, HAPPENED[::-1])]
    assert told[0] == told[1] == told[2]


# Names.


@pytest.mark.parametrize(
    ("names", "classes"),
    [
        (("p_0", "p_1"), ("0", "1")),
        (("P(cat)", "P(dog)"), ("cat", "dog")),
        (("no_prob", "yes_prob"), ("no", "yes")),
        (("P_settledYes", "P_settledNo"), ("Yes", "No")),
        (("V1", "V2"), ("V1", "V2")),
        (("Class_1", "Class_2", "Class_10"), ("1", "2", "10")),
    ],
)
def test_what_names_do_not_have_in_common(names, classes):
    assert class_names(names) == classes
