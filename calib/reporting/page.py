"""A report as one HTML file that asks nothing of the network: a first page, then sections that fold."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from calib.base import Progress
from calib.evaluation.claims import Claims
from calib.evaluation.compare import table_of
from calib.reporting import figures
from calib.reporting.blocks import Section, environment
from calib.reporting.contents import Report
from calib.reporting.sections import sections

USUAL = 6
"""Sections of a report, for its progress."""


def html(report: Report, callback: Progress | None = None) -> str:
    """The report as one HTML document, which begins with what matters for its data.

    Of an event that is the panel of a risk model, of answers what can be answered, of other data what to take.

    Parameters
    ----------
    report : see :meth:`calib.reporting.Report.from_comparison`.
    callback : is told of each section that is done.
    """
    done: list[Section] = []
    for section in sections(report):
        done.append(section)
        if callback is not None:
            callback(len(done), max(len(done), USUAL), math.nan)
    return (
        environment()
        .get_template("report.html")
        .render(report=report, first=done[0], sections=done[1:], policy=figures.policy(), scripts=figures.scripts())
    )


def html_of_fits(*, data: Mapping[str, Any], callback: Progress) -> str:
    """The report of methods that were judged before, as a worker makes it.

    Parameters
    ----------
    data : ``report``, all but its table, and ``resampled``, the scores of its methods on shared resamples, by key.
    """
    report = data["report"]
    evaluations = {method.key: method.evaluation for method in report.methods}
    table = table_of(Claims(data["resampled"]), evaluations)
    return html(replace(report, table=table), callback)
