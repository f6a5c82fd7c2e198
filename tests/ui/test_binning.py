"""The I-Max binning page, with its numbers and with bins of fits."""

from __future__ import annotations

from calib.diagnostics.binning import binning_picture
from calib.engine import Engine
from calib.formatting import percent
from calib.ui.session import OpenSession
from tests.ui.conftest import charts, clean, fit, open_page, said, unfold

PAGE = "pages/9_IMax_binning.py"


def test_the_finding_has_the_numbers_and_sections_are_computed_when_opened(
    sample_to_read: OpenSession,
) -> None:
    app = open_page(PAGE, sample_to_read)
    assert clean(app)
    assert len(charts(app)) == 1
    part = sample_to_read.calibration
    picture = binning_picture(part.logits, part.labels)
    finding = app.markdown[0].value
    assert f"of {picture.information:.3g} nats" in finding
    for bins in picture.schemes.values():
        assert percent(bins.label_information / picture.information) in finding
    assert f"{len(part) * part.n_classes:,} pairs of all {part.n_classes} classes" in said(app)
    unfold(app, "binning/meaning", "binning/numbers", "binning/sets")
    assert clean(app)
    assert len(charts(app)) == 5
    assert "the shared set is nearer to a class" in said(app)


def test_a_fitted_binning_is_shown_with_its_own_bins(
    queue: Engine, with_sample: OpenSession
) -> None:
    fit(
        queue,
        with_sample,
        *(("imax", params) for params in ({"n_bins": 6}, {"n_bins": 5, "share_classes": False})),
    )
    app = unfold(open_page(PAGE, with_sample), "binning/meaning")
    assert clean(app)
    drawn = " ".join(chart.spec for chart in charts(app))
    assert "n_bins=6" in drawn and "n_bins=5" not in drawn  # it has no bins that all classes share
    app.selectbox(key="binning/target/10").set_value(2).run()
    assert "n_bins=5" in " ".join(chart.spec for chart in charts(app))
    assert clean(unfold(app, "binning/numbers"))
