"""The Compare page: a table that sorts, small diagrams, studies in the background, and kept results.

Shared and class-wise maps side by side on the Compare page.
"""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from calib.data.predictions import Predictions
from calib.data.samples import load_sample
from calib.evaluation.learning_curve import labels_needed, size_curve
from calib.evaluation.repeated_splits import repeated_splits, summarise_splits
from calib.evaluation.score_table import verdict
from calib.formatting import number
from calib.jobs import FitQueue
from calib.plots.style import method_style
from calib.registry import METHODS, calibrator, title_of
from calib.ui.compare.studies import ENTRIES, MOST_ENTRIES, fits_on_all_rows, seconds_of
from calib.ui.fits import ShownFit
from calib.ui.session import SESSION, OpenSession
from tests.conftest import finished, simulate
from tests.ui.conftest import FITTED, fit, open_page, said, wait

PAGE = "pages/5_Compare.py"


def finish(app: AppTest, queue: FitQueue, session: OpenSession, kind: str) -> AppTest:
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


def test_scores_are_numbers_that_sort(with_fits: OpenSession) -> None:
    app = open_page(PAGE, with_fits)
    assert not app.exception and not app.error
    table = app.dataframe[0].value
    scores = [column for column in table.columns if column != "method"]
    assert len(scores) >= 8
    assert all(pd.api.types.is_float_dtype(table[column]) for column in scores)
    row = table.set_index("method").loc[METHODS["temperature"].title]
    fitted = calibrator("temperature").fit(with_fits.calibration.logits, with_fits.calibration.labels)
    probs = fitted.predict_proba(with_fits.test.logits)
    of_label = probs[np.arange(len(probs)), with_fits.test.labels]
    assert row["NLL"] == pytest.approx(-np.log(of_label).mean())
    app.toggle(key="compare/intervals").set_value(False).run()
    pd.testing.assert_frame_equal(app.dataframe[0].value, table)


@pytest.mark.long
def test_every_method_has_a_small_diagram(with_fits: OpenSession) -> None:
    app = open_page(PAGE, with_fits)
    small = [element.proto for element in app.get("plotly_chart") if "compare-small" in element.proto.id]
    assert len(small) == 1 + len(FITTED)
    for diagram, ece in zip(small, app.dataframe[0].value["ECE"], strict=True):
        said = json.loads(diagram.spec)["layout"]["annotations"]
        assert f"ECE {number(ece)}" in " ".join(each["text"] for each in said)  # that of the table


def test_a_study_is_foretold_by_processor_time_and_on_a_gpu_by_the_clock() -> None:
    made = calibrator("temperature").fit(np.eye(3), np.arange(3))
    fit = ShownFit("k", "temperature", "T", method_style("temperature"), made, None, 10.5, 0.0, 0.6)
    assert seconds_of(fit) == 0.6
    made.device_ = "GPU (H200)"
    assert seconds_of(fit) == 10.5


def test_draws_of_fewer_rows_cost_less_and_of_all_rows_there_is_one() -> None:
    assert fits_on_all_rows([100]) == 1
    assert fits_on_all_rows([25, 50, 100]) == (11 + 4.75) / 2


def test_repeated_splits_on_demand(queue: FitQueue, with_fits: OpenSession) -> None:
    app = open_page(PAGE, with_fits)
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


def test_label_sizes_on_demand_with_an_answer(queue: FitQueue, with_fits: OpenSession) -> None:
    app = only(open_page(PAGE, with_fits), with_fits, "sizes", "temperature")
    app.button(key="study/sizes/start").click().run()
    finish(app, queue, with_fits, "sizes")
    assert not app.exception and not app.error
    curve = size_curve({"Temperature": calibrator("temperature")}, *with_fits.data.split(0.5))
    assert labels_needed(curve, "Temperature").sentence in said(app)
    assert labels_needed(curve, "Temperature", tolerance=0.05).sentence not in said(app)
    app.button_group(key="compare/sizes/tolerance").set_value(0.05).run()
    assert labels_needed(curve, "Temperature", tolerance=0.05).sentence in said(app)


def test_a_study_can_be_cancelled_and_goes_with_its_data(queue: FitQueue, with_fits: OpenSession) -> None:
    app = open_page(PAGE, with_fits)
    app.button_group(key="compare/splits/number").set_value(50).run()
    app.button(key="study/splits/start").click().run()
    key = with_fits.studies["splits"].key
    app.button(key="study/splits/cancel").click().run()
    assert not app.exception and not app.error
    assert "splits" not in with_fits.studies
    assert finished(queue, [key])[0].state == "cancelled"
    app.button(key="study/splits/start").click().run()
    with_fits.split(0.3, 1)
    assert not with_fits.studies
    queue.cancel(key)


def keep(app: AppTest, name: str) -> AppTest:
    app.text_input[0].set_value(name).run()
    return app.button(key="compare/keep").click().run()


def test_a_new_upload_does_not_lose_kept_results(with_fits: OpenSession) -> None:
    app = keep(open_page(PAGE, with_fits), "epoch 10")
    assert not app.exception and not app.error
    first = app.session_state[ENTRIES]["epoch 10"]
    assert set(first.scores["title"]) == {title_of(calibrator(name), name, 10) for name in ("identity", *FITTED)}
    assert first.n_rows == len(with_fits.test)
    # Small tables, and none of the arrays.
    assert first.scores.memory_usage(deep=True).sum() < 100_000
    app.session_state[SESSION] = OpenSession.from_data(load_sample("digits-mlp"), sample="digits-mlp")
    app.switch_page(PAGE).run()
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
    app = keep(open_page(PAGE, with_sample), "mine")
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
    app = keep(open_page(PAGE, with_sample), "<b>a</b> [x](y) $z$")
    assert not app.exception and not app.error
    assert any(r"\[x\]\(y\) \$z\$" in element.value for element in app.markdown)


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


def test_counterparts_come_and_go(queue: FitQueue, with_sample: OpenSession) -> None:
    session = fit(queue, with_sample, "temperature", "platt", ("beta", {"share_classes": False}))
    asked = list(session.specs)
    app = open_page(PAGE, session)
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
        assert f"({100 * right:.1f} % against {100 * right_apart:.1f} %)" in line
        nll = line[line.index("NLL ") :]
        assert ("higher" if loss > loss_apart else "lower") in nll
        assert f"({number(loss)} against {number(loss_apart)})" in nll
    app.toggle(key="compare/sharing").set_value(False).run()
    assert not app.exception
    assert list(session.specs) == asked
    assert len(methods(app)) == 4


def test_it_is_offered_only_where_there_is_something_to_share(queue: FitQueue, with_sample: OpenSession) -> None:
    session = fit(queue, with_sample, "temperature")
    assert "compare/sharing" not in [toggle.key for toggle in open_page(PAGE, session).toggle]


def test_two_classes_share_one_map(queue: FitQueue) -> None:
    logits, labels = simulate(n=300, n_classes=2)
    session = OpenSession.from_data(
        Predictions(logits, labels, ("no", "yes"), sha256="two classes, made for this test")
    )
    fit(queue, session, "platt")
    app = open_page(PAGE, session)
    assert np.all([toggle.key != "compare/sharing" for toggle in app.toggle])
    assert any("two classes need one map alone" in caption.value for caption in app.caption)
