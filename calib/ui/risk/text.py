"""Sentences of the Risk and groups page: selective prediction, and over- and underconfident subgroups."""

from __future__ import annotations

import math

from calib.diagnostics.risk_coverage import Answerable, OrderQuality, RiskCoverage
from calib.diagnostics.subgroups import Subgroups
from calib.evaluation.score_table import NEGLIGIBLE
from calib.evaluation.view import TOP_LABEL, View
from calib.formatting import listed, percent, plural, signed
from calib.numerics import Ints
from calib.ui.text import literal

MOST_NAMED = 3


def finding(title: str, curve: RiskCoverage, answer: Answerable, accepted: float) -> str:
    """ "If you accept 2 % error, you can answer x % of inputs", with its interval and the threshold."""
    share, low, high = answer.coverage
    lead = f"If you accept **{100 * accepted:.3g} % error**, "
    if curve.risk[-1] <= accepted:
        rest = f"its error on all of them is {percent(float(curve.risk[-1]))}"
        sure = "" if low >= 1 else f"; to be sure of it, no more than {percent(low)}"
        return f"{lead}{title} can answer **all inputs**: {rest}{sure}."
    if math.isnan(answer.threshold):
        reason = f"even among the {plural(int(curve.answered[0]), 'input')} of highest confidence the error is higher"
        upper = f"; with {plural(curve.n, 'row')} it could be up to {percent(high)}" if high > 0 else ""
        return f"{lead}{title} can answer **none of the inputs** on its own: {reason}{upper}."
    surely = (
        f"it could be anything from {percent(low)} to {percent(high)}"
        if low > 0
        else f"no share is sure, and {percent(high)} are possible"
    )
    return (
        f"{lead}you can answer **{percent(share)} of inputs** with {title}: those whose confidence is at least "
        f"{_threshold(answer.threshold)}. With {plural(curve.n, 'test row')}, {surely}."
    )


def how_orders_differ(orders: list[tuple[str, OrderQuality]]) -> str:
    """Which methods order the inputs significantly better or worse than the raw model does."""
    (raw, _), *others = orders
    changes = [(title, order.change) for title, order in others if order.change is not None]
    better = [title for title, change in changes if change.high < -NEGLIGIBLE]
    worse = [title for title, change in changes if change.low > NEGLIGIBLE]
    same = [title for title, change in changes if max(abs(part) for part in change) <= NEGLIGIBLE]
    sentences = []
    if better:
        best, change = min((item for item in changes if item[0] in better), key=lambda item: item[1].value)
        sentences.append(
            f"{listed(better)} {'orders' if len(better) == 1 else 'order'} inputs better than {raw} (mean error over "
            f"all shares answered: {best} {_change(change.value)}, {_change(change.low)} to {_change(change.high)})."
        )
    if worse:
        sentences.append(
            f"{listed(worse)} {'orders' if len(worse) == 1 else 'order'} them worse, as binning does where it gives "
            "many inputs the same confidence."
        )
    if len(same) == len(changes):
        sentences.append(f"{listed(same)} {'keeps' if len(same) == 1 else 'keep'} the order of {raw} exactly.")
    elif not better and not worse:
        sentences.append(f"No method orders the inputs significantly better or worse than {raw}.")
    return " ".join(sentences)


def _threshold(value: float) -> str:
    """Enough digits next to 1 to be used: 0.9998 rather than 1.00."""
    return "1" if value >= 1 else f"{value:.{max(3, 2 - math.floor(math.log10(1 - value)))}f}"


def _change(value: float) -> str:
    return signed(value) if abs(value) >= 1e-4 else ("0" if value == 0 else f"{value:+.0e}".replace("e-0", "e-"))


def groups_sentence(subgroups: Subgroups, title: str, least_rows: int, view: View = TOP_LABEL) -> str:
    """In how many groups the method is significantly off, which stand out, and how many are too small."""
    judged, few = int(subgroups.enough.sum()), int((~subgroups.enough).sum())
    small = f" {plural(few, 'group')} with fewer than {plural(least_rows, 'row')}: too few to judge." if few else ""
    if not judged:
        return f"No group has {plural(least_rows, 'row')}; the largest has {int(subgroups.gaps.rows.max()):,}."
    over, under = subgroups.overconfident, subgroups.underconfident
    if not len(over) and not len(under):
        lead = (
            f"With {title}, **{view.mean_said} does not differ significantly from {view.outcome} in any of "
            f"{plural(judged, 'group')}**."
        )
        return lead + _apart(subgroups) + small
    parts = [
        f"**{word} in {plural(len(off), 'group')}** ({_named(subgroups, off)})"
        for off, word in ((over, view.too_high), (under, view.too_low))
        if len(off)
    ]
    return (
        f"With {title}, of {plural(judged, 'group')}: {listed(parts)}, significantly in all groups together."
        f"{_apart(subgroups)}{small}"
    )


def _apart(subgroups: Subgroups) -> str:
    if int(subgroups.enough.sum()) < 2:
        return ""
    if not len(subgroups.apart):
        return " None stands out from the rest."
    return (
        f" Beside the rest, {_named(subgroups, subgroups.apart, excess=True)} "
        f"{'stands' if len(subgroups.apart) == 1 else 'stand'} out."
    )


def _named(subgroups: Subgroups, numbers: Ints, excess: bool = False) -> str:
    values = subgroups.excess if excess else subgroups.gaps.gap
    named = [f"{literal(subgroups.names[k])} {100 * values[k]:+.1f} points" for k in numbers[:MOST_NAMED]]
    more = len(numbers) - len(named)
    return listed([*named, *([f"{more:,} more"] if more else [])])
