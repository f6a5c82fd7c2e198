"""Rows drawn from a file are rows of the array with their labels; ``fit`` says where it drew them."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

import calib
import calib.cli.fit  # before a test changes the numbers that it takes over
from calib import CalibrationError, DataError
from calib.apply import sample_rows
from calib.apply.sample import fewer_rows
from calib.data import Choices
from calib.export.predict import load
from calib.numerics import softmax
from tests.apply.conftest import write
from tests.cli.conftest import run
from tests.conftest import simulate


@pytest.fixture
def data():
    logits, labels = simulate(500, 4)
    return logits.astype(np.float32), labels


@pytest.fixture
def files(tmp_path, data):
    np.save(tmp_path / "labels.npy", data[1])
    return write(tmp_path / "big.npy", data[0]), tmp_path / "labels.npy"


@pytest.mark.parametrize("name", ["plain.npy", "fortran.npy", "table.parquet"])
def test_rows_are_drawn_once_each_with_their_labels(tmp_path, data, small_blocks, name):
    logits, labels = data
    path, seen = write(tmp_path / name, logits, labels), []
    given = None if name.endswith("parquet") else labels
    sample = sample_rows(
        path, 120, labels=given, random_state=3, progress=lambda *step: seen.append(step)
    )
    places = [np.flatnonzero((logits == row).all(axis=1)).item() for row in sample.logits]
    assert len(set(places)) == 120 and places == sorted(places)
    np.testing.assert_array_equal(sample.labels, labels[places])
    assert (
        sample.name == path.stem and sample.kind == "logits" and sample.logits.dtype == np.float32
    )
    assert (
        f"120 of the 500 rows of {name} were drawn at random (seed 3)"
        in sample.findings[-1].message
    )
    assert len(seen) > 10 and seen[-1] == (500, 500)
    again, other = (sample_rows(path, 120, labels=given, random_state=seed) for seed in (3, 4))
    np.testing.assert_array_equal(again.logits, sample.logits)
    assert not np.array_equal(other.logits, sample.logits)


def test_every_row_is_as_likely(tmp_path, files):
    counts = sum(
        np.isin(
            np.load(files[0])[:, 0],
            sample_rows(files[0], 50, labels=files[1], random_state=seed).logits[:, 0],
        )
        for seed in range(100)
    )
    assert (
        abs(counts.mean() - 10) < 1e-9 and abs(counts.var() - 9) < 2
    )  # binomial, 100 draws of a tenth


def test_a_folder_is_one_table_with_its_clusters(tmp_path, data, small_blocks):
    logits, labels = data
    frame = pd.DataFrame(softmax(logits), columns=["p_ant", "p_bee", "p_cat", "p_dog"]).assign(
        species=np.array(["ant", "bee", "cat", "dog"])[labels],
        patient=[f"patient {i // 2}" for i in range(500)],
    )
    (tmp_path / "parts").mkdir()
    for i in range(5):
        frame.iloc[100 * i : 100 * (i + 1)].to_parquet(tmp_path / "parts" / f"{i}.parquet")
    sample = sample_rows(tmp_path / "parts", 200, choices=Choices(clusters="patient"))
    assert sample.class_names == ("ant", "bee", "cat", "dog") and sample.kind == "probabilities"
    assert len(sample) == len(sample.clusters) == 200
    places = [np.abs(softmax(logits) - row).sum(axis=1).argmin() for row in np.exp(sample.logits)]
    np.testing.assert_array_equal(sample.labels, labels[places])
    assert [*sample.clusters] == [f"patient {i // 2}" for i in places]


@pytest.mark.parametrize("named", [False, True])
def test_labels_mean_what_all_of_them_say(tmp_path, data, named):
    """Labels from 1 to 4 with a rare 4, which a sample of 20 rows misses, are still counted from one."""
    logits, labels = data[0], data[1] % 3
    labels[77] = 3
    raw = np.array(["ant", "bee", "cat", "dog"])[labels] if named else labels + 1
    sample = sample_rows(write(tmp_path / "big.npy", logits), 20, labels=raw)
    assert 3 not in sample.labels
    places = [np.flatnonzero((logits == row).all(axis=1)).item() for row in sample.logits]
    np.testing.assert_array_equal(sample.labels, labels[places])


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda outputs, labels: (outputs, labels[:-3]), "497 rows but big.npy has 500"),
        (
            lambda outputs, labels: (np.where(outputs == outputs[70, 2], np.nan, outputs), labels),
            "NaN",
        ),
        (lambda outputs, labels: (outputs, labels + 0.5), "mixed labels"),
        (lambda outputs, labels: (outputs, np.where(labels == 2, 9, labels)), r"outside 0\.\.3"),
    ],
)
def test_what_is_wrong_is_one_sentence(tmp_path, files, small_blocks, change, said):
    outputs, labels = change(np.load(files[0]), np.load(files[1]))
    np.save(files[0], outputs)
    np.save(files[1], labels)
    with pytest.raises(DataError, match=said):
        sample_rows(files[0], 500, labels=files[1])


def test_what_needs_all_rows_is_refused(tmp_path, files):
    with pytest.raises(DataError, match="outputs alone"):
        sample_rows(files[0])
    data = calib.Predictions(*simulate(), tuple("abcd"))
    for n_rows in (0, -3, 2.5, True, "5", float("nan")):
        with pytest.raises(CalibrationError, match=r"n_rows=\S+ must"):
            sample_rows(files[0], n_rows, labels=files[1])
        with pytest.raises(CalibrationError, match=r"n_rows=\S+ must"):
            fewer_rows(data, n_rows)
    labels = np.load(files[1]).astype(float)
    labels[::2] = np.nan
    with pytest.raises(DataError, match="no label"):
        sample_rows(files[0], labels=labels)


@pytest.mark.parametrize("column", ["id", "label", "logit_0"])
def test_parts_whose_types_do_not_go_together_are_refused(tmp_path, data, column):
    logits, labels = data
    for i, rows in enumerate([slice(0, 250), slice(250, 500)]):
        write(tmp_path / f"{i}.parquet", logits[rows], labels[rows])
    second = pd.read_parquet(tmp_path / "1.parquet")
    second.assign(**{column: [f"text {i}" for i in range(250)]}).to_parquet(tmp_path / "1.parquet")
    with pytest.raises(
        DataError, match=rf"cannot be read as one table \(.*{column} has incompatible types"
    ):
        sample_rows(tmp_path, 120)


# -- the command ---------------------------------------------------------------------------------------------------


def test_the_command_says_that_it_draws_rows(tmp_path, files, capsys, monkeypatch):
    monkeypatch.setattr("calib.apply.sample.MANY_ROWS", 200)
    monkeypatch.setattr("calib.apply.sample.SAMPLED_ROWS", 60)
    out = tmp_path / "c.npz"
    given = ("fit", files[0], "--labels", files[1], "--method", "temperature", "--out", out)
    for more, n in [((), 60), (("--rows", "90"), 90), (("--rows", "all"), 250)]:
        assert run(*given, *more) == 0
        said = capsys.readouterr().out
        assert f"fitted on {n} rows" in said and "On 250 test rows" in said
        assert (f"{n} of the 250 calibration rows were drawn" in said) == (n < 250)
        assert load(out).record["metadata"]["n_rows"] == n
    assert run(*given, "--rows", "some") == 2
    assert "expected a number of rows" in capsys.readouterr().err


def test_a_file_too_large_is_sampled_and_that_is_said(tmp_path, files, data, monkeypatch, capsys):
    monkeypatch.setattr("calib.cli.fit.MAX_BYTES", 1000)
    out = tmp_path / "c.npz"
    given = ("fit", files[0], "--labels", files[1], "--method", "temperature", "--out", out)
    assert run(*given, "--rows", "100") == 0
    said = capsys.readouterr().out
    assert (
        "200 of the 500 rows of big.npy were drawn at random (seed 0)" in said
        and "--rows N" in said
    )
    assert "fitted on 100 rows" in said and "On 100 test rows" in said
    assert run(*given, "--rows", "100", "--calibration", "all", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert (
        found["rows"] == 100
        and found["test_rows"] == 0
        and "100 of the 500 rows" in found["notes"][0]
    )
    for more, reason in [
        (("--rows", "all"), "--rows all needs"),
        (("--test", files[0]), "--test needs"),
    ]:
        assert run(*given, *more) == 2
        assert reason in capsys.readouterr().err


def test_a_folder_is_fitted_and_its_scale_kept(tmp_path, data, capsys):
    logits, labels = data
    (tmp_path / "parts").mkdir()
    for i, rows in enumerate(np.array_split(np.arange(500), 3)):
        write(tmp_path / "parts" / f"{i}.parquet", 100 * softmax(logits[rows]), labels[rows])
    out = tmp_path / "c.npz"
    assert (
        run(
            "fit",
            tmp_path / "parts",
            "--method",
            "temperature",
            "--calibration",
            "all",
            "--out",
            out,
        )
        == 0
    )
    assert "fitted on 500 rows" in capsys.readouterr().out
    saved = calib.runtime.load(out)
    assert saved.scale == "percent"
    assert run("apply", out, tmp_path / "parts", "--out", tmp_path / "out") == 0
    found = pd.concat(map(pd.read_parquet, sorted((tmp_path / "out").iterdir())))
    np.testing.assert_allclose(found, saved.predict_proba(100 * softmax(logits)), rtol=1e-6)
