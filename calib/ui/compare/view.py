"""Parts of the Compare page: verdict, scores, small reliability diagrams, shared and class-wise maps, cost, report."""

from __future__ import annotations

from functools import partial
from typing import Any

import pandas as pd
import streamlit as st

from calib.base import Calibrator
from calib.calibrators.one_vs_rest import SHARING, with_other_sharing
from calib.diagnostics.reliability import ReliabilityCurve, default_bins, reliability_curve
from calib.evaluation import SCORES, paired_differences
from calib.evaluation.bootstrap import said_of_intervals
from calib.evaluation.catalogue import EVENT_RATE
from calib.evaluation.compare import compare_evaluations
from calib.evaluation.view import View
from calib.evaluation.weighted import said_of_weights, weighted_rows
from calib.formatting import number, percent, plural
from calib.hardware import device_of
from calib.metrics.bootstrap import Interval
from calib.plots import alt_text, figure_data
from calib.plots.axes import Scale
from calib.plots.compare import score_dots
from calib.plots.reliability_frame import PIXELS, common_limits, prefers_logit_scale, small_reliability
from calib.registry import METHODS, title_of
from calib.reporting import Report, ReportedMethod, Source, html, verdict_paragraphs
from calib.ui import widgets
from calib.ui.fits import ShownFit, cancel, jobs, remove, resampled, submit
from calib.ui.score_table import show_scores, styled_scores
from calib.ui.session import OpenSession, keep
from calib.ui.text import mean_nll
from calib.ui.widgets import show_table

TABLE = ("NLL", "Brier", "accuracy", "ECE", "ECE equal mass", "class-wise ECE", "overconfidence", "underconfidence")
# Over- and underconfidence give the sign of the gap, and the event rate is the same for all methods.
MORE = tuple(key for key in SCORES if key not in (*TABLE, "signed gap", EVENT_RATE))
HOW_TO_READ = (
    "One dot per method with its 95 % bootstrap interval on the test rows; the vertical line is the raw model. "
    "Methods can differ significantly although their intervals overlap: the table's differences are paired."
)

HOW_TO_READ_PANELS = (
    "Dots are groups of equally many test rows: {outcome} against {mean_said}, with 95 % Wilson intervals. On the "
    "dotted line both agree; below it the model {is_}{over}. The ECE is that of the "
    "table, in 15 bins of equal width. "
    "All diagrams have the same axes; the Reliability page shows each of them larger, with its histogram."
)
COUNTERPARTS = "compare/counterparts"
"""Keys of the fits that were asked for here and not on the Fit page, in Streamlit's session state."""


def comparison_table(fits: list[ShownFit]) -> pd.DataFrame:
    """The tidy comparison of all shown fits; computed once per set of fits."""

    def compare() -> pd.DataFrame:
        with st.spinner("Computing intervals…"):
            return compare_evaluations(
                {fit.title: fit.evaluation for fit in fits},
                baseline=fits[0].title,
                resampled=resampled(fits),
            )

    return keep(("comparison", *(fit.key for fit in fits)), compare)


def verdict_of(table: pd.DataFrame) -> str:
    """The verdict in words, by the score that a calibrator is fitted for, and by ECE where not all have that one."""
    return "\n\n".join(verdict_paragraphs(table))


def score_table(table: pd.DataFrame, fits: list[ShownFit]) -> None:
    """Methods by scores: value, interval, and whether it differs from the raw model; the best is marked."""
    with st.container(horizontal=True):
        more = st.toggle("More scores", key="compare/more", persist_state="session")
        intervals = st.toggle("Show intervals", value=True, key="compare/intervals", persist_state="session")
    keys = [key for key in (*TABLE, *(MORE if more else ())) if key in set(table["score"])]
    view = fits[0].evaluation.view
    name = ("table", intervals, *keys, *(fit.key for fit in fits))
    show_scores(keep(name, partial(styled_scores, table, keys, intervals, view=view)))
    st.caption(
        "A click on a score sorts by it. 95 % bootstrap intervals over test rows in brackets; a calibration error is "
        "biased upwards by noise, so its interval reaches further down than up. ★ best value; ✓ better and ✗ worse "
        "than the raw model significantly (paired, with 95 % intervals that hold for all pairs of methods "
        "together, as in the verdict). ECE here is in 15 bins of equal width or equal mass. "
        f"{view.overconfidence.capitalize()} and {view.underconfidence} are not good or bad in themselves."
    )
    if said := said_of_intervals(fits[0].evaluation.n_clusters):
        st.caption(said)
    clipped = [f"{plural(fit.evaluation.n_clipped, 'row')} of {fit.title}" for fit in fits if fit.evaluation.n_clipped]
    if clipped:
        st.caption(f"The NLL counts probabilities below 1e-15 as 1e-15, as the papers do: {', '.join(clipped)}.")
    widgets.csv("All scores as CSV", "compare/csv", "comparison.csv", lambda: table, of=(table,))


def weighted_scores(session: OpenSession, table: pd.DataFrame, view: View) -> None:
    """Weighted beside unweighted scores, where the test rows have weights whose meaning was said."""
    if said := said_of_weights(session.test):
        if rows := weighted_rows(table, view):
            heading, *cells = rows
            show_table(pd.DataFrame(cells, columns=heading), heading[0])
        st.caption(said)


def dots(table: pd.DataFrame, fits: list[ShownFit]) -> None:
    """One picture for a chosen pair of scores, methods as rows."""
    scores = {key: score.seen(fits[0].evaluation.view) for key, score in SCORES.items()}
    keys = [key for key in scores if key in set(table["score"]) and key != EVENT_RATE]  # the same for all
    chosen = st.pills(
        "Scores to draw", keys, selection_mode="multi", default=["NLL", "ECE"], key="compare/scores",
        format_func=lambda key: scores[key].title, persist_state="session",
    )  # fmt: skip
    styles = {fit.title: fit.style for fit in fits}
    columns = st.columns(2, gap="large")
    for i, key in enumerate(chosen):
        with columns[i % 2]:
            name = ("dots", key, *(fit.key for fit in fits))
            fig = keep(name, partial(score_dots, table, key, styles, title=scores[key].title))
            widgets.show(fig, f"compare-{key}", f"{scores[key].meaning} {HOW_TO_READ}")


def costs(fits: list[ShownFit]) -> None:
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
            for fit in fits
        ]
    )
    numbers = table.style.format(_seconds, subset=["fit, seconds", "predict the test rows, seconds"])
    show_table(numbers, height="content", placeholder="–")


def _seconds(value: Any) -> str:
    return number(value)


def small_multiples(fits: list[ShownFit]) -> None:
    """One small diagram per method, as many in a row as fit into the window."""
    st.subheader("Reliability of all methods")
    curves = [_curve(fit) for fit in fits]
    scale: Scale = "logit" if prefers_logit_scale(curves[0]) else "linear"
    view = fits[0].evaluation.view
    limits = common_limits(curves, scale, view)
    figures = []
    with st.container(horizontal=True, gap="small"):
        for fit, curve in zip(fits, curves, strict=True):
            ece = keep(("table ECE", fit.key), partial(_ece, fit))
            draw = partial(small_reliability, curve, fit.style, fit.title, scale, limits, ece, view)
            fig = keep(("small diagram", fit.key, fit.style, scale, limits), draw)
            figures.append(fig)
            st.plotly_chart(
                fig, width=PIXELS, alt=alt_text(fig), key=f"compare-small-{fit.key}",
                config={"displayModeBar": False},
            )  # fmt: skip
    with st.popover("How to read this", icon=":material/help:", type="tertiary"):
        words = {"outcome": view.outcome, "mean_said": view.mean_said, "is_": view.is_, "over": view.over}
        st.write(HOW_TO_READ_PANELS.format(**words))
        widgets.csv(
            "Data as CSV", "compare-small/csv", "reliability.csv",
            lambda: pd.concat([figure_data(fig) for fig in figures]), of=tuple(figures),
        )  # fmt: skip


def _curve(fit: ShownFit) -> ReliabilityCurve:
    def compute() -> ReliabilityCurve:
        confidence, correct = fit.evaluation.pair
        n_bins, clusters = default_bins(len(correct)), fit.evaluation.clusters
        return reliability_curve(confidence, correct, n_bins=n_bins, binning="equal_mass", clusters=clusters)

    return keep(("small curve", fit.key), compute)


def _ece(fit: ShownFit) -> float:
    return reliability_curve(*fit.evaluation.pair).ece


def sharing_toggle(session: OpenSession, fits: list[ShownFit]) -> None:
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
        st.caption(f"{plural(active, 'counterpart')} being fitted; the menu says when the results can be shown.")


def sharing_words(fits: list[ShownFit]) -> None:
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
    differences = keep(("sharing", fit.key, other.key), lambda: paired_differences(fit.evaluation, other.evaluation))
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


def report_button(session: OpenSession, fits: list[ShownFit], key: str, table: pd.DataFrame | None = None) -> None:
    """Offer the report of all shown fits; it takes seconds, so it is built on request.

    Parameters
    ----------
    fits : the raw model first.
    key : of the button, unique in the app.
    table : the comparison where the page has it, so that no interval is computed twice.
    """
    widgets.on_request(
        "Report (HTML)",
        key,
        "report.html",
        partial(page_report, session, fits, table),
        of=(session.view.key, *((fit.key, fit.title) for fit in fits)),
        icon=":material/summarize:",
        help="One file to hand over: the verdict, all tables and figures, the data's hash, every setting, and how to "
        "make it again from a shell. It opens without a network.",
    )  # fmt: skip


def page_report(session: OpenSession, fits: list[ShownFit], table: pd.DataFrame | None = None) -> str:
    """The report of these fits on the open split."""
    if table is None:
        evaluations = {fit.title: fit.evaluation for fit in fits}
        table = compare_evaluations(evaluations, fits[0].title, resampled=resampled(fits))
    methods = [
        ReportedMethod(
            fit.title, fit.method, fit.title, fit.style, fit.calibrator, fit.evaluation, fit.fit_seconds,
            fit.predict_seconds,
        )
        for fit in fits
    ]  # fmt: skip
    files = {role: name for role, (name, _) in session.reading.upload.files.items()}
    source = Source(files, session.reading.choices, session.sample)
    return html(
        Report(session.data, session.calibration, session.test, session.part, session.seed, methods, table, source)
    )
