"""On which scale outputs are written: row sums and names settle it, and what they leave open is asked."""

from __future__ import annotations

from itertools import pairwise
from string import digits
from typing import Any

import numpy as np

from calib.canonical import IN_UNIT
from calib.data.array_names import words
from calib.data.findings import InvalidUpload, Step, info, warning
from calib.data.options import Choices, names_in
from calib.data.scales import LOGS, PLAIN, SLACK, Scale, in_words
from calib.data.words import POINTS
from calib.numerics import Floats

LOOKED_AT = 20_000
"""Rows of several columns that are looked at, from the first to the last."""

FEW = 20
"""In a single column of fewer rows the range tells little."""

WHOLES = (100.0, 255.0, 256.0, 1000.0, 10_000.0, 1_000_000.0)
"""What rows of rounded numbers may sum to: percent, bytes, per mille, basis points and parts per million."""

SAID: dict[Scale, tuple[str, ...]] = {
    "log2": ("log2", "log2p", "log2prob"),
    "log10": ("log10", "log10p", "log10prob"),
    "log": ("logprob", "logprobs", "logproba", "logp", "lnp", "logprobability"),
    "odds": ("odds",),
    "percent": ("percent", "percentage", "pct", "perc", "prozent", "pourcent", "pourcentage", "porcentaje"),
    1000.0: ("permille", "promille", "pormil"),
    1e4: ("bps", "basispoints"),
    1e6: ("ppm", "permillion"),
}
"""Words in a column's name that tell its scale, the most telling first."""

LOG_ODDS = ("logit", "logits", "margin", "margins", "logodds", "decision", "decisionfunction", "z")
"""Words in a column's name that say log-odds."""

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
    values = looked_at(outputs)
    finite = values[np.isfinite(values)]
    inside = bool(finite.size) and finite.min() >= -1e-6 and finite.max() <= 1 + 1e-6
    if choices.kind in ("logits", "binary_log_odds") or not finite.size or inside:
        return plain
    single, in_unit = outputs.shape[1] == 1, choices.kind in IN_UNIT
    if single:
        column = next(iter(names_in(choices.outputs)), name)
        scale, sure = of_column(finite, column, in_unit)
    else:
        scale, sure = of_rows(values, name), True
    if scale is None:
        return plain
    back = {} if in_unit else {"scale": PLAIN, "kind": "binary_log_odds" if single else "logits"}
    reason = f"{name} was read as {in_words(scale)}, and converted: values {reach(finite)}"
    if single:
        reason += ", and its name says so." if sure and not in_unit else "."
    else:
        reason += ", with the row sums of that scale."
    said = info if sure else warning
    return Step(scale, (said("scale", reason, "" if sure else "If that is wrong, read them as they are.", **back),),
                {"scale": scale})  # fmt: skip


def looked_at(outputs: Floats) -> Floats:
    """The rows that are looked at, without those that hold NaN or plus infinity."""
    rows = np.unique(np.linspace(0, len(outputs) - 1, LOOKED_AT).astype(np.int64))
    values = outputs if outputs.shape[1] == 1 or len(rows) == len(outputs) else outputs[rows]
    return values[~(np.isnan(values) | np.isposinf(values)).any(axis=1)]


def reach(values: Floats) -> str:
    """The range of numbers in words."""
    return f"run from {float(values.min()):.4g} to {float(values.max()):.4g}"


def of_rows(values: Floats, name: str) -> Scale | None:
    """The scale of several columns: what every row sums to."""
    low, high, total = values.min(), values.max(), values.sum(axis=1, dtype=np.float64)
    if high <= SLACK:
        return of_logarithms(values)
    if low < -1e-6 * high:
        if unit_of(values) == 1 and low < -30 and high > 30:
            raise ask(
                f"{name} holds whole numbers that {reach(values)}: probabilities in signed bytes, as quantised models "
                "give them, which have to be saved as (q + 128) / 256; or logits.",
                AS_LOGITS,
            )
        return None
    target = float(np.median(total))
    whole = min(WHOLES, key=lambda one: abs(one - target))
    off, unit = np.abs(total - whole), unit_of(values)
    slack = max(min(unit * values.shape[1] / 2, whole / 4), 5 * SLACK * whole)
    if off.max() <= slack and np.median(off) <= SLACK * whole + unit * np.sqrt(values.shape[1]):
        return "percent" if whole == 100 else "counts"
    if len(values) >= 5 and np.ptp(total) <= 1e-5 * target:
        return "counts"
    with np.errstate(divide="ignore"):
        shares = 1 / values.astype(np.float64)
    if np.abs((1 / (1 + shares)).sum(axis=1) - 1).max() <= SLACK:
        return "odds"
    if low > 1 and shares.sum(axis=1).min() >= 0.97 and shares.sum(axis=1).max() <= 1.35:
        raise ask(
            f"{name} holds numbers above 1 whose shares 1 / o sum to about one in each row: decimal odds as bookmakers "
            "write them, which have to be saved as 1 / o; or logits.",
            AS_LOGITS,
        )
    if unit >= 0.1:
        raise ask(
            f"{name} holds numbers whose rows sum to {total.min():.4g} up to {total.max():.4g}: counts, points or "
            "logits.",
            {"Counts or points: divide each row by its sum": {"scale": "counts"}, **AS_LOGITS},
        )
    return None


def of_logarithms(values: Floats) -> Scale | None:
    """The base of logarithms of probabilities; None for natural ones, which need no conversion, and for logits."""
    unit = unit_of(values)
    for scale, factor in LOGS.items():
        total = np.exp(values * factor).sum(axis=1, dtype=np.float64)
        if np.abs(total - 1).max() <= SLACK + (factor * unit / 2 if unit <= 0.01 else 0):
            return None if scale == "log" else scale
    return None


def of_column(values: Floats, name: str, in_unit: bool) -> tuple[Scale | None, bool]:
    """The scale of a single column, and whether nothing else is plausible.

    Parameters
    ----------
    values : (n,) finite numbers that leave [0, 1].
    name : of the column, which may tell the scale.
    in_unit : whether somebody has said that it is a probability.
    """
    low, high, told = float(values.min()), float(values.max()), told_by(name)
    largest = 100.0 if told == "percent" else told if isinstance(told, float) else 0.0
    odds = told == "odds" and 0 <= low < 1  # decimal odds 1 / p are larger
    if (told in LOGS and high <= SLACK) or (low >= 0 and high <= largest) or odds:
        return told, True
    if (told == "log_odds" or (len(values) < FEW and high <= 10)) and not in_unit:
        return None, True
    if low >= 0 and ((in_unit and 10 < high <= 100) or (told not in ("points", "odds") and 50 < high <= 100)):
        return "percent", in_unit
    as_is = {} if in_unit else {"Log-odds, as they are": {"scale": PLAIN, "kind": "binary_log_odds"}}
    if high <= SLACK:
        logarithms = {in_words(scale).capitalize(): {"scale": scale} for scale in LOGS}
        raise ask(
            f"{name} is one column of which no value is positive ({reach(values)}): log-odds of something rare, or "
            "logarithms of probabilities.",
            {**as_is, **logarithms},
        )
    if -1 <= low < 0 and high <= 1 and not in_unit:
        raise ask(
            f"{name} is one column whose values {reach(values)}: log-odds that stay near 0, or probabilities that were "
            "moved below 0, which have to be saved as they were.",
            as_is,
        )
    if low < 0:
        return None, True
    fit = [one for one in (10.0, 100.0, 1000.0, 1e4, 1e6) if high <= one][: 2 if high <= 10 else 1]
    offered = {f"A probability of one is {one:,g}": {"scale": "percent" if one == 100 else one} for one in fit}
    offered |= {"Odds p / (1 - p)": {"scale": "odds"}} if unit_of(values) < 1 else {}
    if unit_of(values) == 1 and high not in fit:
        offered[f"A probability of one is {high:,g}, the largest"] = {"scale": high}
    if told == "odds":
        offered = {"Odds p / (1 - p)": {"scale": "odds"}, **offered}
    raise ask(
        f"{name} is one column of numbers that {reach(values)}, which are no probabilities yet.", {**offered, **as_is}
    )


def unit_of(values: Floats) -> float:
    """The largest power of ten up to one of which all values are multiples; 0 where there is none."""
    for unit in (1.0, 0.1, 0.01, 0.001, 0.0001):
        scaled = values[np.isfinite(values)].astype(np.float64) / unit
        near = 1e-6 if values.dtype == np.float64 else 1e-6 * max(float(np.abs(scaled).max(initial=1.0)), 1.0)
        if near < 0.05 and (np.abs(scaled - np.round(scaled)) <= near).all():
            return unit
    return 0.0


def told_by(name: str) -> Scale | None:
    """What a column's name says of its scale: one of the scales, ``log_odds`` or ``points``."""
    if "%" in name or "‰" in name:
        return "percent" if "%" in name else 1000.0
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
