"""The Geometry page without features, with images, and where a predicted class has no training rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from calib.calibrators import geometric as geometry
from calib.diagnostics.separation import WAYS
from calib.engine import Engine
from calib.formatting import percent
from calib.ui.geometry import KINDS, axis_title
from calib.ui.session import OpenSession
from tests.conftest import simulate
from tests.ui.conftest import charts, features_of, group, open_page, said, unfold

PAGE = "pages/10_Geometry.py"


def opened(session: OpenSession) -> AppTest:
    """The page with its further question opened."""
    return unfold(open_page(PAGE, session), "geometry/input")


def test_the_finding_is_what_the_library_computes(sample_to_read: OpenSession) -> None:
    app = open_page(PAGE, sample_to_read)
    assert len(charts(app)) == 1
    test = sample_to_read.test
    predicted = test.logits.argmax(axis=1)
    separation = geometry.fast_separation(
        test.train_features, test.train_labels, test.features, predicted
    )
    right, dangerous = predicted == test.labels, separation <= 0
    inside = separation >= np.sort(separation)[len(separation) // 2]
    words = app.markdown[0].value
    assert f"{dangerous.sum()} of {len(test)} are **dangerous**" in words
    assert f"{percent(right[dangerous].mean())} of these are right" in words
    assert f"inside their predicted class {percent(right[inside].mean())} are right**" in words
    assert "random draw" not in said(app)
    assert "Geometric turns this into a calibrator" in said(app)


@pytest.mark.parametrize(("kind", "way"), list(zip(KINDS, (*WAYS, WAYS[0]), strict=True)))
def test_every_separation_and_every_way_to_choose(
    sample_to_read: OpenSession, kind: str, way: str
) -> None:
    app = opened(sample_to_read)
    group(app, "geometry/kind").set_value(kind)
    group(app, "geometry/way").set_value(way).run()
    words = said(app)
    assert "Test row" in words
    assert f"At a {axis_title(kind)} of" in words
    assert len(charts(app)) == 2
    assert len(app.get("image")) >= 3


def test_a_predicted_class_absent_from_training_has_no_finite_separation(queue: Engine) -> None:
    data = replace(features_of(), logits=simulate(150, 3)[0])
    assert data.train_labels is not None
    lacking = replace(
        data, train_labels=np.where(data.train_labels == 2, 1, data.train_labels), sha256="lacking"
    )
    app = opened(OpenSession.from_data(lacking))
    assert "no finite separation" in said(app)
    assert "No training input has this class, so its separation is −∞" in said(app)
    assert len(charts(app)) == 1
    only = replace(data, train_labels=np.zeros(120, dtype=int), sha256="one class")
    assert "separation is −∞" in said(opened(OpenSession.from_data(only)))
