"""What the open data hold as features: their size, the training set, and a few of them where they are images."""

from __future__ import annotations

import numpy as np
import streamlit as st

from calib.data import Predictions
from calib.data.checks.report import rounded
from calib.formatting import plural
from calib.plots.image_grid import image_grid
from calib.ui.session import keep, session

SHOWN = 24
IN_A_ROW = 12
WIDTH = 1000
"""Pixels of the picture, about; small images are drawn larger to fill it."""

LARGEST = 128
"""Pixels of an image each way; of larger ones every second, third, ... is shown."""


def features_overview() -> None:
    """One sentence, and the first rows as one picture where they are images."""
    data = session().data
    assert data is not None
    if data.features is None:
        return
    st.subheader("Features")
    st.markdown(sentence(data))
    if data.features.ndim > 2:
        picture = keep(("features", data.sha256), lambda: first_images(data))
        st.image(picture, caption=f"The first {plural(min(SHOWN, len(data)), 'row')}.")


def sentence(data: Predictions) -> str:
    """What each row carries, and what there is to compare it with."""
    features = data.features
    assert features is not None
    if features.ndim == 2:
        each = plural(features.shape[1], "number")
    else:
        height, width = features.shape[1:3]
        colour = " in colour" if features.shape[3:] == (3,) else ""
        each = f"an image of {height:,} × {width:,} pixels{colour}"
    text = f"Each row carries {each} with values from {rounded(features.min())} to {rounded(features.max())}"
    if data.feature_mean is not None:
        text += ", standardised by the training set"
    if data.train_labels is None:
        return f"{text}. There is no training set that can be used to compare it with."
    present = len(np.unique(data.train_labels))
    return (
        f"{text}. The training set has {plural(len(data.train_labels), 'row')}, "
        f"{present:,} of {plural(data.n_classes, 'class', 'classes')} among them."
    )


def first_images(data: Predictions) -> np.ndarray:
    """The first images side by side."""
    assert data.features is not None
    images = data.features[:SHOWN]
    columns = min(IN_A_ROW, len(images))
    step = -(-max(images.shape[1:3]) // LARGEST)
    images = images[:, ::step, ::step]
    return image_grid(images, columns, pixel=max(1, WIDTH // (columns * (images.shape[2] + 1))))
