"""One test input on the Geometry page: which, what decides its separation, and two pictures of it."""

from __future__ import annotations

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from calib.diagnostics.planes import DecidingPlane
from calib.numerics import Ints
from calib.plots.geometry import Crowd, Neighbour, Zone, deciding_picture, principal_picture
from calib.plots.image_grid import GAP, image_grid
from calib.ui import figures
from calib.ui.fits import ShownFit
from calib.ui.geometry import text as geometry_words
from calib.ui.geometry.state import Row, Study
from calib.ui.geometry.view import axis_title
from calib.ui.session import keep

WAYS = ("Lowest separation", "Wrong and most confident", "Wrong though safe", "By number")
LISTED = 50
PICTURES = ("True distances", "Principal components")
SHOWN_WIDTH = 130
LARGEST = 128
"""Pixels of an image each way; of larger ones every second, third, ... is shown."""
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


def choose_row(study: Study) -> int | None:
    """Let the visitor choose a test row: the first of an order, one from its table, or any by its number."""
    way = st.segmented_control(
        "Choose an input", WAYS, default=WAYS[0], required=True, key="geometry/way", persist_state="session"
    )
    if way == "By number":
        return int(
            st.number_input(
                "Test row", 0, len(study.test) - 1, value=0, key=f"geometry/row/{len(study.test)}", width=200
            )
        )
    rows, separation = candidates(study, way or WAYS[0])
    if not len(rows):
        st.caption(f"There is none: no test row looked at is {'safe and wrong' if 'safe' in str(way) else 'wrong'}.")
        return None
    names = np.array(study.test.class_names)
    table = pd.DataFrame(
        {
            "test row": rows,
            "predicted": names[study.predicted[rows]],
            "label": names[study.test.labels[rows]],
            "confidence": study.confidence[rows],
            "separation": separation,
            "right": study.right[rows],
        }
    )
    with st.expander(f"The first {len(rows)} of these rows: choose one"):
        event = st.dataframe(
            table, hide_index=True, height=260, key=f"geometry/table/{study.kind}/{way}", on_select="rerun",
            selection_mode="single-row",
            column_config={name: st.column_config.NumberColumn(format="%.3f") for name in ("confidence", "separation")},
        )  # fmt: skip
    chosen = event.selection.rows
    return int(rows[chosen[0]] if chosen and chosen[0] < len(rows) else rows[0])


def candidates(study: Study, way: str) -> tuple[Ints, np.ndarray]:
    """Test rows in the order of a way to choose, with their separations, up to ``LISTED``."""
    measured = study.measured()
    rows, separation = measured.rows, measured.separation
    wrong = ~study.right[rows]
    if way == "Lowest separation":
        keys, group = separation, np.ones(len(rows), dtype=bool)
    elif way == "Wrong and most confident":
        keys, group = -study.confidence[rows], wrong
    else:
        keys, group = -separation, wrong & (separation > 0)
    order = np.argsort(keys[group], kind="stable")[:LISTED]
    return rows[group][order], separation[group][order]


def explain_row(study: Study, number: int, everything: list[ShownFit]) -> None:
    """Say why a row has its separation, show it beside what decides it, and draw both pictures."""
    row = study.row(number)
    at = study.separation_of(row)
    isotonic, logistic = (float(study.map_at(kind, at)[0]) for kind in ("isotonic", "sigmoid"))
    st.markdown(
        geometry_words.row_sentence(
            row, study.test.class_names, isotonic, logistic, float(at[0]), axis_title(study.kind)
        )
    )
    fitted = [(fit.title, float(fit.evaluation.confidence[number])) for fit in everything if fit.method == "geometric"]
    if fitted:
        st.markdown(geometry_words.fitted_sentence(fitted))
    roles = deciding_rows(row)
    if roles:
        _show_features(study, row, roles)
        _picture(study, row, roles)


def deciding_rows(row: Row) -> dict[int, str]:
    """Training rows that decide, with what each is; one that is nearest and decides is named once."""
    why = row.why
    found: dict[int, str] = {}
    named = (
        (why.same_row, "nearest of the predicted class"), (why.other_row, "nearest of another class"),
        (why.deciding_same_row, "decides, predicted class"), (why.deciding_other_row, "decides, another class"),
    )  # fmt: skip
    for number, role in named:
        if number is not None:
            found[number] = f"{found[number]}, decides" if number in found else role
    return found


def _show_features(study: Study, row: Row, roles: dict[int, str]) -> None:
    features, train = study.test.features, study.test.train_features
    assert features is not None and train is not None
    both = np.concatenate([features[[row.number]], train[list(roles)]])
    names = ["the input", *roles.values()]
    if features.ndim in (3, 4) and features.shape[3:] in ((), (1,), (3,)):
        labels = study.training_class_names(list(roles))
        captions = ["the input", *(f"{label} · {role}" for label, role in zip(labels, roles.values(), strict=True))]
        with st.container(horizontal=True, gap="medium"):
            for tile, caption in zip(tiles(both), captions, strict=True):
                st.image(tile, caption=caption, width=SHOWN_WIDTH)
        return
    flat = both.reshape(len(both), -1).astype(np.float64)
    most = np.argsort(-np.ptp(flat, axis=0), kind="stable")[:MOST_NUMBERS]
    st.dataframe(pd.DataFrame(flat[:, most], index=names, columns=[f"number {i}" for i in most]), height="content")
    if flat.shape[1] > len(most):
        st.caption(f"The {len(most)} of {flat.shape[1]:,} numbers in which these inputs differ most.")


def tiles(images: np.ndarray) -> list[np.ndarray]:
    """Images (n, H, W[, C]) one by one, on one scale of brightness, about ``SHOWN_WIDTH`` pixels wide."""
    step = -(-max(images.shape[1:3]) // LARGEST)
    images = images[:, ::step, ::step]
    pixel = max(1, SHOWN_WIDTH // images.shape[2])
    whole = image_grid(images, len(images), pixel)
    width, stride = images.shape[2] * pixel, (images.shape[2] + GAP) * pixel
    return [whole[:, start : start + width] for start in range(0, stride * len(images), stride)]


def _picture(study: Study, row: Row, roles: dict[int, str]) -> None:
    way = st.segmented_control(
        "Picture", PICTURES, default=PICTURES[0], required=True, key="geometry/picture", persist_state="session"
    )
    why = row.why
    zone = Zone(why.fast, why.exact)
    if way == PICTURES[1]:
        fig, inside = keep(("geometry components", row.number), lambda: _components(study, row, zone, roles))
        figures.show(fig, "principal-components", HOW_TO_READ_COMPONENTS)
        st.caption(geometry_words.components_sentence(study.components, study.n_train, inside))
    elif why.deciding_same_row is not None and why.deciding_other_row is not None:
        pair = why.deciding_same_row, why.deciding_other_row
        figures.show(
            keep(("geometry plane", row.number), lambda: _plane(study, row, zone, pair)),
            "deciding-plane",
            HOW_TO_READ_PLANE,
        )
        st.caption(geometry_words.zone_sentence(row))


def _plane(study: Study, row: Row, zone: Zone, pair: tuple[int, int]) -> go.Figure:
    feature, points = study.flat(row.number), study.training.features[list(pair)]
    plane = DecidingPlane.through(feature, *points)
    return deciding_picture(plane, zone, *study.neighbours(row.number, list(pair)))


def _components(study: Study, row: Row, zone: Zone, roles: dict[int, str]) -> tuple[go.Figure, int]:
    """The figure, and how many training inputs drawn in the zone of exact separation lie outside it in truth."""
    plane, labels = study.components, study.test.train_labels
    assert labels is not None
    feature, numbers = study.flat(row.number), list(roles)
    place = plane.place(feature[None])[0]
    names = np.array(study.training_class_names(plane.rows))
    crowd = Crowd(plane.places, plane.rows, names, labels[plane.rows] == row.predicted)
    seen = np.linalg.norm(plane.places - place, axis=1) < abs(zone.exact)
    true = np.linalg.norm(study.training.features[plane.rows[seen]].astype(np.float64) - feature, axis=1)
    spots = plane.place(study.training.features[numbers])
    deciding: list[tuple[np.ndarray, Neighbour]] = list(zip(spots, study.neighbours(row.number, numbers), strict=True))
    return principal_picture(crowd, place, zone, deciding), int(np.count_nonzero(true >= abs(zone.exact)))
