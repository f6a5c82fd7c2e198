"""Decisions and prediction sets in exported files: the same from every file, refused where they do not fit."""

from __future__ import annotations

import csv
import io
import re

import numpy as np
import pandas as pd
import pytest

import calib
from calib.data.samples import load_sample
from calib.decisions import AnswerAbove, EventCut, conformal_sets
from calib.decisions.conformal import PredictionSets
from calib.decisions.rules import ABSTAIN, made_of, rule_from_state, rule_state
from calib.errors import CalibrationError
from calib.export import predict, provenance, writer
from calib.export.calibrated import Rows, to_csv, write_predictions
from calib.export.model_card import model_card
from calib.export.runtime import ExportedCalibrator, from_arrays
from calib.numerics import softmax
from tests.forged_records import forged, reread


@pytest.fixture(scope="module")
def fitted(overconfident):
    return calib.calibrator("temperature").fit(*overconfident)


@pytest.fixture(scope="module")
def sets(fitted, overconfident):
    logits, labels = overconfident
    probs = fitted.predict_proba(logits[200:])
    return conformal_sets(probs, labels[200:], 0.2, per_class=True)


@pytest.fixture(scope="module")
def binary(overconfident):
    logits, labels = overconfident
    return calib.calibrator("platt").fit(logits[:, :2], labels % 2)


def decided(exported, outputs):
    """What the library decides, and predict.py the same."""
    actions = exported.decide(outputs)
    script = predict.load(io.BytesIO(writer.to_bytes("npz", exported)))
    np.testing.assert_array_equal(script.decide(outputs), actions)
    if exported.sets is None:
        with pytest.raises(predict.Refused, match="holds no sets"):
            script.prediction_sets(outputs)
    else:
        sets = exported.prediction_sets(outputs)
        np.testing.assert_array_equal(script.prediction_sets(outputs), sets)
    if exported.kind != "pairs":
        np.testing.assert_array_equal(script.predict(outputs), exported.predict(outputs))
    return actions


def test_a_probability_that_is_written_as_the_cut_reaches_it():
    # At 19 of 99 cuts of two decimals it came out of its logarithm a trifle below: 0.14 was not acted on.
    hundredths = np.arange(1, 100)
    raw = calib.calibrator("identity").fit(np.zeros((2, 2)), [0, 1])
    for cut in hundredths.tolist():
        made = ExportedCalibrator(raw, kind="binary_probability", decision=EventCut(cut=cut / 100))
        np.testing.assert_array_equal(decided(made, hundredths / 100), hundredths >= cut)
    answered = ExportedCalibrator(
        raw, kind="binary_probability", decision=AnswerAbove(threshold=0.75)
    )
    np.testing.assert_array_equal(decided(answered, np.array([0.75, 0.25, 0.74])), [1, 0, ABSTAIN])


@pytest.mark.parametrize("kind", ["binary_probability", "probabilities", "pairs"])
@pytest.mark.parametrize("scale", [None, "percent"])
def test_probabilities_in_float32_are_decided_alike_in_memory_and_by_every_file(kind, scale):
    """In memory logarithms were float32: 23 of 99 cuts at a value that was written were decided in two ways."""
    hundredths = np.arange(1, 100)
    outputs = (hundredths / (1 if scale else 100)).astype(np.float32)
    if kind == "probabilities":
        outputs = np.stack([(100 if scale else 1) - outputs, outputs], axis=1)
    labels = np.arange(99) * 7 % 100 < hundredths
    data = calib.load({"outputs": outputs, "labels": labels.astype(int)}, kind=kind, scale=scale)
    raw = calib.calibrator("identity").fit(data)
    probs = raw.predict_proba(data)
    for cut in (hundredths[1::6] / 100).tolist():
        made = provenance.exported(raw, {"decision": AnswerAbove(threshold=cut)})
        confidence, predicted = (
            (probs[:, 1], 1) if kind == "pairs" else (probs.max(axis=1), raw.predict(data))
        )
        actions = decided(made, outputs)
        np.testing.assert_array_equal(
            actions, np.where(confidence >= cut - 1e-12, predicted, ABSTAIN)
        )
        np.testing.assert_array_equal(decided(reread(made), outputs), actions)
        if kind != "pairs":
            made = provenance.exported(raw, {"decision": EventCut(cut=cut)})
            np.testing.assert_array_equal(decided(made, outputs), probs[:, 1] >= cut - 1e-12)
            np.testing.assert_array_equal(
                decided(reread(made), outputs), probs[:, 1] >= cut - 1e-12
            )


def test_each_rule_is_followed_for_outputs_as_they_were_uploaded(
    fitted, binary, sets, overconfident
):
    logits, _ = overconfident
    probs = fitted.predict_proba(logits)
    both = ExportedCalibrator(fitted, decision=AnswerAbove(threshold=0.6), sets=sets)
    expected = np.where(probs.max(axis=1) >= 0.6, probs.argmax(axis=1), ABSTAIN)
    np.testing.assert_array_equal(decided(both, logits), expected)
    assert set(both.decide(logits)) == {ABSTAIN, 0, 1, 2, 3}
    np.testing.assert_array_equal(both.prediction_sets(logits), sets.predict(probs))
    np.testing.assert_array_equal(decided(reread(both), logits), expected)
    answers = ExportedCalibrator(fitted, kind="probabilities", decision=AnswerAbove(threshold=0.6))
    outputs = softmax(logits)
    confidence, predicted = (
        answers.predict_confidence(outputs),
        answers.calibrator.predict(np.log(outputs)),
    )
    np.testing.assert_array_equal(
        decided(answers, outputs), np.where(confidence >= 0.6, predicted, ABSTAIN)
    )
    rule = EventCut(cut=0.3)
    cut = ExportedCalibrator(binary, kind="binary_probability", decision=rule)
    event = softmax(logits[:, :2])[:, 1]
    np.testing.assert_array_equal(decided(cut, event), cut.predict_proba(event)[:, 1] >= 0.3)
    assert cut.action_names == {0: "do not act", 1: "act"}


def test_pairs_are_answered_or_handed_over():
    data = load_sample("simulated-answers")
    platt = calib.calibrator("platt").fit(data.logits, data.labels)
    exported = provenance.exported(
        platt.remember(data.output_format()), {"decision": AnswerAbove(threshold=0.6)}
    )
    outputs = np.exp(data.logits[:, 1])
    actions = decided(exported, outputs)
    np.testing.assert_array_equal(
        actions, np.where(exported.predict_confidence(outputs) >= 0.6, 1, ABSTAIN)
    )
    assert set(actions) == {1, ABSTAIN} == set(exported.action_names)
    assert "1: answer, -1: abstain" in model_card(exported).replace("\\", "")
    np.testing.assert_allclose(exported.base_rate, np.bincount(data.labels) / len(data))


def test_infinite_quantiles_are_kept(fitted, overconfident):
    logits, labels = overconfident
    few = conformal_sets(fitted.predict_proba(logits[:5]), labels[:5], 0.1)
    again = reread(ExportedCalibrator(fitted, sets=few))
    assert np.isinf(again.sets.quantiles).all() and again.prediction_sets(logits).all()


def test_a_file_without_them_says_what_to_do(fitted, overconfident):
    exported = ExportedCalibrator(fitted)
    assert exported.base_rate is None and exported.decision is None and exported.sets is None
    with pytest.raises(CalibrationError, match="holds no decision; export it with decision="):
        exported.decide(overconfident[0])
    with pytest.raises(CalibrationError, match="holds no sets; export it with sets="):
        exported.prediction_sets(overconfident[0])


def test_what_does_not_fit_the_calibrator_is_refused(fitted, binary, sets):
    platt = calib.calibrator("platt").fit(np.log([[0.5, 0.5], [0.2, 0.8], [0.7, 0.3]]), [0, 1, 0])
    for given, says in (
        ({"decision": EventCut(cut=0.5)}, "has 4 classes"),
        (
            {"sets": PredictionSets(alpha=0.1, quantiles=np.ones(3))},
            "of 3 classes and the calibrator of 4",
        ),
        ({"base_rate": np.array([0.5, 0.5])}, "must hold 4 numbers"),
        ({"base_rate": np.array([0.5, 0.5, 0.5, 0.5])}, "sum is one"),
    ):
        with pytest.raises(CalibrationError, match=says):
            ExportedCalibrator(fitted, **given)
    with pytest.raises(CalibrationError, match="one confidence each"):
        ExportedCalibrator(platt, kind="pairs", decision=EventCut(cut=0.5))
    with pytest.raises(CalibrationError, match="probabilities of all classes"):
        ExportedCalibrator(
            platt, kind="pairs", sets=PredictionSets(alpha=0.1, quantiles=np.ones(2))
        )


def test_forged_rules_and_sets_are_refused_or_work(fitted, binary, sets, overconfident, rng):
    logits, _ = overconfident
    refused = 0
    exports = [
        ExportedCalibrator(
            fitted,
            decision=AnswerAbove(threshold=0.6),
            sets=sets,
            base_rate=np.full(4, 0.25),
        ),
        ExportedCalibrator(
            fitted, decision=AnswerAbove(threshold=0.8, risk=0.1, delta=0.05, n_rows=9)
        ),
        ExportedCalibrator(binary, decision=EventCut(cut=0.3), base_rate=np.array([0.5, 0.5])),
    ]
    for i in range(120):
        part = ("decision", "sets")[i % 2]
        arrays = forged(exports[i % 3], rng, part)
        try:
            made = from_arrays(arrays)
        except CalibrationError as error:
            refused += 1
            assert re.fullmatch(r"[^\n]{20,500}\.", str(error)), error
            continue
        here = logits[:, : made.n_classes]
        if made.decision is not None:
            actions = made.answer(here, more=("actions",))["actions"]
            assert actions.shape == (400,) and actions.min() >= ABSTAIN
            assert set(actions.tolist()) <= set(made.action_names)
            assert made.decision.said(made.class_names)
        if made.sets is not None:
            assert made.answer(here, more=("sets",))["sets"].shape == here.shape
        assert model_card(made)
    assert 30 < refused < 120


@pytest.mark.parametrize("missing", ["alpha", "quantiles", "per_class", "n_rows", "allow_empty"])
def test_a_record_of_sets_without_a_field_is_damaged(fitted, sets, missing):
    """It was loaded with the class's default, such as 1 row."""
    with pytest.raises(CalibrationError, match=f"without {missing}; it was damaged or changed"):
        made_of(
            PredictionSets, {name: value for name, value in vars(sets).items() if name != missing}
        )


def test_a_record_of_a_rule_without_a_field_is_damaged():
    state = rule_state(EventCut(cut=0.3))
    assert rule_state(rule_from_state(state)) == state
    with pytest.raises(CalibrationError, match=r"recorded without .*column"):
        rule_from_state({"rule": state["rule"], "cut": 0.3})


# -- the card and the script ---------------------------------------------------------------------------


def test_a_column_beside_classes_of_its_name_gets_another(fitted, overconfident, tmp_path):
    logits, names = overconfident[0][:9], ("predicted", "id", "action", "set")
    probs = fitted.predict_proba(logits)
    sets = conformal_sets(probs, probs.argmax(axis=1), 0.1)
    made = ExportedCalibrator(
        fitted, class_names=names, decision=AnswerAbove(threshold=0.5), sets=sets
    )
    ids = {"id": [f"case {k}" for k in range(9)]}
    write_predictions(tmp_path / "p.csv", made, Rows(logits, ids=ids), more=("actions", "sets"))
    with (tmp_path / "p.csv").open(newline="", encoding="utf-8") as file:
        head, *rows = csv.reader(file)
    assert head == ["id", *(f"calibrated_{name}" for name in names), "predicted", "action", "set"]
    table = dict(zip(head, zip(*rows, strict=True), strict=True))
    assert list(table["id"]) == ids["id"]
    np.testing.assert_allclose(
        np.array([table[f"calibrated_{name}"] for name in names], dtype=float).T, probs
    )
    assert list(table["predicted"]) == [names[k] for k in probs.argmax(axis=1)]
    rows = Rows(logits, labels=probs.argmax(axis=1), ids={"label": ids["id"]})
    read = pd.read_csv(io.StringIO(to_csv(data={"exported": made, "rows": rows})))
    assert (
        read["label"].tolist() == ids["id"]
        and read["label_"].tolist() == probs.argmax(axis=1).tolist()
    )
