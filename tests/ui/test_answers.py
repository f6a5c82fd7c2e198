"""Pages with pairs of a confidence and whether the answer is correct, in clusters, with weights."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from calib.engine import Engine
from calib.ui.session import OpenSession
from tests.test_pairs import pairs
from tests.ui.conftest import PAGES, clean, fit, one_of, open_page, said, unfold


@pytest.fixture(scope="module")
def answers(queue: Engine) -> OpenSession:
    """Four answers to each question, with weights that were explained."""
    n = 400
    about = {"clusters": np.array([f"question {i // 4}" for i in range(n)]), "weights": 1.0 + np.arange(n) % 3}
    data = replace(pairs(n), **about, weight_kind="frequency", sha256="answers for the pages")
    return fit(queue, OpenSession.from_data(data), "platt", "isotonic")


@pytest.mark.parametrize("path", one_of(PAGES, "pages/2_Compare.py"))
def test_every_page_opens(path: str, answers: OpenSession) -> None:
    app = open_page(path, answers)
    assert clean(app), (app.exception, app.error)


def test_fit_says_what_is_left_out_and_which_methods_learn_from_weights(answers: OpenSession) -> None:
    app = open_page("pages/1_Fit.py", answers)
    assert "Vector" in said(app) and "all classes" in said(app)
    assert "weights" in said(app) and "Auto learn from them; the other methods" in said(app)
    offered = next(each.options for each in app.button_group if "Platt" in str(each.options))
    assert "Vector" not in str(offered) and "Geometric" not in str(offered)


def test_compare_draws_clusters_and_shows_both_numbers(answers: OpenSession) -> None:
    app = unfold(open_page("pages/2_Compare.py", answers), "compare/scores", "compare/weighted")
    assert "take whole clusters as independent" in said(app) and "Weighted by frequency" in said(app)
    (table,) = (frame.value for frame in app.dataframe if "weighted (unweighted)" in frame.value.columns)
    assert len(table) == 3
