"""A comparison as one HTML file that needs nothing but itself.

Figures are SVG: sharp on paper, a few hundred kilobytes in place of the 4.5 MB of a script that draws them, and there
wherever scripts are not, as in mail and previews. So the file's own policy can forbid scripts and every request, and a
class name that is HTML would do nothing even if it were not escaped.
"""

from __future__ import annotations

import base64
import hashlib
import math
from collections.abc import Callable, Mapping
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from calib import formatting
from calib.base import Progress
from calib.calibrators.one_vs_rest import SHARING, OneVsRest
from calib.evaluation.claims import Claims
from calib.evaluation.compare import table_of
from calib.evaluation.comparison_table import MARKS, MARKS_SAID, verdict_paragraphs
from calib.evaluation.scored import said_of_intervals
from calib.formatting import safe_table
from calib.registry import said_of_kind
from calib.reporting import sections
from calib.reporting.answers import answer_values
from calib.reporting.contents import Report, commands, recommended
from calib.reporting.risk_model import risk_values
from calib.reporting.svg import printable


def html(report: Report, callback: Progress | None = None) -> str:
    """The report as one HTML document: of a risk model, of answers, or of methods, as ``report.form`` says.

    Parameters
    ----------
    report : see :meth:`calib.reporting.Report.from_comparison`.
    callback : is told of each part that is done.
    """
    steps, total = count(1), len(report.methods) + 4

    def done() -> None:
        if callback is not None:
            callback(next(steps), total, math.nan)

    rows = report.rows
    if report.form == "risk model" and rows is not None:
        name, values = "risk_model.html", risk_values(report, rows, done)
    elif report.form == "answers" and rows is not None:
        name, values = "answers.html", answer_values(report, rows, done)
    else:
        name, values = "page.html", _comparison_values(report, done)
    return templates().get_template(name).render({**_common_values(report, done), **values})


def _common_values(report: Report, done: Callable[[], None]) -> dict[str, Any]:
    """What every report tells: the verdict, the methods and their scores, the data, and how to make it again."""
    style = templates().get_template("stylesheet.css").render()
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    score_titles, overview = sections.overview(report.table, report.view)
    titles = {method.key: method.title for method in report.methods}
    scale, diagrams = sections.reliability(report.methods, sections.small(report.view), done)
    shared = report.data.n_classes > 2 and any(isinstance(m.calibrator, OneVsRest) for m in report.methods)
    return {
        "report": report,
        "data": report.data,
        "view": report.view,
        "n_calibrators": len(report.methods) - 1,
        "simulated": sections.is_simulated(report),
        "style": Markup(style),
        "policy": f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'",
        "verdict": verdict_paragraphs(report.table, report.recommendation),
        "lead": "" if report.recommendation is None else report.recommendation.sentences(titles.__getitem__)[0],
        "facts": sections.data_facts(report),
        "score_titles": score_titles,
        "overview": overview,
        "csv": base64.b64encode(safe_table(report.table).to_csv(index=False).encode()).decode(),
        "scale": scale,
        "diagrams": diagrams,
        "cards": [sections.method_card(method) for method in report.methods],
        "sharing": SHARING if shared else "",
        "clusters": said_of_intervals(report.methods[0].evaluation.n_clusters),
        "left_out_methods": said_of_kind(report.data),
        "commands": commands(report),
        "versions": sections.version_facts(),
    }


def _comparison_values(report: Report, done: Callable[[], None]) -> dict[str, Any]:
    """What a report of methods tells beyond that."""
    chosen = recommended(report)
    values: dict[str, Any] = {"chosen": chosen, "gains": sections.gains(report, chosen)}
    values["figures"] = sections.answer_figures(report, chosen)
    done()
    values["over_under_figures"], values["over_under"] = sections.over_and_under(report.methods)
    done()
    values["scores"] = sections.score_sections(report)
    done()
    return values


def html_of_fits(about: Mapping[str, Any], *, data: Mapping[str, Any], callback: Progress) -> str:
    """The report of methods that were judged before, as a worker makes it.

    Parameters
    ----------
    about : ``part`` and ``seed`` of the split, ``relevant``, the smallest relevant differences that were changed, and
        ``general``, whether methods are compared whatever the data are.
    data : ``summary``, ``methods``, ``source``, ``recommendation`` and ``rows`` of a :class:`Report`, and
        ``resampled``, the scores of the methods on shared resamples, by key.
    """
    evaluations = {method.key: method.evaluation for method in data["methods"]}
    table = table_of(Claims(data["resampled"], relevant=about["relevant"]), evaluations)
    parts = data["methods"], table, data["source"], data["recommendation"]
    report = Report(
        data["summary"], about["part"], about["seed"], *parts, rows=data["rows"], general=about["general"]
    )  # fmt: skip
    return html(report, callback)


@cache
def templates() -> Environment:
    """The templates, in which every text is escaped unless it is markup made here."""
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=True,
        finalize=printable,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals |= {
        "MARKS": MARKS,
        "MARKS_SAID": MARKS_SAID,
        "brackets": formatting.brackets,
        "number": formatting.number,
        "percent": formatting.percent,
        "plural": formatting.plural,
        "signed": formatting.signed,
        "with_interval": formatting.with_interval,
    }
    return environment
