"""A calibrator applied block by block: the numbers of one call, and no half files."""

import os
import signal
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

import calib
from calib import CalibrationError
from calib.cli import main
from calib.export.runtime import ExportedCalibrator
from calib.numerics import MEMORY_ENTRIES, softmax
from calib.out_of_core import apply_out_of_core, open_rows
from calib.out_of_core.apply import whole_file
from tests.conftest import ROOT, wait_until
from tests.out_of_core.conftest import write


def apply(exported, path, out, **options):
    with open_rows(path) as rows:
        return apply_out_of_core(exported, rows, out, **options)


def written(path):
    return np.load(path) if path.suffix == ".npy" else pd.read_parquet(path).to_numpy()


def exported(method, logits, labels, kind="logits", **params):
    return ExportedCalibrator(calib.calibrator(method, **params).fit(logits, labels), kind)


@pytest.mark.parametrize("name", ["plain.npy", "fortran.npy", "table.parquet"])
@pytest.mark.parametrize("out", ["out.npy", "out.parquet"])
def test_the_numbers_are_those_of_one_call(tmp_path, overconfident, few_rows, name, out):
    logits, labels = overconfident
    made = exported("imax", logits, labels)
    assert apply(made, write(tmp_path / name, logits), tmp_path / out) == len(logits)
    np.testing.assert_array_equal(written(tmp_path / out), made.calibrate(logits))


@pytest.mark.parametrize("out", ["out.npy", "out.parquet"])
def test_float32_is_right_to_6e_8_in_half_the_room(tmp_path, overconfident, few_rows, out):
    logits, labels = overconfident
    made, source = exported("temperature", logits, labels), write(tmp_path / "plain.npy", logits)
    apply(made, source, tmp_path / out, dtype="float32")
    apply(made, source, tmp_path / f"double_{out}")
    found = written(tmp_path / out)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, made.calibrate(logits), rtol=2.0**-24, atol=0)
    size, double = (path.stat().st_size for path in (tmp_path / out, tmp_path / f"double_{out}"))
    assert size < 0.6 * double or out.endswith(".parquet")


def test_dtype_on_the_command_line(tmp_path, overconfident, capsys):
    logits, labels = overconfident
    calib.export.save(calib.calibrator("temperature").fit(logits, labels), tmp_path / "c.npz")
    source = write(tmp_path / "plain.npy", logits)
    arguments = ["apply", str(tmp_path / "c.npz"), str(source), "--dtype", "float32", "--out"]
    assert main([*arguments, str(tmp_path / "out.npy")]) == 0
    assert np.load(tmp_path / "out.npy").dtype == np.float32
    assert main([*arguments, str(tmp_path / "out.csv")]) == 1
    assert "--dtype float32 is for what is written block by block" in capsys.readouterr().err
    assert not (tmp_path / "out.csv").exists()


@pytest.mark.parametrize("method", ["temperature", "beta", "histogram"])
def test_blocks_are_cut_where_prediction_cuts_them(tmp_path, overconfident, method):
    logits, labels = overconfident
    made = exported(method, logits, labels)
    many = np.tile(logits, (MEMORY_ENTRIES // logits.size + 100, 1)).astype(np.float32)
    apply(made, write(tmp_path / "plain.npy", many), tmp_path / "out.npy")
    np.testing.assert_array_equal(np.load(tmp_path / "out.npy"), made.calibrate(many))


def test_outputs_of_every_kind(tmp_path, overconfident, few_rows):
    logits, labels = overconfident
    probs = softmax(logits)
    probs[:5, 0] = 0.0
    with np.errstate(divide="ignore"):
        logs = np.log(probs)
    column = softmax(logits[:, :2])[:, 1]
    cases = {"probabilities": probs, "log_probabilities": logs}
    for kind, outputs in cases.items():
        made = ExportedCalibrator(calib.calibrator("temperature").fit(logits, labels), kind, 1e-6)
        apply(made, write(tmp_path / "plain.npy", outputs), tmp_path / "out.npy")
        np.testing.assert_array_equal(np.load(tmp_path / "out.npy"), made.calibrate(outputs))
    two = calib.calibrator("temperature").fit(logits[:, :2], labels % 2)
    for kind, outputs in {"binary_probability": column, "binary_log_odds": column[:, None]}.items():
        made = ExportedCalibrator(two, kind)
        apply(made, write(tmp_path / "plain.npy", outputs), tmp_path / "out.npy")
        np.testing.assert_array_equal(np.load(tmp_path / "out.npy"), made.calibrate(outputs))


def test_progress_counts_the_rows(tmp_path, overconfident, few_rows):
    logits, labels = overconfident
    seen = []
    path = write(tmp_path / "plain.npy", logits)
    apply(exported("identity", logits, labels), path, tmp_path / "out.npy", progress=lambda *step: seen.append(step))
    assert seen[0] == ("calibrated", 37, len(logits))
    assert seen[-1] == ("calibrated", len(logits), len(logits))


@pytest.mark.parametrize(
    ("kind", "value", "said"),
    [
        ("logits", np.nan, r"row 124 of 400 in plain\.npy, the first of 2 such rows up to row 148"),
        ("logits", np.inf, "row 124 of 400"),
        ("probabilities", np.nan, "row 124 of 400"),
        ("probabilities", 1.5, r"row 124 of 400 in plain\.npy: Probabilities are expected"),
        ("log_probabilities", 0.5, "row 124 of 400.*never positive"),
    ],
)
def test_a_value_that_cannot_be_is_named_by_its_row(tmp_path, overconfident, few_rows, kind, value, said):
    logits, labels = overconfident
    probs = softmax(logits)
    outputs = {"logits": logits, "probabilities": probs, "log_probabilities": np.log(probs)}[kind].copy()
    outputs[[123, 125], 2] = value
    with pytest.raises(CalibrationError, match=said):
        apply(exported("temperature", logits, labels, kind), write(tmp_path / "plain.npy", outputs), tmp_path / "o.npy")
    assert os.listdir(tmp_path) == ["plain.npy"]


def test_logits_that_are_probabilities_are_refused_by_the_first_rows(tmp_path, overconfident, few_rows):
    logits, labels = overconfident
    made, out = exported("temperature", logits, labels), tmp_path / "o.npy"
    with pytest.raises(CalibrationError, match="values sum to one"):
        apply(made, write(tmp_path / "plain.npy", softmax(logits)), out)
    chance = logits.copy()
    chance[74:111] = 0.25  # a whole block that could be probabilities, among rows that cannot
    apply(made, write(tmp_path / "plain.npy", chance), out)
    np.testing.assert_array_equal(np.load(out), made.calibrate(chance))


def test_other_classes_and_other_endings_are_refused(tmp_path, overconfident):
    logits, labels = overconfident
    made = exported("temperature", logits, labels)
    path = write(tmp_path / "plain.npy", logits[:, :3])
    with pytest.raises(CalibrationError, match="3 columns; 4 classes"):
        apply(made, path, tmp_path / "o.npy")
    with pytest.raises(CalibrationError, match="block by block only"):
        apply(made, path, tmp_path / "o.csv")


def test_a_full_disk_is_said_before_the_work(tmp_path, overconfident, monkeypatch):
    logits, labels = overconfident
    monkeypatch.setattr("shutil.disk_usage", lambda path: type("Usage", (), {"free": 12_000})())
    with pytest.raises(CalibrationError, match="free where it is written"):
        apply(exported("identity", logits, labels), write(tmp_path / "plain.npy", logits), tmp_path / "o.npy")


def test_a_file_is_whole_or_not_there(tmp_path):
    path = tmp_path / "result"
    path.write_bytes(b"earlier")
    with pytest.raises(KeyboardInterrupt), whole_file(path) as file:
        file.write(b"half")
        raise KeyboardInterrupt
    assert path.read_bytes() == b"earlier"
    with whole_file(path) as file:
        file.write(b"whole")
        assert path.read_bytes() == b"earlier"
    assert path.read_bytes() == b"whole"
    assert os.listdir(tmp_path) == ["result"]


@pytest.mark.parametrize(("sent", "status", "left"), [(signal.SIGTERM, 1, 0), (signal.SIGKILL, -9, 1)])
def test_killed_in_the_middle_leaves_no_half_file(tmp_path, overconfident, sent, status, left):
    logits, labels = overconfident
    saved = calib.export.save(calib.calibrator("temperature").fit(logits, labels), tmp_path / "c.npz")
    path, out = tmp_path / "big.npy", tmp_path / "out.npy"
    np.lib.format.open_memmap(path, mode="w+", dtype=np.float32, shape=(20_000_000, 4)).flush()  # a hole in the disk
    command = [sys.executable, "-m", "calib", "apply", saved, path, "--out", out]
    running = subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True)
    wait_until(lambda: [*tmp_path.glob(".out.npy.*.part")] or running.poll() is not None)
    assert running.poll() is None, running.communicate()[1]
    running.send_signal(sent)
    said = running.communicate()[1]
    assert running.returncode == status
    assert said == ("error: Stopped before the end: out.npy was not written.\n" if sent == signal.SIGTERM else "")
    assert not out.exists()
    assert len([*tmp_path.glob(".out.npy.*.part")]) == left


def run(*arguments):
    return main([str(argument) for argument in arguments])


def test_the_command_streams_and_says_what_is_wrong(tmp_path, overconfident, few_rows, capsys):
    logits, labels = overconfident
    saved = calib.export.save(calib.calibrator("temperature").fit(logits, labels), tmp_path / "c.npz")
    path, out = write(tmp_path / "table.parquet", logits, labels), tmp_path / "out.parquet"
    assert run("apply", saved, path, "--out", out) == 0
    np.testing.assert_array_equal(written(out), calib.runtime.load(saved).calibrate(logits))
    assert "Wrote 400 rows" in capsys.readouterr().out
    logits = logits.copy()
    logits[200] = np.nan
    assert run("apply", saved, write(path, logits), "--out", tmp_path / "no.npy") == 1
    assert capsys.readouterr().err.count("\n") == 1
    assert not (tmp_path / "no.npy").exists()


def test_what_cannot_be_streamed_is_said(tmp_path, overconfident, capsys, monkeypatch):
    logits, labels = overconfident
    saved = calib.export.save(calib.calibrator("temperature").fit(logits, labels), tmp_path / "c.npz")
    np.savez(tmp_path / "plain.npz", logits=logits)
    assert run("apply", saved, tmp_path / "plain.npz", "--out", tmp_path / "o.parquet") == 1
    assert "from .npy or .parquet" in capsys.readouterr().err
    monkeypatch.setattr("calib.cli.apply.MAX_BYTES", 1000)
    assert run("apply", saved, write(tmp_path / "plain.npy", logits), "--out", tmp_path / "o.npz") == 1
    assert "written block by block" in capsys.readouterr().err
