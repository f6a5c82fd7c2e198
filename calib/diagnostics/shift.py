"""Calibration shift: scores of a calibrator on new data against those on its test rows, and a verdict."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np

from calib.evaluation.claims import FEW_ROWS, NEGLIGIBLE, untold
from calib.evaluation.describe import describe_frequencies
from calib.evaluation.evaluation import Evaluation, check_same_rows, class_frequencies
from calib.evaluation.recommendation import HARDLY
from calib.evaluation.score_registry import SCORES, scored_on
from calib.evaluation.view import TOP_LABEL, View
from calib.formatting import listed
from calib.metrics.bootstrap import Interval
from calib.parameters import number_fault

SHOWN = ("NLL", "Brier", "accuracy", "ECE", "signed gap")
CLAIMS = len(SHOWN) + 3
"""Claims of a verdict: the change of each score, the gap and the ECE now, and the gain over the raw model."""
LEVEL = 0.95
JOINT = 1.0 - (1.0 - LEVEL) / CLAIMS
"""Coverage of one interval among ``CLAIMS`` that shall hold together (Bonferroni)."""
LARGEST = 1e6
"""No score is larger; a record may say any number, also one of a thousand digits."""


@dataclass(frozen=True)
class ScoreChange:
    """One score on the new data and on the rows that the calibrator was judged on, and now minus before.

    Before and the change are None where it is not known how the calibrator was judged.
    """

    now: Interval
    before: Interval | None = None
    change: Interval | None = None


@dataclass(frozen=True)
class CalibrationShift:
    """Scores of a calibrator on new data, and their changes.

    Attributes
    ----------
    n, n_before : rows now, and rows it was judged on (None if not known).
    predicted, observed : mean prediction and observed rate of the new data.
    scores, joint : by key, those of ``SHOWN`` that exist: at 95 % each, and so that all claims hold together.
    gain : NLL of the calibrator minus that of the raw model on the new data, paired, at the joint level; None for
        methods that give a confidence only.
    skill : NLL of class frequencies minus that of the calibrator, likewise.
    frequencies : NLL of class frequencies on the new data.
    view : what a probability is about.
    untold : why the new rows cannot tell whether the calibrator holds, as of fewer than ten; "" where they can.
    """

    n: int
    predicted: float
    observed: float
    scores: dict[str, ScoreChange]
    joint: dict[str, ScoreChange]
    n_before: int | None = None
    gain: Interval | None = None
    skill: Interval | None = None
    frequencies: float = 0.0
    view: View = TOP_LABEL
    untold: str = ""


def calibration_shift(
    now: Evaluation,
    raw: Evaluation | None = None,
    before: Evaluation | Mapping[str, Interval] | None = None,
    *,
    n_before: int | None = None,
) -> CalibrationShift:
    """Compare the scores of a calibrator on new data with those on the rows it was judged on.

    The two sets of rows are independent samples. The interval of a change is put together from those before and now
    (Newcombe 1998, method 10; Zou and Donner 2008, equation 7), which may also be recorded ones.

    Parameters
    ----------
    now, raw : the calibrator and the raw model on the same new rows.
    before : the calibrator on the rows it was judged on, or its recorded scores with their 95 % intervals, see
        :func:`recorded_scores`.
    n_before : rows behind recorded scores.
    """
    scored = scored_on(now)
    earlier = None
    if isinstance(before, Evaluation):
        earlier = scored_on(before)
        n_before = len(before)
    recorded = before if isinstance(before, Mapping) else {}

    def changes(of: float) -> dict[str, ScoreChange]:
        here = scored.intervals(of)
        there = {} if earlier is None else earlier.intervals(of)
        for key, interval in recorded.items():
            there[key] = _wider(
                interval, NormalDist().inv_cdf(0.5 + of / 2) / NormalDist().inv_cdf(0.5 + LEVEL / 2)
            )
        changes = {}
        for key in SHOWN:
            if key in here:
                pair = (there[key], combined(here[key], there[key])) if key in there else ()
                changes[key] = ScoreChange(here[key], *pair)
        return changes

    gain = None
    skill = None
    frequencies = 0.0
    constant = class_frequencies(now).row_nll
    if now.row_nll is not None and constant is not None:
        skill = now.rows.mean_of(constant - now.row_nll).interval(JOINT)
        frequencies = float(now.rows.mean_of(constant).value)
    if raw is not None and now.row_nll is not None and raw.row_nll is not None:
        check_same_rows(now, raw)
        gain = now.rows.mean_of(now.row_nll - raw.row_nll).interval(JOINT)
    means = now.means
    scores = changes(LEVEL)
    joint = changes(JOINT)
    return CalibrationShift(
        len(now),
        *means,
        scores,
        joint,
        n_before,
        gain,
        skill,
        frequencies,
        now.view,
        untold(now),
    )


def combined(now: Interval, before: Interval) -> Interval:
    """Interval of a difference of two independent estimates from their own intervals."""
    difference = now.value - before.value
    below = np.hypot(now.value - now.low, before.high - before.value)
    above = np.hypot(now.high - now.value, before.value - before.low)
    return Interval(difference, float(difference - below), float(difference + above))


def recorded_scores(metadata: Mapping[str, Any]) -> tuple[dict[str, Interval], int | None]:
    """The scores after calibration that an export's metadata record, and the rows they are of.

    Metadata are written by anybody: what is no number, or no interval around its value, is left out.
    """
    recorded: dict[str, Interval] = {}
    scores = metadata.get("scores")
    for key in SHOWN:
        entry = scores.get(key) if isinstance(scores, dict) else None
        after = entry.get("after") if isinstance(entry, dict) else None
        if isinstance(after, list) and len(after) == 3 and all(_is_number(part) for part in after):
            interval = Interval(*(float(part) for part in after))
            if interval.low <= interval.value <= interval.high:
                recorded[key] = interval
    n = metadata.get("n_test")
    return recorded, n if type(n) is int and n > 0 else None


def _wider(interval: Interval, factor: float) -> Interval:
    value, low, high = interval
    return Interval(value, value - factor * (value - low), value + factor * (high - value))


def _is_number(part: Any) -> bool:
    return not number_fault(part, False, -LARGEST, LARGEST)


_CLAIMED = ("NLL", "accuracy", "ECE", "signed gap")
_IN_POINTS = ("accuracy", "signed gap")


def verdict(shift: CalibrationShift, subject: str) -> list[str]:
    """Sentences on calibration now, changes of the scores, and the gain over the raw model.

    ``subject`` is the calibrator's title.
    """
    if shift.untold:
        return [f"Whether {subject} is still calibrated cannot be said: {shift.untold}."]
    sentences = [_useless(shift), _now(shift, subject), _changed(shift), _gain(shift)]
    return [sentence for sentence in sentences if sentence]


def off(shift: CalibrationShift) -> bool:
    """Return whether the gap or the ECE on the new data differs significantly from 0, at the joint level."""
    gap = shift.joint["signed gap"].now
    ece = shift.joint["ECE"].now
    return not shift.untold and (_beyond(gap) or ece.low > 0)


def _now(shift: CalibrationShift, subject: str) -> str:
    gap = shift.joint["signed gap"].now
    ece = shift.joint["ECE"].now
    view = shift.view
    facts = view.wording.describe_means(shift.predicted, shift.observed)
    if _beyond(gap):
        return f"{view.wording.describe_gap(subject, gap)}: {facts}."
    if ece.low > 0:
        return (
            f"{subject} is **miscalibrated on the new data** at some probabilities, though not on average "
            f"({facts}): {SCORES['ECE'].seen(view).title} {ece.value:.3f} ({ece.low:.3f} to {ece.high:.3f})."
        )
    return (
        f"**No significant miscalibration of {subject}**: {facts}. With {shift.n:,} rows the joint interval of the gap "
        f"is {100 * gap.low:+.1f} to {100 * gap.high:+.1f} points."
    )


def _changed(shift: CalibrationShift) -> str:
    changes = {
        key: score.change for key, score in shift.joint.items() if key in _CLAIMED and score.change
    }
    names = {key: key for key in _CLAIMED} | {"signed gap": shift.view.wording.gap_label}
    if not changes or (shift.n_before is not None and shift.n_before < FEW_ROWS):
        return ""
    moved = {key: change for key, change in changes.items() if _beyond(change)}
    if not moved:
        listing = ", ".join(
            f"{names[key]} {_change(key, change)}" for key, change in changes.items()
        )
        return f"No significant change since it was tested: {listing}."
    listing = listed(
        [
            f"{names[key]} {'rose' if change.value > 0 else 'fell'} by {_change(key, change).lstrip('+-')}"
            for key, change in moved.items()
        ]
    )
    rest = [name for key, name in names.items() if key in changes and key not in moved]
    other = f"; no significant change of {listed(rest)}" if rest else ""
    return f"Since it was tested, {listing}{other}."


def _useless(shift: CalibrationShift) -> str:
    """Sentence for a calibrator that is not better than class frequencies."""
    if shift.skill is None:
        return ""
    constant = describe_frequencies(shift.observed if shift.view.is_event else None)
    if shift.skill.value < HARDLY * shift.frequencies:
        return f"**Do not use it here**: on the new data it is no better than {constant}."
    return "" if shift.skill.low > 0 else f"It is not yet shown to be better than {constant}."


def _gain(shift: CalibrationShift) -> str:
    gain = shift.gain
    if gain is None:
        return ""
    near, far = sorted((abs(gain.low), abs(gain.high)))
    size = f"by {abs(gain.value):.2g} ({near:.2g} to {far:.2g})"
    if not _beyond(gain) or abs(gain.value) < NEGLIGIBLE:
        return "On the new data its NLL does not differ significantly from the raw model's."
    if gain.value < 0:
        helps = "Its" if _useless(shift) else "It still helps: its"
        return f"{helps} NLL is below the raw model's {size}."
    return f"The raw model is now significantly better: its NLL is lower {size}."


def _change(key: str, change: Interval) -> str:
    if key in _IN_POINTS:
        return f"{100 * change.value:+.1f} points ({100 * change.low:+.1f} to {100 * change.high:+.1f})"
    return f"{change.value:+.2g} ({change.low:+.2g} to {change.high:+.2g})"


def _beyond(interval: Interval) -> bool:
    return interval.low > 0 or interval.high < 0
