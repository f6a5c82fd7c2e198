"""The columns beside outcome and outputs: times, clusters, weights, groups, features, and what is left alone."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from calib.data import words as w
from calib.data.array_names import PARTS, SPLIT, feature_names
from calib.data.guess.columns import FEW, Column
from calib.data.names import is_anonymous, tokens
from calib.data.options import OPTION_OF_ROLE, Choices, names_in
from calib.data.roles import ColumnRole, Role
from calib.data.rows import ROW_ROLES, times_of

LEAST_CLUSTERS = 6
"""Fewer clusters cannot be divided among the parts of a split; such a column names subgroups."""

LEAST_IN_GROUP = 5
"""Rows that a value must have on average to be a group."""

MOST_PROBLEMS, LEAST_OF_PROBLEM = 20, 20
"""Questions or criteria of one table, and rows of each on average; more questions of fewer rows are clusters."""

CODE = re.compile(r"[^\W\d_]{1,6}[-_ ]?\d{1,12}")
"""What codes of persons, places and things look like: W07, ICU-3."""


def is_split(column: Column) -> bool:
    """Its two values are words for calibration and test, or its name says so."""
    parts = {PARTS.get(value.lower()) for value in column.values}
    said = (len(parts) == 2 and "test" in parts and None not in parts) or "".join(
        tokens(column.name)
    ) in SPLIT
    return len(column.values) == 2 and said


def is_time(column: Column) -> bool:
    """It holds dates that can be read, or is called as a week or a date is."""
    dates = column.is_date and (
        column.cells.dtype.kind == "M" or len(times_of(column.present)) == 1
    )
    return dates or "".join(tokens(column.name)) in ROW_ROLES["times"].names


def is_coded(column: Column) -> bool:
    """It holds codes that repeat, or repeated numbers named as the id of something."""
    words = tokens(column.name)
    is_id = words == ("id",) or (len(words) > 1 and words[-1] in w.ID)
    is_id = is_id and (words[-1] == "id" or column.low > 1)
    is_id = is_id and column.is_whole and not column.is_counter
    codes = column.numbers is None and all(map(CODE.fullmatch, column.values))
    return column.says in ("", "id", "cluster") and _repeats(column, 0.6) and (codes or is_id)


def is_few(column: Column) -> bool:
    """It is text of few values, with rows enough for each."""
    n = len(column.values)
    few = 2 <= n <= FEW and n * LEAST_IN_GROUP <= len(column.present)
    return (
        few
        and column.numbers is None
        and not column.is_date
        and column.says in ("", "cluster", "id", "past")
    )


def are_of_a_sample(column: Column) -> bool:
    """Weights named as those of a sample: ``survey_weight``, ``ipw``; not an exposure, a count or a car's weight."""
    words = {*tokens(column.name)}
    return bool(words & w.SAMPLING) and not words & w.COUNTS


def is_feature(column: Column) -> bool:
    """It holds complete numbers that vary, and its name says nothing else."""
    complete = column.numbers is not None and len(column.present) == len(column.cells)
    says_nothing = (
        column.says in ("", "past") and not is_anonymous(column.name) and not column.is_counter
    )
    return complete and says_nothing and len(column.values) > 1


def names_models(column: Column) -> bool:
    """It names the model or the question of a row, each with several rows, and nothing else: not ``car_model``."""
    words = {*tokens(column.name)}
    n = len(column.values)
    said = words & w.MODEL and words <= w.MODEL | w.GROUP | w.ID | w.TEXT | {"ml", "ai"}
    if words and words <= w.PROBLEM:
        return 1 < n <= MOST_PROBLEMS and n * LEAST_OF_PROBLEM <= len(column.present)
    return bool(said) and 1 < n <= len(column.present) / 2 and (column.is_discrete or n <= FEW)


def _repeats(column: Column, share: float) -> bool:
    return column.is_discrete and LEAST_CLUSTERS <= len(column.values) <= share * len(
        column.present
    )


class Beside(NamedTuple):
    """What a column is that is neither outcome nor output: the option that names it, the reason, and when it holds."""

    option: str
    says: str
    holds: Callable[[Column], bool]


BESIDE = (
    Beside("split", "its two values are calibration and test", is_split),
    Beside("times", "dates", is_time),
    Beside("groups", "named after models", names_models),
    Beside(
        "clusters",
        "named after something with several rows",
        lambda c: c.says == "cluster" and _repeats(c, 0.9),
    ),
    Beside("clusters", "codes that repeat", is_coded),
    Beside(
        "weights",
        "named as a weight",
        lambda column: column.says == "weight" and len(column.values) > 1,
    ),
    Beside("groups", "named after a group", lambda column: column.says == "group"),
    Beside("groups", "text of few values", is_few),
)
"""In the order in which they are looked for; of several columns that fit the one with the fewest values is taken."""


def with_others(columns: Mapping[str, Column], chosen: Choices) -> Choices:
    """The choices with every column beside outcome and outputs that has a role."""
    taken = chosen.columns()
    free = {name: column for name, column in columns.items() if name not in taken}
    inferred: dict[str, Any] = {}
    of_body = any(column.words & w.BODY for column in columns.values())
    classes = {
        value
        for name in names_in(chosen.labels)
        if name in columns
        for value in columns[name].values
    }
    for rule in BESIDE:
        known = rule.option in inferred or getattr(chosen, rule.option) is not None
        if known or (rule.option == "weights" and of_body):
            continue
        fit = [column for column in free.values() if rule.holds(column)]
        fit = [
            c for c in fit if rule.holds is not is_few or not classes.issuperset(c.values)
        ]  # that is a prediction
        several_codes = (
            rule.holds is is_coded and len(fit) > 1
        )  # it is open which of them hold rows together
        if fit and not several_codes:
            found = min(fit, key=lambda column: (len(column.values), column.name)).name
            inferred[rule.option] = found
            del free[found]
            if rule.option == "weights" and are_of_a_sample(columns[found]):
                inferred["weight_kind"] = chosen.weight_kind or "sampling"
    if chosen.features is None and chosen.train_features is not None:
        numbers = [
            name for name, column in free.items() if column.numbers is not None and column.values
        ]
        inferred["features"] = feature_names(numbers) or tuple(
            name for name, column in free.items() if is_feature(column)
        )
    return replace(chosen, **inferred)


def column_roles(
    columns: Mapping[str, Column],
    given: Choices,
    found: Choices,
    reasons: Mapping[str, str],
    n_rows: int,
) -> tuple[ColumnRole, ...]:
    """The role of every column, with its reason, in the order of the table.

    Parameters
    ----------
    given : what was chosen by hand.
    found : with what was inferred.
    reasons : of outcome, outputs and prediction, by option.
    n_rows : of the table, of which the columns may hold some alone.
    """
    by_hand = given.columns()
    role_of = {
        name: role
        for role, option in OPTION_OF_ROLE.items()
        for name in names_in(getattr(found, option))
    }
    roles = []
    for name, column in columns.items():
        role: Any = role_of.get(name) or left_as(column)
        option = OPTION_OF_ROLE.get(role_of.get(name, ""), "")
        fits = (rule.says for rule in BESIDE if rule.option == option and rule.holds(column))
        why = reasons.get(option) or next(fits, "numbers") if option else why_left(column)
        if name in by_hand:
            why = "as chosen"
        elif not column.is_date:
            seen = f" in {len(column.cells):,} rows looked at" if n_rows > len(column.cells) else ""
            why = f"{why}; {column.seen}{',' if seen else ''}{seen}"
        roles.append(ColumnRole(name, role, why))
    return tuple(roles)


MOST_VALUES = 50
"""Values of a column that is kept as a further subgroup."""


def left_as(column: Column) -> Role:
    """The role of a column that is not used otherwise; one of few values is kept as a further subgroup."""
    if column.is_counter or column.all_different or column.says == "id":
        return "id"
    few = 2 <= len(column.values) <= MOST_VALUES and column.is_discrete
    enough = len(column.values) * LEAST_IN_GROUP <= len(column.present)
    return "metadata" if few and enough and column.says in ("", "group", "cluster") else "ignore"


LEFT = {
    **dict.fromkeys(("output", "predicted"), "named like predictions, and not used"),
    **dict.fromkeys(("truth", "label", "event", "correct"), "named like an outcome, and not used"),
    "cluster": "it may hold rows together",
    "group": "another column gives the groups",
}
"""Why a column with such a name is not used."""


def why_left(column: Column) -> str:
    """Why a column is not used."""
    if len(column.values) < 2 or column.is_date:
        return "dates" if column.is_date else "the same in every row"
    if column.is_counter:
        return "it counts the rows"
    if left_as(column) == "metadata":
        return "few values: a further subgroup"
    if column.says not in LEFT and column.all_different:
        return "nearly every row has a value of its own"
    return LEFT.get(column.says, "no role")
