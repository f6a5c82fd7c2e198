"""What an installed wheel must do, run by its Python in an empty folder: ``python wheel_smoke.py``. Needs calib alone.

``tests/test_wheel.py`` runs it beside this checkout's packages, ``make test-wheel`` in empty environments.
"""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from typing import Any

import calib

CALIB = [sys.executable, "-m", "calib"]
HOME = Path(calib.__file__).parents[1]
SAMPLE = HOME / "calib" / "studio" / "sample_data" / "simulated-binary.npz"


def answer(*arguments: object, status: int = 0) -> Any:
    """The JSON that a command prints."""
    done = subprocess.run([*CALIB, *map(str, arguments), "--json"], capture_output=True, text=True)
    assert done.returncode == status, (arguments, done)
    return json.loads(done.stdout)


def from_the_wheel() -> None:
    """No source tree is in sight."""
    assert not any(
        (HOME / name).exists() for name in ("tests", "benchmarks", "pyproject.toml", "app.py")
    )
    assert not Path.cwd().is_relative_to(HOME) and not any(Path.cwd().glob("*.py"))


def commands() -> None:
    """From a file to a calibrator, and back from it."""
    assert answer("inspect", SAMPLE)["rows"] > 0
    fitted = answer("fit", SAMPLE, "--method", "temperature", "--out", "c.zip")
    new = answer("apply", "c.zip", SAMPLE, "--out", "p.npz")
    assert new["rows"] == fitted["rows"] + fitted["test_rows"]
    assert answer("check", "c.zip", SAMPLE)["labelled"] is True
    compared = answer("compare", SAMPLE, "--methods", "temperature,gpcalib")
    methods = {each["method"] for each in compared["scores"]}
    assert methods == {"identity", "class frequencies", "temperature", "gpcalib"}
    assert answer("gate", SAMPLE, "--min-accuracy", 1, status=3)["passed"] is False
    assert answer("plan", SAMPLE)["needed"]


def says(port: int, path: str) -> str:
    """What the server answers, or nothing before it listens."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=300) as answer:
            return str(answer.read().decode())
    except OSError:
        return ""


def app() -> None:
    """The app serves from this folder beside a configuration of somebody's own, keeps its protections and no file."""
    Path(".streamlit").mkdir()
    Path(".streamlit/config.toml").write_text(
        '[client]\nallowedOrigins = ["https://elsewhere.example"]\n'
    )
    before = {*Path().iterdir()}
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    process = subprocess.Popen(
        [*CALIB, "app", "--no-browser", "--port", str(port)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    try:
        until = time.monotonic() + 300
        while says(port, "/_stcore/health") != "ok":
            assert time.monotonic() < until and process.poll() is None, process.communicate()
            time.sleep(0.1)
        assert json.loads(says(port, "/_stcore/host-config"))["allowedOrigins"] == []
    finally:
        process.terminate()
        process.communicate()
    assert {*Path().iterdir()} == before


if __name__ == "__main__":
    from_the_wheel()
    commands()
    app()
    print(f"The wheel of calib {calib.__version__} works on Python {sys.version.split()[0]}.")
