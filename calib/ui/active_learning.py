"""Parts of the Active learning page: what is asked for, the simulations under way, the finding and the figures."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from calib.active_learning import Plan, pool_from_predictions, verdicts
from calib.active_learning.classifiers import CLASSIFIERS
from calib.active_learning.results import ENOUGH, LABELS, MEASURES, ArmStudy, study_arms
from calib.active_learning.simulation import ARMS, pool_arrays, run_arm
from calib.engine import Data, Job, TaskSpec
from calib.formatting import escape_markdown, listed, plural
from calib.plots.active_learning import ArmLine, learning_curves
from calib.plots.style import NEUTRAL, Style
from calib.registry import METHODS
from calib.ui import fits, progress, widgets
from calib.ui.session import OpenSession, current_session
from calib.ui.text import show_notes

KIND = "active/"
"""Before the key of each simulation among the visitor's studies."""
MOST_SHUFFLES = 20
FIRST = ("classifier", "calibrator", "pretraining", "batch", "budget")
"""Settings that are open; the others are folded."""
TITLES = {name: entry.title for table in (CLASSIFIERS, METHODS) for name, entry in table.items()}

# Open symbols and broken lines are drawn over full ones: arms that do the same are both seen.
STYLES = {
    "plain": Style(NEUTRAL, "circle", "solid"),
    "set_points": Style("#0072B2", "square-open", "dash"),
    "latent": Style("#D55E00", "diamond-open", "longdash"),
}
SHORT = {"plain": "uncalibrated", "set_points": "set points", "latent": "active"}
BEGIN = ("error", "ece")
BEFORE = (
    "**Which labels are worth their cost, and does calibration save any?** A classifier is trained on your rows in "
    "rounds. Each round requests labels of uncertain rows; an arm may spend some of them on calibration."
)
HONEST = (
    "A simulation: all labels of the pool are known, and each is used only once it is requested. Intervals are over "
    "shuffles of this one pool, judged on the same test rows; another pool could differ by more. Wenger et al. "
    "(2020, figure 5) report about 10\u00a0% fewer labels at comparable accuracy. They calibrated Mondrian forests "
    "on the KITTI data with GPcalib at set points. Active calibration, their outlook, saved no labels in ten "
    "shuffles of scikit-learn's digits: 8 more than at set points (95\u00a0%: 2 fewer to 18 more)."
)
HOW_TO_READ = (
    "{meaning} Horizontal axis: labels requested, including the initial ones and those used for calibration. A dot is "
    "one round of one shuffle. A line is the mean over shuffles, its band the 95\u00a0% interval of that mean. The "
    "symbol at the end of a line is the mean number of labels at which the arm stopped. Ticks beneath the curves are "
    "batches used for calibration. Lower and further left is better."
)


@dataclass(frozen=True)
class Rows:
    """Rows to ask about, rows that judge, and the name that stands for their arrays in every session."""

    n_pool: int
    n_test: int
    key: str
    sentence: str

    @classmethod
    def of(cls, session: OpenSession) -> Rows:
        """Arguments of :func:`calib.active_learning.pool_from_predictions`."""
        data = session.data
        if data.train_features is not None and data.train_labels is not None:
            n_pool, n_test = len(data.train_labels), len(data)
            key = data.sha256
            pool = "the training set that came with the data"
            judge = "all rows of the data"
        else:
            n_pool, n_test = len(session.calibration), len(session.test)
            key = session.split_key
            pool = "the calibration part of the split"
            judge = "the test part"
        sentence = (
            f"Pool: {plural(n_pool, 'row')}, {pool}. Judged on {plural(n_test, 'row')}, {judge}; "
            f"{plural(data.n_classes, 'class', 'classes')}. A classifier is trained here on their features, so the "
            "outputs of your own model take no part."
        )
        return cls(n_pool, n_test, key, sentence)


def simulations() -> list[Job]:
    """Requested simulations in their present state, arm by arm and shuffle by shuffle."""
    specs = [spec for kind, spec in current_session().studies.items() if kind.startswith(KIND)]
    return sorted(fits.where(specs), key=lambda job: (list(ARMS).index(_arm(job)), job.spec.title))


def _arm(job: Job) -> str:
    assert isinstance(job.spec, TaskSpec)
    return str(job.spec.arguments[1])


def study_of(jobs: list[Job]) -> ArmStudy | None:
    """The simulations that are done, compared and averaged by a worker; None where none is."""
    done = {job.spec.arguments[1:]: job for job in jobs if job.result is not None}  # type: ignore[union-attr]
    if not done:
        return None
    key = ("active study", *(job.key for job in done.values()))
    return fits.ready(
        key, "the curves of the arms", study_arms, {run: job.result for run, job in done.items()}
    )


def headline(rows: Rows, jobs: list[Job]) -> None:
    """The finding where there is one, else what the page is about; and which rows are which."""
    study = None if any(job.active for job in jobs) else study_of(jobs)
    st.markdown(BEFORE if study is None else finding(study.summary))
    st.caption(rows.sentence)


def finding(summary: pd.DataFrame) -> str:
    """The verdict on each arm, as a list; what is missing where there is none yet."""
    if summary.empty:
        return "No shuffle has been completed by all arms."
    sentences = verdicts(summary)
    if not sentences:
        return f"Only the arm **{summary['title'].iloc[0]}** is here; choose another to compare it with."
    return (
        "\n".join(f"- {sentence}" for sentence in sentences) if len(sentences) > 1 else sentences[0]
    )


def follow(jobs: list[Job]) -> None:
    """Show the progress of the simulations and their results so far."""
    if jobs:
        progress.follow(_running, _results, 1.0)


def _running() -> bool:
    return any(job.active for job in simulations())


def _results() -> None:
    jobs = simulations()
    active = any(job.active for job in jobs)
    if active:
        ended = sum(not job.active for job in jobs)
        share = sum(job.fraction if job.active else 1.0 for job in jobs) / len(jobs)
        progress.bar(
            share, f"{ended} of {plural(len(jobs), 'simulation')}", "active/cancel", cancel
        )
    failed = [job for job in jobs if job.state in ("failed", "cancelled")]
    for why in dict.fromkeys(job.message for job in failed):
        titles = listed([job.spec.title for job in failed if job.message == why])
        st.warning(f"**{titles}**: {escape_markdown(why)}")
    study = study_of(jobs)
    if study is not None:
        _pictures(study, tuple(job.key for job in jobs if job.result is not None))
        if not active:
            _beneath(study, jobs)


def cancel() -> None:
    """Stop what waits or runs; what is done stays."""
    for job in simulations():
        if job.active:
            fits.cancel(job.key)


def _pictures(study: ArmStudy, keys: tuple[str, ...]) -> None:
    titles = {name: measure.title for name, measure in MEASURES.items()}
    aside = [name for name in titles if name not in BEGIN]
    chosen = widgets.several(titles, "active/measures", "Pictures of", aside=aside)
    with st.grid(2, min_column_width=400, gap="large"):
        for measure in chosen:
            with st.container():  # the figure and its explanation share a cell of the grid
                widgets.show_cached(
                    ("active figure", measure, *keys),
                    partial(_figure, study, measure),
                    f"active-{measure}",
                    HOW_TO_READ.format(meaning=MEASURES[measure].meaning),
                )


def _figure(study: ArmStudy, measure: str) -> go.Figure:
    """One measure against labels, for all arms."""
    about = MEASURES[measure]
    lines = []
    arms = list(study.table["arm"].unique())
    for arm in sorted(arms, key=lambda arm: STYLES[arm].dash != "solid"):
        curve = study.curves[arm, measure]
        spent = study.table[(study.table["arm"] == arm) & (study.table["spent"] == "calibration")]
        lines.append(
            ArmLine(
                ARMS[arm].title,
                SHORT[arm],
                STYLES[arm],
                curve.labels,
                curve.mean,
                curve.low,
                curve.high,
                curve.shuffles,
                spent[LABELS].to_numpy(np.float64),
            )
        )
    return learning_curves(lines, about.title, percent=about.percent)


def _beneath(study: ArmStudy, jobs: list[Job]) -> None:
    """Show notes, how the results were made, and all rounds as a file."""
    settings: dict[str, Any] = jobs[0].spec.arguments[0]  # type: ignore[union-attr]
    show_notes(notes(study.table, settings))
    options = {
        name.replace("_", " "): value for name, value in settings.items() if value is not None
    }
    setup = ", ".join(f"{name} {TITLES.get(value, value)}" for name, value in options.items())
    st.caption(f"Simulated with {setup}. {HONEST}")
    table = study.table.assign(shuffle=study.table["shuffle"] + 1, **settings)
    widgets.csv(
        "All rounds as CSV", "active/csv", "active-learning.csv", lambda: table, of=(study.table,)
    )


def notes(table: pd.DataFrame, settings: dict[str, Any]) -> list[str]:
    """Arms that hardly asked, and rounds without a calibrator."""
    rounds = table.groupby("arm", sort=False)
    sentences = []
    first_batch = settings["pretraining"] + settings["batch"]
    silent = [
        ARMS[str(arm)].title for arm, most in rounds["n_labels"].max().items() if most < first_batch
    ]
    if silent and settings["budget"] is None:
        sentences.append(
            f"{listed(silent)} never requested a full batch: from the start, nearly every row had an uncertainty "
            "below the threshold. A lower threshold requests more labels."
        )
    for arm, why in table[table["note"] != ""].groupby("arm", sort=False)["note"]:
        title = ARMS[str(arm)].title
        sentences.append(
            f"{title} had no calibrator in {plural(len(why), 'round')}, mostly because: {why.mode()[0]}"
        )
    return sentences


def choose_and_start(session: OpenSession, rows: Rows) -> None:
    """The settings of the plan, the arms, and the button; what is done or under way is not paid twice."""
    declared = {f.name: f for f in fields(Plan) if f.name != "params"}
    # The paper's 500 and 250; of a small pool a twelfth and a twenty-fifth.
    begin = {
        "pretraining": max(
            1, min(500, rows.n_pool // 2, max(2 * session.data.n_classes, rows.n_pool // 12))
        ),
        "batch": max(1, min(250, rows.n_pool // 25)),
    }
    usable = {
        "classifier": [
            name for name in CLASSIFIERS if name != "mondrian" or find_spec("river") is not None
        ]
    }

    def draw(name: str) -> Any:
        meta = dict(declared[name].metadata)
        if meta["choices"] is not None:
            meta["choices"] = usable.get(name, meta["choices"])
        of = f"{rows.n_pool}/" if name in begin else ""
        return widgets.declared(
            name,
            begin.get(name, declared[name].default),
            meta,
            f"active/{of}{name}",
            lambda it: TITLES.get(it, it),
        )

    with st.grid(6, min_column_width=150, gap="small"):
        settings = {name: draw(name) for name in FIRST}
        n_shuffles = widgets.whole_number(
            "Shuffles",
            1,
            MOST_SHUFFLES,
            ENOUGH,
            "active/shuffles",
            help=(
                f"Each shuffle of the pool is a run of every arm. Fewer than {ENOUGH} show little; the paper has 10."
            ),
        )
    st.caption(
        f"{TITLES[settings['classifier']]}: {CLASSIFIERS[settings['classifier']].summary}"
        + (
            ""
            if "mondrian" in usable["classifier"]
            else " Mondrian forest, the paper's, needs the package river, which is not installed here."
        )
    )
    titles = {name: arm.title for name, arm in ARMS.items()}
    arms = widgets.several(titles, "active/arms", "Arms to compare", aside=["latent"]) or ["plain"]
    st.caption(" ".join(f"**{ARMS[name].title}**: {ARMS[name].summary}" for name in arms))
    with st.expander("More settings"), st.grid(3, min_column_width=200):
        settings |= {name: draw(name) for name in declared if name not in FIRST}
    with st.container(horizontal=True, vertical_alignment="center"):
        st.button(
            f"Run {plural(len(arms) * n_shuffles, 'simulation')}",
            key="active/start",
            icon=":material/play_arrow:",
            type="primary",
            on_click=start,
            args=(rows, settings, arms, n_shuffles),
        )
        st.caption("In the background; simulations that are done are not run again.")


def start(rows: Rows, settings: dict[str, Any], arms: list[str], n_shuffles: int) -> None:
    """Ask for simulations in place of those shown: a shuffle of every arm, then the next, so that curves grow."""
    session = current_session()
    specs = {}
    for seed in range(n_shuffles):
        for arm in arms:
            spec = TaskSpec(
                run_arm, (settings, arm, seed), rows.key, f"{ARMS[arm].title}, shuffle {seed + 1}"
            )
            specs[KIND + spec.key] = spec
    for kind, spec in list(session.studies.items()):
        if kind.startswith(KIND) and kind not in specs:
            fits.cancel(spec.key)
    with fits.refusal_noted():
        pool = pool_arrays(pool_from_predictions(session.data, session.part, session.seed))
        for kind, spec in specs.items():
            fits.ask(spec, Data.of(rows.key, **pool))
            session.studies[kind] = spec
