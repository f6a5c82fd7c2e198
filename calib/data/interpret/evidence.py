"""What the columns of a table say of their roles, each by its name and its values, from a sample of the rows.

Evidence is a number for each role: what words say (see :mod:`calib.data.interpret.vocabulary`) plus what values say,
with the amounts named here. Whether outputs agree with an outcome is never looked at.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from calib.data.event import DID_NOT, HAPPENED
from calib.data.interpret.label_values import MISSING_WORDS
from calib.data.interpret.roles import Role
from calib.data.interpret.vocabulary import PERCENT, has_word, strengths, tokens, weighed
from calib.data.read.base import Array
from calib.numerics import Floats

IMPOSSIBLE = -np.inf
"""Values that a role cannot have, whatever the column is called."""

YES_OR_NO = 2.0
"""Two values that say yes and no, as 0 and 1 do, are mostly an outcome or a flag."""

TWO_VALUES = 1.0
FEW_VALUES = 0.5
"""Two values of any kind, or few, may be classes."""

ALL_DIFFERENT = -2.0
"""Where nearly every row has a value of its own, they name rows and not classes."""

CONSTANT = -2.0
"""One value tells nothing."""

IN_UNIT = 1.5
"""Fractions between 0 and 1 are what probabilities look like."""

IN_PERCENT = 1.0
"""Numbers between 0 and 100 whose name speaks of percent."""

WHOLE = -1.0
"""Whole numbers are rarely outputs; points of a score are, where its name says so."""

MANY = 30
"""Values up to here are few."""

DATE = re.compile(r"\d{4}-\d\d?-\d\d?([T ].*)?|\d\d?[./]\d\d?[./]\d{2,4}(\s.*)?")
NUMBER = re.compile(r"[-+]?(\d+(\.\d*)?|\.\d+)([eE][-+]?\d+)?|[-+]?(?:nan|inf|infinity)", re.IGNORECASE)


@dataclass(frozen=True)
class Column:
    """One column of a sample.

    Attributes
    ----------
    name : as it stands in the file.
    position : its place in the table.
    cells : (n,) values as sampled: numbers, booleans, text or dates.
    """

    name: str
    position: int
    cells: Array

    @cached_property
    def said(self) -> Mapping[Role, float]:
        """What the name says for the roles that the values allow."""
        allowed = {role: said for role, said in strengths(self.name).items() if self.may_be(role)}
        return weighed(allowed, 2 * len(self.values) <= len(self.present))

    @cached_property
    def numbers(self) -> Floats | None:
        """(n,) values as numbers, with NaN for the missing; None for truth values, text and dates."""
        if self.cells.dtype.kind in "iuf":
            return self.cells.astype(np.float64)
        if self.cells.dtype.kind != "U" or not self._mostly_numbers:
            return None
        texts = [cell.strip() for cell in self.cells.tolist()]  # of more than float() leaves out by itself
        return np.array([float(text) if NUMBER.fullmatch(text) else np.nan for text in texts])

    @cached_property
    def _mostly_numbers(self) -> bool:
        """Text of which most cells are numbers is a column of numbers with something odd in it."""
        texts = [cell.strip() for cell in self.cells.tolist() if cell.strip()]
        return sum(bool(NUMBER.fullmatch(text)) for text in texts) > len(texts) / 2

    @cached_property
    def present(self) -> Array:
        """The values that are not missing."""
        if self.numbers is not None:
            return self.numbers[~np.isnan(self.numbers)]
        return self.cells[mask_of(self)]

    @cached_property
    def values(self) -> tuple[str, ...]:
        """The different values as text, in their order: 2.0 is "2"; an infinite one counts as missing."""
        present = self.present if self.numbers is None else self.present[np.isfinite(self.present)]
        return tuple(dict.fromkeys(spelled(value) for value in np.unique(present).tolist()))

    @cached_property
    def labels(self) -> frozenset[str]:
        """The different values, in no order."""
        return frozenset(self.values)

    @cached_property
    def is_date(self) -> bool:
        """Whether it holds dates."""
        if self.cells.dtype.kind == "M":
            return True
        text = self.present[:50].tolist() if self.numbers is None and self.cells.dtype.kind == "U" else []
        return bool(text) and all(DATE.fullmatch(cell.strip()) for cell in text)

    @cached_property
    def is_whole(self) -> bool:
        """Whether it holds whole numbers alone."""
        return self.numbers is not None and bool((self.present == np.floor(self.present)).all())

    @cached_property
    def in_unit(self) -> bool:
        """Whether it holds numbers between 0 and 1 alone."""
        present = self.present
        return self.numbers is not None and bool(len(present)) and present.min() >= -1e-6 and present.max() <= 1 + 1e-6

    @property
    def has_both_signs(self) -> bool:
        """Whether it holds numbers below 0 and above 0, as logits are, so that none is a confidence."""
        return self.numbers is not None and bool(len(self.present)) and self.present.min() < 0 < self.present.max()

    @property
    def is_share(self) -> bool:
        """Whether it holds fractions, or numbers between 0 and 100 that are called outputs."""
        return self.as_score > 0 and len(self.values) > 2 and self.present.min() >= 0 and self.present.max() <= 100

    @property
    def all_different(self) -> bool:
        """Whether (nearly) every row has a value of its own."""
        return len(self.values) > max(MANY, 0.9 * len(self.present))

    @cached_property
    def is_counter(self) -> bool:
        """Whether it counts the rows."""
        present = self.present
        return self.is_whole and len(present) > 2 and bool((np.diff(present) > 0).all())

    @property
    def is_silent(self) -> bool:
        """Whether the name says nothing about a role."""
        return not self.said and not self.is_date

    @property
    def is_anonymous(self) -> bool:
        """Whether it has no name at all, as in a table without header: column_3, 3, V3, a."""
        return self.is_silent and is_anonymous(self.name)

    def named(self, role: Role) -> float:
        """Evidence of the name for a role; what it says for others counts against, where it says nothing for this."""
        if role in self.said:
            return self.said[role]
        return -max(self.said.values(), default=0.0)

    def may_be(self, role: Role) -> bool:
        """Whether the values allow a role: text is no score, fractions name nothing, a letter does not make them
        classes, and two values name no rows and tell no dates.
        """
        if not len(self.values):
            return True
        if role in ("outputs", "weight"):
            return self.numbers is not None and (len(self.values) > 2 or not self.is_whole)
        names = self.numbers is None or self.is_whole
        if role in ("cluster", "id"):
            return names and len(self.values) > 2
        if role == "outcome":
            return names or not is_anonymous(self.name)
        return names if role in ("group", "split") else role != "ignore" or len(self.values) > 2

    @cached_property
    def as_outcome(self) -> float:
        """Evidence that this is the true class of each row."""
        if not len(self.values) or self.is_date:
            return IMPOSSIBLE
        return self.named("outcome") + self._values_as_outcome()

    def _values_as_outcome(self) -> float:
        if self.numbers is not None and not self.is_whole:
            return IMPOSSIBLE
        if len(self.values) == 1:
            return CONSTANT
        if len(self.values) == 2:
            return YES_OR_NO if says_yes_or_no(self.values) else TWO_VALUES
        if self.all_different:
            return ALL_DIFFERENT
        return FEW_VALUES if len(self.values) <= MANY else 0.0

    @cached_property
    def as_score(self) -> float:
        """Evidence that this is one column of a model's outputs."""
        if self.numbers is not None and not len(self.values):
            return self.named("outputs")  # nothing that can be read, which is said later
        if self.numbers is None or self.is_date or (self.is_whole and len(self.values) <= 2):
            return IMPOSSIBLE
        if self.is_whole and len(self.values) <= MANY and self.said.get("predicted", 0.0) > 0:
            return IMPOSSIBLE  # predicted classes
        return self.named("outputs") + self._values_as_score()

    def _values_as_score(self) -> float:
        if self.is_percent:
            return IN_PERCENT
        if self.is_whole:
            return ALL_DIFFERENT if self.is_counter and "outputs" not in self.said else WHOLE
        return IN_UNIT if self.in_unit else 0.0

    @property
    def is_percent(self) -> bool:
        """Whether the name speaks of percent and the values run from 0 to 100."""
        if self.numbers is None or not len(self.present):
            return False
        in_range = self.present.min() >= 0 and self.present.max() <= 100
        return bool(in_range) and ("%" in self.name or has_word(self.name, PERCENT))

    @cached_property
    def as_predicted(self) -> float:
        """Evidence that this is the predicted class of each row."""
        if (
            not len(self.values)
            or self.is_date
            or (self.numbers is not None and not self.is_whole)
            or self.all_different
        ):
            return IMPOSSIBLE
        return self.named("predicted")


def is_anonymous(name: str) -> bool:
    """Whether a name only says which column it is: column_3, 3, V3, a."""
    return all(word.isdecimal() or word in ("column", "col", "unnamed") or len(word) == 1 for word in tokens(name))


def says_yes_or_no(values: Sequence[str]) -> bool:
    """Whether two values are a usual pair for what happened and what did not."""
    plain = [value.strip().lower() for value in values]
    if len(plain) != 2:  # counts hold 0 and 1 too
        return False
    if sorted(plain) in (["1", "2"], ["-1", "1"]):
        return True
    return any(value in HAPPENED for value in plain) and any(value in DID_NOT for value in plain)


def spelled(value: object) -> str:
    """A value as its label is written: 2.0 is 2, True is true."""
    if isinstance(value, bool):
        return str(value).lower()
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value).strip()


def columns_of(sample: Mapping[str, Array]) -> dict[str, Column]:
    """The columns of a sample by name; beside two values of text, a word such as "N/A" is a missing one."""
    called = {word for name in sample for word in tokens(name)}
    return {name: Column(name, j, without_missing(cells, called)) for j, (name, cells) in enumerate(sample.items())}


def without_missing(cells: Array, called: Collection[str]) -> Array:
    """Text of two values and words for a missing one, with these words left empty.

    Parameters
    ----------
    called : words of the names of all columns, since a class may have an output and be called ``unknown``.
    """
    if cells.dtype.kind != "U":
        return cells
    values = np.unique(cells)
    plain = [value.strip() for value in values.tolist()]
    missing = np.array([text in MISSING_WORDS and text.lower() not in called for text in plain], dtype=bool)
    left = {text for text, gone in zip(plain, missing, strict=True) if text and not gone}
    if not missing.any() or len(left) != 2:
        return cells
    return np.where(np.isin(cells, values[missing]), "", cells)


SUM_OFF = 2e-2
"""How far the sum of a row may lie from one, as printed decimals of several classes make it."""

SUM_SHARE = 0.98
"""Share of the rows whose sum has to be that."""


def row_sums(columns: Sequence[Column]) -> float | None:
    """What each row of some columns sums to, 0 where exponentials sum to one; None for nothing in common."""
    numbers = [column.numbers for column in columns if column.numbers is not None]
    if len(numbers) < len(columns):
        return None
    matrix = np.column_stack(numbers)
    matrix = matrix[np.isfinite(matrix).all(axis=1)]
    if not len(matrix):
        return None
    total = matrix.sum(axis=1)
    if matrix.min() >= -1e-6:
        goal = float(np.round(np.median(total)))
        same = (np.abs(total - goal) <= SUM_OFF * goal).mean() >= SUM_SHARE
        spans = np.ptp(matrix, axis=0)  # constants sum to something, too, and so do large numbers that differ little
        varies = goal == 1 or (spans.all() and np.ptp(total) <= spans.max() / 2)
        return goal if goal > 0 and same and varies else None
    if matrix.max() <= 1e-3 and (np.abs(np.exp(matrix).sum(axis=1) - 1) <= SUM_OFF).mean() >= SUM_SHARE:
        return 0.0
    return None


def leaves_room(columns: Sequence[Column]) -> bool:
    """Whether columns are probabilities whose rows never sum to more than one, and some to less."""
    numbers = [column.numbers for column in columns if column.in_unit and column.numbers is not None]
    if len(numbers) < len(columns):
        return False
    total = np.column_stack(numbers).sum(axis=1)
    total = total[np.isfinite(total)]
    return len(total) > 0 and bool(total.max() <= 1 + SUM_OFF and total.min() < 1 - SUM_OFF)


def one_to_one(first: Column, second: Column) -> bool:
    """Whether two columns say the same in other words: each value of one goes with one value of the other."""
    a, b = (np.unique(column.cells, return_inverse=True)[1].reshape(-1) for column in (first, second))
    pairs = len(np.unique(a * (int(b.max(initial=0)) + 1) + b))
    return pairs == len(np.unique(a)) == len(np.unique(b))


def same_order(first: Column, second: Column) -> bool:
    """Whether two scores tell the same, on other scales: each rises where the other does, as log-odds and probability.

    A third scale cannot be told from a calibrated score, so the two must be tied by the logistic function or a factor.
    """
    a, b = first.numbers, second.numbers
    if a is None or b is None:
        return False
    known = np.isfinite(a) & np.isfinite(b)
    return any(_equal(x[known], y[known]) for x, y in ((a, b), (b, a)))


def rank_correlation(first: Column, second: Column) -> float:
    """Spearman's rank correlation of two columns of numbers; 0 where it has no value."""
    a, b = first.numbers, second.numbers
    if a is None or b is None:
        return 0.0
    known = np.isfinite(a) & np.isfinite(b)
    ranks = [np.unique(x[known], return_inverse=True)[1].reshape(-1).astype(np.float64) for x in (a, b)]
    if min(np.ptp(r) if len(r) else 0.0 for r in ranks) == 0:
        return 0.0
    return float(np.corrcoef(ranks[0], ranks[1])[0, 1])


def _equal(x: Floats, y: Floats) -> bool:
    with np.errstate(over="ignore"):
        return bool(len(x)) and any(bool(np.allclose(z, y, atol=2e-3)) for z in (x, x / 100, 1 / (1 + np.exp(-x))))


def mask_of(column: Column) -> npt.NDArray[np.bool_]:
    """(n,) whether each row has a value."""
    if column.numbers is not None:
        return ~np.isnan(column.numbers)
    kind = column.cells.dtype.kind
    return column.cells != "" if kind == "U" else np.full(len(column.cells), kind == "b")
