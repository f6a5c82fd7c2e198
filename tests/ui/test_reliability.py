"""The Reliability page: diagrams side by side, with and without the consistency band."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from calib import metrics
from calib.data.samples import load_sample
from calib.engine import Engine
from calib.formatting import brief, percent, with_interval
from calib.numerics import softmax
from calib.ui import fits, reliability
from calib.ui.reliability import BESIDE
from calib.ui.session import OpenSession
from tests.ui.conftest import charts, clean, fit, open_page, said, table, unfold

PAGE = "pages/3_Reliability.py"


def traces(app: AppTest) -> list[list[str | None]]:
    """Names of the traces of each figure."""
    specs = [json.loads(chart.spec) for chart in charts(app)]
    return [[trace.get("name") for trace in spec["data"]] for spec in specs]


def with_all(session: OpenSession) -> AppTest:
    """The page with every method."""
    app = open_page(PAGE, session)
    return app.button_group(key="reliability/methods").set_value(["raw", *session.specs]).run()


def test_the_page_opens_with_the_raw_model_beside_what_compare_recommends(
    fits_to_read: OpenSession,
) -> None:
    compare = open_page("pages/2_Compare.py", fits_to_read)
    app = open_page(PAGE, fits_to_read)
    raw, chosen = app.button_group(key="reliability/methods").value
    assert raw == "raw"
    assert f"Take {fits_to_read.specs[chosen].title}." in compare.header[0].value
    assert len(traces(app)) == 2


def test_a_page_opened_while_fits_ran_shows_what_is_recommended_in_the_end(queue: Engine) -> None:
    session = OpenSession.from_data(load_sample("simulated-loans"))
    app = open_page(PAGE, fit(queue, session, "histogram"))
    (first,) = session.specs
    assert app.button_group(key="reliability/methods").value == ["raw", first]
    fit(queue, session, "platt", "beta")
    chosen = app.run().button_group(key="reliability/methods").value
    assert clean(app) and len(chosen) == 2
    compare = open_page("pages/2_Compare.py", session)
    assert f"Take {session.specs[chosen[1]].title}." in compare.header[0].value
    app.button_group(key="reliability/methods").set_value(["raw", first]).run()
    fit(queue, session, "isotonic")
    assert app.run().button_group(key="reliability/methods").value == ["raw", first]


def test_very_many_rows_begin_with_more_bins_than_others_can_choose(
    fits_to_read: OpenSession, monkeypatch
) -> None:
    monkeypatch.setattr(reliability, "default_bins", lambda n: 114)  # of 1,500,000 rows
    app = open_page(PAGE, fits_to_read)
    assert not app.exception and not app.error
    assert app.number_input(key="rel/bins/equal_mass").value == 114


def test_diagrams_side_by_side_share_their_axes_on_each_scale_with_the_band_and_of_one_class(
    fits_to_read: OpenSession,
) -> None:
    def drawn(app: AppTest) -> list[list[str | None]]:
        assert not app.exception and not app.error
        names = traces(app)
        assert all({"bins", "isotonic"} <= set(each) for each in names)
        assert ["raw" in each for each in names] == [False, True], "the raw model stands behind"
        return names

    app = open_page(PAGE, fits_to_read)
    ties = next(
        key for key, spec in fits_to_read.specs.items() if spec.method == "isotonic"
    )  # the hardest to draw
    app.button_group(key="reliability/methods").set_value(["raw", ties]).run()
    assert app.button_group(key="rel/scale/linear").value == "linear"
    for scale in ("logit", "linear"):
        assert len(drawn(app.button_group(key="rel/scale/linear").set_value(scale).run())) == 2
        layouts = [json.loads(chart.spec)["layout"] for chart in charts(app)]
        ranges = [each[axis]["range"] for each in layouts for axis in ("xaxis", "yaxis")]
        assert all(each == ranges[0] for each in ranges)
    toggle = app.toggle(key="rel/band")
    assert toggle.value and all("consistency band" in names for names in drawn(app))
    toggle.set_value(False).run()
    assert not any("consistency band" in names for names in drawn(app))
    drawn(app.selectbox(key="rel/target").select(3).run())
    assert {
        json.loads(chart.spec)["layout"]["yaxis"]["title"]["text"] for chart in charts(app)
    } == {"frequency"}


def test_each_diagram_has_its_error(fits_to_read: OpenSession) -> None:
    test = fits_to_read.test
    temperature = next(
        job.calibrator
        for job in fits.queue().snapshot(fits_to_read.specs)
        if job.spec.method == "temperature"
    )
    found = said(with_all(fits_to_read))
    for probs in (softmax(test.logits), temperature.predict_proba(test.logits)):
        assert f"ECE **{brief(metrics.ece(probs, test.labels))}**" in found


def test_the_rows_of_a_bin_are_listed_on_every_page_until_they_are_cleared(
    fits_to_read: OpenSession,
) -> None:
    session = replace(fits_to_read, picked={})
    app = unfold(open_page(PAGE, session), "reliability/rows")
    assert not app.dataframe
    next(box for box in app.selectbox if box.label == "Bin").select_index(0).run()
    app.button(key="rows/list").click().run()
    assert clean(app)
    rows, test = table(app, "row"), session.test
    right = test.logits.argmax(axis=1) == test.labels
    places = np.searchsorted(session.test_numbers, rows["row"])
    assert rows["correct"].tolist() == right[places].tolist()
    gap = 100 * (rows["confidence"].mean() - rows["correct"].mean())
    assert f"gap {gap:+.1f} points" in said(app)
    assert all("selected rows" in names for names in traces(app))
    app.switch_page("pages/6_Over_underconfidence.py").run()
    assert clean(app)
    assert table(app, "row")["row"].tolist() == rows["row"].tolist()
    app.button(key="rows/clear").click().run()
    assert not [frame for frame in app.dataframe if "row" in frame.value.columns]


@pytest.mark.long
def test_the_panel_of_a_risk_model_has_its_numbers_beside_those_of_a_method(queue: Engine) -> None:
    loans = fit(
        queue, OpenSession.from_data(load_sample("simulated-loans")), "temperature", "platt"
    )
    app = open_page(PAGE, loans)
    assert not app.dataframe
    unfold(app, "reliability/panel")
    assert clean(app)
    platt = list(loans.specs)[1]
    app.selectbox(key=BESIDE).set_value(platt).run()
    assert clean(app)
    shown, test = table(app, "measure").set_index("measure"), loans.test
    (job,) = queue.snapshot([platt])
    for column, probs in enumerate(
        (softmax(test.logits), job.calibrator.predict_proba(test.logits))
    ):
        measures = metrics.risk_model(probs, test.labels, clusters=test.clusters).measures
        assert shown.iloc[:, column].tolist() == [
            with_interval((one.value, one.low, one.high)) for one in measures
        ]
    assert "at most" in shown.iloc[:, 2]["ICI"]
    assert percent(np.average(test.labels)) in said(app)
    assert sum("spline" in names for names in traces(app)) == 2


def test_the_error_is_shown_in_other_bins_and_on_fewer_rows(fits_to_read: OpenSession) -> None:
    app = unfold(open_page(PAGE, fits_to_read), "reliability/by bins")
    assert clean(app)
    by_bins, by_rows = (json.loads(chart.spec)["data"] for chart in charts(app)[-2:])
    test = fits_to_read.test
    error = metrics.ece(softmax(test.logits), test.labels, n_bins=5)
    assert by_bins[1]["name"] == "Uncalibrated"
    assert by_bins[1]["customdata"][0] == [5, pytest.approx(error, rel=1e-5)]
    assert len(by_rows) == 4, "a band and a line for each of two methods"
    assert "In 5 to 100 bins of 4 kinds the ECE is" in said(app)


def test_diagrams_side_by_side_begin_at_one_height(fits_to_read: OpenSession) -> None:
    elements = [part for part in with_all(fits_to_read).main if not hasattr(part, "children")]
    places = [k for k, part in enumerate(elements) if part.type == "plotly_chart"]
    assert len(places) > 1
    # Whatever wraps in some columns alone stands beneath: above is the name of the method in one line.
    assert all(elements[k - 1].type == "html" for k in places)
