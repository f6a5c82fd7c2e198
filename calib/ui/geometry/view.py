"""Parts of the Geometry page: success by separation, fast against exact, and reductions of the training set."""

from __future__ import annotations

from functools import partial

import plotly.graph_objects as go
import streamlit as st

from calib.diagnostics.separation import EXACT
from calib.diagnostics.separation_study import offered_reductions
from calib.formatting import escape_markdown, listed, plural
from calib.plots.geometry_success import (
    NAMES,
    fast_against_exact,
    separation_densities,
    success_curve,
    tradeoff_ece,
    tradeoff_speed,
)
from calib.registry import METHODS
from calib.ui import widgets
from calib.ui.data.upload import open_sample
from calib.ui.fits import ShownFit
from calib.ui.geometry import text as geometry_words
from calib.ui.geometry.state import Features, Measuring, Study
from calib.ui.link import page_link
from calib.ui.menu import training_features
from calib.ui.progress import fit_here
from calib.ui.session import OpenSession, keep
from calib.ui.widgets import segments

KINDS = {"l2": "Fast, L2", "l1": "Fast, L1", "linf": "Fast, L∞", EXACT: "Exact, L2"}
SAMPLE = "digits-cnn"

HOW_TO_READ_SUCCESS = (
    "Across is the separation: how far an input lies inside its predicted class among the training data, negative "
    "(shaded) where another class is nearer. Up is the accuracy there. Dots are test rows in bins of "
    "equally many, with 95\u00a0% Wilson intervals; lines are the two maps that geometric calibration can use, learned "
    "from calibration rows. A good map passes through the dots; where it is flat, separation adds no information."
)
HOW_TO_READ_SPREAD = (
    "Right predictions upwards, wrong ones downwards, each group on a height of its own. The further apart the two, "
    "the better separation tells right from wrong. The shaded side is dangerous: nearer to another class."
)
HOW_TO_READ_COST = (
    "Fast separation is half the difference of two distances; exact separation looks at all pairs of training inputs "
    "of the predicted and of other classes. Both give the radius of a zone and have the same sign; fast is never the "
    "larger in size, so no dot lies between the dotted line and the horizontal through 0."
)

HOW_TO_READ_SPEED = (
    "How many predictions geometric calibration makes for each second of processor time, reducing the input included, "
    "when the training set is reduced by t. Higher is better. Timings repeat to some 20\u00a0%."
)
HOW_TO_READ_ECE = (
    "The calibration error (15 bins) that is left on test rows with the training set reduced by t, with 95\u00a0% "
    "bootstrap intervals; the dotted line is the one without reduction. Lower is better. Whether a "
    "reduction is significantly worse is told in the text, by the paired interval of the difference."
)


def need_features(session: OpenSession) -> Features | None:
    """What separation needs; None where there is no such thing, in which case it is said what is missing."""
    features = Features.from_session(session)
    if features is not None:
        return features
    st.info(f"Separation lies among the training data, and these data hold no {listed(training_features(session))}.")
    with st.container(horizontal=True):
        page_link("app.py", "Open data with them", ":material/upload_file:")
        st.button(
            "Open the digits sample, which has them", key="geometry/sample", icon=":material/image:",
            on_click=open_sample, args=(SAMPLE,),
        )  # fmt: skip
    return None


def choose_kind() -> str:
    """Which separation the page is about."""
    return segments("Separation", KINDS, "l2", "geometry/kind")


def axis_title(kind: str) -> str:
    """The separation as an axis calls it."""
    return f"separation ({KINDS[kind].lower().replace('l1', 'L1').replace('l2', 'L2').replace('l∞', 'L∞')})"


def success(study: Study) -> None:
    """Success rate against separation, with both maps."""

    def build() -> go.Figure:
        return success_curve(study.measured.rates, study.measured.grid, study.maps, axis_title(study.kind))

    widgets.show_kept(("geometry success", study.kind), build, "success-by-separation", HOW_TO_READ_SUCCESS)


def spread(study: Study) -> None:
    """How right and wrong predictions spread over separation."""
    st.markdown(geometry_words.sides_sentence(study.measured.sides))
    widgets.show_kept(
        ("geometry spread", study.kind),
        lambda: separation_densities(study.measured.histogram, axis_title(study.kind)),
        "separations",
        HOW_TO_READ_SPREAD,
    )


def fast_and_exact(study: Study) -> None:
    """How near fast separation comes to the exact one, and what each costs."""
    costs = study.costs
    st.markdown(geometry_words.costs(costs))
    n_shown, n = len(costs.dots[0]), len(costs.exact.rows)
    if not n_shown:
        return
    widgets.show_kept(
        ("geometry", "cost"), partial(fast_against_exact, *costs.dots), "fast-against-exact", HOW_TO_READ_COST
    )
    if n_shown < n:
        st.caption(f"{n_shown:,} of {n:,} rows are drawn.")


def offer_fit(fits: list[ShownFit]) -> None:
    """Say that separation is a calibrator too, where it is not fitted yet."""
    if all(fit.method != "geometric" for fit in fits):
        title = METHODS["geometric"].title
        fit_here("geometric", f"{title} turns this into a calibrator, to be compared and exported.")


def tradeoff(session: OpenSession, features: Features) -> None:
    """The controls, and the figures as far as they are measured."""
    measuring = keep(("geometry", "tradeoff"), partial(Measuring.from_session, session))
    offered = offered_reductions(measuring.test.features)
    names = st.pills(
        "Reductions", offered, selection_mode="multi", default=offered, format_func=NAMES.__getitem__,
        key=f"geometry/reductions/{len(offered)}", persist_state="session",
    )  # fmt: skip
    st.caption(whose(measuring, session, features))
    st.fragment(_progress, run_every=0.5 if measuring.waiting else None)(measuring, names, bool(measuring.waiting))
    _figures(measuring, names)


def whose(measuring: Measuring, session: OpenSession, features: Features) -> str:
    """On what it is measured."""
    counts = [
        (measuring.n_train, len(features.train), "training row"),
        (len(measuring.calibration), len(session.calibration), "calibration row"),
        (len(measuring.test), len(session.test), "test row"),
    ]
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
        st.error(f"The measurement ended early: {escape_markdown(measuring.trouble)}", icon=":material/error:")
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
            with st.container(width=widgets.INSIDE):
                widgets.show_kept((key, settings), partial(draw, shown), key, how)
