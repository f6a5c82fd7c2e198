"""The reduction trade-off on the Geometry page: measured on request, setting by setting, and to be stopped."""

from __future__ import annotations

from functools import partial

import streamlit as st

from calib.diagnostics.reduction_cost import offered_reductions
from calib.formatting import plural
from calib.plots.geometry_cost import NAMES, tradeoff_ece, tradeoff_speed
from calib.ui import figures
from calib.ui.geometry import text as geometry_words
from calib.ui.geometry.geometry_measuring import Measuring
from calib.ui.session import keep, session

HALF = 495
"""Two figures and the menu fill a window of 1500 pixels."""

HOW_TO_READ_SPEED = (
    "How many predictions geometric calibration makes for each second of processor time, reducing the input included, "
    "when the training set is reduced by t. Higher is better. Timings repeat to some 20 %."
)
HOW_TO_READ_ECE = (
    "The calibration error (15 bins) that is left on test rows with the training set reduced by t, with 95 % bootstrap "
    "intervals; the dotted line is the one without reduction. Lower is better, but overlapping intervals do not tell "
    "two reductions apart."
)


def tradeoff() -> None:
    """The controls, and the figures as far as they are measured."""
    measuring = keep(("geometry", "tradeoff"), Measuring.of_session)
    offered = offered_reductions(measuring.test.features)
    names = st.pills(
        "Reductions", offered, selection_mode="multi", default=offered, format_func=NAMES.__getitem__,
        key=f"geometry/reductions/{len(offered)}", persist_state="session",
    )  # fmt: skip
    st.caption(whose(measuring))
    st.fragment(_progress, run_every=0.5 if measuring.waiting else None)(measuring, names, bool(measuring.waiting))
    _figures(measuring, names)


def whose(measuring: Measuring) -> str:
    """On what it is measured."""
    now = session()
    assert now.calibration is not None and now.test is not None
    labels, whole = measuring.test.train_labels, now.test.train_labels
    assert labels is not None and whole is not None
    counts = [
        (len(part), len(all_of), name)
        for part, all_of, name in (
            (labels, whole, "training row"), (measuring.calibration.labels, now.calibration.labels, "calibration row"),
            (measuring.test.labels, now.test.labels, "test row"),
        )
    ]  # fmt: skip
    text = ", ".join(plural(count, name) for count, _, name in counts)
    drawn = any(count < n for count, n, _ in counts)
    return f"Measured with {text}{', a random draw of them: all would take minutes' if drawn else ''}."


def _progress(measuring: Measuring, names: list[str], was_running: bool) -> None:
    waiting = list(measuring.waiting)
    if was_running != bool(waiting):
        st.rerun()  # the timer, and the figures, are the whole page's
    if waiting:
        done = measuring.asked - len(waiting)
        name, factor = waiting[0]
        at = NAMES[name] + (f", t = {factor}" if name != "none" else "")
        st.progress(done / measuring.asked, text=f"{done} of {measuring.asked} · {at}")
        st.button("Stop", key="geometry/stop", icon=":material/cancel:", on_click=measuring.stop)
        return
    if measuring.trouble:
        st.error(f"The measurement ended early: {measuring.trouble}", icon=":material/error:")
    if measuring.missing(names):
        st.button(
            "Measure speed and calibration", key="geometry/measure", icon=":material/speed:", disabled=not names,
            on_click=measuring.begin, args=(names,),
        )  # fmt: skip


def _figures(measuring: Measuring, names: list[str]) -> None:
    shown = measuring.shown(names)
    if measuring.waiting or len(shown) < 2:
        return
    st.markdown(geometry_words.tradeoff_sentence(shown))
    settings = tuple((one.reduction, one.factor) for one in shown)
    with st.container(horizontal=True, gap="medium"):
        for key, draw, how in (
            ("reduction-speed", tradeoff_speed, HOW_TO_READ_SPEED), ("reduction-ece", tradeoff_ece, HOW_TO_READ_ECE),
        ):  # fmt: skip
            with st.container(width=HALF):
                figures.show(keep((key, settings), partial(draw, shown)), key, how)
