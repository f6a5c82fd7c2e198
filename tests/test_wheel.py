"""The wheel: what is in it, that it is the same twice, and that it works with no source tree in sight."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import calib
from tests.conftest import ROOT

pytestmark = pytest.mark.long


def build(folder: Path) -> Path:
    """The wheel of this checkout, made by the backend that pyproject.toml names."""
    command = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--quiet",
        "--no-deps",
        "--no-build-isolation",
        str(ROOT),
    ]
    subprocess.run([*command, "--wheel-dir", folder], check=True, cwd=folder)
    (wheel,) = folder.glob("*.whl")
    return wheel


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Environment of a Python that has the wheel, what it needs and no TensorFlow, and nothing of this checkout."""
    folder = tmp_path_factory.mktemp("installed")
    install = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-deps",
        "--target",
        folder,
        wheel,
    ]
    subprocess.run(install, check=True)
    (folder / "sitecustomize.py").write_text(
        "import sys\nsys.modules['tensorflow'] = sys.modules['gpflow'] = None\n"
    )
    return {
        "PYTHONPATH": str(folder),
        "PATH": str(Path(sys.executable).parent),
        "HOME": str(folder),
        "CALIB_WORKSPACE": "off",
    }


def test_it_holds_the_app_and_none_of_the_tests(wheel: Path) -> None:
    assert wheel.name == f"calib_studio-{calib.__version__}-py3-none-any.whl"
    assert wheel.stat().st_size < 5e6
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        imports = [archive.read(name) for name in names if name.endswith(".py")]
    here = {
        f"calib/studio/{path.relative_to(ROOT)}"
        for path in (ROOT / "app.py", *(ROOT / "pages").glob("*.py"))
    }
    assert here <= names
    assert {
        "calib/py.typed",
        "calib/typed.pyi",
        "calib/studio/.streamlit/config.toml",
        "calib/studio/sample_data/digits-cnn.npz",
    } <= names
    assert not any(part in name for name in names for part in ("tests/", "benchmarks/", "docs/"))
    assert not any(b"from tests" in text or b"import benchmarks" in text for text in imports)


def test_equal_files_give_equal_bytes(wheel: Path, tmp_path: Path) -> None:
    assert build(tmp_path).read_bytes() == wheel.read_bytes()


def test_it_works_where_it_was_installed(installed: dict[str, str], tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "tests" / "wheel_smoke.py"],
        cwd=tmp_path,
        env=installed,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
