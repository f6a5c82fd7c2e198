"""Kind and scale of outputs, the rows of them that cannot be used, and their logits.

Ranges, sums of rows and names decide; agreement with the labels does not. What they leave open is asked.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from calib.canonical import (
    IN_UNIT,
    KINDS,
    ONE_COLUMN,
    PLAIN,
    ROUNDING,
    SLACK,
    Kind,
    Scale,
    describe_scale,
    to_canonical,
    zero_floor,
)
from calib.data.findings import Findings, InvalidUpload, info, verb, warning
from calib.data.names import tokens
from calib.data.options import Choices, names_in
from calib.data.read.base import Array, check_size
from calib.data.words import POINTS, listed_terms
from calib.formatting import plural, row_numbers
from calib.numerics import LARGEST, Floats, blocks

Bools = npt.NDArray[np.bool_]

LOOKED_AT = 20_000
"""Rows of several columns that are looked at for their scale, from the first to the last."""

FEW, FEW_FLAGS = 20, 5
"""Fewest rows of a single column whose range is telling; in fewer, 0 and 1 alone may stand there by chance."""

A_SLIP = 0.02
"""Share of rows up to which values outside [0, 1] are slips among probabilities."""

MOST_CODES = 2
"""Different numbers that stand for a missing probability."""

SCALE_WORDS = {
    name: frozenset(listed_terms(f"scale_{name}")) for name in ("log_odds", "log", "percent")
}
SCALE_WORDS["points"] = POINTS
"""Words in a column's name by the scale that they mean."""

AS_LOGITS = {"Logits, as they are": {"scale": PLAIN, "kind": "logits"}}
AS_LOG_ODDS = {"Log-odds, as they are": {"scale": PLAIN, "kind": "binary_log_odds"}}


def bad_rows(outputs: Floats, name: str, choices: Choices, is_table: bool) -> Bools:
    """Return (n,) rows with NaN, infinite or huge values, or with slips outside [0, 1] among probabilities.

    They are refused with their counts unless ``drop_bad_rows`` was chosen; a NaN in a table is an empty cell and no
    failed computation, and minus infinity is a plain zero in log-probabilities.
    """
    bad = np.zeros(len(outputs), dtype=bool)
    low = outputs.min()
    high = outputs.max()
    may_be_logs = low == -np.inf and high <= SLACK
    if may_be_logs and (choices.kind == "log_probabilities" or are_logs(sampled_rows(outputs))):
        return bad
    rows = plural(len(bad), "row")
    if not (low >= -LARGEST and high <= LARGEST):
        for block in blocks(*outputs.shape):
            bad[block] = ~(np.abs(outputs[block]) <= LARGEST).all(axis=1)
        if bad.all():
            reason = f"Every one of the {rows} of {name} holds NaN, infinite values or values beyond {LARGEST:g}."
            action = "Look for a diverged training or a division by zero where they were saved."
            raise InvalidUpload("all_rows_bad", reason, action)
        n_nan = int(np.isnan(outputs[bad]).sum())
        n_infinite = int((np.abs(outputs[bad]) > LARGEST).sum())
        if not choices.drop_bad_rows and (n_infinite or not is_table):
            reason = (
                f"{name} has bad values in {plural(int(bad.sum()), 'row')} of {len(bad):,}: {plural(n_nan, 'NaN')} and "
                f"{plural(n_infinite, 'value')} that {verb(n_infinite, 'is', 'are')} infinite or beyond {LARGEST:g}; "
                "empty cells and overflow in float16 usually cause it."
            )
            action = "Leave these rows out."
            raise InvalidUpload("not_finite", reason, action, drop_bad_rows=True)
    slips = slips_among_probabilities(outputs, bad, choices)
    if slips.any() and not choices.drop_bad_rows:
        n = int(slips.sum())
        row = int(slips.argmax())
        worst = max(outputs[row].tolist(), key=lambda value: abs(value - 0.5))
        more = f" is the first ({row_numbers(slips)})" if n > 1 else ""
        reason = (
            f"{name} holds probabilities, but {plural(n, 'row')} of {len(bad):,} {verb(n, 'leaves', 'leave')} [0, 1]: "
            f"{worst:.6g} in row {row + 1:,}{more}."
        )
        readings: dict[str, Any] = {"Leave these rows out": {"drop_bad_rows": True}}
        if outputs.shape[1] == 1 and choices.kind is None:
            readings |= AS_LOG_ODDS
        action = "Correct the values, or leave these rows out."
        raise InvalidUpload("out_of_range", reason, action, readings=readings)
    return bad | slips


def slips_among_probabilities(outputs: Floats, bad: Bools, choices: Choices) -> Bools:
    """(n,) rows that leave [0, 1] where nearly all others hold probabilities.

    In a single column as many as half of the rows may hold one or two numbers, codes such as -999 or 99.
    """
    none = np.zeros(len(outputs), dtype=bool)
    plain = (choices.kind is None or choices.kind in IN_UNIT) and choices.scale in (None, PLAIN)
    if not plain or len(outputs) < FEW:
        return none
    low = outputs.min(axis=1)
    high = outputs.max(axis=1)
    outside = ((low < -ROUNDING) | (high > 1 + ROUNDING)) & ~bad
    if not outside.any():
        return none
    inside = outputs.shape[1] == 1 and len(np.unique(high[~outside & ~bad])) >= FEW
    codes = inside and len(np.unique(low[outside])) <= MOST_CODES
    if outside.mean() > (0.5 if codes else A_SLIP):
        return none
    total = outputs[~outside & ~bad].sum(axis=1, dtype=np.float64)
    are_complete = outputs.shape[1] == 1 or (np.abs(total - 1) <= 5 * SLACK).mean() >= 1 - A_SLIP
    return outside if are_complete else none


def refuse_single_column(outputs: Floats, labels: Array, name: str, choices: Choices) -> None:
    """Refuse a single column that is not the score of class 1: predicted classes, or the confidence in them."""
    if outputs.shape[1] > 1 or choices.kind is not None:
        return
    column = outputs[np.isfinite(outputs[:, 0]), 0]
    if len(column) >= FEW_FLAGS and np.isin(column, (0, 1)).all():
        raise hard_predictions(f"{name} holds 0 and 1 only", "binary_probability")
    n_labels = len(np.unique(labels[labels >= 0] if labels.dtype.kind in "iuf" else labels))
    if len(column) and n_labels > 3:
        reason = (
            f"{name} is a single column, but the labels have {n_labels:,} different values. It may be the predicted "
            "class or the confidence in it, from which the other classes cannot be told."
        )
        action = "Save one column for each class: logits, or predict_proba."
        raise InvalidUpload("single_column", reason, action)


def hard_predictions(finding: str, kind: Kind) -> InvalidUpload:
    """The error for predicted classes without any output; ``kind`` is how to read them all the same."""
    reason = f"{finding}: predicted classes, which carry no confidence, so that there is no output to calibrate."
    action = "Save the logits, or predict_proba instead of predict."
    return InvalidUpload("hard_predictions", reason, action, kind=kind)


def decide_form(
    outputs: Floats, name: str, choices: Choices
) -> tuple[Kind, Scale | None, Findings]:
    """Return kind and scale of (n, k) outputs: as chosen, else by the values and the name of a single column.

    Where several scales are plausible, each is offered as a reading to choose.
    """
    low = float(outputs.min())
    high = float(outputs.max())
    single = outputs.shape[1] == 1
    inside = low >= -ROUNDING and high <= 1 + ROUNDING
    chosen = choices.kind
    if chosen is not None and (chosen in ONE_COLUMN) != single:
        reason = (
            f"{name} has {plural(outputs.shape[1], 'column')}, which cannot be {KINDS[chosen]}."
        )
        raise InvalidUpload("kind", reason, "Choose another kind.")
    scale, sure = choices.scale, True
    if scale is None and not inside and chosen not in ("logits", "binary_log_odds"):
        values = sampled_rows(outputs)
        if single:
            column = next(iter(names_in(choices.outputs)), name)
            scale, sure = of_column(values, column, chosen in IN_UNIT)
        else:
            scale = of_rows(values, name)
    reach = f"values run from {low:.4g} to {high:.4g}"
    logs_of_rows = scale == "log" and not single
    if scale not in (None, PLAIN) and not logs_of_rows:
        kind: Kind = chosen or ("binary_probability" if single else "probabilities")
        reason = f"{name} was read as {describe_scale(scale)}, and converted: {reach}."
        finding = info if sure else warning
        action = "" if sure else "If that is wrong, read them as they are."
        fix = (
            {} if chosen in IN_UNIT else next(iter((AS_LOG_ODDS if single else AS_LOGITS).values()))
        )
        findings = () if choices.scale is not None else (finding("scale", reason, action, **fix),)
        return kind, scale, findings
    if chosen is not None:
        return chosen, None, ()
    if inside:
        kind = "binary_probability" if single else "probabilities"
    else:
        kind = "binary_log_odds" if single else "log_probabilities" if logs_of_rows else "logits"
    sums: Findings = ()
    if kind == "probabilities":
        if len(outputs) >= FEW_FLAGS and np.isin(outputs, (0, 1)).all() and high == 1:
            raise hard_predictions(f"Every value of {name} is exactly 0 or 1", "probabilities")
        sums = check_sums(outputs, name)
    # One click offers no other kind: probabilities read as logits give numbers that look right.
    return kind, None, (*sums, info("kind", f"Read as {KINDS[kind]}: {reach}."))


def sampled_rows(outputs: Floats) -> Floats:
    """The rows that are looked at, without those that hold NaN or plus infinity."""
    rows = np.unique(np.linspace(0, len(outputs) - 1, LOOKED_AT).astype(np.int64))
    values = outputs if outputs.shape[1] == 1 or len(rows) == len(outputs) else outputs[rows]
    return values[~(np.isnan(values) | np.isposinf(values)).any(axis=1)]


def of_rows(values: Floats, name: str) -> Scale | None:
    """The scale of several columns: what every row sums to; None for logits."""
    low = float(values.min())
    high = float(values.max())
    total = values.sum(axis=1, dtype=np.float64)
    if high <= SLACK:
        return "log" if are_logs(values) else None
    if low < -ROUNDING * high:
        return None
    unit = unit_of(values)
    off = np.abs(total - 100)
    slack = max(min(unit * values.shape[1] / 2, 25), 500 * SLACK)
    if off.max() <= slack and np.median(off) <= 100 * SLACK + unit * np.sqrt(values.shape[1]):
        return "percent"
    if len(values) >= 5 and np.ptp(total) <= 1e-5 * np.median(total):
        return "counts"
    if unit < 0.1 and low <= 1:
        return None
    reason = (
        f"{name} holds numbers from {low:g} to {high:g} whose rows sum to {total.min():.4g} up to {total.max():.4g}: "
        "counts or points; or logits."
    )
    raise ask(reason, {"Counts or points: divide each row by its sum": "counts"}, AS_LOGITS)


def are_logs(values: Floats) -> bool:
    """Return whether rows are logarithms of probabilities, whose exponentials sum to one."""
    if not values.size or values.shape[1] == 1:
        return False
    unit = unit_of(values)
    total = np.exp(values).sum(axis=1, dtype=np.float64)
    return bool(np.abs(total - 1).max() <= SLACK + (unit / 2 if unit <= 0.01 else 0))


def of_column(values: Floats, name: str, in_unit: bool) -> tuple[Scale | None, bool]:
    """The scale of a single column of numbers that leave [0, 1], and whether nothing else is plausible.

    ``in_unit`` says that somebody has called it a probability.
    """
    low = float(values.min())
    high = float(values.max())
    named = scale_in_name(name)
    if (named == "log" and high <= SLACK) or (named == "percent" and low >= 0 and high <= 100):
        return named, True
    if (named == "log_odds" or (len(values) < FEW and high <= 10)) and not in_unit:
        return None, True
    if low >= 0 and ((in_unit and 10 < high <= 100) or (named != "points" and 50 < high <= 100)):
        return "percent", in_unit
    reach = f"run from {low:.4g} to {high:.4g}"
    as_is = {} if in_unit else AS_LOG_ODDS
    if high <= SLACK:
        reason = (
            f"{name} is one column of which no value is positive (they {reach}): log-odds of something rare, or "
            "logarithms of probabilities."
        )
        raise ask(reason, {describe_scale("log").capitalize(): "log"}, as_is)
    if low < 0:
        return None, True
    ones = {10.0 ** math.ceil(math.log10(high))}
    if high <= 100:
        ones.add(100.0)
    scales: dict[str, Scale] = {
        f"A probability of one is {maximum:,g}": "percent" if maximum == 100 else maximum
        for maximum in sorted(ones)
    }
    reason = f"{name} is one column of numbers that {reach}, which are no probabilities yet."
    raise ask(reason, scales, as_is)


def unit_of(values: Floats) -> float:
    """The largest power of ten up to one of which all values are multiples; 0 where there is none."""
    for unit in (1.0, 0.1, 0.01, 0.001, 0.0001):
        scaled = values[np.isfinite(values)].astype(np.float64) / unit
        largest = 1.0 if values.dtype == np.float64 else float(np.abs(scaled).max(initial=1.0))
        near = 1e-6 * largest
        if near < 0.05 and (np.abs(scaled - np.round(scaled)) <= near).all():
            return unit
    return 0.0


def scale_in_name(name: str) -> str | None:
    """Scale that a column's name means: percent, log, log_odds or points."""
    if "%" in name:
        return "percent"
    pieces = tokens(name)
    pairs = {*pieces, *(a + b for a, b in pairwise(pieces))}
    named = (scale for scale, vocabulary in SCALE_WORDS.items() if not pairs.isdisjoint(vocabulary))
    return "points" if "‰" in name else next(named, None)


def ask(
    reason: str, scales: Mapping[str, Scale], as_is: Mapping[str, dict[str, Any]]
) -> InvalidUpload:
    """The error that asks for the scale."""
    readings = {**{title: {"scale": scale} for title, scale in scales.items()}, **as_is}
    return InvalidUpload("scale", reason, "Choose how they are written.", readings=readings)


def ask_whether_percent(outputs: Floats, choices: Choices) -> None:
    """Ask how a single column is written that is named as percent and holds numbers from 0 to 1: 0.4 may be 0.4 %."""
    (name, *others), values = names_in(choices.outputs), outputs[np.isfinite(outputs)]
    if others or choices.scale is not None or scale_in_name(name) != "percent" or not len(values):
        return
    if values.min() >= 0 and values.max() <= 1 and not np.isin(values, (0, 1)).all():
        reach = f"run from {values.min():.4g} to {values.max():.4g}"
        reason = f"{name} is named as percent, but its values {reach}, as fractions do."
        scales: dict[str, Scale] = {
            "Fractions, as they are": PLAIN,
            "Percent: divide by 100": "percent",
        }
        raise ask(reason, scales, {})


def check_sums(outputs: Floats, name: str) -> Findings:
    """Warn of rows of values between 0 and 1 that do not sum to one; refuse them where most are far off.

    Values rounded to d digits are off by at most K / 2 units of the last one, in sum, and by about the root of K.
    """
    n_classes = outputs.shape[1]
    total = outputs.sum(axis=1, dtype=np.float64)
    off = np.abs(total - 1)
    wrong = off > max(SLACK, n_classes * float(np.finfo(outputs.dtype).eps))
    n = int(wrong.sum())
    n_empty = int((total <= 0).sum())
    if n == 0:
        return ()
    message = (
        f"{plural(n, 'row')} of {len(off):,} in {name} {verb(n, 'lies', 'lie')} between 0 and 1 but "
        f"{verb(n, 'does', 'do')} not sum to one (by up to {off.max():.3g}; {row_numbers(wrong, most=3)})"
    )
    if n_empty:
        empty = f"{plural(n_empty, 'row')} {verb(n_empty, 'sums', 'sum')} to zero"
        reason = f"{message}, and {empty}, unlike probabilities."
        raise InvalidUpload("sums", reason, "Read the values as logits.", kind="logits")
    unit = unit_of(outputs)
    causes = "sigmoid outputs of a multi-label model, or a missing column"
    if off.max() <= unit * n_classes / 2 + ROUNDING:
        rounding = f"rounding to {plural(round(-math.log10(unit)), 'digit')}"
        if np.median(off) <= unit * math.sqrt(n_classes):
            reason = f"{message}: {rounding} explains that. In every score a row counts as divided by its sum."
            return (info("rounded", reason, "Save more digits, or logits."),)
        causes = f"{rounding}, {causes}"
    if n > len(off) / 2 and np.median(off) > 0.05:
        reason = f"{message}. Usual causes: {causes}."
        action = "Divide each row by its sum, or read the values as logits."
        raise InvalidUpload("sums", reason, action, kind="probabilities", scale="counts")
    reason = f"{message}. Usual causes: {causes}. They are kept as they are."
    return (warning("sums", reason, "Divide each row by its sum.", scale="counts"),)


def check_plain(outputs: Floats, kind: Kind, name: str) -> None:
    """Refuse outputs on the plain scale that cannot be of their kind; NaN comes from a row that was divided by zero."""
    if kind not in IN_UNIT:
        return
    low = float(outputs.min())
    high = float(outputs.max())
    if n := int((~np.isfinite(outputs).all(axis=1)).sum()):
        reason = f"{plural(n, 'row')} of {name} {verb(n, 'sums', 'sum')} to zero and cannot be divided by their sum."
        fix: dict[str, Any] = {"scale": PLAIN, "kind": "logits"}
        raise InvalidUpload("sums", reason, "Read the values as logits.", **fix)
    if low < -ROUNDING or high > 1 + ROUNDING:
        reason = f"{name} reaches from {low:.3g} to {high:.3g}, so it does not hold probabilities."
        raise InvalidUpload("kind", reason, "Choose another kind.")


def to_logits(
    outputs: Floats, kind: Kind, name: str, chosen_floor: float | None
) -> tuple[Floats, float | None, Findings]:
    """Return logits or log-probabilities of (n, k) outputs on the plain scale, and what exact zeros became."""
    if kind in ("logits", "binary_log_odds"):
        return to_canonical(outputs, kind), None, ()
    exact = "exactly zero"
    if kind in IN_UNIT:
        check_size(8 * outputs.size, f"The logarithms of {name} in float64")
    if kind in ONE_COLUMN:
        others = 1 - outputs.astype(np.float64)
        outputs = np.concatenate([others, outputs], axis=1)
        kind = "probabilities"
        exact = "exactly 0 or 1"
    of_logs = kind == "log_probabilities"
    zero = outputs == -np.inf if of_logs else outputs <= 0
    if not zero.any():
        return to_canonical(outputs, kind), None, ()
    floor = zero_floor(outputs, kind) if chosen_floor is None else float(chosen_floor)
    n = int(zero.sum())
    n_negative = 0 if of_logs else int(np.count_nonzero(outputs < 0))
    below = f" ({n_negative:,} of them a little outside [0, 1])" if n_negative else ""
    how = "; those of a row together hold half the smallest other value"
    rows = f"{plural(int(zero.any(axis=1).sum()), 'row')} of {len(outputs):,} of {name}"
    reason = (
        f"{plural(n, 'value')} in {rows} {verb(n, 'is', 'are')} {exact}{below}. Scores take them so; fits, which take "
        f"logarithms, put {floor:.2g} in place of zeros{', as chosen' if chosen_floor else how}."
    )
    action = "Save logits instead of probabilities, or choose another floor."
    return to_canonical(outputs, kind, floor), floor, (info("zeros", reason, action),)
