"""Reliability, over- and underconfidence of all methods, in pictures and in numbers."""

from __future__ import annotations

from collections.abc import Sequence

from calib.diagnostics.histogram import confidence_histogram
from calib.diagnostics.over_under import Balance, balances
from calib.diagnostics.reliability import reliability_curve
from calib.formatting import number
from calib.metrics.bootstrap import Interval
from calib.plots.axes import Scale
from calib.plots.over_under import Row, before_after, ratio_to_odds
from calib.plots.reliability import reliability_diagram
from calib.plots.reliability_frame import common_limits, prefers_logit_scale
from calib.reporting.contents import ReportedMethod
from calib.reporting.markup import Markup, element, together
from calib.reporting.svg import figure_svg

_DIAGRAM = (290, 405)
_THIRD = 330


def reliability(methods: Sequence[ReportedMethod]) -> Markup:
    """One diagram per method, all on the same axes, in the bins of the ECE in the tables."""
    curves = [reliability_curve(*method.evaluation.pair) for method in methods]
    scale: Scale = "logit" if prefers_logit_scale(curves[0]) else "linear"
    limits = common_limits(curves, scale)
    diagrams = []
    for method, curve in zip(methods, curves, strict=True):
        histogram = confidence_histogram(*method.evaluation.pair, scale=scale)
        fig = reliability_diagram(
            curve, method.style, scale, method.title, limits, histogram, height=_DIAGRAM[1]
        )  # fmt: skip
        caption = element("figcaption", f"ECE {number(curve.ece)}")
        diagrams.append(element("figure", figure_svg(fig, _DIAGRAM[0]), caption))
    read = (
        "Where dots lie beneath the diagonal, a method is less often right than it says. Whiskers are Wilson's 95 % "
        "intervals, the bars beneath show how often each confidence occurs, and the ECE is that of these 15 bins of "
        "equal width."
        + (" The axes are stretched near 1, where most confidences are." if scale == "logit" else "")
    )  # fmt: skip
    return together(element("p", read, class_="meaning"), element("div", *diagrams, class_="row"))


def over_and_under(methods: Sequence[ReportedMethod]) -> Markup:
    """Over- and underconfidence and their ratio: from the raw model to each method."""
    found = balances([method.evaluation for method in methods])
    rows: list[Row] = [(m.title, balance, m.style) for m, balance in zip(methods, found, strict=True)]
    figures = (
        before_after(rows, "under", title="Underconfidence u"),
        before_after(rows, "over", title="Overconfidence o"),
        ratio_to_odds(rows, title="Ratio o / u against the odds"),
    )
    read = (
        "Overconfidence o is the mean confidence where a method is wrong, underconfidence u its mean doubt where it is "
        "right. A calibrated method has a ratio o / u equal to the odds of its accuracy, drawn as a bar. Each row goes "
        "from the raw model to the method, whiskers are 95 % intervals, and changes are paired."
    )
    return together(
        element("p", read, class_="meaning"),
        element("div", *(element("figure", figure_svg(fig, _THIRD)) for fig in figures), class_="row"),
        _balance_table(rows),
    )


def _balance_table(rows: Sequence[Row]) -> Markup:
    titles = ("method", "o", "change of o", "u", "change of u", "o / u", "odds of the accuracy", "o / u over odds")
    head = element("tr", *(element("th", title, scope="col") for title in titles))
    body = (
        element("tr", element("th", name, scope="row"), *(element("td", cell) for cell in _balance_cells(balance)))
        for name, balance, _ in rows
    )
    table = element("table", element("thead", head), element("tbody", *body), id="balance")
    return element("div", table, class_="wide")


def _balance_cells(balance: Balance) -> list[Markup]:
    change = balance.change
    return [
        _cell(balance.over),
        _cell(change.over, True) if change else element("span", "reference", class_="faint"),
        _cell(balance.under),
        _cell(change.under, True) if change else element("span", "reference", class_="faint"),
        _cell(balance.ratio),
        _cell(balance.odds),
        _cell(balance.lean),
    ]


def _cell(interval: Interval, change: bool = False) -> Markup:
    value, low, high = interval
    if value != value:
        return element("span", "–")
    plus = "+" if change and value > 0 else ""
    return together(
        f"{plus}{number(value)} ", element("span", f"[{number(low)}, {number(high)}]", class_="interval")
    )  # fmt: skip
