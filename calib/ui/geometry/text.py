"""Sentences of the Geometry page, which claim no more than the intervals allow."""

from __future__ import annotations

import numpy as np

from calib.diagnostics.separation import PrincipalPlane, RightShare, Sides, Timed
from calib.diagnostics.separation_study import SeparationCosts, Tradeoff
from calib.formatting import listed, number, percent, plural
from calib.metrics.bootstrap import Interval
from calib.plots.geometry_success import NAMES
from calib.ui.geometry.state import Row
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


def whose(measured: Timed, learned: Timed, n_train: int) -> str:
    """On what it is judged, and what a time limit left out."""
    text = (
        f"Judged on {plural(len(measured.rows), 'test row')} against {plural(n_train, 'training row')}; both maps are "
        f"learned from {plural(len(learned.rows), 'calibration row')} alone."
    )
    cut = [
        f"{len(part.rows):,} of {part.n:,} {name} rows"
        for name, part in (("test", measured), ("calibration", learned))
        if not part.whole
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


def sides_sentence(sides: Sides) -> str:
    """Safe and dangerous counts with their success rates."""
    parts = [
        f"{plural(share.rows, name)}, of which {percent(share.rate.value)} are right ({_interval(share.rate)})"
        for name, share in (("safe input", sides.safe), ("dangerous one", sides.dangerous))
        if share.rows
    ]
    return f"{'; '.join(parts)}. Safe: the nearest training input is of the predicted class."


def costs(found: SeparationCosts) -> str:
    """How fast and exact separation agree, and what each costs."""
    fast, exact = found.fast, found.exact
    agree = (
        "too few rows for a correlation"
        if found.correlation is None
        else f"a correlation of {found.correlation:.3f} (n = {found.n:,})"
    )
    share = "" if found.share is None else f"; on average fast has {percent(found.share, 0)} of the size of exact"
    text = (
        f"On {plural(len(exact.rows), 'test row')}, with {agree}{share}. Per second of processor time, about "
        f"**{rounded(fast.per_second)} fast** and **{rounded(exact.per_second)} exact** separations, measured on "
        f"{len(fast.rows):,} and {len(exact.rows):,} rows."
    )
    if not exact.whole:
        text += f" Exact separation did not reach all {exact.n:,} rows in the time a page may take."
    return text


def rounded(value: float) -> str:
    """A rate with two digits, as timings repeat no better."""
    return f"{float(f'{value:.2g}'):,.0f}" if value >= 10 else f"{value:.2g}"


def row_sentence(
    row: Row, class_names: tuple[str, ...], isotonic: float, sigmoid: float, separation: float, kind: str
) -> str:
    """What is known of one test row; ``kind`` names the separation that the maps look at."""
    predicted, label = literal(class_names[row.predicted]), literal(class_names[row.label])
    verdict = "rightly" if row.right else f"wrongly (its label is {label})"
    why = row.why
    text = f"**Test row {row.number:,}** is predicted as **{predicted}**, {verdict}, "
    text += f"with a confidence of {percent(row.confidence)} by the model. "
    if why.same_row is None:
        return f"{text}No training input has this class, so its separation is −∞."
    if why.other_row is None:
        return f"{text}No training input has another class, so its separation is +∞."
    side = "safe" if why.safe else "dangerous"
    return (
        f"{text}The nearest training input of that class is {number(why.same)} away, the nearest of another "
        f"{number(why.other)}: it is **{side}**. Fast separation {_minus(why.fast)}, exact {_minus(why.exact)}. At a "
        f"{kind} of {_minus(separation)}, predictions are right {percent(isotonic)} of the time by the isotonic map"
        f" and {percent(sigmoid)} by the sigmoid."
    )


def fitted_sentence(fitted: list[tuple[str, float]]) -> str:
    """The confidence of the fitted calibrators in the row."""
    said = listed([f"{title} {percent(confidence)}" for title, confidence in fitted])
    return f"Confidence of the fitted calibrators in this prediction: {said}."


def _minus(value: float) -> str:
    return "−" + number(-value) if value < 0 else number(value)


def zone_sentence(row: Row) -> str:
    """What the zone means, for the plane in which it is true."""
    radius = number(abs(row.why.exact))
    if row.why.safe:
        return (
            f"Every input less than {radius} away is nearer to the predicted class than to all others: a zone. The "
            "dashed line is half-way between the two training inputs that decide it."
        )
    return (
        f"Every input less than {radius} away is no nearer to the predicted class than to the others: the zone is "
        "dangerous. The dashed line is half-way between the two training inputs that decide it."
    )


def components_sentence(plane: PrincipalPlane, n_train: int, inside: int) -> str:
    """What a projection does to distances."""
    drawn = f"{len(plane.rows):,} of {n_train:,}" if len(plane.rows) < n_train else f"all {n_train:,}"
    text = (
        f"The first two principal components of {drawn} training inputs keep {percent(plane.kept, 0)} of their "
        "variance. A projection shrinks distances: inputs look nearer than they are, and the zone, drawn with its true "
        "radius, looks too large beside them."
    )
    if inside:
        text += (
            f" {plural(inside, 'training input')} drawn within it {'is' if inside == 1 else 'are'} outside in truth."
        )
    return text


def tradeoff_sentence(measured: list[Tradeoff]) -> str:
    """Which reduction gains most without a calibration error that stands out."""
    whole = next((one for one in measured if one.reduction == "none"), None)
    others = [one for one in measured if one.reduction != "none"]
    if whole is None or not others:
        return ""
    worse = [one for one in others if one.difference(whole).low > 0]
    kept = [one for one in others if one not in worse]
    start = (
        f"Without reduction: ECE {number(whole.ece.value)} (95\u00a0%: {number(whole.ece.low)} to "
        f"{number(whole.ece.high)}) at {rounded(whole.per_second)} predictions per second."
    )
    count = f"{len(worse)} of {len(others)}" if worse else f"none of {len(others)}"
    said = f" In {count} settings the ECE is significantly higher (paired 95\u00a0% interval above 0)."
    if not kept:
        return start + said
    best = max(kept, key=lambda one: one.per_second)
    gain = best.per_second / whole.per_second
    if gain < 1.2:
        return f"{start}{said} None of the others is at least 20\u00a0% faster."
    return (
        f"{start}{said} Of the others the fastest is **{NAMES[best.reduction]} at t = {best.factor}**: {gain:.2g} times"
        f" as fast, with ECE {number(best.ece.value)} (95\u00a0%: {number(best.ece.low)} to {number(best.ece.high)})."
    )
