"""The parts of the Compare page: the verdict, the table, a picture per score, and the cost."""

from __future__ import annotations

from functools import partial
from typing import Any

import pandas as pd
import streamlit as st

from calib.evaluation import SCORES
from calib.evaluation.compare import compare_evaluations
from calib.evaluation.corp import CORP
from calib.formatting import number, plural
from calib.hardware import device_of
from calib.plots.compare import score_dots
from calib.reporting import verdict_paragraphs
from calib.ui import downloads, figures
from calib.ui.fits import ShownFit, resampled
from calib.ui.narrow import sideways
from calib.ui.score_table import show_scores, styled_scores
from calib.ui.session import keep

TABLE = ("NLL", "Brier", "accuracy", "ECE", "ECE equal mass", "class-wise ECE", "overconfidence", "underconfidence")
MORE = (
    "top-5 accuracy", "ECE 100", "ECE equal mass 100", "debiased ECE", "smooth ECE", "class-wise ECE above 1/K", "MCE",
    *CORP, "gap", "sharpness",
)  # fmt: skip
HOW_TO_READ = (
    "One dot per method with its 95 % bootstrap interval on the test rows; the vertical line is the raw model. "
    "Overlapping intervals do not mean that methods cannot be told apart: the table's differences are paired."
)


def table_of(everything: list[ShownFit]) -> pd.DataFrame:
    """The tidy comparison of all shown fits; computed once per set of fits."""

    def compare() -> pd.DataFrame:
        with st.spinner("Computing intervals…"):
            return compare_evaluations(
                {fit.title: fit.evaluation for fit in everything},
                baseline=everything[0].title,
                resampled=resampled(everything),
            )

    return keep(("comparison", *(fit.key for fit in everything)), compare)


def verdict_of(table: pd.DataFrame) -> str:
    """The verdict in words, by the score that a calibrator is fitted for, and by ECE where not all have that one."""
    return "\n\n".join(verdict_paragraphs(table))


def score_table(table: pd.DataFrame, everything: list[ShownFit]) -> None:
    """Methods by scores: value, interval, and whether it differs from the raw model; the best is marked."""
    with st.container(horizontal=True):
        more = st.toggle("More scores", key="compare/more", persist_state="session")
        intervals = st.toggle("Show intervals", value=True, key="compare/intervals", persist_state="session")
    keys = [key for key in (*TABLE, *(MORE if more else ())) if key in set(table["score"])]
    name = ("table", intervals, *keys, *(fit.key for fit in everything))
    show_scores(keep(name, partial(styled_scores, table, keys, intervals)))
    st.caption(
        "A click on a score sorts by it. 95 % bootstrap intervals over test rows in brackets; a calibration error is "
        "biased upwards by noise, so its interval reaches further down than up. ★ best value; ✓ better and ✗ worse "
        "than the raw model beyond what chance explains (paired, with intervals that hold for all pairs of methods "
        "together, as in the verdict). ECE here is in 15 bins of equal width or equal mass. Over- and underconfidence "
        "are not good or bad in themselves."
    )
    clipped = [
        f"{plural(fit.evaluation.n_clipped, 'row')} of {fit.title}" for fit in everything if fit.evaluation.n_clipped
    ]
    if clipped:
        st.caption(f"The NLL counts probabilities below 1e-15 as 1e-15, as the papers do: {', '.join(clipped)}.")
    downloads.csv("All scores as CSV", "compare/csv", "comparison.csv", lambda: table, of=(table,))


def dots(table: pd.DataFrame, everything: list[ShownFit]) -> None:
    """One picture for a chosen pair of scores, methods as rows."""
    keys = [key for key in SCORES if key in set(table["score"])]
    chosen = st.pills(
        "Scores to draw", keys, selection_mode="multi", default=["NLL", "ECE"], key="compare/scores",
        format_func=lambda key: SCORES[key].title, persist_state="session",
    )  # fmt: skip
    styles = {fit.title: fit.style for fit in everything}
    columns = st.columns(2, gap="large")
    for i, key in enumerate(chosen):
        with columns[i % 2]:
            name = ("dots", key, *(fit.key for fit in everything))
            fig = keep(name, partial(score_dots, table, key, styles, title=SCORES[key].title))
            figures.show(fig, f"compare-{key}", f"{SCORES[key].meaning} {HOW_TO_READ}")


def costs(everything: list[ShownFit]) -> None:
    """What each method took to fit and to predict the test set."""
    st.subheader("What it costs")
    table = pd.DataFrame(
        [
            {
                "method": fit.title,
                "fit, seconds": fit.fit_seconds or None,
                "fitted on": device_of(fit.calibrator) if fit.fit_seconds else "–",
                "predict the test rows, seconds": fit.predict_seconds,
            }
            for fit in everything
        ]
    )
    numbers = table.style.format(_seconds, subset=["fit, seconds", "predict the test rows, seconds"])
    st.dataframe(numbers, hide_index=True, height="content", placeholder="–")
    sideways()


def _seconds(value: Any) -> str:
    return number(value)
