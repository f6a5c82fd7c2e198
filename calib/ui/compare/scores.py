"""Tables of scores that sort by them, and questions of the Compare page: all scores, weighted, shared maps, costs."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import partial
from typing import Any, Self

import pandas as pd
import streamlit as st
from pandas.io.formats.style import Styler

from calib.base import Calibrator
from calib.calibrators.backend import device_of
from calib.calibrators.one_vs_rest import SHARING, with_other_sharing
from calib.evaluation import SCORES
from calib.evaluation.comparison_table import MARKS_SAID, first_scores, score_rows
from calib.evaluation.score_definitions import EVENT_RATE
from calib.evaluation.scored import said_of_intervals
from calib.evaluation.view import TOP_LABEL, View
from calib.evaluation.weighted import said_of_weights, weighted_rows
from calib.formatting import number, percent, plural
from calib.metrics.bootstrap import Interval
from calib.registry import METHODS, title_of
from calib.ui import widgets
from calib.ui.compare.answer import comparison_table
from calib.ui.fits import ShownFit, cancel, jobs, remove, submit
from calib.ui.session import OpenSession, keep
from calib.ui.text import mean_nll
from calib.ui.widgets import show_table

BEGIN = ("NLL", "Brier", "accuracy", "ECE", "class-wise ECE")
# Over- and underconfidence give the sign of the gap, and the event rate is the same for all methods.
SHOWN = tuple(key for key in SCORES if key not in ("signed gap", EVENT_RATE))
_COLUMNS = {True: 5, False: 8}
"""So many scores fit beside each other in a window of 1500 pixels, with their intervals and without; more go below."""
COUNTERPARTS = "compare/counterparts"
"""Keys of the fits that were asked for here and not on the Fit page, in Streamlit's session state."""


def all_scores(fits: list[ShownFit]) -> None:
    """Methods by scores: value, interval, and whether it differs from the raw model; the best is marked."""
    table, view = comparison_table(fits), fits[0].evaluation.view
    there = [key for key in SHOWN if key in set(table["score"])]
    left, right = st.columns([5, 1], vertical_alignment="bottom")
    keys = left.multiselect(
        "Scores", there, first_scores(table, BEGIN), key="compare/columns", persist_state="session",
        format_func=lambda key: SCORES[key].seen(view).title,
    )  # fmt: skip
    intervals = right.toggle("Intervals", value=True, key="compare/intervals", persist_state="session")
    chosen, most = [key for key in there if key in keys], _COLUMNS[intervals]
    for first in range(0, len(chosen), most):
        part = chosen[first : first + most]
        name = ("table", intervals, *part, *table[["method", "verdict"]].itertuples(index=False, name=None))
        show_scores(keep(name, partial(styled_scores, table, part, intervals, view=view)))
    st.caption(
        f"A click on a score sorts by it. {MARKS_SAID}. 95\u00a0% intervals in brackets; a "
        "calibration error is biased upwards by noise, so its interval reaches further down than up. The marks stand "
        "on paired differences, with intervals that hold for all comparisons together. "
        f"{view.overconfidence.capitalize()} and {view.underconfidence} are not good or bad in themselves."
    )
    if said := said_of_intervals(fits[0].evaluation.n_clusters):
        st.caption(said)
    clipped = [f"{plural(fit.evaluation.n_clipped, 'row')} of {fit.title}" for fit in fits if fit.evaluation.n_clipped]
    if clipped:
        st.caption(f"The NLL counts probabilities below 1e-15 as 1e-15, as the papers do: {', '.join(clipped)}.")
    widgets.csv("All scores as CSV", "compare/csv", "comparison.csv", lambda: table, of=(table,))


def weighted_scores(session: OpenSession, fits: list[ShownFit]) -> None:
    """Weighted beside unweighted scores, where the meaning of the test rows' weights was said."""
    if rows := weighted_rows(comparison_table(fits), fits[0].evaluation.view):
        heading, *cells = rows
        show_table(pd.DataFrame(cells, columns=heading), heading[0])
    st.caption(said_of_weights(session.test))


def costs(fits: list[ShownFit]) -> None:
    """What each method took to fit and to predict the test set."""
    table = pd.DataFrame(
        [
            {
                "method": fit.title,
                "fit, seconds": fit.fit_seconds or None,
                "fitted on": device_of(fit.calibrator) if fit.fit_seconds else "–",
                "predict the test rows, seconds": fit.predict_seconds,
            }
            for fit in fits
        ]
    )
    numbers = table.style.format(_seconds, subset=["fit, seconds", "predict the test rows, seconds"])
    show_table(numbers, height="content", placeholder="–")


def _seconds(value: Any) -> str:
    return number(value)


def styled_scores(
    table: pd.DataFrame, keys: Sequence[str], intervals: bool, spread: bool = False, view: View = TOP_LABEL
) -> Styler:
    """One row per method and one column per score; cells hold numbers and show text.

    Parameters
    ----------
    table : tidy, as from :func:`calib.evaluation.compare.compare_evaluations` or
        :func:`calib.evaluation.repeated_splits.summarise_splits`.
    keys : scores to show.
    intervals : whether cells show the interval.
    spread : whether they show the standard deviation over splits.
    view : in whose words scores are named.
    """
    rows = score_rows(table, keys)
    columns = [SCORES[key].seen(view).title for key in keys]
    values = [
        [Shown(cell.value.value, cell.text(intervals=intervals, spread=spread)) for cell in row.cells.values()]
        for row in rows
    ]
    frame = pd.DataFrame(values, columns=columns, dtype=object)
    frame.insert(0, "method", [row.title for row in rows])
    return frame.style.format(shown_text, subset=list[Hashable](columns), na_rep="–")


def show_scores(styler: Styler) -> None:
    """Draw the table with the methods held at the left."""
    show_table(styler, "method", len(styler.columns), width="stretch", height="content", placeholder="–")


class Shown(float):
    """A number with the text that stands for it: equal numbers may have other intervals."""

    text: str

    def __new__(cls, value: float, text: str) -> Self:
        """The number."""
        number = super().__new__(cls, value)
        number.text = text
        return number


def shown_text(cell: Any) -> str:
    """What a cell shows that holds a :class:`Shown`."""
    return str(cell.text)


def can_be_shared(fits: Sequence[ShownFit]) -> bool:
    """Whether any of the fits has a counterpart with the other sharing."""
    return any(_counterpart(fit) is not None for fit in fits)


def shared_maps(session: OpenSession, fits: list[ShownFit]) -> None:
    """The counterparts on request, and what sharing does."""
    _toggle(session, fits)
    _words(fits)


def _toggle(session: OpenSession, fits: list[ShownFit]) -> None:
    """Offer to fit the counterparts of all one-vs-rest fits: class-wise of shared ones, and the other way round.

    Turned off again, those that were asked for here leave the pages. Of two classes there is but one map to share.
    """
    asked: list[str] = st.session_state.setdefault(COUNTERPARTS, [])
    ours = [key for key in asked if key in session.specs]
    able = {fit.title: fit for fit in fits if fit.key not in ours and _counterpart(fit) is not None}
    if not able:
        return
    if session.data.n_classes == 2:
        st.caption("Shared and class-wise maps are the same here: two classes need one map alone.")
        return
    wanted = st.toggle(
        "Shared and class-wise maps",
        key="compare/sharing",
        persist_state="session",
        help=f"Fits each one-vs-rest method both ways. {SHARING} Sharing is for few rows per class (their table 3).",
    )
    if not wanted and ours:
        for key in ours:
            cancel(key)
            remove(key)
        asked.clear()
        st.rerun()
    if not wanted:
        return
    there, missing = {spec.title for spec in session.specs.values()}, False
    for fit in able.values():
        other = _counterpart(fit)
        if other is not None and _title(fit, other) not in there:
            before, missing = set(session.specs), True
            submit(fit.method, other.get_params())
            asked.extend(key for key in session.specs if key not in before)
    if missing:
        st.rerun()  # the menu, which follows fits, was drawn before these
    active = sum(job.active for job in jobs() if job.key in ours)
    if active:
        st.caption(f"{plural(active, 'counterpart')} being fitted.")


def _words(fits: list[ShownFit]) -> None:
    """What sharing does to accuracy and NLL, one line for each method that is there both ways."""
    by_title = {fit.title: fit for fit in fits}
    lines = []
    for fit in fits:
        other = _counterpart(fit)
        apart = by_title.get(_title(fit, other)) if other is not None else None
        if apart is not None and fit.calibrator.get_params()["share_classes"]:
            lines.append(f"- **{fit.title}** against {apart.title}: {_difference(fit, apart)}.")
    if lines:
        st.markdown("\n".join(lines))


def _difference(fit: ShownFit, other: ShownFit) -> str:
    """Differences of accuracy and NLL in words, and whether they are significant; paired over the test rows."""
    differences = keep(("sharing", fit.key, other.key), lambda: fit.scores.differences(other.scores))
    accuracy, nll = differences["accuracy"], differences["NLL"]
    right, right_other = (float(each.evaluation.correct.mean()) for each in (fit, other))
    loss, loss_other = (mean_nll(each.evaluation) for each in (fit, other))
    return (
        f"accuracy {_amount(accuracy, f'{100 * abs(accuracy.value):.1f} points')} "
        f"({percent(right)} against {percent(right_other)}), "
        f"NLL {_amount(nll, number(abs(nll.value)))} "
        f"({number(loss)} against {number(loss_other)})"
    )


def _amount(difference: Interval, amount: str) -> str:
    if difference.value == 0:
        return "the same"
    chance = " (no significant difference)" if difference.low <= 0 <= difference.high else ""
    return f"{amount} {'higher' if difference.value > 0 else 'lower'}{chance}"


def _counterpart(fit: ShownFit) -> Calibrator | None:
    """The same method with the other sharing; None where there is nothing to share, or it would take long."""
    return with_other_sharing(fit.calibrator) if METHODS[fit.method].fast else None


def _title(fit: ShownFit, other: Calibrator) -> str:
    return title_of(other, fit.method, fit.calibrator.n_classes_)
