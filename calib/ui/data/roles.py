"""What a table holds: the readings to choose from, a role chooser over each column, and several models.

A choice of roles is remembered for tables with the same columns.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from html import escape
from typing import Any, Literal

import streamlit as st

from calib.data import Choices, DataError, Inspection, Predictions, load_models
from calib.data.loading import APART
from calib.data.options import NOTHING, OPTION_OF_ROLE
from calib.data.roles import TableReading
from calib.formatting import plural
from calib.ui.link import open_data
from calib.ui.session import OpenSession, Reading, find_session
from calib.ui.text import add_notice, literal

ROLES = {
    "outcome": ("outcome", "The true class of each row, or whether it happened."),
    "outputs": ("model output", "The probability or score of the event; or one column for each class."),
    "predicted": ("predicted class", "Checks the outputs; beside a confidence it tells which answers are right."),
    "cluster": ("cluster", "Rows that belong together, such as those of a patient: no split tears them apart."),
    "weight": ("weight", "Weights of rows, applied once you say what they mean."),
    "time": ("date or week", "When a row was scored: Monitoring looks at one week after the other."),
    "group": ("subgroup", "Over- and underconfidence looks at each by itself."),
    "features": ("feature", "Inputs of the model, for methods that look at them."),
    "split": ("calibration or test", "Says which rows calibrators learn from."),
    "ignore": ("ignored", "Left alone."),
}  # fmt: skip
"""What a chooser offers: the title and the meaning of each role."""

REMEMBERED = "data/roles"
"""Choices by the columns of a table, in Streamlit's session state."""
DECIDED = (*OPTION_OF_ROLE.values(), "kind", "label_values", "event", "weight_kind")
"""Options that are remembered."""

ASKED = ("ambiguous", "several_sheets")
"""Findings that are asked as a question instead of being told."""
CARDS_IN_A_ROW = 3
WIDTH = 152
"""Pixels of a chooser: two stand side by side on a phone."""
FEW = 12
"""So many columns have a chooser each; in a wider table outputs or features side by side share one."""
MOST = 48
"""Choosers that are drawn; columns behind them keep their roles."""
MOST_MODELS = 20
"""Models of a table that are offered; a column with more values names something else."""


@dataclass(frozen=True)
class Choosable:
    """One chooser: columns side by side, the role that is filled in, and why."""

    columns: tuple[str, ...]
    role: str
    reason: str = ""

    @property
    def title(self) -> str:
        """The column, or the first of several."""
        first = literal(self.columns[0], 22)
        n = len(self.columns)
        return first if n == 1 else f"{first} and {n - 1:,} more"


def ask(reading: Reading) -> Mapping[str, Any]:
    """Readings or sheets to choose from as cards; the choices of the one that was clicked, empty if none was."""
    inspection = reading.inspection
    if inspection is None:
        return {}
    name = literal(inspection.arrays[0].file) if inspection.arrays else ""
    found = inspection.readings
    if len(found) == 1:
        st.markdown(
            f"**One question about {name}.** It can perhaps be read like this, but too little says so."
        )
    elif found:
        st.markdown(
            f"**One question about {name}.** {plural(len(found), 'reading')} fit its columns. Which is meant?"
        )
    cards: list[tuple[Callable[[], object], Mapping[str, Any]]]
    cards = [
        (partial(_card, offered), Choices.from_roles(offered.roles).given()) for offered in found
    ]
    if sheets := [
        finding.readings for finding in inspection.findings if finding.code == "several_sheets"
    ]:
        st.markdown(
            "**One question about the file.** Several of its sheets hold a table. Which is meant?"
        )
        cards = [
            (partial(st.markdown, literal(sheet, 200)), fix) for sheet, fix in sheets[0].items()
        ]
    clicked: Mapping[str, Any] = {}
    for start in range(0, len(cards), CARDS_IN_A_ROW):
        row = cards[start : start + CARDS_IN_A_ROW]
        for i, (column, (draw, choices)) in enumerate(
            zip(st.columns(max(2, len(row))), row, strict=False), start
        ):
            with column.container(border=True, height="stretch"):
                draw()
                first: Literal["primary", "secondary"] = "primary" if i == 0 else "secondary"
                if st.button("Open this way", key=f"reading/{i}", type=first):
                    clicked = choices
    return clicked


def _card(offered: TableReading) -> None:
    what, colon, numbers = offered.sentence.rpartition(": ")
    st.markdown(f"**{literal(what or numbers, 200)}**  \n{literal(numbers, 200) if colon else ''}")
    st.caption(plural(offered.rows, "row"))
    roles = [
        f"{ROLES[role][0]}: {literal(_listed(value))}"
        for role, value in offered.roles.items()
        if role in ROLES
    ]
    st.caption("  \n".join(roles))


def _listed(value: str | Sequence[object]) -> str:
    return value if isinstance(value, str) else ", ".join(map(str, value))


def choosers(reading: Reading, data: Predictions | None = None) -> Mapping[str, Any]:
    """The first rows of a table under a role chooser for each column; the choices once they are applied.

    Open where there is a question, folded where the table was read. Of data that a link brought back there are no
    rows, only the roles.

    Parameters
    ----------
    data : what is open, where nothing was read in this session.
    """
    inspection = reading.inspection
    offered = choosables(inspection, data)
    if not offered:
        return {}
    asked = inspection is not None and inspection.predictions is None
    place = (
        st.container()
        if asked
        else st.expander("Columns and their roles", icon=":material/view_column:")
    )
    with place:
        if asked:
            st.markdown(
                "**The first rows, and what each column is.** Change a role where it is wrong."
            )
        with st.form("roles", border=False):
            chosen = {name: chooser.role for chooser in offered for name in chooser.columns}
            with st.container(horizontal=True, gap="small"):
                for i, chooser in enumerate(offered[:MOST]):
                    role = _chooser(chooser, inspection, i)
                    chosen |= dict.fromkeys(chooser.columns, role)
            with st.container(horizontal=True, vertical_alignment="center"):
                applied = st.form_submit_button("Read with these roles", icon=":material/refresh:")
                with st.popover("What the roles are", icon=":material/help:", type="tertiary"):
                    st.markdown(
                        "\n".join(f"- **{title}**: {meaning}" for title, meaning in ROLES.values())
                    )
        if not applied:
            return {}
        if missing := [ROLES[role][0] for role in _needed(reading) if role not in chosen.values()]:
            st.warning(f"No column is the {' and none the '.join(missing)}.")
            return {}
    return by_hand(chosen)


def _needed(reading: Reading) -> tuple[str, ...]:
    """Roles without which a table says nothing; its labels may lie in another file."""
    return ("outputs",) if "labels" in reading.upload else ("outcome", "outputs")


def _chooser(chooser: Choosable, inspection: Inspection | None, i: int) -> str:
    titles = {role: title for role, (title, _) in ROLES.items()}
    with st.container(width=WIDTH, gap="xsmall"):
        role = st.selectbox(
            chooser.title,
            list(titles),
            index=list(titles).index(chooser.role),
            format_func=titles.__getitem__,
            key=f"role/{i}/{chooser.columns[0]}/{chooser.role}/{len(chooser.columns)}",
        )
        cells = "".join(
            f"<div style='overflow:hidden;text-overflow:ellipsis;white-space:nowrap'>{escape(cell) or '&nbsp;'}</div>"
            for cell in (inspection.rows[chooser.columns[0]] if inspection is not None else ())
        )
        if cells:
            st.html(
                f"<div style='font-size:.8125rem;line-height:1.55;font-variant-numeric:tabular-nums'>{cells}</div>"
            )
        st.caption(literal(chooser.reason, 90) if chooser.reason else " ")
    return role


def choosables(inspection: Inspection | None, data: Predictions | None = None) -> list[Choosable]:
    """A chooser for each column, or in wide tables for outputs or features side by side; none where there is no table.

    Parameters
    ----------
    data : what is open, where nothing was read in this session.
    """
    if inspection is not None:
        roles = roles_of(inspection) if inspection.rows else {}
    else:
        roles = _roles_in(data) if data is not None else {}
    found: list[Choosable] = []
    for name, (role, reason) in roles.items():
        shares = (
            len(roles) > FEW
            and role in ("outputs", "features")
            and bool(found)
            and found[-1].role == role
        )
        before = found.pop() if shares else Choosable((), role, reason)
        found.append(Choosable((*before.columns, name), role, before.reason))
    return found


def roles_of(inspection: Inspection) -> dict[str, tuple[str, str]]:
    """Role and reason of every column: as the table was read, or as far as that came."""
    if inspection.predictions is not None and inspection.predictions.roles:
        return _roles_in(inspection.predictions)
    inferred = {
        role: getattr(inspection.choices, option) for role, option in OPTION_OF_ROLE.items()
    }
    likely = inspection.readings[0].roles if inspection.readings else inferred
    roles = {
        column: role
        for role, value in likely.items()
        if role in ROLES and value
        for column in ([value] if isinstance(value, str) else value)
    }
    return {name: (roles.get(name, "ignore"), "") for name in inspection.rows}


def _roles_in(data: Predictions) -> dict[str, tuple[str, str]]:
    """Role and reason of every column of a table that was read."""
    return {r.column: (r.role if r.role in ROLES else "ignore", r.reason) for r in data.roles}


def by_hand(roles: Mapping[str, str]) -> dict[str, Any]:
    """The choices that give columns these roles and leave no role to be inferred."""
    columns = {
        role: tuple(name for name, chosen in roles.items() if chosen == role) for role in ROLES
    }
    given = Choices.from_roles({role: names for role, names in columns.items() if names})
    chosen = {option: getattr(given, option) or NOTHING for option in OPTION_OF_ROLE.values()}
    return {**chosen, "ignore": given.ignore, "kind": None, "label_values": None, "event": None}


def remember(reading: Reading) -> None:
    """Keep what was decided for tables with the same columns."""
    decided = {name: value for name, value in reading.choices.given().items() if name in DECIDED}
    if decided and (columns := _columns(reading)):
        st.session_state.setdefault(REMEMBERED, {})[columns] = decided


def remembered(reading: Reading) -> dict[str, Any]:
    """What was decided for an earlier table with the same columns; empty if nothing was."""
    known: dict[tuple[str, ...], dict[str, Any]] = st.session_state.get(REMEMBERED, {})
    return known.get(_columns(reading), {})


def _columns(reading: Reading) -> tuple[str, ...]:
    return () if reading.inspection is None else tuple(reading.inspection.rows)


def models(reading: Reading) -> None:
    """A button for each model of a table of several, which opens its rows alone."""
    inspection = reading.inspection
    data = None if inspection is None else inspection.predictions
    names = [] if inspection is None else sorted(inspection.models)
    if data is not None and data.groups is not None:
        names = sorted(set(data.groups.tolist()))
    if 1 < len(names) <= MOST_MODELS:
        with st.container(horizontal=True):
            for i, name in enumerate(names):
                st.button(
                    f"Open {literal(str(name))}",
                    key=f"models/open/{i}",
                    on_click=open_model,
                    args=(str(name), reading),
                )


def open_model(name: str, reading: Reading) -> None:
    """Make one model of a table the open data set."""
    before = find_session()
    try:
        data = load_models(choices=reading.choices, isolate=APART, **reading.upload)[name]  # type: ignore[arg-type]
    except DataError as error:
        add_notice(str(error), "error")
        return
    opened = OpenSession.from_data(
        data, reading=Reading(upload=reading.upload, choices=reading.choices)
    )
    if before is not None:
        opened.viewpoint = before.viewpoint
    open_data(opened)
