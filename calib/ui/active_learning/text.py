"""Sentences of the Active learning page: the finding, the settings behind it, and the paper's claim."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import pandas as pd

from calib.active_learning import ARMS, CLASSIFIERS, verdicts
from calib.active_learning.results import LABELS
from calib.formatting import listed, percent, plural
from calib.registry import METHODS
from calib.ui.active_learning.state import Rows

BEFORE = (
    "**Which labels should be asked for, and does calibration save any?** A classifier learns from your rows again and "
    "again, asks for labels of the rows it is unsure about, and spends none or some of them on calibration."
)
HONEST = (
    "A simulation: all labels of the pool are known, and each is shown to the classifier only when it asks. Intervals "
    "are over shuffles of this one pool, judged on the same test rows; another pool could differ by more."
)


def finding(summary: pd.DataFrame) -> str:
    """The verdict on each arm, as a list; what is missing where there is none yet."""
    if summary.empty:
        return "No shuffle has been completed by all arms."
    said = verdicts(summary)
    if not said:
        return f"Only the arm **{summary['title'].iloc[0]}** is here; choose another to compare it with."
    return "\n".join(f"- {sentence}" for sentence in said) if len(said) > 1 else said[0]


def so_far(summary: pd.DataFrame, arms: Collection[str]) -> str:
    """The finding while simulations run, once two shuffles are done by all arms that were asked for."""
    if len(arms) > 1 and (set(summary["arm"]) != set(arms) or summary["n_shuffles"].iloc[0] < 2):
        return "Arms are compared once each has completed two shuffles."
    return f"So far, over {plural(int(summary['n_shuffles'].iloc[0]), 'shuffle')}:\n\n{finding(summary)}"


def claim(summary: pd.DataFrame, settings: dict[str, Any]) -> str:
    """What the paper reports, beside what came out here."""
    paper = (
        "Wenger et al. (2020, figure 5) report about 10\u00a0% fewer labels at comparable accuracy, for Mondrian "
        "forests on the KITTI data, calibrated with GPcalib at set points."
    )
    rows = summary[(summary["arm"] == "set_points") & (summary["quantity"] == LABELS)]
    if rows.empty or not {"plain", "set_points"} <= set(summary["arm"]):
        return paper
    error = summary[(summary["arm"] == "set_points") & (summary["quantity"] == "error")].iloc[0]
    if math.isnan(float(rows.iloc[0]["share"])):
        return paper
    here = f"{CLASSIFIERS[settings['classifier']].title}, {METHODS[settings['calibrator']].title}"
    return f"{paper} Here ({here}) it was {_labels(rows.iloc[0])}, and {_error(error)}."


def _labels(row: pd.Series) -> str:
    share = float(row["share"])
    if share == 0:
        return "as many labels"
    return f"{percent(abs(share))} {'fewer' if share < 0 else 'more'} labels{_doubt(row)}"


def _error(row: pd.Series) -> str:
    change = 100 * float(row["difference"])
    if abs(change) < 0.005:
        return "the same error"
    return f"an error {abs(change):.2f} percentage points {'higher' if change > 0 else 'lower'}{_doubt(row)}"


def _doubt(row: pd.Series) -> str:
    return " (no significant difference)" if row["difference_low"] <= 0 <= row["difference_high"] else ""


def which(shuffles: Mapping[str, Sequence[int]]) -> str:
    """Simulations by arm, whose shuffles are counted where there are more than a few."""
    said = [
        f"{ARMS[arm].title}, "
        + (f"{len(of)} shuffles" if len(of) > 3 else f"shuffle{'s' if len(of) > 1 else ''} {listed([*map(str, of)])}")
        for arm, of in shuffles.items()
    ]
    return "; ".join(said)


def made_with(settings: dict[str, Any], n_compared: int) -> str:
    """How the results that are shown were made, in one line."""
    parts = [CLASSIFIERS[settings["classifier"]].title]
    if "calibrator" in settings:
        parts.append(f"calibrated with {METHODS[settings['calibrator']].title}")
    parts.append(f"{plural(settings['pretraining'], 'row')} to begin with, then batches of {settings['batch']:,}")
    if "threshold" in settings:
        parts.append(f"{settings['uncertainty'].replace('_', ' ')} above {settings['threshold']:g}")
    if settings["budget"] is not None:
        parts.append(f"a budget of {plural(settings['budget'], 'label')}")
    spread = f"means over {plural(n_compared, 'shuffle')} with 95\u00a0% t intervals"
    parts.append(spread if n_compared > 1 else "one shuffle, which has no interval")
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
    if _did_the_same(table, "active", "set_points"):
        notes.append(
            f"{ARMS['active'].title} made the same choices as {ARMS['set_points'].title} in every round. This happens "
            "where GPcalib has too few calibration rows to learn from: its uncertainty is then uninformative. Use more "
            "labels or larger batches."
        )
    for arm in table["arm"].unique():
        noted = table[(table["arm"] == arm) & (table["note"] != "")]["note"]
        if len(noted):
            notes.append(
                f"{ARMS[arm].title} had no calibrator in {plural(len(noted), 'round')}, mostly because: "
                f"{noted.mode().iloc[0]}"
            )
    return notes


def _did_the_same(table: pd.DataFrame, *arms: str) -> bool:
    """Whether both arms spent their labels alike on all shuffles they have in common."""
    one, other = (
        table[table["arm"] == arm].groupby("shuffle")[["n_labels", "n_calibration"]].agg(tuple) for arm in arms
    )
    both = one.index.intersection(other.index)
    return len(both) > 0 and one.loc[both].equals(other.loc[both])
