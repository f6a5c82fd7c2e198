"""The Compare page: the answer, what it changes, the method looked at, tables, and studies in the background."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from html import unescape
from typing import Any

import numpy as np
import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from calib.engine import Engine
from calib.evaluation.claims import Claims
from calib.evaluation.describe import Recommendation
from calib.evaluation.recommendation import recommend
from calib.formatting import number
from calib.registry import METHODS, calibrator
from calib.ui.compare.recommendation import CLOSER
from calib.ui.fits import judged_fits, resampled
from calib.ui.session import OpenSession
from tests.ui.conftest import charts, clean, open_page, opened, said, unfold

PAGE = "pages/2_Compare.py"


def folded(session: OpenSession, *parts: str) -> AppTest:
    """The page with some of its further questions opened."""
    return unfold(open_page(PAGE, session), *(f"compare/{part}" for part in parts))


def drawn(app: AppTest, key: str) -> dict[str, Any]:
    """The figure with this key, as it is sent to the browser."""
    (spec,) = [json.loads(chart.spec) for chart in charts(app) if key in chart.id]
    return spec


def methods(app: AppTest) -> dict[str, str]:
    """The rows of the table of methods by title, as HTML."""
    (table,) = [element.proto for element in app.get("bidi_component")]
    rows = re.findall(r"<tr.*?</tr>", json.loads(table.json), flags=re.S)[1:]
    return {unescape(re.search('th scope="row" title="([^"]*)"', row)[1]): row for row in rows}


def claims_and_answer(
    monkeypatch: pytest.MonkeyPatch, session: OpenSession
) -> tuple[Claims, Recommendation]:
    """What the fits of the session allow to be claimed."""
    opened(monkeypatch, session)
    fits = judged_fits(session)
    claims = Claims(resampled(fits))
    answer = recommend(claims, {one.title: one.calibrator for one in fits})
    assert answer is not None
    return claims, answer


def test_it_opens_with_what_to_take_and_says_of_each_method_what_the_intervals_show(
    with_fits: OpenSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = open_page(PAGE, with_fits)
    assert not app.exception and not app.error
    claims, answer = claims_and_answer(monkeypatch, with_fits)
    finding = f"{app.header[0].value} {said(app)}"
    assert f"Take {answer.method}" in finding
    for amount in (answer.gain.value, answer.gain.low, answer.gain.high):
        assert number(amount).replace("-", "−") in finding
    assert all(name in finding for name in answer.as_good)

    values = {name: one.values["NLL"] for name, one in claims.scored.items()}
    shown = methods(app)
    order = [
        name for name in sorted(values, key=lambda name: values[name]) if name != claims.baseline
    ]
    assert [name for name in shown if name in order] == order
    for name in order:
        claim = claims.between(name, claims.baseline, "NLL")
        assert f"{values[name]:.3f}" in shown[name]
        assert f"against the raw model {claim.word}" in shown[name]

    (key,) = [key for key, spec in with_fits.specs.items() if spec.method == "isotonic"]
    title = with_fits.specs[key].title
    session = replace(with_fits, picked={CLOSER: key})
    app = open_page(PAGE, session)
    assert clean(app) and "chosen" in methods(app)[title]
    assert any(f"<strong>{title}</strong>" in element.proto.body for element in app.get("html"))
    assert {"raw", "bins"} <= {trace.get("name") for trace in drawn(app, "compare-rel")["data"]}


def test_nothing_is_recommended_while_a_fit_runs_and_one_that_failed_is_named(
    with_fits: OpenSession, queue: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = queue.snapshot(with_fits.specs)
    failed = replace(done[0], state="failed", message="it did not converge", result=None)
    running = replace(done[0], key="another", state="running", result=None)
    monkeypatch.setattr("calib.ui.compare.recommendation.jobs", lambda: [*done, running])
    app = open_page(PAGE, with_fits)
    assert not app.exception
    assert (
        not app.header
        and "The recommendation follows once all have" in app.get("progress")[0].proto.text
    )
    assert "Take" not in said(app)
    assert "compare/export" not in {button.key for button in app.button}
    for place in ("calib.ui.fits.jobs", "calib.ui.compare.recommendation.jobs"):
        monkeypatch.setattr(place, lambda: [failed, *done[1:]])
    app = open_page(PAGE, with_fits)
    assert not app.exception
    assert any(
        failed.spec.title in text.value and "it did not converge" in text.value
        for text in app.caption
    )
    assert (
        len(methods(app)) == len(done) + 1
    )  # with class frequencies, and without the one that failed


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
    assert clean(app) and app.title[0].value == "Export"
    assert with_fits.specs[app.selectbox(key="export/calibrator").value].title == answer.method


def test_scores_are_numbers_that_sort(with_fits: OpenSession) -> None:
    app = open_page(PAGE, with_fits)
    assert not app.dataframe  # nothing is computed for what is folded
    app = folded(with_fits, "scores")
    assert not app.exception and not app.error
    table = app.dataframe[0].value
    scores = [column for column in table.columns if column != "method"]
    assert len(scores) == 4
    assert all(pd.api.types.is_float_dtype(table[column]) for column in scores)
    row = table.set_index("method").loc[METHODS["temperature"].title]
    fitted = calibrator("temperature").fit(
        with_fits.calibration.logits, with_fits.calibration.labels
    )
    probs = fitted.predict_proba(with_fits.test.logits)
    of_label = probs[np.arange(len(probs)), with_fits.test.labels]
    assert row["NLL"] == pytest.approx(-np.log(of_label).mean())
    columns = app.button_group(key="compare/columns")
    columns.set_value([*columns.value, "sharpness", "gap", "top-5 accuracy"]).run()
    shown = [
        column for frame in app.dataframe for column in frame.value.columns if column != "method"
    ]
    assert (
        len(app.dataframe) == 2 and len(shown) == 7
    )  # what does not fit beside the others stands below
