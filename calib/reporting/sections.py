"""The data, the methods and the software of a report, in tables.

Scores in a report: all methods by the main scores, and every score with its intervals and differences.

Reliability, over- and underconfidence of all methods, in pictures and in numbers.
"""

from __future__ import annotations

import platform
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

from calib.data.samples import SAMPLES
from calib.evaluation import SCORES
from calib.evaluation.classwise import CLASSWISE
from calib.evaluation.verdict import best_methods
from calib.export.writer import versions
from calib.formatting import number, percent, plural, signed
from calib.hardware import device_of
from calib.plots.compare import score_dots
from calib.plots.style import Style
from calib.registry import METHODS
from calib.reporting.contents import Report, ReportedMethod
from calib.reporting.markup import Markup, element, together
from calib.reporting.svg import SYMBOLS, figure_svg, path

if TYPE_CHECKING:
    import pandas as pd

from calib.diagnostics.over_under import Balance, balances
from calib.diagnostics.reliability import confidence_histogram, reliability_curve
from calib.metrics.bootstrap import Interval
from calib.plots.axes import Scale
from calib.plots.over_under import Row, before_after, ratio_to_odds
from calib.plots.reliability import reliability_diagram
from calib.plots.reliability_frame import common_limits, prefers_logit_scale

_DISTRIBUTIONS = ("scipy", "scikit-learn", "pandas", "plotly", "gpflow", "tensorflow", "tensorflow-cpu")
_MOST_NAMES = 100


def is_simulated(report: Report) -> bool:
    """Whether the data were drawn from known distributions and not predicted by a model."""
    sample = SAMPLES.get(report.source.sample or "")
    return sample is not None and sample.simulated


def data_section(report: Report) -> Markup:
    """What the data are, how they were split, and everything that was noticed or decided about them."""
    data = report.data
    facts: dict[str, object] = {
        "name": data.name,
        "content": f"{plural(len(data), 'row')}, {plural(data.n_classes, 'class', 'classes')}, "
        f"{data.kind.replace('_', ' ')}",
        "accuracy": f"{percent(float((data.logits.argmax(axis=1) == data.labels).mean()))} over all rows",
        "calibration rows": f"{len(report.calibration):,}",
        "test rows": f"{len(report.test):,}, on which every number here was measured",
        "split": _split(report),
        "sha256 of the content": element("code", data.sha256 or "unknown"),
    }
    if data.floor is not None:
        facts["zero probabilities"] = f"became {data.floor:.4g} before the logarithm"
    if report.source.files and report.source.sample is None:
        facts["files"] = ", ".join(f"{name} ({role})" for role, name in report.source.files.items())
    for name, value in report.source.choices.made().items():
        facts[f"decided by hand: {name}"] = str(value)
    facts["classes"] = _names(data.class_names)
    if data.groups is not None:
        counted = Counter(data.groups.tolist())
        facts["groups"] = _names([f"{name} ({count:,})" for name, count in counted.most_common()])
    noticed = [element("li", element("b", f"{found.level}: "), f"{found.message} {found.action}".strip())
               for found in data.findings]  # fmt: skip
    return together(
        element("p", "These data are simulated: they were drawn from known distributions, not predicted by a model of "
                "the world.", class_="simulated") if is_simulated(report) else None,
        fact_table(facts, "data"),
        together(element("h3", "Noticed while reading"), element("ul", *noticed)) if noticed else None,
    )  # fmt: skip


def fact_table(facts: Mapping[str, object], name: str) -> Markup:
    """Names and what they are, in two columns."""
    rows = (element("tr", element("th", key, scope="row"), element("td", value)) for key, value in facts.items())
    return element("div", element("table", element("tbody", *rows), id=name, class_="facts"), class_="wide")


def methods_section(methods: Sequence[ReportedMethod]) -> Markup:
    """What each method cost, and its parameters and notes."""
    return together(
        costs(methods),
        element("p", "Parameters in bold are not at their defaults.", class_="meaning"),
        element("div", *(method_card(method) for method in methods), class_="cards"),
    )


def costs(methods: Sequence[ReportedMethod]) -> Markup:
    """Seconds to fit and to predict, and where it was fitted."""
    titles = ("method", "fit, seconds", "fitted on", "predict the test rows, seconds")
    head = element("tr", *(element("th", title, scope="col") for title in titles))
    rows = []
    for method in methods:
        measured = method.fit_seconds == method.fit_seconds and method.name != "identity"
        cells = (number(method.fit_seconds) if measured else "–", device_of(method.calibrator) if measured else "–",
                 number(method.predict_seconds))  # fmt: skip
        rows.append(element("tr", element("th", method.title, scope="row"), *(element("td", cell) for cell in cells)))
    table = element("table", element("thead", head), element("tbody", *rows), id="costs")
    return element("div", table, class_="wide")


def method_card(method: ReportedMethod) -> Markup:
    """What a method does, its parameters, those that were changed in bold, and the notes of its fit."""
    about, made = METHODS[method.name], method.calibrator
    usual = {f.name: f.default for f in fields(made)}
    rows = [
        element("tr", element("th", name, scope="row"),
                element("td", element("b", value) if value != usual[name] else str(value)))
        for name, value in made.get_params().items()
    ]  # fmt: skip
    notes = [element("li", note) for note in made.notes()]
    return element(
        "section",
        element("h3", _swatch(method), method.title),
        element("p", about.summary),
        element("p", about.paper, class_="meaning") if about.paper else None,
        element("table", element("tbody", *rows), class_="facts"),
        element("ul", *notes) if notes else None,
        class_="card",
    )


def version_table() -> Markup:
    """Versions of everything that has a part in the numbers, and the machine."""
    found = versions()
    for name in _DISTRIBUTIONS:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    found.pop("sklearn", None)  # as scikit-learn among the distributions
    return fact_table({**found, "system": f"{platform.system()} {platform.machine()}"}, "versions")


def _swatch(method: ReportedMethod) -> Markup:
    """The method's marker in its colour, as in the figures."""
    outline = SYMBOLS.get(method.style.symbol)
    shape = (
        element("path", d=path([(8 + 5 * x, 8 + 5 * y) for x, y in outline], closed=True), fill=method.style.color)
        if outline
        else element("circle", cx=8, cy=8, r=5, fill=method.style.color)
    )
    return element("svg", shape, width=16, height=16, viewBox="0 0 16 16", class_="swatch", aria_hidden="true")


def _split(report: Report) -> str:
    if report.part is None and report.data.given_split is not None:
        return "as it came with the data"
    part = 0.5 if report.part is None else report.part
    share = f"{percent(part, 0)} of the rows" if isinstance(part, float) else plural(part, "row")
    return f"{share} for calibration, drawn stratified by class with seed {report.seed}"


def _names(names: Sequence[str]) -> Markup:
    more = f" and {len(names) - _MOST_NAMES:,} more" if len(names) > _MOST_NAMES else ""
    listed = [element("bdi", name) for name in names[:_MOST_NAMES]]
    return together(*(part for i, name in enumerate(listed) for part in ((", ", name) if i else (name,))), more)


MAIN = ("NLL", "Brier", "accuracy", "ECE", "ECE equal mass", CLASSWISE, "overconfidence", "underconfidence")
"""Scores of the first table; all others follow further down."""
_MARKS = {"better": " ✓", "worse": " ✗"}
_WIDTH = 380


def overview(table: pd.DataFrame) -> Markup:
    """Methods by the main scores: value, interval, the best, and what differs from the raw model beyond chance."""
    keys = [key for key in MAIN if key in set(table["score"])]
    head = element(
        "tr", element("th", "method", scope="col"), *(element("th", SCORES[key].title, scope="col") for key in keys)
    )
    best = {key: best_methods(table, key) for key in keys}
    rows = []
    for _, mine in table.groupby("method", sort=False):
        cells = [_overview_cell(mine[mine["score"] == key].iloc[0], best[key]) for key in keys]
        failed = element("div", mine["note"].iloc[0], class_="note") if mine["value"].isna().all() else None
        rows.append(element("tr", element("th", mine["title"].iloc[0], failed, scope="row"), *cells))
    return _table(head, rows, "overview")


def score_section(table: pd.DataFrame, key: str, styles: Mapping[str, Style]) -> Markup:
    """One score of all methods: a picture, and a table with the paired differences to the raw model and the best."""
    score, rows = SCORES[key], table[table["score"] == key]
    ranked, best = score.better != "neither", best_methods(table, key)
    titles = ["method", "value", "against the raw model", *(["against the best"] if ranked else [])]
    head = element("tr", *(element("th", title, scope="col") for title in titles))
    lines = []
    for place, row in enumerate(rows.to_dict("records")):
        cells = [_score_cell(number, row["value"], row["low"], row["high"], row["method"] in best)]
        cells.append(
            _reference() if not place else _difference(row, "difference", _MARKS.get(row["beyond_chance"], ""))
        )
        if ranked:
            cells.append(_reference() if row["to_best"] == 0 else _difference(row, "to_best"))
        note = element("div", row["note"], class_="note") if row["note"] else None
        lines.append(element("tr", element("th", row["title"], note, scope="row"), *cells))
    figure = figure_svg(score_dots(table, key, styles), _WIDTH)
    return element(
        "section",
        element("h3", score.title),
        element("p", score.meaning, class_="meaning"),
        element("div", figure, _table(head, lines, f"score-{key}"), class_="beside"),
        class_="score",
    )


def _table(head: Markup, rows: list[Markup], name: str) -> Markup:
    body = element("tbody", *rows)
    return element("div", element("table", element("thead", head), body, id=name.replace(" ", "-")), class_="wide")


def _overview_cell(row: pd.Series, best: frozenset[str]) -> Markup:
    mark = _MARKS.get(row["beyond_chance"], "")
    return _score_cell(number, row["value"], row["low"], row["high"], row["method"] in best, mark)


def _difference(row: Mapping[Any, Any], name: str, mark: str = "") -> Markup:
    return _score_cell(signed, row[name], row[f"{name}_low"], row[f"{name}_high"], mark=mark)


def _score_cell(
    write: Callable[[float], str], value: float, low: float, high: float, best: bool = False, mark: str = ""
) -> Markup:
    if value != value:
        return element("td", "–")
    interval = element("span", f"[{write(low)}, {write(high)}]", class_="interval")
    star = element("b", " ★") if best else None
    return element("td", f"{write(value)}", star, mark, " ", interval, class_="best" if best else None)


def _reference() -> Markup:
    return element("td", "reference", class_="faint")


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
