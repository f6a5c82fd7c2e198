"""What simulations gave, each part computed once for the same finished runs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from calib.active_learning import ARMS, MEASURES, compare_arms, learning_curve, table_of
from calib.plots.active_learning import ArmLine, learning_curves
from calib.plots.style import NEUTRAL, Style
from calib.ui.active_learning.state import Run
from calib.ui.session import keep

# Open symbols and broken lines are drawn over full ones: arms that do the same are both seen.
STYLES = {
    "plain": Style(NEUTRAL, "circle", "solid"),
    "set_points": Style("#0072B2", "square-open", "dash"),
    "active": Style("#D55E00", "triangle-up", "solid"),
    "random": Style("#B57F00", "diamond-open", "dot"),
}
SHORT = {"plain": "uncalibrated", "set_points": "set points", "active": "active", "random": "as they come"}


@dataclass(frozen=True)
class Results:
    """Finished simulations.

    Attributes
    ----------
    runs : those that are done, arm by arm.
    """

    runs: tuple[Run, ...]

    @classmethod
    def of(cls, runs: list[Run]) -> Results:
        """What is done of these."""
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
            lambda: table_of({(run.arm, run.seed): run.job.result for run in self.runs}),
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
            return learning_curves(
                lines, about.title, percent=about.percent, title=f"{about.title} by labels asked for"
            )  # fmt: skip

        return keep(("active figure", measure, self.keys()), build)

    def _line(self, arm: str, measure: str) -> ArmLine:
        curve = keep(("active curve", arm, measure, self.keys(arm)), lambda: learning_curve(self.table, arm, measure))
        spent = self.table[(self.table["arm"] == arm) & (self.table["spent"] == "calibration")]
        calibrated = spent["n_labels"].to_numpy(np.float64)
        return ArmLine(
            ARMS[arm].title, SHORT[arm], STYLES[arm], curve.labels, curve.mean, curve.low, curve.high, curve.shuffles,
            calibrated,
        )  # fmt: skip
