"""What scripts and shells rely on: exit status, standard output and error, the name in help, completion, progress."""

from __future__ import annotations

import json
import os
import pty
import re
import shutil
import subprocess
import sys
from io import StringIO
from pathlib import Path

import numpy as np
import pytest

from calib.calibrators.temperature import TemperatureScaling
from calib.cli import COMMANDS, STOPPED, UNREAD, main
from calib.cli.gate import FAILED
from calib.registry import METHODS
from tests.conftest import ROOT, simulate

TABLE = dict(re.findall(r"^\| (\d+) \| (.+) \|$", (ROOT / "docs" / "command_line.md").read_text("utf-8"), re.MULTILINE))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    logits, labels = simulate(n=400, n_classes=3)
    np.savez(tmp_path / "outputs.npz", logits=logits, labels=labels)
    np.savez(tmp_path / "broken.npz", logits=logits, labels=labels[:-3])
    np.save(tmp_path / "new.npy", logits)
    return tmp_path


def stop(*_: object, **__: object) -> None:
    raise KeyboardInterrupt


STATUS = [
    (0, ["gate", "outputs.npz", "--max-ece", "1"]),
    (1, ["gate", "broken.npz", "--max-ece", "1"]),
    (1, ["fit", "nowhere.npz", "--method", "temperature", "--out", "c.npz"]),
    (2, ["gate", "outputs.npz"]),
    (2, ["nothing"]),
    (FAILED, ["gate", "outputs.npz", "--max-ece", "0.001"]),
    (STOPPED, ["fit", "outputs.npz", "--method", "temperature", "--out", "c.npz"]),
]


@pytest.mark.parametrize(("status", "command"), STATUS)
def test_the_exit_status_is_that_of_the_table(
    status: int, command: list[str], folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    if status == STOPPED:
        monkeypatch.setattr(TemperatureScaling, "_fit", stop)
    try:
        found = main(command)
    except SystemExit as left:
        found = int(left.code or 0)
    assert found == status and str(status) in TABLE
    said = capsys.readouterr()
    assert bool(said.out) is (status in (0, FAILED)) is not bool(said.err)
    assert "Traceback" not in said.err


def test_the_table_holds_every_status_and_no_other() -> None:
    assert {int(status) for status in TABLE} == {status for status, _ in STATUS} | {UNREAD}


def test_a_wrong_setting_is_two(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("CALIB_ROWS", "many")
    assert main(["settings"]) == 2 and "CALIB_ROWS" in capsys.readouterr().err


def test_a_report_without_its_packages_is_refused_before_the_fits(folder: Path) -> None:
    code = "import sys; sys.modules['plotly'] = None; from calib.cli import main; raise SystemExit(main(sys.argv[1:]))"
    command = [sys.executable, "-c", code, "compare", str(folder / "broken.npz"), "--report", str(folder / "r.html")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 1 and "calib-studio[report]" in done.stderr and len(done.stderr.splitlines()) == 1


def test_nobody_reads_to_the_end() -> None:
    read, write = os.pipe()
    os.close(read)
    command = [sys.executable, "-m", "calib", "settings"]
    done = subprocess.run(command, cwd=ROOT, stdout=write, stderr=subprocess.PIPE)
    os.close(write)
    assert (done.returncode, done.stderr) == (UNREAD, b"")


@pytest.mark.parametrize(
    ("started", "name"), [("/somewhere/bin/calib", "calib"), (f"{ROOT}/calib/__main__.py", "python -m calib")]
)
def test_help_names_the_program_as_it_was_typed(
    started: str, name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", [started])
    for command in ([], *([name] for name in COMMANDS)):
        with pytest.raises(SystemExit) as left:
            main([*command, "--help"])
        assert left.value.code == 0
        assert capsys.readouterr().out.startswith(" ".join([f"usage: {name}", *command, "["]))


# -- completion ----------------------------------------------------------------------------------------

COMPLETED = [
    ("", {*COMMANDS}),
    ("co", {"compare", "completion"}),
    ("gate x --max-n", {"--max-nll"}),
    ("fit x --method te", {"temperature"}),
    ("inspect outp", {"outputs.npz"}),
    ("completion ", {"bash", "zsh", "fish"}),
]


@pytest.fixture(scope="module", params=["bash", "fish"])
def completion(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """What asks a shell how "$1" would be completed, one a line."""
    pytest.importorskip("shtab")
    shell = request.param
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed, so that its completion was not run")
    script = tmp_path_factory.mktemp("completion") / shell
    with script.open("w") as file:
        subprocess.run([sys.executable, "-m", "calib", "completion", shell], stdout=file, cwd=ROOT, check=True)
    ask = {
        "bash": f"""source {script}
IFS=' ' read -ra COMP_WORDS <<< "calib $1"
[[ "$1" == *" " || -z "$1" ]] && COMP_WORDS+=("")
COMP_CWORD=$(( ${{#COMP_WORDS[@]}} - 1 ))
_shtab_calib calib "${{COMP_WORDS[-1]}}" "${{COMP_WORDS[-2]}}"
printf '%s\\n' "${{COMPREPLY[@]}}" """,
        "fish": f'source {script}; complete -C "calib $argv[1]"',
    }[shell]
    return [shell, "-c", ask, *(["bash"] if shell == "bash" else [])]


@pytest.mark.parametrize(("typed", "expected"), COMPLETED)
def test_a_shell_completes(typed: str, expected: set[str], completion: list[str], folder: Path) -> None:
    done = subprocess.run([*completion, typed], cwd=folder, capture_output=True, text=True, check=True)
    assert {line.partition("\t")[0] for line in done.stdout.splitlines()} == expected and not done.stderr


def test_every_script_names_every_command_and_method(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("shtab")
    for shell in ("bash", "zsh", "fish"):
        assert main(["completion", shell]) == 0
        script = capsys.readouterr().out
        assert all(re.search(rf"\b{name}\b", script) for name in [*COMMANDS, *METHODS, "json"])
        assert str(ROOT) not in script


# -- progress ------------------------------------------------------------------------------------------


def on_a_terminal(*command: str) -> tuple[str, str]:
    """Standard output, which is a pipe, and what a terminal shows of standard error."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "calib", *command], cwd=ROOT, stdout=subprocess.PIPE, stderr=theirs,
        env={**os.environ, "TERM": "xterm"},
    )  # fmt: skip
    os.close(theirs)
    seen = b""
    try:
        while part := os.read(ours, 65536):
            seen += part
    except OSError:  # Linux says so where a terminal has no other end any more
        pass
    os.close(ours)
    out, _ = process.communicate()
    assert process.returncode == 0, seen
    return out.decode(), seen.decode()


def test_progress_is_one_line_of_a_terminal_and_gone_in_the_end(folder: Path) -> None:
    command = ["fit", str(folder / "outputs.npz"), "--method", "vector", "--out", str(folder / "c.npz"), "--json"]
    out, seen = on_a_terminal(*command)
    assert "step 1 of at most" in seen and "\n" not in seen
    assert seen.endswith("\r\033[K") and json.loads(out)["method"] == "vector"


class Terminal(StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("term", "shown"), [("xterm", True), ("dumb", False)])
def test_a_terminal_that_cannot_erase_a_line_shows_none(
    term: str, shown: bool, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", term)
    monkeypatch.setattr(sys, "stderr", terminal := Terminal())
    assert main(["compare", str(folder / "outputs.npz"), "--method", "temperature"]) == 0
    assert ("\r1 of 2 fits\033[K" in terminal.getvalue()) is shown is bool(terminal.getvalue())


def test_nothing_moves_where_nobody_watches(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = [str(folder / "outputs.npz"), "--calibration", "0.5"]
    assert main(["fit", *files, "--method", "vector", "--out", str(folder / "c.npz")]) == 0
    assert main(["compare", *files, "--method", "temperature", "--repeats", "2"]) == 0
    assert main(["apply", str(folder / "c.npz"), str(folder / "new.npy"), "--out", str(folder / "p.npy")]) == 0
    said = capsys.readouterr()
    assert said.err == "" and not {"\r", "\033"} & {*said.out}
