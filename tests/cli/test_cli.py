import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import calib
from calib.cli import COMMANDS, main
from calib.cli.arguments import assignment
from calib.decisions import fit_sets
from calib.export import runtime
from tests.conftest import ROOT, simulate

DRIVING = set("\x1b\x9b\x07\u202e")
"""Characters that a terminal obeys."""


@pytest.fixture
def file(tmp_path, overconfident):
    logits, labels = overconfident
    path = tmp_path / "outputs.npz"
    np.savez(path, logits=logits, labels=labels)
    return path


@pytest.fixture
def broken(tmp_path, overconfident):
    logits, labels = overconfident
    path = tmp_path / "broken.npz"
    np.savez(path, logits=logits, labels=labels[:-3])
    return path


def run(*arguments) -> int:
    return main([str(argument) for argument in arguments])


def test_inspect_says_what_was_understood(file, overconfident, capsys):
    logits, labels = overconfident
    assert run("inspect", file) == 0
    out = capsys.readouterr().out
    assert "logits  400 x 4  float64" in out
    assert f"accuracy of {(logits.argmax(axis=1) == labels).mean():.1%}" in out
    assert "overconfident by" in out
    assert "kind='logits'" in out


def test_inspect_of_bad_data_is_one(broken, capsys):
    assert run("inspect", broken) == 1
    out = capsys.readouterr().out
    assert "error: " in out
    assert "397" in out
    assert "400" in out


@pytest.mark.parametrize("command", [["fit", "--method", "temperature", "--out", "x.pkl"], ["compare"]])
def test_bad_data_is_one_and_no_traceback(broken, command, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run(command[0], broken, *command[1:]) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("error: ")
    assert "Traceback" not in captured.err
    assert not Path("x.pkl").exists()


def test_fit_saves_what_the_library_fits(file, tmp_path, capsys):
    out = tmp_path / "calibrator.pkl"
    assert run("fit", file, "--method", "temperature", "--out", out, "--calibration", "0.25", "--seed", "3") == 0
    data = calib.load(file)
    calibration, test = data.split(0.25, random_state=3)
    expected = calib.calibrator("temperature", random_state=3).fit(calibration.logits, calibration.labels)
    saved = runtime.load(out)
    probs = expected.predict_proba(test.logits)
    np.testing.assert_allclose(saved.calibrator.predict_proba(test.logits), probs, atol=1e-12)
    scores = saved.metadata["scores"]
    assert scores["NLL"]["after"][0] == pytest.approx(calib.metrics.nll(probs, test.labels))
    assert scores["NLL"]["after"][0] < scores["NLL"]["before"][0]
    printed = capsys.readouterr().out
    assert "fitted on 100 rows" in printed
    assert "On 300 test rows" in printed
    assert f"{scores['NLL']['before'][0]:.4f}" in printed


def test_fit_puts_sets_and_a_certified_threshold_into_the_file(file, tmp_path, capsys):
    out = tmp_path / "c.npz"
    assert run("fit", file, "--method", "temperature", "--out", out, "--sets", "0.2", "--decide", "risk=0.3") == 0
    said = capsys.readouterr().out
    assert "judged on the" in said and "the mean size" in said
    made = runtime.load(out)
    _, test = calib.load(file).split()
    decision, _ = test.split(0.5, 0)
    np.testing.assert_allclose(made.sets.quantiles, fit_sets(made.calibrator, decision, 0.2).quantiles, rtol=1e-12)
    assert made.decision.risk == 0.3 and f"{made.decision.threshold:.4g}" in said
    assert run("apply", out, file, "--out", tmp_path / "p.npz", "--decide", "--sets") == 0
    with np.load(tmp_path / "p.npz") as written:
        assert set(written["actions"]) <= {-1, 0, 1, 2, 3}
        assert written["sets"].shape == written["probabilities"].shape
    assert run("fit", file, "--method", "temperature", "--out", out, "--decide", "risk=0.0001") == 0
    assert "holds no decision" in capsys.readouterr().out and runtime.load(out).decision is None


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (["--decide", "guess=0.5"], "cut=P or risk=R"),
        (["--decide", "risk=2"], "between 0 and 1"),
        (["--sets", "1.5"], "between 0 and 1"),
        (["--sets", "0.1", "--calibration", "all"], "need test rows"),
    ],
)
def test_what_cannot_be_decided_is_said_before_the_fit(file, tmp_path, given, says, capsys):
    with pytest.raises(SystemExit) as stopped:
        run("fit", file, "--method", "temperature", "--out", tmp_path / "c.npz", *given)
    assert stopped.value.code == 2 and says in capsys.readouterr().err
    assert not (tmp_path / "c.npz").exists()


def test_what_sql_cannot_hold_is_said_before_the_fit(tmp_path, capsys, monkeypatch):
    def fitted(*given, **options):
        raise AssertionError("a fit began")

    monkeypatch.setattr("calib.calibrators.temperature.TemperatureScaling.fit", fitted)
    logits, labels = simulate(n=200)
    np.save(tmp_path / "logits.npy", logits)
    np.save(tmp_path / "labels.npy", labels)
    files = [tmp_path / "logits.npy", "--labels", tmp_path / "labels.npy"]
    assert run("fit", *files, "--method", "temperature", "--out", tmp_path / "c.sql") == 1
    said = capsys.readouterr()
    assert not said.out and f"{logits.shape[1]} classes" in said.err and not (tmp_path / "c.sql").exists()


def test_fit_writes_a_pytorch_module(file, tmp_path, capsys):
    assert run("fit", file, "--method", "temperature", "--out", tmp_path / "c.py") == 0
    assert "class Calibrator(torch.nn.Module)" in (tmp_path / "c.py").read_text(encoding="utf-8")
    with pytest.raises(SystemExit) as refused:
        run("fit", file, "--method", "temperature", "--out", tmp_path / "c.py", "--sets", "0.1")
    assert refused.value.code == 2 and "probabilities alone" in capsys.readouterr().err


def test_fit_goes_on_with_a_saved_calibrator(file, tmp_path, capsys):
    first, second = tmp_path / "first.pkl", tmp_path / "second.pkl"
    assert run("fit", file, "--method", "gpcalib", "--set", "max_iter=10", "--out", first, "--calibration", "150") == 0
    assert run("fit", file, "--continue", first, "--out", second, "--calibration", "100", "--seed", "7") == 0
    assert "GPcalib fitted on 250 rows" in capsys.readouterr().out
    saved = runtime.load(second)
    assert saved.params["max_iter"] == 10
    assert saved.metadata["n_rows"] == saved.calibrator.n_rows_ == 250
    assert saved.metadata["scores"]["NLL"]["after"][0] < saved.metadata["scores"]["NLL"]["before"][0]
    with pytest.raises(SystemExit) as refused:
        run("fit", file, "--continue", first, "--set", "max_iter=5", "--out", second)
    assert refused.value.code == 2


def test_fit_on_all_rows_tests_on_none(file, tmp_path, capsys):
    out = tmp_path / "calibrator.npz"
    assert run("fit", file, "--method", "isotonic", "--out", out, "--calibration", "all") == 0
    assert "fitted on 400 rows" in capsys.readouterr().out
    metadata = runtime.load(out).metadata
    assert (metadata["n_rows"], metadata["scores"]) == (400, {})


@pytest.mark.parametrize(
    ("given", "expected"),
    [("2", 2), ("0.5", 0.5), ("true", True), ("False", False), ("none", None), ("plain", "plain")],
)
def test_set_reads_values(given, expected):
    assert assignment(f"name={given}") == ("name", expected)


def test_set_reaches_the_method(file, tmp_path):
    out = tmp_path / "calibrator.pkl"
    assert run("fit", file, "--method", "gpcalib", "--set", "n_inducing=3", "--out", out) == 0
    assert runtime.load(out).params["n_inducing"] == 3


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["fit", "FILE", "--method", "nothing", "--out", "x.pkl"], "no calibrator 'nothing'; choose from identity, "),
        (["fit", "FILE", "--method", "imax:bins=abc", "--out", "x.pkl"], "no parameter 'bins'; it takes "),
        (["fit", "FILE", "--method", "imax:n_bins=abc", "--out", "x.pkl"], "n_bins='abc' must be a whole number betw"),
        (["fit", "FILE", "--method", "imax", "--out", "x.pkl", "--set", "n_bins=0"], "n_bins=0 must lie between"),
        (["nothing"], "invalid choice: 'nothing'"),
        (["fit", "FILE", "--method", "temperature"], "--out"),
        (["fit", "FILE", "--method", "temperature", "--out", "x.pkl", "--set", "no_such=1"], "no_such"),
        (["fit", "FILE", "--method", "temperature", "--out", "x.pkl", "--set", "nothing"], "NAME=VALUE"),
        (["fit", "FILE", "--method", "temperature", "--out", "x.pkl", "--calibration", "1.5"], "between 0 and 1"),
        (["compare", "FILE", "--methods", "temperature,nothing"], "no calibrator 'nothing'"),
        (["compare", "FILE", "--calibration", "all"], "leaves none"),
        (["inspect", "FILE", "--read", "colour=red"], "not one of"),
        (["inspect", "FILE", "--read", "kind=potato"], "one of logits"),
        (["fit", "FILE", "--method", "temperature", "--out", "a.xyz"], "'a.xyz' does not end in .pkl"),
        (["fit", "FILE", "--method", "temperature", "--out", "nowhere/a.pkl"], "there is no folder 'nowhere'"),
        (["compare", "FILE", "--csv", "nowhere/a.csv"], "there is no folder 'nowhere'"),
        (["apply", "a.pkl", "FILE", "--out", "nowhere/a.npz"], "there is no folder 'nowhere'"),
        (["apply", "a.pkl", "FILE", "--out", "a.h5"], "does not end in .npz or .npy or .parquet or .csv"),
    ],
)
def test_a_wrong_command_is_two(file, arguments, said, capsys):
    with pytest.raises(SystemExit) as exit:
        run(*(file if argument == "FILE" else argument for argument in arguments))
    assert exit.value.code == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert said in line
    command = f" {arguments[0]}" if arguments and arguments[0] != "nothing" else ""
    assert line.startswith("error: ")
    assert line.endswith(f"; see python -m calib{command} --help.")


def test_alone_it_shows_its_commands_and_its_version(capsys):
    assert run() == 0
    shown = capsys.readouterr().out
    assert all(f"    {command}" in shown for command in COMMANDS)
    with pytest.raises(SystemExit) as exit:
        run("--version")
    assert exit.value.code == 0
    assert calib.__version__ in capsys.readouterr().out


def test_a_method_takes_its_parameters_with_its_name(file, tmp_path):
    out = tmp_path / "calibrator.pkl"
    method = "scaling_binning:n_bins=7,share_classes=False"
    assert run("fit", file, "--method", method, "--set", "n_bins=8", "--out", out) == 0
    assert runtime.load(out).params["n_bins"] == 8
    assert runtime.load(out).params["share_classes"] is False


def test_compare_prints_a_table_and_a_verdict(file, tmp_path, capsys):
    import pandas as pd

    csv = tmp_path / "scores.csv"
    assert run("compare", file, "--methods", "temperature,isotonic", "--csv", csv) == 0
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
    import pandas as pd

    csv = tmp_path / "scores.csv"
    assert run("compare", file, "--methods", "temperature", "--csv", csv, "--relevant", f"NLL={margin}") == 0
    table = pd.read_csv(csv).set_index(["method", "score"])
    assert table.loc[("temperature", "NLL"), "verdict"] == word
    assert table.loc[("temperature", "NLL"), "relevant"] == float(margin)


@pytest.mark.parametrize("given", ["NLL", "NLL=", "NLL=-1", "nothing=0.1"])
def test_a_difference_of_no_score_is_refused(file, given, capsys):
    with pytest.raises(SystemExit):
        run("compare", file, "--relevant", given)
    assert given in capsys.readouterr().err


def test_compare_goes_on_past_a_method_that_fails(file, capsys, monkeypatch):
    from calib.calibrators.isotonic import IsotonicCalibration

    def fail(*arguments, **extras):
        raise calib.CalibrationError("Only 3 rows.")

    monkeypatch.setattr(IsotonicCalibration, "fit", fail)
    assert run("compare", file, "--methods", "isotonic,temperature") == 0
    assert "Isotonic (shared map): Only 3 rows." in capsys.readouterr().out


@pytest.mark.long
def test_compare_presets(file, capsys):
    assert run("compare", file, "--methods", "fast") == 0
    out = capsys.readouterr().out
    for name in calib.registry.presets()["Fast"]:
        assert calib.METHODS[name].title in out


def test_the_files_to_write_are_looked_at_before_the_fit(file, capsys, monkeypatch):
    def fail(*arguments, **options):
        raise AssertionError("the file was read")

    monkeypatch.setattr("calib.cli.arguments.load", fail)
    with pytest.raises(SystemExit):
        run("fit", file, "--method", "temperature", "--out", file.parent)
    assert "does not end in" in capsys.readouterr().err
    folder = file.parent / "folder.pkl"
    folder.mkdir()
    with pytest.raises(SystemExit):
        run("fit", file, "--method", "temperature", "--out", folder)
    assert "cannot be written" in capsys.readouterr().err


@pytest.mark.parametrize("command", [["fit", "--method", "temperature", "--out", "x.pkl"], ["compare"]])
def test_one_row_is_no_calibration_set(file, command, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run(command[0], file, *command[1:], "--calibration", 1) == 1
    assert capsys.readouterr().err.startswith("error: The calibration set has 1 row,")


def test_from_a_shell(file):
    done = subprocess.run(
        [sys.executable, "-m", "calib", "inspect", str(file)], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert "overconfident by" in done.stdout
    assert done.stderr == ""


def test_features_come_in_files_of_their_own(file, tmp_path, overconfident, capsys):
    features = np.random.default_rng(0).normal(size=(400, 3)) * [1000, 1, 1]
    np.save(tmp_path / "x.npy", features)
    np.save(tmp_path / "trained.npy", features[:50] + 0.5)
    np.save(tmp_path / "classes.npy", np.arange(50) % 4)
    files = ["--features", tmp_path / "x.npy", "--train-features", tmp_path / "trained.npy"]
    files += ["--train-labels", tmp_path / "classes.npy"]
    assert run("inspect", file, *files) == 0
    out = capsys.readouterr().out
    assert "each row is 3 numbers" in out and "training set of 50 rows" in out
    assert "not normalised" in out and "--read standardise=True" in out
    assert run("inspect", file, *files, "--read", "standardise=True") == 0
    out = capsys.readouterr().out
    assert "not normalised" not in out and "standardise=True" in out


@pytest.mark.parametrize("command", [["inspect"], ["compare", "--method", "temperature"], ["apply", "nothing.npy"]])
def test_no_name_drives_the_terminal(command, tmp_path, capsys):
    generator = np.random.default_rng(0)
    risk = generator.beta(1, 3, 200)
    rows = [f"{p:.4f},{int(u < p)},\x1b[1m{u < 0.5}" for p, u in zip(risk, generator.random(200), strict=True)]
    path = tmp_path / "a\x1b[31mb.csv"
    path.write_text("\n".join(["pd \x1b[2J,default \x9b\u202e,segment \x07", *rows]), encoding="utf-8")
    roles = ["--read", "outcome=default \x9b\u202e", "--read", "outputs=pd \x1b[2J"]
    name, *rest = command
    main([name, str(path), *rest, *roles])
    printed = "".join(capsys.readouterr())
    assert printed
    assert not set(printed) & DRIVING


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
    with pytest.raises(SystemExit):
        run("apply", folder / "c.npz", "*.npz", folder / "old.npz")
    printed = "".join(capsys.readouterr())
    assert all(f"{first}\ufffd" in printed for first in "abcdf")
    assert not set(printed) & DRIVING


def test_what_is_said_passes_the_function_that_makes_it_safe() -> None:
    said = re.compile(r"^(?!.*\\r).*\bprint\(", re.MULTILINE)  # a line of progress drives the terminal itself
    modules = (ROOT / "calib" / "cli").glob("*.py")
    assert [path.name for path in modules for _ in said.findall(path.read_text(encoding="utf-8"))] == ["text.py"]


@pytest.mark.parametrize(
    "command",
    [
        ["fit", "outputs.npz", "--method", "temperature", "--out", "outputs.npz"],
        ["fit", "scores.npy", "--labels", "outputs.npz", "--method", "temperature", "--out", "x/../outputs.npz"],
        ["compare", "outputs.npz", "--methods", "temperature", "--csv", "outputs.npz"],
        ["compare", "outputs.npz", "--methods", "temperature", "--csv", "a.html", "--report", "a.html"],
    ],
)
def test_no_command_writes_over_what_it_reads_or_wrote(command, file, monkeypatch, capsys) -> None:
    monkeypatch.chdir(file.parent)
    Path("x").mkdir()
    before = file.read_bytes()
    with pytest.raises(SystemExit, match="2"):
        run(*command)
    assert "another name" in capsys.readouterr().err
    assert file.read_bytes() == before
    assert not Path("a.html").exists()


def test_a_calibrator_that_goes_on_may_replace_itself(file, monkeypatch) -> None:
    monkeypatch.chdir(file.parent)
    assert run("fit", "outputs.npz", "--method", "gpcalib:n_inducing=5,max_iter=3", "--out", "c.pkl") == 0
    n = runtime.load("c.pkl").metadata["n_rows"]
    assert run("fit", "outputs.npz", "--continue", "c.pkl", "--out", "c.pkl") == 0
    assert runtime.load("c.pkl").metadata["n_rows"] > n


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="a named pipe is of POSIX")
def test_a_pipe_is_refused_in_words(tmp_path, capsys) -> None:
    path = tmp_path / "scores.csv"
    os.mkfifo(path)
    held = os.open(path, os.O_RDWR)  # a pipe without a writer blocks whoever opens it
    try:
        assert run("inspect", path, "--json") == 1
    finally:
        os.close(held)
    (finding,) = json.loads(capsys.readouterr().out)["findings"]
    assert "scores.csv" in finding["reason"] and "pipe" in finding["reason"] and finding["action"]
