"""What is learned from a stream is what is learned from the same rows in memory."""

from dataclasses import dataclass

import numpy as np
import pytest

import calib
from calib import CalibrationError
from calib.base import Calibrator
from calib.calibrators import temperature
from calib.calibrators.imax import IMaxBinning
from calib.calibrators.imax import sums as imax_sums
from calib.calibrators.imax.placement import centres_of, information_bound
from calib.calibrators.imax.sums import LogOddsCells, SigmoidSums
from calib.calibrators.temperature import TemperatureScaling
from calib.numerics import one_vs_rest_log_odds, softmax
from calib.out_of_core import fit_out_of_core
from calib.out_of_core.fit import check_method, fit_stored, streamed_methods
from calib.out_of_core.rows import ArrayRows
from calib.out_of_core.survey import stored, survey
from tests.conftest import simulate
from tests.out_of_core.conftest import write


def stored_of(outputs, labels, kind="logits"):
    rows = ArrayRows(outputs)
    return stored(rows, labels, kind, survey(rows, labels, kind))


@pytest.fixture
def data():
    logits, labels = simulate(600, 5)
    return logits.astype(np.float32), labels


@pytest.mark.parametrize("name", ["plain.npy", "fortran.npy", "table.parquet"])
@pytest.mark.parametrize("method", ["temperature", "imax"])
def test_a_stream_learns_what_memory_learns(tmp_path, data, few_rows, method, name):
    logits, labels = data
    path = write(tmp_path / name, logits, labels)
    streamed = fit_out_of_core(method, path, labels)
    in_memory = calib.calibrator(method).fit(logits, labels)
    assert type(streamed) is type(in_memory)
    assert streamed.get_state().keys() == in_memory.get_state().keys()
    difference = np.abs(streamed.predict_proba(logits) - in_memory.predict_proba(logits))
    assert difference.mean() < 1e-4
    assert np.quantile(difference, 0.99) < (1e-8 if method == "temperature" else 0.01)
    calib.export.save(streamed, tmp_path / "calibrator.npz")
    loaded = calib.runtime.load(tmp_path / "calibrator.npz")
    np.testing.assert_array_equal(loaded.predict_proba(logits), streamed.predict_proba(logits))


@dataclass(eq=False, repr=False, kw_only=True)
class MeanShift(Calibrator):
    """Shift each class's logit by minus its mean: the hook alone makes it learn from files."""

    def _fit(self, logits, labels, callback, **extras):
        self.shift_ = -logits.mean(axis=0)

    def fit_blocks(self, data, callback):
        sums = data.each(lambda logits, labels: logits.sum(axis=0, dtype=float), "means")
        self.shift_ = -sum(sums) / data.shape[0]

    def _predict_proba(self, logits):
        return softmax(logits + self.shift_)


def test_the_hook_is_all_that_a_calibrator_needs(data, few_rows):
    logits, labels = data
    seen = []
    streamed = fit_stored(
        check_method(MeanShift()), stored_of(logits, labels), progress=lambda *progress: seen.append(progress)
    )
    in_memory = MeanShift().fit(logits, labels)
    np.testing.assert_allclose(streamed.predict_proba(logits), in_memory.predict_proba(logits), rtol=1e-12)
    assert seen[-1] == ("means", 600, 600)
    assert seen[0][1] < 600


def test_what_is_streamed_is_what_has_the_hook():
    assert streamed_methods() == [name for name, m in calib.METHODS.items() if "fit_blocks" in vars(m.cls)]
    assert set(streamed_methods()) == {"temperature", "gpcalib", "imax"}


def test_each_pass_over_a_part_gives_its_rows(data, few_rows):
    logits, labels = data
    part = stored_of(logits, labels).part(np.arange(0, 600, 2))
    for _ in range(2):
        seen = list(part.each(lambda block, of_block: (block, of_block), ""))
        np.testing.assert_array_equal(np.concatenate([block for block, _ in seen]), logits[::2])
        np.testing.assert_array_equal(np.concatenate([of_block for _, of_block in seen]), labels[::2])


@pytest.mark.parametrize("inputs", ["logits", pytest.param("probs", marks=pytest.mark.long)])
def test_gpcalib_is_the_same_to_the_last_bit(tmp_path, data, few_rows, monkeypatch, inputs):
    monkeypatch.setattr("calib.calibrators.gpcalib.training.MOST_ROWS", 400)  # some rows are left out, the same ones
    logits, labels = data
    params = {"inputs": inputs, "device": "cpu", "max_iter": 30}
    in_memory = calib.calibrator("gpcalib", **params).fit(logits, labels)
    streamed = fit_out_of_core("gpcalib", write(tmp_path / "plain.npy", logits), labels, **params)
    assert streamed.n_rows_ == 400
    assert streamed.get_state().keys() == in_memory.get_state().keys()
    np.testing.assert_array_equal(streamed.predict_proba(logits), in_memory.predict_proba(logits))
    more = simulate(50, 5, seed=1)
    streamed.partial_fit(*more)
    assert streamed.n_rows_given_ == 650


@pytest.mark.long
def test_gpcalib_divides_badly_scaled_logits_as_in_memory(data, few_rows):
    logits, labels = data
    params = {"device": "cpu", "max_iter": 5}
    in_memory = calib.calibrator("gpcalib", **params).fit(logits * 400, labels)
    streamed = fit_out_of_core("gpcalib", logits * 400, labels, **params)
    assert streamed.scale_ == in_memory.scale_ > 100
    np.testing.assert_array_equal(streamed.predict_proba(logits), in_memory.predict_proba(logits))


@pytest.mark.parametrize("method", ["temperature", "imax"])
@pytest.mark.parametrize("kind", ["probabilities", "log_probabilities", "binary_probability", "binary_log_odds"])
def test_outputs_of_every_kind_as_at_the_door(tmp_path, few_rows, method, kind):
    logits, labels = simulate(400, 2 if kind.startswith("binary") else 4)
    probs = softmax(logits)
    probs[:3] = np.eye(len(probs[0]))[[0, 1, 1]]
    with np.errstate(divide="ignore"):
        outputs = {
            "probabilities": probs,
            "log_probabilities": np.log(probs),
            "binary_probability": probs[:, 1],
            "binary_log_odds": logits[:, 1] - logits[:, 0],
        }[kind]
    np.savez(tmp_path / "known.npz", outputs=outputs, labels=labels)
    door = calib.load(tmp_path / "known.npz", kind=kind)
    found = stored_of(outputs, labels, kind)
    assert found.floor == door.floor
    assert found.low == pytest.approx(float(door.logits.min()), rel=1e-12)
    assert found.high == pytest.approx(float(door.logits.max()), rel=1e-12)
    np.testing.assert_array_equal(found.label_on_top, door.logits[np.arange(400), labels] == door.logits.max(axis=1))
    streamed = fit_out_of_core(method, outputs, labels, kind=kind)
    in_memory = calib.calibrator(method).fit(door.logits, door.labels)
    difference = np.abs(streamed.predict_proba(door.logits) - in_memory.predict_proba(door.logits))
    assert difference.mean() < 1e-3


# -- temperature ------------------------------------------------------------------------------------------------


def naive_slopes(logits, labels, inverse):
    probs = softmax(inverse * logits)
    mean = (probs * logits).sum(axis=1, keepdims=True)
    moments = [(probs * (logits - mean) ** m).sum(axis=1) for m in (2, 3, 4)]
    first = (mean[:, 0] - logits[np.arange(len(labels)), labels]).sum()
    return first, moments[0].sum(), moments[1].sum(), (moments[2] - 3 * moments[0] ** 2).sum()


def test_the_slopes_are_the_cumulants_and_the_derivatives(overconfident, few_rows):
    logits, labels = overconfident
    data = stored_of(logits, labels)

    def at(inverse):
        return np.array([*vars(temperature.slopes(data, inverse, "")).values()])

    np.testing.assert_allclose(at(0.7), naive_slopes(logits, labels, 0.7), rtol=1e-10)
    step = 1e-5
    np.testing.assert_allclose((at(0.7 + step) - at(0.7 - step))[:3] / (2 * step), at(0.7)[1:], rtol=1e-6)


def test_a_pilot_leaves_one_pass(few_rows, monkeypatch):
    logits, labels = simulate(3000, 4)
    monkeypatch.setattr(temperature, "PILOT_ELEMENTS", 4 * 1500)
    passes = set()
    fitted = fit_out_of_core("temperature", logits, labels, progress=lambda what, done, total: passes.add(what))
    assert passes <= {"range", "pass 1", "pass 2"}
    assert fitted.temperature_ == pytest.approx(TemperatureScaling().fit(logits, labels).temperature_, rel=1e-7)


@pytest.mark.parametrize("scale", [1e-3, 0.02, 1.0, 30.0, 1e4])
def test_a_useless_pilot_costs_passes_only(scale, few_rows, monkeypatch):
    logits, labels = simulate(300, 3)
    monkeypatch.setattr(TemperatureScaling, "_pilot", lambda calibrator, data: 0.0)
    fitted = fit_out_of_core("temperature", logits * scale, labels)
    assert fitted.temperature_ == pytest.approx(TemperatureScaling().fit(logits * scale, labels).temperature_, rel=1e-6)


def test_separable_and_constant_rows_end_at_the_same_bounds(few_rows):
    labels = np.arange(60) % 3
    separable, constant = np.eye(3)[labels] * 4, np.ones((60, 3))
    wrong = np.eye(3)[(labels + 1) % 3] * 4
    for logits in (separable, constant, wrong):
        fitted = fit_out_of_core("temperature", logits, labels)
        assert fitted.temperature_ == TemperatureScaling().fit(logits, labels).temperature_
        assert fitted.notes() == TemperatureScaling().fit(logits, labels).notes()


# -- I-Max ------------------------------------------------------------------------------------------------------


def bound(fitted, logits):
    """What I-Max maximises, of all pairs, with the fitted edges."""
    sums = SigmoidSums.from_log_odds(one_vs_rest_log_odds(logits.astype(np.float64)))
    cuts = sums.positions(fitted.maps_[0]["edges"])
    return information_bound(*sums.between(cuts), centres_of(sums, cuts))


def test_imax_keeps_as_much_information(data, few_rows):
    logits, labels = data
    streamed, in_memory = fit_out_of_core("imax", logits, labels), IMaxBinning().fit(logits, labels)
    assert bound(streamed, logits) == pytest.approx(bound(in_memory, logits), rel=1e-4)


@pytest.mark.parametrize("scheme", ["imax", "equal_mass", "equal_width"])
@pytest.mark.parametrize("params", [{}, {"platt_correction": True, "monotone": True}, {"representatives": "raw"}])
def test_bins_say_exactly_what_lies_in_them(data, few_rows, monkeypatch, scheme, params):
    monkeypatch.setattr(imax_sums, "N_CELLS", 2**12)  # cells so wide that most bins' edges cut one
    logits, labels = data
    fitted = fit_out_of_core("imax", logits, labels, scheme=scheme, **params)
    (state,) = fitted.maps_
    log_odds = one_vs_rest_log_odds(logits.astype(np.float64))
    positives = np.eye(5, dtype=bool)[labels]
    again = fitted.map_between(state["edges"], SigmoidSums.from_log_odds(log_odds), np.sort(log_odds[positives]))
    np.testing.assert_allclose(state["values"], again["values"], rtol=2e-3 if "representatives" in params else 1e-12)


def test_two_classes_have_one_map_on_the_second(few_rows):
    logits, labels = simulate(500, 2)
    streamed, in_memory = fit_out_of_core("imax", logits, labels), IMaxBinning().fit(logits, labels)
    assert streamed.margin_ == in_memory.margin_
    np.testing.assert_allclose(
        streamed.predict_proba(logits).mean(axis=0), in_memory.predict_proba(logits).mean(axis=0)
    )
    alone = fit_out_of_core("imax", logits, np.ones(500, dtype=int))
    assert alone.get_state().keys() == in_memory.get_state().keys()
    assert alone.notes() == IMaxBinning().fit(logits, np.ones(500, dtype=int)).notes()
    np.testing.assert_allclose(alone.predict_proba(logits), softmax(logits))


def test_all_log_odds_lie_in_their_range(rng):
    for n_classes in (2, 3, 50):
        logits = rng.normal(size=(200, n_classes)) * 5
        cells = LogOddsCells.from_logits(logits.min(), logits.max(), n_classes)
        log_odds = one_vs_rest_log_odds(logits)
        assert cells.low <= log_odds.min()
        assert log_odds.max() <= cells.high
        assert cells.counted(log_odds).sum() == log_odds.size


# -- what is refused --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("method", "params", "said"),
    [
        ("beta", {}, "BetaCalibration.*temperature, gpcalib, imax"),
        ("imax", {"share_classes": False}, "share_classes=True"),
        ("imax", {"representatives": "platt"}, "representatives='platt'"),
        ("imax", {"scaled_model": True}, "scaled_model=True"),
        ("imax", {"n_bins": 0}, "n_bins=0"),
    ],
)
def test_what_needs_all_rows_is_refused_before_any_is_read(method, params, said):
    with pytest.raises(CalibrationError, match=said):
        fit_out_of_core(method, "absent.npy", [0], **params)


@pytest.mark.parametrize("method", ["temperature", "imax"])
def test_bad_rows_and_labels_are_named(data, few_rows, method):
    logits, labels = data
    bad = logits.copy()
    bad[[300, 301], 1] = np.nan
    with pytest.raises(CalibrationError, match="row 301 of 600"):
        fit_out_of_core(method, bad, labels)
    with pytest.raises(CalibrationError, match=r"one for each row.*599"):
        fit_out_of_core(method, logits, labels[1:])
    with pytest.raises(CalibrationError, match=r"0\.\.4"):
        fit_out_of_core(method, logits, labels + 1)


def test_a_cancelled_fit_is_none(data, few_rows):
    logits, labels = data

    def cancel(what, done, total):
        if what != "range":
            raise KeyboardInterrupt

    made = TemperatureScaling()
    with pytest.raises(KeyboardInterrupt):
        from calib.out_of_core.fit import fit_stored

        fit_stored(made, stored_of(logits, labels), progress=cancel)
    assert not made.fitted
