"""The commands from a shell: what they fit and say, exit status, help, completion, progress, and what they refuse."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pandas as pd
import pytest

import calib
from calib.auditing.checks import describe_level
from calib.calibrators.temperature import TemperatureScaling
from calib.cli import STOPPED, UNREAD
from calib.cli.commands import COMMANDS
from calib.cli.gate import FAILED, UNDECIDED
from calib.cli.text import judged_raw
from calib.data import Predictions, loading
from calib.export import runtime
from tests.cli.conftest import run
from tests.conftest import ROOT, simulate

TABLE = dict(
    re.findall(
        r"^\| (\d+) \| (.+) \|$",
        (ROOT / "docs" / "command_line.md").read_text("utf-8"),
        re.MULTILINE,
    )
)
DRIVING = set("\x1b\x9b\x07\u202e")
"""Characters that a terminal obeys."""


@pytest.fixture
def folder(file, overconfident, monkeypatch):
    """The working directory, with outputs, broken ones, a single row, and outputs without labels."""
    logits, labels = overconfident
    np.savez(file.parent / "broken.npz", logits=logits, labels=labels[:-3])
    np.savez(file.parent / "one.npz", logits=logits[:1], labels=labels[:1])
    np.save(file.parent / "new.npy", logits)
    monkeypatch.chdir(file.parent)
    return file.parent


# -- what commands find out --------------------------------------------------------------------------------------------


def test_inspect_says_what_was_understood_and_what_is_wrong(folder, overconfident, capsys):
    logits, labels = overconfident
    assert run("inspect", "outputs.npz") == 0
    out = capsys.readouterr().out
    assert (
        "logits  400 x 4  float64" in out
        and "kind='logits'" in out
        and "overconfident: mean confidence" in out
    )
    assert f"accuracy {(logits.argmax(axis=1) == labels).mean():.1%}".replace("%", " %") in out
    assert run("inspect", "broken.npz") == 1
    out, errors = capsys.readouterr()
    assert "error: " in errors and "397" in errors and "400" in errors and "error: " not in out


@pytest.mark.parametrize("name", ["outputs.npz", "rows.csv"])
def test_a_dash_is_standard_input(folder, name, monkeypatch, capsys):
    (folder / "rows.csv").write_text("p,label\n" + "0.2,0\n0.7,1\n" * 50)
    assert run("inspect", name) == 0
    expected = capsys.readouterr().out.replace(name, "standard input")
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO((folder / name).read_bytes())))
    assert run("inspect", "-") == 0
    assert capsys.readouterr().out == expected


def test_inspect_says_which_certain_risk_a_file_holds(tmp_path, capsys):
    risks = np.r_[1.0, np.random.default_rng(0).beta(1, 3, 299).clip(0.001, 0.999)]
    pd.DataFrame({"p_default": risks, "default": risks > 0.4}).to_csv(
        tmp_path / "loans.csv", index=False
    )
    assert run("inspect", tmp_path / "loans.csv") == 0
    said = capsys.readouterr().out
    assert (
        "1 value in 1 row of 300 of loans.csv is exactly 0 or 1" in said
        and "exactly zero" not in said
    )


def test_a_gap_that_chance_explains_is_called_so():
    even, wide = (
        describe_level(judged_raw(Predictions(*simulate(400, 3, scale), tuple("abc"))))
        for scale in (1.0, 2.5)
    )
    assert "right on average" in even and "overconfident" not in even
    assert "overconfident: mean confidence" in wide


def test_fit_without_a_method_takes_auto(file, tmp_path, capsys):
    out = tmp_path / "calibrator.npz"
    assert run("fit", file, "--out", out) == 0
    said = capsys.readouterr().out
    assert "Auto fitted on" in said
    assert "auto is a mean of several methods; compare says" in said
    assert "Do not use" not in said
    assert runtime.load(out).method == "auto"


def test_fit_and_check_repeat_what_the_audit_says_of_a_model_without_skill(tmp_path, rng, capsys):
    risk, happened = rng.uniform(0.3, 0.9, 1500), rng.random(1500) < 0.2
    table = pd.DataFrame({"p_churn": risk, "churn": happened.astype(int)})
    table.to_csv(tmp_path / "t.csv", index=False)
    out = tmp_path / "c.zip"
    assert run("fit", tmp_path / "t.csv", "--method", "platt", "--out", out) == 0
    said = capsys.readouterr().out
    assert "warning: Do not use: no better than giving every row" in said
    with zipfile.ZipFile(out) as bundle:
        card = bundle.read("MODEL_CARD.md").decode()
    assert "**Audit of the raw model**: Do not use: no better than" in card
    assert run("check", out, tmp_path / "t.csv") == 0
    said = capsys.readouterr().out
    assert said.startswith(
        "Do not use it here: on the new data it is no better than giving every row"
    )
    assert "still helps" not in said


def test_fit_on_all_rows_with_parameters_tests_on_none(file, tmp_path, capsys):
    out = tmp_path / "calibrator.npz"
    method = "scaling_binning:n_bins=7,share_classes=False"
    assert run("fit", file, "--method", method, "--out", out, "--calibration", "all") == 0
    assert "fitted on 400 rows" in capsys.readouterr().out
    made = runtime.load(out)
    assert (made.metadata["n_rows"], made.metadata["scores"]) == (400, {})
    assert (made.params["n_bins"], made.params["share_classes"]) == (7, False)


def test_features_are_read_from_the_file_of_the_outputs(tmp_path, file, capsys):
    features = np.random.default_rng(0).normal(size=(400, 3)) * [1000, 1, 1]
    training = {"train_features": features[:50] + 0.5, "train_labels": np.arange(50) % 4}
    with np.load(file) as arrays:
        np.savez(tmp_path / "all.npz", **arrays, features=features, **training)
    assert run("inspect", tmp_path / "all.npz") == 0
    out = capsys.readouterr().out
    assert "each row is 3 numbers" in out and "training set of 50 rows" in out
    assert "not normalised" in out and "train.std(axis=0)" in out


def test_files_are_read_by_a_reader_apart_where_that_is_asked_for(file, monkeypatch):
    apart = []
    monkeypatch.setattr(
        loading, "_isolated", lambda *given: apart.append(given) or loading.inspect_all(*given)
    )
    assert run("inspect", file) == 0 and not apart
    assert run("inspect", file, "--isolate") == 0 and len(apart) == 1
    assert run("inspect", file, "--no-isolate") == 0 and len(apart) == 1


# -- exit status and what is refused -----------------------------------------------------------------------------------

STATUS = [
    (0, ["gate", "outputs.npz", "--max-ece", "1"]),
    (1, ["gate", "broken.npz", "--max-ece", "1"]),
    (1, ["compare", "broken.npz"]),
    (1, ["fit", "nowhere.npz", "--method", "temperature", "--out", "c.npz"]),
    (1, ["fit", "outputs.npz", "--method", "temperature", "--out", "c.npz", "--calibration", "1"]),
    (2, ["gate", "outputs.npz"]),
    (2, ["nothing"]),
    (FAILED, ["gate", "outputs.npz", "--max-ece", "0.001"]),
    (UNDECIDED, ["gate", "one.npz", "--max-ece", "0.5"]),
    (STOPPED, ["fit", "outputs.npz", "--method", "temperature", "--out", "c.npz"]),
]


@pytest.mark.parametrize(("status", "command"), STATUS)
def test_the_exit_status_is_that_of_the_table(status, command, folder, capsys, monkeypatch):
    if status == STOPPED:
        monkeypatch.setattr(TemperatureScaling, "_fit", Mock(side_effect=KeyboardInterrupt))
    assert run(*command) == status and str(status) in TABLE
    said = capsys.readouterr()
    assert bool(said.out) is (status in (0, FAILED, UNDECIDED)) and (said.out or said.err)
    assert "Traceback" not in said.err and not Path("c.npz").exists()


def test_the_table_holds_every_status_and_no_other():
    assert {int(status) for status in TABLE} == {status for status, _ in STATUS} | {UNREAD}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ["fit", "FILE", "--method", "nothing", "--out", "x.pkl"],
            "no calibrator 'nothing'; choose from identity, ",
        ),
        (
            ["fit", "FILE", "--method", "imax:bins=abc", "--out", "x.pkl"],
            "no parameter 'bins' (did you mean n_bins?); it takes ",
        ),
        (
            ["fit", "FILE", "--method", "imax:n_bins=abc", "--out", "x.pkl"],
            "n_bins='abc' must be a whole number betw",
        ),
        (["fit", "FILE", "--method", "temperature"], "--out"),
        (
            ["fit", "FILE", "--method", "temperature", "--out", "a.xyz"],
            "'a.xyz' does not end in .pkl",
        ),
        (
            ["fit", "FILE", "--method", "temperature", "--out", "nowhere/a.pkl"],
            "there is no folder 'nowhere'",
        ),
        (["fit", "FILE", "--method", "temperature", "--out", "FILE"], "give --out another name"),
        (["compare", "FILE", "--calibration", "all"], "leaves none"),
        (
            ["compare", "FILE", "--csv", "a.html", "--report", "a.html"],
            "give --report another name",
        ),
        (["compare", "FILE", "--repeats", "1"], "Input should be greater than or equal to"),
        (["compare", "FILE", "--relevant", "nothing=0.1"], "'nothing=0.1' is no SCORE=DIFFERENCE"),
        (
            ["apply", "a.pkl", "FILE", "--out", "a.h5"],
            "does not end in .npz or .npy or .parquet or .csv",
        ),
        (["plan", "FILE", "--threshold", "0.2"], "name no event"),
        (["plan", "FILE", "--auroc", "5"], "Input should be less than or equal to 0.99"),
        (["compare", "FILE", "--view", "event"], "cannot be judged as --view event"),
        (["check", "c.npz", "FILE", "--unlabelled", "--batch", "50"], "give one of them"),
        (["gate", "FILE", "--min-accuracy", "nan"], "Input should be"),
        (["nothing"], "No such command 'nothing'"),
    ],
    ids=lambda given: " ".join(given[:6]) if isinstance(given, list) else "",
)
def test_a_wrong_command_is_two_and_one_line(file, arguments, said, capsys, monkeypatch):
    monkeypatch.chdir(file.parent)
    before = file.read_bytes()
    assert run(*(file if argument == "FILE" else argument for argument in arguments)) == 2
    printed = capsys.readouterr()
    line = printed.err.splitlines()[-1]
    assert said in line and not printed.out
    command = f" {arguments[0]}" if arguments[0] in COMMANDS else ""
    assert line.startswith("error: ") and line.endswith(f"; see python -m calib{command} --help.")
    assert file.read_bytes() == before and [each.name for each in file.parent.iterdir()] == [
        file.name
    ]


def test_what_a_file_cannot_hold_is_said_before_the_fit(folder, capsys, monkeypatch):
    monkeypatch.setattr(TemperatureScaling, "fit", Mock(side_effect=AssertionError("a fit began")))
    assert run("fit", "outputs.npz", "--method", "temperature", "--out", "c.sql") == 1
    said = capsys.readouterr()
    assert not said.out and "4 classes" in said.err and not Path("c.sql").exists()
    Path("folder.pkl").mkdir()
    assert run("fit", "outputs.npz", "--method", "temperature", "--out", "folder.pkl") == 2
    assert "cannot be written" in capsys.readouterr().err


def test_a_fit_that_no_file_of_the_ending_can_hold_prints_no_results(tmp_path, capsys):
    """Of GPcalib it is known only after the fit, and scores were printed before the refusal."""
    risks = np.random.default_rng(0).beta(1, 3, 300)
    pd.DataFrame({"p_default": risks, "default": risks > 0.4}).to_csv(
        tmp_path / "loans.csv", index=False
    )
    to = ["--out", tmp_path / "c.sql", "--json"]
    assert run("fit", tmp_path / "loans.csv", "--method", "gpcalib:max_iter=3", *to) == 1
    said = capsys.readouterr()
    assert not said.out and "prediction='mean'" in said.err and not (tmp_path / "c.sql").exists()
    assert run("fit", tmp_path / "loans.csv", "--method", "gpcalib:max_iter=3", *to[:2]) == 1
    assert not capsys.readouterr().out


def test_without_typer_the_extra_is_named():
    code = "import sys; sys.modules['typer'] = None; from calib.cli import main; raise SystemExit(main(['settings']))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 1 and "typer" in done.stderr and "calib-studio[fit]" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_nobody_reads_to_the_end():
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        [sys.executable, "-m", "calib", "settings"], cwd=ROOT, stdout=write, stderr=subprocess.PIPE
    )
    os.close(write)
    assert (done.returncode, done.stderr) == (UNREAD, b"")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="a named pipe is of POSIX")
def test_a_pipe_is_refused_in_words(tmp_path, capsys):
    path = tmp_path / "scores.csv"
    os.mkfifo(path)
    held = os.open(path, os.O_RDWR)  # a pipe without a writer blocks whoever opens it
    try:
        assert run("inspect", path, "--json") == 1
    finally:
        os.close(held)
    (finding,) = json.loads(capsys.readouterr().out)["findings"]
    assert "scores.csv" in finding["reason"] and "pipe" in finding["reason"] and finding["action"]


# -- what a terminal shows ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", [["inspect"], ["compare", "--method", "temperature"]])
def test_no_name_drives_the_terminal(command, tmp_path, capsys):
    generator = np.random.default_rng(0)
    risk = generator.beta(1, 3, 200)
    rows = [
        f"{p:.4f},{int(u < p)},\x1b[1m{u < 0.5}"
        for p, u in zip(risk, generator.random(200), strict=True)
    ]
    path = tmp_path / "a\x1b[31mb.csv"
    path.write_text(
        "\n".join(["pd \x1b[2J,default \x9b\u202e,segment \x07", *rows]), encoding="utf-8"
    )
    name, *rest = command
    run(name, path, *rest, "--read", "outcome=default \x9b\u202e", "--read", "outputs=pd \x1b[2J")
    printed = "".join(capsys.readouterr())
    assert printed and not set(printed) & DRIVING


def test_no_class_array_or_folder_drives_the_terminal(tmp_path, capsys, overconfident):
    folder = tmp_path / "f\x1b[5m"
    folder.mkdir()
    logits, labels = overconfident
    names = np.array(["a\x1b[2J", "b\x07", "c\x9b", "d\u202e"])
    np.savez(folder / "old.npz", logits=logits, labels=names[labels], class_names=names)
    np.savez(folder / "new.npz", logits=logits, labels=names[::-1][labels], class_names=names[::-1])
    assert run("inspect", folder / "old.npz") == 0
    assert run("fit", folder / "old.npz", "--method", "temperature", "--out", folder / "c.npz") == 0
    assert run("check", folder / "c.npz", folder / "new.npz") == 0
    assert run("apply", folder / "c.npz", folder / "new.npz", "--out", folder / "p.npz") == 0
    assert run("apply", folder / "c.npz", "*.npz", folder / "old.npz") == 2
    printed = "".join(capsys.readouterr())
    assert all(f"{first}\ufffd" in printed for first in "abcdf")
    assert not set(printed) & DRIVING


def test_help_names_the_program_as_it_was_typed(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["/bin/calib"])
    assert run() == 0
    shown = capsys.readouterr().out
    assert all(re.search(rf"^  {command} ", shown, re.MULTILINE) for command in COMMANDS)
    for command in COMMANDS:
        assert run(command, "--help") == 0
        assert capsys.readouterr().out.startswith(f"Usage: calib {command} [OPTIONS]")
    assert run("--version") == 0 and capsys.readouterr().out == f"calib {calib.__version__}\n"


@pytest.mark.long
def test_progress_is_on_a_terminal_alone(folder, capsys):
    assert run("fit", "outputs.npz", "--method", "vector", "--out", "c.npz") == 0
    assert run("compare", "outputs.npz", "--method", "temperature", "--repeats", "2") == 0
    assert run("apply", "c.npz", "new.npy", "--out", "p.npy") == 0
    said = capsys.readouterr()
    assert said.err == "" and not {"\r", "\033"} & {*said.out}
