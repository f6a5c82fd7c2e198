"""A fitted map of one score as an SQL expression that DuckDB, PostgreSQL and SQLite evaluate alike."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

import calib
from calib.base import MINDS_OFFSETS, Calibrator
from calib.canonical import KINDS, Kind, to_canonical
from calib.data.scales import PLAIN, Scale, in_words
from calib.errors import CalibrationError
from calib.export.formulas import probabilities
from calib.export.graph import Piecewise, Value, apply, in_order
from calib.export.runtime import ExportedCalibrator
from calib.formatting import one_line
from calib.numerics import Floats
from calib.parameters import shown
from calib.registry import METHODS, registry_name

ONE_COLUMN: dict[Kind, Kind] = {
    "logits": "binary_log_odds",
    "log_probabilities": "binary_log_odds",
    "probabilities": "binary_probability",
    "pairs": "binary_probability",
    "binary_log_odds": "binary_log_odds",
    "binary_probability": "binary_probability",
}
"""What a column holds by the kind of outputs: log-odds of the second class, which of two logits are their difference,
or its probability."""

SAFE = 700.0
"""EXP neither overflows nor underflows below this size; PostgreSQL raises an error for both."""

LEAST = 1e-300
"""Probabilities and factors below this are taken for it, so that no product underflows."""

FARTHEST = 1e100
"""Log-odds up to which the size is searched from which a map no longer changes."""

CONSTANT = 1e-290
"""Differences below this count as none where it is asked whether a map still changes."""

LONGEST = 1_000_000
"""Characters of an expression; DuckDB takes seconds to read so many."""

WIDE = 100
"""Characters of a line in a file."""

_WORDS = re.compile(r'(?:"(?:[^"]|"")*"|[^\s"])+')

BRANCHES = 8
"""Of each CASE in a tree of steps: SQLite's parser goes about twenty levels deep."""

_RESERVED = """
add all alter analyse analyze and anti any array as asc asof asymmetric at authorization autoincrement between binary
both by case cast check collate collation column commit concurrently constraint create cross current_catalog
current_date current_role current_schema current_time current_timestamp current_user default deferrable delete desc
describe distinct do drop else end escape except exists false fetch for foreign freeze from full glob grant group
having ilike in index initially inner insert intersect into is isnull join lambda lateral leading left like limit
localtime localtimestamp natural not nothing notnull null offset on only or order outer overlaps pivot pivot_longer
pivot_wider placing positional primary qualify raise references returning right select semi session_user set show
similar some summarize symmetric system_user table tablesample then to trailing transaction true union unique unpack
unpivot update user using values variadic verbose when where window with
"""
KEYWORDS = frozenset(_RESERVED.split())
"""Words that DuckDB 1, PostgreSQL or SQLite 3 do not take for a column unless they are quoted: some are errors, and
TRUE, NULL and CURRENT_DATE are values."""

_COMPARE, _ADD, _MULTIPLY, _ATOM = range(4)  # how strongly operators bind


def expression(given: ExportedCalibrator, column: str) -> str:
    """What :func:`calib.export.to_sql` gives, which says what is refused."""
    check_sql(given.calibrator, given.kind, given.n_classes, given.scale)
    return _of_column(given, ONE_COLUMN[given.kind] == "binary_probability", _quoted(column))


def script(given: ExportedCalibrator, column: str) -> str:
    """The expression as a file: behind lines that say what it is, with lines of at most :data:`WIDE` characters."""
    known, kind = given.metadata, ONE_COLUMN.get(given.kind, given.kind)
    said = [
        f"{METHODS[given.method].title}, exported by calib {calib.__version__}",
        f"data: {known.get('data_name', 'not recorded')}; exported on {known.get('exported_on', 'an unknown day')}",
        f"column {column}: {KINDS[kind]}",
        f"result: probability of {given.class_names[-1]}",
    ]
    lines = [f"-- {one_line(' '.join(each.split()))}" for each in said]
    for line in expression(given, column).split("\n"):
        indent = " " * (len(line) - len(line.lstrip()))
        lines.append(indent)
        for word in _WORDS.findall(line):  # a quoted name may hold spaces
            if lines[-1].strip() and len(lines[-1]) + len(word) >= WIDE:
                lines.append(f"{indent}  ")
            lines[-1] += f" {word}" if lines[-1].strip() else word
    return "\n".join(lines)


def check_sql(calibrator: Calibrator, kind: Kind, n_classes: int, scale: Scale | None) -> None:
    """Raise :class:`CalibrationError` where outputs cannot be those of an SQL expression, which is known before a fit.

    Parameters
    ----------
    calibrator : fitted or not.
    kind, n_classes, scale : of the outputs.
    """
    if n_classes != 2 or kind not in ONE_COLUMN:
        raise CalibrationError(
            f"An SQL expression maps one score of two classes, and this calibrator has {n_classes:,} classes; "
            "export a PyTorch module or a bundle."
        )
    if scale not in (None, PLAIN):
        raise CalibrationError(
            f"The calibrator takes outputs that are {in_words(scale or PLAIN)}, and an SQL expression takes "
            "probabilities or log-odds; fit on these."
        )
    if MINDS_OFFSETS in calibrator.promises(2) and kind == "logits":
        title = METHODS[registry_name(calibrator) or "identity"].title
        raise CalibrationError(
            f"{title} is a function of both logits, not of their difference; fit it on log-odds, of "
            "which the other class's logit is 0."
        )


def _quoted(column: str) -> str:
    if not isinstance(column, str) or "\0" in column or re.search("[\ud800-\udfff]", column):
        raise CalibrationError(f"The name of the column must be text that a database can hold; got {shown(column)}.")
    parts = re.split(r"\.", column) if re.fullmatch(r"\w+(\.\w+)*", column) else [column]
    if not all(parts):
        raise CalibrationError("The column needs a name.")
    plain = re.compile(r"[A-Za-z_]\w*", re.ASCII)
    return ".".join(
        part if plain.fullmatch(part) and part.lower() not in KEYWORDS else '"' + part.replace('"', '""') + '"'
        for part in parts
    )


def _of_column(given: ExportedCalibrator, of_probability: bool, column: str) -> str:
    """The expression with what surrounds it: usable scores alone, and constants where the map no longer changes."""
    number = f"CAST({column} AS DOUBLE PRECISION)"

    def at(log_odds: Floats) -> Floats:
        with np.errstate(all="ignore"):
            return given.calibrator.predict_proba(np.stack([np.zeros(len(log_odds)), log_odds], axis=1))[:, 1]

    def at_probs(probs: list[float]) -> list[str]:
        logits = to_canonical(np.array(probs), "binary_probability", given.floor)
        return [_literal(value) for value in given.calibrator.predict_proba(logits)[:, 1]]

    if of_probability:
        zero, least, one = at_probs([0.0, LEAST, 1.0])
        usable = f"{column} BETWEEN -1e-6 AND 1.000001e0"
        ends = [f"WHEN {column} <= 0 THEN {zero}", f"WHEN {column} < {LEAST!r} THEN {least}"]
        ends += [f"WHEN {column} >= 1 THEN {one}"]
        rest, event = f"LN(1e0 - {number})", f"LN({number})"
        low, high = math.log(LEAST), -math.log(2.0**-53)
        score = Sql(f"{event} - {rest}", _ADD, low, high, column)
        columns: list[Part] = [Sql(rest, _ATOM, -high, 0.0), Sql(event, _ATOM, low, 0.0)]
    else:
        far, values = _saturated(given, at)
        below, middle, above = (_literal(value) for value in values)
        usable = f"{column} BETWEEN -1.7e308 AND 1.7e308"
        ends = [f"WHEN {column} < {_literal(-far)} THEN {below}", f"WHEN {column} > {_literal(far)} THEN {above}"]
        near = [_literal(value) for value in at(np.array([-1e-200, 1e-200]))]
        if near != [middle, middle]:  # a map of the confidence may jump where the prediction changes
            ends += [f"WHEN {column} = 0 THEN {middle}", f"WHEN {column} < 0 AND {column} > -1e-200 THEN {near[0]}"]
            middle = near[1]
        ends += [f"WHEN {column} > -1e-200 AND {column} < 1e-200 THEN {middle}"]
        score = Sql(number, _ATOM, -far, far, column)
        columns = [0.0, score]
    if MINDS_OFFSETS not in given.calibrator.promises(2):
        columns = [0.0, score]
    written = _Columns(columns, of_probability, METHODS[given.method].title)
    event = _text(written.column(probabilities(given.calibrator, apply("input")), 1))
    lines = [f"CASE WHEN {usable} THEN", "  CASE", *(f"    {end}" for end in ends), f"    ELSE {event}", "  END", "END"]
    return "\n".join(lines)


def _saturated(given: ExportedCalibrator, at: Callable[[Floats], Floats]) -> tuple[float, list[float]]:
    """Log-odds beyond which the map is constant, and its values below, at 0 and above."""
    probes = np.concatenate([np.logspace(-2, 15, 3401), np.logspace(16, math.log10(FARTHEST), 85)])
    values = [at(sign * probes) for sign in (-1, 1)]
    still = np.all([np.abs(side - side[-1]) <= CONSTANT for side in values], axis=0)
    moving = np.flatnonzero(~still)
    first = 0 if not len(moving) else min(moving[-1] + 1, len(probes) - 1)
    return float(max(probes[first], _farthest_break(given))), [*values[0][-1:], *at(np.zeros(1)), *values[1][-1:]]


def _farthest_break(given: ExportedCalibrator) -> float:
    maps = [value.given for value in in_order(probabilities(given.calibrator, apply("input")))]
    ends = [np.abs(each.breaks).max(initial=0) for each in maps if isinstance(each, Piecewise)]
    return float(max(ends, default=0.0)) * getattr(given.calibrator, "scale_", 1.0)


@dataclass(frozen=True)
class Sql:
    """An expression: its text, how strongly its operator binds, and between which numbers it lies.

    ``column`` is set where it is the log-odds themselves: what is compared in their place.
    """

    text: str
    binds: int
    low: float = -math.inf
    high: float = math.inf
    column: str = ""

    def inside(self, binds: int) -> str:
        """The text within an operator that binds so strongly."""
        return self.text if self.binds >= binds else f"({self.text})"


Part = Sql | float


def _literal(value: float) -> str:
    """A number as a double in every engine; Python's digits are enough to give it back."""
    text = repr(float(value))
    return text if "e" in text else f"{text.removesuffix('.0')}e0"


def _sql(part: Part) -> Sql:
    if isinstance(part, Sql):
        return part
    return Sql(_literal(part), _ATOM if part >= 0 else _ADD, part, part)


def _text(part: Part) -> str:
    return _sql(part).text


def _add(a: Part, b: Part, sign: int = 1) -> Part:
    if isinstance(a, float) and isinstance(b, float):
        return a + sign * b
    if b == 0:
        return a
    if a == 0 and sign > 0:
        return b
    if isinstance(b, float) and b < 0:
        b, sign = -b, -sign
    left, right = _sql(a), _sql(b)
    ends = (right.low, right.high) if sign > 0 else (-right.high, -right.low)
    operator = "+" if sign > 0 else "-"
    text = f"-{right.inside(_ATOM)}" if a == 0 else f"{left.inside(_ADD)} {operator} {right.inside(_MULTIPLY)}"
    return Sql(text, _ADD, left.low + ends[0], left.high + ends[1])


def _multiply(a: Part, b: Part) -> Part:
    if isinstance(a, float) and isinstance(b, float):
        return a * b
    if isinstance(a, Sql) and isinstance(b, float):
        a, b = b, a
    if a in (0, 1):
        return 0.0 if a == 0 else b
    left, right = _sql(a), _sql(b)
    ends = [x * y if x and y else 0.0 for x in (left.low, left.high) for y in (right.low, right.high)]
    return Sql(f"{left.inside(_MULTIPLY)} * {right.inside(_ATOM)}", _MULTIPLY, min(ends), max(ends))


def _divide(a: Part, b: Part) -> Part:
    if isinstance(a, float) and isinstance(b, float):
        return a / b
    if b == 1:
        return a
    left, right = _sql(a), _sql(b)
    ends = [-math.inf, math.inf]
    if right.low > 0 or right.high < 0:
        ends = [x / y for x in (left.low, left.high) for y in (right.low, right.high)]
    return Sql(f"{left.inside(_MULTIPLY)} / {right.inside(_ATOM)}", _MULTIPLY, min(ends), max(ends))


def _guarded(e: Sql, below: str, inside: str, above: str, low: float, high: float) -> Sql:
    """A function of ``e`` with what stands for it where EXP would leave the doubles."""
    cases = f" WHEN {e.text} < -{SAFE:.0f} THEN {below}" if e.low < -SAFE else ""
    cases += f" WHEN {e.text} > {SAFE:.0f} THEN {above}" if e.high > SAFE else ""
    return Sql(f"CASE{cases} ELSE {inside} END", _ATOM, low, high) if cases else Sql(inside, _MULTIPLY, low, high)


def _exp(e: Part) -> Part:
    if isinstance(e, float):
        return math.exp(e)
    ends = [math.exp(min(max(end, -SAFE), SAFE)) for end in (e.low, e.high)]
    return _guarded(e, "0e0", f"EXP({e.text})", _literal(math.exp(SAFE)), *ends)


def _sigmoid(e: Part) -> Part:
    if isinstance(e, float):
        return 1 / (1 + math.exp(-e)) if e > -SAFE else 0.0
    ends = [1 / (1 + math.exp(min(-end, SAFE))) for end in (e.low, e.high)]
    return _guarded(e, "0e0", f"1e0 / (1e0 + EXP({_text(_add(0.0, e, -1))}))", "1e0", *ends)


def _softplus(e: Part) -> Part:
    if isinstance(e, float):
        return max(e, 0.0) + math.log1p(math.exp(-abs(e)))
    ends = [max(end, 0.0) + math.log1p(math.exp(-abs(end))) for end in (e.low, e.high)]
    return replace(_guarded(e, "0e0", f"LN(1e0 + EXP({e.text}))", e.text, *ends), binds=_ATOM)


def _log(e: Part) -> Part:
    if isinstance(e, float):
        return math.log(e)
    return Sql(f"LN({e.text})", _ATOM, math.log(e.low) if e.low > 0 else -math.inf, math.log(e.high))


def _bounded(a: Part, b: Part, lower: bool) -> Part:
    """The smaller or the larger of two."""
    left, right = _sql(a), _sql(b)
    if left.high <= right.low or right.high <= left.low:
        return a if (left.high <= right.low) == lower else b
    ends = [min(left.low, right.low), min(left.high, right.high)]
    if not lower:
        ends = [max(left.low, right.low), max(left.high, right.high)]
    comparison = "<" if lower else ">"
    text = f"CASE WHEN {left.inside(_ADD)} {comparison} {right.inside(_ADD)} THEN {left.text} ELSE {right.text} END"
    return Sql(text, _ATOM, ends[0], ends[1])


class _Columns:
    """The columns of values of two classes as expressions.

    Parameters
    ----------
    logits : of the two classes.
    of_probability : whether scores are compared as probabilities.
    title : of the method.
    """

    def __init__(self, logits: list[Part], of_probability: bool, title: str):
        self._logits, self._of_probability, self._title = logits, of_probability, title
        self._known: dict[tuple[int, int], Part] = {}

    def column(self, value: Value | float, k: int) -> Part:
        """Column ``k`` of a value; a single column stands for each."""
        if not isinstance(value, Value):
            return float(value)
        if (id(value), k) not in self._known:
            self._known[id(value), k] = self._written(value, k)
        return self._known[id(value), k]

    def _written(self, value: Value, k: int) -> Part:
        op, of, given = value.op, value.of, value.given
        if op == "input":
            return self._logits[k]
        if op == "constant":
            return float(given.numbers[0, min(k, given.numbers.shape[1] - 1)])
        if op == "row_max":
            return 0.0  # taken off logits of methods that do not see what is added to a row
        if op == "columns":
            return self.column(of[0], given[min(k, len(given) - 1)])
        if op == "join":
            return self.column(of[k], 0)
        if op in ("softmax", "log_softmax", "gaps"):
            gap = _add(self.column(of[0], k), self.column(of[0], 1 - k), -1)
            if op == "gaps":
                gap = _multiply(float(given.numbers[0, 0]), gap)
            return _add(0.0, _softplus(_add(0.0, gap, -1)), -1) if op == "log_softmax" else _sigmoid(gap)
        if op == "row_sum":
            return _add(self.column(of[0], 0), self.column(of[0], 1))
        if op == "product":
            weights = of[1].given.numbers[k].tolist() if isinstance(of[1], Value) else []
            parts = [_multiply(weight, self.column(of[0], j)) for j, weight in enumerate(weights)]
            return _add(parts[0], parts[1])
        if op in ("top_log_odds", "in_proportion"):
            return self._of_the_top(value, k)
        parts = [self.column(part, k) for part in of]
        if op == "piecewise":
            return self._piecewise(given, parts[0])
        if op not in WORDS:
            raise self._refused("is no map of one score in this form. Set prediction='mean'")
        written = WORDS[op](*parts)
        if isinstance(written, Sql) and len(written.text) > LONGEST:
            raise self._refused(f"takes more than {LONGEST:,} characters of SQL")
        return written

    def _of_the_top(self, value: Value, k: int) -> Part:
        """Log-odds of the larger of two outputs, or a class's probability by the confidence in the larger."""
        if value.op == "top_log_odds":
            k = 1
        gap = _sql(_add(self.column(value.of[0], k), self.column(value.of[0], 1 - k), -1))
        if value.op == "top_log_odds":
            return _bounded(gap, _add(0.0, gap, -1), lower=False)
        confidence = _bounded(self.column(value.of[1], 0), 0.5, lower=False)
        above, below = _text(confidence), _text(_add(1.0, confidence, -1))
        at = gap.inside(_ADD)
        return Sql(f"CASE WHEN {at} > 0 THEN {above} WHEN {at} < 0 THEN {below} ELSE 5e-1 END", _ATOM, 0.0, 1.0)

    def _refused(self, why: str) -> CalibrationError:
        return CalibrationError(f"{self._title} {why}, or export a PyTorch module or a bundle.")

    def _piecewise(self, of: Piecewise, x: Part) -> Part:
        if isinstance(x, float):
            at = int(np.searchsorted(of.breaks, x, side="right" if of.right else "left"))
            return float(np.polyval(of.coefficients[::-1, at], x - of.origins[at]))
        inside = (of.breaks > x.low) & (of.breaks < x.high)
        breaks = of.breaks[inside]
        first = int(np.searchsorted(of.breaks, x.low, side="right"))
        ends = [x.low, *breaks.tolist(), x.high]
        leaves = [
            _polynomial(replace(x, low=ends[i], high=ends[i + 1]), of.origins[first + i], of.coefficients[:, first + i])
            for i in range(len(breaks) + 1)
        ]
        if x.column and self._of_probability:
            tests = [f"{x.column} < {_literal(p)}" for p in _thresholds(breaks, of.right).tolist()]
        else:
            compared = x.column or x.inside(_ADD)
            tests = [f"{compared} {'<' if of.right else '<='} {_literal(b)}" for b in breaks.tolist()]
        if sum(map(len, tests)) + sum(len(leaf.text) for leaf in leaves) > LONGEST:
            raise self._refused(f"has a map of {len(tests):,} steps, more than {LONGEST:,} characters of SQL")
        low, high = min(leaf.low for leaf in leaves), max(leaf.high for leaf in leaves)
        return replace(_tree(tests, leaves), low=low, high=high)


def _polynomial(x: Sql, origin: float, coefficients: Floats) -> Sql:
    """A polynomial of x less an origin, and about where its values lie."""
    kept = np.trim_zeros(coefficients, "b").tolist() or [0.0]
    u, leaf = _add(x, float(origin), -1), kept[-1]
    for coefficient in reversed(kept[:-1]):
        leaf = _add(_multiply(u, leaf), coefficient)
    at = np.polyval(kept[::-1], np.linspace(x.low, x.high, 17) - origin)
    slack = 0.1 * np.ptp(at) if len(kept) > 2 else 0.0
    return replace(_sql(leaf), low=float(at.min() - slack), high=float(at.max() + slack))


def _tree(tests: list[str], leaves: list[Sql]) -> Sql:
    """A tree of CASE whose depth is the logarithm of the number of leaves; equal neighbours are one."""
    if len({leaf.text for leaf in leaves}) == 1:
        return leaves[0]
    cuts = np.unique(np.arange(1, BRANCHES) * len(leaves) // BRANCHES)
    cuts = cuts[cuts > 0]  # a test stands between the leaf before it and the one of its number plus one
    starts, stops = [0, *cuts.tolist()], [*cuts.tolist(), len(leaves)]
    branches = [_tree(tests[a : b - 1], leaves[a:b]).text for a, b in zip(starts, stops, strict=True)]
    whens = [f"WHEN {tests[cut - 1]} THEN {text}" for cut, text in zip(cuts.tolist(), branches[:-1], strict=True)]
    return Sql(f"CASE {' '.join(whens)} ELSE {branches[-1]} END", _ATOM)


def _thresholds(breaks: Floats, right: bool) -> Floats:
    """The least probability whose log-odds, as they are computed, are at each break, or beyond it."""
    low, high = (np.full(len(breaks), end).view(np.int64) for end in (LEAST, 1.0))
    while (high - low > 1).any():  # doubles from 0 upwards are ordered as their bits are
        middle = low + (high - low) // 2
        p = middle.view(np.float64)
        log_odds = np.log(p) - np.log(1 - p)
        there = log_odds >= breaks if right else log_odds > breaks
        low, high = np.where(there, low, middle), np.where(there, middle, high)
    return high.view(np.float64)


WORDS: dict[str, Callable[..., Part]] = {
    "add": _add,
    "subtract": lambda a, b: _add(a, b, -1),
    "multiply": _multiply,
    "divide": _divide,
    "exp": _exp,
    "log": _log,
    "sigmoid": _sigmoid,
    "softplus": _softplus,
    "minimum": lambda a, b: _bounded(a, b, lower=True),
    "maximum": lambda a, b: _bounded(a, b, lower=False),
}
"""Operations on single columns."""
