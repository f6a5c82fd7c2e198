"""Which groups are off, in plain words that hold for all groups together."""

from __future__ import annotations

from calib.diagnostics.subgroups import Subgroups
from calib.formatting import listed, plural
from calib.numerics import Ints
from calib.ui.markdown import literal

MOST_NAMED = 3


def groups_sentence(found: Subgroups, title: str, least_rows: int) -> str:
    """How many groups are over- and underconfident beyond chance, which stand out, and how many are too small."""
    judged, few = int(found.enough.sum()), int((~found.enough).sum())
    small = f" {plural(few, 'group')} with fewer than {plural(least_rows, 'row')}: too few to say." if few else ""
    if not judged:
        return f"No group has {plural(least_rows, 'row')}; the largest has {int(found.gaps.rows.max()):,}."
    over, under = found.overconfident, found.underconfident
    if not len(over) and not len(under):
        lead = f"With {title}, **no group of {judged:,} is off** by more than chance explains."
        return lead + _apart(found) + small
    parts = [
        f"**{plural(len(off), 'group')} {'is' if len(off) == 1 else 'are'} {word}** ({_named(found, off)})"
        for off, word in ((over, "overconfident"), (under, "underconfident"))
        if len(off)
    ]
    return (
        f"With {title}, of {plural(judged, 'group')} {listed(parts)} by more than chance explains in all groups "
        f"together.{_apart(found)}{small}"
    )


def _apart(found: Subgroups) -> str:
    if int(found.enough.sum()) < 2:
        return ""
    if not len(found.apart):
        return " None stands out from the rest."
    return (
        f" Beside the rest, {_named(found, found.apart, excess=True)} "
        f"{'stands' if len(found.apart) == 1 else 'stand'} out."
    )


def _named(found: Subgroups, numbers: Ints, excess: bool = False) -> str:
    values = found.excess if excess else found.gaps.gap
    named = [f"{literal(found.names[k])} {100 * values[k]:+.1f} points" for k in numbers[:MOST_NAMED]]
    more = len(numbers) - len(named)
    return listed([*named, *([f"{more:,} more"] if more else [])])
