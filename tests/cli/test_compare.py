"""``compare``: its table and report, methods with parameters of their own, and the view."""

from __future__ import annotations

import shlex
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from calib.cli import main
from calib.evaluation import SCORES
from calib.formatting import number
from calib.numerics import sigmoid
from tests.reporting.conftest import Reading


@pytest.fixture
def folder(file, monkeypatch):
    monkeypatch.chdir(file.parent)
    return file.parent


def run_line(line: str) -> int:
    return main(shlex.split(line))


def read(path: str) -> Reading:
    return Reading(Path(path).read_text(encoding="utf-8"))


def test_the_report_and_what_is_printed_have_the_numbers_of_the_table(folder, capsys):
    methods = "--methods temperature,isotonic --method isotonic:share_classes=False"
    assert (
        run_line(f"compare outputs.npz {methods} --csv scores.csv --report report.html --seed 4")
        == 0
    )
    said = capsys.readouterr().out
    assert "The report is in report.html." in said
    table, cells = pd.read_csv("scores.csv"), read("report.html").cells("overview")
    assert list(cells) == [
        "Uncalibrated",
        "Class frequencies",
        "Temperature",
        "Isotonic (shared map)",
        "Isotonic (class-wise)",
    ]
    for row in table.to_dict("records"):
        if (title := SCORES[row["score"]].title) in cells[row["title"]]:
            assert cells[row["title"]][title].startswith(number(row["value"]))
    head, *lines = said.splitlines()
    assert head.split()[:3] == ["NLL", "Brier", "score"]
    shown = dict(zip(cells, lines, strict=False))
    nll = table[table["score"] == "NLL"].set_index("title")
    for title, line in shown.items():
        row = nll.loc[title]
        assert (
            line.startswith(title)
            and f"{row['value']:.4f} [{row['low']:.4f}, {row['high']:.4f}]" in line
        )
    starred = [title for title, line in shown.items() if line.partition("]")[2].startswith(" *")]
    assert starred == [nll["value"].idxmin()]
    assert any(
        line.startswith("Take Temperature") for line in lines
    )  # the simplest that is not worse


def test_its_command_writes_the_same_table(folder):
    line = (
        "compare outputs.npz --calibration 0.3 --seed 4 --read kind=logits "
        "--method scaling_binning:n_bins=4,random_state=1 --relevant NLL=9"
    )
    assert run_line(f"{line} --method temperature --csv scores.csv --report first.html") == 0
    words = shlex.split(read("first.html").command())
    assert main(words[3:]) == 0
    first, again = pd.read_csv("scores.csv"), pd.read_csv("comparison.csv")
    row = first.set_index(["method", "score"]).loc[("temperature", "NLL")]
    assert (row["verdict"], row["relevant"]) == ("equivalent", 9.0)
    numbers = [
        "method",
        "title",
        "score",
        "value",
        "low",
        "high",
        "difference",
        "difference_low",
        "verdict",
    ]
    pd.testing.assert_frame_equal(first[numbers], again[numbers])


def test_labels_of_a_test_set_in_files_of_their_own(folder, overconfident):
    logits, labels = overconfident
    for name, rows in (("a", slice(200)), ("b", slice(200, None))):
        np.save(f"{name}.npy", logits[rows])
        np.save(f"{name}-labels.npy", labels[rows])
    files = "a.npy --labels a-labels.npy --test b.npy --test-labels b-labels.npy"
    assert run_line(f"compare {files} --method temperature --report report.html") == 0
    reading = read("report.html")
    assert "as it came with the data" in reading.text
    assert (
        files.replace("a.npy --labels", "--labels", 1).split()
        == shlex.split(reading.command())[5:11]
    )


@pytest.mark.parametrize("shift", [0.0, 0.2], ids=["fair", "off"])
def test_groups_stand_in_a_line_where_the_file_has_a_column_of_them(
    tmp_path, monkeypatch, capsys, rng, shift
):
    monkeypatch.chdir(tmp_path)
    p = rng.uniform(0.3, 0.6, 3000)
    region = rng.choice(["north", "south"], 3000)
    defaulted = (rng.random(3000) < p + shift * np.where(region == "north", 1, -1)).astype(int)
    table = pd.DataFrame({"p_default": p, "defaulted": defaulted, "region": region})
    table.to_csv("loans.csv", index=False)
    assert run_line("compare loans.csv --methods temperature --read groups=region") == 0
    lines = capsys.readouterr().out.splitlines()
    (found,) = (line for line in lines if line.startswith("The raw model by group: "))
    assert ("2 of 2 groups differ" if shift else "None of 2 groups differs") in found
    assert "Each group by itself, of all rows: calib audit FILE." in lines
    table.drop(columns="region").to_csv("loans.csv", index=False)
    assert run_line("compare loans.csv --methods temperature") == 0
    printed = capsys.readouterr().out
    assert "by group" not in printed and "calib audit" not in printed


def test_commands_offer_the_map_by_group_that_the_audit_names(tmp_path, monkeypatch, capsys):
    """A file whose groups are off has one remedy, whichever command one begins with."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(5)
    x = rng.normal(-1.0, 1.2, 6000)
    region = rng.choice(["north", "south", "north west"], 6000, p=[0.4, 0.4, 0.2])
    defaults = rng.random(6000) < sigmoid(x + np.where(region == "south", -0.8, 0.6))
    columns = {"pd": sigmoid(x), "default": defaults.astype(int), "sales region": region}
    pd.DataFrame(columns).to_csv("loans.csv", index=False)
    assert run_line("audit loans.csv") == 0
    assert "A map for each value of sales region (by_group)" in capsys.readouterr().out
    assert run_line("compare loans.csv") == 0
    printed = capsys.readouterr().out
    assert "Correct by group: take By group" in printed and "Keep the model" not in printed
    assert run_line("fit loans.csv --method temperature --out c.npz") == 0
    notes = " ".join("".join(capsys.readouterr()).split())
    assert "To fit it: --method 'by_group:column=sales region'." in notes
    assert run_line("fit loans.csv --method 'by_group:column=sales region' --out c.npz") == 0
    assert "To fit it" not in "".join(capsys.readouterr())
