"""A table that is cut says so, on the screens that cut it."""

import pytest
from streamlit.testing.v1 import AppTest

from calib.ui.narrow import DESK, PHONE, SAID


@pytest.mark.parametrize(("n_columns", "widest"), [(3, PHONE), (9, DESK)])
def test_the_hint_is_for_screens_that_cut_the_table(n_columns, widest):
    app = AppTest.from_string(f"from calib.ui.narrow import sideways\nsideways({n_columns})").run()
    (hint,) = app.get("html")
    assert SAID in hint.proto.body
    assert f"@media (max-width: {widest}px)" in hint.proto.body
