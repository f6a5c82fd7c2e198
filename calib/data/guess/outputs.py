"""Which columns may be a model's outputs: one alone, or one for each class."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from calib.canonical import ONE_COLUMN
from calib.data import words as w
from calib.data.guess.columns import FEW, Column, row_sums
from calib.data.names import class_names, known_words, plain_name, tokens
from calib.data.options import Choices, names_in

MOST_TOKENS = 6
"""Words of a name that are looked at for what differs."""

MOST_SINGLES = 30
"""Single columns that are compared: those named as outputs first."""


@dataclass(frozen=True)
class Outputs:
    """Columns that may be a model's outputs.

    Attributes
    ----------
    columns : one for each class in their order, or a single one.
    classes : what each is called beside what the names have in common.
    stem : what the names have in common; of a single column its name.
    """

    columns: tuple[Column, ...]
    classes: tuple[str, ...]
    stem: str

    @cached_property
    def total(self) -> float | None:
        """What each row sums to, 0 where exponentials sum to one; None for nothing in common."""
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
        """Whether it is one column: the probability of a class, or the confidence in an answer."""
        return len(self.columns) == 1

    @property
    def is_named(self) -> bool:
        """Whether what the names have in common is a word for outputs, or for a class."""
        words = known_words(self.stem)
        return bool(
            words
            & (
                w.PROBABILITY
                | w.SCORE
                | w.MODELS
                | w.CLASS
                | w.PERCENT
                | {"vote", "votes", "count"}
            )
        )

    @property
    def counts_up(self) -> bool:
        """Whether the classes are called 0, 1, 2, ... or 1, 2, 3, ..."""
        numbers = sorted(int(name) for name in self.classes if name.isdecimal())
        return len(numbers) == len(self.classes) and numbers in (
            [*range(len(numbers))],
            [*range(1, len(numbers) + 1)],
        )

    def called(self, values: Sequence[str]) -> bool:
        """Whether the columns are called like these labels."""
        return not self.is_single and self._labels(values) == self.plain

    def may_be_scores(self, values: Sequence[str]) -> bool:
        """Whether names and values of several columns allow that they are scores of classes with these labels."""
        labels = self._labels(values)
        classes = self.plain
        if len(labels) > len(classes) and not classes <= labels:
            return False  # a label beside those that columns are called by is said where it is read
        if 0 < len(labels) < len(classes) and not (labels <= classes or self.counts_up):
            return False
        flags = [column.is_whole and len(column.values) == 2 for column in self.columns]
        if any(flags) and not all(column.is_whole for column in self.columns):
            return False  # zeros and ones do not belong to fractions
        called = self.called(values)
        if self.total is not None:
            return self.is_named or called or not self.stem or self.total in (0, 1, 100)
        numbers = [
            column for column in self.columns if column.numbers is not None
        ]  # what is wrong with others is said
        on_one_scale = len({column.in_unit and len(column.values) > FEW for column in numbers}) == 1
        # Fractions that sum to nothing are several models', unless they are called like the classes.
        several = all(column.in_unit for column in self.columns)
        return on_one_scale and (called or (not several and (self.is_named or not self.stem)))

    def _labels(self, values: Sequence[str]) -> set[str]:
        """The labels without words for a missing one, unless a column is called so."""
        known = self.plain
        named = [value for value in values if value.strip() not in w.NO_VALUE]
        return {*map(plain_name, named)} | ({*map(plain_name, values)} & known)


def outputs_of(columns: Sequence[Column], stem: str = "", classes: Sequence[str] = ()) -> Outputs:
    """A single column, or one for each class; the classes are what the names do not have in common unless given."""
    names = [column.name for column in columns]
    return Outputs(
        tuple(columns), tuple(classes) or class_names(names), names[0] if len(names) == 1 else stem
    )


class Candidates:
    """What may be the outputs of a table; what does not depend on the outcome is found once.

    Parameters
    ----------
    columns : of the table, by name.
    chosen : what was chosen by hand.
    """

    def __init__(self, columns: Mapping[str, Column], chosen: Choices):
        taken = chosen.columns(but="outputs")
        self._kind, self._given = chosen.kind, [columns[name] for name in names_in(chosen.outputs)]
        self._free = [column for column in columns.values() if column.name not in taken]
        self._patterns = by_pattern(self._free)
        self._known: dict[tuple[tuple[str, ...], str], Outputs] = {}

    def beside(self, outcome: Column | None) -> list[Outputs]:
        """What may be the outputs beside an outcome: families first, then single columns."""
        if self._given:
            return [outputs_of(self._given)]
        families = self._families(outcome)
        whole = {
            column.name for found in families if found.total is not None for column in found.columns
        }
        free = [c for c in self._free if c is not outcome and c.is_number and c.name not in whole]
        likely = [c for c in free if c.says == "output" or (c.is_fraction and not c.is_counter)]
        likely.sort(key=lambda column: (column.says != "output", column.name))
        singles = [outputs_of([column]) for column in likely[:MOST_SINGLES]]
        if self._kind is None:
            return [*families, *singles]
        return (
            singles if self._kind in ONE_COLUMN else families
        )  # the kind says whether there is one column

    def _families(self, outcome: Column | None) -> list[Outputs]:
        """Columns that belong together and fit to the labels, each set of them once."""
        free = [column for column in self._free if column is not outcome]
        values = outcome.values if outcome is not None else ()
        silent = [c for c in free if not c.says and c.numbers is not None and not c.is_counter]
        found = [*by_class(free, values), *self._alike(outcome)]
        found += (
            [every] if len(silent) > 1 and (every := outputs_of(silent)).total is not None else []
        )
        own: dict[frozenset[str], Outputs] = {}
        for family in (family for family in found if family.may_be_scores(values)):
            own.setdefault(frozenset(family.names), family)
        whole = [names for names, family in own.items() if family.total is not None]
        # Columns that leave room for another class are no part of a family that leaves none.
        return [
            f
            for names, f in own.items()
            if f.total is not None or not any(names < other for other in whole)
        ]

    def _alike(self, outcome: Column | None) -> Iterator[Outputs]:
        for stem, members in self._patterns:
            columns = [column for column in members if column is not outcome]
            # A column that is named like all others and by no word for labels is not their outcome.
            if len(columns) > 1 and (
                len(columns) == len(members) or (outcome is not None and outcome.says)
            ):
                key = tuple(column.name for column in columns), stem
                yield self._known.setdefault(key, self._known.get(key) or outputs_of(columns, stem))


def by_class(columns: Sequence[Column], values: Sequence[str]) -> Iterator[Outputs]:
    """Columns that are called like the labels, or whose names hold one: ``cat``, ``p_<5`` and ``P (age=>=5)``."""
    numbers = {column.name: column for column in columns if column.numbers is not None}
    plain = {plain_name(value) for value in values}
    found = [column for column in numbers.values() if plain_name(column.name) in plain]
    if 1 < len(found) == len(plain):
        yield outputs_of(found, classes=[column.name for column in found])
    if len(values) < 2 or not all(values) or all(map(str.isdecimal, values)):
        return
    for start, end in sorted(
        {name.rpartition(values[0])[::2] for name in numbers if values[0] in name} - {("", "")}
    ):
        members = {name: value for value in values if (name := start + value + end) in numbers}
        if len(members) == len(values):
            own = sorted((numbers[name] for name in members), key=lambda column: column.position)
            yield outputs_of(own, f"{start} {end}", [members[column.name] for column in own])


def by_pattern(columns: Sequence[Column]) -> list[tuple[str, list[Column]]]:
    """Columns whose names differ in one place, p_0 to p_9, P(cat) and P(dog), and what these have in common."""
    patterns: dict[tuple[tuple[str, ...], tuple[str, ...]], dict[tuple[str, ...], Column]] = {}
    for column in columns:
        words = tokens(column.name)[:MOST_TOKENS]
        # A numbered column belongs to its family whatever it holds; what is wrong with it is said later.
        is_number = column.numbers is not None and not column.is_counter
        places = [(j, k) for j in range(len(words)) for k in range(j + 1, len(words) + 1)]
        for j, k in places:  # the end of a name, its start, or one word inside
            may_differ = (j or k < len(words)) and (k == len(words) or j == 0 or k == j + 1)
            if may_differ and (is_number or all(word.isdecimal() for word in words[j:k])):
                patterns.setdefault((words[:j], words[k:]), {}).setdefault(words[j:k], column)
    return [
        (" ".join((*start, *end)), _in_order(members))
        for (start, end), members in patterns.items()
        if len(members) > 1
        and sum(column.numbers is not None for column in members.values()) > len(members) / 2
    ]


def _in_order(members: Mapping[tuple[str, ...], Column]) -> list[Column]:
    """By number where all differ by one at their end, else as they stand in the table: P_good1 and P_good0 are 0, 1."""
    if len({middle[:-1] for middle in members}) == 1 and all(
        middle[-1].isdecimal() for middle in members
    ):
        return [column for _, column in sorted(members.items(), key=lambda item: int(item[0][-1]))]
    return sorted(members.values(), key=lambda column: column.position)
