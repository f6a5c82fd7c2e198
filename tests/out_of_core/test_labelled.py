"""``fit --stream``: the same understanding, split and scores as for files that are read at once."""

import json

import numpy as np
import pandas as pd
import pytest

import calib
from calib.cli import main
from calib.data import Choices, DataError
from calib.numerics import softmax
from calib.out_of_core.labelled import open_labelled
from tests.conftest import simulate
from tests.out_of_core.conftest import write


@pytest.fixture
def files(tmp_path):
    logits, labels = simulate(500, 4)
    np.save(tmp_path / "labels.npy", labels)
    return write(tmp_path / "big.npy", logits), tmp_path / "labels.npy"


def run(*arguments):
    return main([str(argument) for argument in arguments])


@pytest.mark.parametrize("method", ["temperature", "imax"])
def test_the_command_fits_as_it_does_at_once(tmp_path, files, few_rows, capsys, method):
    said, probs = [], []
    for options in (["--stream"], []):
        out = tmp_path / "calibrator.npz"
        assert run("fit", files[0], "--labels", files[1], "--method", method, "--out", out, *options) == 0
        said.append(capsys.readouterr().out)
        probs.append(calib.runtime.load(out).calibrate(np.load(files[0])))
    assert "fitted on 250 rows, read in blocks" in said[0]
    before = [[line.split()[:5] for line in text.splitlines() if "->" in line] for text in said]
    assert before[0] == before[1]  # the same rows are tested
    assert np.abs(probs[0] - probs[1]).mean() < 1e-3


def test_what_an_export_records(tmp_path, files, few_rows):
    out = tmp_path / "calibrator.npz"
    options = ("--method", "temperature", "--stream", "--calibration", "all", "--out", out)
    assert run("fit", files[0], "--labels", files[1], *options) == 0
    record = json.loads(out.with_suffix(".json").read_text())
    assert record["kind"] == "logits"
    assert record["metadata"]["n_rows"] == 500
    assert record["metadata"]["data_name"] == "big"
    assert record["metadata"]["scores"] == {}


def test_a_table_brings_its_labels_and_class_names(tmp_path, few_rows):
    logits, labels = simulate(300, 3)
    names = np.array(["cat", "dog", "fox"])
    frame = pd.DataFrame(softmax(logits), columns=[f"p_{name}" for name in names]).assign(species=names[labels])
    frame.to_parquet(tmp_path / "table.parquet", row_group_size=40)
    with open_labelled(tmp_path / "table.parquet", None, Choices()) as found:
        assert found.class_names == ("cat", "dog", "fox")
        np.testing.assert_array_equal(found.data.labels, labels)
        assert found.data.kind == "probabilities"
        door = calib.load(tmp_path / "table.parquet")
        assert found.data.floor == door.floor
        part = found.predictions(np.array([1, 50, 299]))
        np.testing.assert_allclose(part.logits, door.logits[[1, 50, 299]])


def test_a_file_too_large_is_streamed_by_itself_and_that_is_said(tmp_path, files, monkeypatch, capsys):
    monkeypatch.setattr("calib.cli.cli_stream.MAX_BYTES", 10_000)
    out = tmp_path / "c.pkl"
    assert run("fit", files[0], "--labels", files[1], "--method", "temperature", "--out", out) == 0
    captured = capsys.readouterr()
    assert "so the fit reads it in blocks" in captured.err
    assert "read in blocks" in captured.out
    assert run("fit", files[0], "--labels", files[1], "--method", "isotonic", "--out", out) == 1
    assert "needs all rows in memory" in capsys.readouterr().err


def test_mixed_up_labels_are_noticed(tmp_path, files, few_rows, capsys):
    np.save(files[1], (np.load(files[1]) + 1) % 4)
    assert run("fit", files[0], "--labels", files[1], "--method", "temperature", "--stream", "--out",
               tmp_path / "c.pkl") == 0  # fmt: skip
    assert "accuracy" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda outputs, labels: (outputs, labels[:-3]), "497 rows but big.npy has 500"),
        (lambda outputs, labels: (np.where(outputs == outputs[70, 2], np.nan, outputs), labels), "row 71 of 500"),
        (lambda outputs, labels: (outputs, labels + 0.5), "mixed labels"),
        (lambda outputs, labels: (outputs[:, 0], labels), "single column"),
        (lambda outputs, labels: (100 * softmax(outputs), labels), "probabilities in percent"),
    ],
)
def test_what_is_wrong_is_one_sentence_and_one(tmp_path, files, few_rows, capsys, change, said):
    outputs, labels = change(np.load(files[0]), np.load(files[1]))
    np.save(files[0], outputs)
    np.save(files[1], labels)
    out = tmp_path / "c.pkl"
    assert run("fit", files[0], "--labels", files[1], "--method", "temperature", "--stream", "--out", out) == 1
    error = capsys.readouterr().err
    assert said in error
    assert "Traceback" not in error
    assert not out.exists()


def test_rows_without_a_label_are_left_out_where_that_is_chosen(tmp_path, files, few_rows):
    labels = np.load(files[1]).astype(float)
    labels[[3, 30]] = np.nan
    np.save(files[1], labels)
    with pytest.raises(DataError, match="2 rows of 500"), open_labelled(*files, Choices()):
        pass
    with open_labelled(*files, Choices(drop_bad_rows=True)) as found:
        assert len(found.data) == 498
        np.testing.assert_array_equal(found.data.labels, np.delete(labels, [3, 30]))
        np.testing.assert_array_equal(found.predictions(np.array([2, 3])).logits, np.load(files[0])[[2, 4]])


def test_options_that_need_the_whole_array_are_refused(tmp_path, files, capsys):
    with pytest.raises(DataError, match="row by row"), open_labelled(*files, Choices(row_shift=1)):
        pass
    with pytest.raises(SystemExit) as exit_:
        run("fit", files[0], "--labels", files[1], "--method", "temperature", "--stream", "--test", files[0],
            "--out", tmp_path / "c.pkl")  # fmt: skip
    assert exit_.value.code == 2
    assert "leave out --continue and --test" in capsys.readouterr().err
