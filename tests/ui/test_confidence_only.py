"""A method that needs features and gives a confidence only, on every page."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from calib.engine import Engine
from calib.ui.session import OpenSession
from tests.ui.conftest import PAGES, SAMPLE, clean, fit, npz, one_of, open_page, said, unfold

FITTED = ("temperature", "geometric")


@pytest.fixture
def with_geometric(queue: Engine, with_sample: OpenSession) -> OpenSession:
    return fit(queue, with_sample, *FITTED)


@pytest.fixture
def geometric_alone(queue: Engine, with_sample: OpenSession) -> OpenSession:
    return fit(queue, with_sample, "geometric")


@pytest.mark.parametrize("path", one_of(PAGES, "pages/6_Over_underconfidence.py"))
def test_every_page_draws_beside_others_and_alone(path: str, queue: Engine, with_geometric: OpenSession) -> None:
    assert clean(open_page(path, with_geometric))
    alone = fit(queue, OpenSession.from_data(with_geometric.data, sample=SAMPLE), "geometric")
    assert clean(open_page(path, alone))


def test_without_features_the_page_says_what_is_missing_and_where_to_bring_it(with_sample: OpenSession) -> None:
    bare = OpenSession.from_data(replace(with_sample.data, features=None, train_features=None, sha256="without"))
    app = open_page("pages/1_Fit.py", bare)
    assert clean(app)
    assert "Geometric] :gray[needs features and the training set" in said(app)
    assert "geometric" not in app.session_state["fit/methods"]
    assert any(link.proto.label == "Open data with them" for link in app.get("page_link"))


def test_compare_claims_nothing_of_its_nll(with_geometric: OpenSession) -> None:
    app = unfold(open_page("pages/2_Compare.py", with_geometric), "compare/scores")
    table = app.dataframe[0].value.set_index("method")
    assert np.isnan(table.loc["Geometric", "NLL"])
    assert np.isnan(table.loc["Geometric", "Brier score"])
    assert 0 < table.loc["Geometric", "ECE"] < 1
    finding = app.markdown[0].value
    assert "Geometric gives a confidence only" in finding and "ECE" in finding


def test_export_shows_the_size_before_the_download_and_the_lines_that_use_it(geometric_alone: OpenSession) -> None:
    app = unfold(open_page("pages/5_Export.py", geometric_alone), "export/others")
    words = said(app)
    assert "Lowest NLL" not in words
    assert "The pickle holds the training rows too." in words
    assert "250 training rows of 64 numbers" in words
    assert all("probs" not in code.value for code in app.code)
    assert any("calibrator.confidence(outputs, features)" in code.value for code in app.code)
    assert "Calibrated confidence" in [heading.value for heading in app.header]


def test_an_upload_to_calibrate_brings_its_features(geometric_alone: OpenSession) -> None:
    rows = geometric_alone.test.take(np.arange(20))
    for arrays, sentence in (
        ({"logits": rows.logits, "features": rows.features}, "20 rows, 10 classes."),
        ({"logits": rows.logits}, "none looks like the inputs of the rows"),
    ):
        app = open_page("pages/5_Export.py", geometric_alone)
        app.button_group(key="export/of").set_value("an upload").run()
        assert "with features" in app.file_uploader[0].label
        app.file_uploader[0].upload("new.npz", npz(**arrays)).run()
        assert not app.exception
        assert sentence in " ".join([said(app), *(error.value for error in app.error)])
