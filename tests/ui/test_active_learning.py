"""The Active learning page in its states: no features, before a run, finished, cancelled, failed."""

from __future__ import annotations

from dataclasses import replace
from io import StringIO

import numpy as np
import pandas as pd
from streamlit.testing.v1 import AppTest

from calib.active_learning import (
    Plan,
    compare_arms,
    pool_from_predictions,
    rounds_table,
    simulate,
    verdicts,
)
from calib.engine import Engine
from calib.ui.session import SESSION, OpenSession
from tests.conftest import finished
from tests.ui.conftest import charts, clean, features_of, group, open_page, said

PAGE = "pages/12_Active_learning.py"
QUICK = {
    "classifier": "naive_bayes",
    "calibrator": "temperature",
    "pretraining": 10,
    "batch": 20,
    "threshold": 0.1,
}


def quick(app: AppTest) -> AppTest:
    """Settings that run in moments."""
    for name in ("classifier", "calibrator"):
        app.selectbox(key=f"active/{name}").set_value(QUICK[name])
    for name in ("threshold", "pretraining", "batch"):
        number(app, name).set_value(QUICK[name])
    number(app, "shuffles").set_value(2)
    return app.run()


def number(app: AppTest, name: str):
    return next(widget for widget in app.number_input if str(widget.key).endswith(f"/{name}"))


def run(app: AppTest, queue: Engine) -> AppTest:
    """Start, wait for all simulations, and draw the page again."""
    app.button(key="active/start").click().run()
    finished(queue, [spec.key for spec in app.session_state[SESSION].studies.values()])
    return app.run()


def test_before_a_run_it_says_which_rows_are_which_and_offers_sizes_that_fit(queue: Engine) -> None:
    app = open_page(PAGE, OpenSession.from_data(features_of()))
    assert clean(app) and not charts(app)
    assert "Judged on 150 rows, all rows of the data" in said(app)
    assert (number(app, "pretraining").value, number(app, "batch").value) == (10, 4)
    assert number(app, "budget").value is None
    assert group(app, "active/arms").value == ["plain", "set_points"]
    assert app.button(key="active/start").label == "Run 10 simulations"


def test_a_run_ends_with_what_the_library_finds(queue: Engine) -> None:
    data = features_of(name="a run")
    app = run(quick(open_page(PAGE, OpenSession.from_data(data))), queue)
    assert clean(app)
    plan, pool, arms = Plan(**QUICK), pool_from_predictions(data), ("plain", "set_points")
    runs = {
        (arm, seed): simulate(plan, arm, pool, random_state=seed)
        for arm in arms
        for seed in range(2)
    }
    assert app.markdown[0].value == verdicts(compare_arms(rounds_table(runs)))[0]
    assert (
        "Simulated with classifier Naive Bayes, calibrator Temperature, pretraining 10, batch 20"
        in said(app)
    )
    table = pd.read_csv(StringIO(app.session_state[SESSION].built["active/csv"][1]))
    assert len(table) == sum(map(len, runs.values()))
    assert set(table["shuffle"]) == {1, 2} and set(table["calibrator"]) == {"temperature"}
    assert len(charts(app)) == 2
    group(app, "active/measures").set_value(["error", "over", "nll"]).run()
    assert len(charts(app)) == 3


def test_simulations_that_fail_are_named_with_the_reason_and_start_again(queue: Engine) -> None:
    data = features_of(name="failing")
    assert data.features is not None
    broken = data.features.copy()
    broken[0, 0] = np.nan
    session = OpenSession.from_data(replace(data, features=broken))
    app = quick(open_page(PAGE, session))
    for _ in range(2):
        run(app, queue)
        said_why = " ".join(str(warning.value) for warning in app.warning)
        assert (
            "Without calibration, shuffle 1" in said_why
            and "Calibrated at set points, shuffle 2" in said_why
        )
        assert "contains NaN" in said_why
    assert len(session.studies) == 4
