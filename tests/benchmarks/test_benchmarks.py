"""The benchmarks run, at sizes of a few rows, and judge as they say they do."""

from __future__ import annotations

import os

import numpy as np
import pytest

from benchmarks import cifar, folds, kitti, measure, outputs, speed, wenger2020


def cost_of_nothing_and_of_an_array() -> list[measure.Cost]:
    return [
        measure.cost_of(lambda: None)[1],
        measure.cost_of(lambda: np.ones(50_000_000 // 8).nbytes)[1],
        measure.cost_of(lambda: None, baseline=1000)[1],
    ]


@pytest.mark.long
def test_memory_let_go_counts():
    # In a process of its own: from one that has held much, the system may take pages back meanwhile.
    nothing, used, above = measure.in_fresh_process(cost_of_nothing_and_of_an_array)
    assert nothing.peak_bytes < 5_000_000
    assert used.peak_bytes == pytest.approx(50_000_000, rel=0.1)
    assert above.peak_bytes > 20_000_000  # all that the process holds


def test_processor_time_counts(monkeypatch):
    monkeypatch.setattr("time.process_time", iter([3.0, 5.0]).__next__)
    assert measure.cost_of(lambda: None)[1].cpu_seconds == 2.0


def test_a_fresh_process_is_another_one():
    assert measure.in_fresh_process(os.getpid) != os.getpid()


def test_the_machine_is_named_with_its_versions():
    line = measure.machine("no-such-package")
    assert f"numpy {np.__version__}" in line
    assert "no-such-package not installed" in line


def test_a_table_has_its_rows_and_columns():
    table = measure.markdown(["fit", "CPU s"], [["1,000 x 10", 1.5], ["a", 20]]).split("\n")
    assert [line.count("|") for line in table] == [3, 3, 3, 3]
    assert len({len(line) for line in table}) == 1
    assert table[1].endswith("-: |")


def test_the_kitti_tables_have_their_rows(kitti_archive):
    data = kitti.read(kitti_archive)
    assert [part.shape for part in data] == [(210, 3), (210,), (180, 3), (180,)]
    sizes = {"n_folds": 2, "n_calibration": 60, "n_test": 100}
    methods = folds.columns("probs")[:3]
    two = kitti.all_scores(data, ["forest"], 2, methods, **sizes)
    rows = folds.beside("ece", two, wenger2020.KITTI_ECE)
    assert [row[:2] for row in rows] == [["Random Forest", "here"], ["", "paper"]]
    assert rows[1][2:] == ["0.0768", "0.0147 ± 0.0027", "0.0135 ± 0.0030"]
    assert "of 2 cells of Random Forest lie" in kitti.verdict("ece", two, wenger2020.KITTI_ECE)
    two["Random Forest"]["Platt"] = folds.Scores(*np.ones((3, 2)))  # the worst error, the best accuracy
    assert "not Random Forest / Platt" in kitti.verdict("ece", two, wenger2020.KITTI_ECE)
    assert "/ Platt" not in kitti.verdict("accuracy", two, wenger2020.KITTI_ACCURACY)
    eight = kitti.all_scores(data, ["forest"], 8, methods, **sizes)
    rows = kitti.eight_class_rows(eight)
    assert [row[1] for row in rows] == ["NLL", "authors' code", "ECE", "accuracy"]
    assert all(len(row) == 2 + len(methods) for row in rows)
    assert np.isfinite(eight["Random Forest"]["Uncal."].nll).all()


def test_a_class_without_training_rows_gets_half_the_smallest_probability(kitti_archive):
    train, train_labels, test, _ = kitti.read(kitti_archive)
    probs = np.exp(kitti.outputs(kitti.MODELS["forest"][1](), train, train_labels, test, 8))
    np.testing.assert_allclose(probs[:, 4], 0.005)  # the least that a hundred trees can say is 1 / 100
    np.testing.assert_allclose(np.where(probs > 0.0051, probs, 0).sum(axis=1), 1)


@pytest.mark.parametrize(
    ("score", "value", "holds"),
    [("ece", 0.91, True), ("ece", 0.99, False), ("ece", 0.5, True), ("accuracy", 0.92, True), ("accuracy", 0.9, False)],
)
def test_a_cell_holds_within_two_standard_deviations_or_better(score, value, holds):
    assert folds.agrees(score, np.array([value]), (0.95, 0.02 if score == "accuracy" else 0.01)) is holds


def test_gpcalib_is_fitted_once_for_both_ways_to_predict(monkeypatch):
    from calib.calibrators.gpcalib import GPCalib

    fits = []
    monkeypatch.setattr(GPCalib, "_fit", lambda self, *arguments, **extras: fits.append(self.inputs))
    monkeypatch.setattr(GPCalib, "_predict", lambda self, logits: np.full(logits.shape, 0.5))
    methods = [*folds.columns("probs")[-2:], *folds.columns("logits")[-2:]]
    sizes = {"n_folds": 2, "n_calibration": 4, "n_test": 4}
    folds.score_folds(np.zeros((8, 2)), np.resize([0, 1], 8), methods, **sizes)
    assert fits == ["probs", "logits"] * 2


def test_a_cifar_file_gives_three_rows(tmp_path, monkeypatch):
    monkeypatch.setattr(cifar, "columns", lambda inputs: folds.columns(inputs)[:3])
    probs = np.random.default_rng(0).dirichlet(np.ones(3), size=60)
    np.savez(tmp_path / "network.npz", predictions=probs, ground_truth=np.arange(60) % 3)
    rows = cifar.rows_of(tmp_path / "network.npz", 2, 30, 30)
    assert [row[:2] for row in rows] == [["network", "ECE"], ["", "NLL"], ["", "accuracy"]]
    assert all(len(row) == 5 for row in rows)


def test_a_file_gives_the_same_rows_every_time(tmp_path):
    probs = np.random.default_rng(0).dirichlet(np.ones(3), size=20)
    np.savez(tmp_path / "outputs.npz", predictions=probs, ground_truth=np.arange(20) % 3)
    logits, labels = outputs.of_network(tmp_path / "outputs.npz", 5)
    order = np.random.RandomState(0).permutation(20)[:5]
    np.testing.assert_allclose(np.exp(logits), probs[order])
    np.testing.assert_array_equal(labels, order % 3)


@pytest.mark.long
def test_calib_and_the_plain_model_of_gpflow_have_one_objective():
    _, _, own_end, posterior = speed.own_fit(400, 10)
    _, _, end, of_plain = speed.plain_fit(400, 10, False, posterior)
    assert own_end == pytest.approx(of_plain, rel=1e-4)
    assert own_end == pytest.approx(end, rel=0.01)  # it starts its inducing inputs in another order


def test_a_method_has_its_line():
    title, *cells = speed.cost_of_method("platt", 60, 4)
    assert title == "Platt"
    assert float(cells[0]) >= 0 and cells[2].endswith("MB")
