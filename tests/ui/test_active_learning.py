"""The Active learning page in its states: nothing, no features, before a run, while it runs, finished, failed."""

from __future__ import annotations

from dataclasses import replace
from io import StringIO

import numpy as np
import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from calib.active_learning import (
    ARMS,
    Plan,
    Pool,
    compare_arms,
    pool_from_predictions,
    rounds_table,
    simulate,
    verdicts,
)
from calib.data import Finding, Predictions
from calib.data.samples import load_sample
from calib.engine import Engine
from calib.ui.active_learning import settings as active_settings
from calib.ui.active_learning.settings import Rows, Wanted, fitting_sizes, round_down
from calib.ui.active_learning.view import fits, specs_of
from calib.ui.session import SESSION, OpenSession
from tests.conftest import finished
from tests.ui.conftest import charts, group, open_page
from tests.ui.test_latent import said

PAGE = "pages/12_Active_learning.py"
QUICK = {"classifier": "naive_bayes", "calibrator": "temperature", "pretraining": 10, "batch": 20, "threshold": 0.1}


def features_of(pool: bool = True, name: str = "active", n: int = 300) -> Predictions:
    """Simulated Gaussian clusters that overlap; the model's outputs say nothing."""
    generator = np.random.default_rng(0)
    labels, train_labels = np.arange(n) % 3, np.arange(120) % 3
    centres = 1.5 * generator.normal(size=(3, 4))
    features, train_features = (centres[of] + generator.normal(size=(len(of), 4)) for of in (labels, train_labels))
    training = {"train_features": train_features, "train_labels": train_labels} if pool else {}
    return Predictions(np.zeros((n, 3)), labels, ("a", "b", "c"), sha256=name, features=features, **training)


def quick(app: AppTest, n_shuffles: int = 2) -> AppTest:
    """Settings that run in moments."""
    app.selectbox(key="active/classifier").set_value("naive_bayes")
    app.selectbox(key="active/calibrator").set_value("temperature")
    app.number_input(key="active/threshold").set_value(0.1)
    app.number_input(key="active/shuffles").set_value(n_shuffles)
    for name in ("pretraining", "batch"):
        number(app, name).set_value(QUICK[name])
    return app.run()


def number(app: AppTest, name: str):
    return next(widget for widget in app.number_input if str(widget.key).endswith(f"/{name}"))


def finish(app: AppTest) -> AppTest:
    """Wait for all simulations that are shown, and draw the page again."""
    session = app.session_state[SESSION]
    queue = fits.queue()
    keys = [spec.key for spec in session.studies.values()]
    finished(queue, keys)
    return app.run()


def start(app: AppTest) -> AppTest:
    return app.button(key="active/start").click().run()


def test_without_features_it_says_what_to_upload_and_the_sample_is_one_click_away(queue: Engine) -> None:
    app = open_page(PAGE, OpenSession.from_data(load_sample("breast-cancer-bayes"), sample="breast-cancer-bayes"))
    assert "these data hold no features to train on" in said(app)
    assert not app.selectbox and not charts(app)
    app.button(key="active/sample").click().run()
    assert app.session_state[SESSION].sample == "digits-forest"
    assert "Pool: 250 rows, the training set that came with the data" in said(app)


def test_before_a_run_it_says_which_rows_are_which_and_offers_sizes_that_fit(queue: Engine) -> None:
    app = open_page(PAGE, OpenSession.from_data(features_of()))
    words = said(app)
    assert "Pool: 120 rows, the training set" in words and "Judged on 300 rows, all rows of the data" in words
    assert "the outputs of your own model take no part" in words
    assert (number(app, "pretraining").value, number(app, "batch").value) == fitting_sizes(120, 3)
    assert number(app, "budget").value is None
    assert app.selectbox(key="active/calibrator").value == "gpcalib"
    assert group(app, "active/arms").value == ["plain", "set_points", "active"]
    assert app.button(key="active/start").label == "Run 15 simulations"
    assert not charts(app)


def test_without_a_training_set_the_calibration_part_is_the_pool(queue: Engine) -> None:
    session = OpenSession.from_data(features_of(pool=False, name="no pool"))
    words = said(open_page(PAGE, session))
    assert "Pool: 150 rows, the calibration part of the split" in words
    rows_of = {}
    for seed in (0, 1):
        session.split(0.5, seed)
        pool = pool_from_predictions(session.data, session.part, session.seed)
        np.testing.assert_array_equal(pool.features, session.calibration.features)
        rows_of[seed] = session.split_key
    assert rows_of[0] != rows_of[1]


def test_a_run_ends_with_what_the_library_finds(queue: Engine) -> None:
    data = features_of(name="a run")
    app = start(quick(open_page(PAGE, OpenSession.from_data(data)), 3))
    assert not app.exception and not app.error
    finish(app)
    plan, pool, arms = Plan(**QUICK), pool_from_predictions(data), ("plain", "set_points")
    runs = {(arm, seed): simulate(plan, arm, pool, seed=seed) for arm in arms for seed in range(3)}
    assert app.markdown[0].value == verdicts(compare_arms(rounds_table(runs)))[0]
    assert "Wenger et al. (2020, figure 5) report about 10\u00a0% fewer labels" in said(app)
    assert "all labels of the pool are known" in said(app)
    assert "Naive Bayes, calibrated with Temperature, 10 rows to begin with" in said(app)
    assert len(charts(app)) == 2
    kept = app.session_state[SESSION].built["active/csv"][1]
    assert len(kept.strip().splitlines()) == 1 + sum(map(len, runs.values()))
    assert app.button(key="active/start").disabled
    assert not any(str(button.key) == "active/cancel" for button in app.button)


def test_more_shuffles_pay_for_the_new_ones_alone_and_settings_that_return_for_none(queue: Engine) -> None:
    session = OpenSession.from_data(features_of(name="more"))
    app = finish(start(quick(open_page(PAGE, session))))
    before = {spec.key for spec in session.studies.values()}
    app.number_input(key="active/shuffles").set_value(3).run()
    assert app.button(key="active/start").label == "Run 6 simulations"
    finish(start(app))
    after = {spec.key for spec in session.studies.values()}
    assert before < after and len(after) == 6
    number(app, "batch").set_value(15).run()
    assert "Above is what came out with the settings of before" in said(app)
    assert len(charts(app)) == 2
    start(app)
    assert not before & {spec.key for spec in session.studies.values()}
    number(app, "batch").set_value(20).run()
    start(app)
    assert {spec.key for spec in session.studies.values()} == after
    assert not any(job.active for job in queue.snapshot(after))


def test_what_an_arm_does_not_use_is_not_part_of_its_simulation() -> None:
    plan = {"calibrator": "gpcalib", "every": 4, "tolerance": 0.05, "threshold": 0.25, "batch": 10}
    rows = Rows(100, 100, 3, True, "data")

    def keys(**changes: float) -> dict[str, str]:
        specs = specs_of(Wanted({**plan, **changes}, list(ARMS), 1), rows)
        return {spec.arguments[1]: spec.key for spec in specs}

    def changed(**changes: float) -> set[str]:
        return {arm for arm, key in keys().items() if keys(**changes)[arm] != key}

    assert changed(tolerance=0.1) == {"active"}
    assert changed(every=2) == {"set_points", "active"}
    assert changed(threshold=0.5) == {"plain", "set_points", "active"}
    assert changed(batch=20) == set(ARMS)


@pytest.mark.parametrize("arm", ["plain", "set_points", "random"])
def test_settings_left_out_change_nothing(arm: str) -> None:
    generator = np.random.default_rng(0)
    labels = np.arange(90) % 3
    pool = Pool(labels[:60, None] + generator.normal(size=(60, 2)), labels[:60], labels[60:, None] + np.zeros((30, 2)),
                labels[60:], 3)  # fmt: skip
    settings = {"classifier": "naive_bayes", "calibrator": "temperature", "uncertainty": "margin", "threshold": 0.05,
                "first": "most_unsure", "pretraining": 10, "batch": 25, "budget": 25, "every": 2, "tolerance": 0.2,
                "calibrate_on": "any"}  # fmt: skip
    used = Wanted(settings, [arm], 1).settings_of(arm)
    assert len(used) < len(settings)
    assert repr(simulate(Plan(**used), arm, pool)) == repr(simulate(Plan(**settings), arm, pool))


def test_active_calibration_is_offered_with_gpcalib_alone(queue: Engine) -> None:
    app = quick(open_page(PAGE, OpenSession.from_data(features_of())))
    assert group(app, "active/arms").value == ["plain", "set_points"]
    assert "led by the uncertainty of a latent function, which only GPcalib has" in said(app)
    app.selectbox(key="active/calibrator").set_value("gpcalib").run()
    assert "active" in group(app, "active/arms").value


def test_a_classifier_whose_package_is_missing_is_named_and_not_offered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(active_settings, "find_spec", lambda name: None)
    app = open_page(PAGE, OpenSession.from_data(features_of()))
    assert "Mondrian forest" not in app.selectbox(key="active/classifier").options
    assert "Mondrian forest, the paper's, needs the package river, which is not installed here" in said(app)
    monkeypatch.setattr(active_settings, "find_spec", lambda name: name)
    app.run()
    assert "Mondrian forest" in app.selectbox(key="active/classifier").options
    assert "needs the package" not in said(app)


def test_all_can_be_cancelled_at_once_and_what_is_done_stays(queue: Engine) -> None:
    session = OpenSession.from_data(features_of(name="cancelled"))
    app = open_page(PAGE, session)
    app.number_input(key="active/shuffles").set_value(20)
    app = start(app.run())
    keys = [spec.key for spec in session.studies.values()]
    assert len(keys) == 60
    assert "of 60 simulations" in app.get("progress")[-1].proto.text
    app.button(key="active/cancel").click().run()
    assert not app.exception and not app.error
    states = [job.state for job in finished(queue, keys)]
    assert set(states) <= {"cancelled", "done"}
    assert len(session.studies) == states.count("done")


@pytest.mark.long
def test_a_full_line_starts_what_it_can(queue: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queue, "_most_waiting", 2)
    session = OpenSession.from_data(features_of(name="full"))
    app = start(quick(open_page(PAGE, session), 5))
    assert "of 10 simulations were started" in said(app)
    assert 2 <= len(session.studies) < 10
    monkeypatch.undo()
    assert not finish(app).button(key="active/start").disabled


def test_simulations_that_fail_are_named_with_the_reason_and_can_be_tried_again(queue: Engine) -> None:
    data = features_of(name="failing")
    assert data.features is not None
    broken = data.features.copy()
    broken[0, 0] = np.nan
    session = OpenSession.from_data(replace(data, features=broken))
    app = finish(start(quick(open_page(PAGE, session))))
    assert not app.exception
    (warning,) = [warning.value for warning in app.warning]
    assert "Without calibration, shuffle" in warning and "Calibrated at set points, shuffle" in warning
    assert "contains NaN" in warning
    app.button(key="active/retry").click().run()
    finish(app)
    assert len(session.studies) == 4
    assert "contains NaN" in app.warning[0].value


def test_pictures_are_chosen(queue: Engine) -> None:
    app = finish(start(quick(open_page(PAGE, OpenSession.from_data(features_of(name="a run"))), 3)))
    group(app, "active/measures").set_value(["error", "over", "nll"]).run()
    assert len(charts(app)) == 3


def test_a_budget_of_zero_is_a_single_round(queue: Engine) -> None:
    app = quick(open_page(PAGE, OpenSession.from_data(features_of(name="zero"))))
    number(app, "budget").set_value(0).run()
    finish(start(app))
    assert not app.exception and not app.error
    assert "It ended after 10 labels (+0)" in said(app)
    assert len(charts(app)) == 2


@pytest.mark.parametrize("n_pool", [1, 2, 7, 60, 250, 773, 3000, 7000, 100_000])
@pytest.mark.parametrize("n_classes", [2, 10, 1000])
def test_sizes_fit_the_pool(n_pool: int, n_classes: int) -> None:
    pretraining, batch = fitting_sizes(n_pool, n_classes)
    assert 1 <= pretraining <= n_pool and 1 <= batch <= n_pool
    assert batch <= 250
    if n_pool > 4 * n_classes:
        assert 2 * n_classes <= pretraining <= max(500, 2 * n_classes)
    assert fitting_sizes(7000, 8) == (500, 250)


def test_round_numbers() -> None:
    given = (0.3, 1, 3.9, 9.9, 20, 24.9, 31, 99, 260)
    assert [round_down(value) for value in given] == [1, 1, 2, 5, 20, 20, 25, 50, 250]


def test_features_that_were_left_out_are_not_called_missing(queue: Engine) -> None:
    left_out = Finding(
        "warning", "features_not_finite", "1 row of 300 holds NaN.", "Leave it out.", left_out="features"
    )
    data = replace(features_of(), features=None, train_features=None, train_labels=None, findings=(left_out,))
    app = open_page(PAGE, OpenSession.from_data(data))
    assert "1 row of 300 holds NaN" in app.warning[0].value and "Leave it out." in app.warning[0].value
    assert "these data hold no features" not in said(app)


def test_the_table_to_take_counts_shuffles_as_the_page_does_and_names_the_settings(queue: Engine) -> None:
    app = quick(open_page(PAGE, OpenSession.from_data(features_of(name="taken"))))
    number(app, "budget").set_value(40).run()
    finish(start(app))
    table = pd.read_csv(StringIO(app.session_state[SESSION].built["active/csv"][1]))
    assert set(table["shuffle"]) == {1, 2}
    assert set(table["classifier"]) == {"naive_bayes"} and set(table["budget"]) == {40}
    calibrators = table.groupby("arm")["calibrator"].first()
    assert calibrators["set_points"] == "temperature" and pd.isna(calibrators["plain"])
    assert ",4," in app.session_state[SESSION].built["active/csv"][1]  # every fourth batch, not every 4.0th
