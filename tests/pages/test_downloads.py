"""Downloads are built after the page's run, in a thread without a session: they must need none."""

from __future__ import annotations

import io
import threading

import numpy as np
import pandas as pd

from calib.evaluation import Evaluation
from calib.plots.style import method_style
from calib.registry import calibrator
from calib.ui.export_view import Rows, _csv, _npz
from calib.ui.fits import ShownFit
from tests.conftest import simulate


def fitted() -> tuple[ShownFit, np.ndarray, np.ndarray]:
    logits, labels = simulate(n=50)
    made = calibrator("temperature").fit(logits, labels)
    evaluation = Evaluation.from_calibrator(made, logits, labels)
    return (
        ShownFit("k", "temperature", "Temperature", method_style("temperature"), made, evaluation, 0, 0),
        logits,
        labels,
    )


def in_a_thread(build, *arguments):
    results = []
    thread = threading.Thread(target=lambda: results.append(build(*arguments)))
    thread.start()
    thread.join()
    return results[0]


def test_csv_holds_probabilities_and_labels() -> None:
    fit, logits, labels = fitted()
    names = ("a", "b,c", "d", "e")
    table = pd.read_csv(io.StringIO(in_a_thread(_csv, fit, Rows(logits, labels), names)))
    assert list(table.columns) == ["p_a", "p_b,c", "p_d", "p_e", "label"]
    np.testing.assert_allclose(table.iloc[:, :4], fit.calibrator.predict_proba(logits), rtol=1e-12)
    np.testing.assert_array_equal(table["label"], labels)


def test_npz_holds_labels_only_where_there_are_any() -> None:
    fit, logits, labels = fitted()
    with np.load(io.BytesIO(in_a_thread(_npz, fit, Rows(logits)))) as arrays:
        assert arrays.files == ["probabilities"]
        np.testing.assert_array_equal(arrays["probabilities"], fit.calibrator.predict_proba(logits))
    with np.load(io.BytesIO(in_a_thread(_npz, fit, Rows(logits, labels)))) as arrays:
        np.testing.assert_array_equal(arrays["labels"], labels)
