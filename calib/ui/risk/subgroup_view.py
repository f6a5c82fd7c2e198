"""The Risk and groups page's lower half: which subgroups' confidence is off."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import streamlit as st

from calib.diagnostics.subgroups import LEAST_ROWS, Subgroups, folded, subgroups
from calib.formatting import plural
from calib.plots.per_class import per_class_chart
from calib.ui import figures
from calib.ui.fits import ShownFit
from calib.ui.narrow import sideways
from calib.ui.risk.subgroup_words import groups_sentence
from calib.ui.session import keep, session

MOST_GROUPS = 20
BY = {"groups": "group of the data", "predicted": "raw model's predicted class"}


def groups(everything: list[ShownFit], closer: ShownFit) -> None:
    """Confidence minus accuracy of each group, the worst first, from the raw model to the method."""
    now = session()
    assert now.test is not None
    own = now.test.groups is not None
    if not own:
        st.caption(
            "These data bring no subgroups: a column such as group, site or cohort would be read as one (on the Data "
            "page any column can be chosen). Until then, rows are grouped by the class that the raw model predicts."
        )
    with st.container(horizontal=True, vertical_alignment="bottom"):
        by = "predicted"
        if own:
            by = st.segmented_control(
                "Rows grouped by", list(BY), default="groups", required=True, format_func=BY.__getitem__,
                key="groups/by", persist_state="session",
            ) or "groups"  # fmt: skip
        least = int(
            st.number_input(
                "Least rows of a group", 2, 10_000, LEAST_ROWS, key="groups/least", persist_state="session", width=180
            )
        )
    of_row = _groups_of_rows(everything[0], by)
    methods = [everything[0], *([closer] if closer.key != everything[0].key else [])]
    found = [
        keep(("subgroups", fit.key, by, least), partial(subgroups, fit.evaluation, of_row, least)) for fit in methods
    ]
    last = found[-1]
    st.markdown(groups_sentence(last, closer.title, least))
    if last.enough.any():
        draw = partial(_chart, methods, last, of_row, least)
        figures.show(
            keep(("subgroup chart", closer.key, by, least), draw),
            "subgroups",
            "Mean confidence minus accuracy in each group; right of zero is overconfident. The intervals hold for all "
            "groups together, so that on a calibrated model no group at all leaves zero in 95 % of cases. First comes "
            "the group whose interval is farthest from zero."
            + (" The dot above is the raw model." if len(methods) > 1 else "")
            + (
                f" All others, and those with fewer than {least} rows, are pooled in the last row."
                if _pooled(last) >= least
                else ""
            ),
        )
    with st.expander(f"All {plural(len(last.names), 'group')}"):
        table = _table(last, found[0] if len(found) > 1 else None)
        st.dataframe(table, hide_index=True)
        sideways()
        st.caption(
            "Beside the rest: the gap less that of all other rows. ECE in 15 bins of equal width, of few rows always "
            "too large; debiased, in bins of equal counts less what noise alone would give."
        )


def _groups_of_rows(raw: ShownFit, by: str) -> npt.NDArray[Any]:
    now = session()
    assert now.test is not None
    if by == "groups" and now.test.groups is not None:
        return now.test.groups
    return np.array(now.test.class_names)[raw.evaluation.predicted]


def _pooled(found: Subgroups) -> int:
    """Rows of the groups that the figure does not name."""
    return int(found.gaps.rows.sum() - found.gaps.rows[found.worst_first[:MOST_GROUPS]].sum())


def _chart(methods: list[ShownFit], found: Subgroups, of_row: npt.NDArray[Any], least: int) -> Any:
    """The worst groups and, pooled, the others, as the classes of the Over- and underconfidence page."""
    order = found.worst_first[:MOST_GROUPS]
    names = [found.names[k] for k in order]
    others = len(found.names) - len(order)
    joint = 1.0 - (1.0 - found.level) / max(1, int(found.enough.sum()))
    gaps = [(fit.title, folded(fit.evaluation, of_row, order, found.names, joint), fit.style) for fit in methods]
    # A handful of pooled rows would stretch the axis and say nothing.
    shown = np.arange(len(order) + (_pooled(found) >= least))
    return per_class_chart([*names, f"{plural(others, 'other')}, pooled"], shown, gaps)


def _table(found: Subgroups, raw: Subgroups | None) -> pd.DataFrame:
    gaps = found.gaps
    known = found.enough
    table = pd.DataFrame(
        {
            "group": found.names,
            "rows": gaps.rows,
            "verdict": _verdicts(found),
            "accuracy": gaps.accuracy,
            "mean confidence": gaps.confidence,
            "gap": gaps.gap,
            "gap, low": np.where(known, gaps.gap_low, np.nan),
            "gap, high": np.where(known, gaps.gap_high, np.nan),
            "beside the rest": np.where(known, found.excess, np.nan),
            "rest, low": np.where(known, found.excess_low, np.nan),
            "rest, high": np.where(known, found.excess_high, np.nan),
            "ECE": found.ece,
            "ECE, debiased": found.ece_debiased,
        }
    )
    if raw is not None:
        table["gap of the raw model"] = raw.gaps.gap
    first = found.worst_first
    rest = np.setdiff1d(np.arange(len(found.names)), first)
    return table.take(np.concatenate([first, rest])).round(4)


def _verdicts(found: Subgroups) -> list[str]:
    said = np.where(found.enough, "no sign", "too few rows").astype(object)
    said[found.overconfident], said[found.underconfident] = "overconfident", "underconfident"
    return list(said)
