"""The Compare page: the answer, the way to a diagnosis, tables, studies in the background, and kept results.

Shared and class-wise maps side by side on the Compare page.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from calib.data.predictions import Predictions
from calib.data.samples import load_sample
from calib.engine import Engine
from calib.evaluation.claims import Claims
from calib.evaluation.comparison_table import verdict
from calib.evaluation.learning_curve import labels_needed, size_curve
from calib.evaluation.recommendation import Recommendation, recommend
from calib.evaluation.repeated_splits import repeated_splits, summarise_splits
from calib.formatting import brief, number, percent
from calib.plots.style import method_style
from calib.registry import METHODS, calibrator, title_of
from calib.ui.compare.kept import ENTRIES, MOST_ENTRIES
from calib.ui.compare.studies import fits_on_all_rows, seconds_of
from calib.ui.fits import ShownFit, resampled, shown_fits
from calib.ui.session import SESSION, OpenSession
from tests.conftest import finished, simulate
from tests.ui.conftest import FITTED, charts, clean, fit, group, open_page, opened, said, unfold, wait

PAGE = "pages/2_Compare.py"


def finish(app: AppTest, queue: Engine, session: OpenSession, kind: str) -> AppTest:
    """Wait for a study and draw the page again."""
    key = session.studies[kind].key
    (job,) = finished(queue, [key])
    assert job.state == "done", job.message
    return app.run()


def only(app: AppTest, session: OpenSession, kind: str, method: str) -> AppTest:
    """Choose one method for a study."""
    (key,) = [key for key, spec in session.specs.items() if spec.method == method]
    pills = next(group for group in app.button_group if str(group.key).startswith(f"compare/{kind}/methods"))
    return pills.set_value([key]).run()


def folded(session: OpenSession, *parts: str) -> AppTest:
    """The page with some of its further questions opened."""
    return unfold(open_page(PAGE, session), *(f"compare/{part}" for part in parts))


def drawn(app: AppTest, key: str) -> dict[str, Any]:
    """The figure with this key, as it is sent to the browser."""
    (spec,) = [json.loads(chart.spec) for chart in charts(app) if key in chart.id]
    return spec


def plain(texts: list[str]) -> list[str]:
    """Texts of a figure without plotly's small HTML."""
    return [re.sub("<[^>]*>", "", text).strip() for text in texts]


def claims_and_answer(monkeypatch: pytest.MonkeyPatch, session: OpenSession) -> tuple[Claims, Recommendation]:
    """What the fits of the session allow to be claimed."""
    opened(monkeypatch, session)
    fits = shown_fits(session)
    claims = Claims(resampled(fits))
    answer = recommend(claims, {one.title: one.calibrator for one in fits})
    assert answer is not None
    return claims, answer


def test_it_opens_with_what_to_take_and_what_it_gains(with_fits: OpenSession, monkeypatch: pytest.MonkeyPatch) -> None:
    app = open_page(PAGE, with_fits)
    assert not app.exception and not app.error
    _, answer = claims_and_answer(monkeypatch, with_fits)
    finding = app.markdown[0].value
    assert f"Take {answer.method}" in finding
    for amount in (answer.gain.value, answer.gain.low, answer.gain.high):
        assert number(amount).replace("-", "−") in finding
    assert all(name in finding for name in answer.as_good)
    if answer.keeper is not None:
        assert answer.keeper.method in finding


def test_nothing_is_recommended_before_all_fits_have_ended(
    with_fits: OpenSession, queue: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    jobs = queue.snapshot(with_fits.specs)
    more = replace(jobs[0], key="another", state="running", result=None)
    monkeypatch.setattr("calib.ui.compare.answer.jobs", lambda: [*jobs, more])
    app = open_page(PAGE, with_fits)
    assert not app.exception
    said = app.markdown[0].value
    assert f"{len(jobs)} of {len(jobs) + 1} fits done; so far" in said and "Take" not in said
    assert "compare/export" not in {button.key for button in app.button}


def test_the_strip_says_of_each_method_what_its_joint_interval_shows(
    with_fits: OpenSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = open_page(PAGE, with_fits)
    claims, _ = claims_and_answer(monkeypatch, with_fits)
    names, numbers, words = (plain(trace["text"]) for trace in drawn(app, "compare-strip")["data"][-5:-2])
    values = {name: one.value["NLL"] for name, one in claims.scored.items()}
    assert [name.split(" ", 1)[1] for name in names] == sorted(values, key=lambda name: values[name])
    for name, text, word in zip(names, numbers, words, strict=True):
        claim = claims.between(name.split(" ", 1)[1], claims.baseline, "NLL")
        assert float(text.replace("−", "-")) == pytest.approx(claim.value, abs=1e-4)
        assert word == ("reference" if claim.value == 0 else claim.word)


def test_what_matters_can_be_changed_and_the_answer_follows(with_fits: OpenSession) -> None:
    app = open_page(PAGE, with_fits)
    app.number_input(key="compare/relevant/NLL").set_value(10.0).run()
    assert not app.exception
    assert app.markdown[0].value.startswith("**Keep the raw model.**")  # all are equivalent within 10 nats
    assert set(plain(drawn(app, "compare-strip")["data"][-3]["text"])) == {"equivalent", "reference"}
    app.selectbox(key="compare/score").select("ECE").run()
    assert app.number_input(key="compare/relevant/ECE").value == pytest.approx(0.1)  # points
    assert app.markdown[0].value.startswith("**Keep the raw model.**")  # the score that is drawn does not decide
    assert set(plain(drawn(app, "compare-strip")["data"][-3]["text"])) - {"equivalent", "reference"}
    app.switch_page("pages/5_Export.py").run()
    app.switch_page(PAGE).run()
    assert app.markdown[0].value.startswith("**Keep the raw model.**")


def test_the_panels_state_the_ece_of_the_table_in_the_order_of_the_strip(with_fits: OpenSession) -> None:
    app = folded(with_fits, "scores")
    eces = app.dataframe[0].value.set_index("method")["ECE"]
    texts = [plain(drawn(app, f"compare-panels-{half}")["data"][-2]["text"]) for half in (0, 1)]
    strip = plain(drawn(app, "compare-strip")["data"][-5]["text"])
    assert [text.split("ECE")[0] for text in [*texts[0], *texts[1]]] == strip
    for text in [*texts[0], *texts[1]]:
        name, ece = text.split("ECE ")
        assert ece == brief(eces[name.split(" ", 1)[1]])


def test_a_method_that_is_chosen_is_diagnosed(with_fits: OpenSession) -> None:
    app = open_page(PAGE, with_fits)
    (key,) = [key for key, spec in with_fits.specs.items() if spec.method == "isotonic"]
    app.selectbox(key="compare/diagnose/list").select(with_fits.specs[key].title).run()
    assert not app.exception
    assert app.title[0].value == "Reliability"
    assert group(app, "reliability/methods").value == ["raw", key]
    app.switch_page(PAGE).run()
    assert app.title[0].value == "Compare"  # it does not lead there again


def test_the_button_beside_the_answer_leads_to_the_export_of_that_method(
    with_fits: OpenSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, answer = claims_and_answer(monkeypatch, with_fits)
    app = open_page("pages/5_Export.py", with_fits)
    calibrators = app.selectbox(key="export/calibrator")
    calibrators.select(next(title for title in calibrators.options if title != answer.method)).run()
    app.switch_page(PAGE).run()
    button = app.button(key="compare/export")
    assert answer.method in button.label
    button.click().run()
    assert clean(app)
    assert app.title[0].value == "Export"
    assert with_fits.specs[app.selectbox(key="export/calibrator").value].title == answer.method
    app.switch_page(PAGE).run()
    assert app.title[0].value == "Compare"
    app.number_input(key="compare/relevant/NLL").set_value(10.0).run()
    assert "compare/export" not in [button.key for button in app.button]  # the raw model is kept: nothing to export


def test_scores_are_numbers_that_sort(with_fits: OpenSession) -> None:
    app = open_page(PAGE, with_fits)
    assert not app.dataframe  # nothing is computed for what is folded
    app = folded(with_fits, "scores")
    assert not app.exception and not app.error
    table = app.dataframe[0].value
    scores = [column for column in table.columns if column != "method"]
    assert len(scores) == 5
    assert all(pd.api.types.is_float_dtype(table[column]) for column in scores)
    row = table.set_index("method").loc[METHODS["temperature"].title]
    fitted = calibrator("temperature").fit(with_fits.calibration.logits, with_fits.calibration.labels)
    probs = fitted.predict_proba(with_fits.test.logits)
    of_label = probs[np.arange(len(probs)), with_fits.test.labels]
    assert row["NLL"] == pytest.approx(-np.log(of_label).mean())
    app.toggle(key="compare/intervals").set_value(False).run()
    pd.testing.assert_frame_equal(app.dataframe[0].value, table)
    columns = app.multiselect(key="compare/columns")
    columns.set_value([*columns.value, "MCE", "sharpness", "gap", "top-5 accuracy"]).run()
    shown = [column for frame in app.dataframe for column in frame.value.columns if column != "method"]
    assert len(app.dataframe) == 2 and len(shown) == 9  # what does not fit beside the others stands below


def test_a_fit_that_failed_is_named_with_its_reason(
    queue: Engine, with_fits: OpenSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    jobs = queue.snapshot(with_fits.specs)
    failed = replace(jobs[0], state="failed", message="it did not converge", result=None)
    monkeypatch.setattr("calib.ui.fits.jobs", lambda: [failed, *jobs[1:]])
    monkeypatch.setattr("calib.ui.compare.answer.jobs", lambda: [failed, *jobs[1:]])
    app = open_page(PAGE, with_fits)
    assert not app.exception
    assert any(failed.spec.title in text.value and "it did not converge" in text.value for text in app.caption)
    assert len(drawn(app, "compare-strip")["data"][-5]["text"]) == len(jobs)


def test_a_study_is_foretold_by_processor_time_and_on_a_gpu_by_the_clock() -> None:
    made = calibrator("temperature").fit(2 * np.eye(3), np.arange(3))
    fit = ShownFit("k", "temperature", "T", method_style("temperature"), made, None, 10.5, 0.0, 0.6)
    assert seconds_of(fit) == 0.6
    made.device_ = "GPU (H200)"
    assert seconds_of(fit) == 10.5


def test_draws_of_fewer_rows_cost_less_and_of_all_rows_there_is_one() -> None:
    assert fits_on_all_rows([100]) == 1
    assert fits_on_all_rows([25, 50, 100]) == (11 + 4.75) / 2


def test_repeated_splits_on_demand(queue: Engine, with_fits: OpenSession) -> None:
    app = folded(with_fits, "splits")
    assert not with_fits.studies
    only(app, with_fits, "splits", "temperature")
    app.button_group(key="compare/splits/number").set_value(5).run()
    app.button(key="study/splits/start").click().run()
    assert not app.exception and not app.error
    finish(app, queue, with_fits, "splits")
    assert not app.exception and not app.error
    made = {"Temperature": calibrator("temperature")}
    data = with_fits.data
    table = summarise_splits(repeated_splits(made, data, len(with_fits.calibration), n_repeats=5))
    assert verdict(table, "NLL", "over 5 splits") in said(app)
    shown = next(frame.value for frame in app.dataframe if len(frame.value) == 2)
    expected = table[table["score"] == "NLL"]["value"]
    assert shown["NLL"].to_numpy() == pytest.approx(expected.to_numpy())


def test_label_sizes_on_demand_with_an_answer(queue: Engine, with_fits: OpenSession) -> None:
    app = only(folded(with_fits, "sizes"), with_fits, "sizes", "temperature")
    app.button(key="study/sizes/start").click().run()
    finish(app, queue, with_fits, "sizes")
    assert not app.exception and not app.error
    curve = size_curve({"Temperature": calibrator("temperature")}, *with_fits.data.split(0.5))
    assert labels_needed(curve, "Temperature").sentence in said(app)
    assert labels_needed(curve, "Temperature", tolerance=0.05).sentence not in said(app)
    app.button_group(key="compare/sizes/tolerance").set_value(0.05).run()
    assert labels_needed(curve, "Temperature", tolerance=0.05).sentence in said(app)


def test_a_study_can_be_cancelled_and_goes_with_its_data(queue: Engine, with_fits: OpenSession) -> None:
    app = folded(with_fits, "splits")
    app.button_group(key="compare/splits/number").set_value(50).run()
    app.button(key="study/splits/start").click().run()
    key = with_fits.studies["splits"].key
    app.button(key="study/splits/cancel").click().run()
    assert not app.exception and not app.error
    assert finished(queue, [key])[0].state == "cancelled"
    app.run()
    assert app.button(key="study/splits/retry")  # what was cancelled says so, and can be started again
    app.button(key="study/splits/start").click().run()
    with_fits.split(0.3, 1)
    assert not with_fits.studies
    queue.cancel(key)


def keep(app: AppTest, name: str) -> AppTest:
    app.text_input[0].set_value(name).run()
    return app.button(key="compare/keep").click().run()


def test_a_new_upload_does_not_lose_kept_results(with_fits: OpenSession) -> None:
    app = keep(folded(with_fits, "kept"), "epoch 10")
    assert not app.exception and not app.error
    first = app.session_state[ENTRIES]["epoch 10"]
    assert set(first.scores["title"]) == {title_of(calibrator(name), name, 10) for name in ("identity", *FITTED)}
    assert first.n_rows == len(with_fits.test)
    # Small tables, and none of the arrays.
    assert first.scores.memory_usage(deep=True).sum() < 100_000
    app.session_state[SESSION] = OpenSession.from_data(load_sample("digits-mlp"), sample="digits-mlp")
    app = unfold(app.switch_page(PAGE).run(), "compare/kept")
    assert not app.exception and not app.error
    assert list(app.session_state[ENTRIES]) == ["epoch 10"]
    keep(app, "epoch 9")
    drawn = [element.proto.id for element in app.get("plotly_chart") if "entries-" in element.proto.id]
    assert len(drawn) == 3
    figure = next(element.proto for element in app.get("plotly_chart") if "entries-NLL" in element.proto.id)
    assert figure.spec.index("epoch 9") < figure.spec.index("epoch 10")
    app.button(key="compare/remove/epoch 10").click().run()
    assert not app.exception and not app.error
    assert list(app.session_state[ENTRIES]) == ["epoch 9"]


def test_kept_results_are_updated_in_place_and_capped(with_sample: OpenSession) -> None:
    app = keep(folded(with_sample, "kept"), "mine")
    assert app.button(key="compare/keep").label == "Update"
    keep(app, "mine")
    assert list(app.session_state[ENTRIES]) == ["mine"]
    entry = app.session_state[ENTRIES]["mine"]
    for place in range(MOST_ENTRIES - 1):
        app.session_state[ENTRIES][f"run {place}"] = replace(entry, name=f"run {place}")
    app.text_input[0].set_value("one too many").run()
    assert not app.exception and not app.error
    assert app.button(key="compare/keep").disabled
    assert f"{MOST_ENTRIES} results are kept" in said(app)


def test_a_name_is_text_and_no_markup(with_sample: OpenSession) -> None:
    app = keep(folded(with_sample, "kept"), "<b>a</b> [x](y) $z$")
    assert not app.exception and not app.error
    assert any(r"\[x\](y) \$z\$" in element.value for element in app.markdown)


def scores_of(session: OpenSession, method: str) -> list[tuple[float, float]]:
    """Accuracy and NLL on the test rows of shared and of class-wise maps, fitted anew."""
    found = []
    for share in (True, False):
        made = calibrator(method.lower(), share_classes=share)
        made.fit(session.calibration.logits, session.calibration.labels)
        probs = made.predict_proba(session.test.logits)
        of_label = probs[np.arange(len(probs)), session.test.labels]
        found.append((np.mean(probs.argmax(axis=1) == session.test.labels), -np.log(of_label).mean()))
    return found


def methods(app: AppTest) -> list[str]:
    return app.dataframe[0].value["method"].tolist()


def test_counterparts_come_and_go(queue: Engine, with_sample: OpenSession) -> None:
    session = fit(queue, with_sample, "temperature", "platt", ("beta", {"share_classes": False}))
    asked = list(session.specs)
    app = folded(session, "scores", "maps")
    app.toggle(key="compare/sharing").set_value(True).run()
    assert not app.exception
    assert len(session.specs) == 5
    wait(queue, session)
    app.run()
    assert methods(app)[1:] == [
        "Temperature",
        "Beta (class-wise)",
        "Beta (shared map)",
        "Platt (shared map)",
        "Platt (class-wise)",
    ]
    assert len(session.specs) == 5
    (said,) = [text.value for text in app.markdown if "against" in text.value and text.value.startswith("- ")]
    lines = said.split("\n")
    scores = {name: scores_of(session, name) for name in ("Platt", "Beta")}
    for line, (name, ((right, loss), (right_apart, loss_apart))) in zip(lines[::-1], scores.items(), strict=True):
        assert line.startswith(f"- **{name} (shared map)** against {name} (class-wise): accuracy ")
        points = 100 * (right - right_apart)
        assert f"{abs(points):.1f} points {'higher' if points > 0 else 'lower'}" in line or points == 0
        assert f"({percent(right)} against {percent(right_apart)})" in line
        nll = line[line.index("NLL ") :]
        assert ("higher" if loss > loss_apart else "lower") in nll
        assert f"({number(loss)} against {number(loss_apart)})" in nll
    app.toggle(key="compare/sharing").set_value(False).run()
    assert not app.exception
    assert list(session.specs) == asked
    assert len(methods(app)) == 4


def test_it_is_offered_only_where_there_is_something_to_share(queue: Engine, with_sample: OpenSession) -> None:
    session = fit(queue, with_sample, "temperature")
    assert "compare/sharing" not in [toggle.key for toggle in folded(session, "maps").toggle]


def test_two_classes_share_one_map(queue: Engine) -> None:
    logits, labels = simulate(n=300, n_classes=2)
    session = OpenSession.from_data(
        Predictions(logits, labels, ("no", "yes"), sha256="two classes, made for this test")
    )
    fit(queue, session, "platt")
    app = folded(session, "maps")
    assert np.all([toggle.key != "compare/sharing" for toggle in app.toggle])
    assert any("two classes need one map alone" in caption.value for caption in app.caption)
