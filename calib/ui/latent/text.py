"""Sentences of the Latent GP page: the effect of a latent function, which claim no more than its band allows."""

from __future__ import annotations

import math

import numpy as np

from calib.diagnostics.latent_effect import EffectCurve, EffectStudy, GroupChange
from calib.formatting import listed, number, percent

HALF_A_POINT = 0.005
MOST_DIGITS = 5
SMALLEST = 10.0**-MOST_DIGITS
SAME = 0.05
"""Share outside a 95 % band that is expected by chance."""


def finding(name: str, effect: EffectStudy) -> str:
    """What it does to high, middle and low confidences."""
    if not effect.changes:
        return f"Too few test rows ({effect.n_rows}) for the effect of {name} on their confidences."
    return f"**{name} {_in_words(effect.changes)}.**"


def against_temperature(outside: float | None) -> str:
    """Whether the line of one temperature lies in the band that is drawn; see ``LatentCurve.temperature_outside``."""
    if outside is None:
        return ""
    weighed = "of the logits, weighed by how much they decide, p\u00a0(1\u00a0−\u00a0p)"
    where = f"inside it at {percent(1 - outside, 0)}" if outside <= SAME else f"outside it at {percent(outside, 0)}"
    return (
        "Temperature scaling, shifted to where its line can be compared with the pointwise 95\u00a0% band, lies "
        f"{where} {weighed}."
    )


def temperature_on_rows(curve: EffectCurve) -> str:
    """For how many rows temperature scaling lies in the band of mean confidences."""
    if curve.temperature is None:
        return ""
    (low, high), _ = curve.bands
    inside = curve.count[(curve.temperature >= low) & (curve.temperature <= high)].sum() / curve.count.sum()
    return (
        "On average over test rows of like confidence, temperature scaling lies in the pointwise 95\u00a0% band for "
        f"{percent(float(inside), 0)} of them."
    )


def least_sure(name: str, curve: EffectCurve) -> str:
    """Where the posterior is widest."""
    widest = int(np.argmax(curve.sd))
    return (
        f"{name} is least sure at confidences about {number(float(curve.before[widest]))} "
        f"(sd {points(float(curve.sd[widest]))} points)."
    )


def collapsed(name: str, scale: float) -> str:
    """For a fit whose kernel variance went to 0."""
    did = "changes nothing" if scale == 1.0 else f"only divides the logits by {scale:g}"
    return (
        f"**{name} {did} here**: its kernel variance went to 0. It then has no band; its uncertainty is unknown, not "
        "zero, and the numbers below come without ±."
    )


def becomes(after: float, sd: float | None) -> str:
    """A probability with its standard deviation, in as many digits as that supports: 0.81 ± 0.02.

    Neither a probability of 1 nor a deviation of 0 is claimed that only rounding makes.
    """
    if sd is None:
        return _below_one(after, 3)
    if sd < SMALLEST / 2:
        return f"{_below_one(after, MOST_DIGITS)} ± <{SMALLEST:.{MOST_DIGITS}f}"
    digits = min(MOST_DIGITS, max(2, -math.floor(math.log10(sd))))
    return f"{after:.{digits}f} ± {sd:.{digits}f}"


def _below_one(probability: float, least_digits: int) -> str:
    """With more digits where fewer would make it 1."""
    texts = (f"{probability:.{digits}f}" for digits in range(least_digits, MOST_DIGITS + 1))
    return next((text for text in texts if float(text) < 1.0), f">{1.0 - SMALLEST:.{MOST_DIGITS}f}")


def level(confidence: float) -> str:
    """A confidence in at least two decimals, and as many as tell it from 1: 0.93, 0.9995."""
    digits = min(6, max(2, math.ceil(-math.log10(max(1.0 - confidence, 1e-6)) - 1e-9)))
    return f"{confidence:.{digits}f}"


def points(share: float) -> str:
    """A share in percentage points, without a sign."""
    return number(100 * abs(share), 1) if 0 < abs(share) < 0.0005 else f"{100 * abs(share):.1f}"


def _in_words(groups: list[GroupChange]) -> str:
    """Lowers confidences above 0.9 by 3.1 points (±0.4) and those from 0.5 to 0.9 by 9.0 points (±1.2)."""
    clauses: dict[str, list[str]] = {}
    for group in groups:
        verb, amount = _change(group)
        noun = "those" if clauses else "confidences"
        clauses.setdefault(verb, []).append(f"{noun} {_range(group)} {amount}")
    return listed([f"{verb} {listed(objects)}" for verb, objects in clauses.items()])


def _change(group: GroupChange) -> tuple[str, str]:
    """What is done to the confidences of a range, and by how much."""
    low, high = group.change - 2 * group.sd, group.change + 2 * group.sd
    most = max(abs(low), abs(high))
    if most < HALF_A_POINT:
        return "leaves", f"as they are (within {points(most)} points)"
    if group.certain:
        return "raises" if group.change > 0 else "lowers", f"by {points(group.change)} points (sd {points(group.sd)})"
    return "may move", f"by anything from {_signed(low)} to {_signed(high)} points"


def _range(group: GroupChange) -> str:
    if group.high == 1.0:
        return f"above {group.low:g}"
    return f"below {group.high:g}" if group.low == 0.0 else f"from {group.low:g} to {group.high:g}"


def _signed(share: float) -> str:
    return f"{'−' if share < 0 else '+'}{100 * abs(share):.1f}"
