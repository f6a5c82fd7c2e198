"""Sentences of the Geometry page, which claim no more than the intervals allow."""

from __future__ import annotations

import numpy as np

from calib.diagnostics.separation import ExplainedInput, Measured, RightShare, Sides
from calib.formatting import listed, number, percent, plural
from calib.metrics.bootstrap import Interval
from calib.ui.text import literal, percents


def finding(sides: Sides) -> str:
    """How often inputs well inside their class are right, and what dangerous ones are worth."""
    inside, rest = sides.inside, sides.dangerous
    if sides.threshold <= 0:
        return _mostly_dangerous(sides)
    opening = (
        f"**Inputs that lie well inside their predicted class are right in {percent(inside.rate.value)} of cases** "
        f"({_interval(inside.rate)}; the {inside.rows:,} of {plural(sides.everyone.rows, 'test row')} with a separation"
        f" of {number(sides.threshold)} or more), against {percent(sides.everyone.rate.value)} of all."
    )
    if not rest.rows:
        return f"{opening} None of them is dangerous: each is nearer to its predicted class than to all others."
    verb, owner = ("is", "it") if rest.rows == 1 else ("are", "these")
    text = (
        f"{opening} {rest.rows:,} of {sides.everyone.rows:,} {verb} **dangerous**, nearer to another class, and "
        f"{_right(rest, owner)} ({_interval(rest.rate)})"
    )
    return f"{text}{_overlap(inside, rest)}."


def _mostly_dangerous(sides: Sides) -> str:
    """The finding where the median separation is not positive: most inputs lie nearer to another class."""
    safe, rest = sides.safe, sides.dangerous
    many = f"{rest.rows:,} of {plural(sides.everyone.rows, 'test row')}"
    opening = f"**{many} {'is' if rest.rows == 1 else 'are'} dangerous**: nearer to another class than to the predicted"
    opening = f"{opening} one. {percent(rest.rate.value)} of these are right ({_interval(rest.rate)})"
    if not safe.rows:
        return f"{opening}."
    of_safe = f"{percent(safe.rate.value)} of the safe ones ({_interval(safe.rate)})"
    return f"{opening}, against {of_safe}{_overlap(safe, rest)}."


def _overlap(one: RightShare, other: RightShare) -> str:
    overlap = one.rate.low <= other.rate.high and other.rate.low <= one.rate.high
    return "; the two intervals overlap" if overlap else ""


def _right(share: RightShare, owner: str) -> str:
    if share.rows == 1:
        return f"{owner} is {'right' if share.right else 'wrong'}"
    return f"{percent(share.rate.value)} of {owner} are right"


def _interval(rate: Interval) -> str:
    return f"95\u00a0%: {percents(rate)}"


def whose(measured: Measured, learned: Measured, n_train: int) -> str:
    """On what it is judged, and what was left out of large data."""
    text = (
        f"Judged on {plural(len(measured.rows), 'test row')} against {plural(n_train, 'training row')}; both maps are "
        f"learned from {plural(len(learned.rows), 'calibration row')} alone."
    )
    cut = [
        f"{len(part.rows):,} of {part.n:,} {name} rows"
        for name, part in (("test", measured), ("calibration", learned))
        if len(part.rows) < part.n
    ]
    if cut:
        text += f" All rows would take longer than a page should: this is a random draw of {' and '.join(cut)}."
    infinite = int(np.count_nonzero(~np.isfinite(measured.separation)))
    if infinite:
        text += (
            f" {plural(infinite, 'test row')} {'has' if infinite == 1 else 'have'} no finite separation, because the "
            "training set lacks the predicted class or holds no other."
        )
    return text


def row_sentence(row: ExplainedInput, class_names: tuple[str, ...], isotonic: float, sigmoid: float, kind: str) -> str:
    """What is known of one test row; ``kind`` names the separation that the maps look at."""
    predicted, label = literal(class_names[row.predicted]), literal(class_names[row.label])
    verdict = "rightly" if row.predicted == row.label else f"wrongly (its label is {label})"
    why = row.why
    text = f"**Test row {row.number:,}** is predicted as **{predicted}**, {verdict}, "
    text += f"with a confidence of {percent(row.confidence)} by the model. "
    if why.same_row is None:
        return f"{text}No training input has this class, so its separation is −∞."
    if why.other_row is None:
        return f"{text}No training input has another class, so its separation is +∞."
    side, closer = ("safe", "nearer") if why.safe else ("dangerous", "no nearer")
    return (
        f"{text}The nearest training input of that class is {number(why.same)} away, the nearest of another "
        f"{number(why.other)}: it is **{side}**. Fast separation {_minus(why.fast)}, exact {_minus(why.exact)}: every "
        f"input less than {number(abs(why.exact))} away is {closer} to the predicted class than to all others. At a "
        f"{kind} of {_minus(row.separation)}, predictions are right {percent(isotonic)} of the time by the isotonic map"
        f" and {percent(sigmoid)} by the sigmoid."
    )


def fitted_sentence(fitted: list[tuple[str, float]]) -> str:
    """The confidence of the fitted calibrators in the row."""
    said = listed([f"{title} {percent(confidence)}" for title, confidence in fitted])
    return f"Confidence of the fitted calibrators in this prediction: {said}."


def _minus(value: float) -> str:
    return "−" + number(-value) if value < 0 else number(value)
