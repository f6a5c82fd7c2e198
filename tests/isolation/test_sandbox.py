"""What a reader cannot do, tried from inside."""

from __future__ import annotations

import io
import os
import struct
import subprocess
import sys

import pytest

from calib.isolation.client import isolated
from calib.isolation.sandbox import AUDIT, REFUSED, filter_program
from tests.conftest import ROOT
from tests.isolation import misbehaving

linux = pytest.mark.skipif(sys.platform != "linux", reason="only Linux has these protections")


@linux
def test_a_reader_reaches_nothing_outside(tmp_path):
    outside = tmp_path / "outside.txt"
    outside.write_text("of somebody else")
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(1000)"]) as victim:
        worked = isolated(misbehaving.break_out, ("some.h5", io.BytesIO(b"abc")), str(outside), victim.pid)
        victim.kill()
    assert worked == ()
    assert outside.read_text() == "of somebody else"
    assert [path.name for path in tmp_path.iterdir()] == ["outside.txt"]


@linux
@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="already run by an ordinary user above")
def test_an_ordinary_user_has_the_same_protections():
    """Run by nobody, where nobody can read this Python."""
    lines = (
        "import io, os, subprocess, sys\n"
        "from calib.isolation.client import isolated\n"
        "from tests.isolation import misbehaving\n"
        "assert os.geteuid() != 0\n"
        "print(isolated(misbehaving.break_out, ('some.h5', io.BytesIO(b'abc')), '/etc/hostname', os.getpid()))\n"
    )
    try:
        run = subprocess.run(
            [sys.executable, "-c", lines],
            cwd="/",
            env={**os.environ, "PYTHONPATH": str(ROOT), "HOME": "/"},
            user=65534,
            group=65534,
            extra_groups=[],
            capture_output=True,
            text=True,
        )
    except PermissionError:
        pytest.skip("an ordinary user cannot read this Python")
    if "Permission denied" in run.stderr or "No module named" in run.stderr:
        pytest.skip("an ordinary user cannot read this Python")
    assert run.stdout.strip() == "()", run.stderr


@pytest.mark.parametrize("machine", AUDIT)
def test_the_filter_refuses_each_call_and_lets_others_pass(machine):
    """The program run by a reference interpreter of the few instructions that it consists of."""
    program = filter_program(machine, pid=77)
    column = list(AUDIT).index(machine)
    refused, unknown, allowed = 0x00050001, 0x00050026, 0x7FFF0000

    def answer(number: int, *arguments: int, arch: int = AUDIT[machine]) -> int:
        padded = [*arguments, *[0] * (6 - len(arguments))]
        return run_bpf(program, struct.pack("<IIQ6Q", number, arch, 0, *padded))

    for name, numbers in REFUSED.items():
        if numbers[column] is not None:
            assert answer(numbers[column]) == refused, name
    read, openat, clone = ((0, 63), (257, 56), (56, 220))
    tgkill, prlimit = (234, 131), (302, 261)
    assert answer(read[column]) == allowed
    assert answer(435) == answer(437) == unknown
    assert answer(openat[column], 0, 0, os.O_RDONLY | os.O_CLOEXEC) == allowed
    for flag in (os.O_WRONLY, os.O_RDWR, os.O_RDONLY | os.O_CREAT, os.O_RDONLY | os.O_TRUNC):
        assert answer(openat[column], 0, 0, flag) == refused
    assert answer(clone[column], 0x10000) == allowed
    assert answer(clone[column], 17) == refused
    assert answer(tgkill[column], 77) == allowed
    assert answer(tgkill[column], 78) == refused
    assert answer(prlimit[column], 0, 9, 0) == allowed
    assert answer(prlimit[column], 0, 9, 1) == answer(prlimit[column], 0, 9, 1 << 40) == refused
    assert answer(read[column], arch=0x40000003) == 0x80000000
    if machine == "x86_64":
        assert answer(0x40000000 | 41) == 0x80000000


def test_an_unknown_machine_has_no_filter():
    assert filter_program("riscv64", 1) == b""


def run_bpf(program: bytes, data: bytes) -> int:
    """What classic BPF gives for the data of a system call; instructions as in the manual of seccomp(2)."""
    steps = list(struct.iter_unpack("HBBI", program))
    place = accumulator = 0
    while True:
        code, yes, no, value = steps[place]
        place += 1
        if code == 0x20:
            (accumulator,) = struct.unpack_from("<I", data, value)
        elif code == 0x06:
            return value
        else:
            holds = {0x15: accumulator == value, 0x35: accumulator >= value, 0x45: bool(accumulator & value)}[code]
            place += yes if holds else no
