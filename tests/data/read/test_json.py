"""JSON documents and lines: values, lists and dictionaries by class, and what known programs write.

The files of other programs are made here after their documented formats: pandas' ``to_json``, the lists of a
text-classification pipeline of transformers (``top_k=None``), and ``--log_samples`` of lm-evaluation-harness, which
writes log-likelihoods as numbers or, in later versions, as text.
"""

from __future__ import annotations

import json

import numpy as np
import pandas as pd

from calib.data import Choices, Inspection, inspect
from calib.data.read import files
from tests.data.conftest import cases, the
from tests.data.read.conftest import LABELS, LOGITS, NAMES, PROBS, check_read

PAIRS = list(zip(PROBS.tolist(), LABELS.tolist(), strict=True))
FRAME = pd.DataFrame(PROBS, columns=[f"p_{name}" for name in NAMES]).assign(
    label=[NAMES[k] for k in LABELS]
)


def lines(rows) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def read(text: str, name: str = "outputs.json", **chosen) -> Inspection:
    return inspect((name, text.encode()), choices=Choices(**chosen))


BY_NUMBER = [{"row": i, "probs": row, "label": label} for i, (row, label) in enumerate(PAIRS)]
BY_NAME = [
    {"probs": dict(zip(NAMES, row, strict=True)), "label": NAMES[label]} for row, label in PAIRS
]


@cases(
    "text, names",
    [
        ("lines", lines(BY_NUMBER), None),
        ("dictionaries by class", lines(BY_NAME), NAMES),
        (
            "rows inside other objects",
            json.dumps({"meta": {"seed": 3}, "data": {"rows": BY_NAME}}),
            NAMES,
        ),
        (
            "one object of lists",
            json.dumps({"model": "x", "logits": LOGITS.tolist(), "labels": LABELS.tolist()}),
            None,
        ),
        *(
            (f"pandas, {o}", FRAME.to_json(orient=o, double_precision=15), NAMES)
            for o in ("split", "index", "columns")
        ),
        (
            "pandas, records",
            FRAME.to_json(orient="records", lines=True, double_precision=15),
            NAMES,
        ),
    ],
)
def test_tables_are_read_however_they_nest(text, names):
    check_read(read(text), names or ("0", "1", "2"))


# Transformers.


def scored(row, prefix="LABEL_"):
    """All labels with their scores, the highest first."""
    return [{"label": f"{prefix}{j}", "score": row[j]} for j in np.argsort(row)[::-1]]


def test_lists_of_label_and_score_are_columns_in_the_order_of_their_labels():
    expected = tuple(f"LABEL_{j}" for j in range(3))
    found = read(
        lines({"text": "…", "label": f"LABEL_{k}", "scores": scored(row)} for row, k in PAIRS)
    )
    check_read(found, expected)
    beside = json.dumps(LABELS.tolist()).encode()
    alone = json.dumps([scored(row) for row, _ in PAIRS]).encode()
    check_read(
        inspect(("pipeline.json", alone), labels=("labels.json", beside)), ("0", "1", "2")
    )  # as labelled


def test_the_first_choice_of_a_pipeline_is_no_true_label():
    found = read(json.dumps([scored(row)[0] for row, _ in PAIRS]))
    assert found.predictions is None
    assert "top_k=None" in the(found, "top_label_alone").action
    assert [array.name for array in found.arrays] == ["predicted_label", "confidence"]
    events = [{"label": NAMES[k > 0], "score": 1 - row[0]} for row, k in PAIRS]
    found = read(json.dumps(events))
    assert len(found.readings) == 2, (
        "scores below one half are no first choice of two, but P(cat) or P(dog)"
    )


# lm-evaluation-harness.


def sample(number, row, label, as_text=False, **changed):
    """One line of a log of samples, with the answers as numbers or, as later versions clean them, as text."""
    pairs = [[str(v), "False"] if as_text else [v, False] for v in row]
    return {
        "doc_id": number,
        "doc": {"question": "Which?", "choices": ["one", "two", "three"]},
        "target": str(label) if as_text else label,
        "arguments": [["Which?", f" {choice}"] for choice in ("one", "two", "three")],
        "resps": [[pair] for pair in pairs],
        "filtered_resps": pairs,
        "acc": 1.0,
        **changed,
    }


LIKELIHOODS = (LOGITS - 30).tolist()
ANSWERED = list(enumerate(zip(LIKELIHOODS, LABELS.tolist(), strict=True)))


def test_samples_of_the_harness_are_logits_over_the_choices():
    check_read(read(lines(sample(i, row, label) for i, (row, label) in ANSWERED)))
    found = read(
        lines(sample(i, row, label, as_text=True) for i, (row, label) in ANSWERED),
        "samples_arc.jsonl",
    )
    check_read(found)
    said = the(found, "softmax_over_choices").message
    assert "3 choices" in said and "softmax" in said
    assert found.choices.kind == "logits"


@cases(
    "changed",
    [
        ("targets as text", lambda row, label: {"target": f" {('one', 'two', 'three')[label]}"}),
        ("responses alone", lambda row, label: {"filtered_resps": None}),
        (
            "mutual information",
            lambda row, label: {"filtered_resps": [[v, False] for v in (*row, -9.0, -9.5, -8.0)]},
        ),
        (
            "choices with labels",
            lambda row, label: {"doc": {"choices": {"text": list("abc"), "label": list("ABC")}}},
        ),
    ],
)
def test_samples_of_other_tasks_are_read(changed):
    check_read(
        read(lines(sample(i, row, label, **changed(row, label)) for i, (row, label) in ANSWERED))
    )


def test_questions_with_other_numbers_of_choices_and_other_filters_are_counted():
    rows = [sample(i, row, label, filter="none") for i, (row, label) in ANSWERED]
    rows += [sample(900 + i, [-1.0, -2.0], 0, filter="none", doc={}) for i in range(5)]
    rows += [sample(i, row, label, filter="strict") for i, (row, label) in ANSWERED[:7]]
    found = read(lines(rows))
    check_read(found)
    assert "5 questions" in the(found, "other_choices").message


def test_generated_text_has_no_probabilities():
    found = read(
        lines(sample(i, row, 0, filtered_resps=["42"], resps=[["42"]]) for i, (row, _) in ANSWERED)
    )
    assert "multiple-choice" in the(found, "no_outputs").action


def test_an_underscore_between_digits_of_an_answer_makes_it_no_likelihood():
    """Python takes ``1_2`` for 12, which no other reader of numbers here does."""
    found = read(
        lines(sample(i, ["-1_2", *row[1:]], label, as_text=True) for i, (row, label) in ANSWERED)
    )
    assert found.predictions is None and the(found, "no_outputs")


# What is refused, and what is bounded.


@cases(
    "text, code",
    [
        ("cut off", lines(BY_NUMBER)[:-20], "damaged"),
        ("deep lists", "[" * 200_000, "nested"),
        ("a number of many digits", '{"a": ' + "9" * 10_000 + "}", "damaged"),
        ("nothing but nesting", lines([{"a": [[1]]}, {"a": [[2]]}]), "no_rows"),
        ("many keys", lines([{f"k{j}": 1 for j in range(10_001)}]), "too_large"),
    ],
)
def test_what_cannot_be_read_is_refused_in_words(text, code):
    found = read(text)
    assert found.predictions is None
    assert found.findings[0].code == code and found.findings[0].action


def test_special_numbers_are_bad_values_and_no_errors():
    special = '{"probs": [NaN, Infinity, -Infinity], "label": 0}\n{"probs": [1e999, null, 1], "label": 1}\n'
    rows = lines(BY_NUMBER) + special
    assert the(read(rows), "not_finite").fix == {"drop_bad_rows": True}
    check_read(read(rows, drop_bad_rows=True))


def test_nested_values_and_long_keys_are_left_out_and_sizes_are_bounded(monkeypatch):
    rows = [{**row, "messages": [{"role": "user"}], "k" * 5000: 1} for row in BY_NUMBER]
    found = read(lines(rows))
    check_read(found)
    assert "messages" in the(found, "nested").message
    monkeypatch.setattr(files, "MAX_TEXT", 3000)
    assert the(read(lines(BY_NUMBER)), "too_large").action


def test_several_lists_of_rows_are_not_mixed():
    found = read(json.dumps({"train": BY_NAME[:100], "test": BY_NAME[100:]}))
    assert "train (100), test (140)" in the(found, "several_tables").message
