"""Several fits asked for at once: those chosen, the recommended ones, or those of the split left last."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import streamlit as st

from calib.errors import CalibrationError
from calib.formatting import escape_markdown, listed, plural
from calib.jobs.scheduling import QueueFull
from calib.registry import METHODS, presets
from calib.ui import fits
from calib.ui.session import OpenSession, current_session

TROUBLE = "fit/trouble"
"""What was not started and why, in Streamlit's session state until it is shown."""


def offered_presets(session: OpenSession) -> dict[str, list[str]]:
    """Choices of methods for the open split; no "Fast" where it holds the methods of another choice."""
    offered = presets(session.data, len(session.calibration))
    if offered["Fast"] in (offered["Recommended"], offered["All"]):
        del offered["Fast"]
    return offered


def start(chosen: list[tuple[str, Mapping[str, Any]]]) -> None:
    """Ask for a fit of each method with its parameters; the next page drawn says what was not started."""
    trouble = st.session_state[TROUBLE] = []
    for place, (name, params) in enumerate(chosen):
        try:
            fits.submit(name, dict(params))
        except QueueFull as error:
            rest = [METHODS[later].title for later, _ in chosen[place:]]
            trouble.append(f"{listed(rest)} {'was' if len(rest) == 1 else 'were'} not started: {error}")
            break
        except CalibrationError as error:
            trouble.append(f"{METHODS[name].title} was not started: {error}")


def not_started() -> None:
    """Say once what was not started, and why."""
    for sentence in st.session_state.pop(TROUBLE, []):
        st.error(escape_markdown(sentence), icon=":material/error:")


def offer_to_fit_again(session: OpenSession) -> None:
    """Where the split was changed: that its fits are those of another one, and the button that fits them on this."""
    specs = session.specs_of_last_split
    if not specs:
        return
    split = "the split of the file" if session.part is None else f"{session.part:.0%} for calibration"
    with st.container(border=True, horizontal=True, vertical_alignment="center"):
        st.markdown(
            f":material/call_split: **The split is another one now** ({split}, seed {session.seed}), and no calibrator "
            f"is fitted on it yet. {plural(len(specs), 'fit')} of the split before will be shown again once you go "
            "back to that.",
            width="stretch",
        )
        st.button(
            f"Fit {'it' if len(specs) == 1 else f'all {len(specs)}'} again on this split",
            key="fit/again", type="primary", icon=":material/replay:", on_click=_fit_again,
        )  # fmt: skip


def _fit_again() -> None:
    start([(spec.method, spec.params) for spec in current_session().specs_of_last_split])
