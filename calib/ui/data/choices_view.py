"""Everything that was guessed about an upload, shown and changeable by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pandas as pd
import streamlit as st

from calib.data import Inspection
from calib.data.canonical import KINDS
from calib.data.options import NOTHING
from calib.ui.data import upload as opening
from calib.ui.session import session

ARRAYS = {
    "outputs": "Model outputs",
    "labels": "Labels",
    "test_outputs": "Test outputs",
    "test_labels": "Test labels",
    "split": "Calibration or test",
    "groups": "Subgroup",
}
FEATURE_ARRAYS = {
    "features": "Features",
    "train_features": "Training features",
    "train_labels": "Training labels",
}
SWITCHES = {
    "transposed": "Outputs are (classes, rows)",
    "one_based": "Labels count from one",
    "drop_bad_rows": "Leave out rows with NaN, infinite values or no valid label",
    "percent": "Probabilities sum to 100",
    "renormalise": "Divide each row of probabilities by its sum",
    "standardise": "Standardise features by the training set",
}


def change_by_hand(inspection: Inspection) -> None:
    """A folded form with every guess filled in; applying it reads the files again."""
    with st.expander("What was guessed, to change by hand", icon=":material/tune:"):
        st.dataframe(
            pd.DataFrame(
                [{"name": a.name, "shape": "×".join(map(str, a.shape)), "dtype": a.dtype} for a in inspection.arrays]
            ),
            hide_index=True,
            height=min(38 + 35 * len(inspection.arrays), 250),
        )
        with st.form("choices", border=False):
            chosen = _form(inspection)
            if st.form_submit_button("Read again with these choices", icon=":material/refresh:"):
                now = session()
                changed = {k: v for k, v in chosen.items() if v != getattr(inspection.choices, k)}
                with st.spinner("Reading again…"):
                    opening.read(now.upload, replace(now.made, **changed))
                st.rerun()


def _form(inspection: Inspection) -> dict[str, Any]:
    guessed = inspection.choices
    names = [array.name for array in inspection.arrays]
    chosen: dict[str, Any] = {}
    columns = st.columns(3)
    for i, (name, label) in enumerate(ARRAYS.items()):
        now = getattr(guessed, name)
        with columns[i % 3]:
            chosen[name] = _columns(name, label, names, now)
    for column, (name, label) in zip(columns, FEATURE_ARRAYS.items(), strict=True):
        with column:
            chosen[name] = _one_of(name, label, names, getattr(guessed, name))
    with columns[0]:
        kinds = [None, *KINDS]
        chosen["kind"] = st.selectbox(
            "Outputs are",
            kinds,
            kinds.index(guessed.kind),
            format_func=lambda kind: (kind or "guess").replace("_", " "),
        )
        chosen["floor"] = st.number_input(
            "Floor: what exact zeros become", 0.0, 1.0, guessed.floor, format="%.3g",
            help="Half the smallest positive probability of the upload unless you say otherwise.",
        )  # fmt: skip
    with columns[1]:
        text = st.text_area(
            "Class names, one for each column in order", "\n".join(guessed.class_names or ()), height=120
        )
        chosen["class_names"] = tuple(line.strip() for line in text.splitlines() if line.strip()) or None
        if guessed.label_values is not None:
            chosen["label_values"] = _label_values(guessed.label_values)
    with columns[2]:
        for name, label in SWITCHES.items():
            on = st.toggle(label, bool(getattr(guessed, name)))
            chosen[name] = on if on != bool(getattr(guessed, name)) else getattr(guessed, name)
    return chosen


def _label_values(guessed: tuple[Any, ...]) -> tuple[Any, ...]:
    """The label that belongs to each column: the order of the classes, where labels are not column numbers."""
    text = st.text_area("Label of each column, in the columns' order", "\n".join(map(str, guessed)), height=120)
    by_text = {str(value): value for value in guessed}
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return tuple(by_text.get(line, line) for line in lines)


def _columns(name: str, label: str, names: list[str], now: Any) -> Any:
    """One array by name; a table's outputs are several columns."""
    if isinstance(now, tuple):
        return tuple(st.multiselect(label, names, [n for n in now if n in names]))
    return _one_of(name, label, names, now)


def _one_of(name: str, label: str, names: list[str], now: Any) -> Any:
    """One array or nothing; the columns of a table that are read now count as one choice."""
    options = list(dict.fromkeys([now or NOTHING, NOTHING, *names]))
    chosen = st.selectbox(label, options, format_func=_spelled, key=f"choices/{name}/{now}")
    return now if chosen == (now or NOTHING) else chosen


def _spelled(choice: str | tuple[str, ...]) -> str:
    """A choice for the list: a name, ``none``, or how many columns."""
    return f"{len(choice):,} columns from {choice[0]}" if isinstance(choice, tuple) else choice or "none"
