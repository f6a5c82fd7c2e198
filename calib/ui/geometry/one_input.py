"""One input of the Geometry page: which test row, what decides its separation, and both pictures of that."""

from __future__ import annotations

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from calib.diagnostics.separation_study import WAYS
from calib.plots.geometry import GAP, Crowd, Zone, deciding_picture, image_grid, principal_picture
from calib.ui import widgets
from calib.ui.fits import ShownFit
from calib.ui.geometry import text as geometry_words
from calib.ui.geometry.state import Row, Study
from calib.ui.geometry.view import axis_title
from calib.ui.session import keep
from calib.ui.text import literal
from calib.ui.widgets import draw_table, segments

BY_NUMBER = "By number"
TABLE_PIXELS = 178
"""Four of the rows, and the names of the columns."""
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
    step = -(-max(images.shape[1:3]) // LARGEST)
    images = images[:, ::step, ::step]
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
