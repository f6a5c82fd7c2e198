"""What a model's outputs are: logits, probabilities, log-probabilities, or a single column of either."""

from __future__ import annotations

import numpy as np

from calib.canonical import IN_UNIT, KINDS, ONE_COLUMN, Kind
from calib.data.checks.report import InvalidUpload, Report, count, shortened, verb
from calib.data.guess.columns import OFF, spelled
from calib.data.guess.names import plain_name
from calib.data.interpret.label_values import is_missing
from calib.data.read.base import Array, distinct
from calib.data.scales import LOGS, PLAIN
from calib.numerics import Floats, blocks

ROUNDING = 1e-3
"""How far the sum of a row of probabilities may lie from one without a finding (float16 and printed decimals)."""

FEW = 5
"""Fewer rows than these may hold 0 and 1 alone by chance."""

MAY_MISS = 4
"""Ways of writing that there is no label, beside the labels."""

BELOW_ZERO = -1e-6
"""Probabilities a little below zero or above one come from sums in float32."""


def with_left_out_class(
    outputs: Floats, labels: Array, columns: tuple[str, ...] | None, name: str, report: Report
) -> tuple[Floats, tuple[str, ...] | None]:
    """Probabilities of all classes but one, with the rest to one as the column of the label that no column is named
    after; what is no such thing as it is.

    Parameters
    ----------
    outputs : (n, k) floats as read.
    labels : (n,) as read.
    columns : (k,) names of the classes.

    Returns
    -------
    outputs, columns : with k + 1 columns, numbers in their order and other names last.
    """
    kind, scale = report.choices.kind, report.choices.scale
    if columns is None or len(columns) < 2 or kind not in (None, "probabilities") or scale not in (None, PLAIN):
        return outputs, columns
    found = distinct(labels, len(columns) + MAY_MISS)
    values = [] if found is None else [spelled(value) for value in found[0].tolist() if not is_missing(value)]
    own = {plain_name(column) for column in columns}
    rest = [value for value in values if plain_name(value) not in own]
    everything = [*columns, *rest]
    if len(rest) != 1 or not own <= {plain_name(value) for value in values}:
        return outputs, columns
    total = outputs.sum(axis=1, dtype=np.float64)
    known = total[np.isfinite(total)]
    if not len(known) or outputs.min() < BELOW_ZERO or known.max() > 1 + OFF or known.min() >= 1 - OFF:
        return outputs, columns
    order = list(range(len(everything)))
    if all(value.isdecimal() for value in everything):
        order.sort(key=lambda j: int(everything[j]))
        numbers = [int(everything[j]) for j in order]
        if numbers not in (list(range(len(order))), list(range(1, len(order) + 1))):
            return outputs, columns
    left = np.maximum(1 - total, 0)
    report.warn(
        "left_out_class",
        f"{name} has a column for every label but {shortened(rest[0])}; the probability of {shortened(rest[0])} was "
        f"taken as what each row leaves to one, {np.nanmean(left):.1%} on average.",
        "Save its column too, or choose other outputs, if that is not so.",
    )
    whole = np.concatenate([outputs, left[:, None].astype(outputs.dtype)], axis=1)
    return np.ascontiguousarray(whole[:, order]), tuple(everything[j] for j in order)


def is_log_probabilities(outputs: Floats, report: Report) -> bool:
    """Whether the exponentials of each row sum to one."""
    if report.choices.kind is not None:
        return report.choices.kind == "log_probabilities"
    if outputs.shape[1] == 1:
        return False
    for rows in blocks(*outputs.shape):
        with np.errstate(over="ignore", invalid="ignore"):
            total = np.exp(outputs[rows]).sum(axis=1, dtype=np.float64)
        if not (np.abs(total - 1) <= ROUNDING).all():
            return False
    return True


def decide_kind(outputs: Floats, name: str, report: Report) -> Kind:
    """What the outputs are; what was chosen by hand is taken, if the values allow it.

    Parameters
    ----------
    outputs : (n, k) finite values, minus infinity excepted; k is 1 for a single binary column.
    """
    low, high = float(outputs.min()), float(outputs.max())
    if report.choices.kind is not None:
        return checked(report.choices.kind, low, high, outputs.shape[1], name)
    scale = report.choices.scale
    if scale not in (None, PLAIN):
        scaled = kind_of_scale(scale, outputs.shape[1])
        report.decide(kind=scaled)
        return checked(scaled, low, high, outputs.shape[1], name)
    within = low >= BELOW_ZERO and high <= 1 - BELOW_ZERO
    kind: Kind
    if outputs.shape[1] == 1:
        kind = "binary_probability" if within else "binary_log_odds"
        reason = f"one column with values from {low:.3g} to {high:.3g}"
    elif within:
        if low == 0 and high == 1 and len(outputs) >= FEW and np.count_nonzero(outputs) == (outputs == 1).sum():
            raise hard_predictions(f"Every value of {name} is exactly 0 or 1", "probabilities")
        kind, reason = "probabilities", sums_to_one(outputs, low, high, name, report)
    elif high <= ROUNDING and is_log_probabilities(outputs, report):
        kind, reason = "log_probabilities", "no value is positive and the exponentials of each row sum to one"
    else:
        kind, reason = "logits", f"values reach from {low:.3g} to {high:.3g} and rows do not sum to one"
    # One click offers no other kind: probabilities read as logits give numbers that look right.
    report.info("kind", f"Read as {KINDS[kind]}: {reason}.")
    report.decide(kind=kind)
    return kind


def kind_of_scale(scale: object, width: int) -> Kind:
    """What outputs are once they are off their scale."""
    if width == 1:
        return "binary_probability"
    return "log_probabilities" if scale in LOGS else "probabilities"


def checked(kind: Kind, low: float, high: float, width: int, name: str) -> Kind:
    """Refuse a kind that the values contradict."""
    if (kind in ONE_COLUMN) != (width == 1):
        raise InvalidUpload(
            "kind", f"{name} has {count(width, 'column')}, which cannot be {KINDS[kind]}.", "Choose another kind."
        )
    if kind in IN_UNIT and not (low >= BELOW_ZERO and high <= 1 - BELOW_ZERO):
        raise InvalidUpload(
            "kind",
            f"{name} reaches from {low:.3g} to {high:.3g}, so it does not hold probabilities.",
            "Choose another kind.",
        )
    return kind


def refuse_single_column(outputs: Floats, labels: Array, name: str, report: Report) -> None:
    """Refuse a single column that is not the score of class 1: predicted classes, or the confidence in them."""
    if outputs.shape[1] > 1 or report.choices.kind is not None:
        return
    column = outputs[np.isfinite(outputs[:, 0]), 0]
    if not len(column):
        return
    low, high = column.min(), column.max()
    if len(column) >= FEW and np.isin(column, (0, 1)).all():
        raise hard_predictions(f"{name} holds 0 and 1 only", "binary_probability")
    values = np.unique(labels[labels >= 0] if labels.dtype.kind in "iuf" else labels)
    whole = low >= 0 and high - low >= 2 and (column == np.floor(column)).all()
    if whole and len(np.unique(column)) <= max(2, len(values) + 1):
        found = f"{name} holds {count(len(np.unique(column)), 'whole number')} from {low:g} to {high:g}"
        raise hard_predictions(found, "binary_log_odds")
    if len(values) > 3:
        raise InvalidUpload(
            "single_column",
            f"{name} is a single column, but the labels have {len(values):,} different values. It may be the "
            "confidence in the predicted class, from which the other classes cannot be told.",
            "Save one column for each class: logits, or predict_proba.",
        )


def hard_predictions(found: str, kind: Kind) -> InvalidUpload:
    """The error for predicted classes without any output; ``kind`` is how to read them all the same."""
    return InvalidUpload(
        "hard_predictions",
        f"{found}: predicted classes, which carry no confidence, so that there is no output to calibrate.",
        "Save the logits, or predict_proba instead of predict.",
        kind=kind,
    )


def sums_to_one(outputs: Floats, low: float, high: float, name: str, report: Report) -> str:
    """Why values between zero and one are probabilities; refuse them where most rows do not sum to one."""
    if report.choices.renormalise:
        return f"values reach from {low:.3g} to {high:.3g}, and each row was divided by its sum"
    total = outputs.sum(axis=1, dtype=np.float64)
    off = np.abs(total - 1)
    tolerance = max(ROUNDING, outputs.shape[1] * float(np.finfo(outputs.dtype).eps))
    n_off = int((off > tolerance).sum())
    if n_off == 0:
        return f"values reach from {low:.3g} to {high:.3g} and every row sums to one (within {off.max():.1g})"
    message = (
        f"{count(n_off, 'row')} of {len(off):,} in {name} {verb(n_off, 'lies', 'lie')} between 0 and 1 but "
        f"{verb(n_off, 'does', 'do')} not sum to one (by up to {off.max():.3g})"
    )
    if total.min() <= 0:
        n_empty = int((total <= 0).sum())
        raise InvalidUpload(
            "sums",
            f"{message}, and {count(n_empty, 'row')} {verb(n_empty, 'sums', 'sum')} to zero, unlike probabilities.",
            "Read the values as logits.",
            kind="logits",
        )
    if n_off > len(off) / 2 and np.median(off) > 0.05:
        raise InvalidUpload(
            "sums",
            f"{message}. Sigmoid outputs of a multi-label model, or a missing column, usually cause it.",
            "Divide each row by its sum, or read the values as logits.",
            kind="probabilities",
            renormalise=True,
        )
    report.warn(
        "sums",
        f"{message}; printed decimals or a missing column usually cause it. They are kept as they are.",
        "Divide each row by its sum.",
        renormalise=True,
    )
    return f"values reach from {low:.3g} to {high:.3g} and most rows sum to one"
