"""The Decide page: what can be answered, with every shape of data."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from calib.data.samples import load_sample
from calib.decisions import Costs, Goal, event_decision
from calib.decisions.cuts import SEARCHED
from calib.decisions.prior_shift import cut_at_rate
from calib.diagnostics.risk_coverage import answerable, risk_coverage, usual_error
from calib.evaluation import evaluate
from calib.formatting import percent, round_percent
from calib.metrics.bootstrap import UNKNOWN, Interval
from calib.numerics import softmax
from calib.ui.decide import act
from calib.ui.session import OpenSession
from tests.conftest import simulate
from tests.ui.conftest import (
    charts,
    clean,
    facts,
    group,
    menu,
    open_page,
    said,
    table,
    twice,
    unfold,
)

PAGE = "pages/4_Decide.py"


def test_it_opens_with_what_can_be_answered(sample_to_read: OpenSession) -> None:
    app = open_page(PAGE, sample_to_read)
    assert clean(app)
    test = sample_to_read.test
    curve = risk_coverage(*evaluate(softmax(test.logits), test.labels).pair)
    error = usual_error(curve)
    found = answerable(curve, error)
    assert found.coverage.value >= 0.5
    assert f"**{percent(found.coverage.value)} of inputs**" in app.markdown[0].value
    assert f"at most the **{round_percent(error)} error**" in app.markdown[0].value
    assert len(charts(app)) == 1
    told = facts(app)
    right, confident = (
        test.logits.argmax(axis=1) == test.labels,
        softmax(test.logits).max(axis=1) >= found.threshold,
    )
    assert told["Predicted, of 1,000"] == f"{1000 * confident.mean():,.0f}"
    assert told["Error of predictions"] == percent((~right[confident]).mean())
    assert told["Error without abstaining"] == percent((~right).mean())
    app.number_input(key="risk/accepted").set_value(100.0).run()
    assert app.markdown[0].value.endswith(
        f"All together stay within the **{round_percent(1.0)} error** that you accept."
    )


def test_it_begins_with_the_method_that_export_offers_and_that_of_other_pages(
    fits_to_read: OpenSession,
) -> None:
    other = "pages/6_Over_underconfidence.py"
    offered = open_page("pages/5_Export.py", fits_to_read).selectbox[0]
    app = open_page(PAGE, fits_to_read)
    assert f"confidence of {fits_to_read.specs[offered.value].title}" in app.markdown[0].value
    assert group(app.switch_page(other).run(), "confidence/closer").value == offered.value
    group(app, "confidence/closer").set_value("raw").run()
    app.switch_page(PAGE).run()
    assert clean(app)
    assert "of Uncalibrated" in app.markdown[0].value
    gpcalib = next(key for key, spec in fits_to_read.specs.items() if spec.method == "gpcalib")
    menu(app, "decide/closer").set_value(gpcalib).run()
    assert group(app.switch_page(other).run(), "confidence/closer").value == gpcalib


@pytest.fixture(scope="module")
def loans() -> OpenSession:
    return OpenSession.from_data(load_sample("simulated-loans"))


def test_an_interval_that_is_rounded_to_one_number_is_not_written() -> None:
    assert act._counts(Interval(0.0, 0.0, 0.37)) == "0"
    assert act._counts(Interval(0.0, 0.0, 1.2)) == "0 [0, 1]"
    assert act._share(UNKNOWN) == "–", "of no rows acted on there is no precision"


def test_a_threshold_that_changes_no_decision_has_no_interval_of_what_it_saves(
    loans: OpenSession,
) -> None:
    risk, event = softmax(loans.test.logits)[:, 1], loans.test.labels == 1
    goal = Goal("threshold", 0.2, Costs(1.0, 6.0), today=0.2)
    found = event_decision(risk, risk, event, goal, clusters=np.arange(len(risk)) // 200)
    assert (
        act._saving(found)
        == f"Today's threshold of {percent(0.2)} on the uncalibrated probability acts on the same cases."
    )
    assert act.facts(found, True)[-1] == (
        "Saved against today's threshold",
        "0",
        "as no decision changes",
    )
    raw = act.facts(replace(found, from_today=None), True)[-1]
    assert raw == ("Saved against the raw model", "0", "as no decision changes")


def test_an_event_opens_with_its_figure_and_four_numbers_by_hand(loans: OpenSession) -> None:
    app = open_page(PAGE, loans)
    event = loans.test.labels == 1
    miss = app.number_input(key="decide/miss")
    assert miss.value == pytest.approx((~event).sum() / event.sum(), rel=0.05)
    assert miss.label.endswith("(assumed)") and "Assumed until you set it" in said(app)
    miss.set_value(6.0).run()
    assert clean(app)
    assert not app.number_input(key="decide/miss").label.endswith("(assumed)")
    assert "Assumed until you set it" not in said(app)
    assert len(charts(app)) == 1
    lead = f"**Act at or above a probability of default of {percent(1 / 7)}**"
    assert lead in app.markdown[0].value
    assert app.number_input(key="decide/typed").value == pytest.approx(14.29)
    risk, event = softmax(loans.test.logits)[:, 1], loans.test.labels == 1
    acts, told = risk >= 1 / 7, facts(app)
    assert told["Acted on, of 1,000"] == f"{1000 * acts.mean():,.0f}"
    assert told["Events found"] == percent(acts[event].mean(), 0)
    saved = 1000 * (6 * (acts & event).mean() - (acts & ~event).mean())  # against acting on no case
    assert told["Saved against acting on none"].replace("−", "-") == f"{saved:,.0f}"
    assert len(told) == 3, "the raw model saves nothing against itself"
    app.number_input(key="decide/today").set_value(40.0).run()
    assert clean(app)
    assert f"Against today's threshold of {percent(0.4)}" in app.markdown[0].value
    assert "**saves " in app.markdown[0].value and "a miss counted as 6." in app.markdown[0].value
    assert "Saved against today's threshold" in facts(app)
    unfold(app, "decide/beside", "decide/benefit")
    assert clean(app)
    assert list(table(app, "of 1,000 cases").columns[1:]) == [
        f"uncalibrated, {percent(1 / 7)}",
        "today: uncalibrated, 40.0\u00a0%",
    ]
    assert len(charts(app)) == 2


@pytest.mark.parametrize("basis", ["capacity", "recall", "precision"])
def test_every_way_to_a_cut_is_judged(loans: OpenSession, basis: str) -> None:
    app = open_page(PAGE, loans)
    app.segmented_control(key="decide/basis").set_value(basis).run()
    app.number_input(key=f"decide/{basis}").set_value(20.0).run()
    unfold(app, "decide/beside")
    assert clean(app)
    assert ("was chosen on" if basis in SEARCHED else f"Judged on {len(loans.test):,}") in said(app)
    if basis == "capacity":
        assert facts(app)["Acted on, of 1,000"] == "200"


def test_sets_hold_what_was_asked_for_and_say_so(fits_to_read: OpenSession) -> None:
    app = open_page(PAGE, fits_to_read)
    app.segmented_control(key="decide/question").set_value("Prediction sets").run()
    assert clean(app)
    assert "was requested" in app.markdown[0].value
    accuracy = (fits_to_read.test.logits.argmax(axis=1) == fits_to_read.test.labels).mean()
    assert accuracy < app.number_input(key="sets/coverage").value / 100
    assert "Calibration makes" in said(app) or "no significant difference" in said(app)
    app.number_input(key="sets/coverage").set_value(80.0).run()
    assert "the most probable class alone does that" in app.markdown[0].value
    unfold(app, "sets/by class")
    assert clean(app)
    assert len(table(app, "class")) == fits_to_read.data.n_classes
    app.toggle(key="sets/per class").set_value(True).run()
    assert clean(app)


def test_an_answer_has_a_guarantee_and_a_price(fits_to_read: OpenSession) -> None:
    app = open_page(PAGE, fits_to_read)
    app.number_input(key="risk/accepted").set_value(20.0).run()
    unfold(app, "decide/guarantee")
    assert clean(app)
    assert "Answers at a confidence of" in said(app)
    app.segmented_control(key="answers/basis").set_value("costs").run()
    assert clean(app)
    assert "Abstaining **saves" in app.markdown[0].value
    app.number_input(key="answers/abstain").set_value(0.01).run()
    assert clean(app)


@pytest.fixture
def session(with_fits: OpenSession) -> OpenSession:
    """A visitor's own session with fits, of which no file is packed yet."""
    return replace(with_fits, cached={})


def test_a_decision_goes_into_the_files(session: OpenSession) -> None:
    app = open_page(PAGE, session)
    app.segmented_control(key="answers/basis").set_value("costs").run()
    app.button(key="decide/carry/answers").click().run()
    assert clean(app)
    assert "These files also decide:" in said(app)
    (packed,) = [value for key, (value, _) in session.cached.items() if "packed" in str(key)]
    assert packed.exported.decision.threshold == pytest.approx(0.95)
    assert packed.exported.decision == session.carried[next(iter(session.carried))].decision
    app.switch_page("pages/5_Export.py").run()
    app.button(key="export/leave out").click().run()
    assert clean(app)
    assert "These files also decide:" not in said(app)
    assert not session.carried


def test_a_new_rate_moves_the_cut(
    loans: OpenSession,
) -> None:
    app = open_page(PAGE, loans)
    app.number_input(key="decide/miss").set_value(5.0).run()
    unfold(app, "decide/another rate")
    app.number_input(key="rate/event").set_value(2.0).run()
    assert clean(app)
    cut = cut_at_rate(1 / 6, float(loans.calibration.labels.mean()), 0.02)
    assert f"gives at least **{percent(cut)}**" in said(app)


def test_answers_and_sets_count_rows_by_their_weights() -> None:
    logits, labels = simulate(n=400)
    weights = np.random.default_rng(0).exponential(size=400)
    session = twice(logits, labels, weights=np.tile(weights, 2), weight_kind="sampling")
    app = open_page("pages/4_Decide.py", session)
    group(app, "decide/question").set_value("Predict or abstain").run()
    wrong = percent(float(np.average(logits.argmax(axis=1) != labels, weights=weights)))
    assert clean(app) and facts(app)["Error without abstaining"] == wrong
    assert "Each row counts once here" not in said(app)
    app = unfold(app, "decide/guarantee")
    assert "Each row counts once here" in said(app)
    group(app, "decide/question").set_value("Prediction sets").run()
    assert clean(app) and "Each row counts once here" not in said(app)
