"""Parts of the Fit page: presets, methods, widgets of their declared parameters, the device and the start."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from importlib.util import find_spec
from typing import Any

import streamlit as st

from calib.base import Calibrator, can_learn
from calib.calibrators.backend import DEVICES, gpu_present
from calib.calibrators.by_group import PROTECTED
from calib.data import Predictions
from calib.formatting import listed, plural
from calib.registry import (
    METHODS,
    missing_arrays,
    said_of_kind,
    short_of_rows,
)
from calib.ui import fits
from calib.ui.link import page_link
from calib.ui.menu import said_of_missing
from calib.ui.progress import job_list, offered_presets
from calib.ui.session import OpenSession
from calib.ui.widgets import declared, segments

DEVICE_NAMES = {"auto": "Auto", "cpu": "CPU", "gpu": "GPU"}

CHOSEN = "fit/methods"
OF_GPFLOW = ("engine", "kernel")
"""Parameters that need GPflow for any but their defaults."""


def device_choice(methods: list[str]) -> str:
    """Ask once where the methods are fitted, where there is a GPU that any of them can use."""
    able = [METHODS[name].title for name in methods if METHODS[name].uses_device]
    if not able or not gpu_present():
        if able:
            st.caption("No GPU was found here: all fits run on the CPU.")
        return "auto"
    chosen = segments(
        "Device",
        DEVICES,
        "auto",
        "fit/device",
        DEVICE_NAMES.__getitem__,
        help="Auto takes the GPU for slow fits, and for quick ones where the data are big enough to pay for its start.",
    )
    rest = "; the others are fitted on the CPU" if len(able) < len(methods) else ""
    st.caption(f"{listed(able)} can use the GPU{rest}.")
    return chosen


def parameter_widgets(
    cls: type[Calibrator], name: str, group_columns: Sequence[str] = ()
) -> dict[str, Any]:
    """Show one widget per declared parameter, the seed last; return the chosen values by name.

    The device is chosen for all methods together, see :func:`device_choice`.
    """
    chosen = {}
    names = {f.name for f in fields(cls)} - {"device"}
    if names.issuperset(OF_GPFLOW) and find_spec("gpflow") is None:
        names -= {*OF_GPFLOW}
        st.caption(
            'NumPy fits it. GPflow, with other kernels, needs: pip install "calib-studio[gp]".'
        )
    columns = st.columns(2)
    shown = sorted(
        (f for f in fields(cls) if f.name in names), key=lambda f: f.name == "random_state"
    )
    for i, f in enumerate(shown):
        with columns[i % 2]:
            default: Any = f.default
            meta: Mapping[str, Any] = f.metadata
            if f.name == "column":
                default, meta = group_columns[0], {**meta, "choices": tuple(group_columns)}
            chosen[f.name] = declared(f.name, default, meta, f"param/{name}/{f.name}")
    return chosen


def choose_and_start(session: OpenSession) -> None:
    """Draw the choice among the methods that the data allow, the button, and beneath it how far the fits are."""
    data = session.data
    offered = offered_presets(session)
    chosen = st.session_state.setdefault(CHOSEN, offered["Recommended"])
    if not set(chosen) <= set(offered["All"]):  # other data were open, with all that these lack
        _choose([name for name in chosen if name in offered["All"]])
    with st.container(horizontal=True):
        for preset, names in offered.items():
            st.button(
                f"{preset} ({len(names)})",
                key=f"fit/preset/{preset}",
                on_click=_choose,
                args=(names,),
            )
    methods = st.pills(
        "Methods",
        offered["All"],
        selection_mode="multi",
        key=CHOSEN,
        format_func=lambda name: METHODS[name].title,
        persist_state="session",
    )
    _left_out(data)
    if session.drawn:
        st.caption(session.drawn)
    if few := few_rows(methods, len(session.calibration)):
        st.warning(few, icon=":material/warning:")
    if data.weights is not None and data.confirmed_weights is None:
        st.caption("These rows have weights, which are not applied: say on Data what they mean.")
    button = st.container()  # its parameters stand below the fits
    job_list(session)
    st.header("What they do, and their parameters")
    device = device_choice(methods)
    params = {}
    columns = list(data.group_columns())
    with st.container(gap="xsmall"):
        for name in methods:
            method = METHODS[name]
            with st.expander(f"**{method.title}** — {method.summary}", key=f"fit/fold/{name}"):
                st.caption(f"{method.paper}. When not to use it: {method.avoid}")
                if "groups" in method.needs:
                    st.caption(PROTECTED)
                params[name] = parameter_widgets(method.cls, name, columns)
            if method.uses_device:
                params[name]["device"] = device
        _others([name for name in offered["All"] if name not in methods])
    button.button(
        f"Fit {plural(len(methods), 'calibrator')}",
        key="fit/start",  # its label changes with the choice; without a key each label would be another button
        type="primary",
        icon=":material/play_arrow:",
        disabled=not methods,
        on_click=fits.start,
        args=(list(params.items()),),
    )


def few_rows(methods: Sequence[str], n_rows: int) -> str:
    """Which of the chosen methods may make the model worse with so few calibration rows, and what to take instead."""
    names = short_of_rows(methods, n_rows)
    if not names:
        return ""
    others = listed([METHODS[name].title for name in ("temperature", "quadratic", "venn_abers")])
    return (
        f"**{plural(n_rows, 'calibration row')} {'are' if n_rows != 1 else 'is'} few for "
        f"{listed([METHODS[name].title for name in names])}.** Fitted on 300 rows, such methods raised "
        f"the NLL on other rows by more than one standard error in at least one of eleven data sets; {others} did not. "
        f"From {METHODS[names[0]].enough_rows:,} rows on this warning is not shown."
    )


def _choose(methods: list[str]) -> None:
    """Put a preset's methods into the selection."""
    st.session_state[CHOSEN] = methods


def _others(names: Sequence[str]) -> None:
    """What the methods that are not chosen do, a line for each."""
    if names:
        with st.expander("What the methods not chosen do"):
            st.markdown(
                "\n".join(f"- **{METHODS[name].title}**: {METHODS[name].summary}" for name in names)
            )


def _left_out(data: Predictions) -> None:
    """The methods that the data do not allow, in grey, with what they need; and where such arrays come in."""
    if said := said_of_kind(data):
        st.caption(said)
    able = [
        name for name, method in METHODS.items() if can_learn(method.cls, data)
    ]  # of the others it is said above
    lacking = {
        METHODS[name].title: missing
        for name in able
        if (missing := missing_arrays(name, data))
        and not (missing == ["groups"] and data.group_columns())
    }
    for title, missing in lacking.items():
        with st.container(horizontal=True, vertical_alignment="center"):
            st.markdown(
                f":gray-badge[:material/block: {title}] :gray[needs {said_of_missing(missing)}, which these data do "
                "not hold.]",
                width="content",
            )
            page_link("app.py", "Open data with them", ":material/upload_file:")
