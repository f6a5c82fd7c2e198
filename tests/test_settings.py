"""What can be set: declared once, read from there by all, and one sentence where it is wrong."""

from __future__ import annotations

import subprocess
import sys

import pytest

from calib import settings
from calib.cli import main
from calib.settings import DECLARED, SETTINGS
from tests.conftest import ROOT


@pytest.fixture(autouse=True)
def nothing_set(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in SETTINGS:
        monkeypatch.delenv(name, raising=False)


NUMBERS = [declared for declared in DECLARED if not isinstance(declared.default, str)]


@pytest.mark.parametrize("declared", NUMBERS, ids=lambda declared: declared.name)
def test_a_number_is_what_is_set_or_the_default(declared, monkeypatch):
    default = declared.default
    assert settings.number(declared.name) == default
    monkeypatch.setenv(declared.name, " 7 ")
    assert settings.number(declared.name) == settings.limit(declared.name) == 7
    for wrong in ("0", "-1", "much", "nan", "inf", *(["2.5"] if declared.whole else [])):
        monkeypatch.setenv(declared.name, wrong)
        with pytest.raises(
            ValueError,
            match=rf"^{declared.name}='{wrong}' must be a (whole number above 0|positive number); unset",
        ):
            settings.number(declared.name)
        assert settings.limit(declared.name) == default


def test_a_command_says_what_is_wrong_and_does_nothing(monkeypatch, capsys):
    monkeypatch.setenv("CALIB_CLASSES", "all")
    for command in (["settings"], ["inspect", "nothing.npz"]):
        assert main(command) == 2
        said = capsys.readouterr()
        assert not said.out
        assert (
            said.err
            == "error: CALIB_CLASSES='all' must be a whole number above 0; unset it for 100,000.\n"
        )


def test_the_command_shows_what_is_in_force_and_where_it_comes_from(monkeypatch, capsys):
    monkeypatch.setenv("CALIB_ROWS", "6")
    assert main(["settings"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "CALIB_ROWS = 6  (from the environment)" in lines
    assert "CALIB_UPLOAD_MB = 1,024" in lines
    assert [line.partition(" = ")[0] for line in lines if not line.startswith(" ")] == list(
        SETTINGS
    )


@pytest.mark.parametrize(
    ("given", "room"),
    [
        ({"CALIB_SESSION_GB": "1"}, "1 GB"),
        ({"CALIB_UPLOADS_GB": "2"}, "1 GB"),
        ({"CALIB_UPLOAD_MB": "1908"}, "2 GB"),
    ],
)
def test_a_file_that_would_find_no_room_is_not_allowed(given, room, monkeypatch):
    settings.check()
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(ValueError, match=f"one visitor's may take {room}"):
        settings.check()
    monkeypatch.setenv("CALIB_UPLOAD_MB", "953")  # of 2^20 bytes: 0.999 GB
    settings.check()


def test_trust_is_yes_or_no(monkeypatch):
    for value in ("yes", "no", ""):
        monkeypatch.setenv("CALIB_TRUST_NETWORK", value)
        settings.check()
    monkeypatch.setenv("CALIB_TRUST_NETWORK", "1")
    with pytest.raises(ValueError, match=r"CALIB_TRUST_NETWORK='1' must be yes or no\."):
        settings.check()


def test_limits_are_those_that_are_set():
    code = """
from calib.data import findings as limits
print(limits.MAX_UPLOAD, limits.MAX_BYTES, limits.MAX_TEXT, limits.MAX_ROWS, limits.MAX_CLASSES, limits.MAX_ARRAYS)
"""
    given = {
        "UPLOAD_MB": "2",
        "DATA_MB": "3",
        "TEXT_MB": "0.5",
        "ROWS": "6",
        "CLASSES": "many",
        "ARRAYS": "8",
    }
    environment = {
        "PYTHONPATH": str(ROOT),
        **{f"CALIB_{name}": value for name, value in given.items()},
    }
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=300
    )
    # A wrong one leaves the default; whoever starts the app or a command is told by `check`.
    assert done.stdout.split() == [str(2 * 2**20), "3000000", "500000", "6", "100000", "8"], (
        done.stderr
    )
