"""What the sections of a report show, computed for the templates: facts, figures and tables."""

from __future__ import annotations

import platform
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any, Protocol

from markupsafe import Markup

from calib.canonical import KINDS
from calib.data.samples import SAMPLES
from calib.data.scales import in_words
from calib.diagnostics.over_under import over_under_confidence, table_cells
from calib.diagnostics.reliability import confidence_histogram, reliability_curve
from calib.evaluation import SCORES, Evaluation, Score
from calib.evaluation.classwise import CLASSWISE
from calib.evaluation.comparison_table import ScoreRow, first_scores, score_rows
from calib.evaluation.view import View
from calib.export.provenance import versions
from calib.formatting import number, percent, plural
from calib.metrics.bootstrap import Interval
from calib.plots.axes import Scale
from calib.plots.compare import score_dots
from calib.plots.over_under import Row, before_after, ratio_to_odds
from calib.plots.reliability import reliability_diagram
from calib.plots.reliability_frame import common_limits, prefers_logit_scale
from calib.plots.style import Style
from calib.registry import METHODS, Method
from calib.reporting.contents import Report, ReportedMethod
from calib.reporting.svg import figure_svg, swatch

if TYPE_CHECKING:
    import pandas as pd

MAIN = ("NLL", "Brier", "accuracy", "ECE", CLASSWISE, "overconfidence", "underconfidence")
"""Scores of the first table; all others follow further down."""
_DISTRIBUTIONS = ("scipy", "scikit-learn", "pandas", "plotly", "gpflow", "tensorflow", "tensorflow-cpu")
Cells = dict[str, tuple[str, str]]
_MOST_NAMES = 100
DRAWN = ("Brier", "ECE", CLASSWISE)
"""Scores that are drawn beside their tables; the first page draws the NLL."""
GAINED = ("NLL", "Brier", "ECE", "accuracy")
"""Scores whose change stands on the first page."""
SMALL, LARGE = (262, 350), (290, 405)
"""Pixels of a reliability diagram, across and down: of many, and of two."""
_SCORE_WIDTH, _THIRD_WIDTH = 325, 400
"""Pixels of the other figures, across."""


def small(view: View) -> tuple[int, int]:
    """Size of one of many reliability diagrams; words of an event need more room than those of a predicted class."""
    across, down = SMALL
    return (across + 38 if view.is_event else across), down


def is_simulated(report: Report) -> bool:
    """Whether the data were drawn from known distributions and not predicted by a model."""
    sample = SAMPLES.get(report.source.sample or "")
    return sample is not None and sample.simulated


@dataclass(frozen=True)
class Names:
    """The first of many names, and how many more there are."""

    shown: Sequence[str]
    n_more: int = 0

    @classmethod
    def from_all(cls, names: Sequence[str], most: int = _MOST_NAMES) -> Names:
        """Take the first ``most``."""
        return cls(names[:most], max(0, len(names) - most))


def data_facts(report: Report) -> dict[str, str | Markup | Names]:
    """What the data are, how they were split, and what was decided about them."""
    data = report.data
    facts: dict[str, str | Markup | Names] = {
        "name": data.name,
        "content": f"{plural(data.n, 'row')}, {plural(data.n_classes, 'class', 'classes')}, {KINDS[data.kind]}",
        "accuracy": f"{percent(data.accuracy)} over all rows",
        "calibration rows": f"{data.n_calibration:,}",
        "test rows": f"{data.n_test:,}, on which every number here was measured",
        "split": _split(report),
        "sha256 of the content": Markup("<code>{}</code>").format(data.sha256 or "unknown"),
    }
    if data.scale is not None:
        facts["scale of the outputs"] = in_words(data.scale)
    if report.view.is_event and data.event is not None:
        facts["event"] = f"{data.event.name}, in {percent(data.event_rate)} of all rows ({data.event.reason})"
    if data.floor is not None:
        facts["zero probabilities"] = f"became {data.floor:.4g} before the logarithm"
    if report.source.files and report.source.sample is None:
        facts["files"] = ", ".join(f"{name} ({role})" for role, name in report.source.files.items())
    facts |= {f"decided by hand: {name}": str(value) for name, value in report.source.choices.given().items()}
    facts["classes"] = Names.from_all(data.class_names)
    if data.groups is not None:
        facts["groups"] = Names.from_all([f"{name} ({count:,})" for name, count in data.groups])
    return facts


def _split(report: Report) -> str:
    if not report.data.n_calibration:
        return "none: no calibrator was fitted for this report, so that all rows are test rows"
    if report.part is None and report.data.came_split:
        return "as it came with the data"
    part = 0.5 if report.part is None else report.part
    share = f"{percent(part, 0)} of the rows" if isinstance(part, float) else plural(part, "row")
    return f"{share} for calibration, drawn stratified by class with seed {report.seed}"


@dataclass(frozen=True, eq=False)
class ScoreSection:
    """One score of all methods: rows with the paired differences to the raw model and the best; some are drawn."""

    key: str
    score: Score
    figure: Markup | None
    rows: Sequence[ScoreRow]


@dataclass(frozen=True)
class Gain:
    """One score of the raw model and of a method, and the paired change."""

    title: str
    before: Interval
    after: Interval
    change: Interval


def gains(report: Report, chosen: ReportedMethod) -> list[Gain]:
    """What a method changes of the raw model's scores; nothing where it is the raw model."""
    raw = report.methods[0]
    if chosen is raw:
        return []
    keys = first_scores(report.table, GAINED)
    rows = {row.method: row.cells for row in score_rows(report.table, keys)}
    found = [
        Gain(SCORES[key].seen(report.view).title, rows[raw.key][key].value, cell.value, cell.difference)
        for key, cell in rows[chosen.key].items()
    ]
    return [gain for gain in found if gain.after.value == gain.after.value]


def answer_figures(report: Report, chosen: ReportedMethod) -> list[Markup]:
    """The raw model and the chosen method as diagrams on the same axes, and the NLL of all methods."""
    methods = list({method.key: method for method in (report.methods[0], chosen)}.values())
    figures = [figure for figure, _ in reliability(methods, LARGE)[1]]
    if report.table.loc[report.table["score"] == "NLL", "value"].notna().any():
        styles = {method.key: method.style for method in report.methods}
        figures.append(figure_svg(score_dots(report.table, "NLL", styles, title="NLL of each method"), _THIRD_WIDTH))
    return figures


def overview(table: pd.DataFrame, view: View) -> tuple[list[str], list[ScoreRow]]:
    """Titles of the main scores, and the methods by them."""
    keys = first_scores(table, MAIN)
    return [SCORES[key].seen(view).title for key in keys], score_rows(table, keys)


def score_sections(report: Report) -> list[ScoreSection]:
    """All scores, the main ones first."""
    table, styles = report.table, {method.key: method.style for method in report.methods}
    there = [key for key in SCORES if key in set(table["score"])]
    sections = []
    for key in sorted(there, key=lambda key: key not in MAIN):
        score = SCORES[key].seen(report.view)
        figure = score_dots(table, key, styles, title=score.title) if key in DRAWN else None
        drawn = None if figure is None else figure_svg(figure, _SCORE_WIDTH)
        sections.append(ScoreSection(key, score, drawn, score_rows(table, [key])))
    return sections


class Drawn(Protocol):
    """What a reliability diagram needs of a method: its title, its style and its evaluation on the test rows."""

    @property
    def title(self) -> str:
        """How it is called."""

    @property
    def style(self) -> Style:
        """How it is drawn."""

    @property
    def evaluation(self) -> Evaluation:
        """Of the same rows as all others."""


def reliability(
    methods: Sequence[Drawn], size: tuple[int, int], drawn: Callable[[], None] = lambda: None
) -> tuple[Scale, list[tuple[Markup, float]]]:
    """The scale of the axes; a diagram per method, all on the same axes, and its ECE.

    Parameters
    ----------
    methods : the raw model first.
    size : of a diagram, pixels across and down.
    drawn : called after each diagram.
    """
    curves = [reliability_curve(*method.evaluation.pair, clusters=method.evaluation.clusters) for method in methods]
    scale: Scale = "logit" if prefers_logit_scale(curves[0]) else "linear"
    view = methods[0].evaluation.view
    limits = common_limits(curves, scale, view)
    width, height = size
    diagrams = []
    for method, curve in zip(methods, curves, strict=True):
        histogram = confidence_histogram(*method.evaluation.pair, scale=scale, logit_limits=view.logit_limits)
        fig = reliability_diagram(curve, method.style, scale, method.title, limits, histogram, height, view=view)
        diagrams.append((figure_svg(fig, width), curve.ece))
        drawn()
    return scale, diagrams


def over_and_under(methods: Sequence[ReportedMethod]) -> tuple[list[Markup], list[tuple[str, Cells]]]:
    """Figures of over- and underconfidence from the raw model to each method, and the numbers of each method."""
    results = over_under_confidence([method.evaluation for method in methods])
    rows: list[Row] = [(m.title, result, m.style) for m, result in zip(methods, results, strict=True)]
    view = methods[0].evaluation.view
    figures = (
        before_after(rows, "under", view),
        before_after(rows, "over", view),
        ratio_to_odds(rows, view),
    )
    cells = [(name, table_cells(result, view)) for name, result, _ in rows]
    return [figure_svg(fig, _THIRD_WIDTH) for fig in figures], cells


@dataclass(frozen=True, eq=False)
class MethodCard:
    """What a method does and cost, its parameters and the notes of its fit.

    Attributes
    ----------
    title, swatch : how it is called, and its marker as in the figures.
    about : its entry in the registry.
    fit_seconds, device, predict_seconds : as texts.
    parameters : name, value, and whether it is not at its default.
    notes : sentences.
    """

    title: str
    swatch: Markup
    about: Method
    fit_seconds: str
    device: str
    predict_seconds: str
    parameters: Sequence[tuple[str, Any, bool]]
    notes: Sequence[str]


def method_card(method: ReportedMethod) -> MethodCard:
    """All that is told of one method."""
    calibrator = method.calibrator
    usual = {f.name: f.default for f in fields(calibrator)}
    measured = method.fit_seconds == method.fit_seconds and method.name != "identity"
    return MethodCard(
        title=method.title,
        swatch=swatch(method.style),
        about=METHODS[method.name],
        fit_seconds=number(method.fit_seconds) if measured else "–",
        device=method.device if measured else "–",
        predict_seconds=number(method.predict_seconds),
        parameters=[(name, value, value != usual[name]) for name, value in calibrator.get_params().items()],
        notes=method.notes,
    )


def version_facts() -> Mapping[str, str]:
    """Versions of everything that has a part in the numbers, and the machine."""
    installed = versions()
    for name in _DISTRIBUTIONS:
        try:
            installed[name] = version(name)
        except PackageNotFoundError:
            continue
    installed.pop("sklearn", None)  # as scikit-learn among the distributions
    return {**installed, "system": f"{platform.system()} {platform.machine()}"}
