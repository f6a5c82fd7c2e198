"""Parts of the Fit page: presets, the table of methods with their parameters, the device and the start."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np
import streamlit as st

from calib.base import Calibrator, can_learn
from calib.calibrators.backend import DEVICES, gpu_present
from calib.calibrators.by_group import PROTECTED
from calib.data import Predictions
from calib.engine import Job
from calib.formatting import listed, number, plural, signed
from calib.registry import (
    METHODS,
    describe_exclusions,
    missing_arrays,
    short_of_rows,
)
from calib.ui import fits
from calib.ui.audit import audit_of, is_usable, lead
from calib.ui.menu import describe_missing
from calib.ui.progress import finished_fit, job_list, offered_presets
from calib.ui.session import OpenSession
from calib.ui.widgets import declared, put, segments

DEVICE_NAMES = {"auto": "Auto", "cpu": "CPU", "gpu": "GPU"}

CHOSEN = "fit/methods"
METHOD = 290
"""Pixels of a method at least: two stand side by side where the window has room."""
OPEN = "fit/more"
OF_GPFLOW = ("engine", "kernel", "likelihood")
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
    ordered = sorted(
        (f for f in fields(cls) if f.name in names), key=lambda f: f.name == "random_state"
    )
    for i, f in enumerate(ordered):
        with columns[i % 2]:
            default: Any = f.default
            meta: Mapping[str, Any] = f.metadata
            if f.name == "column":
                default, meta = group_columns[0], {**meta, "choices": tuple(group_columns)}
            chosen[f.name] = declared(f.name, default, meta, f"param/{name}/{f.name}")
    return chosen


def choose_and_start(session: OpenSession) -> None:
    """Draw the table of the methods that the data allow, the button, and beneath it how far the fits are."""
    data = session.data
    lead(session, "Fit")
    offered = offered_presets(session, audit_of(session).methods)
    chosen = st.session_state.setdefault(CHOSEN, offered["Recommended"])
    if not set(chosen) <= set(offered["All"]):  # other data were open, with all that these lack
        _choose([name for name in chosen if name in offered["All"]])
    chosen = st.session_state[CHOSEN]
    with st.container(horizontal=True):
        for preset, names in {**offered, "None": []}.items():
            st.button(
                f"{preset} ({len(names)})" if names else preset,
                key=f"fit/preset/{preset}",
                on_click=_choose,
                args=(names,),
            )
    results = results_by_method(session)
    rest = [name for name in offered["All"] if name not in offered["Recommended"]]
    device = device_choice(chosen)
    params: dict[str, dict[str, Any]] = {}
    if results:
        st.caption(
            "Beneath a method: the time of its fit and the change of the NLL on the test rows. *Compare* has intervals."
        )
    draw = partial(_methods, session, results, params)
    with st.container(border=True, gap="small"):
        draw(offered["Recommended"])
        # Open as soon as a method in it is chosen, and never closed under the visitor's hand.
        session.picked[OPEN] = session.picked.get(OPEN, False) or bool({*rest} & {*chosen})
        with st.expander(f"More methods ({len(rest)})", key=OPEN, expanded=session.picked[OPEN]):
            draw(rest)
    _unavailable(data)
    if session.drawn:
        st.caption(session.drawn)
    if few := few_rows(chosen, len(session.calibration)):
        st.warning(few, icon=":material/warning:")
    if data.weights is not None and data.confirmed_weights is None:
        st.caption("These rows have weights, which are not applied: set their meaning on Data.")
    for name in params:
        if METHODS[name].uses_device:
            params[name]["device"] = device
    st.button(
        f"Fit {plural(len(chosen), 'calibrator')}",
        key="fit/start",  # its label changes with the choice; without a key each label would be another button
        type="primary" if is_usable(session) else "secondary",
        icon=":material/play_arrow:",
        disabled=not chosen,
        on_click=fits.start,
        args=([(name, params[name]) for name in chosen if name in params],),
    )
    job_list(session)


def _methods(
    session: OpenSession,
    results: Mapping[str, str],
    params: dict[str, dict[str, Any]],
    names: Sequence[str],
) -> None:
    """Draw methods with what each does and its result, their finished fits in the notes."""
    finished: dict[str, list[Job]] = {}
    for job in fits.jobs():
        if job.calibrator is not None:
            finished.setdefault(session.specs[job.key].method, []).append(job)
    with st.grid(2, min_column_width=METHOD, gap="small"):
        for name in names:
            with st.container(gap="xxsmall"):
                _method(session, name, results.get(name, ""), params, finished.get(name, []))


def _method(
    session: OpenSession,
    name: str,
    result: str,
    params: dict[str, dict[str, Any]],
    finished: Sequence[Job],
) -> None:
    """Draw the choice, the summary, time with the change of the NLL, and on a click notes, fits and parameters."""
    method = METHODS[name]
    key = f"fit/use/{name}"
    put(key, name in st.session_state[CHOSEN])

    def choose() -> None:
        others = [other for other in st.session_state[CHOSEN] if other != name]
        _choose([*others, name] if st.session_state[key] else others)

    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        chosen = st.checkbox(f"**{method.title}**", key=key, on_change=choose, width="content")
        with st.popover("Notes", icon=":material/tune:", type="tertiary", key=f"fit/fold/{name}"):
            for job in finished:
                finished_fit(job, job.spec.title if len(finished) > 1 else "")
            st.caption(f"{method.paper}. When not to use it: {method.avoid}")
            if "groups" in method.needs:
                st.caption(PROTECTED)
            if chosen:
                columns = list(session.data.group_columns())
                columns.sort(key=lambda name: name != audit_of(session).column)
                params[name] = parameter_widgets(method.cls, name, columns)
            else:
                st.caption("Choose the method to see its parameters.")
    st.markdown(method.summary)
    st.caption(result or ("about a second" if method.fast else "seconds to minutes"))


def results_by_method(session: OpenSession) -> dict[str, str]:
    """Time and change of the NLL against the raw model on the test rows, of the best finished fit of each method."""
    if not any(job.calibrator for job in fits.jobs()):
        return {}
    raw, *finished = fits.judged_fits(session)
    best: dict[str, tuple[float, str]] = {}
    for fit in finished:
        text = f"{number(fit.fit_seconds, 2)} s"
        change = np.inf
        if fit.evaluation.row_nll is not None and raw.evaluation.row_nll is not None:
            mean = fit.evaluation.rows.mean
            change = mean(fit.evaluation.row_nll) - mean(raw.evaluation.row_nll)
            text += f" · NLL {signed(change, 2).replace('-', '−')}"
        if fit.method not in best or change < best[fit.method][0]:
            best[fit.method] = change, text
    return {name: text for name, (_, text) in best.items()}


def few_rows(methods: Sequence[str], n_rows: int) -> str:
    """Name the chosen methods that may make the model worse with so few calibration rows, and what to take instead."""
    names = short_of_rows(methods, n_rows)
    if not names:
        return ""
    others = listed([METHODS[name].title for name in ("temperature", "quadratic", "venn_abers")])
    return (
        f"**{plural(n_rows, 'calibration row')} {'are' if n_rows != 1 else 'is'} few for "
        f"{listed([METHODS[name].title for name in names])}.** Fitted on 300 rows, they raised the NLL on other rows "
        f"by more than a standard error in one of eleven data sets or more. {others} did not. From "
        f"{METHODS[names[0]].enough_rows:,} rows on this warning is not shown."
    )


def _choose(methods: list[str]) -> None:
    """Put a preset's methods into the selection."""
    st.session_state[CHOSEN] = methods


def _unavailable(data: Predictions) -> None:
    """The methods that the data do not allow, with what they need."""
    sentences = [describe_exclusions(data)]
    for name, method in METHODS.items():
        missing = missing_arrays(name, data) if can_learn(method.cls, data) else []
        if missing and not (missing == ["groups"] and data.group_columns()):
            sentences.append(f"{method.title} needs {describe_missing(missing)}.")
    if text := " ".join(filter(None, sentences)):
        st.caption(text)
