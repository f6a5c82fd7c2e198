"""Sentences of the Latent GP page: the effect of a latent function, which claim no more than its band allows."""

from __future__ import annotations

import numpy as np

from calib.diagnostics.latent_effect import EffectCurve, EffectStudy, GroupChange
from calib.formatting import listed, number, percent

HALF_A_POINT = 0.005
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
    where = f"inside the 95\u00a0% band at {percent(1 - outside, 0)}"
    if outside > SAME:
        where = f"outside the 95\u00a0% band at {percent(outside, 0)}"
    weights = "weights p\u00a0(1\u00a0−\u00a0p)"
    return f"Temperature scaling, shifted to the same level, lies {where} of the logits ({weights})."


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
        "zero."
    )


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
    return f"up to {group.high:g}" if group.low == 0.0 else f"from {group.low:g} to {group.high:g}"


def _signed(share: float) -> str:
    return f"{'−' if share < 0 else '+'}{100 * abs(share):.1f}"
