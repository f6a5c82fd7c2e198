"""The columns beside outcome and outputs: times, clusters, weights, groups, and what is left alone."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from calib.data import words as w
from calib.data.guess.columns import FEW, Column, names_unit
from calib.data.names import PARTS, SPLIT, tokens
from calib.data.options import OPTION_OF_ROLE, Choices, columns_in_use, names_in
from calib.data.roles import ColumnRole, Role
from calib.data.rows import ROW_ROLES, times_of

LEAST_CLUSTERS = 6
"""Fewer clusters cannot be divided among the parts of a split; such a column names subgroups."""

MANY_CLUSTERS = 20
LARGE_CLUSTER = 200
"""Values fewer than the first, of more rows on average than the second, are groups, such as the wards of a hospital."""

ENOUGH_CLUSTERS = 40
"""Clusters from which intervals are no longer rough; a column with fewer is chosen where none has as many."""

LEAST_IN_GROUP = 5
"""Rows that a value must have on average to be a group."""

MOST_VALUES = 50
"""Values of a column that is kept as a further subgroup."""

FIRST_YEAR, LAST_YEAR = 1900, 2100
"""Whole numbers between these may be years."""

MOST_PROBLEMS, LEAST_OF_PROBLEM = 20, 20
"""Questions or criteria of one table, and rows of each on average; more questions of fewer rows are clusters."""

CODE = re.compile(r"[^\W\d_]{1,6}[-_ ]?\d{1,12}")
"""Codes of persons, places and things: W07, ICU-3."""

LEVEL = re.compile(r"[^\W\d_]+ |[^\W\d_]{5}")
"""Beginnings of levels, such as level 3 and stage2, which are words where codes have a few letters."""


def is_split(column: Column) -> bool:
    """Return whether two values are words for calibration and test, or the name says so."""
    parts = {PARTS.get(value.lower()) for value in column.values}
    two_parts = len(parts) == 2 and "test" in parts and None not in parts
    return len(column.values) == 2 and (two_parts or "".join(tokens(column.name)) in SPLIT)


def is_time(column: Column) -> bool:
    """Return whether a column holds dates that can be read, or is called as a week or a date is."""
    named = "".join(tokens(column.name)) in ROW_ROLES["times"].names
    is_typed = column.cells.dtype.kind == "M"
    return named or (column.is_date and (is_typed or len(times_of(column.present)) == 1))


def holds_years(column: Column) -> bool:
    """Return whether a column holds years and is named as a time: ``accident_year``, not ``birth_year``."""
    pieces = tokens(column.name)
    named = pieces[-1:] and pieces[-1] in w.TIME and not w.ORIGIN.intersection(pieces)
    return bool(named) and column.is_whole and FIRST_YEAR <= column.low < column.high <= LAST_YEAR


def is_cluster(column: Column) -> bool:
    """Return whether a column is named after something with several rows, and its values repeat."""
    return column.meaning == "cluster" and repeats(column, 0.9)


def is_coded(column: Column) -> bool:
    """Return whether a column holds codes that repeat, or repeated numbers named as the id of something.

    Few levels are groups, such as "level 3" of an education, unless the name is that of a unit.
    """
    pieces = tokens(column.name)
    is_id = pieces == ("id",) or (len(pieces) > 1 and pieces[-1] in w.ID)
    is_id = is_id and (pieces[-1] == "id" or column.low > 1)
    is_id = is_id and column.is_whole and not column.is_counter
    codes = column.numbers is None and all(map(CODE.fullmatch, column.values))
    levels = is_few(column, MOST_VALUES) and all(map(LEVEL.match, column.values))
    codes = codes and (names_unit(column) or not levels)
    return column.meaning in ("", "id", "cluster") and repeats(column, 0.6) and (codes or is_id)


def repeats(column: Column, share: float) -> bool:
    """Return whether a column has enough values for clusters, at most this share of its rows."""
    n = len(column.values)
    rows = len(column.present)
    least = MANY_CLUSTERS if rows > LARGE_CLUSTER * n else LEAST_CLUSTERS
    return column.is_discrete and least <= n <= share * rows


def is_group(column: Column) -> bool:
    """Return whether a column is text of few values, with rows enough for each."""
    text = column.numbers is None and not column.is_date
    return text and is_few(column, FEW) and column.meaning in ("", "cluster", "id", "past")


def is_few(column: Column, most: int) -> bool:
    """Return whether a column has at most this many values, with rows enough for each."""
    n = len(column.values)
    return 2 <= n <= most and n * LEAST_IN_GROUP <= len(column.present)


def names_models(column: Column) -> bool:
    """Return whether a column names the model or the question of a row, each with several rows; not ``car_model``."""
    pieces = {*tokens(column.name)}
    n, rows = len(column.values), len(column.present)
    if pieces and pieces <= w.PROBLEM:
        return 1 < n <= MOST_PROBLEMS and n * LEAST_OF_PROBLEM <= rows
    named = bool(pieces & w.MODEL) and pieces <= w.MODEL | w.GROUP | w.ID | w.TEXT | {"ml", "ai"}
    return named and 1 < n <= rows / 2 and (column.is_discrete or n <= FEW)


class Rule(NamedTuple):
    """A meaning beside outcome and outputs: the option that names the column, the reason, and the rule."""

    option: str
    reason: str
    fits: Callable[[Column], bool]


RULES = (
    Rule("split", "its two values are calibration and test", is_split),
    Rule("times", "dates", is_time),
    Rule("times", "years", holds_years),
    Rule("groups", "named after models", names_models),
    Rule("clusters", "named after something with several rows", is_cluster),
    Rule("clusters", "codes that repeat", is_coded),
    Rule("weights", "named as a weight", lambda c: c.meaning == "weight" and len(c.values) > 1),
    Rule("groups", "named after a group", lambda column: column.meaning == "group"),
    Rule("groups", "text of few values", is_group),
)
"""Roles in the order in which they are looked for; of several columns that fit, the one with the fewest values."""


def with_others(columns: Mapping[str, Column], chosen: Choices) -> Choices:
    """Return the choices with every column beside outcome and outputs that has a role."""
    free = {name: column for name, column in columns.items() if name not in columns_in_use(chosen)}
    inferred: dict[str, Any] = {}
    labels = [columns[name] for name in names_in(chosen.labels) if name in columns]
    classes = {value for column in labels for value in column.values}
    of_body = any(column.terms & w.BODY for column in columns.values())
    for option, _, fits in RULES:
        if option in inferred or getattr(chosen, option) is not None:
            continue
        if option == "weights" and of_body:
            continue
        fit = [column for column in free.values() if fits(column)]
        if fits is is_group:  # text with the values of the outcome is a prediction
            fit = [column for column in fit if not classes.issuperset(column.values)]
        if not fit:
            continue
        if option == "clusters":
            fit = [column for column in fit if len(column.values) >= ENOUGH_CLUSTERS] or fit
        column = min(fit, key=lambda column: (len(column.values), column.name))
        inferred[option] = column.name
        del free[column.name]
        pieces = {*tokens(column.name)}
        if option == "weights" and pieces & w.SAMPLING and not pieces & w.COUNTS:
            inferred["weight_kind"] = chosen.weight_kind or "sampling"
    return replace(chosen, **inferred)


def column_roles(
    columns: Mapping[str, Column],
    chosen: Choices,
    inferred: Choices,
    reasons: Mapping[str, str],
    n_rows: int,
) -> tuple[ColumnRole, ...]:
    """Return the role of every column, with its reason, in the order of the table.

    Parameters
    ----------
    chosen : what was chosen by hand.
    inferred : with what was inferred.
    reasons : of outcome, outputs and prediction, by option.
    n_rows : of the table, of which the columns may hold some alone.
    """
    by_hand = columns_in_use(chosen)
    options = {
        name: (role, option)
        for role, option in OPTION_OF_ROLE.items()
        for name in names_in(getattr(inferred, option))
    }
    roles = []
    for name, column in columns.items():
        role: Any
        role, option = options.get(name, (unused_role(column), ""))
        rules = [rule.reason for rule in RULES if rule.option == option and rule.fits(column)]
        reason = reasons.get(option) or [*rules, "numbers" if option else unused_reason(column)][0]
        if name in by_hand:
            reason = "as chosen"
        elif not column.is_date:
            part = (
                f", in {len(column.cells):,} rows looked at" if n_rows > len(column.cells) else ""
            )
            reason = f"{reason}; {column.seen}{part}"
        roles.append(ColumnRole(name, role, reason))
    return tuple(roles)


def unused_role(column: Column) -> Role:
    """Return the role of a column that is not used otherwise; one of few values is kept as a further subgroup."""
    if column.is_counter or column.all_different or column.meaning == "id":
        return "id"
    silent = column.meaning in ("", "group", "cluster")
    few = silent and column.is_discrete and is_few(column, MOST_VALUES)
    return "metadata" if few else "ignore"


LEFT = {
    **dict.fromkeys(("output", "predicted"), "named like predictions, and not used"),
    **dict.fromkeys(("truth", "label", "event", "correct"), "named like an outcome, and not used"),
    "cluster": "it may hold rows together",
    "group": "another column gives the groups",
}
"""Reasons why a column with such a name is not used."""


def unused_reason(column: Column) -> str:
    """Return why a column is not used."""
    if column.is_date:
        return "dates"
    if len(column.values) < 2:
        return "the same in every row"
    if column.is_counter:
        return "it counts the rows"
    if unused_role(column) == "metadata":
        return "few values: a further subgroup"
    otherwise = "nearly every row has a value of its own" if column.all_different else "no role"
    return LEFT.get(column.meaning, otherwise)
