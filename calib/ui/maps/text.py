"""Sentences of the Calibration maps page, which claim no more than the intervals of the test rows allow."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calib.calibrators.bayes_iso import BayesIsoMap
from calib.diagnostics.calibration_maps import JudgedMap, most_by_chance
from calib.diagnostics.frequencies import Frequencies
from calib.evaluation.view import TOP_LABEL, View
from calib.formatting import listed, percent, plural
from calib.numerics import Floats, sigmoid
from calib.plots.maps import probability_text
from calib.ui.fits import ShownFit
from calib.ui.text import literal

MOST_NAMED = 4
"""Names in a sentence before they are counted instead."""
Named = list[tuple[str, JudgedMap]]
"""Methods by the names their lines have."""


@dataclass(frozen=True)
class _Whose:
    """Words for the probability of one class, or of all classes pooled."""

    subject: str
    be: str
    agree: str
    pronoun: str
    unit: str
    units: str
    hit: str

    @classmethod
    def of(cls, class_name: str | None) -> _Whose:
        if class_name is None:
            subject, unit = "probabilities of all classes, pooled,", "of test row and class"
            return cls(subject, "are", "agree", "they are", f"pair {unit}", f"pairs {unit}", "have the class as label")
        name = literal(class_name)
        return cls(f"probability of {name}", "is", "agrees", "it is", "test row", "test rows", f"are {name}")


def finding(raw: JudgedMap, others: Named, seen: Frequencies, class_name: str | None) -> str:
    """How the raw model's map fares on the test rows, and how the fitted ones do.

    Parameters
    ----------
    class_name : whose map it is; None where all classes are pooled.
    """
    n_bins, outside, whose = len(seen.count), seen.outside(raw.means), _Whose.of(class_name)
    off, allowed = int(outside.sum()), most_by_chance(n_bins)
    if off > allowed:
        where = int(np.argmax(np.maximum(seen.low - raw.means, raw.means - seen.high)))
        first = (
            f"**The raw model's {whose.subject} {whose.be} off in {off} of {n_bins} bins of test rows**, most where"
            f" {whose.pronoun} {probability_text(float(raw.means[where]))}: there"
            f" {percent(float(seen.frequency[where]))} of"
            f" {plural(int(seen.count[where]), whose.unit, whose.units)} {whose.hit}"
            f" (95\u00a0%: {percent(float(seen.low[where]))} to {percent(float(seen.high[where]))})."
        )
    else:
        explained = ", no more than expected by chance" if off else ""
        first = (
            f"**The raw model's {whose.subject} {whose.agree} with the test rows** as far as"
            f" {plural(int(seen.count.sum()), whose.unit, whose.units)} in {plural(n_bins, 'bin')} can tell:"
            f" {_outside(off)}{explained}."
        )
    return " ".join(filter(None, [first, _fitted(others, seen, allowed)]))


def _fitted(others: Named, seen: Frequencies, allowed: int) -> str:
    counts = [(name, int(seen.outside(judged.means).sum())) for name, judged in others]
    agree = [name for name, off in counts if off <= allowed]
    most_off = max((off for _, off in counts if off <= allowed), default=0)
    depart = [(name, off) for name, off in counts if off > allowed]
    clauses = []
    if agree:
        every = f"All {len(agree)} fitted maps" if len(agree) > MOST_NAMED and not depart else listed(agree)
        clauses.append(
            f"{every} {'agrees' if len(agree) == 1 else 'agree'} with the test rows as far as these can tell: "
            f"{'at most ' if most_off and len(agree) > 1 else ''}{_outside(most_off)}"
            f"{', no more than expected by chance' if most_off else ''}"
        )
    if depart:
        (first, times), *rest = depart
        off_in = [f"{first} is off in {times}", *(f"{name} in {off}" for name, off in rest)]
        clauses.append(f"{listed(off_in)} of {plural(len(seen.count), 'bin')}")
    return f"{'; '.join(clauses)}." if clauses else ""


def _outside(off: int) -> str:
    return f"{plural(off, 'bin is', 'bins are') if off else 'none is'} off"


def shown(seen: Frequencies, class_name: str | None, n_classes: int, n_calibration: int) -> str:
    """Whose map is shown and on what it is judged, in one line."""
    total, hits, whose = int(seen.count.sum()), int(seen.positives.sum()), _Whose.of(class_name)
    name = f"each of {n_classes:,} classes" if class_name is None else literal(class_name)
    after = "" if n_classes == 2 else " Maps are shown before the probabilities of a row are made to sum to one."
    return (
        f"Shown is {name} against {'the other class' if n_classes == 2 else 'the rest'}: maps learned from"
        f" {plural(n_calibration, 'calibration row')}, judged on {plural(total, whose.unit, whose.units)}, of which"
        f" {hits:,} ({percent(hits / total, 2)}) {whose.hit}."
        f" A map is off in a bin if its mean there lies outside the 95\u00a0% Wilson interval of the frequency.{after}"
    )


def mapless(fits: list[ShownFit], pooled: bool) -> str:
    """The fits that have no map of one class, or none that all classes share, and why."""
    whole = [fit.title for fit in fits if fit.calibrator.gives_probabilities]
    confident = [fit.title for fit in fits if not fit.calibrator.gives_probabilities]
    said = []
    if whole:
        have = "has" if len(whole) == 1 else "have"
        one = "one map that all classes share" if pooled else "map of one class"
        said.append(
            f"{listed(whole)} {have} no {one}: what a class gets there depends on the logits of all others"
            f"{', or is learned for each class alone' if pooled else ''}."
        )
    if confident:
        gives = "gives" if len(confident) == 1 else "give"
        said.append(f"{listed(confident)} {gives} a confidence in the predicted class only, and so no map of a class.")
    return " ".join([*said, "Reliability and Compare judge such methods."]) if said else ""


def knows(name: str, posterior: BayesIsoMap) -> str:
    """Where a Bayes-Iso's posterior comes from, and how wide its band is."""
    source = "averages over all monotone maps at pooled scores, exactly. "
    if posterior.n_maps:
        source = (
            f"sampled {posterior.n_maps:,} maps over all scores and weighted each by the likelihood of the labels: the "
            f"effective sample size is {max(1, round(posterior.effective_maps)):,}. "
        )
    width = posterior.high - posterior.low
    widest = int(np.argmax(width))
    return (
        f"**{name}** {source}"
        f"Its 90\u00a0% band is {_points(float(np.median(width)))} points wide at the median score, and widest, "
        f"{_points(float(width[widest]))} points, where the raw model gives "
        f"{probability_text(float(sigmoid(posterior.log_odds[widest])))}."
    )


def pair(name: str, low: Floats, high: Floats) -> str:
    """How far apart Venn-Abers' two probabilities are, and what they are not."""
    width = high - low
    median, most = _points(float(np.median(width))), _points(float(width.max()))
    return (
        f"**{name}** has two probabilities for each score (thin lines): one with the row counted as the other class, "
        f"one with it counted as this one. Their median distance over the scores drawn is {median} points, the largest "
        f"{most}. The one that belongs to the true label is calibrated, but that one is not known in advance. "
        "They are no confidence interval."
    )


def dominated(name: str, posterior: BayesIsoMap) -> str:
    """The paper's flag, or nothing."""
    if not posterior.dominated:
        return ""
    return (
        f"{name}: one of the sampled maps outweighs all others together, so its map and its band rest on hardly more "
        "than one map. Do not read the band as its uncertainty; fit it with scheme='knots' or more maps."
    )


def verdict(judged: JudgedMap, end: str, view: View = TOP_LABEL) -> str:
    """Over- or underconfident at one end, or an event's probability too high or low, where the interval shows it."""
    mean, share = judged.ends[end].mean, judged.ends[end].share
    if share.low <= mean <= share.high:
        return "in the band"
    if view.is_event:
        return "too low" if mean < share.low else "too high"
    over = mean < share.low if end == "first" else mean > share.high
    return "overconfident" if over else "underconfident"


def _points(share: float) -> str:
    return f"{100 * share:.1f}"
