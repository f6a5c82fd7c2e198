"""Parts that all reports share: tables of scores, figures of methods, the data, and how to make it again."""

from __future__ import annotations

import base64
import hashlib
import platform
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, fields
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import plotly
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from plotly.io.json import to_json_plotly
from plotly.offline import get_plotlyjs

from calib.auditing.findings import MARKS as SEVERITIES
from calib.auditing.findings import Audit
from calib.calibrators.backend import device_of
from calib.diagnostics.gaps import gap_sentence, subgroups
from calib.diagnostics.reliability import evaluation_diagram
from calib.evaluation import SCORES
from calib.evaluation.comparison_table import (
    MARKS,
    MARKS_SAID,
    changes,
    first_scores,
    score_rows,
)
from calib.evaluation.score_registry import describe_intervals
from calib.evaluation.view import View
from calib.export.provenance import versions
from calib.formatting import (
    NO_BREAK,
    brackets,
    number,
    percent,
    points,
    safe_table,
    signed,
    with_interval,
)
from calib.plots import alt_text
from calib.plots.methods_table import methods_table
from calib.plots.reliability import (
    SIDE,
    common_limits,
    diagram_height,
    reliability_diagram,
    usual_scale,
)
from calib.registry import METHODS, describe_exclusions
from calib.reporting.contents import Report, ReportedMethod, command

if TYPE_CHECKING:
    import pandas as pd


TEMPLATES = Path(__file__).parent / "templates"
FONT = {"family": 'system-ui, -apple-system, "Segoe UI", Roboto, Arial, sans-serif', "size": 12}
_IN_SCRIPT = {
    "<": "\\u003c",
    ">": "\\u003e",
    "&": "\\u0026",
    "\u2028": "\\u2028",
    "\u2029": "\\u2029",
}
"""Characters that could end a script element, or begin another, with their JSON escapes."""


@cache
def scripts() -> tuple[Markup, Markup]:
    """plotly's script, 4.8 MB, and the one that draws all figures of a page."""
    return Markup(get_plotlyjs()), Markup((TEMPLATES / "draw.js").read_text(encoding="utf-8"))


@cache
def policy() -> str:
    """The content security policy of a page with these two scripts."""
    hashes = (
        base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts()
    )
    allowed = " ".join(f"'sha256-{digest}'" for digest in hashes)
    return f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"


def figure_html(fig: Any, caption: str = "") -> Markup:
    """The place of a figure with its numbers, and the sentence that stands for it where it cannot be seen.

    Without scripts the sentence is shown in its place.
    """
    spec = fig.to_plotly_json()
    layout = {**spec["layout"], "template": {}, "font": FONT | spec["layout"].get("font", {})}
    numbers = to_json_plotly({"data": spec["data"], "layout": layout}).translate(
        str.maketrans(_IN_SCRIPT)
    )
    above = Markup("<figcaption>{}</figcaption>").format(caption) if caption else ""
    return Markup(
        '<figure>{}<div class="chart" role="img" aria-label="{}"></div><script type="application/json">{}</script>'
        "<noscript>{}</noscript></figure>"
    ).format(above, alt_text(fig), Markup(numbers), alt_text(fig))


def figures_html(figures: Sequence[Any]) -> Markup:
    """Figures side by side, as many as the width has room for; each, or each with its caption."""
    elements = [
        figure_html(*figure) if isinstance(figure, tuple) else figure_html(figure)
        for figure in figures
    ]
    return Markup('<div class="row">{}</div>').format(Markup("").join(elements))


_UNPRINTABLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\u202a-\u202e\u2066-\u2069\ufffe\uffff]"
)
"""Controls and lone surrogates, which are no HTML, and marks that turn the direction of the text around them."""


class Cell(NamedTuple):
    """A cell of a table: a text, what stands small behind it, and whether it is emphasised."""

    text: str
    small: str = ""
    strong: bool = False


@dataclass(frozen=True)
class Table:
    """Rows of cells, the first of which is the row's heading; ``note`` stands beneath."""

    id: str
    head: Sequence[str]
    rows: Sequence[Sequence[str | Cell]]
    note: str = ""


class Tile(NamedTuple):
    """One number of the raw model and after calibration, and what is said of the change."""

    title: str
    before: str
    after: str
    change: str


@dataclass(frozen=True)
class Tiles:
    """Numbers before and after, in large print, over a caption."""

    tiles: Sequence[Tile]
    caption: str


@dataclass(frozen=True)
class Note:
    """A paragraph in small print."""

    note: str


Block = str | Markup | Table | Tiles | Note | Sequence[str]
"""Blocks of a section: a paragraph, HTML made here, a table, tiles, small print, or a list of sentences."""


@dataclass(frozen=True)
class Section:
    """A question and its answer; all but the first fold."""

    id: str
    title: str
    about: str
    blocks: Sequence[Block] = field(default=())


def printable(value: Any) -> Any:
    """Markup as it is, and anything else as text without characters that HTML cannot hold; None is empty.

    No line break divides a number and its %.
    """
    if hasattr(value, "__html__"):
        return value
    return (
        ""
        if value is None
        else re.sub(r"(?<=\d) %", f"{NO_BREAK}%", _UNPRINTABLE.sub("\ufffd", str(value)))
    )


@cache
def environment() -> Environment:
    """The templates, in which every text is escaped unless it is markup made here."""
    return Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        finalize=printable,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


MAIN = ("NLL", "Brier", "accuracy", "ECE", "overconfidence", "underconfidence")
"""Scores of the first table."""
HEIGHT = diagram_height(SIDE)
"""Pixels of a square diagram over its histogram."""
MOST_GROUPS = 30
INTERVALS = (
    f"Brackets hold 95 % intervals. {MARKS_SAID}: by paired differences, in intervals that "
    "hold for all methods and all scores that claim, together. Equivalent means that the whole interval lies within "
    "the smallest relevant difference."
)


def interval_cell(
    interval: Sequence[float], write: Callable[[float], str] = number, mark: str = ""
) -> Cell:
    """A value with its interval; a dash where there is none."""
    value, low, high = interval
    if value != value:
        return Cell("–")
    return Cell(f"{write(value)} {mark}".strip(), "" if low != low else brackets(low, high, write))


def of_weights(report: Report) -> str:
    """Say that numbers count rows by their weights; "" where weights are not applied."""
    if report.methods[0].evaluation.weights is None:
        return ""
    return f"All numbers count rows by their {report.data.weight_kind} weights."


def score_table(
    table: pd.DataFrame, view: View, keys: Sequence[str] = MAIN, id: str = "overview"
) -> Table:
    """Methods by scores with their marks; of a method that failed the reason."""
    keys = first_scores(table, keys)
    rows: list[list[str | Cell]] = []
    for row in score_rows(table, keys):
        cells = [
            interval_cell(cell.value, mark=" ".join(MARKS[mark] for mark in cell.marks))._replace(
                strong=cell.is_best
            )
            for cell in row.cells.values()
        ]
        rows.append([Cell(row.title, row.failed), *cells])
    return Table(id, ["method", *(SCORES[key].seen(view).title for key in keys)], rows)


def scores(report: Report) -> Iterator[Block]:
    """The table of all methods, what its numbers are, and all numbers in full to save."""
    yield score_table(report.table, report.view)
    evaluation = report.methods[0].evaluation
    yield Note(
        " ".join(
            filter(
                None,
                [
                    INTERVALS,
                    describe_intervals(evaluation.n_clusters),
                    describe_exclusions(report.data),
                ],
            )
        )
    )
    csv = base64.b64encode(safe_table(report.table).to_csv(index=False).encode()).decode()
    yield Markup(
        '<p class="screen"><a download="comparison.csv" href="data:text/csv;base64,{}">All scores, intervals and '
        "differences in full, as CSV</a></p>"
    ).format(csv)


def methods(report: Report) -> Iterator[Block]:
    """The table of all methods with their dots on a common axis, as on the page Compare; none of one method."""
    if len(report.methods) > 1:
        styles = {method.key: method.style for method in report.methods}
        muted = report.audit is not None and report.audit.of("remedy").severity == "problem"
        chosen = report.recommended.key
        yield Markup(methods_table(report.table, styles, report.view, chosen, muted=muted))


def reliability(methods: Sequence[ReportedMethod]) -> list[Any]:
    """A diagram of each method on the same axes, with the raw model behind the others."""
    view = methods[0].evaluation.view
    diagrams = [evaluation_diagram(method.evaluation) for method in methods]
    scale = usual_scale(diagrams[0].curve, view)
    limits = common_limits(diagrams, scale)
    return [
        reliability_diagram(
            parts,
            method.style,
            view=view,
            behind=None if parts is diagrams[0] else diagrams[0],
            scale=scale,
            limits=limits,
            title=method.title,
        )
        for method, parts in zip(methods, diagrams, strict=True)
    ]


def tiles(report: Report, chosen: ReportedMethod, keys: Sequence[str]) -> Tiles:
    """Tiles with a method's changes of some scores of the raw model."""
    entries = []
    for key, (before, after) in changes(report.table, chosen.key, keys).items():
        title = SCORES[key].seen(report.view).title
        write: Callable[[float], str] = number
        signed_as: Callable[[float], str] = signed
        if key == "signed gap":
            title = f"{title}, points"
            write = points
            signed_as = points
        texts = write(before), write(after.value), with_interval(after.difference, signed_as)
        entries.append(
            Tile(title, *(text.replace("−", "-") for text in texts))
        )  # as all tables write minus
    return Tiles(
        entries,
        f"From the raw model to {chosen.title}, and the paired change with the 95 % interval that holds for all "
        "comparisons of all methods together.",
    )


def groups(report: Report) -> Iterator[Block]:
    """Groups in which the raw model and a calibrator are off, the worst first, as on the page Compare."""
    assert report.groups is not None
    wording = report.view.wording
    methods = report.before_and_after
    *others, last = (subgroups(method.evaluation, report.groups) for method in methods)
    judged = int(last.enough.sum())
    if judged:
        yield f"With {methods[-1].title}: {gap_sentence(last.average, last.off, judged, str)}"
    rows: list[list[str | Cell]] = []
    for group, *before in zip(*(result.in_order(last) for result in (last, *others)), strict=True):
        gaps = [interval_cell(subgroup.gap, points) for subgroup in (*before, group)]
        rows.append([group.name, f"{group.rows:,}", percent(group.observed), *gaps])
    head = [
        "group",
        "rows",
        wording.observed_label,
        *(f"gap, {method.title}" for method in methods),
    ]
    yield Table(
        "groups",
        head,
        rows[: min(judged, MOST_GROUPS)],
        (
            f"{wording.explain_gaps()} Its 95 % intervals hold for all groups together. {len(last.names):,} groups; at "
            f"most {MOST_GROUPS} are shown."
        ),
    )


def facts(report: Report) -> list[Block]:
    """Facts of the data, and findings while reading them."""
    blocks: list[Block] = [Table("data", [], list(report.facts.items()))]
    if report.source.simulated:
        blocks.insert(
            0, "These data are simulated: drawn from known distributions, not predicted by a model."
        )
    noticed = list(report.data.findings)
    if report.audit is not None:
        noticed = report.audit.beyond(noticed)
    if noticed:
        blocks.append(
            [
                f"{finding.level.capitalize()}: {finding.message} {finding.action}"
                for finding in noticed
            ]
        )
    return blocks


def about_methods(report: Report) -> list[Block]:
    """Methods with their parameters, notes and cost."""
    rows: list[list[str | Cell]] = []
    for method in report.methods:
        about = METHODS[method.name]
        calibrator = method.calibrator
        usual = {f.name: f.default for f in fields(calibrator)}
        changed = [
            f"{name} {value} (by default {usual[name]})"
            if value != usual[name]
            else f"{name} {value}"
            for name, value in calibrator.get_params().items()
        ]
        measured = method.fit_seconds == method.fit_seconds and method.name != "identity"
        text = f"{about.summary} {about.paper}." if about.paper else about.summary
        rows.append(
            [
                method.title,
                Cell(text, " ".join(calibrator.notes())),
                ", ".join(changed),
                number(method.fit_seconds) if measured else "–",
                device_of(calibrator) if measured else "–",
                number(method.predict_seconds),
            ]
        )
    head = ["method", "what it does", "parameters", "fit, seconds", "fitted on", "predict, seconds"]
    return [
        Table("costs", head, rows, "Seconds are those of the fit and of predicting the test rows.")
    ]


def again(report: Report) -> list[Block]:
    """The command that gives the same numbers, and all versions."""
    where = (
        "In Python, with the same data"
        if report.source.call
        else "In a POSIX shell, in the files' folder"
    )
    lines = Markup("<pre><code>{}</code></pre>").format(command(report))
    text = f"{where}, with calib and the packages below. The same versions give the same numbers; seconds differ."
    installed = {
        **versions(),
        "plotly": plotly.__version__,
        "system": f"{platform.system()} {platform.machine()}",
    }
    return [text, lines, Table("versions", [], list(installed.items()))]


def findings_table(audit: Audit) -> Table:
    """Findings of an audit, one a row: mark, check and sentence."""
    rows: list[list[str | Cell]] = [
        [SEVERITIES[finding.severity], finding.check, finding.sentence]
        for finding in audit.findings
    ]
    return Table("findings", ["", "check", "finding"], rows)
