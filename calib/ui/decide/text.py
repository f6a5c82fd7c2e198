"""Sentences of the Decide page, on selective prediction."""

from __future__ import annotations

import math

from calib.diagnostics.risk_coverage import Answerable, OrderQuality, RiskCoverage
from calib.evaluation.score_table import NEGLIGIBLE
from calib.formatting import listed, percent, plural, signed


def finding(title: str, curve: RiskCoverage, answer: Answerable, accepted: float) -> str:
    """ "If you accept 2 % error, you can answer x % of inputs", with its interval and the threshold."""
    share, low, high = answer.coverage
    lead = f"If you accept **{100 * accepted:.3g} % error**, "
    if curve.risk[-1] <= accepted:
        rest = f"its error on all of them is {percent(float(curve.risk[-1]))}"
        sure = "" if low >= 1 else f"; the 95 % interval of the share reaches down to {percent(low)}"
        return f"{lead}{title} can answer **all inputs**: {rest}{sure}."
    if math.isnan(answer.threshold):
        reason = f"even among the {plural(int(curve.answered[0]), 'input')} of highest confidence the error is higher"
        upper = f"; with {plural(curve.n, 'row')} it could be up to {percent(high)}" if high > 0 else ""
        return f"{lead}{title} can answer **none of the inputs** on its own: {reason}{upper}."
    return (
        f"{lead}you can answer **{percent(share)} of inputs** with {title}: those whose confidence is at least "
        f"{_threshold(answer.threshold)}. With {plural(curve.n, 'test row')}, the 95 % interval of that share is from "
        f"{percent(low)} to {percent(high)}."
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
