"""Sentences of the I-Max binning page, from the numbers of its picture."""

from __future__ import annotations

import numpy as np
import pandas as pd

from calib.diagnostics.binning import BinningPicture
from calib.diagnostics.log_odds_density import BinnedPairs
from calib.diagnostics.verifiability import ErrorByBins
from calib.formatting import listed, number, percent, plural
from calib.numerics import Floats, sigmoid
from calib.plots.binning import SCHEME_NAMES
from calib.ui.text import literal

USUAL_BINS = 15
"""Fewer are too few to compare with."""


def finding(picture: BinningPicture) -> str:
    """What each scheme keeps of what the log-odds carry, and where its edges are."""
    schemes = [picture.schemes[name] for name in SCHEME_NAMES]
    best, *others = sorted(schemes, key=lambda bins: -bins.label_information)
    most = picture.information
    rest = listed([f"{SCHEME_NAMES[bins.scheme]} {_of(bins.label_information, most)}" for bins in others])
    kept = (
        f"**{_capital(SCHEME_NAMES[best.scheme])} keeps {_of(best.label_information, most)} of the mutual information "
        f"of log-odds and label** ({number(best.label_information)} of {number(most)} nats) in "
        f"{plural(len(best.count), 'bin')}; {rest}."
    )
    return " ".join(filter(None, [kept, _where(picture)]))


def _where(picture: BinningPicture) -> str:
    """Where the middle half of I-Max's edges lies, and how many of the others' lie there."""
    edges = picture.schemes["imax"].edges
    if len(edges) < 4:
        return ""
    low, high = (float(end) for end in np.quantile(edges, [0.25, 0.75], method="nearest"))
    inside = {name: _between(picture.schemes[name].edges, low, high) for name in SCHEME_NAMES}
    return (
        f"{inside['imax']} of I-Max's {len(edges)} edges lie where the model's probability is "
        f"{_probability(low)} to {_probability(high)}; equal mass has {inside['equal_mass'] or 'none'} of its edges "
        f"there, equal width {inside['equal_width'] or 'none'}."
    )


def whose(picture: BinningPicture, class_name: str | None) -> str:
    """Whose pairs are shown, in one line."""
    positives = int(picture.density.count_label.sum())
    if class_name is not None:
        of = f"of {quoted(class_name)} against {'the other class' if picture.n_classes == 2 else 'the rest'}"
    else:
        of = f"of all {picture.n_classes:,} classes, each against the rest"
    return (
        f"{plural(picture.n_pairs, 'pair')} {of}, from {plural(picture.n_rows, 'calibration row')}; {positives:,} "
        f"({percent(positives / picture.n_pairs, 2)}) have y = 1, which means that the class is the label."
    )


def quoted(name: str) -> str:
    """A class's name in a sentence: in quotes, shortened, and safe in Markdown."""
    return f"“{literal(name)}”"


def bound_note(picture: BinningPicture) -> str:
    """How far the model's own belief is from the frequencies of its pairs."""
    bins = picture.schemes["imax"]
    bound, kept = bins.bound, bins.label_information
    side = "above" if bound > kept else "below"
    return (
        f"The bound is the information of the bins if every probability of the model were true: {number(bound)} nats "
        f"for I-Max, {side} the {number(kept)} that its bins keep of the labels at hand."
    )


def steadiness(errors: ErrorByBins) -> str:
    """Which method's calibration error depends least, and which most, on the number of evaluation bins."""
    usual = errors.n_bins >= USUAL_BINS
    ranges = {name: (float(error[usual].min()), float(error[usual].max())) for name, error in errors.ece.items()}
    ordered = sorted(ranges, key=lambda name: ranges[name][1] - ranges[name][0])
    said = [f"{name} ({number(ranges[name][0])} to {number(ranges[name][1])})" for name in ordered]
    bins = f"{USUAL_BINS} to {errors.n_bins[-1]} evaluation bins"
    if len(said) == 1:
        return f"With {bins} the top-label ECE of {said[0]} depends on how it is measured."
    return f"With {bins} the top-label ECE changes least for **{said[0]}** and most for {said[-1]}."


def bin_table(bins: BinnedPairs) -> pd.DataFrame:
    """Every bin of one scheme in numbers."""
    return pd.DataFrame(
        {
            "from log-odds": np.r_[-np.inf, bins.edges],
            "to": np.r_[bins.edges, np.inf],
            "width": bins.width,
            "pairs": bins.count,
            "share, %": 100 * bins.mass,
            "y = 1": bins.positives,
            "representative": bins.representatives,
            "mean probability of the model": bins.predicted,
        }
    )


def _capital(name: str) -> str:
    return name[0].upper() + name[1:]


def _between(edges: Floats, low: float, high: float) -> int:
    return int(((edges >= low) & (edges <= high)).sum())


def _of(part: float, whole: float) -> str:
    return percent(part / whole) if whole > 0 else "–"


def _probability(value: float) -> str:
    return number(float(sigmoid(np.array(value))))
