"""CONTRIBUTING.md shows the rooms as they are, and its examples work where they are pasted."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from site_builder import rooms
from tests.conftest import ROOT

GUIDE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")


def test_the_picture_and_the_table_of_the_rooms_are_what_the_code_gives():
    make = "run python -m site_builder.rooms"
    assert f"<desc>{rooms.in_words()}</desc>" in rooms.PICTURE.read_text(encoding="utf-8"), make
    assert (
        GUIDE.partition(rooms.BEGIN)[2].partition(rooms.END)[0].strip() == rooms.table().strip()
    ), make


def paste(code: str, folder: Path) -> None:
    """A block of the guide where its first line says that it goes; other blocks are not for pasting."""
    place, _, code = code.partition("\n")
    if new := re.fullmatch(r"# new file (\S+)", place):
        (folder / new[1]).write_text(code, encoding="utf-8")
    elif there := re.fullmatch(r"# in (\S+), (above|below): (.+)", place):
        path = folder / there[1]
        lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
        (at,) = [i for i, line in enumerate(lines) if line.strip() == there[3]]
        lines.insert(at + (there[2] == "below"), code)
        path.write_text("".join(lines), encoding="utf-8")


@pytest.mark.long
def test_the_examples_work_where_they_are_pasted(tmp_path):
    for name in ("calib", "pages", ".streamlit"):
        shutil.copytree(
            ROOT / name, tmp_path / name
        )  # with what is compiled, which is used where it still belongs
    (tmp_path / "tests").mkdir()
    # The contract and the rules of the rooms for the new method, and where all that was pasted appears.
    files = [f"tests/{name}.py" for name in ("guide_checks", "test_contract", "test_architecture")]
    for name in (
        "app.py",
        "pyproject.toml",
        "tests/conftest.py",
        "tests/forged_records.py",
        *files,
    ):
        shutil.copy(ROOT / name, tmp_path / name)
    method, entry, *others = re.findall(r"```python\n(.*?)```", GUIDE, re.DOTALL)
    paste(f"# new file calib/calibrators/bias.py\n{method}", tmp_path)
    paste(f"# in calib/registry.py, above: )  # the end of the methods\n{entry}", tmp_path)
    for code in others:
        paste(code, tmp_path)
    asked = ["-q", "-p", "no:cacheprovider", "-m", "not long", "-k", "bias or guide_checks", *files]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *asked],
        cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(tmp_path)}, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert int(re.search(r"(\d+) passed", done.stdout)[1]) > 20, done.stdout
