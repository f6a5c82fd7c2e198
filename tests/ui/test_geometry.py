"""The Geometry page in its states: nothing, no features, images, numbers, two classes, and with a fit.

The Geometry page's sentences claim no more than the numbers allow.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from calib import geometry
from calib.data import Predictions
from calib.data.samples import load_sample
from calib.diagnostics.separation import Explanation, PrincipalPlane, Sides, Timed, explain
from calib.diagnostics.separation_study import WAYS, ExplainedInput, SeparationCosts, Tradeoff, listed
from calib.engine import Engine
from calib.formatting import percent
from calib.metrics.bootstrap import Interval
from calib.ui.geometry import state as geometry_study
from calib.ui.geometry import text as geometry_words
from calib.ui.geometry.view import BY_NUMBER, KINDS, axis_title, deciding_rows, tiles
from calib.ui.session import SESSION, OpenSession
from tests.conftest import simulate, wait_until
from tests.ui.conftest import charts, fit, group, open_page, unfold
from tests.ui.test_latent import alternatives, said

PAGE = "pages/10_Geometry.py"
FOLDED = ("geometry/input", "geometry/spread", "geometry/cost", "geometry/less")


def opened(session: OpenSession) -> AppTest:
    """The page with all its further questions opened."""
    return unfold(open_page(PAGE, session), *FOLDED)


def with_numbers(n: int = 200, n_classes: int = 3, d: int = 4, dtype: type = np.float32) -> Predictions:
    """Rows of numbers around a centre for each class; the logits are right for most of them."""
    logits, labels = simulate(n, n_classes)
    generator = np.random.default_rng(1)
    centres = 2 * generator.normal(size=(n_classes, d))
    train_labels = np.arange(60) % n_classes
    return Predictions(
        logits, labels, tuple(f"class {k}" for k in range(n_classes)), sha256=f"numbers {n} {n_classes} {d} {dtype}",
        features=(centres[labels] + generator.normal(size=(n, d))).astype(dtype),
        train_features=(centres[train_labels] + generator.normal(size=(60, d))).astype(dtype),
        train_labels=train_labels,
    )  # fmt: skip


def test_without_features_one_line_says_so_and_the_sample_is_one_click_away(queue: Engine) -> None:
    app = open_page(PAGE, OpenSession.from_data(load_sample("breast-cancer-bayes"), sample="breast-cancer-bayes"))
    assert "these data hold no features, train_features and train_labels" in said(app)
    assert not charts(app)
    app.button(key="geometry/sample").click().run()
    assert app.session_state[SESSION].sample == "digits-cnn"
    assert app.markdown[0].value.startswith("**Inputs that lie well inside their predicted class are right")
    assert len(charts(app)) == 1


def test_the_finding_is_what_the_library_computes(sample_to_read: OpenSession) -> None:
    app = open_page(PAGE, sample_to_read)
    assert len(charts(app)) == 1
    test = sample_to_read.test
    predicted = test.logits.argmax(axis=1)
    separation = geometry.fast_separation(test.train_features, test.train_labels, test.features, predicted)
    right, dangerous = predicted == test.labels, separation <= 0
    inside = separation >= np.sort(separation)[len(separation) // 2]
    words = app.markdown[0].value
    assert f"{dangerous.sum()} of {len(test)} are **dangerous**" in words
    assert f"{percent(right[dangerous].mean())} of these are right" in words
    assert f"are right in {percent(right[inside].mean())} of cases" in words
    assert "random draw" not in said(app)
    assert "Geometric turns this into a calibrator" in said(app)


@pytest.mark.parametrize(("kind", "way"), list(zip(KINDS, (*WAYS, BY_NUMBER), strict=True)))
def test_every_separation_and_every_way_to_choose(sample_to_read: OpenSession, kind: str, way: str) -> None:
    app = opened(sample_to_read)
    group(app, "geometry/kind").set_value(kind)
    group(app, "geometry/way").set_value(way).run()
    words = said(app)
    assert "Test row" in words
    assert f"At a {axis_title(kind)} of" in words
    assert len(charts(app)) == 4
    assert len(app.get("image")) >= 3


def test_the_chosen_input_is_explained_in_two_pictures(sample_to_read: OpenSession) -> None:
    app = opened(sample_to_read)
    group(app, "geometry/way").set_value("By number").run()
    app.number_input[0].set_value(5).run()
    test = sample_to_read.test
    why = explain(test.train_features, test.train_labels, test.features[5], int(test.logits[5].argmax()))
    words = said(app)
    assert "**Test row 5**" in words
    assert f"is **{'safe' if why.safe else 'dangerous'}**" in words
    assert f"The input between training rows {why.deciding_same_row}" in alternatives(app)
    group(app, "geometry/picture").set_value("Principal components").run()
    assert "A projection shrinks distances" in said(app)
    assert "250 training inputs on two principal components" in alternatives(app)


def test_a_fit_says_its_confidence_and_is_not_offered_again(queue: Engine, with_sample: OpenSession) -> None:
    app = opened(fit(queue, with_sample, "geometric"))
    assert "Confidence of the fitted calibrators in this prediction: Geometric" in said(app)
    assert "turns this into a calibrator" not in said(app)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_rows_of_numbers_are_shown_as_numbers(queue: Engine, dtype: type, n_classes: int) -> None:
    app = opened(OpenSession.from_data(with_numbers(n_classes=n_classes, dtype=dtype)))
    assert len(charts(app)) == 4
    assert not app.get("image")
    assert any(frame.value.columns[1].startswith("number ") for frame in app.dataframe)
    offered = group(app, "geometry/reductions").options
    assert "PCA" in {option.content if hasattr(option, "content") else str(option) for option in offered}


def test_two_classes_with_images(queue: Engine) -> None:
    app = opened(OpenSession.from_data(load_sample("odd-digits-adaboost"), sample="odd-digits-adaboost"))
    assert "well inside their predicted class" in said(app)
    assert len(charts(app)) == 4


def test_a_predicted_class_absent_from_training_has_no_finite_separation(queue: Engine) -> None:
    data = with_numbers()
    assert data.train_labels is not None
    lacking = replace(data, train_labels=np.where(data.train_labels == 2, 1, data.train_labels), sha256="lacking")
    app = opened(OpenSession.from_data(lacking))
    assert "no finite separation" in said(app)
    assert "No training input has this class, so its separation is −∞" in said(app)
    assert len(charts(app)) == 3
    only = replace(data, train_labels=np.zeros(60, dtype=int), sha256="one class")
    assert "separation is −∞" in said(opened(OpenSession.from_data(only)))


def test_the_tradeoff_is_measured_on_request_and_can_be_stopped(queue: Engine) -> None:
    session = OpenSession.from_data(with_numbers())
    app = opened(session)
    names = group(app, "geometry/reductions")
    names.set_value(["pca", "random_set"]).run()
    app.button(key="geometry/measure").click().run()
    assert app.button(key="geometry/stop")
    measuring = session.kept[("geometry", "tradeoff")]
    wait_until(lambda: not measuring.waiting)
    app.run()
    assert "Without reduction: ECE" in said(app)
    assert len(charts(app)) == 6
    assert len(measuring.results) == 7
    group(app, "geometry/reductions").set_value(["pca", "random_set", "kmeans"]).run()
    app.button(key="geometry/measure").click().run()
    app.button(key="geometry/stop").click().run()
    assert not measuring.waiting
    assert app.button(key="geometry/measure")


def test_what_takes_too_long_is_left_out_and_said(queue: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(geometry_study, "SECONDS", 0.0)
    app = opened(OpenSession.from_data(with_numbers(n=400)))
    assert "this is a random draw of 64 of 200 test rows and 64 of 200 calibration rows" in said(app)
    assert "did not reach all 200 rows" in said(app)


def test_rows_are_listed_in_the_order_asked_for() -> None:
    rows, right = np.arange(10, 15), np.array([False, True, False, True, False])
    given = rows, np.array([0.1, -0.2, 0.3, np.inf, -0.5]), right, np.array([0.6, 0.9, 0.8, 1.0, 0.7])
    assert listed("Lowest separation", *given)[0].tolist() == [14, 11, 10, 12, 13]
    assert listed("Wrong and most confident", *given)[0].tolist() == [12, 14, 10]
    assert listed("Wrong though safe", *given)[0].tolist() == [12, 10]


def test_a_row_that_is_nearest_and_decides_is_named_once() -> None:
    why = Explanation(1.0, 2.0, 3, 8, 0.5, 0.6, 3, 9)
    row = geometry_study.Row(0, 1, 1, 0.9, ExplainedInput(why, 0.5, {}, None))
    assert deciding_rows(row) == {
        3: "nearest of the predicted class, decides", 8: "nearest of another class", 9: "decides, another class",
    }  # fmt: skip


def test_tiles_share_one_scale_of_brightness() -> None:
    first, second = tiles(np.stack([np.zeros((8, 8)), np.full((8, 8), 2.0)]))
    assert first.shape == second.shape == (128, 128, 4)
    assert first[..., :3].max() == 0
    assert second[..., :3].min() == 255


def sides(separation: list[float], right: list[bool]) -> Sides:
    return Sides.from_separations(np.array(separation), np.array(right))


def timed(n: int, rows: int, infinite: int = 0) -> Timed:
    separation = np.r_[np.linspace(-1, 1, rows - infinite), np.full(infinite, -np.inf)]
    return Timed(np.arange(rows), separation, separation / 2, n, 2.0)


def setting(name: str, factor: int, ece: float, draw: float, per_second: float) -> Tradeoff:
    draws = np.full(100, draw) + np.linspace(-0.001, 0.001, 100)
    return Tradeoff(name, factor, 10, 5, Interval(ece, ece - 0.001, ece + 0.001), draws, per_second)


def test_few_rows_are_not_said_to_tell_right_from_wrong() -> None:
    few = geometry_words.finding(sides([1.0, 0.5, -0.1, -0.2], [True, True, False, False]))
    assert "intervals overlap" in few
    many = geometry_words.finding(sides([1.0] * 100 + [-1.0] * 100, [True] * 100 + [False] * 100))
    assert "intervals overlap" not in many
    other_way = geometry_words.finding(sides([1.0] * 100 + [-1.0] * 60, [False] * 100 + [True] * 60))
    assert "intervals overlap" not in other_way
    assert "100 of 200 are **dangerous**" in many
    assert "0.0\u00a0% of these are right" in many


def test_one_dangerous_row_and_none() -> None:
    assert "1 of 3 is **dangerous**, nearer to another class, and it is wrong" in geometry_words.finding(
        sides([1.0, 2.0, -1.0], [True, True, False])
    )
    assert "None of them is dangerous" in geometry_words.finding(sides([1.0, 2.0], [True, False]))


@pytest.mark.parametrize("n_safe", [20, 0])
def test_where_most_rows_are_dangerous_the_finding_compares_them_with_the_safe_ones(n_safe: int) -> None:
    separation = np.concatenate([np.linspace(1, 2, n_safe), np.linspace(-2, -1, 80)])
    right = np.arange(len(separation)) % 4 == 0
    words = geometry_words.finding(Sides.from_separations(separation, right))
    assert f"80 of {80 + n_safe} test rows are dangerous" in words
    assert "well inside" not in words and words.count("25.0") == 1 + bool(n_safe)
    assert ("intervals overlap" in words) == ("safe ones" in words) == bool(n_safe)


def test_what_was_left_out_and_what_is_infinite_is_said() -> None:
    whole = geometry_words.whose(timed(100, 100), timed(50, 50), 1234)
    assert whole.startswith("Judged on 100 test rows against 1,234 training rows")
    assert "random draw" not in whole
    assert "finite" not in whole
    part = geometry_words.whose(timed(5000, 300, infinite=1), timed(50, 50), 10)
    assert "a random draw of 300 of 5,000 test rows." in part
    assert "1 test row has no finite separation" in part


def costs(fast: Timed, exact: Timed) -> str:
    return geometry_words.costs(SeparationCosts.from_timed(fast, exact, np.ones(len(exact.rows), dtype=bool)))


def test_costs_say_the_size_of_fast_beside_exact_and_the_rates() -> None:
    said = costs(timed(100, 100), timed(100, 50, infinite=2))
    assert "a correlation of 1.000 (n = 48)" in said
    assert "measured on 100 and 50 rows" in said
    assert "fast has 50\u00a0% of the size of exact" in said
    assert "**50 fast** and **25 exact**" in said
    assert "did not reach all 100 rows" in said
    assert "too few rows" in costs(timed(100, 100), timed(100, 29))
    assert "(n = 30)" in costs(timed(100, 100), timed(100, 30))


def test_the_fastest_reduction_is_named_among_those_that_are_no_worse() -> None:
    none = setting("none", 1, 0.02, 0.02, 1000)
    worse, fine = setting("pca", 4, 0.08, 0.08, 9000), setting("pca", 2, 0.02, 0.02, 3000)
    said = geometry_words.tradeoff_sentence([none, worse, fine])
    assert "In 1 of 2 settings the ECE is significantly higher" in said
    assert "**PCA at t = 2**: 3 times as fast" in said
    assert "In none of 1 settings" in geometry_words.tradeoff_sentence([none, fine])
    assert "20\u00a0% faster" in geometry_words.tradeoff_sentence([none, setting("pca", 2, 0.02, 0.02, 1100)])
    assert "**" not in geometry_words.tradeoff_sentence([none, worse])
    assert geometry_words.tradeoff_sentence([fine]) == ""


def test_a_projection_is_not_said_to_keep_distances() -> None:
    plane = PrincipalPlane(np.arange(5), np.zeros((5, 2)), np.zeros(3), np.zeros((2, 3)), 0.4)
    said = geometry_words.components_sentence(plane, 5, 0)
    assert "all 5 training inputs keep 40\u00a0% of their variance" in said
    assert "shrinks distances" in said
    assert "outside in truth" not in said
    assert "1 training input drawn within it is outside" in geometry_words.components_sentence(plane, 9, 1)
