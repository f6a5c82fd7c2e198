"""Sentences of several pages, names from files within Markdown, and notices for the next page drawn.

Pages write Markdown, and nothing that came from a file may be that. Sentences made below the pages (findings, errors,
notes, messages of fits) are plain text, and escaped as a whole where they are shown; sentences with emphasis are made
for pages alone, and a name in one of them is a :func:`literal`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

import streamlit as st

from calib.evaluation import Evaluation
from calib.evaluation.claims import FEW_ROWS
from calib.evaluation.view import View
from calib.formatting import escape_markdown, number, percent, with_interval
from calib.metrics.bootstrap import Interval

_BINNING_NAMES = {"imax": "I-Max", "kmeans": "k-means"}

NOTICES = "calib_notices"


def binning_name(binning: str) -> str:
    """How an entry of ``calib.metrics.BINNINGS`` is called on every page: its own words, unless it is a name."""
    return _BINNING_NAMES.get(binning, binning.replace("_", " "))


def confidence_sentence(evaluation: Evaluation, subject: str, extremes: str) -> str:
    """Whether what is said exceeds what came true, by how much, and whether the difference is significant.

    The gap is mean confidence minus accuracy, or mean predicted risk minus observed rate; its standard error is that
    of the mean of the row-wise difference, so a gap within two of them is not significant. ``extremes`` comes from
    :func:`calib.ui.fits.extremes_of`.
    """
    view, (said, outcome) = evaluation.view, evaluation.pair
    gap, n = evaluation.signed_gap, len(outcome)
    # The spread of a few rows is uncertain: differences of values in [0, 1] then count as if half of them were 1.
    spread = max(float((said - outcome).std()), 0.5 if n < FEW_ROWS else 0) / math.sqrt(n)
    facts = f"{view.mean_said} {percent(float(said.mean()))}, {view.outcome} {percent(float(outcome.mean()))}"
    more = f" {extremes}" if extremes else ""
    if abs(gap) <= max(2 * spread, 0.0005):
        return (
            f"{subject} {view.is_}**{view.neither}{of_event(view)} on average**: {facts}, "
            f"no significant difference (95\u00a0%: ±{200 * spread:.1f} points).{more}"
        )
    word = view.over if gap > 0 else view.under
    amount = f"{100 * abs(gap):.1f} points"
    return (
        f"{subject} {view.is_}**{word}{of_event(view)} by {amount}** (95\u00a0%: ±{200 * spread:.1f}): {facts}.{more}"
    )


def of_event(view: View) -> str:
    """What comes behind "the risk" in Markdown: " of default"; nothing where no event is looked at."""
    return f" of {literal(view.event_name)}" if view.event_name else ""


def interval_cell(interval: Interval | None, write: Callable[[float], str] = number) -> str:
    """A value with its interval in a cell of a table: 1.2 [1.1, 1.3]."""
    return "–" if interval is None or math.isnan(interval.value) else with_interval(interval, write)


def percents(interval: Interval, digits: int = 1) -> str:
    """The ends of an interval of a share: 4.1 % to 6.3 %."""
    return f"{percent(interval.low, digits)} to {percent(interval.high, digits)}"


def mean_nll(evaluation: Evaluation) -> float:
    """NLL of an evaluation; infinite for methods that give a confidence only, so that they sort last."""
    return math.inf if evaluation.row_nll is None else float(evaluation.row_nll.mean())


def literal(name: str, longest: int = 40) -> str:
    """A name that was not written here: shortened, on one line, and read as nothing more than text.

    An empty or blank one is called "(empty)", so that no sentence has a hole.
    """
    return escape_markdown(name if len(name) <= longest else name[: longest - 1] + "…") or "(empty)"


def show_notes(notes: Iterable[str], first: str = "") -> None:
    """What else a person should know, such as how a fit ended: plain sentences, one a line, after a first line."""
    lines = [*([first] if first else []), *(f":material/info: {escape_markdown(note)}" for note in notes)]
    if lines:
        st.caption("  \n".join(lines))


def add_notice(text: str) -> None:
    """Add a plain sentence to the pending notices."""
    st.session_state.setdefault(NOTICES, []).append(text)


def show_pending_notices() -> None:
    """Show them, once."""
    for text in st.session_state.pop(NOTICES, []):
        st.info(escape_markdown(text), icon=":material/history:")
