"""The columns beside outcome and outputs: clusters, weights, subgroups, features, the split, and what is left alone."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from calib.data.interpret.evidence import MANY, Column
from calib.data.interpret.names import PARTS, SPLIT, feature_names, first_named
from calib.data.interpret.readings import Reading
from calib.data.interpret.roles import ROW_ROLES, ColumnRole, Role
from calib.data.interpret.vocabulary import CERTAIN, spoken_for, tokens
from calib.data.options import OPTION_OF_ROLE, Choices, Columns, names_in

LEAST_CLUSTERS = 6
"""Fewer clusters cannot be divided among the parts of a split; such a column names subgroups."""

REPEATED = 0.9
"""Below this share of different values a column repeats enough of them to hold rows together."""


def is_cluster(column: Column) -> bool:
    """Whether the values repeat as those of things with several rows do."""
    n_values, n = len(column.values), len(column.present)
    return LEAST_CLUSTERS <= n_values <= REPEATED * n and (column.numbers is None or column.is_whole)


OFTEN_REPEATED = 0.6
"""Below this share of different values a code stands for something with several rows, whatever its name says."""

CODE = re.compile(r"[^\W\d_]{1,6}[-_ ]?\d{1,12}")
"""What codes of persons, places and things look like: W07, ICU-3."""


def coded_cluster(columns: Sequence[Column]) -> str | None:
    """The one column of repeated codes, or of repeated numbers named as an id, that has no other role."""
    found = [
        column.name
        for column in columns
        if {role for role, said in column.said.items() if said > 0} <= {"id", "cluster"}
        and LEAST_CLUSTERS <= len(column.values) <= OFTEN_REPEATED * len(column.present)
        and (is_named_id(column) if column.numbers is not None else all(map(CODE.fullmatch, column.values)))
    ]
    return found[0] if len(found) == 1 else None


def is_named_id(column: Column) -> bool:
    """Whether whole numbers are the id of something that the name says: ``worker_id``, not ``id``, and of no group.

    Other words for numbers, as in ``unit_nr`` and ``page_no``, may count within something where they begin with 0 or 1.
    """
    words = tokens(column.name)
    named = len(words) > 1 and spoken_for(words[-1]).get("id") == CERTAIN
    is_code = words[-1:] == ("id",) or (column.is_whole and column.present.min() > 1)
    return column.is_whole and not column.is_counter and named and is_code and set(column.said) <= {"id", "cluster"}


def is_group(column: Column) -> bool:
    """Whether the values are few, so that each has rows enough."""
    return 2 <= len(column.values) <= MANY and (column.numbers is None or column.is_whole) and not column.is_date


BODY = frozenset(["height", "bmi", "groesse", "koerpergroesse", "taille", "imc", "altura", "estatura", "talla"])
"""Words of columns beside which a weight is that of a body."""


def is_weight(column: Column) -> bool:
    """Whether all values are numbers from 0 upwards, and not the same."""
    return column.numbers is not None and len(column.values) > 1 and float(column.present.min()) >= 0


def is_split(column: Column) -> bool:
    """Whether the two values are words for calibration and test."""
    parts = [PARTS.get(value.lower()) for value in column.values]
    return len(parts) == 2 and "test" in parts and None not in parts and parts[0] != parts[1]


BY_ROW: dict[str, tuple[Role, Callable[[Column], bool]]] = {
    "clusters": ("cluster", is_cluster),
    "weights": ("weight", is_weight),
    "groups": ("group", is_group),
}
"""Options with one value for each row: the role they stand for, and which values it may have."""


def with_others(columns: Mapping[str, Column], choices: Choices) -> Choices:
    """The choices with every column beside outcome and outputs that has a role."""
    taken = columns_in(choices)
    free = [column for column in columns.values() if column.name not in taken]
    if choices.split is None:
        choices = replace(choices, split=split_column(free))
        free = [column for column in free if column.name != choices.split]
    for option in (option for option in ROW_ROLES if option not in BY_ROW and getattr(choices, option) is None):
        named: dict[str, Any] = {option: first_named((column.name for column in free), ROW_ROLES[option].names)}
        choices = replace(choices, **named)
        free = [column for column in free if column.name != named[option]]
    for option, (role, fits) in BY_ROW.items():
        if getattr(choices, option) is None:
            if option == "weights" and any(BODY & set(tokens(column.name)) for column in columns.values()):
                continue
            first = best(free, role, ROW_ROLES[option].names, fits)
            if option == "clusters" and first is None:
                first = coded_cluster(free)
            found: Any = with_further_groups(free, first) if option == "groups" else first
            choices = replace(choices, **{option: found})
            taken = set(names_in(found))
            free = [column for column in free if column.name not in taken]
    if choices.features is None:
        choices = replace(choices, features=feature_columns(free))
    return choices


def columns_in(choices: Choices) -> set[str]:
    """The columns that have a role already."""
    options = {*OPTION_OF_ROLE.values(), *ROW_ROLES, "test_outputs", "test_labels"}
    return {name for option in options for name in names_in(getattr(choices, option))}


def split_column(columns: Sequence[Column]) -> str | None:
    """The column that says which rows are for calibration: by its name, else by its words."""
    named = first_named((column.name for column in columns), SPLIT)
    return named or next((column.name for column in columns if is_split(column)), None)


def best(columns: Sequence[Column], role: Role, names: tuple[str, ...], fits: Callable[[Column], bool]) -> str | None:
    """The column that is called like a role, else the one whose words say so most and whose values fit."""
    if name := first_named((column.name for column in columns), names):
        return name
    found = [column for column in columns if column.said.get(role, 0.0) > 0 and fits(column)]
    return max(found, key=lambda column: (column.said[role], -column.position)).name if found else None


MOST_CROSSED = 12
"""Subgroups that several columns may make together before only the first of them is used."""


def with_further_groups(columns: Sequence[Column], first: str | None) -> Columns | None:
    """The first column of subgroups, with further ones where they make few subgroups together."""
    if first is None:
        return None
    others = [column for column in columns if column.name != first and column.said.get("group", 0.0) > 0]
    found, n_groups = [first], next(len(column.values) for column in columns if column.name == first)
    for column in others:
        if is_group(column) and n_groups * len(column.values) <= MOST_CROSSED:
            found.append(column.name)
            n_groups *= len(column.values)
    return first if len(found) == 1 else tuple(found)


def feature_columns(columns: Sequence[Column]) -> Columns:
    """Columns called like features in the order of their numbers, else numbers whose names say nothing else."""
    numbers = (column.name for column in columns if column.numbers is not None and not column.is_date)
    return feature_names(numbers) or tuple(column.name for column in columns if is_plain_number(column))


def is_plain_number(column: Column) -> bool:
    """Whether a column holds complete numbers and its name says nothing but, perhaps, that it is a feature."""
    complete = column.numbers is not None and len(column.present) == len(column.cells)
    silent = set(column.said) <= {"features"} and not column.is_anonymous
    return complete and silent and len(column.values) > 1 and not column.is_counter


def column_roles(columns: Mapping[str, Column], reading: Reading, given: Choices, chosen: Choices) -> list[ColumnRole]:
    """The role of every column, with its reason, in the order of the table.

    Parameters
    ----------
    given : what was chosen by hand.
    chosen : with what was inferred.
    """
    by_hand = columns_in(given)
    roles: dict[str, Role] = {
        name: cast(Role, role)
        for role, option in {
            **{option: option for option in ROW_ROLES if option not in BY_ROW},
            **OPTION_OF_ROLE,
        }.items()
        for name in names_in(getattr(chosen, option))
    }
    return [
        ColumnRole(
            name,
            roles.get(name, left_as(column)),
            "as chosen" if name in by_hand else reason(column, roles.get(name), reading),
        )
        for name, column in columns.items()
    ]


def left_as(column: Column) -> Role:
    """The role of a column that is not used."""
    names_rows = column.all_different and (column.numbers is None or column.is_whole)
    return "id" if column.is_counter or names_rows or column.said.get("id", 0.0) > 0 else "ignore"


def reason(column: Column, role: Role | None, reading: Reading) -> str:
    """Why a column has its role, for people."""
    n = len(column.values)
    values = f"{n:,} different values" if n > 2 else " and ".join(column.values) or "no values"
    if role == "outputs":
        return reading.outputs.reason
    if role is None:
        return unused_reason(column, values)
    spoken = "its name says so" if column.said.get(role, 0.0) > 0 else "its values fit"
    return f"{spoken}; {values}"


def unused_reason(column: Column, values: str) -> str:
    """Why a column has no role."""
    if column.is_date:
        return "dates"
    if column.said.get("outputs", 0.0) > 0 or column.said.get("predicted", 0.0) > 0:
        return f"named like predictions, and not used; {values}"
    if column.is_counter:
        return "it counts the rows"
    if column.all_different:
        return "nearly every row has a value of its own"
    if column.numbers is not None and len(column.present) < len(column.cells):
        return f"{len(column.cells) - len(column.present):,} of {len(column.cells):,} values are missing"
    return f"text; {values}" if column.numbers is None else f"no role; {values}"
