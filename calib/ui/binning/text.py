"""Sentences of the I-Max binning page, from the numbers of its picture."""

from __future__ import annotations

import numpy as np

from calib.diagnostics.binning import BinningPicture, uncertain_span
from calib.formatting import listed, number, percent, plural
from calib.numerics import sigmoid
from calib.plots.binning import SCHEME_NAMES
from calib.ui.text import literal


def finding(picture: BinningPicture) -> str:
    """What each scheme keeps of what the log-odds carry, and how many edges it has where labels are uncertain."""
    schemes = [(title, picture.schemes[name]) for name, title in SCHEME_NAMES.items()]
    (title, best), *others = sorted(schemes, key=lambda scheme: -scheme[1].label_information)
    most = picture.information
    rest = listed([f"{other} {_of(bins.label_information, most)}" for other, bins in others])
    kept = (
        f"**{_capital(title)} keeps {_of(best.label_information, most)} of the mutual information "
        f"of log-odds and label** ({number(best.label_information)} of {number(most)} nats) in "
        f"{plural(len(best.count), 'bin')}; {rest}."
    )
    return f"{kept} {edges_where_uncertain(picture)}"


def edges_where_uncertain(picture: BinningPicture) -> str:
    """How many edges each scheme has where most of the uncertainty about the label lies.

    A scheme with more edges there than I-Max is said to be no better for it, or to be so, by what its bins keep.
    """
    low, high = uncertain_span(picture.density)
    schemes = {name: picture.schemes[name] for name in SCHEME_NAMES}
    inside = {name: int(((bins.edges >= low) & (bins.edges <= high)).sum()) for name, bins in schemes.items()}
    counts = [f"{SCHEME_NAMES[name]} {n or 'none'}" for name, n in inside.items() if name != "imax"]
    ends = " to ".join(number(float(sigmoid(np.array(end)))) for end in (low, high))
    said = (
        f"Where half of the uncertainty about the label lies, at a probability of the model of {ends}, "
        f"I-Max has {inside['imax'] or 'none'} of its {plural(len(schemes['imax'].edges), 'edge')}, {listed(counts)}."
    )
    more = [name for name in SCHEME_NAMES if inside[name] > inside["imax"]]
    worse = [SCHEME_NAMES[name] for name in more
             if schemes[name].label_information < schemes["imax"].label_information]  # fmt: skip
    if not worse:
        return said
    have, keep = ("has", "keeps") if len(worse) == 1 else ("have", "keep")
    return f"{said} {_capital(listed(worse))} {have} more edges there and still {keep} less."


def whose(picture: BinningPicture, class_name: str | None) -> str:
    """Whose pairs are shown, in one line."""
    positives = int(picture.density.count_label.sum())
    if class_name is not None:
        of = f"of “{literal(class_name)}” against {'the other class' if picture.n_classes == 2 else 'the rest'}"
    else:
        of = f"of all {picture.n_classes:,} classes, each against the rest"
    return (
        f"{plural(picture.n_pairs, 'pair')} {of}, from {plural(picture.n_rows, 'calibration row')}; {positives:,} "
        f"({percent(positives / picture.n_pairs, 2)}) have y = 1, which means that the class is the label."
    )


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]


def _of(part: float, whole: float) -> str:
    return percent(part / whole) if whole > 0 else "–"
