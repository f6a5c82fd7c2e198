"""The audit on the pages: the head of Data, and the findings by which the other pages open; a worker computes it."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from calib.auditing.findings import MARKS, Audit, Finding, Severity
from calib.auditing.make import audit_arrays
from calib.data import Predictions
from calib.engine import Data
from calib.formatting import NO_BREAK, escape_markdown, listed, plural, points, points_between
from calib.ui import fits
from calib.ui.session import OpenSession

TILES = {
    "labels": "Ranks?",
    "skill": "Better than frequencies?",
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
MOST_GROUPS = 4
ROW_ARRAYS = ("logits", "labels", "groups", "clusters", "weights", "times")
"""Arrays of a data set that an audit needs."""


def audit_of(session: OpenSession) -> Audit:
    """The audit of all rows in the view that the visitor looks at, computed once by a worker."""
    data = session.shown
    bare, rows = rows_to_audit(data)
    what = f"the audit of {plural(len(data), 'row')}"
    found: Audit = fits.ready("audit", what, audit_arrays, bare, session.viewpoint, data=rows)
    return found


def rows_to_audit(data: Predictions) -> tuple[Predictions, Data]:
    """A data set without its arrays, and these as workers map them."""
    arrays = {name: getattr(data, name) for name in ROW_ARRAYS if getattr(data, name) is not None}
    bare = replace(data, features=None, train_features=None, train_labels=None, given_split=None)
    bare = replace(bare, **{name: values[:0] for name, values in arrays.items()})
    return bare, Data(f"{data.sha256} {sorted(arrays)}", arrays)


def head(session: OpenSession) -> None:
    """The verdict as headline, and the checks in a line with mark and number."""
    found = audit_of(session)
    st.header(plain(found.verdict), anchor=False)
    with st.grid(len(TILES), min_column_width=130, gap="small"):
        for check, question in TILES.items():
            finding = found.of(check)
            figure = finding.figure or finding.severity
            color = COLORS[finding.severity]
            with st.container(border=True):
                st.markdown(
                    f":gray[{question}]  \n:{color}[**{MARKS[finding.severity]} {escape_markdown(figure)}**]"
                )


def findings(session: OpenSession) -> None:
    """Problems and cautions as rows, the worst first; what is fine or untested is folded."""
    found = audit_of(session)
    open_ones = [each for each in found.findings if each.severity in ("problem", "caution")]
    for finding in open_ones:
        if finding.check != "remedy":  # the verdict ends with it
            st.markdown(line(finding))
            show_groups(finding)
    fine = [each for each in found.findings if each.severity == "fine"]
    untested = [each for each in found.findings if each.severity == "untested"]
    titles = [f"{word}: {listed([each.check for each in some])}" for word, some in
              (("Fine", fine), ("not tested", untested)) if some]  # fmt: skip
    with st.expander("; ".join(titles)):
        for finding in (*fine, *untested):
            st.markdown(line(finding))


def line(finding: Finding) -> str:
    """A finding in Markdown: mark, check and sentence."""
    color = COLORS[finding.severity]
    mark = f":{color}[**{MARKS[finding.severity]}**]"
    return f"{mark} **{finding.check.capitalize()}:** {plain(finding.sentence)}"


def plain(sentence: str) -> str:
    """A sentence of the audit within Markdown, in which numbers keep their unit on one line."""
    return escape_markdown(sentence).replace(" %", f"{NO_BREAK}%")


def show_groups(finding: Finding) -> None:
    """The groups or periods of a finding with their joint intervals."""
    lines = [
        f"{escape_markdown(group.name)}: **{points(group.gap.value)} points** "
        f"({points_between(group.gap.low, group.gap.high)}) · {plural(group.rows, 'row')}"
        for group in finding.groups[:MOST_GROUPS]
    ]
    if lines:
        st.caption("  \n".join(lines))


def lead(session: OpenSession, page: str, *more: str) -> None:
    """Open a page with its findings and those of more checks: what is off, or else the first that is fine."""
    own = [
        each
        for each in audit_of(session).findings
        if each.page == page or each.check in more or (each.check, each.severity) == MISMATCH
    ]
    off = [each for each in own if each.severity in ("problem", "caution")]
    fine = [each for each in own if each.severity == "fine"]
    for finding in off or [each for each in fine if each.check in more] or fine[:1]:
        st.markdown(line(finding))


def is_usable(session: OpenSession) -> bool:
    """Whether a calibrator of these outputs is worth an export."""
    return audit_of(session).of("remedy").severity != "problem"
