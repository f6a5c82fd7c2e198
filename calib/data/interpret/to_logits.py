"""The one place where outputs become logits; nothing later guesses."""

from __future__ import annotations

import numpy as np

from calib.canonical import Kind, zero_floor
from calib.data.checks.report import Report, count, verb
from calib.numerics import Floats, blocks


def to_logits(outputs: Floats, kind: Kind, name: str, report: Report) -> tuple[Floats, float | None]:
    """Logits, or log-probabilities, in place; and what exact zeros became.

    Parameters
    ----------
    outputs : (n, k) array owned by the caller, overwritten; k is 1 for the binary kinds.

    Returns
    -------
    logits : (n, n_classes); log-odds s are stored as (0, s), a probability p as (log(1 - p), log p).
    floor : as guessed by :func:`calib.canonical.zero_floor`, or what was chosen; None if there was no zero.
    """
    if kind == "binary_log_odds":
        return np.concatenate([np.zeros_like(outputs), outputs], axis=1), None
    if kind == "binary_probability":
        outputs = np.concatenate([1 - outputs, outputs], axis=1)
    if kind in ("probabilities", "binary_probability"):
        return log_in_place(outputs, name, report)
    if kind == "log_probabilities":
        return finite_in_place(outputs, name, report)
    return outputs, None


def log_in_place(probs: Floats, name: str, report: Report) -> tuple[Floats, float | None]:
    """Logarithm of probabilities, of which exact zeros (and values rounded below zero) become the floor."""
    smallest, n_zero, n_negative, n_rows = np.inf, 0, 0, 0
    for rows in blocks(*probs.shape):
        block = probs[rows]
        positive = block > 0
        smallest = min(smallest, float(np.min(block, where=positive, initial=np.inf)))
        if not positive.all():
            n_zero += int(block.size - np.count_nonzero(positive))
            n_negative += int(np.count_nonzero(block < 0))
            n_rows += int((~positive).any(axis=1).sum())
    floor = None
    if n_zero:
        floor, reason = choose_floor(smallest, probs.shape[1], report)
        tell(n_zero, n_negative, n_rows, len(probs), floor, reason, name, report)
    for rows in blocks(*probs.shape):
        block = probs[rows]
        zero = block <= 0 if n_zero else None
        with np.errstate(divide="ignore", invalid="ignore"):
            np.log(block, out=block)
        if zero is not None and floor is not None:
            block[zero] = np.log(floor)
    return probs, floor


def finite_in_place(log_probs: Floats, name: str, report: Report) -> tuple[Floats, float | None]:
    """Log-probabilities, of which minus infinity becomes the logarithm of the floor."""
    zero = log_probs == -np.inf
    n_zero = int(zero.sum())
    if not n_zero:
        return log_probs, None
    lowest = float(np.min(log_probs, where=~zero, initial=0.0))
    floor, reason = choose_floor(float(np.exp(lowest)), log_probs.shape[1], report)
    tell(n_zero, 0, int(zero.any(axis=1).sum()), len(log_probs), floor, reason, name, report)
    log_probs[zero] = np.log(floor)
    return log_probs, floor


def choose_floor(smallest: float, n_classes: int, report: Report) -> tuple[float, str]:
    """The floor that was chosen, or the guess; and where it comes from, for a sentence."""
    if report.choices.floor is not None:
        return float(report.choices.floor), "as chosen"
    floor = zero_floor(smallest, n_classes)
    report.decide(floor=floor)
    if smallest >= 1:
        return floor, "no other probability is below one, so that rows keep a confidence near one"
    if smallest > 1 / n_classes:
        return (
            floor,
            f"half of 1/{n_classes}; half the smallest positive value, {smallest:.2g}, would be too much",
        )
    return floor, f"half the smallest positive value, {smallest:.2g}"


def tell(
    n_zero: int, n_negative: int, n_rows: int, n: int, floor: float, reason: str, name: str, report: Report
) -> None:
    """Say how many zeros there were and what they became."""
    below = f" ({n_negative:,} of them a little below zero)" if n_negative else ""
    report.info(
        "zeros",
        f"{count(n_zero, 'value')} in {count(n_rows, 'row')} of {n:,} of {name} {verb(n_zero, 'is', 'are')} exactly "
        f"zero{below}; the logarithm would be infinite, so zeros became {floor:.2g} ({reason}).",
        "Save logits instead of probabilities, or choose another floor.",
    )
