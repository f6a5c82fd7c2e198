"""New rows are brought into the calibrator's class order, or refused in a sentence."""

from __future__ import annotations

from dataclasses import replace
from io import BytesIO

import numpy as np
import pandas as pd
import pytest

import calib
from calib.data import Choices, Event, LoadOptions
from calib.data.predictions import Predictions
from calib.diagnostics.shift_data import fitted_to, judge, read_new_rows
from calib.errors import CalibrationError, DataError
from calib.export import provenance
from calib.numerics import softmax
from tests.conftest import npz_bytes, simulate

NAMES = ("cat", "dog", "hen", "owl")
SHUFFLED = (2, 0, 3, 1)


def csv(logits: np.ndarray, labels: np.ndarray, columns: list[str]) -> BytesIO:
    return BytesIO(
        pd.DataFrame(logits, columns=columns).assign(label=labels).to_csv(index=False).encode()
    )


@pytest.fixture(scope="module")
def fresh() -> Predictions:
    return Predictions(*simulate(n=300, seed=5), NAMES)


def test_a_table_with_named_columns_in_another_order(made, fresh) -> None:
    table = csv(
        fresh.logits[:, SHUFFLED], np.array(NAMES)[fresh.labels], [NAMES[k] for k in SHUFFLED]
    )
    found = read_new_rows(made.exported, ("fresh.csv", table))
    np.testing.assert_allclose(found.data.logits, fresh.logits)
    np.testing.assert_array_equal(found.data.labels, fresh.labels)


def test_columns_without_names_are_in_the_calibrators_order(fresh) -> None:
    """Sorted order, which is all that reading alone can guess, would be another."""
    names = ("owl", "cat", "hen", "dog")
    data = replace(fresh, class_names=names)
    exported = provenance.exported(
        calib.calibrator("temperature").fit(*simulate()).remember(data.output_format())
    )
    found = read_new_rows(
        exported, ("f.npz", npz_bytes(logits=fresh.logits, labels=np.array(names)[fresh.labels]))
    )
    np.testing.assert_array_equal(found.data.labels, fresh.labels)
    assert found.data.class_names == names
    assert "No column is named" in found.notes[0]
    assert not found.noticed


def test_unknown_classes_are_named(made, fresh) -> None:
    with pytest.raises(CalibrationError, match="the calibrator does not know 'yak'"):
        fitted_to(made.exported, replace(fresh, class_names=("cat", "dog", "hen", "yak")))
    with pytest.raises(CalibrationError, match="some names repeat"):
        fitted_to(made.exported, replace(fresh, class_names=("cat", "dog", "hen", "hen")))


def test_outputs_of_another_kind(made, fresh) -> None:
    file = npz_bytes(probs=softmax(fresh.logits), labels=fresh.labels)
    with pytest.raises(
        CalibrationError, match="takes logits, but the new data were read as probabilities"
    ):
        read_new_rows(made.exported, ("f.npz", file))
    assert (
        read_new_rows(
            made.exported, ("f.npz", file), LoadOptions(choices=Choices(kind="logits"))
        ).data
        is not None
    )


def test_zeros_become_the_floor_of_the_calibrator() -> None:
    probs = softmax(simulate(n=300)[0]).round(2)
    probs /= probs.sum(axis=1, keepdims=True)
    labels = probs.argmax(axis=1)
    data = calib.load(("p.npz", npz_bytes(probs=probs, labels=labels)))
    exported = provenance.exported(calib.calibrator("temperature").fit(data), {"floor": 1e-4})
    found = read_new_rows(exported, ("p.npz", npz_bytes(probs=probs, labels=labels)))
    assert found.data.floor == 1e-4
    np.testing.assert_allclose(found.data.logits, exported.to_logits(probs), rtol=1e-6, atol=1e-9)


def test_new_rows_are_read_on_the_scale_of_the_calibrator() -> None:
    """Small percents of one column alone would be asked about."""
    logits, labels = simulate(n=300, n_classes=2)
    risk = 100 * softmax(logits)[:, 1]
    data = calib.load(("p.npz", npz_bytes(p_percent=risk, labels=labels)))
    assert data.scale == "percent"
    exported = provenance.exported(calib.calibrator("platt").fit(data))
    few = risk < 30
    found = read_new_rows(exported, ("p.npz", npz_bytes(p=risk[few], labels=labels[few])))
    np.testing.assert_allclose(found.data.logits, data.logits[few], rtol=1e-9)
    np.testing.assert_allclose(
        exported.predict_proba(risk[few]),
        exported.calibrator.predict_proba(found.data),
        rtol=1e-9,
    )


def test_a_calibrator_that_fails_on_the_rows_is_one_sentence(made, fresh) -> None:
    broken = calib.calibrator("temperature").fit(fresh.logits, fresh.labels)
    broken.temperature_ = "hot"
    with pytest.raises(CalibrationError, match="fails on these rows"):
        judge(calib.runtime.ExportedCalibrator(broken), fresh)


def test_features_reach_the_method_as_it_learned_them() -> None:
    from calib.data.samples import load_sample

    data = load_sample("digits-cnn")
    calibration, test = data.split(0.5, random_state=0)
    fitted = calib.calibrator("geometric").fit(calibration)
    plain = provenance.exported(fitted)
    with pytest.raises(CalibrationError, match="predicts from features too"):
        fitted_to(plain, replace(test, features=None))
    _, now = judge(plain, fitted_to(plain, test)[0])
    np.testing.assert_array_equal(
        now.confidence, fitted.predict_confidence(test.logits, features=test.features)
    )
    with pytest.raises(CalibrationError):
        judge(plain, replace(test, features=test.features[:, :3]))


def test_the_event_is_that_of_the_calibrator_whatever_is_rarer_now() -> None:
    logits, labels = simulate(n=400, n_classes=2)
    learned = Predictions(logits, labels, ("no", "yes"), event=Event(0, "refusal", "as chosen"))
    exported = provenance.exported(calib.calibrator("temperature").fit(learned))
    new = replace(learned, event=Event(1, "yes", "the rarer class"))
    data, _ = fitted_to(exported, new)
    assert (data.event.column, data.event.name) == (0, "refusal")
    raw, now = judge(exported, data)
    assert now.view.is_event
    np.testing.assert_allclose(now.pair[0], exported.calibrator.predict_proba(logits)[:, 0])
    np.testing.assert_array_equal(raw.pair[1], labels == 0)


def test_rows_without_labels_are_read_in_the_calibrators_order(made, fresh) -> None:
    for stem in ("", "logit_"):
        table = pd.DataFrame(
            fresh.logits[:, SHUFFLED], columns=[f"{stem}{NAMES[k]}" for k in SHUFFLED]
        )
        found = read_new_rows(
            made.exported, ("fresh.csv", BytesIO(table.to_csv(index=False).encode()))
        )
        assert not found.labelled
        assert not found.noticed
        np.testing.assert_allclose(found.data.logits, fresh.logits)
    assert "brought into the calibrator's" in found.notes[0]
    array = read_new_rows(made.exported, ("fresh.npz", npz_bytes(logits=fresh.logits)))
    np.testing.assert_allclose(array.data.logits, fresh.logits)
    assert not array.notes


def test_rows_without_labels_are_counted(made, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("calib.data.unlabelled.MAX_ROWS", 99)
    with pytest.raises(
        DataError, match=r"new.npz has 100 rows; at most 99 are read\. Save fewer rows\."
    ):
        read_new_rows(made.exported, ("new.npz", npz_bytes(logits=made.data.logits[:100])))
