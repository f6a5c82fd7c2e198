"""What the Active learning page works on: which rows are the pool, which judge, and what it lacks."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from calib.data import Predictions
from calib.data.interpret.usable_rows import LEFT_OUT
from calib.data.samples import SAMPLES
from calib.formatting import plural
from calib.ui.data.upload import open_sample
from calib.ui.session import session

SAMPLE = "digits-forest"


@dataclass(frozen=True)
class Rows:
    """How many rows there are of each kind, and under which name their arrays are known.

    Attributes
    ----------
    n_pool, n_test : rows to ask about and rows that judge.
    n_classes : classes there are.
    trained : whether the pool is the training set; otherwise it is the calibration part of the split.
    data_key : the same for the same arrays in every session.
    """

    n_pool: int
    n_test: int
    n_classes: int
    trained: bool
    data_key: str

    @classmethod
    def of_session(cls) -> Rows:
        """Of the open data, as :func:`calib.active_learning.pool_of` takes them."""
        now = session()
        assert now.data is not None and now.calibration is not None and now.test is not None
        if now.data.train_features is not None and now.data.train_labels is not None:
            return cls(len(now.data.train_labels), len(now.data), now.data.n_classes, True, now.data.sha256)
        return cls(len(now.calibration), len(now.test), now.data.n_classes, False, now.split_key)

    @property
    def sentence(self) -> str:
        """Which rows are which."""
        pool = "the training set that came with the data" if self.trained else "the calibration part of the split"
        judge = "all rows of the data" if self.trained else "the test part"
        return (
            f"Pool: {plural(self.n_pool, 'row')}, {pool}. Judged on {plural(self.n_test, 'row')}, {judge}; "
            f"{plural(self.n_classes, 'class', 'classes')}. A classifier is trained here on their features, so the "
            "outputs of your own model take no part."
        )


def need_features(data: Predictions) -> bool:
    """Whether there is something to train on; otherwise say what is missing, with the buttons that get it."""
    if data.features is not None:
        return True
    left_out = next((found for found in data.findings if LEFT_OUT in found.message), None)
    if left_out is not None:
        st.warning(
            "Active learning trains a classifier while it asks for labels, and the features that came with these data "
            f"cannot be used: {left_out.message} {left_out.action}"
        )
    else:
        st.info(
            "Active learning trains a classifier while it asks for labels, and these data hold no features to train "
            "on. Upload features beside the outputs, one entry per row; with train_features and train_labels too, the "
            "training set is the pool that labels are asked from."
        )
    with st.container(horizontal=True, vertical_alignment="center"):
        st.page_link("app.py", label="Open data with features", icon=":material/upload_file:")
        st.button(
            f"Open the sample {SAMPLES[SAMPLE].title}, which has them", key="active/sample", icon=":material/image:",
            on_click=open_sample, args=(SAMPLE,),
        )  # fmt: skip
    return False
