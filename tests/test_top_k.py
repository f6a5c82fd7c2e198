"""The top k of very many classes: what methods and scores make of it, against the matrix of all classes."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

import calib
from calib.base import NEEDS_CLASSES
from calib.cli import main
from calib.data import Predictions
from calib.data.predictions import as_outputs
from calib.errors import CalibrationError
from calib.evaluation import Evaluation
from calib.numerics import softmax
from calib.registry import METHODS, presets, said_of_kind
from calib.top_k import TopK, fit_top_k, predict_top_k, said_of_labels

N, K = 300, 12
LIKE_ALL = ("identity", "temperature", "isotonic", "platt", "beta", "histogram", "imax", "spline", "gpcalib")


def simulated(temperature: float = 1.6) -> tuple[np.ndarray, np.ndarray]:
    """Logits (n, K) and labels drawn at another temperature."""
    generator = np.random.default_rng(0)
    logits = generator.normal(scale=2.5, size=(N, K))
    return logits, np.argmax(logits / temperature + generator.gumbel(size=logits.shape), axis=1)


def data_of(k: int = 5) -> Predictions:
    logits, labels = simulated()
    outputs = as_outputs(TopK.from_matrix(logits, k, labels))
    return Predictions(outputs, labels, tuple(map(str, range(K))), "topk").identified()


def of_matrix(probs: np.ndarray, outputs: TopK) -> np.ndarray:
    return np.take_along_axis(probs, outputs.indices.astype(np.int64), axis=1)


@pytest.mark.parametrize("name", LIKE_ALL)
def test_where_k_is_all_classes_the_numbers_are_those_of_the_matrix(name):
    logits, labels = simulated()
    outputs = TopK.from_matrix(logits, K, labels)
    whole = calib.calibrator(name).fit(logits, labels)
    fitted = fit_top_k(calib.calibrator(name), outputs, labels)
    said = predict_top_k(fitted, outputs)
    np.testing.assert_allclose(said.values, of_matrix(whole.predict_proba(logits), outputs), atol=1e-6)
    np.testing.assert_array_equal(said.rest, 0)
    np.testing.assert_array_equal(said.predicted, whole.predict(logits))
    np.testing.assert_allclose(said.confidence, whole.predict_confidence(logits), atol=1e-6)
    expected = Evaluation.from_calibrator(whole, logits, labels)
    found = Evaluation.from_calibrator(fitted, outputs, labels)
    for part in ("row_nll", "row_brier", "confidence", "correct", "top5"):
        np.testing.assert_allclose(getattr(found, part), getattr(expected, part), atol=1e-5, err_msg=part)


@pytest.mark.parametrize("name", ["temperature", "isotonic"])
def test_methods_learn_from_sorted_rows_with_a_column_for_the_rest(name):
    logits, labels = simulated()
    order = np.argsort(-logits, axis=1)
    falling = np.take_along_axis(logits, order, axis=1)
    columns = np.column_stack([falling[:, :5], np.log(np.exp(falling[:, 5:]).sum(axis=1))])
    places = np.minimum(np.argmax(order == labels[:, None], axis=1), 5)
    outputs = TopK.from_matrix(logits, 5)
    fitted = fit_top_k(calib.calibrator(name), outputs, labels)
    columns[:, -1] += fitted.rest_shift_
    expected = calib.calibrator(name).fit(columns, places).predict_proba(columns)
    said = predict_top_k(fitted, outputs)
    np.testing.assert_allclose(np.column_stack([said.values, said.rest]), expected, atol=1e-12)
    np.testing.assert_array_equal(said.predicted, order[np.arange(N), expected[:, :5].argmax(axis=1)])


def test_the_other_classes_get_the_share_of_the_labels_that_are_theirs():
    """At the optimum the mean probability of the last column is the share of its labels: the slope in c is 0."""
    generator = np.random.default_rng(0)
    logits = 2 * generator.normal(size=(8_000, 100))
    labels = np.argmax(logits / 1.5 + generator.gumbel(size=logits.shape), axis=1)
    outputs = TopK.from_matrix(logits, 10, labels)
    fitted = fit_top_k(calib.calibrator("temperature"), outputs, labels)
    share = np.mean(outputs.places(labels) == 10)
    assert predict_top_k(fitted, outputs).rest.mean() == pytest.approx(share, abs=1e-3)
    whole = calib.calibrator("temperature").fit(logits, labels)
    assert fitted.temperature_ == pytest.approx(whole.temperature_, rel=0.05)
    raw = Evaluation.from_calibrator(fit_top_k(calib.calibrator("identity"), outputs, labels), outputs, labels)
    nll = Evaluation.from_calibrator(fitted, outputs, labels).row_nll.mean()
    best = Evaluation.from_calibrator(whole, logits, labels).row_nll.mean()
    fitted.rest_shift_ = 0.0
    without = Evaluation.from_calibrator(fitted, outputs, labels).row_nll.mean()
    assert best < nll < min(without, raw.row_nll.mean())


def test_the_scores_of_the_raw_model_are_exact_where_the_logits_of_labels_are_known():
    logits, labels = simulated()
    probs = softmax(logits)
    of_label = probs[np.arange(N), labels]
    for k in (1, 4, 11):
        outputs = TopK.from_matrix(logits, k, labels)
        raw = fit_top_k(calib.calibrator("identity"), outputs, labels)
        found = Evaluation.from_calibrator(raw, outputs, labels)
        np.testing.assert_allclose(found.row_nll, -np.log(of_label), atol=1e-12)
        np.testing.assert_allclose(found.confidence, probs.max(axis=1), atol=1e-12)
        np.testing.assert_array_equal(found.correct, logits.argmax(axis=1) == labels)
        # Of the Brier score the squares of the remaining classes are unknown; equal ones have the smallest sum.
        exact = (probs**2).sum(axis=1) - 2 * of_label + 1
        assert (found.row_brier <= exact + 1e-12).all()
    np.testing.assert_allclose(found.row_brier, exact, atol=1e-12)  # one class is left, whose probability is known


def test_a_label_whose_logit_is_not_known_has_an_equal_share_of_the_rest():
    logits, labels = simulated()
    known = TopK.from_matrix(logits, 3, labels)
    outside = known.places(labels) == 3
    own = np.where(np.arange(N) % 2, np.nan, known.label_logit)
    some = TopK.from_arrays(known.values, known.indices, known.rest, K, own)
    none = TopK.from_arrays(known.values, known.indices, known.rest, K)
    fitted = fit_top_k(calib.calibrator("temperature"), none, labels)
    said = predict_top_k(fitted, none)
    nll = {name: Evaluation.from_calibrator(fitted, each, labels).row_nll for name, each in
           {"known": known, "some": some, "none": none}.items()}  # fmt: skip
    equal = outside & (np.arange(N) % 2 == 1)
    np.testing.assert_allclose(nll["none"][outside], -np.log(said.rest[outside] / (K - 3)))
    np.testing.assert_allclose(
        nll["known"][outside], -np.log(said.rest * np.exp(known.label_logit - known.rest))[outside]
    )
    np.testing.assert_array_equal(nll["some"], np.where(equal, nll["none"], nll["known"]))
    names = tuple(map(str, range(K)))
    text = said_of_labels(Predictions(as_outputs(some), labels, names, "topk"))
    assert f"In {outside.sum()} of {N} rows" in text and f"in {equal.sum()}, whose" in text
    assert "whose" not in said_of_labels(Predictions(as_outputs(known), labels, names, "topk"))
    assert said_of_labels(Predictions(logits, labels, names, "logits")) == ""


def test_methods_that_learn_something_for_each_class_are_refused():
    data = data_of()
    for name, method in METHODS.items():
        if NEEDS_CLASSES in method.cls.traits:
            with pytest.raises(CalibrationError, match="outputs of all classes"):
                fit_top_k(calib.calibrator(name), data.logits, data.labels)
            assert name not in presets(data)["All"]
            assert method.title in said_of_kind(data)
    with pytest.raises(CalibrationError, match="outputs of all classes"):
        fit_top_k(calib.calibrator("isotonic", share_classes=False), data.logits, data.labels)
    with pytest.raises(CalibrationError, match="fit_top_k"):
        calib.calibrator("temperature").fit(data.logits, data.labels)


GOOD = {"values": [[4.0, 2.0]], "indices": [[7, 1]], "rest": [1.0], "n_classes": 100}


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"indices": [[7, 7]]}, "twice"),
        ({"indices": [[7, 100]]}, "0 to 99"),
        ({"indices": [[7.0, 1.0]]}, "integers"),
        ({"rest": [2.0 + math.log(98) + 0.01]}, "rest"),
        ({"rest": None}, "missing"),
        ({"rest": [1.0, 1.0]}, "shape"),
        ({"values": [[np.nan, 2.0]]}, "finite"),
        ({"values": np.empty((0, 2)), "indices": np.empty((0, 2), int), "rest": []}, r"hold no number.*\(0, 2\)"),
        ({"n_classes": 1}, "n_classes"),
    ],
)
def test_rows_that_cannot_be_are_refused_in_words(changes, said):
    assert TopK.from_arrays(**GOOD).shape == (1, 100)
    with pytest.raises(CalibrationError, match=said):
        TopK.from_arrays(**{**GOOD, **changes})


def test_what_is_no_top_k_is_refused_in_words():
    logits, labels = simulated()
    for k in (0, K + 1, 2.5, "3", None):
        with pytest.raises(CalibrationError, match="from 1 to the 12"):
            TopK.from_matrix(logits, k)
    fitted = fit_top_k(calib.calibrator("temperature"), TopK.from_matrix(logits, 5), labels)
    with pytest.raises(CalibrationError, match="6 columns"):
        predict_top_k(fitted, TopK.from_matrix(logits, 3))
    with pytest.raises(CalibrationError, match=r"a single one as outputs\[5:6\]; got outputs\[5\]"):
        predict_top_k(fitted, TopK.from_matrix(logits, 5)[5])
    with pytest.raises(CalibrationError, match="Labels"):
        fit_top_k(calib.calibrator("temperature"), TopK.from_matrix(logits, 5), labels + K)


def test_an_exported_calibrator_takes_the_top_k_and_predicts_what_the_fit_does(tmp_path):
    data = data_of()
    outputs, given = data.logits, {"values": data.logits.values, "indices": data.logits.indices}
    for name in ("temperature", "isotonic"):
        fitted = fit_top_k(calib.calibrator(name), outputs, data.labels)
        path = calib.export.save(fitted, tmp_path / "calibrator.zip", **calib.export.describe(data))
        exported, expected = calib.runtime.load(path), predict_top_k(fitted, outputs)
        said = exported.predict_top_k({**given, "rest": outputs.rest})
        for part in ("values", "rest", "predicted", "confidence"):
            np.testing.assert_allclose(getattr(said, part), getattr(expected, part), rtol=0, atol=1e-12, err_msg=part)
        np.testing.assert_allclose(exported.confidence(outputs), expected.confidence, rtol=0, atol=1e-12)
        assert exported.n_classes == K
        for wrong, words in ((given, "rest"), (simulated()[0], "values and indices")):
            with pytest.raises(CalibrationError, match=words):
                exported.predict_top_k(wrong)
        with pytest.raises(CalibrationError, match="8 classes"):
            exported.predict_top_k(TopK.from_matrix(simulated()[0][:, :8], 5))


def test_the_command_line_compares_fits_and_applies(tmp_path, monkeypatch, capsys):
    data = data_of()
    monkeypatch.chdir(tmp_path)
    np.savez("outputs.npz", **data.logits.arrays(), labels=data.labels, n_classes=K)
    assert main(["compare", "outputs.npz", "--methods", "temperature,isotonic", "--report", "report.html"]) == 0
    said = capsys.readouterr().out
    assert "the label is not among the 5 largest logits" in said
    assert "Vector" in said  # left out, with the reason
    assert "topk" not in said
    assert main(["fit", "outputs.npz", "--method", "platt", "--out", "calibrator.npz"]) == 0
    assert main(["apply", "calibrator.npz", "outputs.npz", "--out", "calibrated.npz"]) == 0
    assert Path("calibrated.npz").exists()
    assert main(["fit", "outputs.npz", "--method", "vector", "--out", "vector.npz"]) == 1
    assert "all classes" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["temperature", "isotonic"])
def test_whole_number_weights_are_repeated_rows_also_for_the_other_classes(name):
    logits, labels = simulated()
    outputs, times = TopK.from_matrix(logits, 4, labels), np.arange(N) % 3
    repeated = np.repeat(np.arange(N), times)
    weighted = fit_top_k(calib.calibrator(name), outputs, labels, weights=times)
    expected = fit_top_k(calib.calibrator(name), outputs[repeated], labels[repeated])
    said, other = predict_top_k(weighted, outputs), predict_top_k(expected, outputs)
    np.testing.assert_allclose(said.values, other.values, atol=1e-5)
    np.testing.assert_allclose(said.rest, other.rest, atol=1e-5)
