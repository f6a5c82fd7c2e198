"""The parts of the Over/underconfidence page."""

from __future__ import annotations

from functools import partial

import plotly.graph_objects as go
import streamlit as st

from calib.over_under import class_confidence, theorem_one
from calib.plots.confidence import OverUnder, confidence_densities, over_under_chart
from calib.plots.per_class import per_class_chart
from calib.plots.theorem import theorem_chain
from calib.reliability import confidence_histogram
from calib.ui import figures
from calib.ui.fits import ShownFit, intervals_of
from calib.ui.session import keep, session
from calib.ui.wording import number

DENSITY_PIXELS = 325
"""Three densities and the menu fill a window of 1500 pixels."""


def over_under(chosen: list[ShownFit]) -> None:
    """Overconfidence and underconfidence of each method with their intervals."""

    def chart() -> go.Figure:
        rows = []
        for fit in chosen:
            intervals = intervals_of(fit)
            rows.append(OverUnder(fit.title, fit.style, intervals["overconfidence"], intervals["underconfidence"]))
        return over_under_chart(rows)

    figures.show(
        keep(("over-under", *(fit.key for fit in chosen)), chart),
        "over-under",
        "Overconfidence is how sure a method is where it is wrong, underconfidence how doubtful it is where it is "
        "right; both with 95 % intervals. Calibrating trades one for the other: neither should be zero.",
    )


def densities(chosen: list[ShownFit]) -> None:
    """Confidence of right and wrong predictions, one picture per method on the same scale."""
    crowded = (chosen[0].evaluation.confidence > 0.9).mean() > 0.5
    scale = st.segmented_control(
        "Scale", ["linear", "logit"], default="logit" if crowded else "linear", required=True,
        key=f"confidence/scale/{crowded}", persist_state="session",
    )  # fmt: skip
    with st.container(horizontal=True, gap="medium"):
        for fit in chosen:
            with st.container(width=DENSITY_PIXELS):
                figures.show(
                    keep(("densities", fit.key, scale), partial(_densities, fit, scale or "linear")),
                    f"densities-{fit.title}",
                    "Upwards the confidence of right predictions, downwards that of wrong ones, each on a height "
                    "of its own. Wrong predictions at the right end are the dangerous ones.",
                )


def _densities(fit: ShownFit, scale: str) -> go.Figure:
    histogram = confidence_histogram(*fit.evaluation.pair, scale=scale)
    return confidence_densities(histogram, fit.style, title=fit.title)


def theorem(chosen: list[ShownFit]) -> None:
    """Theorem 1 as a bound: the weighted gap of o and u is at most every calibration error."""
    st.latex(
        r"|\,o\,P(\text{wrong}) - u\,P(\text{right})\,| \le \mathrm{ECE}_1 \le \mathrm{ECE}_2 \le \mathrm{ECE}_\infty"
    )
    chains = [(fit.title, theorem_one(*fit.evaluation.pair), fit.style) for fit in chosen]
    figures.show(
        keep(("theorem", *(fit.key for fit in chosen)), lambda: theorem_chain(chains)),
        "theorem-1",
        "Each method's marker is the gap between over- and underconfidence, weighted by how often it is wrong and "
        "right: no calibration error can lie to the left of it (Wenger et al. 2020, theorem 1; 15 equal-width bins).",
    )
    raw = chains[0][1]
    st.caption(
        f"{chosen[0].title}: o = {number(raw.over)}, u = {number(raw.under)}; "
        f"{number(raw.gap)} ≤ {number(raw.ece_1)} ≤ {number(raw.ece_2)} ≤ {number(raw.ece_inf)}"
    )


def per_class(chosen: list[ShownFit]) -> None:
    """The confidence gap of each predicted class, one method at a time."""
    now = session()
    assert now.data is not None
    titles = [fit.title for fit in chosen]
    title = st.segmented_control(
        "Method", titles, default=titles[0], required=True, key=f"confidence/class/{len(titles)}"
    )
    fit = chosen[titles.index(title or titles[0])]
    names = now.data.class_names
    figures.show(
        keep(("per class", fit.key), lambda: per_class_chart(names, class_confidence(fit.evaluation), fit.style)),
        "per-class",
        "Mean confidence minus accuracy among the predictions of each class: to the right of zero the method is "
        "overconfident when it predicts that class, to the left underconfident.",
    )
