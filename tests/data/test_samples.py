import json
import runpy
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.special import log_softmax
from scipy.stats import beta

import calib
from calib.calibrators.temperature import TemperatureScaling
from calib.data import DataError
from calib.data.samples import (
    SAMPLES,
    bayes_iso_map,
    exaggerate,
    load_sample,
    sample_named,
    undo_exaggeration,
)
from calib.numerics import argmax_with_ties
from calib.tasks import tasks_of

FOLDER = Path(__file__).resolve().parents[2] / "sample_data"
NAMES = list(SAMPLES)
LATENT = [name for name in NAMES if SAMPLES[name].true_latent is not None]


def nll(logits, labels) -> float:
    return -log_softmax(np.asarray(logits, float), axis=1)[np.arange(len(labels)), labels].mean()


def readme_rows() -> dict[str, list[str]]:
    lines = (FOLDER / "README.md").read_text(encoding="utf-8").splitlines()
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in lines
        if line.startswith("|")
    ]
    return {row[0]: row[1:] for row in rows[2:]}


@pytest.mark.parametrize("name", NAMES)
def test_is_as_the_readme_says(name):
    data = load_sample(name)
    assert data.name == SAMPLES[name].title
    assert not [finding for finding in data.findings if finding.level == "error"]
    kind, shape, *numbers = readme_rows()[name]
    assert kind == data.kind
    assert shape == f"{SAMPLES[name].n_rows} x {SAMPLES[name].n_classes}"
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


def test_readme_and_files_list_the_same_samples():
    assert list(readme_rows()) == NAMES
    stored = {path.name for path in FOLDER.iterdir() if path.suffix in (".npz", ".csv", ".xlsx")}
    assert stored == {sample.file for sample in SAMPLES.values()}
    assert sum(path.stat().st_size for path in FOLDER.iterdir() if path.is_file()) < 6e6


@given(st.floats(-1e3, 1e3))
def test_exaggeration_and_its_inverse(logit):
    assert undo_exaggeration(exaggerate(np.array(logit))) == pytest.approx(
        logit, rel=1e-9, abs=1e-9
    )
    assert exaggerate(undo_exaggeration(np.array(logit))) == pytest.approx(
        logit, rel=1e-9, abs=1e-9
    )


@pytest.mark.parametrize("name", LATENT)
def test_true_latent_is_calibrated_and_beats_any_temperature(name):
    data = load_sample(name)
    logits = np.asarray(data.logits, float)
    latent = SAMPLES[name].true_latent(logits)
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
            expected, variance = (
                confidence[rows].sum(),
                (confidence[rows] * (1 - confidence[rows])).sum(),
            )
            deviations.append(abs(correct[rows].sum() - expected) / np.sqrt(variance))
        return max(deviations)

    assert worst_deviation(latent) < 4
    assert worst_deviation(logits) > 6


def test_bayes_iso_map_reaches_the_ideal_of_the_paper():
    """Table 1 prints .1621 and .4741 from 100,000 draws; exactly it is .16205 and .47403."""

    def density(s):
        return 0.5 * beta.pdf(s, 1, 3) + 0.25 * beta.pdf(s, 1.5, 3) + 0.25 * beta.pdf(s, 30, 3)

    def entropy(s):
        p = bayes_iso_map(s)
        return -p * np.log(p) - (1 - p) * np.log(1 - p)

    brier = quad(
        lambda s: density(s) * bayes_iso_map(s) * (1 - bayes_iso_map(s)), 0, 1, epsabs=1e-9
    )[0]
    log_loss = quad(lambda s: density(s) * entropy(s), 1e-12, 1, epsabs=1e-9)[0]
    assert brier == pytest.approx(0.16205, abs=1e-5)
    assert log_loss == pytest.approx(0.47403, abs=1e-5)


@pytest.mark.parametrize(
    "name",
    ["digits-forest", "simulated-binary", pytest.param("simulated-tokens", marks=pytest.mark.long)],
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


def test_the_log_of_decisions_is_made_again_and_two_questions_are_off(tmp_path):
    script = runpy.run_path(str(FOLDER / "make_samples.py"))
    path = FOLDER / script["DECISIONS"]
    script["write_lines"](tmp_path / "again.jsonl", script["simulated_decisions"]())
    assert path.read_bytes() == (tmp_path / "again.jsonl").read_bytes()
    assert path.stat().st_size < 1e6
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    assert len(rows) == 1500 and sum("labels" in row for row in rows) == 400
    tasks = tasks_of(path)
    assert len(tasks) == 6 and {*tasks.models.values()} == {"simulated-1.0"}
    assert {*calib.audit_tasks(tasks).miscalibrated} == {"complaint", "department"}
    refused = sum("refusal" in row["answers"]["department"] for row in rows)
    assert tasks.left_out["department"]["refused"] == refused > 0


def test_unknown_name_is_answered_with_the_known_ones():
    for call in (load_sample, sample_named):
        with pytest.raises(DataError, match=r"no sample 'nope'.*digits-cnn"):
            call("nope")
