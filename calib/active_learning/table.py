"""Rounds of many simulations in one table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from calib.active_learning.simulation import Round

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Measure:
    """One number that is followed along the way.

    Attributes
    ----------
    title : how pages call it.
    meaning : one sentence.
    percent : whether it is shown in percent.
    """

    title: str
    meaning: str
    percent: bool = True


MEASURES = {
    "error": Measure("Error", "Share of test rows predicted wrong."),
    "ece": Measure("ECE", "Distance between confidence and accuracy on test rows, in 15 bins."),
    "over": Measure("Overconfidence", "Mean confidence of wrong predictions."),
    "under": Measure("Underconfidence", "Mean of one minus the confidence of right predictions."),
    "nll": Measure("NLL", "Mean negative log-probability of the true class.", percent=False),
}
"""By the column of the table."""


def table_of(runs: Mapping[tuple[str, int], list[Round]]) -> pd.DataFrame:
    """A row for each round, with the columns arm, shuffle, round and the fields of :class:`Round`.

    Parameters
    ----------
    runs : what :func:`calib.active_learning.simulate` returned, by arm and seed.
    """
    import pandas as pd

    rows = [
        {"arm": arm, "shuffle": shuffle, "round": number, **asdict(now)}
        for (arm, shuffle), rounds in runs.items()
        for number, now in enumerate(rounds)
    ]
    return pd.DataFrame(rows)


def final_rounds(table: pd.DataFrame) -> pd.DataFrame:
    """The last round of each arm and shuffle."""
    return table.loc[table.groupby(["arm", "shuffle"], sort=False)["round"].idxmax()].reset_index(drop=True)
