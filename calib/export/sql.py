"""A fitted map of one score of two classes as an SQL expression that DuckDB, PostgreSQL and SQLite evaluate alike.

:mod:`calib.export.predict` says what each step computes; :data:`WORDS` says it in SQL, a text for each of the two
columns. Beside the texts go the numbers that they have at many scores: they say which texts are constant, and where EXP
needs a guard, because PostgreSQL raises an error where it overflows or underflows.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

import calib
from calib.base import MINDS_OFFSETS, Calibrator
from calib.calibrators.steps import Step
from calib.canonical import KINDS, PLAIN, ROUNDING, Kind, Scale
from calib.errors import CalibrationError
from calib.export import predict
from calib.export.npz import checked_steps, logit_steps
from calib.export.runtime import ExportedCalibrator
from calib.formatting import single_line
from calib.numerics import Floats
from calib.parameters import short_repr
from calib.registry import METHODS, registry_name

ONE_COLUMN: dict[Kind, Kind] = {
    "logits": "binary_log_odds",
    "log_probabilities": "binary_log_odds",
    "probabilities": "binary_probability",
    "pairs": "binary_probability",
    "binary_log_odds": "binary_log_odds",
    "binary_probability": "binary_probability",
}
"""Content of a column by the kind of outputs: log-odds of the second class, which of two logits are their difference,
or its probability."""

SAFE = 500.0
"""EXP is computed of numbers up to this size."""

FARTHEST = 1e15
"""Log-odds up to which the size is searched from which a map no longer changes."""

LONGEST = 1_000_000
"""Characters of an expression; DuckDB takes seconds to read so many."""

BRANCHES = 8
"""Of each CASE in a tree of steps: SQLite's parser goes about twenty levels deep."""

NAME = re.compile(
    r'([A-Za-z_]\w*|"([^"\0\ud800-\udfff]|"")+")(\.([A-Za-z_]\w*|"([^"\0\ud800-\udfff]|"")+"))*',
    re.ASCII,
)
"""A column as SQL writes it: a word or a text in quotes, in which each quote is doubled; a table may stand before."""

SCORE = "\0"
"""Stands for the score until the text is done."""

Columns = list[str]
"""An expression for each column, in parentheses where it is more than a name, a number or a function."""


def script(exported: ExportedCalibrator) -> str:
    """The expression of a column ``score`` as a file, behind lines that say what it is."""
    metadata = exported.metadata
    kind = ONE_COLUMN.get(exported.kind, exported.kind)
    day = metadata.get("exported_on", "an unknown day")
    notes = [
        f"{METHODS[exported.method].title}, exported by calib {calib.__version__}",
        f"data: {metadata.get('data_name', 'not recorded')}; exported on {day}",
        f"column score: {KINDS[kind]}",
        f"result: probability of {exported.class_names[-1]}",
    ]
    lines = [f"-- {single_line(' '.join(note.split()))}" for note in notes]
    return "\n".join([*lines, expression(exported, "score"), ""])


def expression(exported: ExportedCalibrator, column: str) -> str:
    """Expression of :func:`calib.export.to_sql`, which says what is refused."""
    if not isinstance(column, str) or not NAME.fullmatch(column):
        raise CalibrationError(
            f"{short_repr(column)} is no name of a column in SQL; write score, loans.score, or "
            '"default risk" in quotes.'
        )
    return _written(exported).replace(SCORE, f"CAST({column} AS DOUBLE PRECISION)")


def _written(exported: ExportedCalibrator) -> str:
    """The expression with :data:`SCORE` for the column."""
    check_sql(exported.calibrator, exported.kind, exported.n_classes, exported.scale)
    single = replace(exported, kind=ONE_COLUMN[exported.kind], decision=None, sets=None)
    steps = [*logit_steps(single), *checked_steps(exported.calibrator)]

    def at(scores: Floats) -> Floats:
        return predict.run(steps, scores[:, None])[:, 1]

    if single.kind == "binary_probability":
        odds = np.logspace(-300, 16, 4001)
        inside = f"{SCORE} > 0 AND {SCORE} < 1"
        scores = np.append(odds / (1 + odds), 1 - 2.0**-53)
        low, high = at(np.array([0.0, 1.0])).tolist()
        outside = [
            f"{SCORE} BETWEEN {_number(-ROUNDING)} AND 0",
            f"{SCORE} BETWEEN 1 AND {_number(1 + ROUNDING)}",
        ]
    else:
        sizes = np.append(0.0, np.geomspace(1e-3, FARTHEST, 4001))
        low, high = at(np.array([-FARTHEST, FARTHEST])).tolist()
        moving = np.maximum(np.abs(at(-sizes) - low), np.abs(at(sizes) - high)) > 1e-14
        far = sizes[min(np.flatnonzero(moving).max(initial=0) + 1, len(sizes) - 1)]
        sizes = sizes[sizes <= far]
        inside = f"{SCORE} BETWEEN {_number(-far)} AND {_number(far)}"
        scores = np.append(-sizes[::-1], sizes)
        outside = [f"{SCORE} BETWEEN -1.7e308 AND 0", f"{SCORE} BETWEEN 0 AND 1.7e308"]
    title = METHODS[exported.method].title
    text = _run(title, steps, [SCORE], scores[:, None])[0][1]
    if len(text) > LONGEST:
        raise _refused(title, f"takes more than {LONGEST:,} characters of SQL")
    ends = [
        f"WHEN {where} THEN {_number(value)}"
        for where, value in zip(outside, (low, high), strict=True)
    ]
    return "\n  ".join(["CASE", f"WHEN {inside} THEN {_bare(text)}", *ends]) + "\nEND"


def check_sql(calibrator: Calibrator, kind: Kind, n_classes: int, scale: Scale | None) -> None:
    """Raise :class:`CalibrationError` where outputs cannot be those of an SQL expression, which is known before a fit.

    Parameters
    ----------
    calibrator : fitted or not.
    kind, n_classes, scale : of the outputs.
    """
    if n_classes != 2 or kind not in ONE_COLUMN or scale not in (None, PLAIN):
        raise CalibrationError(
            f"An SQL expression maps a probability or log-odds of two classes, and this calibrator takes {KINDS[kind]} "
            f"of {n_classes:,} classes{'' if scale in (None, PLAIN) else f' as {scale}'}; export a PyTorch module or "
            "a bundle."
        )
    if MINDS_OFFSETS in calibrator.promises(2) and kind == "logits":
        title = METHODS[registry_name(calibrator) or "identity"].title
        raise CalibrationError(
            f"{title} is a function of both logits, not of their difference; fit it on log-odds, of "
            "which the other class's logit is 0."
        )


def _refused(title: str, why: str) -> CalibrationError:
    return CalibrationError(f"{title} {why}, or export a PyTorch module or a bundle.")


def _run(title: str, steps: Sequence[Step], x: Columns, at: Floats) -> tuple[Columns, Floats]:
    """Apply steps to columns, and to the numbers that these have at many scores."""
    for step in steps:
        if step["step"] == "ranks":  # of two classes, of which the softmax sees the gap alone
            step = {
                "step": "matrix",
                "matrix": step["weights"][0] * np.array([[0.0, 0.0], [-1.0, 1.0]]),
            }
        options = {name: value for name, value in step.items() if name != "step"}
        if step["step"] not in WORDS:
            raise _refused(title, "is no map of one score in this form. Set prediction='mean'")
        texts = WORDS[step["step"]](title, x, at, **options)
        at = predict.run([step], at)
        x = [
            _literal(v[0]) if np.ptp(v) == 0 else text for text, v in zip(texts, at.T, strict=True)
        ]
    return x, at


# -- texts ------------------------------------------------------------------------------------------------------------


def _number(value: float) -> str:
    """A number as a double in every engine; Python's digits are enough to give it back."""
    text = repr(float(value))
    return text if "e" in text else f"{text.removesuffix('.0')}e0"


def _literal(value: float) -> str:
    return (
        _number(value + 0.0) if value >= 0 else f"({_number(value)})"
    )  # two minus signs would begin a comment


def _bare(text: str) -> str:
    """A text without the parentheses around all of it."""
    return text[1:-1] if text.startswith("(") else text


def _sum(texts: Sequence[str], weights: Sequence[float], offset: float = 0.0) -> str:
    """Weighted sum of texts and an offset."""
    result = ""
    for text, weight in zip([*texts, ""], [*map(float, weights), float(offset)], strict=True):
        if weight == 0 or text == "0e0":
            continue
        size = _number(abs(weight))
        term = text if abs(weight) == 1 and text else f"{size} * {text}" if text else size
        if not result:
            result = f"-{term}" if weight < 0 else term
        else:
            result += f" - {term}" if weight < 0 else f" + {term}"
    return result if result in texts else f"({result})" if result else "0e0"


def _guarded(x: str, at: Floats, below: str, inside: str, above: str) -> str:
    """A function of x with what stands for it where EXP would leave the doubles."""
    cases = f" WHEN {x} < -{SAFE:.0f} THEN {below}" if at.min() < -SAFE else ""
    cases += f" WHEN {x} > {SAFE:.0f} THEN {above}" if at.max() > SAFE else ""
    return f"(CASE{cases} ELSE {inside} END)" if cases else f"({inside})"


def _sigmoid(x: str, at: Floats) -> str:
    return _guarded(x, at, "0e0", f"1e0 / (1e0 + EXP(-{x}))", "1e0")


def _log_sigmoid(x: str, at: Floats) -> str:
    return _guarded(x, at, x, f"-LN(1e0 + EXP(-{x}))", "0e0")


def _gaps(of: Callable[[str, Floats], str]) -> Callable[..., Columns]:
    """A function of each column less the other one."""

    def written(title: str, x: Columns, at: Floats) -> Columns:
        return [of(_sum([x[k], x[1 - k]], [1, -1]), at[:, k] - at[:, 1 - k]) for k in (0, 1)]

    return written


def _softmax(title: str, x: Columns, at: Floats, among: Any = None, kept: Any = None) -> Columns:
    if kept is None:
        return _gaps(_sigmoid)(title, x, at)
    (k,) = kept  # of the class that was not learned the log-probability; the other one has the rest
    share = _guarded(x[k], at[:, k], "0e0", f"EXP({_bare(x[k])})", "1e0")
    return [share, f"(1e0 - {share})"] if k == 0 else [f"(1e0 - {share})", share]


def _each(of: Callable[[str, Floats], str]) -> Callable[..., Columns]:
    return lambda title, x, at: [of(text, values) for text, values in zip(x, at.T, strict=True)]


def _affine(title: str, x: Columns, at: Floats, scale: Any = 1.0, offset: Any = 0.0) -> Columns:
    weights = np.broadcast_to(scale, len(x))
    offsets = np.broadcast_to(offset, len(x))
    return [_sum([text], [w], c) for text, w, c in zip(x, weights, offsets, strict=True)]


def _matrix(title: str, x: Columns, at: Floats, matrix: Floats, offset: Any = 0.0) -> Columns:
    return [
        _sum(x, row, c) for row, c in zip(matrix, np.broadcast_to(offset, len(matrix)), strict=True)
    ]


def _mix(
    title: str, x: Columns, at: Floats, weights: Sequence[Any], parts: Sequence[list[Step]]
) -> Columns:
    columns = [_run(title, part, x, at)[0] for part in parts]
    return [
        _sum(texts, [np.broadcast_to(weight, len(columns[0]))[k] for weight in weights])
        for k, texts in enumerate(zip(*columns, strict=True))
    ]


def _piecewise(
    title: str, x: Columns, at: Floats, breaks: Floats, origins: Floats, coefficients: Floats
) -> Columns:
    columns = []
    for text, values in zip(x, at.T, strict=True):
        inner = (breaks > values.min()) & (breaks <= values.max())
        first = int((breaks <= values.min()).sum())
        tests = [f"{text} < {_number(b)}" for b in breaks[inner]]
        leaves = [
            _polynomial(text, origins[i], coefficients[:, i].tolist())
            for i in range(first, first + len(tests) + 1)
        ]
        columns.append(_tree(tests, leaves))
    return columns


def _polynomial(x: str, origin: float, coefficients: list[float]) -> str:
    *lower, result = np.trim_zeros(coefficients, "b") or [0.0]
    text = _literal(result)
    for coefficient in reversed(lower):
        along = _sum([x], [1], -origin)
        text = _sum([f"{text} * {along}"], [1], coefficient)
    return text


def _tree(tests: list[str], leaves: list[str]) -> str:
    """A tree of CASE whose depth is the logarithm of the number of leaves; equal neighbours are one."""
    if len(set(leaves)) == 1:
        return leaves[0]
    cuts = np.unique(np.arange(1, BRANCHES) * len(leaves) // BRANCHES)
    cuts = cuts[
        cuts > 0
    ]  # a test stands between the leaf before it and the one of its number plus one
    starts = [0, *cuts.tolist()]
    stops = [*cuts.tolist(), len(leaves)]
    branches = [_tree(tests[a : b - 1], leaves[a:b]) for a, b in zip(starts, stops, strict=True)]
    whens = [
        f"WHEN {tests[cut - 1]} THEN {text}"
        for cut, text in zip(cuts.tolist(), branches[:-1], strict=True)
    ]
    return f"(CASE {' '.join(whens)} ELSE {branches[-1]} END)"


WORDS: dict[str, Callable[..., Columns]] = {
    "affine": _affine,
    "matrix": _matrix,
    "log": _each(lambda x, at: f"LN({_bare(x)})"),
    "finite": lambda title, x, at, low: x,
    "log_sigmoid": _each(_log_sigmoid),
    "sigmoid": _each(_sigmoid),
    "log_softmax": _gaps(_log_sigmoid),
    "softmax": _softmax,
    "piecewise": _piecewise,
    "mix": _mix,
}
"""Each step of :data:`calib.export.predict.STEPS` that is a map of one score, in SQL."""
