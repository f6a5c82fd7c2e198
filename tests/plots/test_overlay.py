from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calib.plots.overlay import overlay_styles, short_names
from calib.plots.style import method_style
from tests.plots.test_style import contrast


def test_fits_in_one_picture_differ_in_dash_and_read_on_both_backgrounds() -> None:
    styles = overlay_styles([method_style("gpcalib", index) for index in range(4)])
    assert styles[0] == method_style("gpcalib")
    assert len({style.dash for style in styles}) == 4
    assert "dash" not in {style.dash for style in styles}  # temperature scaling's
    assert len({style.color for style in styles}) == 3
    for style in styles:
        assert contrast(style.color, "#ffffff") >= 3.0
        assert contrast(style.color, "#0e1117") >= 3.0


@pytest.mark.parametrize(
    ("variants", "short"),
    [
        (["", "inputs=probs"], ["GPcalib", "inputs=probs"]),
        (["inputs=probs, monotone=True"], ["inputs=probs +1"]),
        (["inputs=probs, monotone=True", "inputs=probs, seed 3"], ["monotone=True", "seed 3"]),
        (["max_iter=9", "inputs=probs, max_iter=9"], ["GPcalib", "inputs=probs"]),
        (["", "seed 3, max_iter=9", "seed 3, max_iter=8"], ["GPcalib", "seed 3 +1", "seed 3 +1 #2"]),
        (["interpolation_order=3, n_draws=2"], ["interpolatio… +1"]),
    ],
)
def test_short_names(variants, short) -> None:
    assert short_names("GPcalib", variants) == short


@given(st.lists(st.text(max_size=30), max_size=8))
def test_short_names_are_short_and_differ(variants) -> None:
    short = short_names("GPcalib", variants)
    assert len(set(short)) == len(short)
    assert all(len(name) <= 19 for name in short)
