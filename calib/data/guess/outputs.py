"""Candidates for a model's outputs: one column alone, or one for each class."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from calib.canonical import ONE_COLUMN
from calib.data import words as w
from calib.data.guess.columns import FEW, Column, row_sums
from calib.data.names import class_names, plain_name, terms_of, tokens
from calib.data.options import Choices

MOST_TOKENS = 6
"""Words of a name that are compared."""

MOST_SINGLES = 30
"""Single columns that are compared: those named as outputs first."""

NAMED = w.PROBABILITY | w.SCORE | w.MODELS | w.CLASS | w.PERCENT | {"vote", "votes", "count"}
"""Words for outputs in what the names of several columns have in common."""


@dataclass(frozen=True)
class Outputs:
    """Columns that may be a model's outputs.

    Attributes
    ----------
    columns : one for each class in their order, or a single one.
    classes : names of the columns without what they have in common.
    stem : what the names have in common; of a single column its name.
    """

    columns: tuple[Column, ...]
    classes: tuple[str, ...]
    stem: str

    @classmethod
    def from_columns(cls, columns: Sequence[Column], stem: str = "") -> Outputs:
        """Return a single column, or one for each class, called by what the names do not have in common."""
        names = [column.name for column in columns]
        return cls(tuple(columns), class_names(names), names[0] if len(names) == 1 else stem)

    @cached_property
    def total(self) -> float | None:
        """Sum of each row, 0 where exponentials sum to one; None where rows differ."""
        return None if self.is_single else row_sums(self.columns)

    @cached_property
    def plain(self) -> frozenset[str]:
        """The classes without case and separators."""
        return frozenset(map(plain_name, self.classes))

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(column.name for column in self.columns)

    @property
    def is_single(self) -> bool:
        """Return whether it is one column: the probability of a class, or the confidence in an answer."""
        return len(self.columns) == 1

    @property
    def is_named(self) -> bool:
        """Return whether the names share a word for outputs, or for a class."""
        return not terms_of(self.stem).isdisjoint(NAMED)

    @property
    def counts_up(self) -> bool:
        """Return whether the classes are called 0, 1, 2, ... or 1, 2, 3, ..."""
        numbers = sorted(int(name) if name.isdecimal() else -1 for name in self.classes)
        return numbers in (list(range(len(numbers))), list(range(1, len(numbers) + 1)))

    def labels(self, values: Sequence[str]) -> set[str]:
        """Return labels without case and separators; a word for a missing one only where a column is called so."""
        named = [value for value in values if value.strip() not in w.NO_VALUE]
        return {*map(plain_name, named)} | ({*map(plain_name, values)} & self.plain)

    def called(self, values: Sequence[str]) -> bool:
        """Return whether the columns are called like these labels."""
        return not self.is_single and self.labels(values) == self.plain

    def fit(self, values: Sequence[str]) -> bool:
        """Return whether names and numbers allow that the columns are scores of classes with these labels."""
        labels, classes = self.labels(values), self.plain
        if len(labels) > len(classes) and not classes <= labels:
            return False
        if 0 < len(labels) < len(classes) and not (labels <= classes or self.counts_up):
            return False
        flags = [column.is_whole and len(column.values) == 2 for column in self.columns]
        if any(flags) and not all(column.is_whole for column in self.columns):
            return False  # zeros and ones do not belong to fractions
        called = self.called(values)
        if self.total is not None:
            return self.is_named or called or not self.stem or self.total in (0, 1, 100)
        votes = self.is_named or labels == {*map(plain_name, self.names)}
        if all(column.is_whole for column in self.columns) and not votes:
            return False  # ratings, ages or goals of each side, which sum to nothing
        numbers = [column for column in self.columns if column.numbers is not None]
        scales = {column.in_unit and len(column.values) > FEW for column in numbers}
        # Fractions that sum to nothing are several models', unless they are called like the classes.
        models = all(column.in_unit for column in self.columns)
        return len(scales) == 1 and (called or (not models and (self.is_named or not self.stem)))


def candidates(
    free: Sequence[Column], families: Sequence[Outputs], outcome: Column | None, chosen: Choices
) -> list[Outputs]:
    """Return what may be the outputs beside an outcome: families first, then single columns.

    Parameters
    ----------
    free : columns without a role.
    families : of :func:`by_pattern`, which does not depend on the outcome.
    """
    several = families_for(free, families, outcome)
    whole = {name for family in several if family.total is not None for name in family.names}
    likely = [
        c
        for c in free
        if c is not outcome
        and c.is_number
        and c.name not in whole
        and (c.meaning == "output" or (c.is_fraction and not c.is_counter))
    ]
    likely.sort(key=lambda column: (column.meaning != "output", column.name))
    singles = [Outputs.from_columns([column]) for column in likely[:MOST_SINGLES]]
    if chosen.kind is None:
        return [*several, *singles]
    return singles if chosen.kind in ONE_COLUMN else several


def families_for(
    free: Sequence[Column], families: Sequence[Outputs], outcome: Column | None
) -> list[Outputs]:
    """Return columns that belong together and fit to the labels of an outcome, each set of them once."""
    values = () if outcome is None else outcome.values
    matching = [*by_label([c for c in free if c is not outcome and c.numbers is not None], values)]
    for family in families:
        others = [column for column in family.columns if column is not outcome]
        if len(others) == len(family.columns):
            matching.append(family)
        elif len(others) > 1 and outcome is not None and (outcome.meaning or not family.stem):
            matching.append(Outputs.from_columns(others, family.stem))
    distinct: dict[frozenset[str], Outputs] = {}
    for family in matching:
        # Columns whose names have nothing in common are scores only by what they sum to.
        if family.fit(values) and (
            family.stem or family.called(values) or family.total is not None
        ):
            distinct.setdefault(frozenset(family.names), family)
    return [*distinct.values()]


def by_label(columns: Sequence[Column], values: Sequence[str]) -> Iterator[Outputs]:
    """Yield columns that are called like the labels, or whose names hold one: ``cat``, ``P (age=>=5)``."""
    plain = {plain_name(value) for value in values}
    called = [column for column in columns if plain_name(column.name) in plain]
    if 1 < len(called) == len(plain):
        yield Outputs(tuple(called), tuple(column.name for column in called), "")
    if len(values) < 2 or not all(values) or all(map(str.isdecimal, values)):
        return
    around = {c.name.rpartition(values[0])[::2] for c in columns if values[0] in c.name}
    for start, end in sorted(around - {("", "")}):
        label_of = {start + value + end: value for value in values}
        members = tuple(column for column in columns if column.name in label_of)
        if len(members) == len(values):
            yield Outputs(members, tuple(label_of[c.name] for c in members), f"{start} {end}")


def by_pattern(columns: Sequence[Column]) -> list[Outputs]:
    """Return columns whose names differ in one place, p_0 to p_9, P(cat) and P(dog); and those without a meaning."""
    patterns: dict[tuple[tuple[str, ...], tuple[str, ...]], dict[tuple[str, ...], Column]] = {}
    for column in columns:
        pieces = tokens(column.name)[:MOST_TOKENS]
        # A numbered column belongs to its family whatever it holds.
        is_number = column.numbers is not None and not column.is_counter
        places = [(j, k) for j in range(len(pieces)) for k in range(j + 1, len(pieces) + 1)]
        for j, k in places:  # the end of a name, its start, or one word inside
            may_differ = (j or k < len(pieces)) and (k == len(pieces) or j == 0 or k == j + 1)
            if may_differ and (is_number or all(word.isdecimal() for word in pieces[j:k])):
                patterns.setdefault((pieces[:j], pieces[k:]), {}).setdefault(pieces[j:k], column)
    families = [
        Outputs.from_columns(in_order(members), " ".join((*start, *end)))
        for (start, end), members in patterns.items()
        if len(members) > 1
        and sum(column.numbers is not None for column in members.values()) > len(members) / 2
    ]
    silent = [c for c in columns if not c.meaning and c.numbers is not None and not c.is_counter]
    return [*families, Outputs.from_columns(silent)] if len(silent) > 1 else families


def in_order(members: dict[tuple[str, ...], Column]) -> list[Column]:
    """Return columns by number where all differ by one at their end, else as they stand in the table."""
    starts = {middle[:-1] for middle in members}
    if len(starts) == 1 and all(middle[-1].isdecimal() for middle in members):
        return [column for _, column in sorted(members.items(), key=lambda item: int(item[0][-1]))]
    return [*members.values()]
