"""Rows on disk are those of the array, however they lie there.

``fit --stream``: the same understanding, split and scores as for files that are read at once.
"""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

import calib
from calib.cli import main
from calib.data import Choices, DataError
from calib.numerics import softmax
from calib.out_of_core import open_rows
from calib.out_of_core.reading import open_labelled
from calib.out_of_core.rows import ArrayRows, Subset
from tests.conftest import simulate
from tests.out_of_core.conftest import write

FILES = ("plain.npy", "fortran.npy", "table.parquet")


@pytest.fixture
def block_rows():
    return 7


@pytest.fixture
def outputs(rng):
    return rng.normal(size=(50, 4)).astype(np.float32)


def read(rows):
    starts, blocks = zip(*rows.blocks(), strict=True)
    assert [*np.cumsum([0, *map(len, blocks)])][:-1] == [*starts]
    return np.concatenate(blocks)


@pytest.mark.parametrize("name", FILES)
def test_blocks_make_up_the_array(tmp_path, outputs, few_rows, name):
    with open_rows(write(tmp_path / name, outputs)) as rows:
        assert rows.shape == (50, 4)
        assert rows.dtype == np.float32
        assert len([*rows.blocks()]) >= 8
        np.testing.assert_array_equal(read(rows), outputs)
        np.testing.assert_array_equal(read(rows), outputs)  # as often as is asked for


@pytest.mark.parametrize("name", FILES)
def test_rows_are_picked_by_number(tmp_path, outputs, few_rows, name):
    chosen = np.array([0, 6, 7, 33, 49])
    with open_rows(write(tmp_path / name, outputs)) as rows:
        np.testing.assert_array_equal(rows.take(chosen), outputs[chosen])
        part = Subset(rows, chosen)
        np.testing.assert_array_equal(read(part), outputs[chosen])
        np.testing.assert_array_equal(part.take(np.array([1, 4])), outputs[[6, 49]])


@pytest.mark.parametrize(
    ("dtype", "read_as"), [("<f2", "f4"), (">f4", "f4"), (">f8", "f8"), ("u1", "f4"), ("i8", "f8"), ("?", "f4")]
)
def test_numbers_of_any_type_are_floats(tmp_path, few_rows, dtype, read_as):
    array = np.arange(40).reshape(20, 2).astype(dtype)
    with open_rows(write(tmp_path / "plain.npy", array)) as rows:
        assert read(rows).dtype == read_as
        np.testing.assert_array_equal(read(rows), array.astype(read_as))


def test_a_memory_map_and_a_single_column(tmp_path, few_rows, outputs):
    np.testing.assert_array_equal(read(ArrayRows(outputs)), outputs)
    with open_rows(write(tmp_path / "column.npy", outputs[:, 0])) as rows:
        np.testing.assert_array_equal(read(rows), outputs[:, 0])


def test_a_file_that_cannot_be_read_says_so(tmp_path, outputs):
    path = write(tmp_path / "plain.npy", outputs)
    whole = path.read_bytes()
    cases = {
        "cut.npy": (whole[:-9], "but only"),
        "text.csv": (b"a,b\n1,2\n", "row by row"),
        "objects.npy": (b"", "empty"),
    }
    for name, (content, said) in cases.items():
        (tmp_path / name).write_bytes(content)
        with pytest.raises(DataError, match=said), open_rows(tmp_path / name):
            pass
    np.save(tmp_path / "pickled.npy", np.array([{}], dtype=object), allow_pickle=True)
    with pytest.raises(DataError, match="never"), open_rows(tmp_path / "pickled.npy"):
        pass
    with pytest.raises(DataError, match="cannot be opened"), open_rows(tmp_path / "absent.npy"):
        pass


def test_a_file_that_is_cut_while_it_is_read_says_so(tmp_path, outputs, few_rows):
    path = write(tmp_path / "plain.npy", np.tile(outputs, (2000, 1)))
    with pytest.raises(DataError, match="cut off or damaged"), open_rows(path) as rows:
        for start, _ in rows.blocks():
            if start == 0:
                with path.open("r+b") as file:
                    file.truncate(10_000)


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
    monkeypatch.setattr("calib.cli.fit.MAX_BYTES", 10_000)
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


@pytest.mark.parametrize(("factor", "scale"), [(100, "percent"), (7, "counts")])
def test_a_scale_is_converted_block_by_block(tmp_path, few_rows, factor, scale):
    """As when all rows are read at once; the export converts new outputs in the same way."""
    logits, labels = simulate(500, 4)
    outputs, out = factor * softmax(logits), tmp_path / "c.npz"
    np.save(tmp_path / "big.npy", outputs)
    np.save(tmp_path / "labels.npy", labels)
    given = ("fit", tmp_path / "big.npy", "--labels", tmp_path / "labels.npy", "--method", "temperature")
    assert run(*given, "--stream", "--calibration", "all", "--out", out) == 0
    with open_labelled(tmp_path / "big.npy", tmp_path / "labels.npy", Choices()) as found:
        assert found.scale == found.predictions(np.arange(3)).scale == scale
        np.testing.assert_allclose(found.data.logits.take(np.arange(500)), np.log(softmax(logits)), rtol=1e-9)
    saved = calib.export.runtime.load(out)
    assert saved.scale == scale
    assert run("apply", out, tmp_path / "big.npy", "--out", tmp_path / "calibrated.npy") == 0
    np.testing.assert_array_equal(np.load(tmp_path / "calibrated.npy"), saved.calibrate(outputs))
    np.testing.assert_allclose(saved.calibrate(outputs), saved.predict_proba(np.log(softmax(logits))), rtol=1e-9)
