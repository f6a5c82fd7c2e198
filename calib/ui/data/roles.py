"""Roles of a table: the readings to choose from, and a grid with the role of each column.

A choice of roles is remembered for tables with the same columns.
"""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from typing import Any

import pandas as pd
import streamlit as st

from calib.data import Inspection, Predictions
from calib.data.options import NOTHING, OPTION_OF_ROLE, choices_from_roles, explicit_options
from calib.data.roles import TableReading
from calib.formatting import plural
from calib.ui.session import Reading
from calib.ui.text import literal
from calib.ui.widgets import draw_editor

ROLES = {
    "outcome": ("outcome", "The true class of each row, or whether it happened."),
    "outputs": ("model output", "The probability or score of the event; or one column for each class."),
    "predicted": ("predicted class", "With a confidence it decides which predictions are right."),
    "cluster": ("cluster", "Rows that belong together, such as those of a patient: no split tears them apart."),
    "weight": ("weight", "Weight of the row; its meaning is chosen on Data."),
    "time": ("date or week", "When a row was scored: Monitoring judges one week after the other."),
    "group": ("group", "Its values are compared with each other."),
    "features": ("feature", "Inputs of the model, for methods that use them."),
    "split": ("calibration or test", "Marks the rows that calibrators are fitted on."),
    "ignore": ("ignored", "Left alone."),
}  # fmt: skip
"""Title and meaning of each role in the grid."""

REMEMBERED = "data/roles"
"""Choices by the columns of a table, in Streamlit's session state."""
DECIDED = (*OPTION_OF_ROLE.values(), "kind", "label_values", "event", "weight_kind")
"""Options that are remembered."""

ASKED = ("ambiguous", "several_sheets")
"""Findings that are asked as a question instead of being told."""
MOST_READINGS = 3
"""Readings that are offered; the grid beneath them says every other one."""
EMPTY_CELL = "–"
"""Text of a missing cell."""
FURTHER = "metadata"
"""Role of further columns of few values: groups in the grid, without being chosen as the groups."""
HEIGHT = 460
"""Pixels of the grid at most; more columns scroll."""


def ask(reading: Reading) -> Mapping[str, Any]:
    """Ask which reading of a table or which sheet is meant; the choices of the answer, empty until there is one."""
    inspection = reading.inspection
    if inspection is None:
        return {}
    sheets = [
        finding.readings for finding in inspection.findings if finding.code == "several_sheets"
    ]
    if sheets:
        st.markdown("**Which sheet is meant?** Several of the file's sheets hold a table.")
        clicked: Mapping[str, Any] = {}
        for i, (sheet, fix) in enumerate(sheets[0].items()):
            if st.button(literal(sheet, 200), key=f"reading/{i}"):
                clicked = fix
        return clicked
    readings = inspection.readings[:MOST_READINGS]
    if not readings:
        return choosers(reading)
    name = literal(inspection.arrays[0].file) if inspection.arrays else "the file"
    sentences = [offered.sentence.rpartition(": ") for offered in readings]
    chosen = st.radio(
        f"**One question about {name}:** what do its columns mean?",
        range(len(readings)),
        format_func=lambda k: f"**{literal(sentences[k][0] or sentences[k][2], 200)}**",
        captions=[_numbers(offered) for offered in readings],
        key=f"reading/{name}/{len(readings)}",
    )
    return choosers(reading, offered=readings[chosen])


def _numbers(offered: TableReading) -> str:
    """Mean, observed rate and rows of a reading."""
    _, colon, numbers = offered.sentence.rpartition(": ")
    figures = literal(numbers, 200).replace(", ", " · ") if colon else ""
    return " · ".join(filter(None, [figures, plural(offered.rows, "row")]))


def choosers(reading: Reading, offered: TableReading | None = None) -> Mapping[str, Any]:
    """Show every column of a table with its role and first cells in one grid; return the choices once applied.

    Parameters
    ----------
    offered : the reading whose roles are filled in.
    """
    inspection = reading.inspection
    if inspection is None or not inspection.rows:
        return {}
    roles = roles_of(inspection, offered)
    opened = inspection.predictions
    is_question = opened is None
    weights = [name for name, (role, _) in roles.items() if role == "weight"]
    weight_kind = None if opened is None else opened.weight_kind
    with st.form("roles", border=False):
        if is_question:
            st.caption(_other_roles(roles))
            if weights:
                label = f"Count rows by {literal(weights[0])}, as sampling weights"
                named = offered is not None and "weight_kind" in offered.roles
                if st.toggle(label, value=named, key="roles/weighted"):
                    weight_kind = "sampling"
        grid = role_grid(roles, inspection.rows)
        with st.container(horizontal=True, vertical_alignment="center"):
            applied = st.form_submit_button(
                "Open" if is_question else "Read with these roles",
                type="primary" if is_question else "secondary",
                icon=":material/arrow_forward:" if is_question else ":material/refresh:",
            )
            with st.popover("What the roles are", icon=":material/help:", type="tertiary"):
                st.markdown(
                    "\n".join(f"- **{title}**: {meaning}" for title, meaning in ROLES.values())
                )
    if not applied:
        return {}
    role_of_title = {title: role for role, (title, _) in ROLES.items()}
    chosen = {
        name: before if title == _title(before) else role_of_title[title]
        for (name, (before, _)), title in zip(roles.items(), grid["role"], strict=True)
    }
    # The labels may lie in another file.
    needed = ("outputs",) if "labels" in reading.upload else ("outcome", "outputs")
    if missing := [ROLES[role][0] for role in needed if role not in chosen.values()]:
        st.warning(f"No column is the {' and none the '.join(missing)}.")
        return {}
    changes = by_hand(chosen)
    if offered is not None and chosen == {name: role for name, (role, _) in roles.items()}:
        changes = dict(explicit_options(choices_from_roles(offered.roles)))
    return {**changes, "weight_kind": weight_kind if "weight" in chosen.values() else None}


def _other_roles(roles: Mapping[str, tuple[str, str]]) -> str:
    """Show the other columns of the table, and that each role can be changed."""
    columns: dict[str, list[str]] = {}
    for name, (role, _) in roles.items():
        columns.setdefault(_title(role), []).append(literal(name, 30))
    titles = [_title(role) for role in ("weight", "group", "cluster", "time", "features")]
    parts = [f"{title}: {', '.join(columns[title])}" for title in titles if title in columns]
    also = f"Also found: {'; '.join(parts)}. " if parts else ""
    return f"{also}Click a role to change it."


def role_grid(
    roles: Mapping[str, tuple[str, str]], rows: Mapping[str, tuple[str, ...]]
) -> pd.DataFrame:
    """Draw a line for each column of a table, its role to choose, and return the grid as it was left."""
    n_cells = max(map(len, rows.values()), default=0)
    cells = {
        f"row {k + 1}": [rows[name][k] or EMPTY_CELL for name in roles] for k in range(n_cells)
    }
    table = pd.DataFrame(
        {
            "column": [*roles],
            "role": [_title(role) for role, _ in roles.values()],
            **cells,
        }
    )
    if any(reason for _, reason in roles.values()):
        table["reason"] = [reason or EMPTY_CELL for _, reason in roles.values()]
    titles = [title for title, _ in ROLES.values()]
    columns = {
        "column": st.column_config.TextColumn("Column", width=130, pinned=True),
        "role": st.column_config.SelectboxColumn(
            "Role", options=titles, required=True, width=130, pinned=True
        ),
        "reason": st.column_config.TextColumn("Reason", width=320),
        **{name: st.column_config.TextColumn(name, width=90) for name in cells},
    }
    marked = sha256(repr(sorted(roles.items())).encode()).hexdigest()[:12]
    return draw_editor(
        table,
        f"role/{marked}",
        column_config=columns,
        disabled=[name for name in table.columns if name != "role"],
        height=min(HEIGHT, 38 + 35 * len(table)),
    )


def roles_of(
    inspection: Inspection, offered: TableReading | None = None
) -> dict[str, tuple[str, str]]:
    """Role and reason of every column: as the table was read, or as far as that came."""
    if inspection.predictions is not None and inspection.predictions.roles:
        return _roles_in(inspection.predictions)
    inferred = {
        role: getattr(inspection.choices, option) for role, option in OPTION_OF_ROLE.items()
    }
    likely = inferred if offered is None else offered.roles
    roles = {
        column: role
        for role, value in likely.items()
        if role in ROLES and value
        for column in ([value] if isinstance(value, str) else value)
    }
    groups = {} if offered is None else dict.fromkeys(offered.groups, FURTHER)
    return {name: (roles.get(name) or groups.get(name, "ignore"), "") for name in inspection.rows}


def _roles_in(data: Predictions) -> dict[str, tuple[str, str]]:
    """Role and reason of every column of a table that was read."""
    titles = (*ROLES, FURTHER)
    return {r.column: (r.role if r.role in titles else "ignore", r.reason) for r in data.roles}


def _title(role: str) -> str:
    return ROLES["group" if role == FURTHER else role][0]


def by_hand(roles: Mapping[str, str]) -> dict[str, Any]:
    """The choices that give columns these roles and leave no role to be inferred."""
    columns = {
        role: tuple(name for name, chosen in roles.items() if chosen == role) for role in ROLES
    }
    choices = choices_from_roles({role: names for role, names in columns.items() if names})
    chosen = {option: getattr(choices, option) or NOTHING for option in OPTION_OF_ROLE.values()}
    return {**chosen, "ignore": choices.ignore, "kind": None, "label_values": None, "event": None}


def remember(reading: Reading) -> None:
    """Keep what was decided for tables with the same columns."""
    decided = {
        name: value for name, value in explicit_options(reading.choices).items() if name in DECIDED
    }
    if decided and (columns := _columns(reading)):
        st.session_state.setdefault(REMEMBERED, {})[columns] = decided


def remembered(reading: Reading) -> dict[str, Any]:
    """Decisions for an earlier table with the same columns; empty if there are none."""
    decisions: dict[tuple[str, ...], dict[str, Any]] = st.session_state.get(REMEMBERED, {})
    return decisions.get(_columns(reading), {})


def _columns(reading: Reading) -> tuple[str, ...]:
    return () if reading.inspection is None else tuple(reading.inspection.rows)
