"""What a column is: the words of its name and what its values may be, from a sample of the rows."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from calib.data import words as w
from calib.data.names import about, known_words, tokens
from calib.data.read.base import Array
from calib.data.spelling import as_text
from calib.numerics import Floats

FEW = 30
"""Different values up to here are few."""

DATE = re.compile(
    r"\d{4}[-/.]\d\d?[-/.]\d\d?([T ].*)?|\d\d?[./-]\d\d?[./-]\d{2,4}([T ].*)?|\d{4}-?W\d\d?"
)
NUMBER = re.compile(
    r"[-+]?(\d+(\.\d*)?|\.\d+)([eE][-+]?\d+)?|[-+]?(?:nan|inf|infinity)", re.IGNORECASE
)


@dataclass(frozen=True, eq=False)
class Column:
    """One column of a sample.

    Attributes
    ----------
    name : as it stands in the file.
    position : its place in the table.
    cells : (n,) numbers, booleans, text or dates.
    """

    name: str
    position: int
    cells: Array

    @cached_property
    def words(self) -> frozenset[str]:
        """The words of its name that are in the lists."""
        return known_words(self.name)

    @cached_property
    def numbers(self) -> Floats | None:
        """(n,) values as numbers, with NaN for the missing; None for truth values, text and dates."""
        if self.cells.dtype.kind in "iuf":
            return self.cells.astype(np.float64)
        if self.cells.dtype.kind != "U":
            return None
        texts = [cell.strip() for cell in self.cells.tolist()]
        numbers = [float(text) if NUMBER.fullmatch(text) else None for text in texts]
        if 2 * sum(number is not None for number in numbers) <= sum(map(bool, texts)):
            return None  # else it is a column of numbers with something odd in it
        return np.array(numbers, dtype=np.float64)

    @cached_property
    def known(self) -> npt.NDArray[np.bool_]:
        """(n,) whether each row has a value."""
        if self.numbers is not None:
            return ~np.isnan(self.numbers)
        return (
            self.cells != ""
            if self.cells.dtype.kind == "U"
            else np.full(len(self.cells), self.cells.dtype == bool)
        )

    @cached_property
    def present(self) -> Array:
        """The values that are not missing."""
        return (self.cells if self.numbers is None else self.numbers)[self.known]

    @cached_property
    def values(self) -> tuple[str, ...]:
        """The different values as text, in their order: 2.0 is "2"; an infinite one counts as missing."""
        present = self.present if self.numbers is None else self.present[np.isfinite(self.present)]
        return tuple(dict.fromkeys(as_text(value) for value in np.unique(present).tolist()))

    @cached_property
    def codes(self) -> npt.NDArray[np.int64]:
        """(n,) number of each cell among the different ones."""
        return np.unique(self.cells, return_inverse=True)[1].reshape(-1).astype(np.int64)

    @cached_property
    def is_date(self) -> bool:
        """Whether it holds dates."""
        if self.cells.dtype.kind == "M":
            return True
        text = (
            self.present[:50].tolist()
            if self.numbers is None and self.cells.dtype.kind == "U"
            else []
        )
        return bool(text) and all(DATE.fullmatch(cell.strip()) for cell in text)

    @cached_property
    def is_whole(self) -> bool:
        """Whether it holds whole numbers alone."""
        return self.numbers is not None and bool((self.present == np.floor(self.present)).all())

    @cached_property
    def is_discrete(self) -> bool:
        """Whether it holds text or whole numbers."""
        return not self.is_date and (self.numbers is None or self.is_whole)

    @cached_property
    def low(self) -> float:
        """The smallest number; NaN where there is none."""
        return (
            float(self.present.min()) if self.numbers is not None and len(self.present) else np.nan
        )

    @cached_property
    def high(self) -> float:
        """The largest number; NaN where there is none."""
        return (
            float(self.present.max()) if self.numbers is not None and len(self.present) else np.nan
        )

    @property
    def in_unit(self) -> bool:
        """Whether it holds numbers between 0 and 1 alone."""
        return self.low >= -1e-6 and self.high <= 1 + 1e-6

    @property
    def is_number(self) -> bool:
        """Whether it may hold outputs: numbers that are more than two whole ones."""
        return self.numbers is not None and (len(self.values) > 2 or not self.is_whole)

    @property
    def is_fraction(self) -> bool:
        """Whether it may hold probabilities: numbers from 0 to 1, or to 100 where its name speaks of percent."""
        percent = (
            self.low >= 0
            and self.high <= 100
            and ("%" in self.name or bool(self.words & w.PERCENT))
        )
        return self.is_number and (self.in_unit or percent)

    @property
    def all_different(self) -> bool:
        """Whether (nearly) every row has a text or a whole number of its own."""
        return self.is_discrete and len(self.values) > max(FEW, 0.9 * len(self.present))

    @cached_property
    def is_counter(self) -> bool:
        """Whether it counts the rows."""
        return self.is_whole and len(self.present) > 2 and bool((np.diff(self.present) > 0).all())

    @cached_property
    def names_classes(self) -> bool:
        """Whether its values may be classes: text or whole numbers that repeat."""
        return bool(self.values) and self.is_discrete and not self.all_different

    @property
    def yes_or_no(self) -> bool:
        """Whether its two values say what happened and what did not."""
        plain = {value.strip().lower() for value in self.values}
        said = bool(plain & w.HAPPENED and plain & w.DID_NOT) or plain in ({"1", "2"}, {"-1", "1"})
        return said and len(self.values) == 2

    @cached_property
    def says(self) -> str:
        """What its name says that its values allow: the first line of :data:`SAYS` that holds; "" for nothing.

        Values C and I are those of Inspect AI for correct and incorrect.
        """
        if {*self.values} == {"C", "I"}:
            return "correct"
        return next(
            (meaning for meaning, called, may_be in SAYS if self.words & called and may_be(self)),
            "",
        )

    @property
    def seen(self) -> str:
        """Its values in a few words."""
        if len(self.values) > 2 and self.numbers is None:
            return f"{len(self.values):,} different values"
        if len(self.values) > 2:
            return f"{self.low:.4g} to {self.high:.4g}"
        values = (
            self.values
            if self.numbers is None
            else [f"{float(value):.4g}" for value in self.values]
        )
        return " and ".join(values) or "empty"


def _may_be_label(column: Column) -> bool:
    if column.numbers is not None:  # of very many classes few rows may hold each once
        return column.is_whole and bool(column.values) and not column.is_counter
    return column.names_classes


def _may_be_truth(column: Column) -> bool:
    """Text too of which every row has its own, as that which a model should have read."""
    return _may_be_label(column) or (
        column.numbers is None and bool(column.values) and not column.is_date
    )


def _is_two(column: Column) -> bool:
    return column.names_classes and len(column.values) <= 2


def _tells_what_is_right(column: Column) -> bool:
    """A short word such as "tp" says so only where no other word tells what the name is about."""
    longer = (
        any(len(word) > 3 for word in column.words & w.CORRECT)
        or about(tokens(column.name)) <= w.CORRECT
    )
    is_answer = bool(column.words & (w.CLASS | w.RESPONSES)) and not column.yes_or_no
    return _is_two(column) and longer and not is_answer


def _is_score(column: Column) -> bool:
    return column.is_number and not (
        column.is_whole and len(column.values) <= FEW and column.words & w.PREDICTED
    )


def _is_of_things(column: Column) -> bool:
    """Its values repeat, and its name ends as that of a thing: ``customer_id``, not ``customer_age``."""
    last = next(
        (word for word in reversed(tokens(column.name)) if len(word) > 1 and not word.isdecimal()),
        "",
    )
    things = w.CLUSTER | w.ID
    ends = any(last and word.endswith(last) for word in column.words & things)
    named = (ends or bool(known_words(last) & things)) and not column.words & w.TIME
    return named and column.names_classes and len(column.values) > 2


def _is_few(column: Column) -> bool:
    return column.is_discrete and 2 <= len(column.values) <= FEW


SAYS: tuple[tuple[str, frozenset[str], Callable[[Column], bool]], ...] = (
    ("past", w.EARLIER, lambda column: True),
    (
        "predicted",
        w.PREDICTED,
        lambda c: c.names_classes and bool(c.words & w.CLASS or "argmax" in c.words),
    ),
    ("output", w.PROBABILITY, _is_score),
    ("correct", w.CORRECT, _tells_what_is_right),
    ("truth", w.TRUTH | w.RIGHT, _may_be_truth),
    ("output", w.SCORE, _is_score),
    ("predicted", w.PREDICTED, lambda column: column.names_classes),
    ("weight", w.WEIGHT, lambda column: column.is_number and column.low >= 0),
    ("split", w.SPLIT, _is_few),
    ("label", w.LABEL, _may_be_label),
    ("cluster", w.CLUSTER, _is_of_things),
    ("event", w.EVENTS, _is_two),
    ("group", w.GROUP, _is_few),
    ("time", w.TIME, lambda column: column.is_date or column.is_whole),
    ("id", w.ID, lambda column: column.numbers is None or column.is_whole),
    ("text", w.TEXT, lambda column: column.numbers is None),
)
"""What words say, in the order in which it is looked up: a word that hardly ever means anything else comes first."""


def columns_of(sample: Mapping[str, Array]) -> dict[str, Column]:
    """The columns of a sample by name; blank cells are empty, and so is a word such as "N/A" beside two other texts."""
    called = {word for name in sample for word in tokens(name)}
    columns = {}
    for position, (name, cells) in enumerate(sample.items()):
        if cells.dtype.kind == "U":
            cells = np.char.strip(cells)
            missing = [text for text in w.NO_VALUE if text.lower() not in called]
            if len(np.unique(cells[~np.isin(cells, ["", *missing])])) == 2:
                cells = np.where(np.isin(cells, missing), "", cells)
        columns[name] = Column(name, position, cells)
    return columns


OFF = 2e-2
"""How far the sum of a row may lie from what it should be, as printed decimals of several classes make it."""


def row_sums(columns: Sequence[Column]) -> float | None:
    """What the rows of some columns sum to, 0 for logarithms whose powers do so to one; None for nothing in common."""
    numbers = [column.numbers for column in columns if column.numbers is not None]
    matrix = np.column_stack(numbers) if len(numbers) == len(columns) else np.empty((0, 1))
    matrix = matrix[np.isfinite(matrix).all(axis=1)]
    if not len(matrix):
        return None
    if matrix.min() >= -1e-6:
        total = matrix.sum(axis=1)
        goal = float(np.round(np.median(total)))
        same = (np.abs(total - goal) <= OFF * goal).mean() >= 0.98
        spans = np.ptp(
            matrix, axis=0
        )  # constants sum to something, too, and so do large numbers that differ little
        varies = goal == 1 or (spans.all() and np.ptp(total) <= spans.max() / 2)
        return goal if goal > 0 and same and varies else None
    off = (
        [np.abs((base**matrix).sum(axis=1) - 1) for base in (np.e, 2.0, 10.0)]
        if matrix.max() <= 1e-3
        else []
    )
    return 0.0 if any((of_base <= OFF).mean() >= 0.98 for of_base in off) else None


LEAST_DECIDED = 20
"""Rows from which a prediction can be told."""


def follows(column: Column, scores: Sequence[Column]) -> bool:
    """Whether a column holds the class of the largest score in every row, as a prediction does and outcomes do not."""
    numbers = [score.numbers for score in scores if score.numbers is not None]
    few = len(column.values) < 2 or len(column.present) < LEAST_DECIDED
    if few or len(scores) < 2 or len(numbers) < len(scores) or not column.names_classes:
        return False
    largest = np.column_stack(numbers).argmax(axis=1)
    pairs = np.unique(column.codes * len(scores) + largest)
    return len(pairs) == len(np.unique(column.codes)) == len(np.unique(largest))
