"""The Latent GP page with and without a fit, and that it claims no more than the numbers do."""

from __future__ import annotations

import numpy as np

from calib.data.samples import load_sample
from calib.diagnostics.latent import ConfidenceEffect, EffectStudy, changes, effect_curve
from calib.engine import Engine
from calib.ui.latent import finding, least_sure
from calib.ui.session import OpenSession
from tests.conftest import finished
from tests.ui.conftest import charts, click, fit, open_page, said, unfold

PAGE = "pages/8_Latent_GP.py"
FOLDED = "latent/effects"


def sample(name: str) -> OpenSession:
    return OpenSession.from_data(load_sample(name), sample=name)


def test_one_fit_says_its_finding_first(fits_to_read: OpenSession) -> None:
    app = open_page(PAGE, fits_to_read)
    assert app.markdown[0].value.startswith("**GPcalib ")
    assert "The posterior of GPcalib is widest at confidences about" in said(app)
    assert "1 and 2 posterior standard deviations" in said(app)
    assert "One temperature" in app.markdown[0].value
    assert len(charts(app)) == 1
    app = unfold(app, FOLDED)
    assert len(charts(app)) == 2
    assert "inducing points · objective" in said(app)


def test_the_fit_it_lacks_is_one_click_away(queue: Engine) -> None:
    session = sample("digits-cnn")
    app = open_page(PAGE, session)
    assert "no GPcalib fit is finished yet" in said(app)
    click(app, "Fit GPcalib")
    assert not app.error
    assert [spec.method for spec in session.specs.values()] == ["gpcalib"]
    assert not any(button.label == "Fit GPcalib" for button in app.button)
    finished(queue, session.specs)
    assert app.run().markdown[0].value.startswith("**GPcalib ")


def test_a_collapsed_fit_says_so_and_gives_no_certainty(queue: Engine) -> None:
    app = open_page(PAGE, fit(queue, sample("odd-digits-adaboost"), ("gpcalib", {})))
    assert "it has no band" in app.markdown[0].value
    assert "uncertainty is unknown" in app.markdown[0].value


def said_of(before: float, change: float, sd: float) -> str:
    """What is said of 50 rows at one raw confidence, moved by a change with a posterior standard deviation."""
    after, standard = np.full(50, before + change), np.array([-1.0, 1.0] * 8)
    effect = ConfidenceEffect(
        before=np.full(50, before), after=after, draws=after[:, None] + sd * standard, right=np.ones(50, bool),
        temperature=None, truth=None, changed=0, every=1,
    )  # fmt: skip
    curve = effect_curve(effect)
    return f"{finding('GPcalib', EffectStudy(changes(effect), curve, 50, 0))} {least_sure('GPcalib', curve)}"


def test_a_change_the_band_does_not_allow_is_not_claimed() -> None:
    words = said_of(0.95, -0.03, sd=0.02)
    assert "lowers" not in words
    assert "may move confidences above 0.9 by anything from −7.0 to +1.0 points" in words


def test_a_confidence_of_one_half_is_not_said_to_lie_below_it() -> None:
    assert "confidences up to 0.5" in said_of(0.5, 0.03, sd=0.001)
