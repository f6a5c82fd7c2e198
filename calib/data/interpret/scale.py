"""On which scale outputs are written: what row sums or the range settle is converted, what they leave open is asked."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from string import digits
from typing import Any

import numpy as np

from calib.canonical import IN_UNIT
from calib.data.checks.report import InvalidUpload, Report
from calib.data.interpret.names import words
from calib.data.options import names_in
from calib.data.scales import LOGS, ONE, PLAIN, Scale, in_words
from calib.numerics import Floats

SLACK = 1e-3
"""How far, relative to it, a row sum may lie from what it should be where values are not rounded."""

LOOKED_AT = 20_000
"""Rows of several columns that are looked at, from the first to the last."""

FEW = 5
"""Fewer rows than these may agree with a scale by chance."""

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


def decide_scale(outputs: Floats, name: str, report: Report) -> Scale | None:
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
    choices = report.choices
    if choices.scale is None:
        report.decide(scale=_inferred(outputs, name, report))
    return None if report.choices.scale == PLAIN else report.choices.scale


def _inferred(outputs: Floats, name: str, report: Report) -> Scale:
    kind = report.choices.kind
    if kind in ("logits", "binary_log_odds"):
        return PLAIN
    one = outputs.shape[1] == 1
    rows = np.unique(np.linspace(0, len(outputs) - 1, LOOKED_AT).astype(np.int64))
    values = outputs if one or len(rows) == len(outputs) else outputs[rows]
    values = values[~(np.isnan(values) | np.isposinf(values)).any(axis=1)]
    if not len(values):
        return PLAIN
    look = Look.at(values)
    if look.low >= -1e-6 and look.high <= 1 + 1e-6:
        return PLAIN
    found = (
        _of_column(look, next(iter(names_in(report.choices.outputs)), name), kind in IN_UNIT)
        if one
        else _of_rows(look, name)
    )
    if found is None:
        return PLAIN
    scale, why, settled = found
    say = report.info if settled else report.warn
    back = {} if kind in IN_UNIT else {"scale": PLAIN, "kind": "binary_log_odds" if one else "logits"}
    say("scale", f"{name} was read as {in_words(scale)}, {_done(scale, one)}: {why}.",
        "" if settled else "If that is wrong, read them as they are.", **back)  # fmt: skip
    return scale


def _done(scale: Scale, one: bool) -> str:
    """What is done to the values."""
    if scale in ONE:
        return f"and was divided by {ONE[str(scale)]:g}"
    if scale in LOGS:
        return "and became probabilities" if one else f"and was multiplied by {LOGS[str(scale)]:.4g}"
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
    step : 1 where all are whole numbers, .5 or .1 where all are multiples of that, .01 and so on for as many
        decimals; 0 where there are more than four.
    """

    values: Floats
    low: float
    high: float
    step: float

    @classmethod
    def at(cls, values: Floats) -> Look:
        """Look at some values."""
        finite = values[np.isfinite(values)]
        if not finite.size:
            return cls(values, 0.0, 0.0, 0.0)
        steps = (1.0, 0.5, 0.1, 0.01, 0.001, 0.0001)
        head = finite[:1000]
        step = next((step for step in steps if _multiples(head, step) and _multiples(finite, step)), 0.0)
        return cls(values, float(finite.min()), float(finite.max()), step)

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
    values, low, high = look.values, look.low, look.high
    reach = f"values run from {low:.4g} to {high:.4g}"
    if high <= SLACK:
        for scale in ("log", "log2", "log10"):  # natural ones first: of saturated rows every base sums to one
            factor = LOGS[scale]
            powers = np.exp(values * factor).sum(axis=1, dtype=np.float64)
            slack = SLACK + (factor * look.step / 2 if look.step <= 0.01 else 0)
            if len(values) >= FEW and np.abs(powers - 1).max() <= slack:
                return None if scale == "log" else (scale, f"{scale[3:]} to these powers sums to one in each row", True)
        return None
    if low < -1e-6 * high:
        signed = look.step == 1 and low >= -128 and high <= 127 and len(values) >= FEW
        if not signed or not _sums_to_256(values + 128):
            return None
        if values.shape[1] > 2:
            return "int8", f"{reach}, and rows sum to about 256 once 128 is added to each value", True
        if high - low < 60:
            return None
        raise ask(
            f"{name} holds whole numbers, {reach}, of which one is minus the other: probabilities in signed bytes, or "
            "logits.",
            {
                "Probabilities in signed bytes, -128 to 127": {"scale": "int8"},
                "Logits, as they are": {"scale": PLAIN, "kind": "logits"},
            },
        )
    for scale, one in ONE.items():
        if scale != "tenths" and high <= one * (1 + SLACK / 10) and look.sums_to(one):
            return scale, f"{reach} and every row sums to {one:g}", True
    if len(values) < FEW:
        return None
    if look.step == 1 and high <= 255 and _sums_to_256(values):
        return "bytes", f"{reach} and every row sums to about 256", True
    total = values.sum(axis=1, dtype=np.float64)
    if np.ptp(total) <= 1e-5 * total[0]:
        return "counts", f"{reach} and every row sums to {total[0]:.6g}", True
    if low > 1:
        shares = (1 / values.astype(np.float64)).sum(axis=1)
        if shares.min() >= BOOKMAKERS[0] and shares.max() <= BOOKMAKERS[1]:
            raise ask(
                f"{name} holds {_grid(look)} above 1 whose shares 1 / o sum to {shares.min():.4g} up to "
                f"{shares.max():.4g} in each row: decimal odds, or logits.",
                {
                    "Decimal odds: 1 / o, and each row divided by its sum": {"scale": "decimal_odds"},
                    "Logits, as they are": {"scale": PLAIN, "kind": "logits"},
                },
            )
    with np.errstate(divide="ignore"):
        odds = (1 / (1 + 1 / values.astype(np.float64))).sum(axis=1)
    if np.abs(odds - 1).max() <= SLACK:
        return "odds", "o / (1 + o) sums to one in each row", True
    if look.step >= 0.1:
        raise ask(
            f"{name} holds {_grid(look)} whose rows sum to {total.min():.4g} up to {total.max():.4g}: counts, points "
            "or logits.",
            {
                "Counts or points: divide each row by its sum": {"scale": "counts"},
                "Logits, as they are": {"scale": PLAIN, "kind": "logits"},
            },
        )
    return None


def _of_column(look: Look, name: str, in_unit: bool) -> Found | None:
    """The scale of a single column, of two classes or of a confidence.

    Parameters
    ----------
    in_unit : whether somebody has said that it is a probability.
    """
    low, high, told = look.low, look.high, _told(name)
    reach = f"values run from {low:.4g} to {high:.4g}"
    if told in LOGS and high <= SLACK:
        return str(told), f"{reach}, and its name says so", True
    if told in ONE and low >= 0 and high <= ONE[str(told)]:
        return str(told), f"{reach}, and its name says so", True
    if told == "decimal_odds" and low >= 1:
        return "decimal_odds", f"{reach}, and its name says so", True
    if told in ("odds", "decimal_odds") and low > 1:
        raise ask(
            f"{name} is one column of odds, all of them above 1 ({reach}): decimal odds 1 / p, or odds p / (1 - p).",
            {
                "Decimal odds: 1 / o": {"scale": "decimal_odds"},
                "Odds in favour: o / (1 + o)": {"scale": "odds"},
            },
        )
    if told == "odds" and low >= 0:
        return "odds", f"{reach}, and its name says so", True
    if told == "log_odds" and not in_unit:
        return None
    as_is = {} if in_unit else {"Log-odds, as they are": {"scale": PLAIN, "kind": "binary_log_odds"}}
    if high <= SLACK:
        if len(look.values) < 20 and not in_unit:
            return None
        raise ask(
            f"{name} is one column of which no value is positive ({reach}): log-odds of something rare, or logarithms "
            "of probabilities.",
            {**as_is, **{f"{in_words(scale).capitalize()}": {"scale": scale} for scale in LOGS}},
        )
    if low < 0:
        if look.step == 1 and -128 <= low < -30 and 30 < high <= 127:
            return "int8", f"whole numbers, {reach}", False
        return None
    if len(look.values) < 20 and high <= 10 and not in_unit:
        return None
    if (in_unit and 10 < high <= 100) or (told != "points" and 50 < high <= 100):
        return "percent", reach, in_unit
    if look.step == 1 and high == 255:
        return "bytes", f"whole numbers, {reach}", False
    raise ask(
        f"{name} is one column of {_grid(look)} from {low:.4g} to {high:.4g}, which are no probabilities yet.",
        {
            **{
                f"{in_words(scale).capitalize()}: divide by {one:g}": {"scale": scale}
                for scale, one in sorted(ONE.items(), key=lambda item: item[1])
                if (1000 if one > 1000 else 100 if one > 100 else 1) < high <= one
                and (scale != "bytes" or look.step == 1)
            },
            **({"Odds": {"scale": "odds"}} if look.step < 1 else {}),
            **({f"Votes of {high:g}": {"scale": high}} if look.step == 1 and high not in ONE.values() else {}),
            **as_is,
        },
    )


def _grid(look: Look) -> str:
    if look.step == 1:
        return "whole numbers"
    return f"multiples of {look.step:g}" if look.step else "numbers"


def _told(name: str) -> str | None:
    """What a column's name says of its scale."""
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
