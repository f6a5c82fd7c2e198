"""Parts of the Active learning page: the finding, the simulations under way, the figures and the start."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from calib.active_learning import ARMS, MEASURES, pool_from_predictions
from calib.active_learning.results import LABELS, ArmStudy, study_arms
from calib.active_learning.simulation import pool_arrays, run_arm
from calib.engine import Data, Job, QueueFull, TaskSpec
from calib.errors import CalibrationError
from calib.formatting import escape_markdown, plural
from calib.plots.active_learning import ArmLine, learning_curves
from calib.plots.style import NEUTRAL, Style
from calib.ui import fits, progress, widgets
from calib.ui.active_learning import text as active_words
from calib.ui.active_learning.settings import Rows, Wanted
from calib.ui.session import current_session
from calib.ui.text import show_notes
from calib.ui.widgets import several

KIND = "active/"
"""Before the key of each simulation among the visitor's studies."""

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
    "one round of one shuffle. A line is the mean over shuffles, its band the 95\u00a0% interval of that mean. The "
    "symbol at the end of a line is the mean number of labels at which the arm stopped. Ticks beneath the curves are "
    "batches used for calibration. Lower and further left is better."
)


@dataclass(frozen=True)
class Run:
    """One arm on one shuffle, as it stands."""

    arm: str
    seed: int
    job: Job

    @property
    def settings(self) -> dict[str, Any]:
        """Those of the plan that the arm uses."""
        assert isinstance(self.job.spec, TaskSpec)
        return dict(self.job.spec.arguments[0])


def specs_of(wanted: Wanted, rows: Rows) -> list[TaskSpec]:
    """What is to be simulated; what a setting that an arm does not use was, makes no other simulation."""
    return [
        TaskSpec(run_arm, (wanted.settings_of(arm), arm, seed), rows.data_key, f"{ARMS[arm].title}, shuffle {seed + 1}")
        for arm, seed in wanted.runs
    ]


def asked() -> list[TaskSpec]:
    """The simulations that are shown, whether or not they are done."""
    return [spec for kind, spec in current_session().studies.items() if kind.startswith(KIND)]


def runs() -> list[Run]:
    """All that are shown, as they stand, arm by arm in the order of ``ARMS`` and shuffle by shuffle."""
    specs = {spec.key: spec for spec in asked()}
    if not specs:
        return []
    found = []
    for job in fits.where(specs.values()):
        _, arm, seed = specs[job.key].arguments
        found.append(Run(arm, seed, job))
    return sorted(found, key=lambda run: (list(ARMS).index(run.arm), run.seed))


def start(wanted: Wanted, rows: Rows) -> None:
    """Ask for simulations in place of those shown; what is done or under way is not paid twice."""
    session = current_session()
    specs = {KIND + spec.key: spec for spec in specs_of(wanted, rows)}
    for kind in [kind for kind in session.studies if kind.startswith(KIND) and kind not in specs]:
        progress.stop(kind)
    try:
        data = _pool(rows)
        for kind, spec in specs.items():
            fits.ask(spec, data)
            session.studies[kind] = spec
    except QueueFull as error:
        st.session_state[fits.REFUSED] = f"{len(asked())} of {len(specs)} simulations were started. {error}"
    except CalibrationError as error:
        st.session_state[fits.REFUSED] = str(error)


def cancel() -> None:
    """Stop what waits or runs; what is done stays."""
    for run in runs():
        if run.job.active:
            progress.stop(KIND + run.job.key)


def retry(rows: Rows) -> None:
    """Start those that failed again."""
    with fits.refusal_noted():
        data = _pool(rows)
        for run in runs():
            if run.job.state in ("failed", "cancelled"):
                fits.ask(run.job.spec, data)


def _pool(rows: Rows) -> Data:
    session = current_session()
    return Data.of(rows.data_key, **pool_arrays(pool_from_predictions(session.data, session.part, session.seed)))


def study_of(done: list[Run]) -> ArmStudy:
    """Finished simulations, compared and averaged by a worker."""
    results = {(run.arm, run.seed): run.job.result for run in done}
    key = ("active study", *(run.job.key for run in done))
    return fits.ready(key, "the curves of the arms", study_arms, results)


def headline(rows: Rows, shown: list[Run]) -> None:
    """The finding where there is one, else what the page is about; and which rows are which."""
    done = [run for run in shown if run.job.result is not None]
    ended = bool(done) and not any(run.job.active for run in shown)
    st.markdown(active_words.finding(study_of(done).summary) if ended else active_words.BEFORE)
    st.caption(rows.sentence)


def begin(wanted: Wanted, rows: Rows, shown: list[Run]) -> None:
    """The button that starts what is asked for, and what it will take."""
    keys = {spec.key for spec in specs_of(wanted, rows)}
    same = keys == {run.job.key for run in shown}
    label = "Under way" if any(run.job.active for run in shown) else "Shown above"
    with st.container(horizontal=True, vertical_alignment="center"):
        st.button(
            label if same else f"Run {plural(len(keys), 'simulation')}", key="active/start",
            icon=":material/play_arrow:", type="secondary" if same else "primary", on_click=start, args=(wanted, rows),
            disabled=same,
        )  # fmt: skip
        text = f"{plural(len(wanted.arms), 'arm')} on {plural(wanted.n_shuffles, 'shuffle')}, in the background."
        if shown and not same:
            text += " Above is what came out with the settings of before; simulations that are done are not run again."
        st.caption(text)


def follow(rows: Rows, shown: list[Run]) -> None:
    """How far the simulations are and what they gave so far; while any runs, this part refreshes itself."""
    if shown:
        active = any(run.job.active for run in shown)
        st.fragment(_follow, run_every=1.0 if active else None)(rows, active)


def _follow(rows: Rows, was_active: bool) -> None:
    shown = runs()
    if was_active != any(run.job.active for run in shown):
        st.rerun()  # the timer, the finding and the button are the whole page's
    if was_active:
        _progress(shown)
    _failures(rows, shown)
    done = [run for run in shown if run.job.result is not None]
    if done:
        study = study_of(done)
        _pictures(study, tuple(run.job.key for run in done))
        if not was_active:
            _beneath(study, rows, done)


def _progress(shown: list[Run]) -> None:
    left, right = st.columns([6, 1.4], vertical_alignment="center")
    done = sum(not run.job.active for run in shown)
    share = sum(run.job.fraction if run.job.active else 1.0 for run in shown) / len(shown)
    left.progress(share, text=f"{done} of {plural(len(shown), 'simulation')} · {_now(shown)}")
    right.button("Cancel", key="active/cancel", on_click=cancel)


def _now(shown: list[Run]) -> str:
    """What runs at the moment, and how it does."""
    for run in shown:
        if run.job.state == "running":
            so_far = f": {run.job.step:,} labels, error {run.job.value:.1%}" if run.job.total else ""
            return run.job.spec.title + so_far
    return next((run.job.message for run in shown if run.job.active), "")


def _failures(rows: Rows, shown: list[Run]) -> None:
    failed = [run for run in shown if run.job.state in ("failed", "cancelled")]
    if not failed:
        return
    reasons: dict[str, dict[str, list[int]]] = {}
    for run in failed:
        reasons.setdefault(run.job.message, {}).setdefault(run.arm, []).append(run.seed + 1)
    st.warning("\n".join(f"- **{active_words.which(arms)}**: {escape_markdown(why)}" for why, arms in reasons.items()))
    st.button("Try again", key="active/retry", icon=":material/refresh:", on_click=retry, args=(rows,))


def _pictures(study: ArmStudy, keys: tuple[str, ...]) -> None:
    titles = {name: measure.title for name, measure in MEASURES.items()}
    chosen = several(titles, "active/measures", "Pictures of", aside=[name for name in titles if name not in BEGIN])
    for first in range(0, len(chosen), 2):
        for column, measure in zip(st.columns(2, gap="large"), chosen[first:], strict=False):
            with column:
                how = HOW_TO_READ.format(meaning=MEASURES[measure].meaning)
                draw = partial(_figure, study, measure)
                widgets.show_kept(("active figure", measure, *keys), draw, f"active-{measure}", how)


def _figure(study: ArmStudy, measure: str) -> go.Figure:
    """One measure against labels, for all arms."""
    about, lines = MEASURES[measure], []
    arms = list(study.table["arm"].unique())
    for arm in sorted(arms, key=lambda arm: STYLES[arm].dash != "solid"):
        curve = study.curves[arm, measure]
        spent = study.table[(study.table["arm"] == arm) & (study.table["spent"] == "calibration")]
        lines.append(ArmLine(
            ARMS[arm].title, SHORT[arm], STYLES[arm], curve.labels, curve.mean, curve.low, curve.high, curve.shuffles,
            spent[LABELS].to_numpy(np.float64),
        ))  # fmt: skip
    return learning_curves(lines, about.title, percent=about.percent)


def _beneath(study: ArmStudy, rows: Rows, done: list[Run]) -> None:
    """How the results were made, what else a person should know, and all rounds as a file."""
    settings = {name: value for run in done for name, value in run.settings.items()}
    show_notes(active_words.notes(study.table, rows, settings))
    st.caption(f"{active_words.made_with(settings)} {active_words.HONEST}")
    export = partial(exported, study.table, {run.arm: run.settings for run in done})
    widgets.csv("All rounds as CSV", "active/csv", "active-learning.csv", export, of=(study.table,))


def exported(table: pd.DataFrame, settings: dict[str, dict[str, Any]]) -> pd.DataFrame:
    """All rounds, shuffles counted from 1, with the settings of their arm; empty what it lacks."""
    names = dict.fromkeys(name for of_arm in settings.values() for name in of_arm)
    columns = {
        name: pd.Series([settings[arm].get(name) for arm in table["arm"]], dtype=object).convert_dtypes()
        for name in names
    }
    return table.assign(shuffle=table["shuffle"] + 1, **columns)
