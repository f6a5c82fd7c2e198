"""``compare --report``, and methods with parameters of their own.

``compare --repeats`` and ``compare --sizes``.
"""

from __future__ import annotations

import shlex
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import calib
from calib.cli import main
from calib.errors import CalibrationError
from calib.evaluation import SCORES
from calib.evaluation.studies import halved_sizes, labels_needed, repeated_splits, summarise_sizes, summarise_splits
from calib.formatting import number
from tests.conftest import ROOT
from tests.reporting.conftest import Reading


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
    assert list(cells) == ["Uncalibrated", "Temperature", "Isotonic (shared map)", "Isotonic (class-wise)"]
    for row in table.to_dict("records"):
        if (title := SCORES[row["score"]].title) in cells[row["title"]]:
            assert cells[row["title"]][title].startswith(number(row["value"]))


def test_its_command_writes_the_same_table(folder):
    line = (
        "compare outputs.npz --calibration 0.3 --seed 4 --read kind=logits "
        "--method scaling_binning:n_bins=4,random_state=1"
    )
    assert run(f"{line} --method temperature --csv scores.csv --report first.html") == 0
    words = shlex.split(read("first.html").command())
    assert main(words[3:]) == 0
    first, again = pd.read_csv("scores.csv"), pd.read_csv("comparison.csv")
    numbers = ["method", "title", "score", "value", "low", "high", "difference", "difference_low"]
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


@pytest.mark.long
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


def test_few_test_rows_give_intervals_without_ends(folder, overconfident):
    logits, labels = overconfident
    np.savez("few.npz", logits=logits[:14], labels=labels[:14])
    assert run("compare few.npz --method temperature --report report.html") == 0
    assert "[-∞, +∞]" in read("report.html").text


@pytest.fixture
def file(tmp_path, overconfident):
    path = tmp_path / "outputs.npz"
    np.savez(path, logits=overconfident[0], labels=overconfident[1])
    return path


def run_cli_studies(*arguments) -> int:
    return main([str(argument) for argument in arguments])


@pytest.mark.long
def test_both_studies_print_what_the_library_computes(file, tmp_path, capsys):
    csv = tmp_path / "scores.csv"
    arguments = ["--methods", "temperature,isotonic", "--calibration", 150, "--repeats", 3, "--sizes", "--csv", csv]
    assert run_cli_studies("compare", file, *arguments) == 0
    out = capsys.readouterr().out
    data = calib.load(file)
    methods = {name: calib.calibrator(name) for name in ("temperature", "isotonic")}
    splits = repeated_splits(methods, data, 150, n_repeats=3)
    summary = summarise_splits(splits)
    row = summary[(summary["method"] == "isotonic") & (summary["score"] == "NLL")].iloc[0]
    after = out.partition("Over 3 random splits into 150 and 250 rows:")[2]
    assert f"{row['value']:.4f} [{row['low']:.4f}, {row['high']:.4f}]" in after
    assert "lowest NLL" in after
    curve = summarise_sizes(repeated_splits(methods, data, 150, n_repeats=5, sizes=halved_sizes(150)))
    after = after.partition("ever more of the 150 calibration rows of 5 random splits:")[2]
    for name in methods:
        assert labels_needed(curve, name).sentence in after
        nll = curve[(curve["method"] == name) & (curve["score"] == "NLL")]["value"]
        assert "  ".join(f"{value:.4f}" for value in nll) in after
    written = pd.read_csv(tmp_path / "scores-splits.csv", keep_default_na=False, na_values=[""])
    assert written["value"].dropna().to_numpy() == pytest.approx(splits["value"].dropna().to_numpy(), abs=1e-12)
    assert set(pd.read_csv(tmp_path / "scores-sizes.csv")["size"]) == set(halved_sizes(150))


def test_compare_prints_a_table_and_a_verdict(file, tmp_path, capsys):
    csv = tmp_path / "scores.csv"
    assert run_cli_studies("compare", file, "--methods", "temperature,isotonic", "--csv", csv) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split()[:3] == ["NLL", "Brier", "score"]
    assert [line.split()[0] for line in lines[1:4]] == ["Uncalibrated", "Temperature", "Isotonic"]
    table = pd.read_csv(csv)
    nll = table[table["score"] == "NLL"].set_index("title")
    row = nll.loc["Temperature"]
    assert f"{row['value']:.4f} [{row['low']:.4f}, {row['high']:.4f}]" in lines[2]
    leader = nll["value"].idxmin()
    starred = [line.split("  ")[0] for line in lines[1:4] if line.partition("]")[2].startswith(" *")]
    assert starred == [leader]
    assert any(line.startswith("Take Temperature") for line in lines)  # the simplest that is not worse


@pytest.mark.parametrize(("margin", "word"), [("0.001", "undecided"), ("9", "equivalent")])
def test_compare_takes_the_smallest_relevant_difference(file, tmp_path, margin, word):
    csv = tmp_path / "scores.csv"
    assert (
        run_cli_studies("compare", file, "--methods", "temperature", "--csv", csv, "--relevant", f"NLL={margin}") == 0
    )
    table = pd.read_csv(csv).set_index(["method", "score"])
    assert table.loc[("temperature", "NLL"), "verdict"] == word
    assert table.loc[("temperature", "NLL"), "relevant"] == float(margin)


@pytest.mark.long
def test_compare_presets(file, capsys):
    assert run_cli_studies("compare", file, "--methods", "fast") == 0
    out = capsys.readouterr().out
    for name in calib.registry.presets()["Fast"]:
        assert calib.METHODS[name].title in out


def test_a_star_is_explained_where_there_is_one(file, capsys):
    assert run_cli_studies("compare", file, "--method", "identity") == 0
    said = capsys.readouterr().out
    assert "*" not in said and "\nBrackets hold 95 % intervals." in said
    assert run_cli_studies("compare", file, "--method", "temperature") == 0
    assert "\n* best value; brackets hold 95 % intervals." in capsys.readouterr().out
