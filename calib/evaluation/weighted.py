"""Scores that count rows by their weights, beside the unweighted ones; and what is said of weights."""

from __future__ import annotations

from typing import TYPE_CHECKING

from calib.evaluation.evaluation import Evaluation
from calib.evaluation.score_definitions import MEANS, SCORES
from calib.evaluation.view import TOP_LABEL, View
from calib.formatting import aligned, fixed
from calib.metrics.calibration_error import ece
from calib.metrics.confidence import effective_sample_size, signed_confidence_gap, weighted_mean

if TYPE_CHECKING:
    import pandas as pd

    from calib.data.predictions import Predictions

COLUMN = "weighted"
"""Column of a comparison that holds weighted scores."""

SHOWN = ("NLL", "Brier", "accuracy", "event rate", "ECE", "signed gap")


def weighted_scores(evaluation: Evaluation) -> dict[str, float]:
    """Those scores that can count rows by their weights, by key; none where no weights were confirmed.

    They are the means over rows, the ECE and the gap.
    """
    weights = evaluation.weights
    if weights is None:
        return {}
    found = {key: weighted_mean(rows, weights) for key, of in MEANS.items() if (rows := of(evaluation)) is not None}
    found["accuracy"] = weighted_mean(evaluation.correct, weights)
    found["ECE"] = ece(*evaluation.pair, weights=weights)
    found["signed gap"] = signed_confidence_gap(*evaluation.pair, weights)
    found["gap"] = abs(found["signed gap"])
    return found


def said_of_weights(data: Predictions) -> str:
    """Whether and how the weights of a data set count, in two or three sentences; "" where it has none."""
    if data.weights is None:
        return ""
    if data.weight_kind is None:
        return (
            "These rows have weights, which are not applied: nobody has said what they mean. Say on the Data page, or "
            "by the option weight_kind, whether they are sampling, frequency or exposure weights."
        )
    if not data.weights.any():
        return "All weights of these rows are zero, so nothing is weighted."
    if data.weight_kind == "frequency":
        counted = f"stand for {data.weights.sum():,.0f}"
    else:
        counted = f"tell as much as {effective_sample_size(data.weights):,.0f} equal ones (Kish)"
    return (
        f"Weighted by {data.weight_kind}, these {len(data):,} rows {counted}. NLL, Brier score, accuracy, ECE "
        "and gap are given with and without weights; other scores, all intervals and all fits, but for the choice that "
        "Auto makes, are not weighted."
    )


def weighted_rows(table: pd.DataFrame, view: View = TOP_LABEL) -> list[list[str]]:
    """Methods by weighted scores, with the unweighted ones in brackets, as text; the first line is the heading.

    Parameters
    ----------
    table : from :func:`calib.compare`; without weights there are no rows.
    view : of the evaluations, whose titles the scores get.
    """
    if COLUMN not in table or table[COLUMN].isna().all():
        return []
    shown = table[table["score"].isin(SHOWN) & table[COLUMN].notna()]
    keys = [key for key in SCORES if key in set(shown["score"])]
    lines = [["weighted (unweighted)", *(SCORES[key].seen(view).title for key in keys)]]
    for _, of_method in shown.groupby("method", sort=False):
        by_key = of_method.set_index("score")
        cells = (
            f"{fixed(by_key[COLUMN][key])} ({fixed(by_key['value'][key])})" if key in by_key.index else "-"
            for key in keys
        )
        lines.append([str(of_method["title"].iloc[0]), *cells])
    return lines


def weighted_summary(table: pd.DataFrame, view: View) -> str:
    """:func:`weighted_rows` in plain text; "" without weights."""
    return "\n".join(aligned(weighted_rows(table, view)))
