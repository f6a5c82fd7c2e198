"""The simulations of the Active learning page: each asked for once, followed together, and found again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import streamlit as st

from calib.active_learning import ARMS, pool_of
from calib.active_learning.tasks import arrays_of, run_arm
from calib.errors import CalibrationError
from calib.jobs import Job, TaskSpec
from calib.jobs.line import LineFull
from calib.ui import fits, studies
from calib.ui.active_learning.active_pool import Rows
from calib.ui.active_learning.active_settings import Wanted
from calib.ui.session import session

KIND = "active/"
"""Before the key of each simulation among the visitor's studies."""


@dataclass(frozen=True)
class Run:
    """One arm on one shuffle, as it stands."""

    arm: str
    seed: int
    job: Job

    @property
    def title(self) -> str:
        """The arm and the number of the shuffle."""
        return self.job.spec.title

    @property
    def settings(self) -> dict[str, Any]:
        """Those of the plan that the arm uses."""
        assert isinstance(self.job.spec, TaskSpec)
        return dict(self.job.spec.arguments[0])


def specs_of(wanted: Wanted, rows: Rows) -> list[TaskSpec]:
    """What is to be simulated; what a setting that an arm does not use was, makes no other simulation."""
    return [
        TaskSpec(
            run_arm, (wanted.settings_of(arm), arm, seed), rows.data_key, f"{ARMS[arm].title}, shuffle {seed + 1}"
        )
        for arm, seed in wanted.runs
    ]  # fmt: skip


def asked() -> list[TaskSpec]:
    """The simulations that are shown, whether or not they are done."""
    return [spec for kind, spec in session().studies.items() if kind.startswith(KIND)]


def settings_shown() -> dict[str, Any]:
    """The settings of the simulations that are shown, as far as one of them uses them."""
    return {name: value for spec in asked() for name, value in spec.arguments[0].items()}


def start(wanted: Wanted, rows: Rows) -> None:
    """Ask for simulations in place of those shown; what is done or under way is not paid twice."""
    now = session()
    assert now.data is not None
    specs = {KIND + spec.key: spec for spec in specs_of(wanted, rows)}
    for kind in [kind for kind in now.studies if kind.startswith(KIND) and kind not in specs]:
        studies.stop(kind)
    try:
        arrays = arrays_of(pool_of(now.data, now.part, now.seed))
        logits, labels = arrays.pop("logits"), arrays.pop("labels")
        for kind, spec in specs.items():
            fits.ask(spec, logits, labels, arrays)
            now.studies[kind] = spec
    except LineFull as error:
        st.session_state[fits.REFUSED] = f"{len(asked())} of {len(specs)} simulations were started. {error}"
    except CalibrationError as error:
        st.session_state[fits.REFUSED] = str(error)


def cancel() -> None:
    """Stop what waits or runs; what is done stays."""
    for run in runs():
        if run.job.active:
            studies.stop(KIND + run.job.key)


def retry() -> None:
    """Start those that failed again."""
    for run in runs():
        if run.job.state in ("failed", "cancelled"):
            fits.retry(run.job.key)


def runs() -> list[Run]:
    """All that are shown, as they stand, arm by arm in the order of ``ARMS`` and shuffle by shuffle."""
    specs = {spec.key: spec for spec in asked()}
    if not specs:
        return []
    found = []
    for job in fits.queue().snapshot(specs, owner=session().visitor):
        _, arm, seed = specs[job.key].arguments
        found.append(Run(arm, seed, job))
    return sorted(found, key=lambda run: (list(ARMS).index(run.arm), run.seed))


def n_known(specs: list[TaskSpec]) -> int:
    """How many of these are done already, whoever asked for them."""
    return sum(job.state == "done" for job in fits.queue().snapshot([spec.key for spec in specs]))


def seconds_left(shown: list[Run]) -> float | None:
    """How long the rest will take by the mean of what is done of each arm; None while one has none that is done."""
    done: dict[str, list[float]] = {}
    for run in shown:
        if run.job.state == "done":
            done.setdefault(run.arm, []).append(run.job.seconds)
    rest = [run for run in shown if run.job.active]
    if any(run.arm not in done for run in rest):
        return None
    means = {arm: sum(seconds) / len(seconds) for arm, seconds in done.items()}
    at_once = max(1, sum(run.job.state == "running" for run in rest))
    started = {run.job.key: run.job.seconds if run.job.state == "running" else 0.0 for run in rest}
    return sum(max(0.0, means[run.arm] - started[run.job.key]) for run in rest) / at_once
