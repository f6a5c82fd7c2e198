"""An exported calibrator learns from more data without the rows of before."""

from __future__ import annotations

import copy
from dataclasses import replace

import numpy as np
import pytest

import calib
from calib.data import Predictions
from calib.errors import CalibrationError
from calib.export import writer
from calib.export.model_card import model_card
from calib.numerics import softmax
from tests.conftest import simulate


@pytest.fixture(scope="module")
def parts():
    logits, labels = simulate(300, 3)
    probs = softmax(logits)
    probs[0] = [1.0, 0.0, 0.0]
    data = Predictions(np.log(np.maximum(probs, 1e-6)), labels, ("a", "b", "c"), "probabilities", 1e-6, name="outputs")
    return data.take(np.arange(150)), data.take(np.arange(150, 300))


@pytest.fixture(scope="module")
def first(parts):
    calibrator = calib.calibrator("gpcalib", max_iter=20).fit(parts[0].logits, parts[0].labels)
    return writer.exported(calibrator, {**writer.describe(parts[0]), "n_rows": 150, "scores": {"NLL": {}}})


def test_resuming_learns_from_both_parts_and_says_so(parts, first, tmp_path):
    loaded = calib.runtime.load(writer.save(first, tmp_path / "first.npz"))
    made = writer.resume(loaded, parts[1])
    expected = copy.deepcopy(first.calibrator).partial_fit(parts[1].logits, parts[1].labels)
    assert np.array_equal(made.predict_proba(parts[1].logits), expected.predict_proba(parts[1].logits))
    assert (made.kind, made.floor, made.class_names) == ("probabilities", 1e-6, ("a", "b", "c"))
    assert made.metadata["n_rows"] == 300
    assert made.metadata["data_name"] == "outputs + outputs"
    assert made.metadata["data_sha256"] == f"{parts[0].sha256} {parts[1].sha256}"
    assert made.metadata["notes"] == made.calibrator.notes()
    assert any("in 2 parts, 300 rows" in note for note in made.metadata["notes"])
    assert "scores" not in made.metadata
    assert loaded.calibrator.n_rows_ == 150
    assert "in 2 parts, 300 rows" in model_card(made)


def test_resuming_with_other_outputs_is_refused(parts, first):
    more = parts[1]
    for changed, says in [
        (replace(more, kind="logits"), "takes probabilities, but these data hold logits"),
        (replace(more, floor=1e-4), "floor=1e-06"),
        (replace(more, class_names=("b", "a", "c")), "another order"),
        (replace(more, logits=more.logits[:, :2], class_names=("a", "b"), labels=more.labels % 2), r"\(n, 3\)"),
    ]:
        with pytest.raises(CalibrationError, match=says):
            writer.resume(first, changed)
    temperature = calib.calibrator("temperature").fit(more.logits, more.labels)
    with pytest.raises(CalibrationError, match="Temperature cannot go on"):
        writer.resume(writer.exported(temperature, writer.describe(more)), more)
