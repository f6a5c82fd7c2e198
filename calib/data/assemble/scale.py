"""On which scale outputs are written: what row sums or the range settle is converted, what they leave open is asked."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from string import digits
from typing import Any

import numpy as np

from calib.canonical import IN_UNIT
from calib.data.array_names import words
from calib.data.findings import InvalidUpload, Step, info, warning
from calib.data.options import Choices, names_in
from calib.data.scales import LOGS, ONE, PLAIN, Scale, in_words
from calib.numerics import Floats

SLACK = 1e-3
"""How far, relative to it, a row sum may lie from what it should be where values are not rounded."""

LOOKED_AT = 20_000
"""Rows of several columns that are looked at, from the first to the last."""

FEW = 5
"""Fewer rows than these may agree with a scale by chance."""

FEW_VALUES = 20
"""In a single column of fewer rows the range tells little."""

STEPS = (1.0, 0.5, 0.1, 0.01, 0.001, 0.0001)
"""Units of which all values may be multiples."""

SAID = {
    "log2": ("log2", "log2p", "log2prob"),
    "log10": ("log10", "log10p", "log10prob"),
    "log": ("logprob", "logprobs", "logproba", "logp", "lnp", "logprobability"),
    "decimal_odds": ("decimalodds", "oddsdecimal"),
    "odds": ("odds",),
    "percent": ("percent", "percentage", "pct", "perc", "prozent", "pourcent", "pourcentage", "porcentaje"),
    "per_mille": ("permille", "promille", "pormil"),
    "per_million": ("ppm", "permillion"),
    "basis_points": ("bps", "basispoints", "basispoint"),
}
"""Words in a column's name that tell its scale, the most telling first."""

LOG_ODDS = ("logit", "logits", "margin", "margins", "logodds", "decision", "decisionfunction", "z")
"""Words in a column's name that say log-odds."""

POINTS = ("score", "scores", "points", "point", "rating", "index", "stars", "grade")
"""Words in a column's name that leave open whether its numbers are probabilities."""

BOOKMAKERS = (0.97, 1.35)
"""What the shares 1 / o of decimal odds sum to: one, and what bookmakers keep."""

AS_LOGITS = {"Logits, as they are": {"scale": PLAIN, "kind": "logits"}}


def decide_scale(outputs: Floats, name: str, choices: Choices) -> Step[Scale | None]:
    """The scale of outputs: the one that was chosen, else what the values settle; None for the plain one.

    Agreement with the labels has no say.

    Parameters
    ----------
    outputs : (n, k) floats as read, with NaN and infinite values where they had them.
    name : of the outputs, for sentences; that of a single column may tell its scale.

    Raises
    ------
    InvalidUpload
        Where several scales are plausible, with each as a reading to choose.
    """
    if choices.scale is not None:
        return Step(None if choices.scale == PLAIN else choices.scale)
    plain: Step[Scale | None] = Step(None, decided={"scale": PLAIN})
    look = Look.at(outputs)
    if choices.kind in ("logits", "binary_log_odds") or look is None or (look.low >= -1e-6 and look.high <= 1 + 1e-6):
        return plain
    single, in_unit = outputs.shape[1] == 1, choices.kind in IN_UNIT
    found = _of_column(look, name_of(choices, name), in_unit) if single else _of_rows(look, name)
    if found is None:
        return plain
    scale, why, settled = found
    back = {} if in_unit else {"scale": PLAIN, "kind": "binary_log_odds" if single else "logits"}
    reason = f"{name} was read as {in_words(scale)}, {_done(scale, single)}: {why}."
    if settled:
        return Step(scale, (info("scale", reason, **back),), {"scale": scale})
    return Step(
        scale, (warning("scale", reason, "If that is wrong, read them as they are.", **back),), {"scale": scale}
    )


def name_of(choices: Choices, name: str) -> str:
    """The name of a single column, which may tell its scale."""
    return next(iter(names_in(choices.outputs)), name)


def _done(scale: Scale, single: bool) -> str:
    """What is done to the values."""
    if scale in ONE:
        return f"and was divided by {ONE[str(scale)]:g}"
    if scale in LOGS:
        return "and became probabilities" if single else f"and was multiplied by {LOGS[str(scale)]:.4g}"
    done = {"counts": "and each row was divided by its sum", "odds": "and o became o / (1 + o)",
            "decimal_odds": "and o became 1 / o"}  # fmt: skip
    return done.get(str(scale), "and 128 was added before dividing by 256")


@dataclass(frozen=True, eq=False)
class Look:
    """What is looked at.

    Attributes
    ----------
    values : (n, k) without NaN and plus infinity.
    low, high : their range; minus infinity left out.
    step : the largest of :data:`STEPS` of which all are multiples; 0 where there is none.
    """

    values: Floats
    low: float
    high: float
    step: float

    @classmethod
    def at(cls, outputs: Floats) -> Look | None:
        """Look at some outputs; None where nothing is left of them."""
        rows = np.unique(np.linspace(0, len(outputs) - 1, LOOKED_AT).astype(np.int64))
        values = outputs if outputs.shape[1] == 1 or len(rows) == len(outputs) else outputs[rows]
        values = values[~(np.isnan(values) | np.isposinf(values)).any(axis=1)]
        finite = values[np.isfinite(values)]
        if not finite.size:
            return None
        step = next((step for step in STEPS if _multiples(finite[:1000], step) and _multiples(finite, step)), 0.0)
        return cls(values, float(finite.min()), float(finite.max()), step)

    @property
    def reach(self) -> str:
        """The range in words."""
        return f"values run from {self.low:.4g} to {self.high:.4g}"

    @property
    def grid(self) -> str:
        """What kind of numbers they are."""
        if self.step == 1:
            return "whole numbers"
        return f"multiples of {self.step:g}" if self.step else "numbers"

    def sums_to(self, target: float) -> bool:
        """Whether every row sums to a number, but for the rounding of each value."""
        off = np.abs(self.values.sum(axis=1, dtype=np.float64) - target)
        width = self.values.shape[1]
        usual, most = SLACK * target + self.step * np.sqrt(width), max(self.step * width / 2, 5 * SLACK * target)
        return bool(off.max() <= min(most, target / 4) and np.median(off) <= usual)


def _multiples(values: Floats, step: float) -> bool:
    scaled = values.astype(np.float64) / step
    near = 1e-6 if values.dtype == np.float64 else 1e-6 * max(float(np.abs(scaled).max(initial=1.0)), 1.0)
    return near < 0.05 and bool((np.abs(scaled - np.round(scaled)) <= near).all())


def _sums_to_256(values: Floats) -> bool:
    """Whether rows sum to 256 but for values rounded down or to the nearest, as quantised models write them."""
    total, width = values.sum(axis=1, dtype=np.float64), values.shape[1]
    return bool(total.min() >= max(256 - width, 192) and total.max() <= 256 + width / 2)


Found = tuple[Scale, str, bool]
"""A scale, why, and whether nothing else is plausible."""


def _of_rows(look: Look, name: str) -> Found | None:
    """The scale of several columns."""
    values, reach, many = look.values, look.reach, len(look.values) >= FEW
    if look.high <= SLACK:
        return _of_logarithms(look) if many else None
    if look.low < -1e-6 * look.high:
        return _of_signed(look, name) if many else None
    for scale, one in ONE.items():
        if scale != "tenths" and look.high <= one * (1 + SLACK / 10) and look.sums_to(one):
            return scale, f"{reach} and every row sums to {one:g}", True
    if not many:
        return None
    if look.step == 1 and look.high <= 255 and _sums_to_256(values):
        return "bytes", f"{reach} and every row sums to about 256", True
    total = values.sum(axis=1, dtype=np.float64)
    if np.ptp(total) <= 1e-5 * total[0]:
        return "counts", f"{reach} and every row sums to {total[0]:.6g}", True
    with np.errstate(divide="ignore"):
        shares = 1 / values.astype(np.float64)
    if look.low > 1 and (sums := shares.sum(axis=1)).min() >= BOOKMAKERS[0] and sums.max() <= BOOKMAKERS[1]:
        raise ask(
            f"{name} holds {look.grid} above 1 whose shares 1 / o sum to {sums.min():.4g} up to {sums.max():.4g} in "
            "each row: decimal odds, or logits.",
            {"Decimal odds: 1 / o, and each row divided by its sum": {"scale": "decimal_odds"}, **AS_LOGITS},
        )
    if np.abs((1 / (1 + shares)).sum(axis=1) - 1).max() <= SLACK:
        return "odds", "o / (1 + o) sums to one in each row", True
    if look.step >= 0.1:
        raise ask(
            f"{name} holds {look.grid} whose rows sum to {total.min():.4g} up to {total.max():.4g}: counts, points or "
            "logits.",
            {"Counts or points: divide each row by its sum": {"scale": "counts"}, **AS_LOGITS},
        )
    return None


def _of_logarithms(look: Look) -> Found | None:
    """The base of logarithms of probabilities; natural ones first, since of saturated rows every base sums to one."""
    for scale, factor in LOGS.items():
        powers = np.exp(look.values * factor).sum(axis=1, dtype=np.float64)
        slack = SLACK + (factor * look.step / 2 if look.step <= 0.01 else 0)
        if np.abs(powers - 1).max() <= slack:
            return None if scale == "log" else (scale, f"{scale[3:]} to these powers sums to one in each row", True)
    return None


def _of_signed(look: Look, name: str) -> Found | None:
    """Signed bytes, as quantised models give them."""
    if not (look.step == 1 and look.low >= -128 and look.high <= 127 and _sums_to_256(look.values + 128)):
        return None
    if look.values.shape[1] > 2:
        return "int8", f"{look.reach}, and rows sum to about 256 once 128 is added to each value", True
    if look.high - look.low < 60:
        return None
    raise ask(
        f"{name} holds whole numbers, {look.reach}, of which one is minus the other: probabilities in signed bytes, or "
        "logits.",
        {"Probabilities in signed bytes, -128 to 127": {"scale": "int8"}, **AS_LOGITS},
    )


def _of_column(look: Look, name: str, in_unit: bool) -> Found | None:
    """The scale of a single column, of two classes or of a confidence.

    Parameters
    ----------
    name : of the column, which may tell the scale.
    in_unit : whether somebody has said that it is a probability.
    """
    low, high, reach, told = look.low, look.high, look.reach, told_by(name)
    fits = (
        (told in LOGS and high <= SLACK)
        or (told in ONE and low >= 0 and high <= ONE[str(told)])
        or (told == "decimal_odds" and low >= 1)
        or (told == "odds" and 0 <= low <= 1)
    )
    if told is not None and fits:
        return told, f"{reach}, and its name says so", True
    if told == "odds" and low > 1:
        raise ask(
            f"{name} is one column of odds, all of them above 1 ({reach}): decimal odds 1 / p, or odds p / (1 - p).",
            {"Decimal odds: 1 / o": {"scale": "decimal_odds"}, "Odds in favour: o / (1 + o)": {"scale": "odds"}},
        )
    few = len(look.values) < FEW_VALUES and high <= 10
    if not in_unit and (told == "log_odds" or few):
        return None
    as_is = {} if in_unit else {"Log-odds, as they are": {"scale": PLAIN, "kind": "binary_log_odds"}}
    if high <= SLACK:
        raise ask(
            f"{name} is one column of which no value is positive ({reach}): log-odds of something rare, or logarithms "
            "of probabilities.",
            {**as_is, **{in_words(scale).capitalize(): {"scale": scale} for scale in LOGS}},
        )
    if low < 0:
        signed = look.step == 1 and -128 <= low < -30 and 30 < high <= 127
        return ("int8", f"whole numbers, {reach}", False) if signed else None
    if (in_unit and 10 < high <= 100) or (told != "points" and 50 < high <= 100):
        return "percent", reach, in_unit
    if look.step == 1 and high == 255:
        return "bytes", f"whole numbers, {reach}", False
    raise ask(
        f"{name} is one column of {look.grid} from {low:.4g} to {high:.4g}, which are no probabilities yet.",
        {**_that_reach(look), **as_is},
    )


def _that_reach(look: Look) -> dict[str, dict[str, Any]]:
    """The scales that a single column of numbers from 0 upwards may have."""
    found: dict[str, dict[str, Any]] = {}
    for scale, one in sorted(ONE.items(), key=lambda item: item[1]):
        least = 1000 if one > 1000 else 100 if one > 100 else 1
        if least < look.high <= one and (scale != "bytes" or look.step == 1):
            found[f"{in_words(scale).capitalize()}: divide by {one:g}"] = {"scale": scale}
    if look.step < 1:
        found["Odds"] = {"scale": "odds"}
    elif look.high not in ONE.values():
        found[f"Votes of {look.high:g}"] = {"scale": look.high}
    return found


def told_by(name: str) -> str | None:
    """What a column's name says of its scale: one of the scales, ``log_odds`` or ``points``."""
    if "%" in name or "‰" in name:
        return "percent" if "%" in name else "per_mille"
    spelled = words(name)
    pairs = [*spelled, *(a + b for a, b in pairwise(spelled))]
    pairs += [word.rstrip(digits) for word in spelled if not word.startswith("log")]
    if any(word in LOG_ODDS for word in pairs):
        return "log_odds"
    if found := next((scale for scale, said in SAID.items() if any(word in said for word in pairs)), None):
        return found
    return "points" if any(word in POINTS for word in spelled) else None


def ask(message: str, readings: dict[str, dict[str, Any]]) -> InvalidUpload:
    """The error that asks for the scale."""
    return InvalidUpload("scale", message, "Choose how they are written.", readings=readings)
