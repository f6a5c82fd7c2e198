"""What outputs are (logits, probabilities, log-probabilities, a single column of either), and the logits they give."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from calib.canonical import IN_UNIT, KINDS, ONE_COLUMN, Kind, zero_floor
from calib.data.assemble.scale import decide_scale
from calib.data.findings import InvalidUpload, Step, count, info, row_numbers, verb, warning
from calib.data.options import Choices
from calib.data.read.base import Array
from calib.data.scales import LOGS, PLAIN
from calib.errors import Finding
from calib.numerics import LARGEST, Floats, blocks

ROUNDING = 1e-3
"""How far the sum of a row of probabilities may lie from one without a finding (float16 and printed decimals)."""

BELOW_ZERO = -1e-6
"""Probabilities a little below zero or above one come from sums in float32."""

FEW = 5
"""Fewer rows than these may hold 0 and 1 alone by chance."""

FAR_OFF = 0.05
"""Sums that lie further from one than this in most rows are no rounding."""


def bad_rows(outputs: Floats, name: str, choices: Choices, is_table: bool) -> npt.NDArray[np.bool_]:
    """Mark rows with NaN, infinite values or values beyond 1e100; minus infinity is a plain zero in log-probabilities.

    Parameters
    ----------
    is_table : whether the outputs are cells of a table, where NaN is an empty one and no failed computation.

    Raises
    ------
    InvalidUpload
        With the counts, unless ``drop_bad_rows`` was chosen or only cells of a table are empty.
    """
    bad = np.zeros(len(outputs), dtype=bool)
    low, high = outputs.min(), outputs.max()
    if low >= -LARGEST and high <= LARGEST:
        return bad
    if low == -np.inf and high <= ROUNDING and _are_logarithms(outputs, name, choices):
        return bad
    n_nan = n_infinite = 0
    for rows in blocks(*outputs.shape):
        nan, large = np.isnan(outputs[rows]), np.abs(outputs[rows]) > LARGEST
        n_nan, n_infinite = n_nan + int(nan.sum()), n_infinite + int(large.sum())
        bad[rows] = (nan | large).any(axis=1)
    if bad.all():
        raise InvalidUpload(
            "all_rows_bad",
            f"Every one of the {count(len(bad), 'row')} of {name} holds NaN, infinite values or values beyond "
            f"{LARGEST:g}.",
            "Look for a diverged training or a division by zero where they were saved.",
        )
    if not choices.drop_bad_rows and (n_infinite or not is_table):
        raise InvalidUpload(
            "not_finite",
            f"{name} has bad values in {count(int(bad.sum()), 'row')} of {len(bad):,}: {count(n_nan, 'NaN')} and "
            f"{count(n_infinite, 'value')} that {verb(n_infinite, 'is', 'are')} infinite or beyond {LARGEST:g}; empty "
            "cells and overflow in float16 usually cause it.",
            "Leave these rows out.",
            drop_bad_rows=True,
        )
    return bad


def _are_logarithms(outputs: Floats, name: str, choices: Choices) -> bool:
    """Whether outputs are logarithms of probabilities, to any base."""
    return decide_scale(outputs, name, choices).value in LOGS or are_log_probabilities(outputs, choices)


def are_log_probabilities(outputs: Floats, choices: Choices) -> bool:
    """Whether the exponentials of each row sum to one."""
    if choices.kind is not None:
        return choices.kind == "log_probabilities"
    if outputs.shape[1] == 1:
        return False
    for rows in blocks(*outputs.shape):
        with np.errstate(over="ignore", invalid="ignore"):
            total = np.exp(outputs[rows]).sum(axis=1, dtype=np.float64)
        if not (np.abs(total - 1) <= ROUNDING).all():
            return False
    return True


def refuse_single_column(outputs: Floats, labels: Array, name: str, choices: Choices) -> None:
    """Refuse a single column that is not the score of class 1: predicted classes, or the confidence in them."""
    if outputs.shape[1] > 1 or choices.kind is not None:
        return
    column = outputs[np.isfinite(outputs[:, 0]), 0]
    if not len(column):
        return
    low, high = column.min(), column.max()
    if len(column) >= FEW and np.isin(column, (0, 1)).all():
        raise hard_predictions(f"{name} holds 0 and 1 only", "binary_probability")
    values = np.unique(labels[labels >= 0] if labels.dtype.kind in "iuf" else labels)
    is_whole = low >= 0 and high - low >= 2 and (column == np.floor(column)).all()
    if is_whole and (n_different := len(np.unique(column))) <= max(2, len(values) + 1):
        found = f"{name} holds {count(n_different, 'whole number')} from {low:g} to {high:g}"
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


def decide_kind(outputs: Floats, name: str, choices: Choices) -> Step[Kind]:
    """What the outputs are; what was chosen by hand is taken, if the values allow it.

    Parameters
    ----------
    outputs : (n, k) finite values, minus infinity excepted; k is 1 for a single binary column.
    """
    low, high, width = float(outputs.min()), float(outputs.max()), outputs.shape[1]
    if choices.kind is not None:
        return Step(checked(choices.kind, low, high, width, name))
    if choices.scale not in (None, PLAIN):
        several: Kind = "log_probabilities" if choices.scale in LOGS else "probabilities"
        kind: Kind = "binary_probability" if width == 1 else several
        return Step(checked(kind, low, high, width, name), decided={"kind": kind})
    within = low >= BELOW_ZERO and high <= 1 - BELOW_ZERO
    reach = f"values reach from {low:.3g} to {high:.3g}"
    findings: tuple[Finding, ...] = ()
    if width == 1:
        kind = "binary_probability" if within else "binary_log_odds"
        reason = f"one column with values from {low:.3g} to {high:.3g}"
    elif within:
        if low == 0 and high == 1 and len(outputs) >= FEW and np.count_nonzero(outputs) == (outputs == 1).sum():
            raise hard_predictions(f"Every value of {name} is exactly 0 or 1", "probabilities")
        sums = check_sums(outputs, name)
        kind, reason, findings = "probabilities", f"{reach} and {sums.value}", sums.findings
    elif high <= ROUNDING and are_log_probabilities(outputs, choices):
        kind, reason = "log_probabilities", "no value is positive and the exponentials of each row sum to one"
    else:
        kind, reason = "logits", f"{reach} and rows do not sum to one"
    # One click offers no other kind: probabilities read as logits give numbers that look right.
    return Step(kind, (*findings, info("kind", f"Read as {KINDS[kind]}: {reason}.")), {"kind": kind})


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


def check_sums(outputs: Floats, name: str) -> Step[str]:
    """What the rows of values between 0 and 1 sum to; refuse them where most do not sum to one."""
    total = outputs.sum(axis=1, dtype=np.float64)
    off = np.abs(total - 1)
    wrong = off > max(ROUNDING, outputs.shape[1] * float(np.finfo(outputs.dtype).eps))
    n = int(wrong.sum())
    if n == 0:
        return Step(f"every row sums to one (within {off.max():.1g})")
    message = (
        f"{count(n, 'row')} of {len(off):,} in {name} {verb(n, 'lies', 'lie')} between 0 and 1 but "
        f"{verb(n, 'does', 'do')} not sum to one (by up to {off.max():.3g}; {row_numbers(wrong, most=3)})"
    )
    if total.min() <= 0:
        n_empty = int((total <= 0).sum())
        raise InvalidUpload(
            "sums",
            f"{message}, and {count(n_empty, 'row')} {verb(n_empty, 'sums', 'sum')} to zero, unlike probabilities.",
            "Read the values as logits.",
            kind="logits",
        )
    if n > len(off) / 2 and np.median(off) > FAR_OFF:
        raise InvalidUpload(
            "sums",
            f"{message}. Sigmoid outputs of a multi-label model, or a missing column, usually cause it.",
            "Divide each row by its sum, or read the values as logits.",
            kind="probabilities",
            scale="counts",
        )
    said = warning(
        "sums",
        f"{message}; printed decimals or a missing column usually cause it. They are kept as they are.",
        "Divide each row by its sum.",
        scale="counts",
    )
    return Step("most rows sum to one", (said,))


def refuse_empty_rows(shares: Floats, bad: npt.NDArray[np.bool_], name: str) -> None:
    """Refuse rows that could not be divided by their sums, which are zero.

    Parameters
    ----------
    bad : (n,) rows that are left out anyway.
    """
    if n := int((~np.isfinite(shares).all(axis=1) & ~bad).sum()):
        raise InvalidUpload(
            "sums",
            f"{count(n, 'row')} of {name} {verb(n, 'sums', 'sum')} to zero and cannot be divided by their sum.",
            "Read the values as logits.",
            scale=PLAIN,
            kind="logits",
        )


def to_logits(outputs: Floats, kind: Kind, name: str, choices: Choices) -> Step[Floats]:
    """Logits, or log-probabilities, in place; the option ``floor`` is what exact zeros became.

    Parameters
    ----------
    outputs : (n, k) array owned by the caller, overwritten; k is 1 for the binary kinds.

    Returns
    -------
    (n, n_classes); log-odds s are stored as (0, s), a probability p as (log(1 - p), log p).
    """
    if kind == "logits":
        return Step(outputs)
    if kind == "binary_log_odds":
        return Step(np.concatenate([np.zeros_like(outputs), outputs], axis=1))
    if kind in ("binary_probability", "pairs"):
        outputs = np.concatenate([1 - outputs, outputs], axis=1)
    are_logs = kind == "log_probabilities"
    smallest, n_zero, n_negative, n_rows = np.inf, 0, 0, 0
    for rows in blocks(*outputs.shape):
        block = outputs[rows]
        zero = block == -np.inf if are_logs else block <= 0
        smallest = min(smallest, float(np.min(block, where=~zero, initial=0.0 if are_logs else np.inf)))
        n_zero += int(np.count_nonzero(zero))
        n_negative += 0 if are_logs else int(np.count_nonzero(block < 0))
        n_rows += int(zero.any(axis=1).sum())
    smallest = float(np.exp(smallest)) if are_logs else smallest
    floor = zero_floor(smallest, outputs.shape[1]) if choices.floor is None else float(choices.floor)
    for rows in blocks(*outputs.shape):
        block = outputs[rows]
        if not are_logs:
            with np.errstate(divide="ignore", invalid="ignore"):
                np.log(block, out=block)
        if n_zero:
            block[~np.isfinite(block)] = np.log(floor)
    if not n_zero:
        return Step(outputs)
    below = f" ({n_negative:,} of them a little below zero)" if n_negative else ""
    said = info(
        "zeros",
        f"{count(n_zero, 'value')} in {count(n_rows, 'row')} of {len(outputs):,} of {name} "
        f"{verb(n_zero, 'is', 'are')} exactly zero{below}; the logarithm would be infinite, so zeros became "
        f"{floor:.2g}{', as chosen' if choices.floor is not None else ', half of the smallest other value at most'}.",
        "Save logits instead of probabilities, or choose another floor.",
    )
    return Step(outputs, (said,), {"floor": floor})
