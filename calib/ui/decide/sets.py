"""Prediction sets: the classes that cannot be ruled out, at a coverage that is promised."""

from __future__ import annotations

from functools import partial

import numpy as np
import pandas as pd
import streamlit as st

from calib.decisions.conformal import fewest_rows
from calib.diagnostics.risk_coverage import SetsBeside, sets_against_raw
from calib.evaluation.evaluation import Evaluation
from calib.formatting import brackets, number, percent, plural, round_percent
from calib.metrics.bootstrap import Interval
from calib.plots.decisions import set_sizes
from calib.ui import widgets
from calib.ui.compare.recommendation import choose_method
from calib.ui.export import offer_decision
from calib.ui.fits import ShownFit, ready_of, rows_to_predict
from calib.ui.session import OpenSession
from calib.ui.text import percents
from calib.ui.widgets import show_table

COVERAGES = (0.9, 0.95, 0.99)
WORST = 30
"""Classes in the table of coverage by class, the least covered first."""


def draw(session: OpenSession, fits: list[ShownFit]) -> None:
    """Sets of classes at a promised coverage."""
    able = [fit for fit in fits if fit.calibrator.gives_probabilities]
    head = st.container()
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        options = choose_coverage(usual_coverage(fits[0].evaluation))
    fit = choose_method(able, "decide", style="list")
    comparison = sets_of(session, fits[0], fit, options)
    with head:
        show_sets(fit.title, comparison, options[0])
    picture(fits[0], fit, comparison)
    widgets.folded(
        "Coverage by class",
        "sets/by class",
        partial(by_class, session.data.class_names, comparison),
    )
    offer_decision(session, fit, "sets", sets=comparison.method.made)


def usual_coverage(raw: Evaluation) -> float:
    """A coverage to begin with: above the accuracy, which the most probable class has alone, where rows suffice."""
    accuracy = raw.rows.mean(raw.correct)
    n = len(raw) // 2
    return next(
        (share for share in COVERAGES if share > accuracy and n >= fewest_rows(1.0 - share)),
        COVERAGES[0],
    )


def choose_coverage(begin: float) -> tuple[float, bool]:
    """Let the visitor say which coverage sets shall have, and whether within each class."""
    coverage = st.number_input(
        "Sets hold the label in, % of rows",
        50.0,
        99.9,
        100.0 * begin,
        1.0,
        key="sets/coverage",
        persist_state="session",
        width=230,
        format="%g",
        help="The coverage is guaranteed on average over rows that come as the test rows do.",
    )
    per_class = st.toggle(
        "Within each class",
        key="sets/per class",
        persist_state="session",
        help="One quantile for each class, so that the coverage is guaranteed within each; sets become larger.",
    )
    return 1.0 - coverage / 100.0, per_class


def sets_of(
    session: OpenSession, raw: ShownFit, fit: ShownFit, options: tuple[float, bool]
) -> SetsBeside:
    """Sets of one method beside those of the raw model, made by a worker."""
    data = rows_to_predict(session, fit.calibrator)
    both = raw.calibrator, fit.calibrator
    return ready_of(fit, "the sets", sets_against_raw, *both, *options, about=options, data=data)


def show_sets(title: str, comparison: SetsBeside, alpha: float) -> None:
    """Describe the sets: their size, how often they hold the label, and what calibration changes."""
    scores, sets = comparison.method.found, comparison.method.made
    expected = ""
    if sets.top_alone:
        expected = ": the most probable class alone does that"
    elif scores.expected is not None:
        low, high = map(percent, scores.expected)
        expected = f"; on this number of rows {low} to {high} is expected"
    st.markdown(
        f"Sets of {title} hold **{number(scores.mean_size.value)} classes** {_ends(scores.mean_size)} on average. "
        f"They hold the label in **{percent(scores.coverage.value)}** ({percents(scores.coverage)}) of rows, where "
        f"{round_percent(1 - alpha)} was requested{expected}. {percent(scores.single.value)} hold one class alone. "
        f"{_change(comparison)}"
    )
    if sets.per_class and len(sets.always):
        st.warning(
            f"{plural(len(sets.always), 'class', 'classes')} with fewer than {fewest_rows(alpha)} rows to choose on "
            f"{'is' if len(sets.always) == 1 else 'are'} in every set: too few rows to rule them out.",
            icon=":material/warning:",
        )


def _change(comparison: SetsBeside) -> str:
    size = comparison.change["mean size"]
    if comparison.raw.made is comparison.method.made or not (size.value or size.low or size.high):
        return ""
    against = f"({number(size.value)} classes {_ends(size)} a row)"
    if size.low <= 0.0 <= size.high:
        return f"Their mean size has no significant difference from that of the raw model's sets {against}."
    return f"Calibration makes the sets **{'smaller' if size.value < 0 else 'larger'}** {against}."


def picture(raw: ShownFit, fit: ShownFit, comparison: SetsBeside) -> None:
    """Draw the number of classes in sets, of the method and of the raw model."""
    drawn = [(raw.title, comparison.raw.found.sizes, raw.style)] if raw.key != fit.key else []
    drawn += [(fit.title, comparison.method.found.sizes, fit.style)]
    sets = comparison.method.made
    widgets.show_cached(
        ("set sizes", fit.key, sets.alpha, sets.per_class),
        partial(set_sizes, drawn),
        "set-sizes",
        "The share of rows by the number of classes in their set. A set of one class is a prediction.",
    )
    st.caption(f"{comparison.method.said()} {sets.said()}")


def by_class(names: tuple[str, ...], comparison: SetsBeside) -> None:
    """Coverage within each class, the least covered first."""
    scores = comparison.method.found
    order = np.argsort(
        np.where(scores.class_rows > 0, scores.class_coverage, np.inf), kind="stable"
    )[:WORST]
    show_table(
        pd.DataFrame(
            {
                "class": [names[k] for k in order],
                "rows": scores.class_rows[order],
                "holds the label": [percent(float(scores.class_coverage[k])) for k in order],
                "95\u00a0% interval": [
                    f"{percent(scores.class_low[k])} to {percent(scores.class_high[k])}"
                    for k in order
                ],
            }
        ),
        "class",
    )
    st.caption(
        "The coverage is guaranteed on average over all rows: without quantiles of their own some classes are "
        "covered less."
    )


def _ends(interval: Interval) -> str:
    return brackets(interval.low, interval.high)
