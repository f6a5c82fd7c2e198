"""The audit on the pages: the head of Data, and the findings by which the other pages open; a worker computes it."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import streamlit as st

from calib.auditing.findings import MARKS, Audit, Finding, Severity
from calib.auditing.make import audit_arrays
from calib.data import Predictions
from calib.engine import Data
from calib.formatting import NO_BREAK, escape_markdown, listed, plural
from calib.metrics.bootstrap import Interval
from calib.plots.methods_table import WIDTH, small_intervals
from calib.ui import fits
from calib.ui.link import page_link
from calib.ui.menu import entry_of
from calib.ui.session import OpenSession

TILES = {
    "labels": "Ranks?",
    "skill": "Informative?",
    "level": "Level?",
    "spread": "Spread?",
    "groups": "Groups?",
    "time": "Over time?",
}
"""Checks that have a tile, with its question."""
COLORS: dict[Severity, str] = {
    "problem": "orange",
    "caution": "orange",
    "fine": "green",
    "untested": "gray",
}
MISMATCH = "labels", "problem"
"""The finding that every page shows, since all others are nonsense with it."""
NOT_THERE = {"groups": "no groups", "time": "no times"}
"""Data that a check lacks which was not tested."""
MOST_FINDINGS = 3
POINTS = 100.0
REFERENCES = {
    "labels": (0.5, "AUROC of chance: .5", 1.0),
    "skill": (0.0, "0: class frequencies", 1.0),
    "level": (0.0, "0 points", POINTS),
    "spread": (1.0, "slope 1", 1.0),
    "shape": (0.0, "0 nats", 1.0),
}
"""Value of an estimate at which nothing is off, its title, and the factor to its unit, by check."""
MARK_COLOR = "#D55E00"
ROW_ARRAYS = ("logits", "labels", "groups", "clusters", "weights", "times")
"""Arrays of a data set that an audit needs."""


def audit_of(session: OpenSession) -> Audit:
    """The audit of all rows in the view that the visitor looks at, computed once by a worker."""
    data = session.shown
    bare, rows = rows_to_audit(data)
    what = f"the audit of {plural(len(data), 'row')}"
    audit: Audit = fits.ready("audit", what, audit_arrays, bare, session.viewpoint, data=rows)
    return audit


def rows_to_audit(data: Predictions) -> tuple[Predictions, Data]:
    """A data set without its arrays, and these as workers map them."""
    arrays = {name: getattr(data, name) for name in ROW_ARRAYS if getattr(data, name) is not None}
    bare = replace(data, features=None, train_features=None, train_labels=None, given_split=None)
    bare = replace(bare, **{name: values[:0] for name, values in arrays.items()})
    return bare, Data(f"{data.sha256} {sorted(arrays)}", arrays)


def head(session: OpenSession) -> None:
    """The verdict as headline, and the checks in a line with mark, number and the page that shows more."""
    audit = audit_of(session)
    st.header(plain(audit.verdict), anchor=False)
    with st.grid(len(TILES), min_column_width=130, gap="small"):
        for check, question in TILES.items():
            finding = audit.of(check)
            figure = finding.figure or NOT_THERE.get(check, finding.severity)
            color = COLORS[finding.severity]
            with st.container(border=True, height="stretch", gap="xxsmall", key=f"tile/{check}"):
                if finding.page == "Data":
                    st.markdown(f":small[{question}]")
                else:
                    page_link(entry_of(finding.page).path, question)
                st.markdown(f":{color}[**{MARKS[finding.severity]} {plain(figure)}**]")


def findings(session: OpenSession) -> None:
    """The worst three findings as rows, and all others folded in one line."""
    audit = audit_of(session)
    # The verdict ends with the remedy.
    others = [finding for finding in audit.findings if finding.check != "remedy"]
    off = [finding for finding in others if finding.severity in ("problem", "caution")]
    for finding in off[:MOST_FINDINGS]:
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            with st.container(width="stretch", key=f"finding/{finding.check}"):
                st.markdown(line(finding))
            if small := picture(finding, audit):
                st.html(small, width=WIDTH)
    rest = [finding for finding in others if finding not in off[:MOST_FINDINGS]]
    names = {
        "Also": [finding.check for finding in off[MOST_FINDINGS:]],
        "Fine": [finding.check for finding in rest if finding.severity == "fine"],
        "not tested": [finding.check for finding in rest if finding.severity == "untested"],
    }
    titles = [f"{word}: {listed(checks)}" for word, checks in names.items() if checks]
    with st.expander("; ".join(titles)):
        for finding in rest:
            st.markdown(line(finding))


def picture(finding: Finding, audit: Audit) -> str:
    """Return a finding's interval, or those of its groups against the gap of all rows, as a small picture."""
    reference, title, unit = REFERENCES.get(finding.check, (0.0, "", 1.0))
    level = audit.of("level").estimate
    if finding.groups and level is not None:
        reference, title, unit = POINTS * level.value, "gap of all rows, points", POINTS
    rows = [(group.name, group.gap) for group in finding.groups[:MOST_FINDINGS]]
    if not rows and finding.estimate is not None:
        rows = [("", finding.estimate)]
    scaled = [(name, Interval(*(unit * part for part in interval))) for name, interval in rows]
    if not title or not scaled or not np.isfinite([interval for _, interval in scaled]).all():
        return ""
    return small_intervals(scaled, reference, title, MARK_COLOR)


def line(finding: Finding) -> str:
    """A finding in Markdown: mark, check and sentence."""
    color = COLORS[finding.severity]
    mark = f":{color}[**{MARKS[finding.severity]}**]"
    return f"{mark} **{finding.check.capitalize()}:** {plain(finding.sentence)}"


def plain(sentence: str) -> str:
    """A sentence of the audit within Markdown, in which numbers keep sign and unit on one line."""
    return re.sub(r"(?<=[<>]) | (?=%)", NO_BREAK, escape_markdown(sentence))


def lead(session: OpenSession, page: str, *more: str) -> None:
    """Open a page with its findings and those of more checks: what is off, or else the first that is fine."""
    relevant = [
        finding
        for finding in audit_of(session).findings
        if finding.page == page
        or finding.check in more
        or (finding.check, finding.severity) == MISMATCH
    ]
    off = [finding for finding in relevant if finding.severity in ("problem", "caution")]
    fine = [finding for finding in relevant if finding.severity == "fine"]
    for finding in off or [finding for finding in fine if finding.check in more] or fine[:1]:
        st.markdown(line(finding))


def is_usable(session: OpenSession) -> bool:
    """Return whether a calibrator of these outputs is worth an export."""
    return audit_of(session).of("remedy").severity != "problem"


def next_step(session: OpenSession) -> str:
    """Name of the step that follows from the remedy: "labels", "weights", "groups", "fit" or "none"."""
    audit = audit_of(session)
    if audit.of("labels").severity == "problem":
        return "labels"
    off = audit.of("weights").severity in ("problem", "caution")
    if off and session.data.weights is not None and session.data.confirmed_weights is None:
        return "weights"
    if audit.column:
        return "groups"
    if audit.methods:
        return "fit"
    return "groups" if audit.of("groups").severity == "problem" and is_usable(session) else "none"
