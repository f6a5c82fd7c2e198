"""Sentences about a comparison of strategies, and the simulation as a job."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from calib.active_learning.results import AT_EQUAL, LABELS
from calib.active_learning.simulation import Pool, Round, simulate
from calib.active_learning.strategies import Plan
from calib.base import Callback

if TYPE_CHECKING:
    import pandas as pd


def verdicts(summary: pd.DataFrame) -> list[str]:
    """One sentence or two for each arm but the first, Markdown.

    Each says whether the arm asked for fewer labels, and at what price in error; a difference whose interval holds zero
    is not significant.

    Parameters
    ----------
    summary : from :func:`calib.active_learning.results.compare_arms`.
    """
    if summary.empty:
        return []
    arms = list(summary["arm"].unique())
    reference = str(summary["title"].iloc[0])
    if len(arms) > 1 and summary["n_shuffles"].iloc[0] < 2:
        return ["One shuffle shows no spread; run more to compare the arms."]
    sentences = []
    for arm in arms[1:]:
        rows = {row["quantity"]: row for row in summary[summary["arm"] == arm].to_dict("records")}
        sentences.append(f"**{rows[LABELS]['title']}** {_labels(rows[LABELS])} {_error(rows, reference)}")
    return sentences


def _labels(row: dict[str, Any]) -> str:
    low, high = row["difference_low"], row["difference_high"]
    if low == high == 0:
        return f"asked for as many labels, {row['value']:,.0f};"
    interval = f"95\u00a0% interval {low:+,.0f} to {high:+,.0f}"
    if low <= 0 <= high:
        return (
            f"asked for a number of labels that does not differ significantly ({row['difference']:+,.0f}, {interval});"
        )
    more = "more" if low > 0 else "fewer"
    return (
        f"asked for {abs(row['difference']):,.0f} labels {more} ({row['share']:+,.1%} of {_reference(row):,.0f}, "
        f"{interval});"
    )


def _error(rows: dict[str, dict[str, Any]], reference: str) -> str:
    labels, error, equal = rows[LABELS], rows["error"], rows[AT_EQUAL]
    fewer, more = labels["difference_high"] < 0, labels["difference_low"] > 0
    lower, higher = error["difference_high"] < 0, error["difference_low"] > 0
    interval = f"{100 * error['difference_low']:+.2f} to {100 * error['difference_high']:+.2f} percentage points"
    if error["difference_low"] == error["difference_high"] == 0:
        said = f"its final error of {error['value']:.2%} is that of {reference} in every shuffle"
    elif lower:
        said = f"its final error of {error['value']:.2%} is lower ({interval})"
    elif higher:
        said = f"its final error of {error['value']:.2%} is higher ({interval})"
    else:
        same = f"does not differ significantly from that of {reference}"
        said = f"its final error of {error['value']:.2%} {same} ({interval})"
    if fewer and not higher:
        verdict = "It saved labels."
    elif fewer:
        verdict = "Fewer labels, but at a price in error: " + _at_equal(equal)
    elif lower and not more:
        verdict = "It lowered the error."
    elif more and not lower:
        verdict = "It did not help here."
    elif more:
        verdict = "More labels for less error: " + _at_equal(equal)
    else:
        verdict = "It did not help here." if higher else "There is no significant difference."
    return f"{said}. {verdict}"


def _at_equal(row: dict[str, Any]) -> str:
    low, high = row["difference_low"], row["difference_high"]
    how = "lower" if high < 0 else "higher" if low > 0 else "not significantly different"
    return f"with equally many labels its error is {how} ({100 * low:+.2f} to {100 * high:+.2f} percentage points)."


def _reference(row: dict[str, Any]) -> float:
    return row["value"] - row["difference"]


def run_arm(
    settings: Mapping[str, Any], arm: str, seed: int, *, data: Mapping[str, Any], callback: Callback
) -> list[Round]:
    """:func:`calib.active_learning.simulate` on the arrays of :func:`pool_arrays`."""
    return simulate(Plan(**settings), arm, _pool(data), seed=seed, callback=callback)


def pool_arrays(pool: Pool) -> dict[str, Any]:
    """A pool as arrays that go to a worker; ``logits`` has no rows, only a column for each class."""
    return {
        "logits": np.empty((0, pool.n_classes)),
        "labels": pool.labels,
        "features": pool.features,
        "test_features": pool.test_features,
        "test_labels": pool.test_labels,
    }


def _pool(data: Mapping[str, Any]) -> Pool:
    arrays = {name: array for name, array in data.items() if name != "logits"}
    return Pool(**arrays, n_classes=data["logits"].shape[1])
