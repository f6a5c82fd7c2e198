"""Parts of the Risk and groups page: selective prediction at an accepted error, and calibration by subgroup."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import streamlit as st

from calib.data import Predictions
from calib.diagnostics.risk_coverage import (
    Answerable,
    OrderQuality,
    RiskCoverage,
    answerable,
    order_qualities,
    risk_coverage,
)
from calib.diagnostics.subgroups import LEAST_ROWS, Subgroups, folded, subgroups
from calib.evaluation.view import View
from calib.formatting import plural
from calib.plots.confidence_bands import per_class_chart
from calib.plots.risk import answerable_chart, risk_diagram
from calib.ui import widgets
from calib.ui.fits import ShownFit, beside_raw
from calib.ui.risk.text import finding, groups_sentence, how_orders_differ
from calib.ui.session import keep
from calib.ui.widgets import segments, several, show_table, whole_number

ACCEPTED = 2.0
"""Percent of error to begin with."""
MOST_DRAWN = 5
CURVES_PIXELS, ANSWERS_PIXELS = 590, 410
"""Both and the menu fill a window of 1500 pixels; in narrower ones they stand one above the other."""

MOST_GROUPS = 20
BY = {"groups": "group of the data", "predicted": "raw model's predicted class"}


def curve_of(fit: ShownFit) -> RiskCoverage:
    """Risk against coverage of one method on the test rows."""
    return keep(("risk", fit.key), lambda: risk_coverage(fit.evaluation.confidence, fit.evaluation.correct))


def accepted_error() -> float:
    """Let the visitor say which share of wrong answers is acceptable."""
    percent = st.number_input(
        "Error you accept among the inputs answered, in %", 0.0, 100.0, ACCEPTED, 0.5, key="risk/accepted",
        persist_state="session", width=330, format="%g",
        help="Inputs whose confidence is too low are not answered: they go to a person, or to a better model.",
    )  # fmt: skip
    return percent / 100


def answers(fits: list[ShownFit], closer: ShownFit, accepted: float) -> None:
    """The curves, and what each method can answer, with the numbers."""
    answers_of = {fit.key: answerable(curve_of(fit), accepted) for fit in fits}
    drawn = _drawn(fits, closer)
    key = (*(fit.key for fit in drawn), accepted)
    with st.container(horizontal=True, gap="medium"):
        with st.container(width=CURVES_PIXELS if len(fits) > 1 else "stretch"):
            curves = [(fit.title, curve_of(fit), fit.style) for fit in drawn]
            widgets.show_kept(
                ("risk figure", *key),
                partial(risk_diagram, curves, accepted, title="Error among the answered"),
                "risk-coverage",
                "Risk-coverage curve: inputs are answered in the order of their confidence, which is the probability "
                "of the predicted class, and the line is the error among those answered so far, at the right end that "
                "of all. A lower line puts wrong predictions further back. The band is the 95 % interval of "
                f"{drawn[-1].title}; dots are the best possible order of its predictions. A symbol marks the last "
                "place within the error you accept. Maps that keep the order of the confidences cannot change the "
                "line.",
            )
        if len(fits) > 1:
            with st.container(width=ANSWERS_PIXELS):
                rows = [(fit.title, answers_of[fit.key], fit.style) for fit in fits]
                draw = partial(answerable_chart, rows, accepted, title="What each method can answer")
                widgets.show_kept(
                    ("answerable", *(fit.key for fit in fits), accepted),
                    draw,
                    "answerable",
                    "The largest share of inputs with no more than the accepted error among them, with its 95 % "
                    "interval; the dotted line is the raw model.",
                )
    with st.expander("Numbers of every method"):
        table = _table(fits, answers_of)
        show_table(table)
        st.caption(
            "AURC is the area under the risk-coverage curve: the mean error over all shares answered. E-AURC is AURC "
            "minus that of a perfect order of the same predictions; lower is better. A threshold is a confidence of "
            "the method itself, so each has its own."
        )


def words(fits: list[ShownFit], closer: ShownFit, accepted: float) -> None:
    """The finding, and whether any method orders the inputs better than the raw model."""
    st.markdown(finding(closer.title, curve_of(closer), answerable(curve_of(closer), accepted), accepted))
    if len(fits) > 1:
        titles = [fit.title for fit in fits]
        st.markdown(how_orders_differ(list(zip(titles, orders(fits), strict=True))))


def orders(fits: list[ShownFit]) -> list[OrderQuality]:
    """Areas under the curves of all methods, the first of which is the raw model."""
    return keep(("orders", *(fit.key for fit in fits)), lambda: order_qualities([fit.evaluation for fit in fits]))


def _drawn(fits: list[ShownFit], closer: ShownFit) -> list[ShownFit]:
    """The raw model, a few others of the visitor's choice, and last the method looked at closely."""
    rest = [fit for fit in fits[1:] if fit.key != closer.key]
    if rest:
        titles = {fit.key: fit.title for fit in rest}
        chosen = several(titles, "risk/beside", "Beside it", most=MOST_DRAWN - 2)
        rest = [fit for fit in rest if fit.key in chosen]
    return [*([fits[0]] if closer.key != fits[0].key else []), *rest, closer]


def _table(fits: list[ShownFit], answers_of: dict[str, Answerable]) -> pd.DataFrame:
    rows = []
    for fit, order in zip(fits, orders(fits), strict=True):
        share, low, high = answers_of[fit.key].coverage
        rows.append(
            {
                "method": fit.title,
                "answered": f"{100 * share:.1f} %",
                "95 % interval": f"{100 * low:.1f} to {100 * high:.1f} %",
                "threshold": answers_of[fit.key].threshold,
                "AURC": order.aurc.value,
                "AURC, low": order.aurc.low,
                "AURC, high": order.aurc.high,
                "E-AURC": order.excess_aurc,
                "change of AURC": order.change.value if order.change else float("nan"),
                "change, low": order.change.low if order.change else float("nan"),
                "change, high": order.change.high if order.change else float("nan"),
            }
        )
    return pd.DataFrame(rows).round(6)


def groups(test: Predictions, fits: list[ShownFit], closer: ShownFit) -> None:
    """The gap of each group, the worst first, from the raw model to the method."""
    if test.groups is None:
        st.caption(
            "These data have no subgroups: a column such as group, site or cohort would be read as one (on the Data "
            "page any column can be chosen). Until then, rows are grouped by the class that the raw model predicts."
        )
    with st.container(horizontal=True, vertical_alignment="bottom"):
        by = "predicted"
        if test.groups is not None:
            by = segments("Rows grouped by", BY, "groups", "groups/by")
        least = whole_number("Minimum rows of a group", 2, 10_000, LEAST_ROWS, "groups/least", width=180)
    own = test.groups if by == "groups" else None
    of_row = np.array(test.class_names)[fits[0].evaluation.predicted] if own is None else own
    methods = beside_raw(fits, closer)
    results = [
        keep(("subgroups", fit.key, by, least), partial(subgroups, fit.evaluation, of_row, least)) for fit in methods
    ]
    last, view = results[-1], closer.evaluation.view
    st.markdown(groups_sentence(last, closer.title, least, view))
    if last.enough.any():
        draw = partial(_chart, methods, last, of_row, least)
        widgets.show_kept(
            ("subgroup chart", closer.key, by, least),
            draw,
            "subgroups",
            f"{view.mean_said.capitalize()} minus {view.outcome} in each group; right of zero: {view.too_high}. The "
            "intervals hold for all groups together, so that on a calibrated model no group at all leaves zero in "
            "95 % of cases. First comes the group whose interval is farthest from zero."
            + (" The dot above is the raw model." if len(methods) > 1 else "")
            + (
                f" All others, and those with fewer than {least} rows, are pooled in the last row."
                if _pooled(last) >= least
                else ""
            ),
        )
    with st.expander(f"All {plural(len(last.names), 'group')}"):
        table = _subgroup_table(last, results[0] if len(results) > 1 else None, view)
        show_table(table)
        st.caption(
            "Beside the rest: the gap less that of all other rows. ECE in 15 bins of equal width, of few rows always "
            "too large; debiased, in bins of equal counts less what noise alone would give."
        )


def _pooled(result: Subgroups) -> int:
    """Rows of the groups that the figure does not name."""
    return int(result.gaps.rows.sum() - result.gaps.rows[result.worst_first[:MOST_GROUPS]].sum())


def _chart(methods: list[ShownFit], result: Subgroups, of_row: npt.NDArray[Any], least: int) -> Any:
    """The worst groups and, pooled, the others, as the classes of the Over- and underconfidence page."""
    order = result.worst_first[:MOST_GROUPS]
    names = [result.names[k] for k in order]
    others = len(result.names) - len(order)
    joint = 1.0 - (1.0 - result.level) / max(1, int(result.enough.sum()))
    gaps = [(fit.title, folded(fit.evaluation, of_row, order, result.names, joint), fit.style) for fit in methods]
    # A handful of pooled rows would stretch the axis.
    shown = np.arange(len(order) + (_pooled(result) >= least))
    return per_class_chart(
        [*names, f"{plural(others, 'other')}, pooled"], shown, gaps, view=methods[-1].evaluation.view
    )


def _subgroup_table(result: Subgroups, raw: Subgroups | None, view: View) -> pd.DataFrame:
    gaps = result.gaps
    known = result.enough
    table = pd.DataFrame(
        {
            "group": result.names,
            "rows": gaps.rows,
            "verdict": _verdicts(result, view),
            view.outcome: gaps.accuracy,
            view.mean_said: gaps.confidence,
            "gap": gaps.gap,
            "gap, low": np.where(known, gaps.gap_low, np.nan),
            "gap, high": np.where(known, gaps.gap_high, np.nan),
            "beside the rest": np.where(known, result.excess, np.nan),
            "rest, low": np.where(known, result.excess_low, np.nan),
            "rest, high": np.where(known, result.excess_high, np.nan),
            "ECE": result.ece,
            "ECE, debiased": result.ece_debiased,
        }
    )
    if raw is not None:
        table["gap of the raw model"] = raw.gaps.gap
    first = result.worst_first
    rest = np.setdiff1d(np.arange(len(result.names)), first)
    return table.take(np.concatenate([first, rest])).round(4)


def _verdicts(result: Subgroups, view: View) -> list[str]:
    said = np.where(result.enough, "no sign", "too few rows").astype(object)
    said[result.overconfident], said[result.underconfident] = view.too_high, view.too_low
    return list(said)
