"""Parts of the Geometry page: success by separation, fast and exact, reductions of the training set, and one input."""

from __future__ import annotations

from functools import partial

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from calib.diagnostics.separation import EXACT
from calib.diagnostics.separation_study import WAYS, offered_reductions
from calib.formatting import escape_markdown, listed, plural
from calib.plots.geometry import GAP, Crowd, Zone, deciding_picture, image_grid, principal_picture, thinned
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
from calib.ui.geometry.state import Features, Measuring, Row, Study
from calib.ui.link import page_link
from calib.ui.menu import training_features
from calib.ui.progress import fit_here
from calib.ui.session import OpenSession, keep
from calib.ui.text import literal
from calib.ui.widgets import draw_table, segments

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
BY_NUMBER = "By number"
TABLE_PIXELS = 178
"""Four of the rows, and the names of the columns."""
PICTURES = ("True distances", "Principal components")
SHOWN_WIDTH = 130
MOST_NUMBERS = 8
HOW_TO_READ_PLANE = (
    "The plane through the input (star) and the two training inputs that decide its exact separation. Distances among "
    "these three are true, and so is that from the dashed line half-way between the two. The solid circle is the zone "
    "of exact separation and touches that line; the dotted one is the zone of fast separation. Green: safe; vermilion: "
    "dangerous. Other training inputs do not lie in this plane."
)
HOW_TO_READ_COMPONENTS = (
    "All inputs projected on the two directions along which the training data spread most. Rings are the training "
    "inputs that decide; circles have the true radius of the zones, while distances are shortened by the projection."
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


def one_input(study: Study, fits: list[ShownFit]) -> None:
    """One test row among the training data."""
    number = choose_row(study)
    if number is not None:
        explain_row(study, number, fits)


def choose_row(study: Study) -> int | None:
    """Let the visitor choose a test row: the first of an order, one from its table, or any by its number."""
    way = segments("Choose an input", (*WAYS, BY_NUMBER), WAYS[0], "geometry/way")
    raw, class_names = study.raw, study.session.data.class_names
    if way == BY_NUMBER:
        return int(st.number_input("Test row", 0, len(raw) - 1, value=0, key=f"geometry/row/{len(raw)}", width=200))
    rows, separation = study.measured.listed[way]
    if not len(rows):
        st.caption(f"There is none: no test row looked at is {'safe and wrong' if 'safe' in way else 'wrong'}.")
        return None
    names = np.array(class_names)
    table = pd.DataFrame(
        {
            "test row": rows,
            "predicted": names[raw.predicted[rows]],
            "label": names[raw.labels[rows]],
            "confidence": raw.confidence[rows],
            "separation": separation,
            "right": raw.correct[rows],
        }
    )
    event = draw_table(
        table, height=TABLE_PIXELS, key=f"geometry/table/{study.kind}/{way}", on_select="rerun",
        selection_mode="single-row",
        column_config={name: st.column_config.NumberColumn(format="%.3f") for name in ("confidence", "separation")},
    )  # fmt: skip
    chosen = event.selection.rows
    return int(rows[chosen[0]] if chosen and chosen[0] < len(rows) else rows[0])


def explain_row(study: Study, number: int, fits: list[ShownFit]) -> None:
    """Say why a row has its separation, show it beside what decides it, and draw both pictures."""
    row = study.row(number)
    at, names = row.explained.separation, study.session.data.class_names
    isotonic, logistic = (float(study.measured.map_at(kind, np.array([at]))[0]) for kind in ("isotonic", "sigmoid"))
    st.markdown(geometry_words.row_sentence(row, names, isotonic, logistic, at, axis_title(study.kind)))
    fitted = [(fit.title, float(fit.evaluation.confidence[number])) for fit in fits if fit.method == "geometric"]
    if fitted:
        st.markdown(geometry_words.fitted_sentence(fitted))
    roles = deciding_rows(row)
    if roles:
        _show_features(study, row, roles)
        _picture(study, row, roles)


def deciding_rows(row: Row) -> dict[int, str]:
    """Training rows that decide, with what each is; one that is nearest and decides is named once."""
    why = row.why
    roles: dict[int, str] = {}
    named = (
        (why.same_row, "nearest of the predicted class"), (why.other_row, "nearest of another class"),
        (why.deciding_same_row, "decides, predicted class"), (why.deciding_other_row, "decides, another class"),
    )  # fmt: skip
    for number, role in named:
        if number is not None:
            roles[number] = f"{roles[number]}, decides" if number in roles else role
    return roles


def _show_features(study: Study, row: Row, roles: dict[int, str]) -> None:
    features, train = study.features.test, study.features.train
    both = np.concatenate([features[[row.number]], train[list(roles)]])
    names = ["the input", *roles.values()]
    if features.ndim in (3, 4) and features.shape[3:] in ((), (1,), (3,)):
        labels = study.training_class_names(list(roles))
        told = zip(labels, roles.values(), strict=True)
        captions = [("the input", ""), *((role, label) for label, role in told)]
        with st.container(horizontal=True, gap="medium"):
            for tile, (role, label) in zip(tiles(both), captions, strict=True):
                caption = f"{literal(label)} · {role}" if label else role
                alt = f"Image of {role}{f', of the class {label}' if label else ''}"
                st.image(tile, caption=caption, width=SHOWN_WIDTH, alt=alt)
        return
    flat = both.reshape(len(both), -1).astype(np.float64)
    most = np.argsort(-np.ptp(flat, axis=0), kind="stable")[:MOST_NUMBERS]
    table = pd.DataFrame(flat[:, most], columns=[f"number {i}" for i in most])
    table.insert(0, "input", names)
    draw_table(table, height="content")
    if flat.shape[1] > len(most):
        st.caption(f"The {len(most)} of {flat.shape[1]:,} numbers in which these inputs differ most.")


def tiles(images: np.ndarray) -> list[np.ndarray]:
    """Images (n, H, W[, C]) one by one, on one scale of brightness, about ``SHOWN_WIDTH`` pixels wide."""
    images = thinned(images)
    pixel = max(1, SHOWN_WIDTH // images.shape[2])
    whole = image_grid(images, len(images), pixel)
    width, stride = images.shape[2] * pixel, (images.shape[2] + GAP) * pixel
    return [whole[:, start : start + width] for start in range(0, stride * len(images), stride)]


def _picture(study: Study, row: Row, roles: dict[int, str]) -> None:
    way = segments("Picture", PICTURES, PICTURES[0], "geometry/picture")
    why = row.why
    zone = Zone(why.fast, why.exact)
    if way == PICTURES[1]:
        fig, inside = keep(("geometry components", row.number), lambda: _components(study, row, zone, roles))
        widgets.show(fig, "principal-components", HOW_TO_READ_COMPONENTS)
        st.caption(geometry_words.components_sentence(study.components, study.n_train, inside))
    elif (plane := row.explained.plane) is not None:
        pair = [number for number in (why.deciding_same_row, why.deciding_other_row) if number is not None]
        widgets.show_kept(
            ("geometry plane", row.number), lambda: deciding_picture(plane, zone, *study.neighbours(row, pair)),
            "deciding-plane", HOW_TO_READ_PLANE,
        )  # fmt: skip
        st.caption(geometry_words.zone_sentence(row))


def _components(study: Study, row: Row, zone: Zone, roles: dict[int, str]) -> tuple[go.Figure, int]:
    """The figure, and how many training inputs drawn in the zone of exact separation lie outside it in truth."""
    plane, labels, numbers = study.components, study.features.train_labels, list(roles)
    placed = study.placed(row, numbers)
    names = np.array(study.training_class_names(plane.rows))
    crowd = Crowd(plane.places, plane.rows, names, labels[plane.rows] == row.predicted)
    deciding = list(zip(placed.spots, study.neighbours(row, numbers), strict=True))
    return principal_picture(crowd, placed.place, zone, deciding), placed.n_outside
