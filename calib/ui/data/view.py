"""The parts of the Data page: the finding in words, what was noticed, the split and the next step.

What the open data hold as features: their size, the training set, and a few of them where they are images.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import numpy as np
import streamlit as st

from calib.data import Finding, Inspection, Predictions
from calib.data.checks.report import rounded
from calib.data.samples import SAMPLES
from calib.evaluation import Evaluation
from calib.formatting import percent, plural
from calib.plots.geometry import image_grid
from calib.registry import calibrator
from calib.ui import fits
from calib.ui import text as notices
from calib.ui.data import upload as opening
from calib.ui.session import keep, session
from calib.ui.text import confidence_sentence, literal

SHOW = {"error": st.error, "warning": st.warning, "info": st.info}
ICON = {"error": ":material/error:", "warning": ":material/warning:", "info": ":material/info:"}
KINDS = {
    "logits": "logits",
    "probabilities": "probabilities",
    "log_probabilities": "log-probabilities",
    "binary_log_odds": "binary log-odds",
    "binary_probability": "one column of binary probabilities",
}


def overview() -> None:
    """Open with the finding in words, then what the data are."""
    now = session()
    data = now.data
    assert data is not None
    whole = raw_evaluation()
    st.markdown(confidence_sentence(whole, "Over all rows the model"))
    facts = {
        "Rows": f"{len(data):,}",
        "Classes": f"{data.n_classes:,}",
        "Accuracy": percent(float(whole.correct.mean())),
        "Mean confidence": percent(float(whole.confidence.mean())),
        "Recognised as": KINDS[data.kind],
    }
    with st.container(horizontal=True, gap="large"):
        for label, value in facts.items():
            st.metric(label, value, width="content")
    if now.sample is not None:
        st.info(f"**What to look for.** {SAMPLES[now.sample].look_for}", icon=":material/visibility:")
    if now.inspection is None:  # a sample, or brought back by a link: there are no files that could be read anew
        for finding in data.findings:
            if finding.level != "info":
                _show(finding, None)


def raw_evaluation() -> Evaluation:
    """The raw model judged on all rows of the open data; kept with the session."""
    now = session()
    assert now.data is not None
    if now.raw is None:
        raw = calibrator("identity").fit(now.data.logits[:2], now.data.labels[:2])
        now.raw = Evaluation.from_calibrator(raw, now.data.logits, now.data.labels)
    return now.raw


def findings(inspection: Inspection) -> None:
    """Errors and warnings open, infos folded; each with its one-click fix where there is one."""
    now = session()
    if inspection.predictions is None and now.data is not None:
        st.caption(f"The new files could not be opened; {literal(now.data.name)} stays open with its fits.")
    for finding in inspection.findings:
        if finding.level != "info":
            _show(finding, inspection)
    infos = [finding for finding in inspection.findings if finding.level == "info"]
    if infos:
        with st.expander(f"What was understood ({plural(len(infos), 'note')})"):
            for finding in infos:
                st.markdown(f"{ICON['info']} {finding.message} {finding.action}")
                _fix_button(finding, inspection)


def _show(finding: Finding, inspection: Inspection | None) -> None:
    text = finding.message + (f" **{finding.action}**" if finding.action else "")
    SHOW[finding.level](text, icon=ICON[finding.level])
    if inspection is not None:
        _fix_button(finding, inspection)


def _fix_button(finding: Finding, inspection: Inspection) -> None:
    if not finding.fix:
        return
    if st.button("Do this", key=f"fix/{finding.code}/{sorted(map(str, finding.fix))}", icon=":material/build:"):
        now = session()
        with st.spinner("Reading again…"):
            opening.read(now.upload, replace(now.made, **cast(dict[str, Any], finding.fix)))
        st.rerun()


def split_controls() -> None:
    """Choose which rows calibrators learn from; the test rows judge them."""
    now = session()
    data = now.data
    assert data is not None
    assert now.calibration is not None
    assert now.test is not None
    given = data.given_split is not None
    mark = data.sha256[:12]  # controls of other data must not carry their values over
    st.subheader("Calibration and test rows")
    left, middle, right = st.columns([2, 1, 2], vertical_alignment="bottom")
    if given:
        use_given = left.toggle(
            "Use the split that came with the data", value=now.part is None, key=f"split/given/{mark}"
        )
    if given and use_given:
        fits.change_split(None, now.seed)
    else:
        share = left.slider(
            "Share for calibration", 5, 95, int(100 * (now.part or 0.5)), 5, format="%d %%", key=f"split/share/{mark}",
            help="Stratified by class. More calibration rows fit better; more test rows judge more sharply.",
        )  # fmt: skip
        seed = middle.number_input("Seed", 0, 10_000, now.seed, key=f"split/seed/{mark}")
        fits.change_split(share / 100, int(seed))
    notices.say()  # what another split stops is known from here on
    present = len(np.unique(now.calibration.labels))
    right.caption(
        f"{plural(len(now.calibration), 'calibration row')}, {plural(len(now.test), 'test row')}; "
        f"{present:,} of {plural(data.n_classes, 'class', 'classes')} occur among the calibration rows."
    )


def next_step() -> None:
    """The button that leads on."""
    st.page_link("pages/1_Fit.py", label="**Fit calibrators**", icon=":material/arrow_forward:")
    st.page_link("pages/2_Reliability.py", label="See the raw model's reliability", icon=":material/show_chart:")


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
