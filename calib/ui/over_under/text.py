"""Sentences of the Over- and underconfidence page."""

from __future__ import annotations

import math
from collections.abc import Sequence

from calib.diagnostics.over_under import OverUnder
from calib.evaluation.view import TOP_LABEL, View
from calib.formatting import number, percent, plural
from calib.metrics.bootstrap import Interval
from calib.ui.text import leaning

Named = Sequence[tuple[str, OverUnder]]
"""(title, result) of each method, the raw model first."""


def finding(methods: Named, view: View = TOP_LABEL) -> str:
    """Over- or underconfidence of the raw model, its ratio o / u against the odds, and what calibration leaves."""
    raw = methods[0][1]
    said = f"The raw model {leaning(raw.gap, view)}; {_ratio(raw, view)}"
    calibrated = methods[1:]
    if not calibrated:
        return said
    leans = [f"{name} {leaning(result.gap, view)}" for name, result in calibrated if not _even(result.gap)]
    n, n_even = len(calibrated), len(calibrated) - len(leans)
    even = f"{calibrated[0][0]} has" if n == 1 else f"{n_even} of {n} calibrators have"
    after = [f"{even} no significant gap"] if n_even else []
    return f"{said}\n\n{'; '.join(after + leans)}."


def missing(result: OverUnder, view: View = TOP_LABEL) -> str | None:
    """Which quantities do not exist and why, as the rest of a sentence; None where all do."""
    if not result.n_wrong:
        return (
            f"none of {plural(result.n_right, 'prediction')} is {view.wrong}, so its {view.overconfidence} o, "
            "the ratio o / u and the odds it should equal do not exist."
        )
    if not result.n_right:
        return (
            f"none of {plural(result.n_wrong, 'prediction')} is {view.right}, so its {view.underconfidence} u "
            "and the ratio o / u do not exist."
        )
    if math.isnan(result.ratio.value):
        return f"its {view.said} is 1 for all {view.right_rows} (u = 0), so the ratio o / u does not exist."
    return None


def few(methods: Named, view: View = TOP_LABEL) -> str | None:
    """Say where so few predictions are wrong, or right, that intervals are closed forms; None where nowhere."""
    concerned = [
        f"{name} ({result.n_wrong:,} {view.wrong}, {result.n_right:,} {view.right})"
        for name, result in methods
        if result.few
    ]
    if not concerned:
        return None
    return (
        f"Few predictions: {', '.join(concerned)}. Their intervals come from cautious formulas, which are rather too "
        "wide, and intervals of changes are approximate; more test rows narrow them."
    )


def _ratio(result: OverUnder, view: View) -> str:
    absent = missing(result, view)
    if absent:
        return absent
    accuracy = result.n_right / (result.n_right + result.n_wrong)
    return (
        f"its ratio o / u is {number(result.ratio.value)} ({number(result.ratio.low)} to "
        f"{number(result.ratio.high)}), and would be {number(result.odds.value)} if calibrated: the odds of "
        f"{view.the_outcome} of {percent(accuracy)}."
    )


def _even(gap: Interval) -> bool:
    return gap.low <= 0.0 <= gap.high
