"""Limits of a process that reads somebody's file: the kernel's, set for good before the file is looked at.

On Linux a reader has the system calls of one short list: it can read what is open, open for reading what lies in
Python's installation or this package, write where its answer goes, take memory, start threads, and end. Elsewhere the
limits of time and output hold alone.
Sources: prctl(2), seccomp(2), landlock(7), setrlimit(2) and syscalls(2) of the Linux manual.
"""

from __future__ import annotations

import ctypes
import os
import platform
import struct
import sys
from dataclasses import dataclass
from pathlib import Path

AUDIT = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
"""Machines whose system calls are known, as the kernel calls them."""

Numbers = tuple[int, int | None]
"""Of a system call on the machines of :data:`AUDIT`; None where there is no such call."""

# What Python, NumPy, pandas, pyarrow, h5py and two C libraries need to read a file. All other calls are answered as by
# a kernel that has never heard of them: the C library then takes an older way, or gives up.
ALLOWED: dict[str, Numbers] = {
    # what is open
    "read": (0, 63), "readv": (19, 65), "pread64": (17, 67), "preadv": (295, 69), "lseek": (8, 62), "close": (3, 57),
    "write": (1, 64), "writev": (20, 66), "pwrite64": (18, 68), "pwritev": (296, 70), "dup": (32, 23),
    # what lies in folders that Landlock leaves open
    "stat": (4, None), "lstat": (6, None), "fstat": (5, 80), "newfstatat": (262, 79), "statx": (332, 291),
    "access": (21, None), "faccessat": (269, 48), "faccessat2": (439, 439), "getdents64": (217, 61), "getcwd": (79, 17),
    "readlink": (89, None), "readlinkat": (267, 78),
    # memory
    "brk": (12, 214), "mmap": (9, 222), "munmap": (11, 215), "mremap": (25, 216), "mprotect": (10, 226),
    "madvise": (28, 233),
    # threads, and what happens in the own process
    "futex": (202, 98), "set_robust_list": (273, 99), "rseq": (334, 293), "gettid": (186, 178),
    "sched_yield": (24, 124), "exit": (60, 93), "exit_group": (231, 94), "rt_sigaction": (13, 134),
    "rt_sigprocmask": (14, 135), "rt_sigreturn": (15, 139), "sigaltstack": (131, 132), "restart_syscall": (219, 128),
    # time, chance, and what machine this is
    "clock_gettime": (228, 113), "clock_getres": (229, 114), "gettimeofday": (96, 169), "nanosleep": (35, 101),
    "clock_nanosleep": (230, 115), "getrandom": (318, 278), "getpid": (39, 172), "getuid": (102, 174),
    "geteuid": (107, 175), "getgid": (104, 176), "getegid": (108, 177), "uname": (63, 160), "sysinfo": (99, 179),
    "sched_getaffinity": (204, 123), "getcpu": (309, 168),
}  # fmt: skip

FOR_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
CLONE_THREAD = 0x10000
FILE_COMMANDS = (1, 2, 3, 1030)
"""F_GETFD, F_SETFD, F_GETFL and F_DUPFD_CLOEXEC of fcntl(2)."""
EVERY_BIT = 0xFFFFFFFF


def by_argument(pid: int) -> dict[str, tuple[Numbers, int, int, tuple[int, ...]]]:
    """Calls that are allowed where the bits of an argument under a mask have one of some values.

    Parameters
    ----------
    pid : of the process, which may signal itself: that is how the C library aborts.

    Returns
    -------
    The numbers, the argument's place, the mask and the values of each.
    """
    return {
        "open": ((2, None), 1, FOR_WRITING, (0,)),
        "openat": ((257, 56), 2, FOR_WRITING, (0,)),
        "clone": ((56, 220), 0, CLONE_THREAD, (CLONE_THREAD,)),
        "fcntl": ((72, 25), 1, EVERY_BIT, FILE_COMMANDS),
        "tgkill": ((234, 131), 0, EVERY_BIT, (pid,)),
    }


ALLOW = 0x7FFF0000
KILL = 0x80000000
ERRNO = 0x00050000
EPERM, ENOSYS = 1, 38

PR_SET_PDEATHSIG = 1
PR_GET_SECCOMP = 21
PR_SET_SECCOMP = 22
PR_SET_NO_NEW_PRIVS = 38
LANDLOCK_CREATE = 444
LANDLOCK_ADD = 445
LANDLOCK_RESTRICT = 446
SIGKILL = 9
FILTER = "a filter of system calls"
CLOSED_FILES = "a closed file system"


@dataclass(frozen=True)
class Limits:
    """Limits of one reader.

    Attributes
    ----------
    memory : bytes of address space beyond those of the process that only has its libraries loaded.
    cpu_seconds : of the processor.
    output : bytes that it may write.
    """

    memory: int
    cpu_seconds: int
    output: int


def readable_folders() -> list[str]:
    """Python's installation and what it needs of the system: all that a reader may open by itself."""
    package = Path(__file__).resolve().parents[1]
    packages = "site-packages", "dist-packages"
    site = [entry for entry in sys.path if Path(entry).name in packages]
    python = (sys.prefix, sys.base_prefix, sys.exec_prefix, str(package), *site)
    system = (
        "/usr/lib", "/usr/local/lib", "/usr/share/zoneinfo", "/lib", "/lib64", "/etc/ld.so.cache", "/dev/urandom",
    )  # fmt: skip
    there = [folder for folder in (*python, *system) if Path(folder).exists()]
    return sorted({os.path.realpath(folder) for folder in there})


def missing_protections() -> list[str]:
    """Protections that this system lacks, in words; empty where it has all of them."""
    if sys.platform != "linux":
        return ["a limit of memory", FILTER, CLOSED_FILES]
    library = ctypes.CDLL(None)
    filtered = platform.machine() in AUDIT and library.prctl(PR_GET_SECCOMP, 0, 0, 0, 0) >= 0
    closed = _landlock_version(library) > 0
    return [name for name, there in ((FILTER, filtered), (CLOSED_FILES, closed)) if not there]


def restrict(limits: Limits, server: int) -> None:
    """Give up, for good, everything that reading a file does not need; called with one thread.

    Parameters
    ----------
    server : the process that started this one, with which it ends.

    Raises
    ------
    OSError
        If the kernel refuses a protection that it has, or the server has ended.
    """
    import resource  # of POSIX

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CPU, (limits.cpu_seconds, limits.cpu_seconds + 1))
    resource.setrlimit(resource.RLIMIT_FSIZE, (limits.output, limits.output))
    resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
    if sys.platform != "linux":
        return
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    space = pages * os.sysconf("SC_PAGESIZE") + limits.memory
    resource.setrlimit(resource.RLIMIT_AS, (space, space))
    library = ctypes.CDLL(None, use_errno=True)
    _call(library.prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0)
    if os.getppid() != server:  # before it could ask to end with it
        raise OSError("The server of readers has ended.")
    _call(library.prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    missing = missing_protections()
    if CLOSED_FILES not in missing:
        _close_files(library)
    # Root without its privileges; version 3.
    _call(library.capset, struct.pack("Ii", 0x20080522, 0), bytes(24))
    if FILTER not in missing:
        steps = filter_program(platform.machine(), os.getpid())
        program = ctypes.create_string_buffer(steps)
        header = struct.pack("HxxxxxxP", len(steps) // 8, ctypes.addressof(program))
        _call(library.prctl, PR_SET_SECCOMP, 2, ctypes.c_char_p(header), 0, 0)


def _call(function: object, *arguments: object) -> int:
    result = int(function(*arguments))  # type: ignore[operator]
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def _landlock_version(library: ctypes.CDLL) -> int:
    """Version of the kernel's Landlock, from 1 on; less where it has none."""
    return int(library.syscall(LANDLOCK_CREATE, None, ctypes.c_size_t(0), 1))


def _close_files(library: ctypes.CDLL) -> None:
    """Leave the reading of :func:`readable_folders`, and where Landlock knows of them no port and no signal either."""
    version = _landlock_version(library)
    access = (1 << (13 if version == 1 else 14 if version == 2 else 15)) - 1
    ruleset = struct.pack("QQQ", access, 3 if version >= 4 else 0, 3 if version >= 6 else 0)
    size = 8 if version < 4 else 16 if version < 6 else 24
    rules = _call(library.syscall, LANDLOCK_CREATE, ruleset, ctypes.c_size_t(size), 0)
    for folder in readable_folders():
        path = os.open(folder, os.O_PATH | os.O_CLOEXEC)
        # Read files, and list folders.
        allowed = (1 << 2) | ((1 << 3) if Path(folder).is_dir() else 0)
        _call(library.syscall, LANDLOCK_ADD, rules, 1, struct.pack("=Qi", allowed, path), 0)
        os.close(path)
    _call(library.syscall, LANDLOCK_RESTRICT, rules, 0)
    os.close(rules)


def filter_program(machine: str, pid: int) -> bytes:
    """The classic BPF program of the seccomp filter.

    Parameters
    ----------
    machine : one of :data:`AUDIT`.
    pid : of the process.
    """
    column = list(AUDIT).index(machine)
    load = 0x20
    equal = 0x15
    under_mask = 0x54
    give = 0x06

    def step(code: int, value: int, yes: int = 0, no: int = 0) -> bytes:
        return struct.pack("HBBI", code, yes, no, value)

    def when(call: Numbers, *then: bytes) -> list[bytes]:
        """Steps for one call, whose last step must give an answer; all others step over them."""
        return (
            []
            if (arguments := call[column]) is None
            else [step(equal, arguments, 0, len(then)), *then]
        )

    allow = step(give, ALLOW)
    refuse = step(give, ERRNO | EPERM)
    program = [step(load, 4), step(equal, AUDIT[machine], 1), step(give, KILL), step(load, 0)]
    for call in ALLOWED.values():
        program += when(call, allow)
    for call, argument, mask, values in by_argument(pid).values():
        alternatives = [part for value in values for part in (step(equal, value, 0, 1), allow)]
        program += when(
            call, step(load, 16 + 8 * argument), step(under_mask, mask), *alternatives, refuse
        )
    return b"".join([*program, step(give, ERRNO | ENOSYS)])
