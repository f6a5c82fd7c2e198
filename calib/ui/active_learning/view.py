"""Parts of the Active learning page: the finding, the start, the progress, the figures and the table of arms."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import streamlit as st
from pandas.io.formats.style import Styler

from calib.active_learning import ARMS, MEASURES, compare_arms, learning_curve, rounds_table
from calib.active_learning.results import AT_EQUAL, FOR_CALIBRATION, LABELS
from calib.formatting import brackets, escape_markdown, number, plural, signed
from calib.plots.active_learning import ArmLine, learning_curves
from calib.plots.style import NEUTRAL, Style
from calib.ui import progress, widgets
from calib.ui.active_learning import state as active_runs
from calib.ui.active_learning import text as active_words
from calib.ui.active_learning.state import Rows, Run, Wanted
from calib.ui.compare.scores import Shown, shown_text
from calib.ui.session import keep
from calib.ui.text import show_notes
from calib.ui.widgets import folded, several, sideways

COLUMNS = {
    LABELS: "Labels asked",
    FOR_CALIBRATION: "For calibration",
    **{name: measure.title for name, measure in MEASURES.items()},
    AT_EQUAL: "Error at equal labels",
}
DIGIT, MARGIN = 6.5, 20
"""Pixels of a character and around a text; Streamlit measures the numbers, and cuts texts that are longer."""
ROOM = 1150
"""Pixels beside the menu in a window of 1500."""
COUNTS = (LABELS, FOR_CALIBRATION)
PERCENT = {name for name, measure in MEASURES.items() if measure.percent} | {AT_EQUAL}


# Open symbols and broken lines are drawn over full ones: arms that do the same are both seen.
STYLES = {
    "plain": Style(NEUTRAL, "circle", "solid"),
    "set_points": Style("#0072B2", "square-open", "dash"),
    "active": Style("#D55E00", "triangle-up", "solid"),
    "random": Style("#B57F00", "diamond-open", "dot"),
}
SHORT = {"plain": "uncalibrated", "set_points": "set points", "active": "active", "random": "as they come"}
BEGIN = ("error", "ece")
HOW_TO_READ = (
    "{meaning} Horizontal axis: labels requested, including the initial ones and those used for calibration. A dot is "
    "one round of one shuffle. A line is the mean of the Gaussian-process regressions of the shuffles, its band the "
    "95\u00a0% interval of that mean. The symbol at the end of a line is the mean number of labels at which the arm "
    "stopped. Ticks beneath the curves are batches used for calibration. Lower and further left is better."
)


@dataclass(frozen=True, eq=False)
class ArmTable:
    """A table that is ready to be drawn: its numbers with their texts, and the pixels that each column needs."""

    styler: Styler
    widths: dict[str, int]


def styled_arms(summary: pd.DataFrame, differences: bool) -> ArmTable:
    """One row per arm, one column per quantity; cells hold numbers and show text.

    Parameters
    ----------
    summary : from :func:`calib.active_learning.compare_arms`.
    differences : whether to show what each arm differs by from the first, instead of its own values.
    """
    arms = list(summary["arm"].unique())
    cells = {(row["arm"], row["quantity"]): row for row in summary.to_dict("records")}

    def shown(arm: str, quantity: str) -> Shown:
        cell = cells[arm, quantity]
        if differences:
            return Shown(cell["difference"], _difference(cell, arm == arms[0]))
        return Shown(cell["value"], _value(cell))

    columns = {column: [shown(arm, quantity) for arm in arms] for quantity, column in COLUMNS.items()}
    titles = [cells[arm, LABELS]["title"] for arm in arms]
    longest = {"Arm": max(map(len, titles))}
    longest |= {name: max(len(name), *(len(cell.text) for cell in column)) for name, column in columns.items()}
    frame = pd.DataFrame({"Arm": titles, **columns}, dtype=object)
    styler = frame.style.format(shown_text, subset=list(columns), na_rep="–")
    return ArmTable(styler, {column: round(MARGIN + DIGIT * n) for column, n in longest.items()})


def show_arms(table: ArmTable, key: str) -> None:
    """Draw the table with the arms held at the left; ``key`` changes with what it shows."""
    columns = {name: st.column_config.Column(width=width, pinned=name == "Arm") for name, width in table.widths.items()}
    st.dataframe(
        table.styler, hide_index=True, width="stretch", height="content", column_config=columns, placeholder="–",
        key=key,
    )  # fmt: skip
    sideways(len(columns) if sum(table.widths.values()) > ROOM else 0)


def _value(row: dict[Any, Any]) -> str:
    low = max(row["low"], 0.0) if math.isfinite(row["low"]) else row["low"]  # none of them can be negative
    return _interval(row["quantity"], row["value"], low, row["high"], number)


def _difference(row: dict[Any, Any], first: bool) -> str:
    if first:
        return "–"
    low, high = row["difference_low"], row["difference_high"]
    beyond = " *" if low > 0 or high < 0 else ""
    return _interval(row["quantity"], row["difference"], low, high, signed) + beyond


def _interval(quantity: str, value: float, low: float, high: float, write: Any) -> str:
    scale, unit = (100, " pp" if write is signed else " %") if quantity in PERCENT else (1, "")
    if quantity in COUNTS:
        write = partial(_count, write is signed)
    text = write(scale * value) + (unit if not math.isnan(value) else "")
    if not math.isfinite(low) or low == high:
        return text
    return f"{text} {brackets(scale * low, scale * high, write)}"


def _count(sign: bool, value: float) -> str:
    return "–" if math.isnan(value) else f"{value:+,.0f}" if sign else f"{value:,.0f}"


@dataclass(frozen=True)
class Results:
    """Finished simulations.

    Attributes
    ----------
    runs : those that are done, arm by arm.
    """

    runs: tuple[Run, ...]

    @classmethod
    def from_runs(cls, runs: list[Run]) -> Results:
        """What is done of some runs."""
        return cls(tuple(run for run in runs if run.job.result is not None))

    def keys(self, arm: str | None = None) -> tuple[str, ...]:
        """What names the runs, or those of one arm."""
        return tuple(run.job.key for run in self.runs if arm in (None, run.arm))

    @property
    def arms(self) -> list[str]:
        """Arms of which at least one run is done."""
        return list(dict.fromkeys(run.arm for run in self.runs))

    @cached_property
    def table(self) -> pd.DataFrame:
        """All rounds."""
        return keep(
            ("active rounds", self.keys()),
            lambda: rounds_table({(run.arm, run.seed): run.job.result for run in self.runs}),
        )

    @property
    def export(self) -> pd.DataFrame:
        """All rounds, shuffles counted from 1 as on the page, with the settings of their arm; empty what it lacks."""
        settings = {run.arm: run.settings for run in self.runs}
        names = dict.fromkeys(name for of_arm in settings.values() for name in of_arm)
        columns = {
            name: pd.Series([settings[arm].get(name) for arm in self.table["arm"]], dtype=object).convert_dtypes()
            for name in names
        }
        return self.table.assign(shuffle=self.table["shuffle"] + 1, **columns)

    @cached_property
    def summary(self) -> pd.DataFrame:
        """Where each arm ended, over the shuffles that all arms have done."""
        return keep(("active summary", self.keys()), lambda: compare_arms(self.table))

    @property
    def n_compared(self) -> int:
        """Shuffles that all arms have done."""
        return int(self.summary["n_shuffles"].iloc[0]) if len(self.summary) else 0

    def figure(self, measure: str) -> go.Figure:
        """One measure against labels, for all arms."""

        def build() -> go.Figure:
            about = MEASURES[measure]
            arms = sorted(self.arms, key=lambda arm: STYLES[arm].dash != "solid")
            lines = [self._line(arm, measure) for arm in arms]
            return learning_curves(lines, about.title, percent=about.percent)

        return keep(("active figure", measure, self.keys()), build)

    def _line(self, arm: str, measure: str) -> ArmLine:
        curve = keep(("active curve", arm, measure, self.keys(arm)), lambda: learning_curve(self.table, arm, measure))
        spent = self.table[(self.table["arm"] == arm) & (self.table["spent"] == "calibration")]
        calibrated = spent["n_labels"].to_numpy(np.float64)
        return ArmLine(
            ARMS[arm].title, SHORT[arm], STYLES[arm], curve.labels, curve.mean, curve.low, curve.high, curve.shuffles,
            calibrated,
        )  # fmt: skip


def headline(rows: Rows, shown: list[Run]) -> None:
    """The finding where there is one, else what the page is about; and which rows are which."""
    results = Results.from_runs(shown)
    ended = bool(results.runs) and not any(run.job.active for run in shown)
    st.markdown(active_words.finding(results.summary) if ended else active_words.BEFORE)
    st.caption(rows.sentence)


def begin(wanted: Wanted, rows: Rows, shown: list[Run]) -> None:
    """The button that starts what is missing, and what it will take."""
    specs = active_runs.specs_of(wanted, rows)
    keys = {spec.key for spec in specs}
    known, under_way = active_runs.n_known(specs), sum(run.job.active and run.job.key in keys for run in shown)
    missing, same = len(specs) - known - under_way, keys == {run.job.key for run in shown}
    what = f"{missing} more" if known + under_way else f"{missing}"
    label = f"Run {what} {'simulation' if missing == 1 else 'simulations'}"
    if not missing:
        label = ("Under way" if under_way else "Shown below") if same else "Show these results"
    with st.container(horizontal=True, vertical_alignment="center"):
        st.button(
            label, key="active/start", icon=":material/play_arrow:", type="secondary" if same else "primary",
            on_click=active_runs.start, args=(wanted, rows), disabled=same and not missing,
        )  # fmt: skip
        st.caption(_what_it_is(wanted, bool(shown), same, known))


def _what_it_is(wanted: Wanted, anything: bool, same: bool, known: int) -> str:
    text = f"{plural(len(wanted.arms), 'arm')} on {plural(wanted.n_shuffles, 'shuffle')}, in the background."
    if same:
        return text
    done = f" {plural(known, 'simulation')} of them {'is' if known == 1 else 'are'} done already." if known else ""
    changed = " Below is what came out with the settings of before." if anything else ""
    return text + done + changed


def follow(shown: list[Run]) -> None:
    """How far the simulations are and what they gave so far; while any runs, this part refreshes itself."""
    if shown:
        active = any(run.job.active for run in shown)
        st.fragment(_follow, run_every=1.0 if active else None)(active)


def _follow(was_active: bool) -> None:
    shown = active_runs.runs()
    if was_active != any(run.job.active for run in shown):
        st.rerun()  # the timer, the finding and the button are the whole page's
    if was_active:
        _progress(shown)
    _failures(shown)
    results = Results.from_runs(shown)
    if not results.runs:
        return
    if was_active:
        st.markdown(active_words.so_far(results.summary, {run.arm for run in shown}))
    _pictures(results)


def questions(rows: Rows, shown: list[Run]) -> None:
    """What can be asked further of simulations that have ended."""
    results = Results.from_runs(shown)
    if not results.runs or any(run.job.active for run in shown):
        return
    show_notes(active_words.notes(results.table, rows, active_runs.settings_shown()))
    folded("Every arm in numbers", "active/numbers", partial(_numbers, results))
    folded("What does the paper report?", "active/paper", partial(_paper, results))


def _progress(shown: list[Run]) -> None:
    left, right = st.columns([6, 1.4], vertical_alignment="center")
    done = sum(not run.job.active for run in shown)
    share = sum(run.job.fraction if run.job.active else 1.0 for run in shown) / len(shown)
    seconds = active_runs.seconds_left(shown)
    remaining = "" if seconds is None else f" · {progress.about(seconds)} left"
    left.progress(share, text=f"{done} of {plural(len(shown), 'simulation')}{remaining} · {_now(shown)}")
    right.button("Cancel", key="active/cancel", on_click=active_runs.cancel)


def _now(shown: list[Run]) -> str:
    """What runs at the moment, and how it does."""
    for run in shown:
        if run.job.state == "running":
            so_far = f": {run.job.step:,} labels, error {run.job.value:.1%}" if run.job.total else ""
            return run.title + so_far
    return next((run.job.message for run in shown if run.job.active), "")


def _failures(shown: list[Run]) -> None:
    failed = [run for run in shown if run.job.state in ("failed", "cancelled")]
    if not failed:
        return
    reasons: dict[str, dict[str, list[int]]] = {}
    for run in failed:
        reasons.setdefault(run.job.message, {}).setdefault(run.arm, []).append(run.seed + 1)
    st.warning("\n".join(f"- **{active_words.which(arms)}**: {escape_markdown(why)}" for why, arms in reasons.items()))
    st.button("Try again", key="active/retry", icon=":material/refresh:", on_click=active_runs.retry)


def _pictures(results: Results) -> None:
    titles = {name: measure.title for name, measure in MEASURES.items()}
    chosen = several(titles, "active/measures", "Pictures of", aside=[name for name in titles if name not in BEGIN])
    for start in range(0, len(chosen), 2):
        for column, measure in zip(st.columns(2, gap="large"), chosen[start:], strict=False):
            with column:
                how = HOW_TO_READ.format(meaning=MEASURES[measure].meaning)
                widgets.show(results.figure(measure), f"active-{measure}", how)


def _numbers(results: Results) -> None:
    differences = st.toggle(
        "Differences to the first arm", key="active/differences", persist_state="session",
        help="Shuffle by shuffle, so that what arms share cancels; pp are percentage points, and * is "
        "significant (95\u00a0%), each difference by itself.",
    )  # fmt: skip
    if not results.summary.empty:
        table = keep(("active table", differences, results.keys()), lambda: styled_arms(results.summary, differences))
        show_arms(table, f"active/table/{differences}/{len(results.runs)}")
        st.caption(active_words.made_with(active_runs.settings_shown(), results.n_compared))
    st.caption(active_words.HONEST)
    widgets.csv("All rounds as CSV", "active/csv", "active-learning.csv", lambda: results.export, of=(results.table,))


def _paper(results: Results) -> None:
    st.markdown(active_words.claim(results.summary, active_runs.settings_shown()))
