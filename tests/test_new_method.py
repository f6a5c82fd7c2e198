"""One file and one line add a calibrator: the example of CONTRIBUTING.md, pasted into a copy, is whole there."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from tests.conftest import ROOT

TESTS = ("conftest.py", "test_contract.py", "test_architecture.py", "new_method_checks.py", "forged_records.py")


def link_all(source: Path, target: Path, *, but: tuple[str, ...]) -> None:
    """A folder with links to what is in another, of which some names are left out."""
    target.mkdir()
    for path in source.iterdir():
        if path.name not in ("__pycache__", *but):
            (target / path.name).symlink_to(path)


def copy_with_the_example(folder: Path) -> None:
    """The package with the two blocks of the example where the guide says that they go; the method is the last."""
    code, entry = re.findall(r"```python\n(.*?)```", (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"), re.DOTALL)[
        :2
    ]
    link_all(ROOT / "calib", folder / "calib", but=("registry.py", "calibrators"))
    link_all(ROOT / "calib" / "calibrators", folder / "calib" / "calibrators", but=())
    (folder / "calib" / "calibrators" / "bias.py").write_text(code, encoding="utf-8")
    before, end, after = (ROOT / "calib" / "registry.py").read_text(encoding="utf-8").partition("\n)  # fmt: skip\n")
    (folder / "calib" / "registry.py").write_text(f"{before}\n    {entry.strip()}{end}{after}", encoding="utf-8")


def test_the_pasted_example_keeps_the_contract_and_appears_everywhere(tmp_path: Path) -> None:
    copy_with_the_example(tmp_path)
    (tmp_path / "tests").mkdir()
    for name in TESTS:
        shutil.copy(ROOT / "tests" / name, tmp_path / "tests" / name)
    for name in ("app.py", "pages", ".streamlit", "pyproject.toml"):
        (tmp_path / name).symlink_to(ROOT / name)
    # The whole contract for this one method, and all that says where it appears.
    files = [f"tests/{name}" for name in TESTS[1:4]]
    asked = ["-q", "-p", "no:cacheprovider", "-m", "not long", "-k", "bias or new_method_checks", *files]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *asked],
        cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(tmp_path)}, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    passed = int(re.search(r"(\d+) passed", done.stdout)[1])
    assert passed > 30, done.stdout
