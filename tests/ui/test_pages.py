"""Every page in its states: nothing open, a sample open, calibrators fitted."""

from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest

from calib.registry import METHODS
from calib.ui.session import Session
from tests.ui.conftest import FITTED, ROOT, open_page

PAGES = ["app.py", *sorted(f"pages/{path.name}" for path in (ROOT / "pages").glob("*.py"))]
NEEDS_DATA = [path for path in PAGES if path != "app.py"]
DIAGNOSIS = ["pages/2_Reliability.py", "pages/3_Over_underconfidence.py", "pages/5_Compare.py"]


def clean(app: AppTest) -> bool:
    return not app.exception and not app.error


def text(app: AppTest) -> str:
    return " ".join(str(element.value) for element in (*app.markdown, *app.info, *app.caption, *app.warning))


def charts(app: AppTest) -> list[str]:
    return [element.proto.id for element in app.get("plotly_chart")]


@pytest.mark.parametrize("path", NEEDS_DATA)
def test_without_data_a_page_says_so_and_leads_to_it(path: str) -> None:
    app = open_page(path)
    assert clean(app)
    assert "No data are open yet" in text(app)


def test_data_page_offers_every_sample() -> None:
    from calib.data.samples import SAMPLES

    app = open_page("app.py")
    assert clean(app)
    assert {f"sample/{name}" for name in SAMPLES} <= {button.key for button in app.button}


@pytest.mark.parametrize("path", PAGES)
def test_with_a_sample_every_page_draws(path: str, with_sample: Session) -> None:
    app = open_page(path, with_sample)
    assert clean(app)
    assert len(app.title) == 1


@pytest.mark.parametrize("path", DIAGNOSIS)
def test_raw_predictions_alone_are_diagnosed(path: str, with_sample: Session) -> None:
    app = open_page(path, with_sample)
    assert charts(app)
    assert "Only the raw model is here" in text(app)


@pytest.mark.parametrize("path", PAGES)
def test_with_fits_every_page_draws(path: str, with_fits: Session) -> None:
    app = open_page(path, with_fits)
    assert clean(app)


def test_reliability_shows_the_raw_model_beside_each_fit(with_fits: Session) -> None:
    app = open_page("pages/2_Reliability.py", with_fits)
    assert len(charts(app)) == 1 + len(FITTED)
    assert "overconfident by" in text(app)
    headings = " ".join(element.proto.body for element in app.get("html"))
    for method in ("identity", *FITTED):
        assert METHODS[method].title in headings


def test_a_sample_opens_in_one_click() -> None:
    app = open_page("app.py")
    app.button(key="sample/simulated-binary").click().run()
    assert clean(app)
    assert "simulated" in text(app)
    assert {metric.label: metric.value for metric in app.metric}["Rows"] == "4,000"


def test_the_split_changes_the_rows(with_sample: Session) -> None:
    app = open_page("app.py", with_sample)
    app.slider[0].set_value(20).run()
    assert clean(app)
    n = len(with_sample.data)
    assert len(with_sample.calibration) == round(0.2 * n)
    assert len(with_sample.calibration) + len(with_sample.test) == n


def test_latent_page_without_gpcalib_says_what_is_missing(with_sample: Session) -> None:
    app = open_page("pages/4_Latent_GP.py", with_sample)
    assert "no GPcalib fit is finished yet" in text(app)


def test_latent_page_shows_what_happens_to_a_confidence(with_fits: Session) -> None:
    app = open_page("pages/4_Latent_GP.py", with_fits)
    assert charts(app)
    effects = [metric for metric in app.metric if "becomes" in metric.label]
    assert effects
    assert all("±" in metric.value for metric in effects)


def test_a_page_that_fails_says_a_sentence_and_keeps_the_data(
    with_sample: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("secret detail")

    monkeypatch.setattr("calib.ui.fits.shown", broken)
    app = open_page("pages/5_Compare.py", with_sample)
    assert not app.exception
    assert "could not be drawn (RuntimeError)" in app.error[0].value
    assert "secret" not in app.error[0].value
    assert with_sample.data is not None


def test_parameters_that_do_not_go_together_are_said_and_the_others_start(with_sample: Session) -> None:
    app = open_page("pages/1_Fit.py", with_sample)
    app.selectbox(key="param/gpcalib/covariance").select("full")
    app.selectbox(key="param/gpcalib/prediction").select("delta").run()
    app.button(key="fit/start").click().run()
    assert not app.exception
    assert app.error[0].value.startswith("GPcalib was not started: prediction=")
    methods = {spec.method for spec in with_sample.specs.values()}
    assert "temperature" in methods
    assert "gpcalib" not in methods
