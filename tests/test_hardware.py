"""What is said of the machine, on machines made of folders."""

from __future__ import annotations

from pathlib import Path

import pytest

from calib import hardware


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
