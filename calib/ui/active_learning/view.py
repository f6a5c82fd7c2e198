"""The parts of the Active learning page: the finding, the start, how far it is, the pictures and the table."""

from __future__ import annotations

import streamlit as st

from calib.active_learning import MEASURES
from calib.formatting import plural
from calib.ui import downloads, figures, studies
from calib.ui.active_learning import state as active_runs
from calib.ui.active_learning import text as active_words
from calib.ui.active_learning.active_pool import Rows
from calib.ui.active_learning.active_results import Results
from calib.ui.active_learning.active_settings import Wanted
from calib.ui.active_learning.active_table import show_arms, styled_arms
from calib.ui.active_learning.state import Run
from calib.ui.session import keep
from calib.ui.widgets import several

BEGIN = ("error", "ece")
HOW_TO_READ = (
    "{meaning} Across are the labels asked for, those to begin with and those for calibration among them. Each dot is "
    "a round of one shuffle; a line is the mean of Gaussian-process regressions through the shuffles, its band where "
    "the mean lies, 95 %. The symbol at a line's end stands where the arm had asked for all it wanted, on average. "
    "Strokes beneath the curves are batches that went to calibration. Lower and further left is better."
)


def headline(rows: Rows, shown: list[Run]) -> None:
    """The finding where there is one, else what the page is about; and which rows are which."""
    results = Results.of(shown)
    if results.runs and not any(run.job.active for run in shown):
        st.markdown(active_words.finding(results.summary))
        st.caption(active_words.claim(results.summary, active_runs.settings_shown()))
    else:
        st.markdown(active_words.BEFORE)
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


def follow(rows: Rows, shown: list[Run]) -> None:
    """How far the simulations are and what they gave so far; while any runs, this part refreshes itself."""
    if shown:
        active = any(run.job.active for run in shown)
        st.fragment(_follow, run_every=1.0 if active else None)(rows, active)


def _follow(rows: Rows, was_active: bool) -> None:
    shown = active_runs.runs()
    if was_active != any(run.job.active for run in shown):
        st.rerun()  # the timer, the finding and the button are the whole page's
    if was_active:
        _progress(shown)
    _failures(shown)
    results = Results.of(shown)
    if not results.runs:
        return
    if was_active:
        st.markdown(active_words.so_far(results.summary, {run.arm for run in shown}))
    _pictures(results)
    _numbers(results, rows)


def _progress(shown: list[Run]) -> None:
    left, right = st.columns([6, 1.4], vertical_alignment="center")
    done = sum(not run.job.active for run in shown)
    share = sum(run.job.fraction if run.job.active else 1.0 for run in shown) / len(shown)
    seconds = active_runs.seconds_left(shown)
    remaining = "" if seconds is None else f" · {studies.about(seconds)} left"
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
    st.warning("\n".join(f"- **{active_words.which(arms)}**: {why}" for why, arms in reasons.items()))
    st.button("Try again", key="active/retry", icon=":material/refresh:", on_click=active_runs.retry)


def _pictures(results: Results) -> None:
    titles = {name: measure.title for name, measure in MEASURES.items()}
    chosen = several(titles, "active/measures", "Pictures of", aside=[name for name in titles if name not in BEGIN])
    for start in range(0, len(chosen), 2):
        for column, measure in zip(st.columns(2, gap="large"), chosen[start:], strict=False):
            with column:
                how = HOW_TO_READ.format(meaning=MEASURES[measure].meaning)
                figures.show(results.figure(measure), f"active-{measure}", how)


def _numbers(results: Results, rows: Rows) -> None:
    differences = st.toggle(
        "Differences to the first arm", key="active/differences", persist_state="session",
        help="Shuffle by shuffle, so that what arms share cancels; pp are percentage points, and * is beyond what "
        "chance explains, each difference by itself.",
    )  # fmt: skip
    if not results.summary.empty:
        table = keep(("active table", differences, results.keys()), lambda: styled_arms(results.summary, differences))
        show_arms(table, f"active/table/{differences}/{len(results.runs)}")
        st.caption(active_words.made_with(active_runs.settings_shown(), results.n_compared))
    for note in active_words.notes(results.table, rows, active_runs.settings_shown()):
        st.caption(f":material/info: {note}")
    st.caption(active_words.HONEST)
    downloads.csv("All rounds as CSV", "active/csv", "active-learning.csv", lambda: results.export, of=(results.table,))
