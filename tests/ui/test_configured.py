"""A wrong setting is one sentence in place of every page."""

from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest

from tests.ui.conftest import open_page


def said(app: AppTest) -> list[str]:
    assert not app.exception
    return [str(error.value) for error in app.error]


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("CALIB_MEMORY_GB", "plenty", "CALIB_MEMORY_GB='plenty' must be a positive number; unset it for half of the"),
        ("CALIB_ROWS", "2.5", "CALIB_ROWS='2.5' must be a whole number above 0; unset it for 10,000,000."),
        (
            "CALIB_UPLOAD_MB",
            "2048",
            "CALIB_UPLOAD_MB is 2048 and Streamlit takes 1024; set STREAMLIT_SERVER_MAX_UPLOAD",
        ),
    ],
)
@pytest.mark.parametrize("page", ["app.py", "pages/5_Compare.py"])
def test_nothing_is_drawn_until_it_is_corrected(page, name, value, sentence, monkeypatch):
    monkeypatch.setenv(name, value)
    app = open_page(page)
    assert len(said(app)) == 1
    assert sentence in said(app)[0]
    assert not app.title and not app.sidebar.caption
    monkeypatch.delenv(name)
    app.run()
    assert not said(app)
    assert app.title
