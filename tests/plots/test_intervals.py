"""Small pictures of intervals are to scale."""

import re

import pytest

from calib.metrics.bootstrap import Interval
from calib.plots.methods_table import WIDTH, small_intervals


def test_a_small_picture_is_to_scale_and_holds_all() -> None:
    rows = [("women <b>", Interval(-5.7, -7.0, -4.4)), ("men", Interval(2.6, 1.2, 4.0))]
    html = small_intervals(rows, 0.5, "gap of all rows", "#D55E00")
    boxes = re.findall(
        r"left:([\d.]+)px;top:[\d.]+px;width:([\d.]+)px.*?border-radius:(50%|0)", html
    )
    dots = [float(left) + float(width) / 2 for left, width, radius in boxes if radius == "50%"]
    lines = [
        (float(left), float(left) + float(width)) for left, width, radius in boxes if radius == "0"
    ]
    (reference, _), *intervals = lines
    scale = (dots[1] - dots[0]) / (2.6 + 5.7)
    for (_, interval), dot, ends in zip(rows, dots, intervals, strict=True):
        places = [reference + scale * (part - 0.5) for part in interval]
        assert [dot, *ends] == pytest.approx(places, abs=0.2)
    assert min(map(min, lines)) >= 0 and max(map(max, lines)) <= WIDTH
    assert "<b>" not in html and "women &lt;b&gt;" in html
