"""How many labels a method needs, in words that claim no more than the bands of a size curve."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from calib.errors import CalibrationError
from calib.evaluation import SCORES

if TYPE_CHECKING:
    import pandas as pd

TOLERANCE = 0.01


@dataclass(frozen=True)
class LabelsNeeded:
    """The answer for one method and one score.

    Attributes
    ----------
    method, title : of the method.
    size : the smallest size from which on the score is within the tolerance of the largest size's; None where the bands
        show that of no smaller size.
    largest : the largest size.
    still_falling : whether the last step to the largest size lowered the score by more than chance explains.
    sentence : the answer in words.
    """

    method: str
    title: str
    size: int | None
    largest: int
    still_falling: bool
    sentence: str


def labels_needed(table: pd.DataFrame, method: str, score: str = "NLL", tolerance: float = TOLERANCE) -> LabelsNeeded:
    """The smallest number of labels that does as well as all of them, within a tolerance.

    It counts as shown for a size if the whole band of the difference to the largest size lies below the tolerance, and
    for an answer it must be shown for that size and all larger ones. Sizes are so tested from the top down until the
    first that fails, which needs no correction for their number.

    Parameters
    ----------
    table : from :func:`calib.evaluation.learning_curve`.
    method : one of its methods.
    score : "NLL" or "ECE".
    tolerance : by how much the score may be worse.

    Raises
    ------
    CalibrationError
        If the table has no value of the score for the method at the largest size.
    """
    rows = table[(table["method"] == method) & (table["score"] == score)].sort_values("size", ascending=False)
    if not len(rows) or rows["value"].isna().iloc[0]:
        why = f": {rows['note'].iloc[0]}" if len(rows) and rows["note"].iloc[0] else "."
        raise CalibrationError(f"There is no {score} of {method} at the largest size{why}")
    title, largest = str(rows["title"].iloc[0]), int(rows["size"].iloc[0])
    size = None
    for row in rows.iloc[1:].to_dict("records"):
        if not row["to_last_high"] <= tolerance:
            break
        size = int(row["size"])
    before = rows.iloc[1].to_dict() if len(rows) > 1 else None
    falling = before is not None and before["to_last_low"] > 0
    name = SCORES[score].title
    if before is None:
        sentence = f"{title}: there is one size only, and nothing to compare it with."
    elif size is not None:
        sentence = (
            f"{title}: {size:,} labels are enough to come within {tolerance:g} of the {name} that all {largest:,} give."
        )
    else:
        sentence = (
            f"{title}: fewer than all {largest:,} labels cannot be said to come within {tolerance:g} of the {name} "
            f"that these give; with {int(before['size']):,} it may be worse by up to {_number(before['to_last_high'])}."
        )
    if falling:
        assert before is not None
        sentence += (
            f" From {int(before['size']):,} to {largest:,} labels the {name} still fell by "
            f"{_number(before['to_last_low'])} to {_number(before['to_last_high'])}, so more may lower it further."
        )
    return LabelsNeeded(method, title, size, largest, falling, sentence)


def _number(value: float) -> str:
    return f"{value:.2g}" if abs(value) < float("inf") else "any amount"
