"""Widgets for a calibrator's parameters, made from its declared fields."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import streamlit as st

from calib.base import Calibrator


def parameter_widgets(cls: type[Calibrator], name: str) -> dict[str, Any]:
    """Show one widget per declared parameter; return the chosen values by name."""
    chosen = {}
    columns = st.columns(2)
    declared = [f for f in fields(cls) if f.name != "random_state"] + [
        f for f in fields(cls) if f.name == "random_state"
    ]
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
