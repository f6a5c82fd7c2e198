"""Where fits run is chosen once for all of them, and stands on each result."""

from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest

from calib import hardware
from calib.jobs import FitQueue
from calib.registry import METHODS
from calib.ui import fits
from calib.ui.fit import parameters
from calib.ui.session import Session
from tests.ui.conftest import open_page

FIT = "pages/1_Fit.py"
CPU = hardware.cpu_description()


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """The page sees a GPU; where the fits run is another matter."""
    monkeypatch.setattr(parameters, "gpu_present", lambda: True)


@pytest.fixture
def no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parameters, "gpu_present", lambda: False)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> dict[str, dict[str, object]]:
    """What the page asks to be fitted; nothing is."""
    params: dict[str, dict[str, object]] = {}
    monkeypatch.setattr(fits, "submit", params.__setitem__)
    return params


def captions(app: AppTest) -> str:
    return " ".join(str(caption.value) for caption in app.caption)


def choose(app: AppTest, *methods: str) -> AppTest:
    (pills,) = [group for group in app.button_group if group.key == "fit/methods"]
    return pills.set_value(list(methods)).run()


def device(app: AppTest):
    (control,) = [group for group in app.button_group if group.key == "fit/device"]
    return control


def test_without_a_gpu_it_says_so_and_asks_nothing(no_gpu: None, with_sample: Session) -> None:
    app = choose(open_page(FIT, with_sample), "temperature", "gpcalib", "isotonic")
    assert device(app).proto.disabled
    assert f"No NVIDIA GPU on this machine: everything is fitted on the {CPU}." in captions(app)
    assert "Temperature and GPcalib could use one." in captions(app)


@pytest.mark.parametrize("value", ["auto", "cpu", "gpu"])
def test_one_choice_reaches_the_methods_that_use_it(
    value: str, gpu: None, with_sample: Session, asked: dict[str, dict[str, object]]
) -> None:
    app = choose(open_page(FIT, with_sample), "temperature", "isotonic", "vector", "gpcalib")
    assert device(app).value == "auto"
    app = device(app).set_value(value).run()
    assert "Temperature, Vector and GPcalib can use the GPU; the others are fitted on the CPU." in captions(app)
    app.button(key="fit/start").click().run()
    assert {name: params.get("device") for name, params in asked.items()} == {
        "temperature": value, "isotonic": None, "vector": value, "gpcalib": value,
    }  # fmt: skip


def test_methods_that_never_use_it_are_not_asked_about(gpu: None, with_sample: Session) -> None:
    app = choose(open_page(FIT, with_sample), "isotonic")
    assert device(app).proto.disabled
    assert "None of the chosen methods uses a GPU." in captions(app)


def test_the_choice_outlasts_another_page(gpu: None, with_sample: Session) -> None:
    app = device(open_page(FIT, with_sample)).set_value("cpu").run()
    app.switch_page("pages/2_Reliability.py").run()
    assert device(app.switch_page(FIT).run()).value == "cpu"


def test_no_method_has_a_device_widget_of_its_own(gpu: None, with_sample: Session) -> None:
    app = choose(open_page(FIT, with_sample), *[name for name in METHODS if METHODS[name].uses_device])
    assert not [box.key for box in app.selectbox if box.key and box.key.endswith("/device")]


def test_what_was_used_is_on_each_result(with_fits: Session) -> None:
    assert captions(open_page(FIT, with_fits)).count(f" s on {CPU} · ") == len(with_fits.specs)
    assert f"on {CPU}" in captions(open_page("pages/4_Latent_GP.py", with_fits))
    app = open_page("pages/5_Compare.py", with_fits)
    (costs,) = [table.value for table in app.dataframe if "fitted on" in table.value]
    assert list(costs["fitted on"]) == ["–", *[CPU] * len(with_fits.specs)]


def test_the_same_fit_elsewhere_takes_the_place_of_the_first(
    queue: FitQueue, with_sample: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fits, "session", lambda: with_sample)
    for chosen in ({}, {"device": "cpu"}, {"device": "cpu", "max_log_temperature": 2.0}):
        fits.submit("temperature", chosen)
    titles = [spec.title for spec in with_sample.specs.values()]
    assert titles == ["Temperature", "Temperature (max_log_temperature=2.0)"]
    assert [spec.params["device"] for spec in with_sample.specs.values()] == ["cpu", "cpu"]
