"""Sentences of the Active learning page: the finding, and what else a person should know."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from calib.active_learning import ARMS, CLASSIFIERS, verdicts
from calib.formatting import listed, plural
from calib.registry import METHODS
from calib.ui.active_learning.settings import Rows

BEFORE = (
    "**Which labels should be asked for, and does calibration save any?** A classifier learns from your rows again and "
    "again, asks for labels of the rows it is unsure about, and spends none or some of them on calibration."
)
HONEST = (
    "A simulation: all labels of the pool are known, and each is shown to the classifier only when it asks. Intervals "
    "are over shuffles of this one pool, judged on the same test rows; another pool could differ by more. Wenger et al."
    " (2020, figure 5) report about 10\u00a0% fewer labels at comparable accuracy, for Mondrian forests on the KITTI "
    "data, calibrated with GPcalib at set points."
)


def finding(summary: pd.DataFrame) -> str:
    """The verdict on each arm, as a list; what is missing where there is none yet."""
    if summary.empty:
        return "No shuffle has been completed by all arms."
    said = verdicts(summary)
    if not said:
        return f"Only the arm **{summary['title'].iloc[0]}** is here; choose another to compare it with."
    return "\n".join(f"- {sentence}" for sentence in said) if len(said) > 1 else said[0]


def which(shuffles: Mapping[str, Sequence[int]]) -> str:
    """Simulations by arm, whose shuffles are counted where there are more than a few."""
    said = [
        f"{ARMS[arm].title}, "
        + (f"{len(of)} shuffles" if len(of) > 3 else f"shuffle{'s' if len(of) > 1 else ''} {listed([*map(str, of)])}")
        for arm, of in shuffles.items()
    ]
    return "; ".join(said)


def made_with(settings: dict[str, Any]) -> str:
    """How the results that are shown were made, in one line."""
    parts = [CLASSIFIERS[settings["classifier"]].title]
    if "calibrator" in settings:
        parts.append(f"calibrated with {METHODS[settings['calibrator']].title}")
    parts.append(f"{plural(settings['pretraining'], 'row')} to begin with, then batches of {settings['batch']:,}")
    if "threshold" in settings:
        parts.append(f"{settings['uncertainty'].replace('_', ' ')} above {settings['threshold']:g}")
    if settings["budget"] is not None:
        parts.append(f"a budget of {plural(settings['budget'], 'label')}")
    return ", ".join(parts) + "."


def notes(table: pd.DataFrame, rows: Rows, settings: dict[str, Any]) -> list[str]:
    """What else a person should know: arms that hardly asked, pools that ran dry, and rounds without a calibrator."""
    notes = []
    ends = table.groupby(["arm", "shuffle"])["n_labels"].max()
    first_batch = min(rows.n_pool, settings["pretraining"] + min(settings["batch"], settings["budget"] or math.inf))
    if settings["pretraining"] >= rows.n_pool:
        return [f"Pretraining takes all {plural(rows.n_pool, 'row')} of the pool, which leaves none to ask about."]
    silent = [arm for arm in table["arm"].unique() if (ends[arm] < first_batch).all()]
    if silent and settings["budget"] != 0:
        notes.append(
            f"{listed([ARMS[arm].title for arm in silent])} never asked for a full batch: from the start, nearly every "
            "row had an uncertainty below the threshold. A lower threshold asks for more labels."
        )
    dry = [arm for arm in table["arm"].unique() if (ends[arm] == rows.n_pool).all() and not ARMS[arm].asks_any]
    if dry:
        notes.append(
            f"{listed([ARMS[arm].title for arm in dry])} asked for every label of the pool: the uncertainty of rows "
            "stayed above the threshold. A higher threshold, or a larger pool, lets it stop."
        )
    for arm in table["arm"].unique():
        noted = table[(table["arm"] == arm) & (table["note"] != "")]["note"]
        if len(noted):
            notes.append(
                f"{ARMS[arm].title} had no calibrator in {plural(len(noted), 'round')}, mostly because: "
                f"{noted.mode().iloc[0]}"
            )
    return notes
