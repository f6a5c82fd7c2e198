"""A file calibrated in blocks of rows: the numbers of one call, the row of a value that cannot be, no half files."""

import os

import numpy as np
import pandas as pd
import pytest

import calib
from calib import CalibrationError, DataError
from calib.apply import predict_file
from calib.apply.predict import probabilities_file
from calib.canonical import to_canonical
from calib.export import runtime
from calib.export.runtime import ExportedCalibrator
from calib.numerics import softmax
from calib.outputs import Seen
from tests.apply.conftest import write
from tests.cli.conftest import run


def written(path):
    return np.load(path) if path.suffix == ".npy" else pd.read_parquet(path).to_numpy()


def exported(method, logits, labels, kind="logits", floor=None):
    return ExportedCalibrator(calib.calibrator(method).fit(logits, labels), kind=kind, floor=floor)


@pytest.mark.parametrize("name", ["plain.npy", "fortran.npy", "table.parquet"])
@pytest.mark.parametrize("out", ["out.npy", "out.parquet"])
def test_the_numbers_are_those_of_one_call(tmp_path, overconfident, small_blocks, name, out):
    logits, labels = overconfident
    fitted = calib.calibrator("isotonic").fit(logits, labels)
    seen = []
    source = write(tmp_path / name, logits)
    assert predict_file(
        fitted, source, tmp_path / out, progress=lambda *step: seen.append(step)
    ) == len(logits)
    np.testing.assert_allclose(written(tmp_path / out), fitted.predict_proba(logits), rtol=1e-12)
    assert seen[0] == (37, 400) or name.endswith("parquet")
    assert written(tmp_path / out).dtype == np.float64
    assert len(seen) == 10 and seen[-1] == (400, 400)


def test_a_table_larger_than_memory_is_looked_at_in_part(tmp_path, overconfident, monkeypatch):
    logits, labels = overconfident
    fitted = calib.calibrator("temperature").fit(logits, labels)
    source = write(tmp_path / "table.parquet", logits)
    monkeypatch.setattr("calib.data.read.base.MAX_BYTES", logits.nbytes // 2)
    with pytest.raises(DataError, match="would take"):
        calib.load(source, labels={"labels": labels})
    predict_file(fitted, source, tmp_path / "out.npy")
    np.testing.assert_allclose(
        np.load(tmp_path / "out.npy"), fitted.predict_proba(logits), rtol=1e-12
    )


def test_outputs_of_every_kind(tmp_path, overconfident, small_blocks):
    logits, labels = overconfident
    probs = softmax(logits)
    probs[:5, 0] = 0.0
    probs /= probs.sum(axis=1, keepdims=True)
    with np.errstate(divide="ignore"):
        logs = np.log(probs)
    column, two = softmax(logits[:, :2])[:, 1], (logits[:, :2], labels % 2)
    cases = [
        (exported("temperature", logits, labels, "probabilities", 1e-6), probs),
        (exported("temperature", logits, labels, "log_probabilities", 1e-6), logs),
        (exported("temperature", *two, "binary_probability"), column),
        (exported("temperature", *two, "binary_log_odds"), column[:, None]),
        (exported("temperature", logits, labels), np.round(logits).astype(np.int16)),
    ]
    for made, outputs in cases:
        predict_file(made, write(tmp_path / "plain.npy", outputs), tmp_path / "out.npy")
        np.testing.assert_allclose(
            np.load(tmp_path / "out.npy"), made.predict_proba(outputs), rtol=1e-12
        )


@pytest.mark.parametrize(
    ("kind", "value", "said"),
    [
        (
            "logits",
            np.nan,
            r"plain\.npy, rows 112 to 148 of 400: 2 of 37 rows hold NaN.*Row 124 is the first",
        ),
        ("logits", np.inf, "2 of 37 rows hold NaN.*Row 124 is the first"),
        (
            "probabilities",
            1.5,
            r"plain\.npy, rows 112 to 148 of 400: 2 of 37 rows.*\(rows 13, 15 of these\)",
        ),
        ("log_probabilities", 0.5, "rows 112 to 148.*never positive"),
    ],
)
def test_a_value_that_cannot_be_is_named_by_its_rows(
    tmp_path, overconfident, small_blocks, kind, value, said
):
    logits, labels = overconfident
    probs = softmax(logits)
    outputs = {"logits": logits, "probabilities": probs, "log_probabilities": np.log(probs)}[
        kind
    ].copy()
    outputs[[123, 125], 2] = value
    source = write(tmp_path / "plain.npy", outputs)
    with pytest.raises(CalibrationError, match=said):
        predict_file(exported("temperature", logits, labels, kind), source, tmp_path / "out.npy")
    assert os.listdir(tmp_path) == ["plain.npy"]


def test_logits_that_are_probabilities_are_refused_by_the_first_rows(
    tmp_path, overconfident, small_blocks
):
    logits, labels = overconfident
    made, out = exported("temperature", logits, labels), tmp_path / "out.npy"
    with pytest.raises(CalibrationError, match="like probabilities"):
        predict_file(made, write(tmp_path / "plain.npy", softmax(logits)), out)
    chance = logits.copy()
    chance[74:111] = 0.25  # a whole block that could be probabilities, among rows that cannot
    with pytest.raises(CalibrationError, match=r"like probabilities.*Rows before do not"):
        predict_file(made, write(tmp_path / "plain.npy", chance), out)
    predict_file(made, tmp_path / "plain.npy", out, kind="logits")
    np.testing.assert_allclose(np.load(out), made.predict_proba(chance))
    few = np.r_[
        logits[:370], np.full((3, logits.shape[1]), 0.25)
    ]  # fewer rows at the end say nothing
    assert predict_file(made, write(tmp_path / "few.npy", few), out) == 373


@pytest.mark.parametrize("ending", ["npy", "parquet"])
def test_later_rows_of_another_kind_are_refused(
    tmp_path, overconfident, small_blocks, ending, capsys
):
    """What the first rows were the others were taken for: probabilities after logits were read as logits."""
    logits, labels = overconfident
    two = calib.calibrator("platt").fit(logits[:, :2], labels % 2)
    seen = Seen.from_logits(to_canonical(logits[:, 1], "binary_log_odds"), "binary_log_odds")
    cases = [
        (exported("temperature", logits, labels), logits, softmax(logits)),
        (
            ExportedCalibrator(two, kind="binary_log_odds", seen=seen),
            logits[:, 1:2],
            softmax(logits[:, :2])[:, 1:],
        ),
        (exported("temperature", logits, labels, "probabilities"), softmax(logits), logits),
        (ExportedCalibrator(two, kind="pairs"), softmax(logits[:, :2])[:, 1:], logits[:, 1:2]),
    ]
    for made, right, wrong in cases:
        source = write(
            tmp_path / f"plain.{ending}", np.where(np.arange(400)[:, None] < 222, right, wrong)
        )
        with pytest.raises(CalibrationError, match=r"rows 223 to 259 of 400: .*[Pp]robabilit"):
            predict_file(made, source, tmp_path / "out.npy")
    calib.export.save(cases[0][0], tmp_path / "c.npz")
    source = write(
        tmp_path / f"plain.{ending}",
        np.where(np.arange(400)[:, None] < 222, logits, softmax(logits)),
    )
    command = ("apply", tmp_path / "c.npz", source, "--out", tmp_path / "out.npy")
    assert run(*command) == 1
    said = capsys.readouterr().err
    assert (
        "100% of these 37 rows lie in [0, 1]" in said
        and "outputs of two kinds were written to one file" in said
    )
    assert not (tmp_path / "out.npy").exists() and run(*command, "--kind", "logits") == 0


def test_sums_that_are_a_little_off_anywhere_are_pointed_out_once(
    tmp_path, overconfident, small_blocks, capsys
):
    logits, labels = overconfident
    made, probs = exported("temperature", logits, labels, "probabilities"), softmax(logits)
    probs[[40, 50, 200, 300]] *= 0.99
    source, out = write(tmp_path / "plain.npy", probs), tmp_path / "out.npy"
    with pytest.warns(
        calib.CalibrationWarning,
        match=r"2 rows of 37 in plain.npy, rows 38 to 74, .*So it is in 2 more",
    ) as said:
        assert predict_file(made, source, out) == 400
    assert len(said) == 1
    calib.export.save(made, tmp_path / "c.npz")
    assert run("apply", tmp_path / "c.npz", source, "--out", out) == 0
    warning = capsys.readouterr().err
    assert (
        warning.count("warning: ") == 1
        and "rows 38 to 74" in warning
        and "2 more blocks of the file" in warning
    )


@pytest.mark.parametrize("ending", ["npy", "parquet"])
def test_a_row_alone_at_the_end_is_judged_with_those_before(
    tmp_path, overconfident, small_blocks, ending
):
    """A sum of 1.5 was a warning among others, and refused where it was the last block alone."""
    logits, labels = overconfident
    made, probs = exported("temperature", logits, labels, "probabilities"), softmax(logits[:371])
    probs[370] = [0.75, 0.375, 0.25, 0.125]
    source, out = write(tmp_path / f"plain.{ending}", probs), tmp_path / "out.npy"
    with pytest.warns(
        UserWarning,
        match=rf"1 row of 38 in plain.{ending}, rows 334 to 371, .*by up to 0.5; row 38",
    ):
        assert predict_file(made, source, out) == 371
    np.testing.assert_allclose(np.load(out), made.predict_proba(probs), rtol=1e-12)
    with pytest.raises(CalibrationError, match="1 row of 1 in"):
        predict_file(made, write(tmp_path / "short.npy", probs[370:]), out)


def test_what_cannot_be_done_is_a_sentence(tmp_path, overconfident):
    logits, labels = overconfident
    made, path = (
        exported("temperature", logits, labels),
        write(tmp_path / "plain.npy", logits[:, :3]),
    )
    with pytest.raises(CalibrationError, match="3 columns, but the calibrator takes 4"):
        predict_file(made, path, tmp_path / "out.npy")
    with pytest.raises(CalibrationError, match="must be numbers"):
        predict_file(made, write(tmp_path / "texts.npy", logits.astype(str)), tmp_path / "out.npy")
    with pytest.raises(CalibrationError, match="in blocks of rows only"):
        predict_file(made, path, tmp_path / "out.csv")
    whole = path.read_bytes()
    for name, content, said in [
        ("cut.npy", whole[:-9], "but only"),
        ("text.csv", b"a,b\n1,2\n", "blocks of rows"),
    ]:
        (tmp_path / name).write_bytes(content)
        with pytest.raises(DataError, match=said):
            predict_file(made, tmp_path / name, tmp_path / "out.npy")
    for outputs, says in ((np.float64(3), "single value"), (np.empty((0, 4)), "0 rows")):
        with pytest.raises(DataError, match=says):
            predict_file(made, write(tmp_path / "none.npy", outputs), tmp_path / "out.npy")
    with pytest.raises(DataError, match="cannot be opened"):
        predict_file(made, tmp_path / "absent.npy", tmp_path / "out.npy")


def test_a_file_is_whole_or_not_there(tmp_path):
    path = tmp_path / "result.npy"
    np.save(path, np.zeros(3))
    with (
        pytest.raises(KeyboardInterrupt),
        probabilities_file(path, 2, ("a", "b")) as write_rows,
    ):
        write_rows(np.ones((1, 2)))
        raise KeyboardInterrupt
    assert np.load(path).shape == (3,) and os.listdir(tmp_path) == ["result.npy"]


# -- the command ---------------------------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path, overconfident):
    logits, labels = overconfident
    (tmp_path / "parts").mkdir()
    for i, rows in enumerate([slice(0, 150), slice(150, 300), slice(300, 400)]):
        write(tmp_path / "parts" / f"part-{i}.parquet", logits[rows], labels[rows])
    return tmp_path / "parts"


def test_the_command_says_what_is_wrong(tmp_path, overconfident, folder, capsys, monkeypatch):
    logits, labels = overconfident
    saved = calib.export.save(
        calib.calibrator("temperature").fit(logits, labels), tmp_path / "c.npz"
    )
    source = write(tmp_path / "plain.npy", logits)
    assert run("apply", saved, source, "--out", tmp_path / "out.parquet") == 0
    assert "Wrote 400 rows" in capsys.readouterr().out
    assert run("apply", saved, folder, "--out", tmp_path / "results") == 0
    results = sorted((tmp_path / "results").iterdir())
    assert [path.name for path in results] == ["part-0.parquet", "part-1.parquet", "part-2.parquet"]
    expected = runtime.load(saved).calibrator.predict_proba(logits)
    np.testing.assert_allclose(np.concatenate([*map(written, results)]), expected, rtol=1e-12)
    capsys.readouterr()
    assert run("apply", saved, folder, "--out", tmp_path / "out.npy") == 2
    assert "the results of a folder are a folder" in capsys.readouterr().err
    (tmp_path / "empty").mkdir()
    assert run("apply", saved, tmp_path / "empty", "--out", tmp_path / "again") == 1
    assert "no .parquet files" in capsys.readouterr().err
    np.savez(tmp_path / "plain.npz", logits=logits)
    assert run("apply", saved, tmp_path / "plain.npz", "--out", tmp_path / "o.parquet") == 1
    assert "For other files take --out .npz" in capsys.readouterr().err
    monkeypatch.setattr("calib.cli.apply.MAX_BYTES", 1000)
    assert run("apply", saved, source, "--out", tmp_path / "o.npz") == 1
    assert "go in blocks of rows" in capsys.readouterr().err


def test_arguments_that_cannot_be_are_refused_before_anything_is_predicted(
    tmp_path, overconfident, folder
):
    logits, labels = overconfident
    fitted, source = (
        calib.calibrator("temperature").fit(logits, labels),
        write(tmp_path / "plain.npy", logits),
    )
    (tmp_path / "folder.npy").mkdir()
    for outputs, target, said in [
        (source, tmp_path / "none" / "out.npy", "out.npy cannot be written"),
        (source, tmp_path / "folder.npy", "folder.npy cannot be written"),
        (folder, tmp_path / "out", "parts is a folder; give its files one by one"),
        (source, source, "need a file of their own"),
    ]:
        with pytest.raises(CalibrationError, match=said):
            predict_file(fitted, outputs, target)
    np.testing.assert_array_equal(np.load(source), logits)
    with pytest.raises(CalibrationError, match=r"got str\. A saved one is loaded first"):
        predict_file("calibrator.npz", source, tmp_path / "out.npy")
