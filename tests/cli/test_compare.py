"""``compare --report``, and methods with parameters of their own."""

from __future__ import annotations

import shlex
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from calib.cli import main
from calib.errors import CalibrationError
from calib.evaluation import SCORES
from calib.formatting import number
from tests.reporting.conftest import Reading

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture
def folder(tmp_path, overconfident, monkeypatch):
    logits, labels = overconfident
    np.savez(tmp_path / "outputs.npz", logits=logits, labels=labels)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(line: str) -> int:
    return main(shlex.split(line))


def read(path: str) -> Reading:
    return Reading(Path(path).read_text(encoding="utf-8"))


def test_the_report_has_the_numbers_of_the_table(folder, capsys):
    methods = "--methods temperature,isotonic --method isotonic:share_classes=False"
    assert run(f"compare outputs.npz {methods} --csv scores.csv --report report.html --seed 4") == 0
    assert "The report is in report.html." in capsys.readouterr().out
    table, cells = pd.read_csv("scores.csv"), read("report.html").cells("overview")
    assert list(cells) == ["Uncalibrated", "Temperature", "Isotonic", "Isotonic (CW)"]
    for row in table.to_dict("records"):
        if (title := SCORES[row["score"]].title) in cells[row["title"]]:
            assert cells[row["title"]][title].startswith(number(row["value"]))


def test_its_command_writes_the_same_table(folder):
    line = (
        "compare outputs.npz --calibration 0.3 --seed 4 --read kind=logits --method histogram:n_bins=4,random_state=1"
    )
    assert run(f"{line} --method temperature --csv scores.csv --report first.html") == 0
    words = shlex.split(read("first.html").command())
    assert main(words[3:]) == 0
    first, again = pd.read_csv("scores.csv"), pd.read_csv("comparison.csv")
    numbers = ["method", "title", "score", "value", "low", "high", "to_best", "to_best_low"]
    pd.testing.assert_frame_equal(first[numbers], again[numbers])


def test_labels_of_a_test_set_in_files_of_their_own(folder, overconfident):
    logits, labels = overconfident
    for name, array in {
        "a": logits[:200],
        "a-labels": labels[:200],
        "b": logits[200:],
        "b-labels": labels[200:],
    }.items():
        np.save(f"{name}.npy", array)
    files = "a.npy --labels a-labels.npy --test b.npy --test-labels b-labels.npy"
    assert run(f"compare {files} --method temperature --report report.html") == 0
    reading = read("report.html")
    assert "as it came with the data" in reading.text
    assert files.replace("a.npy --labels", "--labels", 1).split() == shlex.split(reading.command())[5:11]


def test_simulated_data_are_called_so_by_their_file(folder):
    (folder / "sample_data").symlink_to(ROOT / "sample_data")
    assert run("compare sample_data/simulated-binary.npz --method temperature --report report.html") == 0
    assert "simulated data" in read("report.html").text
    shutil.copy(ROOT / "sample_data" / "digits-mlp.npz", "digits.npz")
    assert run("compare digits.npz --method temperature --report report.html") == 0
    assert "simulated data" not in read("report.html").text


def test_a_method_that_fails_does_not_keep_the_report_back(folder, monkeypatch):
    from calib.calibrators.isotonic import IsotonicCalibration

    def fail(*arguments, **extras):
        raise CalibrationError("Only <3> rows.")

    monkeypatch.setattr(IsotonicCalibration, "fit", fail)
    assert run("compare outputs.npz --methods isotonic,temperature --report report.html") == 0
    assert "Only <3> rows." in read("report.html").text


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("--report report.txt", "does not end in .html"),
        ("--method nonsense", "no calibrator 'nonsense'"),
        ("--method temperature:t=1", "no parameter 't'"),
        ("--method isotonic:share_classes", "NAME"),
    ],
)
def test_a_wrong_option_is_two(folder, options, said, capsys):
    with pytest.raises(SystemExit) as ended:
        run(f"compare outputs.npz {options}")
    assert ended.value.code == 2
    assert said in capsys.readouterr().err


def test_few_test_rows_give_intervals_without_ends(folder, overconfident):
    logits, labels = overconfident
    np.savez("few.npz", logits=logits[:14], labels=labels[:14])
    assert run("compare few.npz --method temperature --report report.html") == 0
    assert "[-∞, +∞]" in read("report.html").text
