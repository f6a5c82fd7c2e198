"""What is said of the machine, on machines made of folders."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from calib import hardware
from tests.conftest import ROOT


def machine(root: Path, *files: str) -> Path:
    for file in files:
        (root / file).parent.mkdir(parents=True, exist_ok=True)
        (root / file).touch()
    return root


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ((), False),
        (("dev/nvidiactl", "dev/nvidia-uvm"), False),  # the driver without a card
        (("dev/nvidia0",), True),
        (("dev/nvidia3",), True),  # a container may be given any one of them
        (("usr/lib/wsl/lib/libcuda.so.1",), True),
    ],
)
def test_a_gpu_is_known_by_its_files(files, expected, tmp_path, monkeypatch):
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    assert hardware.gpu_present(machine(tmp_path, *files)) is expected


@pytest.mark.parametrize(("visible", "expected"), [("", False), ("-1", False), ("0", True), ("1,0", True)])
def test_a_hidden_gpu_is_none(visible, expected, tmp_path, monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    assert hardware.gpu_present(machine(tmp_path, "dev/nvidia0")) is expected


@pytest.mark.parametrize(
    ("present", "preference", "numbers", "expected"),
    [
        (True, "auto", hardware.WORTH_A_GPU, True),
        (True, "auto", hardware.WORTH_A_GPU - 1, False),
        (True, "gpu", 1, True),
        (True, "cpu", 10**12, False),
        (False, "auto", 10**12, False),
        (False, "gpu", 10**12, False),
    ],
)
def test_a_gpu_is_started_where_there_is_one_and_it_pays(present, preference, numbers, expected, monkeypatch):
    monkeypatch.setattr(hardware, "gpu_present", lambda: present)
    assert hardware.worth_a_gpu(preference, numbers) is expected


def test_without_tensorflow_no_gpu_is_started(monkeypatch):
    monkeypatch.setattr(hardware, "gpu_present", lambda: True)
    monkeypatch.setattr(hardware, "find_spec", lambda name: None)
    assert not hardware.worth_a_gpu("gpu", 1)
    assert "needs TensorFlow, which is not installed" in hardware.no_gpu_note()


def test_asking_starts_nothing():
    code = "import sys; from calib.hardware import *; worth_a_gpu('gpu', 1); worth_a_gpu('auto', 10**12); "
    code += "print('tensorflow' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=300, check=True
    )
    assert done.stdout.strip() == "False"


@pytest.mark.parametrize(("name", "text"), [("memory.max", "2000000\n"), ("memory/memory.limit_in_bytes", "2000000\n")])
def test_a_container_has_the_memory_that_it_is_limited_to(name, text, tmp_path):
    machine = hardware.memory_bytes(tmp_path)
    assert machine > 1e8
    limit = tmp_path / "sys/fs/cgroup" / name
    limit.parent.mkdir(parents=True)
    limit.write_text(text)
    assert hardware.memory_bytes(tmp_path) == 2_000_000
    for unlimited in ("max\n", "9223372036854771712\n"):
        limit.write_text(unlimited)
        assert hardware.memory_bytes(tmp_path) == machine
