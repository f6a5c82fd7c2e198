"""Which columns may be outputs: one, or several that belong together by their names, their place or class names."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import takewhile

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from calib.canonical import ONE_COLUMN
from calib.data.interpret.evidence import (
    IMPOSSIBLE,
    MANY,
    SUM_OFF,
    Column,
    is_anonymous,
    leaves_room,
    rank_correlation,
    row_sums,
)
from calib.data.interpret.names import output_column
from calib.data.interpret.vocabulary import CERTAIN, CLASS, LIKELY, spoken_for, tokens
from calib.data.options import Choices, names_in

SUM_TO_ONE = 3.0
"""Rows that sum to one are what probabilities of all classes do, and little else does."""

SUM_TO_SOMETHING = 2.0
"""Rows that sum to another number are percents, votes, or parts of something else."""

FLAGS = -4.0
"""Columns of zeros and ones among columns of fractions do not belong to them."""

NOT_SUMMING = -2.0
"""Values in [0, 1] whose rows sum to anything are rarely the probabilities of classes; several models' scores are."""

UNLIKE = -3.0
"""Logits of one class do not keep to [0, 1] over many rows while those of another leave it."""

COUNTED = 0.5
"""Names that count from 0 or 1 without a gap."""

NAMED_AFTER = 3.0
"""Columns of outputs are called like the classes of the outcome, or a column of risk like what may happen."""

AS_MANY = 1.0
"""There are as many columns as classes."""

LEFT_OUT = 6.0
"""Columns are called like all labels but one, and their rows leave room for that: it is the rest to one."""

TOO_FEW = -2.0
"""There are more classes than columns."""

MEMBER = -3.0
"""A column of a whole family of outputs is rarely meant alone."""

BY_HAND = 2 * CERTAIN
"""What somebody has chosen needs no further evidence."""

CALLED_ALIKE = 2.0
"""Columns that count as the labels do."""

RISES_WITH, STRONGLY = 2.0, 0.8
"""A column in [0, 1] has the ranks of a score: it may be that of another model. And the rank correlation for it."""

ENOUGH_OUTPUTS, OFFERED_OUTPUTS = 2.0, 1.0
"""Evidence of outputs from which a reading is accepted, and from which it is worth a question."""

MOST_OUTPUTS = 12
"""Candidates that are combined, the most likely first."""

MOST_TOKENS = 6
"""Words of a name that are looked at for what differs."""


@dataclass(frozen=True)
class Outputs:
    """A candidate for a model's outputs.

    Attributes
    ----------
    columns : one for each class in their order, or a single one.
    classes : what each is called beside what they have in common.
    evidence : how much speaks for it, before any outcome is looked at.
    reason : what speaks for it, for a sentence.
    stem : what the names have in common; the name itself of a single column.
    is_complete : whether each row sums to the same, so that none of the columns is meant alone.
    leaves_room : whether they are probabilities whose rows sum to less than one, as where a class has no column.
    """

    columns: tuple[str, ...]
    classes: tuple[str, ...]
    evidence: float
    reason: str
    stem: str = ""
    is_complete: bool = False
    leaves_room: bool = False


def output_candidates(columns: Mapping[str, Column], outcome: Column | None, choices: Choices) -> list[Outputs]:
    """Columns that may be the outputs for one outcome, the most likely first."""
    if choices.outputs:
        chosen = [columns[name] for name in names_in(choices.outputs)]
        found = single(chosen[0]) if len(chosen) == 1 else family(chosen, "")
        return [replace(found, evidence=BY_HAND, reason="as chosen")]
    taken = chosen_elsewhere(choices, "outputs") | ({outcome.name} if outcome is not None else set())
    free = [column for column in columns.values() if column.name not in taken]
    values = outcome.values if outcome is not None else ()
    families = [*by_pattern(free), *side_by_side(free, len(values)), *by_class(free, values)]
    families = best_of_each([found for found in families if fitting(found, values) >= OFFERED_OUTPUTS], values)
    members = {name for found in families if found.evidence >= ENOUGH_OUTPUTS for name in found.columns}
    whole = [found for found in families if found.evidence >= ENOUGH_OUTPUTS and found.is_complete]
    shares = {name for found in whole for name in found.columns}
    likely = [column for column in free if column.as_score > IMPOSSIBLE and column.name not in shares]
    limits = limits_of(likely)
    singles = [single(column) for column in likely if column.name not in limits]
    singles = [replace(s, evidence=s.evidence + MEMBER) if s.columns[0] in members else s for s in singles]
    named = [column for s in singles if (column := columns[s.columns[0]]).said.get("outputs", 0.0) > 0]
    singles = [replace(s, evidence=s.evidence + alike(columns[s.columns[0]], named)) for s in singles]
    if choices.kind is not None:  # it says whether there is one column or one for each class
        families, singles = ([], singles) if choices.kind in ONE_COLUMN else (families, [])
    return sorted((*families, *singles), key=lambda found: -found.evidence)[:MOST_OUTPUTS]


def alike(column: Column, named: Sequence[Column]) -> float:
    """Evidence for a column without a telling name: it rises and falls with one that is called outputs."""
    if not column.is_silent or not column.in_unit:
        return 0.0
    return RISES_WITH if any(rank_correlation(column, other) > STRONGLY for other in named) else 0.0


def limits_of(columns: Sequence[Column]) -> set[str]:
    """The ends of intervals: columns on one side of another in every row, which a third is on its other side.

    More fractions than a few are no score with its interval, and comparing all would take long.
    """
    numbers = {column.name: column.numbers for column in columns if column.in_unit and column.numbers is not None}
    found: set[str] = set()
    if not numbers or len(numbers) > MOST_OUTPUTS or len(columns[0].cells) < MANY:
        return found
    for name, own in numbers.items():
        others = [other for key, other in numbers.items() if key != name]
        below = sum(bool((other <= own).all()) for other in others)
        above = sum(bool((other >= own).all()) for other in others)
        if (below, above) in ((0, 2), (2, 0)):
            found.add(name)
    return found


def best_of_each(families: Sequence[Outputs], values: Sequence[str]) -> list[Outputs]:
    """Of several candidates with the same columns, the one with the most evidence, and that of the labels."""
    best: dict[frozenset[str], Outputs] = {}
    for found in families:
        key = frozenset(found.columns)
        if key not in best or fitting(found, values) > fitting(best[key], values):
            best[key] = found
    return list(best.values())


def fitting(outputs: Outputs, values: Sequence[str]) -> float:
    """The evidence for columns, with how the labels fit to them."""
    return outputs.evidence + class_fit(outputs, values)


def class_fit(outputs: Outputs, values: Sequence[str]) -> float:
    """Evidence of how the labels fit to one column each: by number, and by name."""
    if not values:
        return 0.0
    labels = {plain_name(value) for value in values}
    classes = {plain_name(name) for name in outputs.classes}
    if outputs.leaves_room and classes < labels and len(labels) == len(classes) + 1:
        return LEFT_OUT
    fit = AS_MANY if len(labels) == len(classes) else TOO_FEW if len(labels) > len(classes) else 0.0
    if not labels <= classes:
        return fit
    return fit + (CALLED_ALIKE if all(label.isdecimal() for label in labels) else NAMED_AFTER)


def chosen_elsewhere(choices: Choices, role: str) -> set[str]:
    """Columns that somebody has chosen for another role."""
    options = {"outputs", "labels", "groups", "clusters", "weights", "predicted", "features", "split", "ignore"}
    return {name for option in options - {role} for name in names_in(getattr(choices, option))}


def single(column: Column) -> Outputs:
    """One column of risk or of confidence."""
    spoken = "the name" if column.said.get("outputs", 0) > 0 else "nothing in the name"
    present = column.present if column.numbers is not None else column.present[:0]
    low, high = (float(present.min()), float(present.max())) if len(present) else (np.nan, np.nan)
    reason = f"{spoken} says so; values from {low:.3g} to {high:.3g}"
    found = output_column(column.name)
    return Outputs((column.name,), (found.suffix if found else column.name,), column.as_score, reason, column.name)


def by_pattern(columns: Sequence[Column]) -> list[Outputs]:
    """Columns whose names differ in one place: p_0 to p_9, P(cat) and P(dog), yes_prob and no_prob."""
    patterns: dict[tuple[tuple[str, ...], tuple[str, ...]], dict[tuple[str, ...], Column]] = {}
    for column in columns:
        for pattern, middle in split_names(tokens(column.name)):
            # A numbered column belongs to its family whatever it holds; what is wrong with it is said later.
            is_number = column.numbers is not None and not column.is_date and not column.is_counter
            if is_number or all(word.isdecimal() for word in middle):
                patterns.setdefault(pattern, {}).setdefault(middle, column)
    found: dict[tuple[str, ...], Outputs] = {}
    for pattern, members in patterns.items():
        n_numbers = sum(column.numbers is not None for column in members.values())
        words = " ".join((*pattern[0], *pattern[1]))
        if len(members) > 1 and (n_numbers > len(members) / 2 or stem_evidence(words) > 0):
            outputs = family(in_order(members), words)
            known = found.get(outputs.columns)
            if known is None or outputs.evidence > known.evidence:
                found[outputs.columns] = outputs
    return list(found.values())


Pattern = tuple[tuple[str, ...], tuple[str, ...]]


def split_names(words: tuple[str, ...]) -> Iterator[tuple[Pattern, tuple[str, ...]]]:
    """What a name has in common with others, and what differs: its end, its start, or one word inside."""
    words = words[:MOST_TOKENS]
    for j in range(1, len(words)):
        yield (words[:j], ()), words[j:]
        yield ((), words[j:]), words[:j]
    for j in range(1, len(words) - 1):
        yield (words[:j], words[j + 1 :]), words[j : j + 1]


def in_order(members: dict[tuple[str, ...], Column]) -> list[Column]:
    """By number where all differ by one at their end, else as they stand in the table: P_good1 and P_good0 are 0, 1."""
    if len({middle[:-1] for middle in members}) == 1 and all(middle[-1].isdecimal() for middle in members):
        return [column for _, column in sorted(members.items(), key=lambda item: int(item[0][-1]))]
    return sorted(members.values(), key=lambda column: column.position)


def family(columns: Sequence[Column], stem: str, named: float | None = None) -> Outputs:
    """One column for each class, with the evidence of the common name and of the sums of rows.

    Parameters
    ----------
    stem : what the names have in common.
    named : evidence of the names, where it is known.
    """
    names = tuple(column.name for column in columns)
    classes = class_names(names)
    evidence = stem_evidence(stem) if named is None else named
    total = row_sums(columns)
    said = f"named {stem}" if stem else f"{len(names):,} columns side by side"
    if total is not None:
        evidence += SUM_TO_ONE if total <= 1 else SUM_TO_SOMETHING
        said += f"; each row sums to {total:g}" if total else "; the exponentials of each row sum to 1"
    elif all(column.in_unit for column in columns):
        evidence += NOT_SUMMING * (2 if len(columns) == 2 else 1)
    elif any(column.in_unit and len(column.values) > MANY for column in columns):
        evidence += UNLIKE
    if counts_up(classes):
        evidence += COUNTED
    flags = [column.is_whole and len(column.values) == 2 for column in columns]
    if any(flags) and not all(column.is_whole for column in columns):
        evidence += FLAGS
    room = total is None and leaves_room(columns)
    return Outputs(names, classes, evidence, said, stem, total is not None, room)


def stem_evidence(stem: str) -> float:
    """What the common part of names says for outputs: a word for them, or one for a class."""
    said = spoken_for(stem)
    if "outputs" in said:
        return said["outputs"]
    return LIKELY if set(tokens(stem)) & CLASS else -max(said.values(), default=0.0)


def counts_up(classes: Sequence[str]) -> bool:
    """Whether classes are called 0, 1, 2, ... or 1, 2, 3, ..."""
    if not all(name.isdecimal() for name in classes):
        return False
    numbers = [int(name) for name in classes]
    return numbers in (list(range(len(numbers))), list(range(1, len(numbers) + 1)))


def class_names(names: Sequence[str]) -> tuple[str, ...]:
    """What names do not have in common, as they spell it."""
    found = [column for name in names if (column := output_column(name)) is not None]
    if not found and is_anonymous(names[0]):
        return tuple(names)
    start = boundary(names) if len(names) > 1 else 0
    end = boundary([name[start:][::-1] for name in names]) if len(names) > 1 else 0
    middles = tuple(name[start : len(name) - end].strip(" _.-:()[]/=") for name in names)
    if not all(middles) or len(set(middles)) < len(names):
        middles = tuple(names)
    if all(name.isdecimal() for name in middles):
        return middles
    same_stem = len(found) == len(names) and len({column.stem for column in found}) == 1
    return tuple(column.suffix for column in found) if same_stem and not re.search(r"\w=", found[0].suffix) else middles


def boundary(names: Sequence[str]) -> int:
    """Length of the common start that ends where a word does in every name."""
    first, last = min(names), max(names)  # what these two share, all that lie between them share
    n_common = next((j for j, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), len(first))
    for j in range(n_common, 0, -1):
        if all(j < len(name) and _is_boundary(name[j - 1], name[j]) for name in names):
            return j
    return 0


def _is_boundary(before: str, after: str) -> bool:
    if not (before.isalnum() and after.isalnum()):
        return True
    return before.isdecimal() != after.isdecimal() or (before.islower() != after.islower() and before.isalpha())


def side_by_side(columns: Sequence[Column], n_classes: int) -> Iterator[Outputs]:
    """Numbers whose names say nothing: as many as there are classes and rows that sum to one, or all that there are."""
    silent = [column for column in columns if column.is_silent and column.numbers is not None]
    if len(silent) < 2:
        return
    for width in {n_classes, len(silent)} - {0, 1}:
        for start in steady(silent, width):
            window = silent[start : start + width]
            if row_sums(window) is not None and not any(column.is_counter for column in window):
                yield family(window, "", 0.0)
    nameless = all(column.is_anonymous and not column.is_counter for column in silent)
    if nameless and row_sums(silent) is None and not all(column.is_whole for column in silent):
        yield family(silent, "", LIKELY)


def steady(columns: Sequence[Column], width: int) -> Iterable[int]:
    """Where a window of neighbouring columns begins whose rows may have a sum in common, found at once for all.

    :func:`row_sums` would refuse the others. It takes logarithms, or columns without negative numbers of which 98 % of
    the rows have the same sum within 2 %: then 85 % of every fifth row lie within 4.1 % of their median.
    """
    starts = range(len(columns) - width + 1)
    matrix = np.column_stack([column.numbers for column in columns if column.numbers is not None])
    whole = matrix[np.isfinite(matrix).all(axis=1)]
    if not starts or not len(whole) or len(whole) < 0.9 * len(matrix):
        return starts
    windows = partial(sliding_window_view, window_shape=width, axis=-1)
    negative, positive = whole.min(axis=0) < -1e-6, whole.max(axis=0) > 1e-3
    totals = windows(whole[::5]).sum(axis=-1)
    middle = np.median(totals, axis=0)
    same = (np.abs(totals - middle) <= 2.05 * SUM_OFF * middle).mean(axis=0) >= 0.85
    may = np.where(windows(negative).any(axis=-1), ~windows(negative & positive).any(axis=-1), same)
    return [start for start in starts if may[start]]


def by_class(columns: Sequence[Column], values: Iterable[str]) -> Iterator[Outputs]:
    """Columns that are called like the classes, or whose names hold one: ``p_<5`` and ``P (age=>=5)``."""
    values = tuple(values)
    plain = {plain_name(value) for value in values}
    found = [column for column in columns if plain_name(column.name) in plain and column.numbers is not None]
    if len(found) > 1 and len(found) == len(plain):
        yield family(found, "", CERTAIN / 2)
    # A cell of blanks is a label without letters, which no name holds.
    if len(values) < 2 or not all(values) or (values[0].isdecimal() and any(map(str.isdecimal, values))):
        return
    by_name = {column.name: column for column in columns if column.numbers is not None}
    around = {name.rpartition(values[0])[::2] for name in by_name if values[0] in name} - {("", "")}
    for start, end in sorted(around):
        names = list(takewhile(by_name.__contains__, (start + value + end for value in values)))
        if len(names) == len(values):
            members = zip((by_name[name] for name in names), values, strict=True)
            of_value = sorted(members, key=lambda member: member[0].position)
            named = family([column for column, _ in of_value], f"{start} {end}")
            yield replace(named, classes=tuple(value for _, value in of_value))


def plain_name(name: str) -> str:
    """A name without case and separators, since columns and labels spell them differently."""
    return "".join(c for c in name.lower() if c.isalnum()) or name
