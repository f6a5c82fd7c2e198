"""The columns beside outcome and outputs: times, clusters, weights, groups, features, and what is left alone."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from calib.data import words as w
from calib.data.array_names import PARTS, SPLIT, feature_names, first_named
from calib.data.assemble.beside import ROW_ROLES, times_of
from calib.data.guess.columns import FEW, Column
from calib.data.guess.names import is_anonymous, tokens
from calib.data.options import OPTION_OF_ROLE, Choices, names_in
from calib.data.roles import ColumnRole, Role

LEAST_CLUSTERS = 6
"""Fewer clusters cannot be divided among the parts of a split; such a column names subgroups."""

LEAST_IN_GROUP = 5
"""Rows that a value must have on average to be a group."""

CODE = re.compile(r"[^\W\d_]{1,6}[-_ ]?\d{1,12}")
"""What codes of persons, places and things look like: W07, ICU-3."""


def is_split(column: Column) -> bool:
    """Its two values are words for calibration and test."""
    parts = {PARTS.get(value.lower()) for value in column.values}
    return len(column.values) == len(parts) == 2 and "test" in parts and None not in parts


def is_time(column: Column) -> bool:
    """It holds dates that can be read."""
    return column.is_date and (column.cells.dtype.kind == "M" or len(times_of(column.present)) == 1)


def is_coded(column: Column) -> bool:
    """It holds codes that repeat, or repeated numbers named as the id of something."""
    words = tokens(column.name)
    is_id = len(words) > 1 and words[-1] in w.ID and (words[-1] == "id" or column.low > 1)
    is_id = is_id and column.is_whole and not column.is_counter
    codes = column.numbers is None and all(map(CODE.fullmatch, column.values))
    return column.says in ("", "id", "cluster") and _repeats(column, 0.6) and (codes or is_id)


def is_few(column: Column) -> bool:
    """It is text of few values, with rows enough for each."""
    n = len(column.values)
    few = 2 <= n <= FEW and n * LEAST_IN_GROUP <= len(column.present)
    return few and column.numbers is None and not column.is_date and column.says in ("", "cluster", "id", "past")


def is_feature(column: Column) -> bool:
    """It holds complete numbers that vary, and its name says nothing else."""
    complete = column.numbers is not None and len(column.present) == len(column.cells)
    says_nothing = column.says in ("", "past") and not is_anonymous(column.name) and not column.is_counter
    return complete and says_nothing and len(column.values) > 1


def _repeats(column: Column, share: float) -> bool:
    n, rows = len(column.values), len(column.present)
    return LEAST_CLUSTERS <= n <= share * rows and (column.numbers is None or column.is_whole)


class Beside(NamedTuple):
    """What a column is that is neither outcome nor output: the option that names it, the reason, and when it holds."""

    option: str
    says: str
    holds: Callable[[Column], bool]


BESIDE = (
    Beside("split", "its two values are calibration and test", is_split),
    Beside("times", "dates", is_time),
    Beside("clusters", "named after something with several rows", lambda c: c.says == "cluster" and _repeats(c, 0.9)),
    Beside("clusters", "codes that repeat", is_coded),
    Beside("weights", "named as a weight", lambda column: column.says == "weight" and len(column.values) > 1),
    Beside("groups", "named after a group", lambda column: column.says == "group"),
    Beside("groups", "text of few values", is_few),
)
"""In the order in which they are looked for; of several columns that fit the one with the fewest values is taken."""


def with_others(columns: Mapping[str, Column], chosen: Choices) -> Choices:
    """The choices with every column beside outcome and outputs that has a role."""
    taken = columns_in(chosen)
    free = {name: column for name, column in columns.items() if name not in taken}
    names = {"split": SPLIT, **{option: role.names for option, role in ROW_ROLES.items()}}
    if any(column.words & w.BODY for column in columns.values()) and chosen.weights is None:
        del names["weights"]  # it is that of a body
    classes = {value for name in names_in(chosen.labels) if name in columns for value in columns[name].values}
    for option in dict.fromkeys((*(rule.option for rule in BESIDE), *names)):
        if option not in names or getattr(chosen, option) is not None:
            continue
        found: Any = first_named(free, names[option])
        for holds in [rule.holds for rule in BESIDE if rule.option == option and found is None]:
            fit = [column for column in free.values() if holds(column)]
            fit = [c for c in fit if holds is not is_few or not classes.issuperset(c.values)]  # that is a prediction
            if fit and not (holds is is_coded and len(fit) > 1):  # of several codes it is open which hold rows together
                found = min(fit, key=lambda column: (len(column.values), column.name)).name
                break
        free.pop(found, None)
        chosen = replace(chosen, **{option: found})
    if chosen.features is None:
        numbers = [name for name, column in free.items() if column.numbers is not None and not column.is_date]
        features = feature_names(numbers) or tuple(name for name, column in free.items() if is_feature(column))
        chosen = replace(chosen, features=features)
    return chosen


def columns_in(chosen: Choices) -> set[str]:
    """The columns that have a role already."""
    options = {*OPTION_OF_ROLE.values(), *ROW_ROLES, "test_outputs", "test_labels"}
    return {name for option in options for name in names_in(getattr(chosen, option))}


def column_roles(
    columns: Mapping[str, Column], given: Choices, found: Choices, reasons: Mapping[str, str], n_rows: int
) -> tuple[ColumnRole, ...]:
    """The role of every column, with its reason, in the order of the table.

    Parameters
    ----------
    given : what was chosen by hand.
    found : with what was inferred.
    reasons : of outcome, outputs and prediction, by option.
    n_rows : of the table, of which the columns may hold some alone.
    """
    by_hand = columns_in(given)
    role_of = {**{option: option for option in ROW_ROLES}, **{option: role for role, option in OPTION_OF_ROLE.items()}}
    options = {name: option for option in role_of for name in names_in(getattr(found, option))}
    roles = []
    for name, column in columns.items():
        option = options.get(name, "")
        role: Any = role_of.get(option) or left_as(column)
        why = why_left(column)
        if name in by_hand:
            why = "as chosen"
        elif option:
            fits = (rule.says for rule in BESIDE if rule.option == option and rule.holds(column))
            says = reasons.get(option) or next(fits, "numbers" if option == "features" else "its name says so")
            why = says if column.is_date else f"{says}; {column.seen}"
        if n_rows > len(column.cells) and any(letter.isdigit() for letter in why):
            why = f"{why}, in {len(column.cells):,} rows looked at"
        roles.append(ColumnRole(name, role, why))
    return tuple(roles)


def left_as(column: Column) -> Role:
    """The role of a column that is not used."""
    names_rows = column.all_different and (column.numbers is None or column.is_whole)
    return "id" if column.is_counter or names_rows or column.says == "id" else "ignore"


LEFT = {
    **dict.fromkeys(("output", "predicted"), "named like predictions, and not used"),
    **dict.fromkeys(("truth", "label", "event", "correct"), "named like an outcome, and not used"),
    "cluster": "it may hold rows together",
    "group": "another column gives the groups",
}
"""Why a column with such a name is not used."""


def why_left(column: Column) -> str:
    """Why a column is not used."""
    if len(column.values) < 2 and not column.is_date:
        return f"the same in every row: {column.values[0]}" if column.values else "empty"
    if column.is_date or column.is_counter:
        return "dates" if column.is_date else "it counts the rows"
    missing = len(column.cells) - len(column.present)
    if column.says in LEFT:
        return f"{LEFT[column.says]}; {column.seen}"
    if column.all_different and (column.numbers is None or column.is_whole):
        return "nearly every row has a value of its own"
    if column.numbers is not None and missing:
        return f"{missing:,} of {len(column.cells):,} values are missing"
    return f"{'text' if column.numbers is None else 'no role'}; {column.seen}"
