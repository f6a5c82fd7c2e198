"""A calibrator remembers the outputs it was fitted on, takes the same again, and so does every file of it."""

from __future__ import annotations

import io
import zipfile

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix
from scipy.special import softmax

import calib
from calib.errors import CalibrationError
from calib.export import predict, writer
from calib.outputs import AmbiguousOutputs

N, K = 90, 3
NAMES = np.array(["cat", "dog", "owl"])


@pytest.fixture(scope="module")
def rows():
    """Logits, their probabilities, and labels that these predict about as well as they say."""
    rng = np.random.default_rng(1)
    logits = 2 * rng.normal(size=(N, K))
    probs = softmax(logits, axis=1)
    return logits, probs, np.array([rng.choice(K, p=row) for row in softmax(logits / 1.5, axis=1)])


def temperature(outputs, labels, **options):
    return calib.calibrator("temperature").fit(outputs, labels, **options)


def test_probabilities_are_recognised_and_fitted_as_their_logits(rows):
    _, probs, labels = rows
    fitted = temperature(probs, labels)
    of_logits = temperature(calib.logits(probs), labels)
    assert (fitted.outputs_.kind, of_logits.outputs_.kind) == ("probabilities", "logits")
    np.testing.assert_array_equal(
        fitted.predict_proba(probs), of_logits.predict_proba(calib.logits(probs))
    )


def test_most_rows_decide_what_outputs_are(rows):
    logits, probs, labels = rows
    event = (labels == 0).astype(int)
    kinds = {
        "probabilities": [
            probs, probs.astype(np.float16), probs.round(2), probs[:3], pd.DataFrame(probs), np.eye(K)[labels],
        ],
        "logits": [logits, np.log(probs), logits.astype(np.float32), (10 * logits).astype(int)],
        "binary_probability": [probs[:, 0], probs[:, :1]],
        "binary_log_odds": [logits[:, 0], logits[:, :1]],
    }  # fmt: skip
    for kind, examples in kinds.items():
        for outputs in examples:
            truth = event if kind.startswith("binary") else labels
            assert temperature(outputs, truth[: len(outputs)]).outputs_.kind == kind
    few = probs[:, :2] / 2
    assert temperature(few, event, kind="logits").outputs_.kind == "logits"
    one_off = probs.copy()
    one_off[5] *= 0.8
    for outputs, error, says in [
        (few, AmbiguousOutputs, "lie between 0 and 1, but sum to"),
        (100 * probs, AmbiguousOutputs, "sum to 100"),
        (100 * probs[:, 1], AmbiguousOutputs, "like percentages"),
        (one_off, CalibrationError, r"1 of 90 rows of probabilities do not sum to one"),
    ]:
        with pytest.raises(error, match=says):
            temperature(outputs, labels)
    with pytest.raises(CalibrationError, match="kind='odds' is none of auto, logits"):
        temperature(logits, labels, kind="odds")


@pytest.mark.parametrize(
    "given",
    [
        NAMES[:2],
        np.array([-1, 1]),
        np.array([1, 2]),
        np.array([False, True]),
        np.array([0.0, 1.0]),
        pd.Categorical(["no", "yes"]),
        np.array([10, 20]),
    ],
    ids=str,
)
def test_labels_of_any_kind_are_columns_in_their_order(rows, given):
    logits, _, labels = rows
    codes = (labels == 0).astype(int)
    plain = temperature(logits[:, :2], codes)
    fitted = temperature(logits[:, :2], given[codes])
    assert fitted.temperature_ == plain.temperature_
    assert list(fitted.classes_) == list(given)
    expected = np.asarray(given)[plain.predict(logits[:, :2])]
    assert list(fitted.predict(logits[:, :2])) == list(expected)
    assert fitted.score(logits[:, :2], given[codes]) == np.mean(
        expected == np.asarray(given)[codes]
    )


def test_columns_that_are_called_as_the_labels_have_their_order(rows):
    logits, _, labels = rows
    order = [2, 0, 1]
    for name in ("{}", "logit_{}"):
        table = pd.DataFrame(logits, columns=[name.format(each) for each in NAMES]).iloc[:, order]
        fitted = temperature(table, NAMES[labels])
        assert list(fitted.classes_) == list(NAMES[order])
        assert list(fitted.feature_names_in_) == list(table.columns)
        np.testing.assert_allclose(
            fitted.predict_proba(table), temperature(logits, labels).predict_proba(logits)[:, order]
        )


def test_columns_of_a_frame_are_found_by_name_in_any_order_beside_others(rows, tmp_path):
    """As predict.py does; a fit on arrays finds ``logit_`` with the names of the classes."""
    logits, _, labels = rows
    for columns in (["a", "b", "c"], [f"logit_{name}" for name in NAMES]):
        table = pd.DataFrame(logits, columns=columns)
        fitted = temperature(table if columns[0] == "a" else logits, NAMES[labels])
        calib.export.save(fitted, tmp_path / "c.npz")
        uploaded = table[columns[::-1]].assign(id=range(N), outcome=labels, other=0.5)
        for calibrator in (
            fitted,
            calib.runtime.load(tmp_path / "c.npz"),
            predict.load(tmp_path / "c.npz"),
        ):
            np.testing.assert_allclose(
                calibrator.predict_proba(uploaded), fitted.predict_proba(logits), atol=1e-13
            )
            missing = uploaded.drop(columns=columns[1])
            with pytest.raises((CalibrationError, predict.Refused), match="no single column"):
                calibrator.predict_proba(missing)


def test_a_frame_with_two_families_of_the_classes_is_refused(rows):
    logits, _, labels = rows
    fitted = temperature(logits, NAMES[labels])
    both = [f"{prefix}{name}" for prefix in ("logit_", "score_") for name in NAMES]
    with pytest.raises(CalibrationError, match=r"have 6 columns, .* no single column 'cat'"):
        fitted.predict_proba(pd.DataFrame(np.hstack([logits, logits]), columns=both))


def test_what_differs_from_the_fit_is_refused_in_a_sentence(rows):
    logits, probs, labels = rows
    data = calib.from_outputs(probs, labels)
    for fitted, other, says in [
        (temperature(logits, labels), probs, "takes logits, but 100% of these 90 rows lie in"),
        (temperature(probs, labels), logits, "Probabilities are expected, but the values run from"),
        (temperature(logits, labels), logits[:, :2], "have 2 columns, but the calibrator takes 3"),
        (
            temperature(logits, labels),
            data,
            "takes logits, and these were said to be probabilities",
        ),
    ]:
        with pytest.raises(CalibrationError, match=says):
            fitted.predict_proba(other)
    fitted = temperature(logits, labels)
    script = predict.load(io.BytesIO(writer.to_bytes("npz", fitted)))
    for each, error in [(fitted, AmbiguousOutputs), (script, predict.Refused)]:
        with pytest.raises(error, match="like probabilities"):
            each.predict_proba(probs[:1])  # a row that sums to one is telling by itself
        assert each.predict_proba(probs[:1], kind="logits").shape == (1, K)
        assert each.predict_proba(logits[:1]).shape == (1, K)
    for outputs, given, says in [
        (csr_matrix(logits), labels, r"sparse matrix; pass outputs\.toarray"),
        (labels, logits, "arguments are swapped"),
        (labels, probs[:, 0], "arguments are swapped"),
        (logits, None, "fit needs labels"),
        (data, labels, "Predictions hold their labels"),
        (logits, labels[:, None], r"labels has shape \(90, 1\)"),
        (logits, np.arange(N), "90 different values"),
        (logits, NAMES[:2][labels % 2], "2 different values .cat and dog. for 3 columns"),
        (pd.DataFrame(logits), pd.Series(labels)[::-1], "same index in another order"),
    ]:
        with pytest.raises(CalibrationError, match=says):
            temperature(outputs, given)


@pytest.mark.parametrize("method", ["platt", "isotonic", "structured_matrix"])
def test_every_file_predicts_as_the_calibrator_from_what_it_was_fitted_on(rows, method, tmp_path):
    logits, probs, labels = rows
    data = calib.from_outputs(probs, labels, class_names=list(NAMES))
    for outputs, truth in [
        (logits, labels),
        (probs, NAMES[labels]),
        (probs[:, 0], labels == 0),
        (data, None),
    ]:
        fitted = calib.calibrator(method).fit(outputs, truth)
        expected = fitted.predict_proba(outputs)
        files = [calib.export.save(fitted, tmp_path / f"c.{end}") for end in ("npz", "zip", "pkl")]
        loaded = [calib.runtime.load(path) for path in files]
        given = probs if outputs is data else outputs
        for each in [*loaded, predict.load(tmp_path / "c.npz")]:
            np.testing.assert_allclose(each.predict_proba(given), expected, rtol=0, atol=1e-13)
            np.testing.assert_array_equal(each.predict(given), fitted.predict(outputs))
        with zipfile.ZipFile(files[1]) as bundle:
            script = predict.load(io.BytesIO(bundle.read("calibrator.npz")))
        np.testing.assert_allclose(script.predict_proba(given), expected, rtol=0, atol=1e-13)


def test_a_calibrator_displays_what_it_learned(rows):
    logits, _, labels = rows
    fitted = temperature(logits, labels)
    learned = f"temperature_={fitted.temperature_:.3g}"
    assert repr(calib.calibrator("temperature")) == "TemperatureScaling()"
    assert repr(fitted) == f"TemperatureScaling(): fitted on 90 rows, 3 classes, {learned}"
    shown = calib.calibrator("histogram").fit(logits, labels)
    assert "HistogramBinning(): fitted on 90 rows, 3 classes" in shown._repr_html_()
    assert all(note[:30] in shown._repr_html_() for note in shown.notes())


def test_predictions_display_how_many_warnings_came_with_them(rows):
    _, probs, labels = rows
    shuffled = calib.from_outputs(probs, np.random.default_rng(0).permutation(labels))
    n = sum(finding.level == "warning" for finding in shuffled.findings)
    assert n and f", {n} warning" in repr(shuffled)
    assert "warning" not in repr(calib.load_sample("digits-cnn"))
