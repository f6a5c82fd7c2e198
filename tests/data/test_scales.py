"""Scales of outputs: what row sums or the range settle is converted and said, what they leave open is asked."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.special import softmax

import calib
from calib.canonical import PLAIN, SCALES, check_rescaled, full_scale, to_plain
from calib.cli import text
from calib.data import Choices, inspect, load
from calib.data.build.outputs import decide_form
from calib.data.findings import InvalidUpload
from calib.errors import CalibrationError
from calib.export import provenance, runtime, writer
from tests.data.conftest import cases, check_repeatable, csv_bytes, the


def written(probs, scale):
    """Probabilities as a scale writes them, without rounding."""
    if scale == "log":
        return np.log(probs)
    return probs * (73 if scale == "counts" else full_scale(scale))


shapes = st.tuples(st.integers(1, 12), st.integers(2, 6))
weights = st.floats(0.01, 1)


@given(
    shapes.flatmap(lambda shape: arrays(float, shape, elements=weights)),
    st.sampled_from([*SCALES, 500]),
)
def test_every_scale_is_undone_exactly(shares, scale):
    probs = shares / shares.sum(axis=1, keepdims=True)
    outputs = written(probs, scale)
    plain = to_plain(outputs.copy(), scale)
    np.testing.assert_allclose(plain, np.log(probs) if scale == "log" else probs, rtol=1e-9)
    to_plain(outputs, scale, out=outputs)
    np.testing.assert_array_equal(outputs, plain)
    if scale != "counts":
        one = probs[:, 0]
        np.testing.assert_allclose(to_plain(written(one, scale), scale), one, rtol=1e-9)
        np.testing.assert_allclose(
            to_plain(written(one[:, None], scale), scale), one[:, None], rtol=1e-9
        )


def counts(m, n):
    generator = np.random.default_rng(3)
    return np.array([generator.multinomial(n, row) for row in m.probs])


SETTLED = [
    # name, values, scale; how far a probability may lie from the true one
    ("percent", lambda m: m.probs * 100, "percent", 1e-12),
    (
        "whole percents as integers",
        lambda m: np.round(m.probs * 100).astype(int),
        "percent",
        0.0051,
    ),
    (
        "two classes in percent",
        lambda m: 100 * np.stack([m.probs[:, 0], 1 - m.probs[:, 0]], 1),
        "percent",
        1e-12,
    ),
]


@cases("values, scale, slack", SETTLED)
def test_rows_settle_the_scale_which_is_said_and_can_be_switched_back(make, values, scale, slack):
    outputs = values(make)
    path = make.npz(
        outputs=outputs, labels=make.labels if outputs.shape[1] > 2 else 1 - (make.labels == 0)
    )
    found = inspect(path)
    data = found.predictions
    assert data is not None, found.findings[0]
    assert data.scale == found.choices.scale == scale
    true = (
        make.probs
        if outputs.shape[1] > 2
        else np.stack([make.probs[:, 0], 1 - make.probs[:, 0]], 1)
    )
    assert np.abs(np.exp(data.logits) - true).max() <= slack + 1e-6 * (
        data.logits.dtype == np.float32
    )
    finding = the(data, "scale")
    assert finding.level == "info"
    back = load(path, **finding.fix)
    assert back.kind == "logits" and back.scale is None
    np.testing.assert_array_equal(back.logits, outputs.astype(back.logits.dtype))
    check_repeatable(path)


def test_bytes_are_asked_about_with_counts_first(make):
    outputs = np.floor(make.probs * 255.99).astype(np.uint8)
    arrays = {"outputs": outputs, "labels": make.labels}
    asked = the(inspect(arrays), "scale")
    first, *_ = asked.readings.values()
    data = load(arrays, **first)
    assert np.abs(np.exp(data.logits) - make.probs).max() <= 0.009


def one_column(m):
    return 1 / (1 + np.exp(-m.logits[:, 1]))


COLUMNS = [
    # name of the case, of the column, values, the scale that is taken, or the readings that are offered
    ("percent by its range", "p", lambda p: (p * 100).round(1), "percent"),
    ("percent by its name", "pd_percent", lambda p: (p * 9).round(2), "percent"),
    ("odds", "odds", lambda p: np.minimum(p / (1 - p), 90), {"percent", PLAIN}),
    ("per mille", "pd_permille", lambda p: (p * 1000).round(1), {1000.0, PLAIN}),
    ("moved below 0", "p", lambda p: p - 0.2, PLAIN),
    ("log-probability by its name", "logprob", np.log, "log"),
    ("log-odds", "p", lambda p: np.log(p / (1 - p)), PLAIN),
    ("scores of 0 to 10", "p", lambda p: (p * 10).round(), {10.0, "percent", PLAIN}),
    ("no value positive", "p", np.log, {"log", PLAIN}),
]


@cases("name, values, expected", COLUMNS)
def test_one_column_is_read_by_its_range_and_name_or_asked(make, name, values, expected):
    p = one_column(make)
    path = make.npz(**{name: values(p)}, labels=make.binary)
    found = inspect(path, choices=Choices(outputs=name))
    if not isinstance(expected, set):
        assert found.predictions is not None and found.choices.scale == expected
        return
    error = the(found, "scale")
    assert error.level == "error" and error.action
    assert {changes["scale"] for changes in error.readings.values()} == expected
    assert set(error.offers) == set(error.readings)
    for title, changes in error.readings.items():
        assert load(path, outputs=name, **changes).scale == (
            None if changes["scale"] == PLAIN else changes["scale"]
        )
        assert title in text.findings([error])


def decided(outputs, name="outputs"):
    """The scale of outputs; "asked" where it is."""
    try:
        return decide_form(outputs, name, Choices())[1] or PLAIN
    except InvalidUpload as invalid:
        return "asked" if invalid.finding.code == "scale" else PLAIN


finite = st.floats(-50, 50, allow_nan=False, width=32)


@settings(max_examples=50)
@example(np.array([[0.0, -9.0, -9.0]] * 10 + [[1.0, -9.0, -9.0]]))
@given(arrays(np.float64, st.tuples(st.integers(1, 40), st.integers(2, 5)), elements=finite))
def test_logits_and_probabilities_of_any_shape_are_left_as_they_are(logits):
    assume(
        logits.max() > 0 > logits.min() + 2e-6 * logits.max()
    )  # less than that below 0 is rounding
    assert decided(softmax(logits, axis=1)) == decided(softmax(logits[:, :1], axis=0)) == PLAIN
    with np.errstate(divide="ignore"):
        assert decided(np.log(softmax(logits, axis=1))) == PLAIN
    assume(np.abs(logits - np.round(logits)).max() > 2e-6)
    assert decided(logits) == PLAIN


@pytest.mark.parametrize(("scale", "suffix"), [("percent", ".npz"), ("counts", ".pkl")])
def test_an_exported_calibrator_converts_new_outputs_as_the_calibration_data_were(
    make, tmp_path, scale, suffix
):
    outputs = written(make.probs, scale)
    data = load(make.npz(outputs=outputs, labels=make.labels))
    assert data.scale == scale
    fitted = calib.calibrator("vector").fit(data)
    saved = runtime.load(writer.save(fitted, tmp_path / f"c{suffix}"))
    assert saved.scale == scale
    np.testing.assert_array_equal(saved.to_logits(outputs[:50]), data.logits[:50])
    np.testing.assert_allclose(
        saved.predict_proba(outputs), fitted.probs_from_logits(np.log(make.probs)), rtol=1e-9
    )


def test_what_is_off_the_scale_is_refused(make):
    fitted = calib.calibrator("temperature").fit(make.logits, make.labels)
    exported = provenance.exported(fitted, {"kind": "probabilities", "scale": "percent"})
    with pytest.raises(CalibrationError, match="sums to one already"):
        exported.predict_proba(make.probs)
    with pytest.raises(CalibrationError):
        exported.predict_proba(make.probs * 1000)
    with pytest.raises(CalibrationError):
        provenance.exported(fitted, {"kind": "probabilities", "scale": "nope"})
    check_rescaled(make.probs * 100, "percent")


def risks():
    generator = np.random.default_rng(0)
    risk = generator.beta(1, 2, 300)
    return risk, (generator.random(300) < risk).astype(int)


@pytest.mark.parametrize(
    ("value", "every", "said"),
    [
        (1.02, 300, "1 row of 300 leaves [0, 1]: 1.02 in row 2."),
        (-999.0, 60, "5 rows of 300 leave [0, 1]: -999 in row 2 is the first"),
        (-999.0, 3, "100 rows of 300 leave [0, 1]: -999 in row 2 is the first"),
        (99.0, 60, "5 rows of 300 leave [0, 1]: 99 in row 2 is the first"),
    ],
)
def test_a_slip_or_a_code_among_probabilities_is_named_and_makes_no_log_odds(value, every, said):
    risk, happened = risks()
    wrong = np.arange(300) % every == 1
    given = {"outputs": np.where(wrong, value, risk), "labels": happened}
    assert said in the(inspect(given), "out_of_range").message
    data = load(given, drop_bad_rows=True)
    np.testing.assert_allclose(np.exp(data.logits[:, 1]), risk[~wrong])


def test_a_slip_among_the_columns_of_classes_is_named_by_its_row(make):
    probs = make.probs
    probs[5, 2] = 1.02
    finding = the(inspect(make.csv(make.frame(p_2=probs[:, 2]))), "out_of_range")
    assert "1.02 in row 6" in finding.message and list(finding.readings) == ["Leave these rows out"]


def test_fractions_that_are_named_as_percent_are_asked_about():
    name, risk = "risk (%)", np.random.default_rng(0).uniform(0, 0.9, 200).round(4)
    happened = (np.arange(200) % 3 == 0).astype(int)
    table = ("t.csv", csv_bytes(**{name: risk, "default": happened}))
    asked = the(inspect(table), "scale")
    assert [choice["scale"] for choice in asked.readings.values()] == ["plain", "percent"]
    for (choice,), one in zip(map(dict.items, asked.readings.values()), (1, 100), strict=True):
        logits = load(table, **dict([choice])).logits
        np.testing.assert_allclose(np.exp(logits[:, 1]), risk / one, rtol=1e-5)
    signs = ("t.csv", csv_bytes(**{name: [f"{100 * p:.2f} %" for p in risk], "default": happened}))
    for roles in ({}, {"outputs": name, "outcome": "default"}):
        np.testing.assert_allclose(np.exp(load(signs, roles=roles).logits[:, 1]), risk, atol=1e-9)
