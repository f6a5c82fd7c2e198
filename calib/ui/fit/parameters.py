"""Widgets for a calibrator's parameters, made from its declared fields, and one for where all of them are fitted."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import streamlit as st

from calib.base import Calibrator
from calib.formatting import listed
from calib.hardware import DEVICES, cpu_description, gpu_present
from calib.registry import METHODS

DEVICE_NAMES = {"auto": "Auto", "cpu": "CPU", "gpu": "GPU"}


def device_choice(methods: list[str]) -> str:
    """Ask once where the chosen methods are fitted, and say which of them that concerns."""
    able = [METHODS[name].title for name in methods if METHODS[name].uses_device]
    present = gpu_present()
    chosen = st.segmented_control(
        "Device",
        DEVICES,
        default="auto",
        required=True,
        format_func=DEVICE_NAMES.__getitem__,
        key="fit/device",
        help="Auto takes the GPU for slow fits, and for quick ones where the data are big enough to pay for its start.",
        disabled=not (present and able),
        persist_state="session",
    )
    if not present:
        could = f" {listed(able)} could use one." if able else ""
        st.caption(f"No NVIDIA GPU on this machine: everything is fitted on the {cpu_description()}.{could}")
        return "auto"
    rest = "; the others are fitted on the CPU" if len(able) < len(methods) else ""
    st.caption(f"{listed(able)} can use the GPU{rest}." if able else "None of the chosen methods uses a GPU.")
    return chosen or "auto"


def parameter_widgets(cls: type[Calibrator], name: str) -> dict[str, Any]:
    """Show one widget per declared parameter, the seed last; return the chosen values by name.

    The device is chosen for all methods together, see :func:`device_choice`.
    """
    chosen = {}
    columns = st.columns(2)
    declared = sorted((f for f in fields(cls) if f.name != "device"), key=lambda f: f.name == "random_state")
    for i, f in enumerate(declared):
        with columns[i % 2]:
            chosen[f.name] = _widget(f.name, f.default, dict(f.metadata), key=f"param/{name}/{f.name}")
    return chosen


def _widget(name: str, default: Any, meta: dict[str, Any], key: str) -> Any:
    label = name.replace("_", " ")
    keep: dict[str, Any] = {"key": key, "help": meta.get("help"), "persist_state": "session"}
    if meta.get("choices") is not None:
        options = list(meta["choices"])
        return st.selectbox(label, options, index=options.index(default), format_func=str, **keep)
    if isinstance(default, bool):
        return st.toggle(label, value=default, **keep)
    if isinstance(default, (int, float)):
        kind = type(default)
        low, high = meta.get("low"), meta.get("high")
        return st.number_input(
            label,
            value=default,
            min_value=None if low is None else kind(low),
            max_value=None if high is None else kind(high),
            step=1 if kind is int else None,
            format="%d" if kind is int else "%.4g",
            **keep,
        )
    return st.text_input(label, value="" if default is None else str(default), **keep) or None
