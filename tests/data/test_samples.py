import io
import re
import runpy
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.special import log_softmax
from scipy.stats import beta

from calib.calibrators.temperature import TemperatureScaling
from calib.data import DataError, Predictions
from calib.data.samples import (
    SAMPLES,
    bayes_iso_map,
    bayes_iso_scores,
    exaggerate,
    exaggerated_logits,
    load_sample,
    true_latent,
    true_map,
    undo_exaggeration,
)
from calib.evaluation import Evaluation
from calib.numerics import argmax_with_ties
from calib.top_k import TopK, fit_top_k

FOLDER = Path(__file__).resolve().parents[2] / "sample_data"
NAMES = list(SAMPLES)
LATENT = [name for name in NAMES if true_latent(name) is not None]


@pytest.fixture(scope="module", params=NAMES)
def name(request) -> str:
    return request.param


@pytest.fixture(scope="module")
def data(name) -> Predictions:
    return load_sample(name)


def nll(logits, labels) -> float:
    return -log_softmax(np.asarray(logits, float), axis=1)[np.arange(len(labels)), labels].mean()


def partition(outputs: TopK) -> np.ndarray:
    """Log-sum of the exponentials of all logits of each row."""
    return np.logaddexp(np.logaddexp.reduce(outputs.values, axis=1), outputs.rest)


def top_is_right(data: Predictions) -> np.ndarray:
    return data.logits.indices[:, 0] == data.labels


def of_top_k(data: Predictions) -> list[float]:
    """The numbers of a row of README.md's table."""
    outputs, scaling = data.logits, fit_top_k(TemperatureScaling(), data.logits[::2], data.labels[::2])
    after = Evaluation.from_calibrator(scaling, outputs[1::2], data.labels[1::2]).row_nll.mean()
    confidence = np.exp(outputs.values[:, 0] - partition(outputs)).mean()
    before = (partition(outputs) - outputs.label_logit)[1::2].mean()
    return [top_is_right(data).mean(), confidence, scaling.temperature_, before, after]


def readme_rows() -> dict[str, list[str]]:
    lines = (FOLDER / "README.md").read_text(encoding="utf-8").splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")]
    return {row[0]: row[1:] for row in rows[2:]}


# -- what every sample is ------------------------------------------------------------------------------


def test_loads_as_an_upload_without_an_error(name, data):
    assert not [finding for finding in data.findings if finding.level == "error"]
    assert data.name == SAMPLES[name].title
    assert data.sha256


def test_has_the_stated_size_and_names(name, data):
    sample = SAMPLES[name]
    assert data.logits.shape == (sample.n_rows, sample.n_classes)
    assert len(data.class_names) == sample.n_classes == len(set(data.class_names))
    if data.kind == "topk":
        return
    assert np.isfinite(data.logits).all()
    if name != "simulated-1000":
        assert set(data.labels) == set(range(sample.n_classes))


def test_is_as_the_readme_says(name, data):
    kind, shape, *numbers = readme_rows()[name]
    assert kind == data.kind
    assert shape == f"{SAMPLES[name].n_rows} x {SAMPLES[name].n_classes}"
    if data.kind == "topk":
        assert [float(number) for number in numbers] == pytest.approx(of_top_k(data), abs=6e-4)
        return
    logits, labels = np.asarray(data.logits, float), data.labels
    scaling = TemperatureScaling().fit(logits[::2], labels[::2])
    after = nll(logits[1::2] / scaling.temperature_, labels[1::2])
    measured = [
        np.mean(logits.argmax(axis=1) == labels),
        np.exp(log_softmax(logits, axis=1)).max(axis=1).mean(),
        scaling.temperature_,
        nll(logits[1::2], labels[1::2]),
        after,
    ]
    np.testing.assert_allclose(measured, [float(number) for number in numbers], atol=6e-4)


def test_is_a_model_worth_calibrating(name, data):
    if SAMPLES[name].ending != ".npz" or data.kind == "topk":
        pytest.skip("what it shows has a test of its own")
    logits, labels = np.asarray(data.logits, float), data.labels
    majority = np.bincount(labels).max() / len(labels)
    assert np.mean(logits.argmax(axis=1) == labels) > majority + 0.2
    scaling = TemperatureScaling().fit(logits[::2], labels[::2])
    assert not scaling.notes(), "the temperature is at its bound"
    assert nll(logits[1::2] / scaling.temperature_, labels[1::2]) < nll(logits[1::2], labels[1::2]) - 0.005


def test_readme_and_files_list_the_same_samples():
    assert list(readme_rows()) == NAMES
    stored = {path.name for path in FOLDER.iterdir() if path.suffix in (".npz", ".csv", ".xlsx")}
    assert stored == {SAMPLES[name].file for name in NAMES if SAMPLES[name].build is None}
    assert sum(path.stat().st_size for path in FOLDER.iterdir() if path.is_file()) < 6e6


def test_simulated_ones_say_so():
    for sample in SAMPLES.values():
        assert ("simulated" in sample.title) == sample.simulated == ("simulated" in sample.description)
        assert ("simulated" in sample.name) == sample.simulated
        if not sample.simulated:
            assert sample.true_latent is None and sample.true_map is None and sample.build is None
        for sentence in (sample.description, sample.look_for):
            assert re.fullmatch(r"[A-Z0-9].*[^.]\.", sentence)


def test_files_are_plain_arrays_without_pickles():
    for path in FOLDER.glob("*.npz"):
        with np.load(path, allow_pickle=False) as arrays:
            assert all(arrays[key].dtype.kind in "fuU" for key in arrays.files)


# -- what single samples promise to show ---------------------------------------------------------------


def test_a_sample_says_whether_it_carries_features(name, data):
    assert bool(SAMPLES[name].features) == (data.train_labels is not None)
    assert data.features is not None or not SAMPLES[name].features


@pytest.mark.parametrize("name", [name for name in NAMES if "digits" in name])
def test_digits_carry_the_images_of_train_and_test(name):
    data = load_sample(name)
    assert data.features.shape == (1547, 8, 8) and data.train_features.shape == (250, 8, 8)
    assert data.features.dtype == data.train_features.dtype == np.float32
    assert data.train_labels.shape == (250,)
    assert not [f for f in data.findings if f.level == "warning" and ("feature" in f.code or "train" in f.code)]
    for pixels in (data.features, data.train_features):
        assert pixels.min() == 0 and pixels.max() == 1
    # The nearest training image knows the label: features, rows and labels belong together.
    pixels, trained = data.features.reshape(-1, 64), data.train_features.reshape(-1, 64)
    squared = (pixels**2).sum(axis=1)[:, None] - 2 * pixels @ trained.T + (trained**2).sum(axis=1)
    assert np.mean(data.train_labels[squared.argmin(axis=1)] == data.labels) > 0.9
    assert np.mean(squared.min(axis=1) > 1e-3) > 0.99, "out of sample"


def test_forest_has_exact_zeros_and_a_floor():
    data = load_sample("digits-forest")
    with np.load(FOLDER / "digits-forest.npz") as arrays:
        zero = arrays["probabilities"] == 0
    assert zero.sum() == 2713
    assert data.floor == pytest.approx(0.005)
    np.testing.assert_allclose(data.logits[zero], np.log(0.005), rtol=1e-5)
    np.testing.assert_array_less(np.log(0.0099), data.logits[~zero])


def test_direction_of_each_miscalibration():
    over = {}
    for name in NAMES:
        data = load_sample(name)
        if data.kind == "topk":
            over[name] = np.exp(data.logits.values[:, 0] - partition(data.logits)).mean() - top_is_right(data).mean()
            continue
        probs = np.exp(log_softmax(data.logits, axis=1))
        over[name] = probs.max(axis=1).mean() - np.mean(probs.argmax(axis=1) == data.labels)
    under = {"digits-forest", "odd-digits-adaboost", "wine-forest"}
    assert {name for name, gap in over.items() if gap < -0.2} == under
    assert all(gap > 0.03 for name, gap in over.items() if name not in under)


def test_sentences_with_numbers_are_true():
    with np.load(FOLDER / "digits-mlp.npz") as arrays:
        assert np.sum(arrays["probabilities"] == 1) == 179
    assert 1000 - len(np.unique(load_sample("simulated-1000").labels)) == 120
    with np.load(FOLDER / "odd-digits-adaboost.npz") as arrays:
        assert np.mean(np.abs(arrays["probabilities"] - 0.5) < 0.2) > 0.95
    with np.load(FOLDER / "breast-cancer-bayes.npz") as arrays:
        assert np.mean(arrays["log_probabilities"].min(axis=1) < np.log(1e-10)) > 0.7


def test_the_clinical_risks_are_nearly_right_on_average_and_too_extreme():
    data = load_sample("clinic-tumours")
    risk = np.exp(data.logits[:, 1])
    assert data.event.name == "malignant" and ((risk > 0) & (risk < 1)).all()
    assert data.labels.mean() / risk.mean() == pytest.approx(1, abs=0.1)
    assert slope(risk, data.labels) == pytest.approx(0.5, abs=0.05)


def test_the_loans_default_more_often_than_predicted_and_small_firms_most():
    data = load_sample("simulated-loans")
    risk = np.exp(data.logits[:, 1])
    assert data.event.name == "default" and len(np.unique(data.clusters)) == 60
    assert data.weights is not None and data.weight_kind is None
    ratio = {name: data.labels[rows].mean() / risk[rows].mean() for name in np.unique(data.groups)
             for rows in [data.groups == name]}  # fmt: skip
    assert data.labels.mean() / risk.mean() == pytest.approx(1.5, abs=0.1)
    assert max(ratio, key=ratio.get) == "sme"


def test_the_answers_are_pairs_of_two_models_that_are_overconfident():
    data = load_sample("simulated-answers")
    assert data.kind == "pairs" and set(data.groups) == {"m-large", "m-small"}
    assert len(np.unique(data.clusters)) == 750
    assert len(np.unique(data.confidence.round(9))) == 9
    assert data.correct[np.isclose(data.confidence, 0.7)].mean() == pytest.approx(0.5, abs=0.1)


def test_of_the_tokens_more_labels_lie_outside_the_top_k_than_the_model_says():
    data = load_sample("simulated-tokens")
    assert data.logits.k == 20
    outside = data.logits.places(data.labels) == 20
    assert outside.mean() == pytest.approx(0.19, abs=0.005)
    assert np.exp(data.logits.rest - partition(data.logits)).mean() < 0.5 * outside.mean()


def slope(risk: np.ndarray, happened: np.ndarray) -> float:
    """Calibration slope by Newton's method: the coefficient of the log-odds in a logistic regression (Cox 1958)."""
    design = np.stack([np.ones(len(risk)), np.log(risk / (1 - risk))], axis=1)
    coefficients = np.zeros(2)
    for _ in range(50):
        p = 1 / (1 + np.exp(-design @ coefficients))
        coefficients += np.linalg.solve((design.T * (p * (1 - p))) @ design, design.T @ (happened - p))
    return coefficients[1]


# -- the truths ----------------------------------------------------------------------------------------


@given(st.floats(-1e3, 1e3))
def test_exaggeration_and_its_inverse(logit):
    assert undo_exaggeration(exaggerate(np.array(logit))) == pytest.approx(logit, rel=1e-9, abs=1e-9)
    assert exaggerate(undo_exaggeration(np.array(logit))) == pytest.approx(logit, rel=1e-9, abs=1e-9)


@given(st.floats(-50, 50), st.floats(1e-6, 50))
def test_exaggeration_increases(logit, step):
    low, high = exaggerate(np.array([logit, logit + step]))
    assert high > low


def test_exaggeration_at_hand_computed_points():
    np.testing.assert_allclose(exaggerate(np.array([-3.0, 4.0, 5.0, 14.0])), [-3.0, 4.0, 5.06, 20.0])


@pytest.mark.parametrize("name", LATENT)
def test_true_latent_is_calibrated_and_beats_any_temperature(name):
    data = load_sample(name)
    logits = np.asarray(data.logits, float)
    latent = true_latent(name)(logits)
    best_temperature = TemperatureScaling().fit(logits, data.labels).temperature_
    assert nll(latent, data.labels) < nll(logits / best_temperature, data.labels) - 0.01

    # Labels are drawn from the true probabilities, so counts in bins of confidence are sums of independent
    # Bernoulli variables: within four standard deviations in all ten bins. The raw model is far outside.
    def worst_deviation(values):
        probs = np.exp(log_softmax(values, axis=1))
        confidence = probs.max(axis=1)
        correct = argmax_with_ties(probs, logits) == data.labels
        deviations = []
        for rows in np.array_split(np.argsort(confidence), 10):
            expected, variance = confidence[rows].sum(), (confidence[rows] * (1 - confidence[rows])).sum()
            deviations.append(abs(correct[rows].sum() - expected) / np.sqrt(variance))
        return max(deviations)

    assert worst_deviation(latent) < 4
    assert worst_deviation(logits) > 6


def test_no_shift_or_scale_of_the_true_latent_is_better():
    data = load_sample("simulated-100")
    latent = true_latent("simulated-100")(np.asarray(data.logits, float))
    scale = TemperatureScaling().fit(latent, data.labels).temperature_
    assert scale == pytest.approx(1, abs=0.05)


def test_bayes_iso_map_is_the_ratio_of_the_densities():
    scores = np.linspace(0.001, 0.999, 500)
    positive = 0.5 * beta.pdf(scores, 1.5, 3) + 0.5 * beta.pdf(scores, 30, 3)
    negative = beta.pdf(scores, 1, 3)
    np.testing.assert_allclose(bayes_iso_map(scores), positive / (positive + negative), rtol=1e-10)
    assert (np.diff(bayes_iso_map(scores)) > 0).all()
    assert bayes_iso_map(np.array([0.0, 1.0])) == pytest.approx([0, 1 - 1 / 2482.09375])


def test_bayes_iso_map_reaches_the_ideal_of_the_paper():
    """Table 1 prints .1621 and .4741 from 100,000 draws; exactly it is .16205 and .47403."""

    def density(s):
        return 0.5 * beta.pdf(s, 1, 3) + 0.25 * beta.pdf(s, 1.5, 3) + 0.25 * beta.pdf(s, 30, 3)

    def entropy(s):
        p = bayes_iso_map(s)
        return -p * np.log(p) - (1 - p) * np.log(1 - p)

    brier = quad(lambda s: density(s) * bayes_iso_map(s) * (1 - bayes_iso_map(s)), 0, 1, epsabs=1e-9)[0]
    log_loss = quad(lambda s: density(s) * entropy(s), 1e-12, 1, epsabs=1e-9)[0]
    assert brier == pytest.approx(0.16205, abs=1e-5)
    assert log_loss == pytest.approx(0.47403, abs=1e-5)


def test_bayes_iso_scores_follow_their_map():
    scores, labels = bayes_iso_scores(n_per_class=20_000, seed=1)
    assert labels.sum() == 20_000
    truth = bayes_iso_map(scores)
    for rows in np.array_split(np.argsort(scores), 20):
        sd = np.sqrt((truth[rows] * (1 - truth[rows])).sum())
        assert abs(labels[rows].sum() - truth[rows].sum()) < 4 * sd


def test_true_map_of_the_sample_beats_any_temperature():
    data = load_sample("simulated-binary")
    logits = np.asarray(data.logits, float)
    truth = true_map("simulated-binary")(np.exp(logits[:, 1]))
    ideal = -np.mean(np.log(np.where(data.labels == 1, truth, 1 - truth)))
    scaling = TemperatureScaling().fit(logits, data.labels)
    assert ideal < nll(logits / scaling.temperature_, data.labels) - 0.02
    assert ideal == pytest.approx(0.47403, abs=4 * 0.5 / np.sqrt(len(data)))


@pytest.mark.parametrize("n_classes", [10, 100])
def test_exaggerated_logits_have_one_favoured_class_and_follow_their_seed(n_classes):
    logits, labels = exaggerated_logits(300, n_classes, seed=3)
    again, labels_again = exaggerated_logits(300, n_classes, seed=3)
    np.testing.assert_array_equal(logits, again)
    np.testing.assert_array_equal(labels, labels_again)
    assert logits.dtype == np.float32
    favoured = undo_exaggeration(logits).max(axis=1)
    assert favoured.min() >= np.log(n_classes) - 1e-4 and favoured.max() <= np.log(n_classes) + 8 + 1e-4
    assert (exaggerated_logits(300, n_classes, seed=4)[0] != logits).any()


# -- making them ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    [
        "digits-forest",
        "odd-digits-adaboost",
        "breast-cancer-bayes",
        "simulated-binary",
        "simulated-100",
        pytest.param("simulated-tokens", marks=pytest.mark.long),
    ],
)
def test_script_makes_the_stored_file_again(name):
    made = runpy.run_path(str(FOLDER / "make_samples.py"))["pool_arrays"](name)
    with np.load(FOLDER / f"{name}.npz") as stored:
        assert set(stored.files) == set(made)
        for key, array in made.items():
            assert stored[key].dtype == array.dtype
            if array.dtype.kind == "f":
                np.testing.assert_allclose(stored[key], array, rtol=1e-5, atol=1e-6)
            else:
                np.testing.assert_array_equal(stored[key], array)


@pytest.mark.parametrize("name", ["clinic-tumours", "simulated-loans", "simulated-answers", "wine-forest"])
def test_script_makes_the_stored_table_again(name):
    columns = runpy.run_path(str(FOLDER / "make_samples.py"))["TABLES"][name]()
    path = FOLDER / SAMPLES[name].file
    stored = pd.read_csv(path) if path.suffix == ".csv" else pd.read_excel(path)
    made = pd.read_csv(io.StringIO(pd.DataFrame(columns).to_csv(index=False)))
    pd.testing.assert_frame_equal(stored, made, rtol=1e-6)


def test_generated_sample_is_the_same_each_time():
    first, second = load_sample("simulated-1000"), load_sample("simulated-1000")
    np.testing.assert_array_equal(first.logits, second.logits)
    assert first.sha256 == second.sha256


def test_unknown_truths_are_none():
    assert true_latent("digits-cnn") is None
    assert true_map("digits-cnn") is None


@pytest.mark.parametrize("call", [load_sample, true_latent, true_map])
def test_unknown_name_is_answered_with_the_known_ones(call):
    with pytest.raises(DataError, match=r"no sample 'nope'.*digits-cnn"):
        call("nope")


def test_missing_folder_is_a_sentence(monkeypatch):
    monkeypatch.setattr("calib.data.samples.FOLDER", "elsewhere")
    with pytest.raises(DataError, match="not whole"):
        load_sample("digits-mlp")
