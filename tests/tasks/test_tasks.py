"""Several problems in one file: what is read, and what is said of all of them."""

from __future__ import annotations

import dataclasses
import io
import json

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom, norm

import calib
from calib.tasks import tasks_of


def calibrated(rng: np.random.Generator, n: int, k: int, shared: float = 0.5) -> pd.DataFrame:
    """k calibrated labels a row, whose outcomes vary together as ``shared`` makes them."""
    common = rng.normal(size=(n, 1))
    noise = np.sqrt(shared) * common + np.sqrt(1 - shared) * rng.normal(size=(n, k))
    p = np.round(rng.beta(2, 3, (n, k)), 3)
    happened = norm.cdf(noise) < p
    names = [f"label{j}" for j in range(k)]
    scores = pd.DataFrame(p, columns=[f"{name}_p" for name in names])
    return pd.concat([pd.DataFrame(happened.astype(int), columns=names), scores], axis=1)


def log(n: int = 120, seed: int = 0) -> list[dict]:
    """Rows of a log with a yes-no question, a choice with refusals, a question without labels."""
    rng = np.random.default_rng(seed)
    rows = []
    for i in range(n):
        p = float(np.round(rng.random(), 2))
        q = np.round(rng.dirichlet([1, 1, 1]), 3).tolist()
        choice = {"type": "choice", "name": "dep", "choice": "abc"[int(np.argmax(q))]}
        choice["probabilities"] = [
            {"value": v, "probability": w} for v, w in zip("abc", q, strict=True)
        ]
        if i % 10 == 0:
            choice = {"type": "refusal", "name": "dep", "refusal": "no"}
        urgent = {"type": "predicate", "name": "urgent", "probability": p}
        other = {"type": "predicate", "name": "other", "probability": 1 - p}
        labels = {"urgent": bool(rng.random() < p), "dep": "abc"[rng.integers(3)]}
        rows.append({"id": f"t{i}", "answers": [urgent, choice, other], "labels": labels})
    return rows


def write(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.mark.parametrize("shape", ["list", "object"])
def test_a_log_of_decisions_holds_a_task_for_each_question(tmp_path, shape):
    rows = log()
    path = write(tmp_path / "log.jsonl", rows)
    if shape == "object":
        for row in rows:
            row["answers"] = {answer.pop("name"): answer for answer in row["answers"]}
            if "probabilities" in row["answers"]["dep"]:
                listed = row["answers"]["dep"]["probabilities"]
                row["answers"]["dep"]["probabilities"] = {
                    each["value"]: each["probability"] for each in listed
                }
        write(path, rows)
    tasks = tasks_of(path)
    assert (tasks.kind, [*tasks], tasks.n_rows) == ("questions", ["urgent", "dep"], 120)
    assert tasks.reasons == {"other": "no labels"}
    assert tasks.left_out["dep"] == {"refused": 12, "no answer": 0, "no label": 0}
    assert (len(tasks["urgent"]), len(tasks["dep"])) == (120, 108)
    assert tasks["dep"].class_names == ("a", "b", "c")
    labels = [row["labels"]["dep"] for i, row in enumerate(rows) if i % 10]
    assert ["abc"[label] for label in tasks["dep"].labels] == labels
    assert tasks.rows["dep"].tolist() == [i for i in range(120) if i % 10]
    assert "12 refused" in repr(tasks)
    with pytest.raises(calib.CalibrationError, match="no labels"):
        tasks["other"]


def test_a_long_table_shares_rows_by_id(tmp_path):
    rng = np.random.default_rng(0)
    rows = [
        (f"r{i}", task, a, round(float(rng.uniform(0.5, 1)), 3), b)
        for i in range(60)
        for task in ("x", "y")
        for a, b in [rng.choice(["yes", "no"], 2)]
    ]
    table = pd.DataFrame(rows, columns=["id", "question", "answer", "confidence", "label"])
    tasks = tasks_of(table.sample(frac=1, random_state=0))
    assert (tasks.kind, {*tasks}, tasks.n_rows) == ("questions", {"x", "y"}, 60)
    mean = (table.answer == table.label).groupby(table.question).mean()
    assert {name: data.correct.mean() for name, data in tasks.items()} == pytest.approx({**mean})
    assert {*tasks.units("x")} == {*tasks.units("y")} == {*range(60)}


def test_many_questions_of_two_models_are_rows_and_no_tasks():
    rng = np.random.default_rng(0)
    p = rng.uniform(0.5, 1, 300).round(2)
    questions = [f"Q{i // 2:03d}" for i in range(300)]
    table = pd.DataFrame({"question": questions, "model": ["large", "small"] * 150})
    table = table.assign(confidence=p, correct=(rng.random(300) < p).astype(int))
    tasks = tasks_of(table)
    assert (tasks.kind, {*tasks}, tasks.n_rows) == ("models", {"large", "small"}, 150)
    assert tasks.units("large").tolist() == tasks.units("small").tolist()


def test_pairs_of_names_and_two_models_of_one_outcome():
    rng = np.random.default_rng(1)
    table = calibrated(rng, 80, 3)
    assert [*tasks_of(table)] == ["label0", "label1", "label2"]
    names = {"label0": "gpt_correct", "label0_p": "gpt_confidence"}
    names |= {"label1": "other_correct", "label1_p": "other_confidence"}
    tasks = tasks_of(table.drop(columns=["label2", "label2_p"]).rename(columns=names))
    assert (tasks.kind, [*tasks]) == ("models", ["gpt", "other"])
    np.testing.assert_array_equal(tasks["gpt"].correct, table["label0"] == 1)
    models = pd.DataFrame(
        {"outcome": table.label0, "logistic_p": table.label0_p, "forest_p": table.label1_p}
    )
    tasks = tasks_of(models)
    assert (tasks.kind, len(tasks), tasks.n_rows) == ("models", 2, 80)
    for data in tasks.values():
        np.testing.assert_array_equal(data.labels, table.label0)


def test_tasks_that_cannot_be_judged_have_reasons():
    table = calibrated(np.random.default_rng(2), 60, 4)
    table["label1"] = 1
    table["label2_p"] = 0.25
    table["label3"] = table["label3"].where(np.arange(60) < 19)
    tasks = tasks_of(table)
    reasons = {"label1": "one value, 1", "label2": "constant score"}
    assert tasks.reasons == reasons | {"label3": "19 rows, fewer than 20"}
    audit = calib.audit_tasks(tasks)
    assert [row.reason for row in audit] == ["", *tasks.reasons.values()]
    assert audit.to_frame().shape == (4, 11)


def test_an_id_twice_is_refused_with_both_lines(tmp_path):
    rows = log()
    rows[7]["id"] = "t2"
    with pytest.raises(calib.DataError, match=r"Lines 3 and 8 of log.jsonl have the same id, 't2'"):
        tasks_of(write(tmp_path / "log.jsonl", rows))
    table = calibrated(np.random.default_rng(0), 40, 2)
    table.insert(0, "id", [*range(39), 5])
    table.to_csv(tmp_path / "labels.csv", index=False)
    with pytest.raises(calib.DataError, match=r"Lines 7 and 41 of labels.csv"):
        tasks_of(tmp_path / "labels.csv")


def test_a_table_of_one_problem_is_refused():
    with pytest.raises(calib.DataError, match="one problem, or none"):
        tasks_of(calibrated(np.random.default_rng(0), 40, 1))


@pytest.mark.parametrize("cluster", [None, "person"])
def test_figures_are_those_of_plain_sums(cluster):
    table = calibrated(np.random.default_rng(3), 600, 3)
    table["person"] = [f"p{i // 4}" for i in range(600)]
    audit = calib.audit_tasks(tasks_of(table, cluster=cluster))
    width = []
    for row in audit:
        p, y = table[f"{row.task}_p"].to_numpy(), table[row.task].to_numpy()
        chosen = np.where(y, p, 1 - p)
        rate = y.mean()
        assert (row.stated, row.observed) == pytest.approx((p.mean(), rate))
        assert row.nll == pytest.approx(-np.log(chosen).mean())
        assert row.base_nll == pytest.approx(
            -rate * np.log(rate) - (1 - rate) * np.log(1 - rate), abs=0.01
        )
        d = p - y
        if cluster is None:
            error = d.std(ddof=1) / np.sqrt(600)
        else:
            sums = (d - d.mean()).reshape(150, 4).sum(axis=1) / 600
            error = np.sqrt((sums**2).sum() * 150 / 149)
        error = max(error, np.sqrt((p * (1 - p)).sum()) / 600)
        width.append((row.gap.high - row.gap.low) / 2 / error)
    single, bonferroni = norm.ppf(0.975), norm.ppf(1 - 0.025 / 3)
    assert np.ptp(width) < 1e-9
    assert single < width[0] < bonferroni + 0.02
    assert not audit.miscalibrated


def test_a_task_that_is_off_is_named_and_stands_first():
    table = calibrated(np.random.default_rng(4), 1000, 5)
    table["label3_p"] = (table["label3_p"] + 0.2).clip(upper=1)
    audit = calib.audit_tasks(tasks_of(table))
    assert audit.miscalibrated == ("label3",)
    assert audit.tasks[0].task == "label3"
    assert str(audit).splitlines()[1].startswith("label3")


def test_few_events_have_the_exact_interval_of_the_rate():
    table = calibrated(np.random.default_rng(5), 400, 2)
    table["label0_p"] = np.linspace(0.005, 0.015, 400)
    table["label0"] = (np.arange(400) < 9).astype(int)
    row = next(row for row in calib.audit_tasks(tasks_of(table)) if row.task == "label0")
    lowest = row.stated - row.gap.high
    highest = row.stated - row.gap.low
    tail = binom.cdf(
        9, 400, highest
    )  # two tasks together: between Bonferroni's tail and one task's
    assert 0.0125 - 1e-3 < tail < 0.025
    assert binom.sf(8, 400, lowest) <= tail * (1 + 1e-6)
    assert row.gap.low < 0 < row.gap.high


@pytest.mark.long
@pytest.mark.parametrize("n", [60, 400])
def test_calibrated_tasks_are_seldom_named(n):
    rng = np.random.default_rng(0)
    draws = 100
    named = sum(
        bool(calib.audit_tasks(tasks_of(calibrated(rng, n, 40))).miscalibrated)
        for _ in range(draws)
    )
    assert named / draws <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / draws)


def test_lists_that_belong_to_no_task_are_left_aside(tmp_path):
    draws = np.random.default_rng(0)
    lines = []
    for p, q in draws.random((40, 2)).tolist():
        row = {"choices": ["no", "yes"], "fraud": int(draws.random() < p), "fraud_p": p}
        lines.append(json.dumps(row | {"churn": int(draws.random() < q), "churn_p": q}))
    path = tmp_path / "log.jsonl"
    path.write_text("\n".join(lines))
    assert list(tasks_of(path)) == ["fraud", "churn"]


@pytest.mark.parametrize("kind", ["sampling", "frequency"])
def test_weights_count_rows_in_the_audit(kind):
    table = calibrated(np.random.default_rng(6), 300, 2)
    weight = np.random.default_rng(7).integers(1, 5, 300)
    tasks = tasks_of(table)
    weighted = {
        name: dataclasses.replace(data, weights=weight.astype(float), weight_kind=kind)
        for name, data in tasks.items()
    }
    audit = calib.audit_tasks(dataclasses.replace(tasks, predictions=weighted))
    for row in audit:
        p, y = table[f"{row.task}_p"].to_numpy(), table[row.task].to_numpy()
        assert row.stated == pytest.approx(np.average(p, weights=weight))
        assert row.observed == pytest.approx(np.average(y, weights=weight))
    if kind == "frequency":  # as the same rows so many times
        again = table.loc[np.repeat(table.index, weight)].reset_index(drop=True)
        for row, whole in zip(audit, calib.audit_tasks(tasks_of(again)), strict=True):
            assert row.task == whole.task and row.ece == pytest.approx(whole.ece)
            assert row.gap == pytest.approx(whole.gap, abs=1e-3)
        return
    d = p - y - np.average(p - y, weights=weight)
    error = np.sqrt(((weight * d) ** 2).sum()) / weight.sum()
    single = norm.ppf(0.975) * error
    assert single < (row.gap.high - row.gap.low) / 2 < 1.4 * single


def test_columns_beside_the_tasks_come_with_each(tmp_path):
    table = calibrated(np.random.default_rng(8), 240, 2)
    table["region"] = np.where(np.arange(240) % 3, "north", "south")
    table["survey_weight"] = np.random.default_rng(9).uniform(0.5, 1.5, 240).round(2)
    table["week"] = [f"2026-01-{1 + i % 20:02d}" for i in range(240)]
    table["person"] = [f"P{i // 4}" for i in range(240)]
    table.loc[::5, "label1"] = np.nan
    table.to_csv(tmp_path / "labels.csv", index=False)
    tasks = tasks_of(tmp_path / "labels.csv", isolate=True)
    own = table["label1"].notna().to_numpy()
    data = tasks["label1"]
    assert data.weight_kind == "sampling" and len(data) == own.sum() == tasks.labelled["label1"]
    np.testing.assert_allclose(data.weights, table["survey_weight"][own])
    np.testing.assert_array_equal(data.groups, table["region"][own])
    np.testing.assert_array_equal(data.times, table["week"][own])
    np.testing.assert_array_equal(data.clusters, table["person"][own])
    units = tasks.units("label0")
    assert len({*units}) == 60 and (units.reshape(60, 4) == units[::4, None]).all()


def test_labels_in_a_second_file_are_joined_by_id(tmp_path):
    rows = log()
    whole = tasks_of(write(tmp_path / "log.jsonl", rows))
    labels = [{"id": row["id"], **row.pop("labels")} for row in rows]
    order = np.random.default_rng(0).permutation(120)
    write(tmp_path / "log.jsonl", rows)
    pd.DataFrame(labels).loc[order[:90]].to_csv(tmp_path / "labels.csv", index=False)
    files = tmp_path / "log.jsonl", tmp_path / "labels.csv"
    tasks = tasks_of(files[0], labels=files[1], isolate=True)
    assert tasks.left_out["urgent"]["no label"] == 30 == 120 - len(tasks["urgent"])
    own = np.isin(whole.rows["urgent"], order[:90])
    np.testing.assert_array_equal(tasks["urgent"].labels, whole["urgent"].labels[own])
    np.testing.assert_allclose(tasks["urgent"].probs, whole["urgent"].probs[own])
    pd.DataFrame([*labels, labels[4]]).to_csv(files[1], index=False)
    with pytest.raises(calib.DataError, match=r"Lines 6 and 122 of labels.csv .* 't4'"):
        tasks_of(files[0], labels=files[1])
    pd.DataFrame(labels).drop(columns="id").to_csv(files[1], index=False)
    with pytest.raises(calib.DataError, match="share no column of ids"):
        tasks_of(files[0], labels=files[1])


def test_labels_of_a_long_table_are_joined_by_id_and_question():
    rng = np.random.default_rng(0)
    p = rng.uniform(0.5, 1, 120).round(3)
    table = pd.DataFrame({"id": np.arange(120) // 2, "question": ["x", "y"] * 60, "confidence": p})
    correct = (rng.random(120) < p).astype(int)
    labels = table[["id", "question"]].assign(correct=correct).sample(frac=1, random_state=1)
    tasks = tasks_of(table, labels=labels)
    assert {*tasks} == {"x", "y"}
    np.testing.assert_array_equal(tasks["y"].correct, correct[1::2] == 1)


def test_a_matrix_of_probabilities_beside_one_of_labels():
    rng = np.random.default_rng(0)
    probs = rng.random((200, 3))
    labels = (rng.random((200, 3)) < probs).astype(int)
    packed = io.BytesIO()
    np.savez(packed, sigmoid=probs, targets=labels, names=np.array(["cat", "dog", "bird"]))
    tasks = tasks_of(("outputs.npz", packed.getvalue()), isolate=True)
    assert (tasks.kind, [*tasks]) == ("labels", ["cat", "dog", "bird"])
    for j, data in enumerate(tasks.values()):
        np.testing.assert_array_equal(data.labels, labels[:, j])
        np.testing.assert_allclose(data.probs[:, 1], probs[:, j])


def test_scorers_of_an_evaluation_log_are_tasks(tmp_path):
    rng = np.random.default_rng(0)
    samples = []
    for i, p in enumerate(rng.random(80).round(3).tolist()):
        scores = {
            name: {"value": "CI"[int(rng.random() > p)]} for name in ("match", "model_graded")
        }
        output = {"model": "m-1.0", "choices": [{"message": {"content": "A"}}]}
        sample = {"id": i, "epoch": 1, "input": "q", "target": "A", "output": output}
        samples.append(sample | {"scores": scores, "metadata": {"confidence": p}})
    document = {"version": 2, "status": "success", "eval": {"task": "t"}, "samples": samples}
    (tmp_path / "log.json").write_text(json.dumps(document))
    tasks = tasks_of(tmp_path / "log.json")
    assert [*tasks] == ["match", "model_graded"]
    for name, data in tasks.items():
        right = [sample["scores"][name]["value"] == "C" for sample in samples]
        np.testing.assert_array_equal(data.correct, right)
    assert {*tasks.models.values()} == {"m-1.0"}


def test_samples_that_the_harness_wrote_are_tasks_by_name_and_model(tmp_path):
    """Folder of ``--output_path`` with ``--log_samples``: a folder for a model, a file for a task and run."""
    rng = np.random.default_rng(0)
    right = {}
    for model in ("org__small", "org__large"):
        (tmp_path / model).mkdir()
        for task, k in (("arc_easy", 4), ("boolq", 2)):
            rows = []
            for i in range(40):
                values = rng.normal(-20, 3, k).round(4)
                target = int(rng.integers(k))
                correct = int(values.argmax()) == target
                right.setdefault((model, task), []).append(correct)
                pairs = [[str(value), "False"] for value in values]
                options = {"text": [f"option {j}" for j in range(k)], "label": list("ABCD")[:k]}
                row = {"doc_id": i, "doc": {"question": "Which?", "choices": options}}
                arguments = {f"gen_args_{j}": {"arg_0": "Which?"} for j in range(k)}
                row |= {"target": str(target), "arguments": arguments, "filter": "none"}
                row |= {"resps": [[pair] for pair in pairs], "filtered_resps": pairs}
                rows.append(row | {"metrics": ["acc"], "acc": float(correct), "doc_hash": f"{i:x}"})
            write(tmp_path / model / f"samples_{task}_2026-11-03T10-15-09.123456.jsonl", rows)
        (tmp_path / model / "results_2026-11-03T10-15-09.123456.json").write_text("{}")
    tasks = tasks_of(tmp_path / "org__small")
    assert [*tasks] == ["arc_easy", "boolq"]
    assert [data.n_classes for data in tasks.values()] == [4, 2]
    assert tasks["boolq"].accuracy == pytest.approx(np.mean(right["org__small", "boolq"]))
    both = tasks_of(tmp_path)
    assert len(both) == 4 and {*both.models.values()} == {"org__small", "org__large"}
    large = next(name for name in both if "large" in name and "arc" in name)
    assert both[large].accuracy == pytest.approx(np.mean(right["org__large", "arc_easy"]))


def test_a_folder_holds_a_file_for_each_task(tmp_path):
    rng = np.random.default_rng(0)
    for task in ("arc", "boolq"):
        probs = rng.dirichlet([1, 1], 40)
        rows = [
            {"p_no": a, "p_yes": b, "label": rng.choice(["no", "yes"], p=[a, b])} for a, b in probs
        ]
        write(tmp_path / f"samples_{task}.jsonl", rows)
    (tmp_path / "results.json").write_text("{}")
    tasks = tasks_of(tmp_path)
    assert [*tasks] == ["arc", "boolq"] and tasks.n_rows == 80
    assert len(calib.audit_tasks(tasks)) == 2
    with pytest.raises(calib.DataError, match="folder with a file for each task"):
        (tmp_path / "samples_arc.jsonl").unlink()
        tasks_of(tmp_path)
