"""Shapes of files that programs write: logs of evaluations and decisions, survival, experiments, votes, savetxt."""

from __future__ import annotations

import io
import json
import zipfile

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import calib
from calib.data import Choices, inspect
from calib.tasks import tasks_of
from tests.data.conftest import the

N = 300
RNG = np.random.default_rng(3)
CONFIDENCE = RNG.beta(3, 1.2, N).round(3)
CORRECT = RNG.random(N) < CONFIDENCE
RISK = RNG.beta(1, 2, N).round(4)
HAPPENED = RNG.random(N) < RISK


def samples():
    """Samples of Inspect AI, whose target and answer are letters and whose score is C or I."""
    for i in range(N):
        target = "ABCD"[i % 4]
        answer = target if CORRECT[i] else "ABCD"[(i + 1) % 4]
        score = {"value": "C" if CORRECT[i] else "I", "answer": answer}
        yield {
            "id": i, "epoch": 1, "target": target, "scores": {"choice": score},
            "metadata": {"confidence": CONFIDENCE[i]},
        }  # fmt: skip


def test_c_and_i_of_an_evaluation_log_say_which_answers_are_correct():
    log = json.dumps({"version": 2, "eval": {"task": "t"}, "samples": list(samples())}).encode()
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("header.json", "{}")
        for sample in samples():
            archive.writestr(f"samples/{sample['id']}_epoch_1.json", json.dumps(sample))
    for file in (("log.json", log), ("log.eval", packed.getvalue())):
        data = calib.load(file)
        order = np.argsort(CONFIDENCE, kind="stable")
        assert data.kind == "pairs" and data.accuracy == pytest.approx(CORRECT.mean())
        np.testing.assert_allclose(np.sort(data.confidence), CONFIDENCE[order], atol=1e-9)


def test_a_log_of_decisions_is_asked_which_question_is_meant():
    rows = []
    for i in range(N):
        probs = RNG.dirichlet(np.ones(3))
        listed = [{"value": v, "probability": p} for v, p in zip("abc", probs, strict=True)]
        rows.append({
            "answers": [
                {"type": "predicate", "name": "is_urgent", "probability": RISK[i]},
                {"type": "choice", "name": "department", "probabilities": listed},
            ],
            "labels": {"is_urgent": bool(HAPPENED[i]), "department": RNG.choice([*"abc"], p=probs)},
        })  # fmt: skip
    found = inspect(("log.jsonl", "\n".join(map(json.dumps, rows)).encode()))
    outcomes = {reading.roles["outcome"] for reading in found.readings}
    assert found.predictions is None and outcomes >= {"labels_is_urgent", "labels_department"}
    (asked,) = (finding for finding in found.findings if finding.code == "ambiguous")
    assert "several tasks (is_urgent, department)" in asked.reason
    assert "calib tasks" in asked.reason and "calib.tasks.tasks_of" in asked.reason


def test_a_long_table_of_questions_is_asked_which_one_is_meant():
    questions = np.array(["urgent", "angry"])[np.arange(N) % 2]
    table = pd.DataFrame({"question": questions, "confidence": CONFIDENCE, "correct": CORRECT})
    asked = the(inspect(table), "several_models")
    assert asked.level == "error" and "angry" in asked.reason and "calib tasks" in asked.action
    found = tasks_of(table)
    assert set(found) == {"urgent", "angry"}
    np.testing.assert_allclose(found["angry"].confidence, CONFIDENCE[questions == "angry"])


def test_survival_is_refused_since_censored_rows_are_no_non_events():
    table = {"risk_5y": RISK, "time_months": RNG.exponential(40, N), "event": HAPPENED.astype(int)}
    found = inspect(pd.DataFrame(table))
    assert found.predictions is None and "censored" in the(found, "censored").reason
    without = {name: cells for name, cells in table.items() if name != "time_months"}
    assert inspect(pd.DataFrame(without)).predictions is not None


def test_several_experiments_of_an_hdf5_file_are_asked_about_and_keep_their_split():
    h5py = pytest.importorskip("h5py")
    packed = io.BytesIO()
    with h5py.File(packed, "w") as file:
        for name in ("adult/forest", "bank/forest"):
            for part, rows in (("cal", slice(0, 100)), ("test", slice(100, N))):
                file[f"{name}/probas_{part}"] = np.c_[1 - RISK, RISK][rows]
                file[f"{name}/labels_{part}"] = HAPPENED[rows].astype(int)
    found = inspect(("experiments.h5", packed.getvalue()))
    offered = the(found, "several_experiments").readings
    assert set(offered) == {"adult/forest", "bank/forest"}
    choices = Choices(**offered["bank/forest"])
    data = calib.load(("experiments.h5", packed.getvalue()), choices=choices)
    assert data.given_split.sum() == 100 and len(data) == N
    np.testing.assert_allclose(data.probs[:, 1], RISK, atol=1e-9)


def test_votes_percent_after_a_blank_and_the_header_of_savetxt():
    votes = RNG.integers(0, 12, N)
    lines = [f"{v}/11,{int(RNG.random() < v / 11)}" for v in votes]
    data = calib.load(("votes.csv", "\n".join(["vote_prob,label", *lines]).encode()))
    np.testing.assert_allclose(data.probs[:, 1], votes / 11)

    lines = [
        f"{100 * p:.2f}".replace(".", ",") + f"\u00a0%;{int(y)}"
        for p, y in zip(RISK, HAPPENED, strict=True)
    ]
    data = calib.load(("percent.csv", "\n".join(["p_default;default", *lines]).encode()))
    np.testing.assert_allclose(data.probs[:, 1], RISK, atol=1e-9)

    for delimiter in (",", " "):
        packed = io.StringIO()
        table = np.c_[1 - RISK, RISK, HAPPENED]
        np.savetxt(
            packed, table, delimiter=delimiter, header=delimiter.join(["p_0", "p_1", "label"])
        )
        data = calib.load(("saved.txt", packed.getvalue().encode()))
        assert {role.column for role in data.roles} == {"p_0", "p_1", "label"}
        np.testing.assert_array_equal(data.labels, HAPPENED)


def test_columns_called_by_signed_labels_belong_to_them_whatever_their_order():
    labels = np.where(HAPPENED, 1, -1)
    for names in (("1", "-1"), ("-1", "1")):
        probs = {"1": RISK, "-1": 1 - RISK}
        data = calib.load(pd.DataFrame({"label": labels, **{name: probs[name] for name in names}}))
        np.testing.assert_allclose(data.probs[:, data.class_names.index("1")], RISK, atol=1e-9)
        assert (np.array(data.class_names)[data.labels] == labels.astype(str)).all()


def test_tables_of_pandas_whose_rows_are_called_differently_are_not_put_side_by_side():
    probs = pd.DataFrame({"p_0": 1 - RISK, "p_1": RISK}, index=np.arange(N) + 10)
    labels = pd.Series(HAPPENED.astype(int), index=np.arange(N)[::-1] + 10)
    with pytest.raises(calib.CalibrationError, match="index"):
        calib.from_outputs(probs, labels)
    reset = labels.reset_index(drop=True)
    with pytest.raises(calib.DataError, match="different indexes"):  # numbered anew or not
        calib.load({"outputs": probs, "labels": reset})
    np.testing.assert_array_equal(calib.from_outputs(probs, labels.to_numpy()).labels, HAPPENED)
    np.testing.assert_array_equal(
        calib.from_outputs(probs, labels.set_axis(probs.index)).labels, HAPPENED
    )


def test_tables_of_outputs_beside_labels_are_matched_by_the_names_of_their_columns():
    probs = RNG.dirichlet([1, 1, 1], size=N)
    drawn = np.array([RNG.choice(3, p=row) for row in probs])
    names = np.array(["cat", "dog", "ant"])
    right = (probs.argmax(axis=1) == drawn).mean()
    frame = pd.DataFrame(probs, columns=[f"p_{name}" for name in names])
    for table in (frame, pa.Table.from_pandas(frame)):
        data = calib.load({"outputs": table, "labels": names[drawn]})
        assert data.class_names == ("cat", "dog", "ant") and data.accuracy == pytest.approx(right)
    turned = pd.DataFrame(probs[:, ::-1], columns=["p_2", "p_1", "p_0"])
    assert calib.load({"outputs": turned, "labels": drawn}).accuracy == pytest.approx(right)


def test_sas_writes_the_label_whose_probability_its_score_is():
    status = np.where(HAPPENED, "good", "bad")
    table = pd.DataFrame({"status": status, "P": RISK, "_LEVEL_": "good"})
    data = calib.load(table)
    np.testing.assert_array_equal(data.labels == data.class_names.index("good"), HAPPENED)
    np.testing.assert_allclose(data.probs[:, data.class_names.index("good")], RISK, atol=1e-9)
    assert inspect(table.assign(_LEVEL_="bad")).predictions is None  # the data speak against it


def test_rows_without_a_label_of_people_are_left_out_beside_the_score_of_a_judge():
    human = np.where(np.arange(N) % 5 == 0, HAPPENED.astype(float), np.nan)
    data = calib.load(pd.DataFrame({"judge_score": RISK, "human_passed": human}))
    np.testing.assert_array_equal(data.labels, HAPPENED[::5])
    assert the(data, "rows_left_out").message.startswith("240 rows of 300 have no label")


@pytest.mark.parametrize("name", ["sampling_unit", "id", "hospital", "patient"])
def test_numbers_of_units_that_repeat_are_clusters(name):
    units = RNG.integers(1, 50, N)
    data = calib.load(pd.DataFrame({name: units, "risk": RISK, "y": HAPPENED.astype(int)}))
    np.testing.assert_array_equal(data.clusters, units.astype(str))


def test_what_is_left_aside_is_listed_and_inputs_without_a_training_set_are():
    inputs = {"age": RNG.normal(size=N), "income": RNG.normal(size=N)}
    table = pd.DataFrame({"risk": RISK, "y": HAPPENED.astype(int), **inputs})
    arrays = {"probs": np.c_[1 - RISK, RISK], "labels": HAPPENED.astype(int), **inputs}
    for source in (table, arrays):
        data = calib.load(source)
        assert data.features is None
        assert the(data, "left_aside").message == "Left aside: age, income."
