"""Numbers and findings in plain words; every number in them is computed, none is typed.

Names from files, as plain text within Markdown.

What is said once, at the top of the next page that is drawn.
"""

from __future__ import annotations

import math
import re

import streamlit as st

from calib.evaluation import Evaluation
from calib.evaluation.compare import FEW_ROWS
from calib.formatting import brief, listed, number, percent, plural, signed
from calib.metrics.confidence import signed_confidence_gap

__all__ = [
    "binning_name",
    "brief",
    "confidence_sentence",
    "listed",
    "mean_nll",
    "number",
    "percent",
    "plural",
    "signed",
]

_BINNING_NAMES = {"imax": "I-Max", "kmeans": "k-means"}


def binning_name(binning: str) -> str:
    """How an entry of ``calib.metrics.BINNINGS`` is called on every page: its own words, unless it is a name."""
    return _BINNING_NAMES.get(binning, binning.replace("_", " "))


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


def mean_nll(evaluation: Evaluation) -> float:
    """NLL of an evaluation; infinite for methods that give a confidence only, so that they sort last."""
    return math.inf if evaluation.row_nll is None else float(evaluation.row_nll.mean())


_SPECIAL = re.compile(r"([\\`*_{}\[\]()<>$#~:|!+.\-])")
_AUTOLINK = re.compile(r"(?<=:)(?=//)|(?<=www)(?=\.)|(?<=@)", re.IGNORECASE)
JOINER = "\u2060"
"""Takes no room; it keeps apart what Markdown would turn into a link, which no backslash prevents."""


def literal(name: str, longest: int = 40) -> str:
    """A name that was not written here: shortened, on one line, and read as nothing more than text.

    An empty or blank one is called "(empty)", so that no sentence has a hole.
    """
    short = name if len(name) <= longest else name[: longest - 1] + "…"
    words = " ".join(short.split())
    return _SPECIAL.sub(r"\\\1", _AUTOLINK.sub(JOINER, words)) if words else "(empty)"


NOTICES = "calib_notices"


def tell(text: str) -> None:
    """Have a sentence said."""
    st.session_state.setdefault(NOTICES, []).append(text)


def say() -> None:
    """Say what is to be said."""
    for text in st.session_state.pop(NOTICES, []):
        st.info(text, icon=":material/history:")
