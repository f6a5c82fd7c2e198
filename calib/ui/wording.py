"""Numbers and findings in plain words; every number in them is computed, none is typed."""

from __future__ import annotations

import math

from calib.compare import FEW_ROWS
from calib.evaluation import Evaluation
from calib.metrics.confidence import signed_confidence_gap

_BINNING_NAMES = {"imax": "I-Max", "kmeans": "k-means"}


def binning_name(binning: str) -> str:
    """How an entry of ``calib.metrics.BINNINGS`` is called on every page: its own words, unless it is a name."""
    return _BINNING_NAMES.get(binning, binning.replace("_", " "))


def number(value: float, digits: int = 3) -> str:
    """Three significant digits without an exponent for usual scores: 0.0523, 12.3, 1,230."""
    if value is None or math.isnan(value):
        return "–"
    if value == 0:
        return "0"
    if abs(value) < 1e-4 or abs(value) >= 1e6:
        return f"{value:.{digits - 1}e}"
    decimals = max(0, digits - 1 - math.floor(math.log10(abs(value))))
    return f"{value:,.{decimals}f}"


def brief(value: float) -> str:
    """Like :func:`number` with no more than four decimals, where room is short: 0.0071."""
    text = number(value)
    return f"{value:.4f}" if len(text) > len("0.0710") and abs(value) < 1 else text


def percent(share: float, digits: int = 1) -> str:
    """A share as a percentage with a thin space: 96.5 %."""
    return "–" if math.isnan(share) else f"{100 * share:.{digits}f} %"


def signed(value: float, digits: int = 3) -> str:
    """A difference with its sign: +0.012, -0.105 (an ASCII minus, by which Streamlit tells better from worse)."""
    if math.isnan(value):
        return "–"
    return ("+" if value > 0 else "-" if value < 0 else "±") + number(abs(value), digits)


def confidence_sentence(evaluation: Evaluation, subject: str = "The model") -> str:
    """Say whether confidence exceeds accuracy, by how much, and whether chance explains it.

    The gap is mean confidence minus accuracy; its standard error is that of the mean of the row-wise
    difference, so a gap within two of them is called well matched rather than over- or underconfident.
    """
    says, right = float(evaluation.confidence.mean()), float(evaluation.correct.mean())
    gap = signed_confidence_gap(evaluation.confidence, evaluation.correct)
    n = len(evaluation.correct)
    # The spread of a few rows says little: differences of values in [0, 1] then count as if half of them were 1.
    spread = max(float((evaluation.confidence - evaluation.correct).std()), 0.5 if n < FEW_ROWS else 0) / math.sqrt(n)
    facts = f"it says {percent(says)} and is right {percent(right)} of the time"
    if abs(gap) <= max(2 * spread, 0.0005):
        return (
            f"{subject} is **neither over- nor underconfident on average**: {facts}, "
            f"a difference that chance explains (±{200 * spread:.1f} points)."
        )
    word = "overconfident" if gap > 0 else "underconfident"
    return f"{subject} is **{word} by {100 * abs(gap):.1f} points** (±{200 * spread:.1f}): {facts}."


def plural(count: int, noun: str, nouns: str | None = None) -> str:
    """A count with its noun: 1 row, 1,000 rows."""
    return f"{count:,} {noun if count == 1 else nouns or noun + 's'}"


def listed(names: list[str]) -> str:
    """Names in a sentence: A, B and C."""
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]])) if names else ""


def mean_nll(evaluation: Evaluation) -> float:
    """NLL of an evaluation; infinite for methods that give a confidence only, so that they sort last."""
    return math.inf if evaluation.row_nll is None else float(evaluation.row_nll.mean())
