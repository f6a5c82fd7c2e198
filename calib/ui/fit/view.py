"""The choice of calibrators on the Fit page: presets, methods, their parameters, and the button that starts them."""

from __future__ import annotations

from typing import Any

import streamlit as st

from calib.data import Predictions
from calib.errors import CalibrationError
from calib.formatting import listed, plural
from calib.jobs.line import LineFull
from calib.registry import METHODS, missing_arrays, presets
from calib.ui import fits
from calib.ui.fit.parameters import device_choice, parameter_widgets

CHOSEN = "fit/methods"
TROUBLE = "fit/trouble"


def not_started() -> None:
    """Say once what was not started, and why."""
    for sentence in st.session_state.pop(TROUBLE, []):
        st.error(sentence, icon=":material/error:")


def choose_and_start(data: Predictions | None) -> None:
    """Draw the choice among the methods that the data allow."""
    offered = presets(data)
    chosen = st.session_state.setdefault(CHOSEN, offered["From the papers"])
    if not set(chosen) <= set(offered["All"]):  # other data were open, with all that these lack
        _choose([name for name in chosen if name in offered["All"]])
    with st.container(horizontal=True):
        for preset, names in offered.items():
            st.button(preset, key=f"fit/preset/{preset}", on_click=_choose, args=(names,))
    methods = st.pills(
        "Methods",
        offered["All"],
        selection_mode="multi",
        key=CHOSEN,
        format_func=lambda name: METHODS[name].title,
        persist_state="session",
    )
    _left_out(data)
    device = device_choice(methods)
    params = {}
    for name in methods:
        method = METHODS[name]
        with st.expander(f"**{method.title}** — {method.summary}"):
            st.caption(method.paper)
            params[name] = parameter_widgets(method.cls, name)
        if method.uses_device:
            params[name]["device"] = device
    st.button(
        f"Fit {plural(len(methods), 'calibrator')}",
        key="fit/start",  # its label changes with the choice; without a key each label would be another button
        type="primary",
        icon=":material/play_arrow:",
        disabled=not methods,
        on_click=_start,
        args=(params,),
    )


def _choose(methods: list[str]) -> None:
    """Put a preset's methods into the selection."""
    st.session_state[CHOSEN] = methods


def _start(params: dict[str, dict[str, Any]]) -> None:
    """Ask for a fit of each chosen method; parameters that do not go together are said on the page."""
    trouble = st.session_state[TROUBLE] = []
    for place, (name, chosen) in enumerate(params.items()):
        try:
            fits.submit(name, chosen)
        except LineFull as error:
            rest = [METHODS[later].title for later in list(params)[place:]]
            trouble.append(f"{listed(rest)} {'was' if len(rest) == 1 else 'were'} not started: {error}")
            break
        except CalibrationError as error:
            trouble.append(f"{METHODS[name].title} was not started: {error}")


def _left_out(data: Predictions | None) -> None:
    """Say which methods need arrays that the open data do not hold, and where such arrays come in."""
    lacking = {METHODS[name].title: missing for name in METHODS if (missing := missing_arrays(name, data))}
    if lacking:
        arrays = sorted({array for missing in lacking.values() for array in missing})
        st.caption(
            f"{listed(list(lacking))} {'needs' if len(lacking) == 1 else 'need'} more than outputs and labels; these "
            f"data hold no {listed(arrays)}."
        )
        st.page_link("app.py", label="Open data with them", icon=":material/upload_file:")
