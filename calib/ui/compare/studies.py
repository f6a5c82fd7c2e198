"""The table of all scores; and whether other splits agree, fitted in the background."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import partial
from operator import attrgetter
from typing import Self

import pandas as pd
import streamlit as st
from pandas.io.formats.style import Styler

from calib.calibrators.backend import on_cpu
from calib.engine import TaskSpec
from calib.evaluation import SCORES
from calib.evaluation.comparison_table import (
    CONFIDENCE_ONLY,
    MARKS_SAID,
    describe_weights,
    first_scores,
    score_rows,
    verdict,
)
from calib.evaluation.score_registry import EVENT_RATE, describe_intervals
from calib.evaluation.studies import SPLITS, repeat_task, summarise_splits
from calib.evaluation.view import TOP_LABEL, View
from calib.formatting import escape_markdown, listed, plural
from calib.ui import progress, widgets
from calib.ui.compare.recommendation import comparison_table
from calib.ui.fits import ShownFit
from calib.ui.session import OpenSession, current_session, keep
from calib.ui.widgets import show_table

BEGIN = ("NLL", "Brier", "accuracy", "ECE")
# Over- and underconfidence give the sign of the gap, and the event rate is the same for all methods.
SHOWN = tuple(key for key in SCORES if key not in ("signed gap", EVENT_RATE))
COLUMNS = 5
"""Number of scores beside each other in a window of 1500 pixels; more go below."""


def all_scores(session: OpenSession, fits: list[ShownFit]) -> None:
    """Methods by scores: value, interval, and whether it differs from the raw model; the best is marked."""
    table = comparison_table(fits)
    view = fits[0].evaluation.view
    there = [key for key in SHOWN if key in set(table["score"])]
    keys = st.pills(
        "Scores",
        there,
        selection_mode="multi",
        default=first_scores(table, BEGIN),
        key="compare/columns",
        persist_state="session",
        format_func=lambda key: SCORES[key].seen(view).title,
        wrap=True,
    )
    chosen = [key for key in there if key in keys]
    for first in range(0, len(chosen), COLUMNS):
        part = chosen[first : first + COLUMNS]
        verdicts = table[["method", "verdict"]].itertuples(index=False, name=None)
        show_scores(
            keep(("table", *part, *verdicts), partial(styled_scores, table, part, view=view))
        )
    st.caption(
        f"A click on a score sorts by it. {MARKS_SAID}. 95\u00a0% intervals in brackets; a "
        "calibration error is biased upwards by noise, so its interval reaches further down than up. The marks stand "
        "on paired differences, with intervals that hold for all comparisons together. "
        f"{view.wording.over_under_title} are not good or bad in themselves."
    )
    if sentence := describe_intervals(fits[0].evaluation.n_clusters):
        st.caption(sentence)
    if sentence := describe_weights(session.test):
        st.caption(sentence)
    clipped = [
        f"{plural(fit.evaluation.n_clipped, 'row')} of {fit.title}"
        for fit in fits
        if fit.evaluation.n_clipped
    ]
    if clipped:
        st.caption(
            f"The NLL counts probabilities below 1e-15 as 1e-15, as the papers do: {', '.join(clipped)}."
        )
    widgets.csv("All scores as CSV", "compare/csv", "comparison.csv", lambda: table, of=(table,))


def styled_scores(
    table: pd.DataFrame,
    keys: Sequence[str],
    spread: bool = False,
    view: View = TOP_LABEL,
) -> Styler:
    """One row per method and one column per score; cells hold numbers and show text.

    Parameters
    ----------
    table : tidy, as from :func:`calib.evaluation.compare.table_of` or
        :func:`calib.evaluation.studies.summarise_splits`.
    keys : scores to show.
    spread : whether they show the standard deviation over splits.
    view : in whose words scores are named.
    """
    rows = score_rows(table, keys)
    columns = [SCORES[key].seen(view).title for key in keys]
    values = [
        [Shown(cell.value.value, cell.text(spread=spread)) for cell in row.cells.values()]
        for row in rows
    ]
    frame = pd.DataFrame(values, columns=columns, dtype=object)
    frame.insert(0, "method", [row.title for row in rows])
    return frame.style.format(attrgetter("text"), subset=list[Hashable](columns), na_rep="–")


def show_scores(styler: Styler) -> None:
    """Draw the table with the methods held at the left."""
    show_table(styler, "method", width="stretch", height="content", placeholder="–")


class Shown(float):
    """A number with the text that stands for it: equal numbers may have other intervals."""

    text: str

    def __new__(cls, value: float, text: str) -> Self:
        """The number."""
        number = super().__new__(cls, value)
        number.text = text
        return number


TABLE = ("NLL", "Brier", "accuracy", "ECE")
N_SPLITS = 10


def repeated(session: OpenSession, fits: list[ShownFit]) -> None:
    """Show whether other splits agree."""
    st.write(
        f"Every method is fitted again on {N_SPLITS} random splits of all rows, as the papers do. The intervals allow "
        "for splits that share most of their rows (Nadeau and Bengio 2003)."
    )
    _offer_splits(session, fits[1:])
    if (splits := progress.result_of(SPLITS)) is not None:
        _repeated_result(splits, session.studies[SPLITS].key)


def _offer_splits(session: OpenSession, fits: list[ShownFit]) -> None:
    """The button that starts the fits, and how long they take at most."""
    arguments = (
        [(fit.title, fit.method, dict(session.specs[fit.key].params)) for fit in fits],
        len(session.calibration),
        N_SPLITS,
        session.seed,
        session.view.column,
    )
    label = f"Repeat on {N_SPLITS} splits"
    title = f"{label}: {listed([fit.title for fit in fits])}"
    spec = TaskSpec(repeat_task, arguments, session.data.sha256, title)
    # Processor time does not count what else ran then; on the GPU there is the time alone.
    costs = [fit.cpu_seconds if on_cpu(fit.calibrator) else fit.fit_seconds for fit in fits]
    seconds = N_SPLITS * (sum(costs) + sum(fit.predict_seconds for fit in fits))
    with st.container(horizontal=True, vertical_alignment="center"):
        st.button(
            label,
            key=f"study/{SPLITS}/start",
            icon=":material/play_arrow:",
            on_click=progress.start,
            args=(SPLITS, spec),
        )
        st.caption(
            f"At most {progress.about(seconds)} of processor time in the background; you can go on meanwhile."
        )


def _repeated_result(splits: pd.DataFrame, key: str) -> None:
    table = keep(("splits", key), lambda: summarise_splits(splits))
    n_splits = int(table["n_splits"].max())
    scores = ["NLL", *(["ECE"] if (table["note"] == CONFIDENCE_ONLY).any() else [])]
    for score in scores:
        st.markdown(verdict(table, score, f"over {n_splits} splits"))
    keys = [score for score in TABLE if score in set(table["score"])]
    show_scores(
        keep(
            ("splits table", key),
            partial(styled_scores, table, keys, True, current_session().view),
        )
    )
    st.caption(
        "Mean over splits ± standard deviation from split to split, with the 95\u00a0% interval of the mean in "
        f"brackets. {MARKS_SAID}, 95\u00a0% for all pairs of methods together."
    )
    failed = table[
        (table["note"] != "") & table["n_splits"].between(1, n_splits - 1)
    ].drop_duplicates("method")
    for title, note in zip(failed["title"], failed["note"], strict=True):
        st.caption(escape_markdown(f"{title}: {note}"))
    widgets.csv("All numbers as CSV", "study/splits/csv", "splits.csv", lambda: table, of=(table,))
