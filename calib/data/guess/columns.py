"""Meaning of a column: the words of its name and what its values may be, from a sample of the rows."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from calib.data import words as w
from calib.data.names import about, as_text, terms_of, tokens
from calib.data.read.base import Array
from calib.data.read.table import NUMBER
from calib.numerics import Floats

FEW = 30
"""Different values up to here are few."""

DATE = re.compile(
    r"\d{4}[-/.]\d\d?[-/.]\d\d?([T ].*)?|\d\d?[./-]\d\d?[./-]\d{2,4}([T ].*)?|\d{4}-?W\d\d?"
)


OFF = 2e-2
"""Distance of the sum of a row from its goal, as printed decimals of several classes cause it."""

ALL = 0.98
"""Share of the rows that need to have the same sum."""

LEAST_DECIDED = 20
"""Fewest rows by which a prediction is told from an outcome."""


@dataclass(frozen=True, eq=False)
class Column:
    """One column of a sample.

    Attributes
    ----------
    name : as it stands in the file.
    cells : (n,) numbers, booleans, text or dates.
    """

    name: str
    cells: Array

    @cached_property
    def terms(self) -> frozenset[str]:
        """The words of its name that are in the lists."""
        return terms_of(self.name)

    @cached_property
    def numbers(self) -> Floats | None:
        """(n,) values as numbers, with NaN for the missing; None for truth values, text and dates."""
        if self.cells.dtype.kind in "iuf":
            return self.cells.astype(np.float64)
        if self.cells.dtype.kind != "U":
            return None
        texts = self.cells.tolist()
        numbers = [float(text) if re.match(NUMBER, text) else None for text in texts]
        n_filled = sum(bool(text.strip()) for text in texts)
        if 2 * sum(number is not None for number in numbers) <= n_filled:
            return None  # else it is a column of numbers with something odd in it
        return np.array(numbers, dtype=np.float64)

    @cached_property
    def filled(self) -> npt.NDArray[np.bool_]:
        """(n,) whether each row has a value."""
        if self.numbers is not None:
            return ~np.isnan(self.numbers)
        if self.cells.dtype.kind == "U":
            return self.cells != ""
        return np.full(len(self.cells), self.cells.dtype == bool)

    @cached_property
    def present(self) -> Array:
        """The values that are not missing."""
        return (self.cells if self.numbers is None else self.numbers)[self.filled]

    @cached_property
    def values(self) -> tuple[str, ...]:
        """The different values as text, in their order: 2.0 is "2"; an infinite one counts as missing."""
        present = self.present if self.numbers is None else self.present[np.isfinite(self.present)]
        return tuple(dict.fromkeys(map(as_text, np.unique(present).tolist())))

    @cached_property
    def codes(self) -> npt.NDArray[np.int64]:
        """(n,) number of each cell among the different ones."""
        return np.unique(self.cells, return_inverse=True)[1].reshape(-1).astype(np.int64)

    @cached_property
    def is_date(self) -> bool:
        """Return whether it holds dates."""
        if self.numbers is not None or self.cells.dtype.kind != "U":
            return self.cells.dtype.kind == "M"
        first = self.present[:50].tolist()
        return bool(first) and all(DATE.fullmatch(cell.strip()) for cell in first)

    @cached_property
    def is_whole(self) -> bool:
        """Return whether it holds whole numbers alone."""
        return self.numbers is not None and bool((self.present == np.floor(self.present)).all())

    @cached_property
    def is_discrete(self) -> bool:
        """Return whether it holds text or whole numbers."""
        return not self.is_date and (self.numbers is None or self.is_whole)

    @cached_property
    def low(self) -> float:
        """The smallest number; NaN where there is none."""
        return float(self.present.min()) if self.numbers is not None and self.values else np.nan

    @cached_property
    def high(self) -> float:
        """The largest number; NaN where there is none."""
        return float(self.present.max()) if self.numbers is not None and self.values else np.nan

    @property
    def in_unit(self) -> bool:
        """Return whether it holds numbers between 0 and 1 alone."""
        return self.low >= -1e-6 and self.high <= 1 + 1e-6

    @property
    def is_number(self) -> bool:
        """Return whether it may hold outputs: numbers that are more than two whole ones."""
        return self.numbers is not None and (len(self.values) > 2 or not self.is_whole)

    @property
    def is_fraction(self) -> bool:
        """Return whether it may hold probabilities: numbers from 0 to 1, or to 100 where its name speaks of percent."""
        percent = "%" in self.name or bool(self.terms & w.PERCENT)
        return self.is_number and (self.in_unit or (percent and 0 <= self.low <= self.high <= 100))

    @property
    def all_different(self) -> bool:
        """Return whether (nearly) every row has a text or a whole number of its own."""
        return self.is_discrete and len(self.values) > max(FEW, 0.9 * len(self.present))

    @cached_property
    def is_counter(self) -> bool:
        """Return whether it counts the rows."""
        return self.is_whole and len(self.present) > 2 and bool((np.diff(self.present) > 0).all())

    @cached_property
    def names_classes(self) -> bool:
        """Return whether its values may be classes: text or whole numbers that repeat."""
        return bool(self.values) and self.is_discrete and not self.all_different

    @property
    def yes_or_no(self) -> bool:
        """Return whether its two values say what happened and what did not."""
        plain = {value.strip().lower() for value in self.values}
        opposite = plain in ({"1", "2"}, {"-1", "1"}) or (plain & w.HAPPENED and plain & w.DID_NOT)
        return bool(opposite) and len(self.values) == 2

    @cached_property
    def meaning(self) -> str:
        """The meaning of its name that its values allow: the first line of :data:`MEANINGS` that holds; "" for none.

        Values C and I are those of Inspect AI for correct and incorrect.
        """
        if {*self.values} == {"C", "I"}:
            return "correct"
        fit = (
            meaning for meaning, called, may_be in MEANINGS if self.terms & called and may_be(self)
        )
        return next(fit, "")

    @property
    def seen(self) -> str:
        """Its values in a few words."""
        n = len(self.values)
        if self.numbers is None:
            return f"{n:,} different values" if n > 2 else " and ".join(self.values) or "empty"
        if n > 2:
            return f"{self.low:.4g} to {self.high:.4g}"
        return " and ".join(f"{float(value):.4g}" for value in self.values) or "empty"


# Meanings.


def may_be_label(column: Column) -> bool:
    """Return whether values may be labels; of very many classes few rows may hold each once."""
    if column.numbers is None:
        return column.names_classes
    return column.is_whole and bool(column.values) and not column.is_counter


def may_be_truth(column: Column) -> bool:
    """Return whether values may be labels, or text of which every row has its own, as that which a model reads."""
    text = column.numbers is None and bool(column.values) and not column.is_date
    return text or may_be_label(column)


def is_two(column: Column) -> bool:
    """Return whether values may be two classes."""
    return column.names_classes and len(column.values) <= 2


def may_be_correctness(column: Column) -> bool:
    """Return whether two values say what is correct; "tp" says so only where no other word is in the name."""
    long = any(len(word) > 3 for word in column.terms & w.CORRECT)
    alone = about(tokens(column.name)) <= w.CORRECT
    response = bool(column.terms & (w.CLASS | w.RESPONSES)) and not column.yes_or_no
    return is_two(column) and (long or alone) and not response


def may_be_score(column: Column) -> bool:
    """Return whether values are numbers that are no predicted classes."""
    classes = column.is_whole and len(column.values) <= FEW and column.terms & w.PREDICTED
    return column.is_number and not classes


def is_of_things(column: Column) -> bool:
    """Return whether values repeat and a name is that of a unit, and of no time."""
    named = names_unit(column) and not column.terms & w.TIME
    return named and column.names_classes and len(column.values) > 2


def names_unit(column: Column) -> bool:
    """Return whether a name ends as that of a unit: ``customer_id``, ``schoolid``, not ``schooling``."""
    pieces = [word for word in tokens(column.name) if len(word) > 1 and not word.isdecimal()]
    units = column.terms & (w.CLUSTER | w.ID)
    last = "".join(pieces[-1:])
    ends = any(last.endswith(unit) or unit.endswith(last) for unit in units)
    compounds = {unit + link + ending for unit in units for link in ("", "s") for ending in w.ID}
    return bool(last) and (ends or last in compounds)


def is_few(column: Column) -> bool:
    """Return whether values are few and discrete."""
    return column.is_discrete and 2 <= len(column.values) <= FEW


def is_predicted_class(column: Column) -> bool:
    """Return whether values may be classes and a name says that these were predicted."""
    return column.names_classes and bool(column.terms & w.CLASS or "argmax" in column.terms)


MEANINGS: tuple[tuple[str, frozenset[str], Callable[[Column], bool]], ...] = (
    ("past", w.EARLIER, lambda column: True),
    ("predicted", w.PREDICTED, is_predicted_class),
    ("output", w.PROBABILITY, may_be_score),
    ("correct", w.CORRECT, may_be_correctness),
    ("truth", w.TRUTH | w.RIGHT, may_be_truth),
    ("output", w.SCORE, may_be_score),
    ("predicted", w.PREDICTED, lambda column: column.names_classes),
    ("weight", w.WEIGHT, lambda column: column.is_number and column.low >= 0),
    ("split", w.SPLIT, is_few),
    ("label", w.LABEL, may_be_label),
    ("cluster", w.CLUSTER, is_of_things),
    ("event", w.EVENTS, is_two),
    ("group", w.GROUP, is_few),
    ("time", w.TIME, lambda column: column.is_date or column.is_whole),
    ("id", w.ID, lambda column: column.numbers is None or column.is_whole),
    ("text", w.TEXT, lambda column: column.numbers is None),
)
"""Meanings of words, in the order in which they are looked up: words with hardly any other meaning come first."""


def columns_of(sample: Mapping[str, Array]) -> dict[str, Column]:
    """Return the columns of a sample by name; a word such as "N/A" beside two other texts is a blank cell."""
    called = {word for name in sample for word in tokens(name)}
    missing = [text for text in w.NO_VALUE if text.lower() not in called]
    columns = {}
    for name, cells in sample.items():
        if cells.dtype.kind == "U":
            cells = np.char.strip(cells)
            blank = np.isin(cells, ["", *missing])
            if len(np.unique(cells[~blank])) == 2:
                cells = np.where(blank, "", cells)
        columns[name] = Column(name, cells)
    return columns


# Several columns.


def row_sums(columns: Sequence[Column]) -> float | None:
    """Return the sum of each row of some columns, 0 for logarithms whose powers sum to one; None where rows differ."""
    numbers = [column.numbers for column in columns if column.numbers is not None]
    matrix = np.column_stack(numbers) if len(numbers) == len(columns) else np.empty((0, 1))
    matrix = matrix[np.isfinite(matrix).all(axis=1)]
    if not len(matrix):
        return None
    if matrix.min() < -1e-6:
        total = np.exp(matrix).sum(axis=1) if matrix.max() <= 1e-3 else np.zeros(1)
        return 0.0 if (np.abs(total - 1) <= OFF).mean() >= ALL else None
    total = matrix.sum(axis=1)
    goal = float(np.round(np.median(total)))
    if goal <= 0 or (np.abs(total - goal) <= OFF * goal).mean() < ALL:
        return None
    spans = np.ptp(matrix, axis=0)
    # Constants sum to something, too, and so do large numbers that differ little.
    varies = goal == 1 or (spans.all() and np.ptp(total) <= spans.max() / 2)
    return goal if varies else None


def follows(column: Column, scores: Sequence[Column]) -> bool:
    """Return whether a column holds the class of the largest score in every row, as a prediction does."""
    numbers = [score.numbers for score in scores if score.numbers is not None]
    few = len(column.values) < 2 or len(column.present) < LEAST_DECIDED
    if few or len(scores) < 2 or len(numbers) < len(scores) or not column.names_classes:
        return False
    largest = np.column_stack(numbers).argmax(axis=1)
    pairs = np.unique(column.codes * len(scores) + largest)
    return len(pairs) == len(np.unique(column.codes)) == len(np.unique(largest))
