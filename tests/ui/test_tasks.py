"""An upload with several problems: the table of tasks, one opened, and the next from the menu's foot."""

from __future__ import annotations

import io
import json
import zipfile

import numpy as np
import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from calib.metrics import corrected_rate
from calib.tasks import fit_tasks, tasks_of
from tests.conftest import npz_bytes
from tests.ui.conftest import charts, menu, open_page, table, upload_file


def csv(n: int = 300) -> bytes:
    """Three questions: calibrated, 20 points too high, and without labels."""
    rng = np.random.default_rng(0)
    p = rng.uniform(0, 0.7, (n, 3)).round(3)
    happened = (rng.random((n, 3)) < p).astype(float)
    happened[:, 2] = np.nan
    p[:, 1] += 0.2
    columns = {"id": [f"r{i}" for i in range(n)]}
    for j, name in enumerate(("fraud", "churn", "spam")):
        columns |= {name: happened[:, j], f"{name}_p": p[:, j]}
    return pd.DataFrame(columns).to_csv(index=False).encode()


def headline(app: AppTest) -> str:
    return app.header[0].value if app.header else ""


def test_the_table_of_tasks_opens_one_and_the_menu_another():
    app = upload_file("log.csv", csv())
    assert not app.exception
    assert "3 labels over 300 rows: churn off" in headline(app)
    shown = table(app, "task")
    assert shown["task"].tolist() == ["churn", "fraud", "spam"]
    assert shown["Note"].tolist()[2].startswith("no labels")
    assert shown["gap"].tolist()[0] > 10 and np.isnan(shown["gap"].tolist()[2])
    app = app.button(key="tasks/open").click().run()
    assert not app.exception and app.session_state["calib_session"].data.name == "churn"
    switch = menu(app, "tasks/switch")
    assert (switch.value, switch.options) == ("churn", ["churn", "fraud"])
    app = switch.set_value("fraud").run()
    assert not app.exception and app.session_state["calib_session"].data.name == "fraud"
    assert menu(app, "tasks/switch").value == "fraud"
    app = app.switch_page("pages/1_Fit.py").run()
    assert menu(app, "tasks/switch").value == "fraud"


def test_thresholds_are_offered_for_the_accuracy_that_is_chosen():
    app = upload_file("log.csv", csv())
    app.selectbox(key="tasks/target").set_value(0.8).run()
    found = app.session_state["calib_tasks"][1]
    stored = json.loads(found.thresholds[0].to_json())
    assert stored["fraud"]["threshold"] is not None and stored["spam"]["threshold"] is None
    shown = table(app, "task").set_index("task")
    assert shown.loc["fraud", "Threshold"] and not shown.loc["churn", "Threshold"]


def test_all_tasks_are_fitted_and_packed_as_one_bundle():
    app = upload_file("log.csv", csv(1200))
    app.selectbox(key="tasks/target").set_value(0.8).run()
    app.button(key="tasks/fit").click().run()
    assert not app.exception
    futures = app.session_state["calib_task_fits"][1]
    assert [*futures] == ["fraud", "churn"]
    for future in futures.values():
        future.result(timeout=240)
    app.run()
    assert not app.exception and not [each for each in app.button if each.key == "tasks/fit"]
    content, note = app.session_state["calib_task_bundle"][1]
    assert note.startswith("2 calibrators") and note in {caption.value for caption in app.caption}
    contents = json.loads(zipfile.ZipFile(io.BytesIO(content)).read("tasks.json"))
    assert [*contents] == ["fraud", "churn"] and contents["fraud"]["rows"] == 600
    own = tasks_of(pd.read_csv(io.BytesIO(csv(1200))))
    fitted = fit_tasks(own, "auto", target_accuracy=0.8)
    assert contents["fraud"]["threshold"] == pytest.approx(fitted["fraud"].decision.threshold)
    app.selectbox(key="tasks/target").set_value(0.9).run()
    assert app.button(key="tasks/fit")


def test_fits_of_tasks_can_be_stopped():
    app = upload_file("log.csv", csv())
    app.button(key="tasks/fit").click().run()
    futures = app.session_state["calib_task_fits"][1]
    stop = [button for button in app.button if button.key == "tasks/cancel"]
    if stop:  # a fast machine may have ended before
        stop[0].click().run()
        assert not app.exception and app.button(key="tasks/fit")
        assert all(future.done() for future in futures.values())


def test_the_sample_of_a_decision_log_is_one_click_away():
    app = open_page("app.py").button(key="sample/decisions").click().run()
    assert not app.exception
    assert "6 questions over 1,500 rows: complaint and department off" in headline(app)


def test_a_matrix_of_sigmoid_outputs_is_a_table_of_labels():
    rng = np.random.default_rng(0)
    probs = rng.random((120, 3))
    labels = (rng.random((120, 3)) < probs).astype(int)
    app = upload_file("outputs.npz", npz_bytes(probs=probs, labels=labels))
    assert "3 labels over 120 rows: none significantly off" in headline(app)


def test_two_scores_that_may_be_models_stand_beneath_the_question():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.random(80), "b": rng.random(80), "y": rng.integers(0, 2, 80)})
    app = upload_file("log.csv", frame.to_csv(index=False).encode())
    assert not app.exception and "One question" in app.radio[0].label
    assert app.selectbox(key="tasks/chosen").options == ["a", "b"]


def test_a_log_of_two_scorers_is_a_table_of_tasks():
    rng = np.random.default_rng(0)
    samples = []
    for i, p in enumerate(rng.random(120).round(3).tolist()):
        scores = {name: {"value": float(rng.random() < p)} for name in ("exact", "graded")}
        output = {"model": "m-1.0", "choices": [{"message": {"content": "A"}}]}
        sample = {"id": i, "epoch": 1, "input": "q", "target": "A", "output": output}
        samples.append(sample | {"scores": scores, "metadata": {"confidence": p}})
    document = {"version": 2, "status": "success", "eval": {"task": "t"}, "samples": samples}
    app = upload_file("log.json", json.dumps(document).encode())
    assert not app.exception
    assert any("2 questions over 120 rows" in header.value for header in app.header)
    assert sorted(app.selectbox(key="tasks/chosen").options) == ["exact", "graded"]


def test_models_that_a_number_orders_have_their_scores_drawn():
    rng = np.random.default_rng(0)
    p = rng.random(300)
    columns = {"outcome": (rng.random(300) < p).astype(int)}
    columns |= {f"epoch_{k}_p": (p ** (1 / k)).round(4) for k in (1, 2, 4)}
    app = upload_file("epochs.csv", pd.DataFrame(columns).to_csv(index=False).encode())
    assert not app.exception
    assert app.session_state["calib_tasks"][1].models.labels == ("1", "2", "4")
    assert len(charts(app)) == 1


def test_a_file_that_cannot_be_used_has_no_tasks():
    app = upload_file("log.csv", b"p_a,p_b,label\n0.5,0.9,a\n0.2,0.3,b\n")
    assert not app.exception and not [each for each in app.button if each.key == "tasks/open"]


@pytest.mark.parametrize("score", [True, False])
def test_a_judge_with_labels_of_some_rows_is_corrected(score):
    rng = np.random.default_rng(0)
    truth = rng.random(900) < 0.7
    judge = np.where(truth, rng.random(900) < 0.95, rng.random(900) < 0.5).astype(int)
    human = np.where(np.arange(900) % 5 == 0, truth.astype(float), np.nan)
    frame = pd.DataFrame({"id": range(900), "judge_passed": judge, "human_passed": human})
    if score:
        frame["topic"] = np.where(np.arange(900) % 10 == 0, "law", "art")
        frame["judge_passed"] = np.where(frame["topic"] == "law", 1, truth)
        frame["judge_score"] = np.where(truth, rng.beta(6, 2, 900), rng.beta(3, 3, 900)).round(2)
    app = upload_file("judged.csv", frame.to_csv(index=False).encode())
    assert not app.exception
    (sentence,) = (info.value for info in app.info if "Corrected by 180 human labels" in info.value)
    assert ("Where topic = law, the judge passes 100.0 %" in sentence) is score
    plain = str(corrected_rate(frame["judge_passed"], human)).replace("\N{NO-BREAK SPACE}", " ")
    assert plain in sentence.replace("\\", "") and "halve the interval" in sentence
