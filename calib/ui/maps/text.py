"""Sentences of the Calibration maps page, which claim no more than the intervals of the test rows allow."""

from __future__ import annotations

import numpy as np

from calib.calibrators.bayes_iso import BayesIsoMap
from calib.diagnostics.calibration_maps import ClassFrequencies, most_by_chance
from calib.diagnostics.class_rows import JudgedMap
from calib.evaluation.view import TOP_LABEL, View
from calib.formatting import listed, percent, plural
from calib.numerics import Floats, sigmoid
from calib.plots.maps import probability_text
from calib.ui.fits import ShownFit
from calib.ui.text import literal

MOST_NAMED = 4
"""Names in a sentence before they are counted instead."""
WITHIN = "in the band"
UNKNOWN = "not significantly off at either end"
Named = list[tuple[str, JudgedMap]]
"""Methods by the names their lines have; the raw model, where it is shown, is the first."""


def finding(raw: JudgedMap, others: Named, seen: ClassFrequencies, class_name: str) -> str:
    """How the raw model's map fares on the test rows, and how the fitted ones do."""
    name, n_bins, outside = literal(class_name), len(seen.count), seen.outside(raw.means)
    off, allowed = int(outside.sum()), most_by_chance(len(seen.count))
    if off > allowed:
        where = int(np.argmax(np.maximum(seen.low - raw.means, raw.means - seen.high)))
        first = (
            f"**The raw model's probability of {name} is off in {off} of {n_bins} bins of test rows**, most where"
            f" it is {probability_text(float(raw.means[where]))}: there {percent(float(seen.frequency[where]))} of"
            f" {plural(int(seen.count[where]), 'row')} are {name} (95\u00a0%: {percent(float(seen.low[where]))} to"
            f" {percent(float(seen.high[where]))})."
        )
    else:
        explained = ", no more than expected by chance" if off else ""
        first = (
            f"**The raw model's probability of {name} agrees with the test rows** as far as"
            f" {plural(int(seen.count.sum()), 'row')} in {plural(n_bins, 'bin')} can tell: {_outside(off)}{explained}."
        )
    return " ".join(filter(None, [first, _fitted(others, seen, allowed)]))


def _fitted(others: Named, seen: ClassFrequencies, allowed: int) -> str:
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


def whose(seen: ClassFrequencies, class_name: str, n_classes: int, n_calibration: int) -> str:
    """Whose map is shown and on what it is judged, in one line."""
    name, total, hits = literal(class_name), int(seen.count.sum()), int(seen.positives.sum())
    against = "the other class" if n_classes == 2 else "the rest"
    after = "" if n_classes == 2 else " Maps are shown before the probabilities of a row are made to sum to one."
    return (
        f"Shown is {name} against {against}: maps learned from {plural(n_calibration, 'calibration row')}, judged on"
        f" {plural(total, 'test row')}, of which {hits:,} ({percent(hits / total, 2)}) are {name}."
        f" A map is off in a bin if its mean there lies outside the 95\u00a0% Wilson interval of the frequency.{after}"
    )


def mapless(fits: list[ShownFit]) -> str:
    """The fits that have no map of one class, and why."""
    whole = [fit.title for fit in fits if fit.calibrator.gives_probabilities]
    confident = [fit.title for fit in fits if not fit.calibrator.gives_probabilities]
    said = []
    if whole:
        said.append(
            f"{listed(whole)} {_have(whole)} no map of one class: with more than two classes, what a class gets there "
            "depends on the logits of all others, so no line over its own log-odds can show it."
        )
    if confident:
        gives = "gives" if len(confident) == 1 else "give"
        said.append(f"{listed(confident)} {gives} a confidence in the predicted class only, and so no map of a class.")
    return " ".join([*said, "Reliability and Compare judge such methods."]) if said else ""


def _have(names: list[str]) -> str:
    return "has" if len(names) == 1 else "have"


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
    share = judged.share(end)
    mean = float(getattr(judged.ends, f"{end}_mean"))
    if share.low <= mean <= share.high:
        return WITHIN
    if view.is_event:
        return "too low" if mean < share.low else "too high"
    over = mean < share.low if end == "first" else mean > share.high
    return "overconfident" if over else "underconfident"


def at_the_ends(named: Named, view: View = TOP_LABEL) -> str:
    """Which methods are off at the ends, and which are not significantly so."""
    by_verdict: dict[str, list[str]] = {}
    for name, judged in named:
        first, last = verdict(judged, "first", view), verdict(judged, "last", view)
        if first == last == WITHIN:
            said = UNKNOWN
        elif first == last:
            said = f"{first} at both ends"
        else:
            sides = [f"{word} at the {where} end" for word, where in ((first, "lower"), (last, "upper"))
                     if word != WITHIN]  # fmt: skip
            said = " and ".join(sides)
        by_verdict.setdefault(said, []).append(name)
    clauses = [
        f"{listed(names)} {said}" if said == UNKNOWN else f"{listed(names)} {_be(names)} {said}"
        for said, names in by_verdict.items()
    ]
    if len(by_verdict) > 1 and len(unknown := by_verdict.get(UNKNOWN, [])) > MOST_NAMED:
        clauses[list(by_verdict).index(UNKNOWN)] = f"the other {len(unknown)} maps {UNKNOWN}"
    elif len(by_verdict) == 1 and len(named) > MOST_NAMED:
        said = next(iter(by_verdict))
        clauses = [f"all {len(named)} maps {said}" if said == UNKNOWN else f"all {len(named)} maps are {said}"]
    rows = plural(named[0][1].ends.n_pairs, "test row")
    return f"In the {rows} of lowest and the {rows} of highest score: " + "; ".join(clauses) + "."


def reach(without: Floats, corrected: Floats) -> str:
    """How far from 0 and 1 both maps stay on the scores shown."""
    ends = [f"from {probability_text(float(probs.min()))} to {probability_text(float(probs.max()))}"
            for probs in (without, corrected)]  # fmt: skip
    return f"Without the correction the map goes {ends[0]}, with it {ends[1]}."


def _be(names: list[str]) -> str:
    return "is" if len(names) == 1 else "are"


def _points(share: float) -> str:
    return f"{100 * share:.1f}"
