"""The data, the methods and the software of a report, in tables."""

from __future__ import annotations

import platform
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import fields
from importlib.metadata import PackageNotFoundError, version

from calib.data.samples import SAMPLES
from calib.export.writer import versions
from calib.formatting import number, percent, plural
from calib.hardware import device_of
from calib.registry import METHODS
from calib.reporting.contents import Report, ReportedMethod
from calib.reporting.markup import Markup, element, together
from calib.reporting.svg_marks import SYMBOLS, path

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
