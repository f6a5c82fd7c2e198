"""A report as one HTML file that asks nothing of the network: a first page, then sections that fold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from calib.base import Progress
from calib.evaluation.claims import Claims
from calib.evaluation.compare import table_of
from calib.reporting import figures
from calib.reporting.blocks import environment
from calib.reporting.contents import Report
from calib.reporting.sections import sections


def html(report: Report) -> str:
    """The report as one HTML document, which begins with what matters for its data.

    Of an event that is the panel of a risk model, of answers what can be answered, of other data what to take.

    Parameters
    ----------
    report : Report
        See :meth:`calib.reporting.Report.from_comparison`.

    Returns
    -------
    str
        Needs no other file.
    """
    first, *more = sections(report)
    template = environment().get_template("report.html")
    shown = {"report": report, "first": first, "sections": more}
    return template.render(**shown, policy=figures.policy(), scripts=figures.scripts())


def html_of_fits(*, data: Mapping[str, Any], callback: Progress) -> str:
    """The report of methods that were judged before, as a worker makes it.

    Parameters
    ----------
    data : mapping of str to object
        ``report``, all but its table, and ``resampled``, the scores of its methods on shared resamples, by key.
    callback : callable
        Not called; workers give one to whatever they run.

    Returns
    -------
    str
        As :func:`html` writes it.
    """
    report = data["report"]
    evaluations = {method.key: method.evaluation for method in report.methods}
    table = table_of(Claims(data["resampled"]), evaluations)
    return html(replace(report, table=table))
