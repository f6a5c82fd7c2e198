"""What a reader cannot do, tried from inside."""

from __future__ import annotations

import io
import os
import platform
import re
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from calib.isolation.client import isolated
from calib.isolation.sandbox import (
    ALLOWED,
    AUDIT,
    CLOSED_FILES,
    FILE_COMMANDS,
    FILTER,
    by_argument,
    filter_program,
    missing_protections,
)
from tests.conftest import ROOT
from tests.isolation import misbehaving

linux = pytest.mark.skipif(sys.platform != "linux", reason="only Linux has these protections")

ALLOW, REFUSE, UNKNOWN, KILL = 0x7FFF0000, 0x00050001, 0x00050026, 0x80000000
OF_THE_KERNEL = (335, 336)
"""uretprobe and uprobe of x86-64: the kernel's own code makes these calls, and anybody else is ended by SIGILL."""
HEADERS = {
    "x86_64": Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h"),
    "aarch64": Path("/usr/include/asm-generic/unistd.h"),
}
"""Where Linux distributions keep the numbers of system calls."""


@linux
def test_a_reader_reaches_nothing_outside(tmp_path):
    outside = tmp_path / "outside.txt"
    outside.write_text("of somebody else")
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(1000)"]) as victim:
        worked = isolated(
            misbehaving.break_out, ("some.h5", io.BytesIO(b"abc")), str(outside), victim.pid
        )
        victim.kill()
    assert worked == ()
    assert outside.read_text() == "of somebody else"
    assert [path.name for path in tmp_path.iterdir()] == ["outside.txt"]


@pytest.mark.skipif(
    platform.machine() not in AUDIT or sys.platform != "linux", reason="no filter here"
)
def test_the_kernel_answers_no_call_but_those_of_the_list():
    """Each is called with arguments that no call takes; another error than ENOSYS tells that the kernel looked."""
    column = list(AUDIT).index(platform.machine())
    rules = by_argument(0)
    numbers = (*ALLOWED.values(), *(rule[0] for rule in rules.values()))
    allowed = tuple(number for pair in numbers if (number := pair[column]) is not None)
    (fcntl, *_) = rules["fcntl"]
    skipped = (*allowed, *OF_THE_KERNEL)
    calls, commands = isolated(
        misbehaving.answered, ("some.h5", io.BytesIO(b"abc")), skipped, fcntl[column]
    )
    assert calls == ()
    assert commands == FILE_COMMANDS


@linux
@pytest.mark.skipif(
    os.name != "posix" or os.geteuid() != 0, reason="already run by an ordinary user above"
)
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
def test_the_filter_lets_the_list_pass_and_nothing_else(machine):
    """The program run by a reference interpreter of the few instructions that it consists of."""
    program = filter_program(machine, pid=77)
    column = list(AUDIT).index(machine)
    rules = {name: rule[0][column] for name, rule in by_argument(77).items()}

    def answer(call: str | int, *arguments: int, arch: int = AUDIT[machine]) -> int:
        number = rules[call] if isinstance(call, str) else call
        padded = [*arguments, *[0] * (6 - len(arguments))]
        return run_bpf(program, struct.pack("<IIQ6Q", number, arch, 0, *padded))

    allowed = {numbers[column] for numbers in ALLOWED.values()}
    for number in set(range(1000)) - set(rules.values()):
        assert answer(number) == (ALLOW if number in allowed else UNKNOWN)
    for call, place in (("open", 1), ("openat", 2)):
        if rules[call] is not None:
            flags = {
                flag: answer(call, *[0] * place, flag)
                for flag in (os.O_RDONLY | os.O_CLOEXEC, os.O_PATH)
            }
            assert set(flags.values()) == {ALLOW}
            for flag in (os.O_WRONLY, os.O_RDWR, os.O_CREAT, os.O_TRUNC, os.O_TMPFILE | os.O_RDWR):
                assert answer(call, *[0] * place, flag) == REFUSE
    assert (answer("clone", 0x10000), answer("clone", 17)) == (ALLOW, REFUSE)
    assert (answer("tgkill", 77), answer("tgkill", 78)) == (ALLOW, REFUSE)
    for command in (1, 2, 3, 1030):
        assert answer("fcntl", 5, command) == ALLOW
    for command in (0, 4, 6, 8, 10, 15, 1024, 1026, 1031, 1033):
        assert answer("fcntl", 5, command) == REFUSE
    assert answer(ALLOWED["read"][column], arch=0x40000003) == KILL
    assert answer(0x40000000) == UNKNOWN, "read of the x32 interface"


@pytest.mark.parametrize("machine", AUDIT)
def test_the_numbers_are_those_of_the_kernel(machine):
    if not HEADERS[machine].exists():
        pytest.skip("no headers of the kernel here")
    column = list(AUDIT).index(machine)
    lines = re.findall(r"#define __NR(?:3264)?_(\w+) (\d+)", HEADERS[machine].read_text())
    kernel = {"newfstatat" if name == "fstatat" else name: int(number) for name, number in lines}
    for name, numbers in (
        *ALLOWED.items(),
        *((name, rule[0]) for name, rule in by_argument(0).items()),
    ):
        assert kernel.get(name) == numbers[column], name


@linux
def test_what_is_missing_is_known(monkeypatch):
    monkeypatch.setattr(platform, "machine", lambda: "riscv64")
    assert FILTER in missing_protections()
    monkeypatch.setattr(sys, "platform", "darwin")
    assert missing_protections() == ["a limit of memory", FILTER, CLOSED_FILES]


def run_bpf(program: bytes, data: bytes) -> int:
    """What classic BPF gives for the data of a system call; instructions as in the manual of seccomp(2)."""
    steps = list(struct.iter_unpack("HBBI", program))
    place = accumulator = 0
    while True:
        code, yes, no, value = steps[place]
        place += 1
        if code == 0x20:
            (accumulator,) = struct.unpack_from("<I", data, value)
        elif code == 0x54:
            accumulator &= value
        elif code == 0x06:
            return value
        else:
            assert code == 0x15
            place += yes if accumulator == value else no
