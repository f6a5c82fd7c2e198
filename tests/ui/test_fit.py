"""What a visitor chose to see stays while fits come and go; where fits run is chosen once for all of them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from scipy.special import expit

import calib
from calib.calibrators.by_group import PROTECTED
from calib.data.samples import load_sample
from calib.engine import Engine
from calib.formatting import signed
from calib.numerics import softmax
from calib.registry import calibrator
from calib.ui import fit as parameters
from calib.ui import fits
from calib.ui.progress import offered_presets
from calib.ui.session import OpenSession
from tests.ui.conftest import clean, fit, group, open_page, opened, said, unfold


def add(session: OpenSession, queue: Engine, n_bins: int) -> str:
    return list(fit(queue, session, ("imax", {"n_bins": n_bins})).specs)[-1]


def test_fits_of_one_method_look_different_also_when_one_is_removed(
    with_sample: OpenSession, queue: Engine, three: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    opened(monkeypatch, with_sample)
    with_sample.cached["figure"] = "drawn in the old style", 0
    fits.remove(three[0])
    assert not with_sample.cached
    add(with_sample, queue, 40)
    styles = [one.style for one in fits.judged_fits(with_sample)]
    assert len(set(styles)) == len(styles) == 4


@pytest.fixture
def three(with_sample: OpenSession, queue: Engine) -> list[str]:
    """Keys of three finished fits."""
    return [add(with_sample, queue, n_bins) for n_bins in (10, 20, 30)]


def test_what_was_left_out_stays_out_when_a_fit_finishes(
    with_sample: OpenSession, queue: Engine, three: list[str]
) -> None:
    path, question, key = "pages/6_Over_underconfidence.py", "confidence", "confidence/methods"
    app = unfold(open_page(path, with_sample), question)
    kept = [fit for fit in group(app, key).value if fit != three[1]]
    group(app, key).set_value(kept).run()
    new = add(with_sample, queue, 40)
    app.run()
    assert not app.exception
    assert set(group(app, key).value) == {*kept, new}
    app.switch_page("pages/5_Export.py").run()
    app.switch_page(path).run()
    assert set(group(unfold(app, question), key).value) == {*kept, new}


FIT = "pages/1_Fit.py"


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> dict[str, dict[str, object]]:
    """What the page asks to be fitted; nothing is."""
    params: dict[str, dict[str, object]] = {}
    monkeypatch.setattr(fits, "submit", params.__setitem__)
    return params


def test_one_choice_of_a_device_reaches_the_methods_that_use_it(
    with_sample: OpenSession, asked: dict[str, dict[str, object]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        parameters, "gpu_present", lambda: True
    )  # the page sees one, wherever the fits run
    app = open_page(FIT, with_sample)
    app.session_state["fit/methods"] = ["temperature", "isotonic", "vector", "gpcalib"]
    app.run()
    assert group(app, "fit/device").value == "auto"
    group(app, "fit/device").set_value("gpu").run()
    assert (
        "Temperature, Vector and GPcalib can use the GPU; the others are fitted on the CPU."
        in said(app)
    )
    app.button(key="fit/start").click().run()
    assert {name: params.get("device") for name, params in asked.items()} == {
        "temperature": "gpu", "isotonic": None, "vector": "gpu", "gpcalib": "gpu",
    }  # fmt: skip


def test_without_gpflow_its_engine_and_kernels_are_not_offered(
    with_sample: OpenSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parameters, "gpu_present", lambda: False)
    app = open_page(FIT, with_sample)
    offered = {"param/gpcalib/engine", "param/gpcalib/kernel"}
    keys = {element.key for element in (*app.selectbox, *app.get("button_group"))}
    assert offered <= keys and "No GPU was found here" in said(app)
    monkeypatch.setattr(parameters, "find_spec", lambda name: None)
    app = open_page(FIT, with_sample)
    keys = {element.key for element in (*app.selectbox, *app.get("button_group"))}
    assert not offered & keys and 'pip install "calib-studio[gp]"' in said(app)


def test_another_split_has_the_same_fits_and_going_back_finds_the_first(
    queue: Engine, with_sample: OpenSession, three: list[str]
) -> None:
    before = [(spec.method, spec.params) for spec in with_sample.specs.values()]
    app = open_page("app.py", with_sample)
    for share, keys in ((30, set()), (50, set(three))):
        app.slider[0].set_value(share)
        app.button(key="split/again").click().run()
        assert clean(app)
        assert [(spec.method, spec.params) for spec in with_sample.specs.values()] == before
        assert set(with_sample.specs) & set(three) == keys


def test_what_is_recommended_is_fitted_and_compared_in_one_click(
    with_sample: OpenSession, asked: dict[str, dict[str, object]]
) -> None:
    app = open_page("app.py", with_sample)
    app.button(key="data/fit").click().run()
    assert not app.exception
    assert [title.value for title in app.title] == ["Compare"]
    remedy = calib.audit(with_sample.data).methods
    assert asked == {name: {} for name in offered_presets(with_sample, remedy)["Recommended"]}


def test_the_map_that_the_audit_names_is_among_the_first_fits(
    asked: dict[str, dict[str, object]],
) -> None:
    rng = np.random.default_rng(2)
    true = expit(rng.normal(-2, 1, 4000))
    event = (rng.random(4000) < true).astype(int)
    extreme = calib.from_outputs(expit(3 * (np.log(true / (1 - true)) + 1.2)), event)
    session = OpenSession.from_data(extreme)
    app = open_page("app.py", session)
    assert "such as Platt scaling" in app.header[0].value
    app.button(key="data/fit").click().run()
    assert {"platt", *offered_presets(session)["Recommended"]} == set(asked)
    app = open_page(FIT, session)
    assert clean(app) and "such as Platt scaling" in said(app)
    assert app.checkbox(key="fit/use/platt").value


def test_nothing_is_recommended_where_no_calibrator_helps() -> None:
    rng = np.random.default_rng(0)
    useless = calib.from_outputs(rng.beta(2, 2, 4000), (rng.random(4000) < 0.54).astype(int))
    session = OpenSession.from_data(useless)
    app = open_page("app.py", session)
    assert app.header[0].value.startswith("Do not use")
    assert app.button(key="data/fit").label.endswith("all the same")
    assert "Not recommended: " in said(app)
    app = open_page(FIT, session)
    assert "Do not use" in said(app) and app.button(key="fit/start").proto.type == "secondary"
    fits_of_all = fit(fits.queue(), session, "temperature", "platt")
    export = open_page("pages/5_Export.py", fits_of_all)
    assert clean(export) and "Do not use" in said(export)
    bundle = [each for each in export.get("download_button") if "Bundle" in each.proto.label]
    decide = open_page("pages/4_Decide.py", fits_of_all)
    carry = [each for each in decide.button if (each.key or "").startswith("decide/carry")]
    assert clean(decide)
    assert [each.proto.type for each in (*bundle, *carry)] == ["secondary"] * 2


def test_the_table_of_methods_says_time_and_change_of_the_nll_and_takes_a_choice(
    with_sample: OpenSession, queue: Engine, asked: dict[str, dict[str, object]]
) -> None:
    key = next(iter(fit(queue, with_sample, ("temperature", {})).specs))
    app = open_page(FIT, with_sample)
    assert clean(app)
    calibration, test = with_sample.calibration, with_sample.test
    fitted = calibrator("temperature").fit(calibration.logits, calibration.labels)
    rows = np.arange(len(test.labels))
    raw, after = (
        -np.log(probs[rows, test.labels]).mean()
        for probs in (softmax(test.logits), fitted.predict_proba(test.logits))
    )
    change = signed(after - raw, 2).replace("-", "−")
    assert f"NLL {change}" in said(app) and key in with_sample.specs
    app.button(key="fit/preset/None").click().run()
    assert app.button(key="fit/start").disabled
    app.checkbox(key="fit/use/platt").check().run()
    app.checkbox(key="fit/use/beta").check().run()
    app.checkbox(key="fit/use/platt").uncheck().run()
    app.button(key="fit/start").click().run()
    assert list(asked) == ["beta"]
    assert "fitted in" in said(app)
    app.button(key=f"Remove/{key}").click().run()
    assert clean(app) and "fitted in" not in said(app)


def test_more_methods_are_open_where_one_of_them_is_chosen(with_sample: OpenSession) -> None:
    app = open_page(FIT, with_sample)

    def is_open() -> bool:
        return next(box for box in app.expander if box.label.startswith("More")).proto.expanded

    assert not is_open()
    app.session_state["fit/methods"] = ["temperature", "platt"]
    app.run()
    assert is_open()
    app.checkbox(key="fit/use/platt").uncheck().run()
    assert is_open(), "it does not close under the hand"


@pytest.fixture
def two_may_wait(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """An engine in which two fits of a visitor may wait, and do for ever; what pages draw is computed."""
    made = Engine(most_waiting=2)
    follow = made._follow
    monkeypatch.setattr(made, "_follow", lambda task: follow(task) if task.job is None else None)
    monkeypatch.setattr(fits, "queue", lambda: made)
    yield
    made.shutdown()


@pytest.mark.usefixtures("two_may_wait")
def test_what_waits_says_so_and_what_there_is_no_room_for_is_named_in_one_sentence(
    with_sample: OpenSession,
) -> None:
    app = open_page(FIT, with_sample)
    app.session_state["fit/methods"] = ["platt", "beta", "isotonic", "temperature"]
    app.run()
    app.button("fit/start").click().run()
    assert not app.exception
    assert len(with_sample.specs) == 2
    *each, all_fits = [element.proto.text for element in app.get("progress")]
    for text, spec in zip(each, with_sample.specs.values(), strict=True):
        assert spec.title.split(" (")[0] in text and text.endswith(" · Waiting for a free worker.")
    assert all_fits == "2 waiting · 0%"
    (error,) = app.error
    assert error.value == (
        "Isotonic and Temperature were not started: 2 fits and studies of yours are waiting, and a visitor may have 2. "
        "Cancel some, or start the rest when these are done."
    )


def test_a_map_by_group_is_fitted_with_the_column_that_is_chosen_beside_it(
    queue: Engine, asked: dict[str, dict[str, object]], monkeypatch: pytest.MonkeyPatch
) -> None:
    session = OpenSession.from_data(load_sample("simulated-loans"))
    app = opened(monkeypatch, session) or open_page(FIT, session)
    app.session_state["fit/methods"] = ["by_group", "platt"]
    app = app.run()
    assert clean(app)
    columns = list(session.data.group_columns())
    assert PROTECTED in said(app)
    assert app.selectbox(key="param/by_group/column").options == columns
    app.button(key="fit/start").click().run()
    assert asked["by_group"]["column"] == columns[0] and asked["by_group"]["method"] == "platt"


def test_pages_show_a_map_by_group_as_any_other_fit(queue: Engine) -> None:
    session = OpenSession.from_data(load_sample("simulated-loans"))
    column = next(iter(session.data.group_columns()))
    fit(queue, session, ("by_group", {"column": column}))
    for path in ("2_Compare", "4_Decide", "5_Export", "7_Calibration_maps"):
        app = open_page(f"pages/{path}.py", session)
        assert clean(app), path
