"""What a process that reads somebody's file may do: limits of the kernel, set for good before the file is looked at.

On Linux a reader cannot open a socket, start a process or a program, look into or signal another process, write a file,
or read one outside Python's installation and this package. Elsewhere the limits of memory, time and output hold alone.
Sources: prctl(2), seccomp(2), landlock(7) and setrlimit(2) of the Linux manual.
"""

from __future__ import annotations

import ctypes
import os
import platform
import resource
import struct
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

# Numbers of the system calls that are refused, on x86-64 and on 64-bit ARM; None where there is no such call.
NETWORK = {
    **{"socket": (41, 198), "socketpair": (53, 199), "connect": (42, 203), "bind": (49, 200), "listen": (50, 201)},
    **{"accept": (43, 202), "accept4": (288, 242)},
}
PROCESSES = {
    **{"fork": (57, None), "vfork": (58, None), "execve": (59, 221), "execveat": (322, 281)},
    **{"ptrace": (101, 117), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271)},
    **{"kill": (62, 129), "tkill": (200, 130), "rt_sigqueueinfo": (129, 138), "rt_tgsigqueueinfo": (297, 240)},
    **{"pidfd_open": (434, 434), "pidfd_send_signal": (424, 424), "pidfd_getfd": (438, 438)},
    **{"process_madvise": (440, 440), "setrlimit": (160, 164)},
}
KERNEL = {
    **{"mount": (165, 40), "umount2": (166, 39), "pivot_root": (155, 41), "chroot": (161, 51), "unshare": (272, 97)},
    **{"setns": (308, 268), "bpf": (321, 280), "perf_event_open": (298, 241), "keyctl": (250, 219)},
    **{"add_key": (248, 217), "request_key": (249, 218), "userfaultfd": (323, 282), "io_uring_setup": (425, 425)},
    **{"init_module": (175, 105), "finit_module": (313, 273), "kexec_load": (246, 104), "personality": (135, 92)},
    **{"name_to_handle_at": (303, 264), "open_by_handle_at": (304, 265)},
    **{"shmget": (29, 194), "msgget": (68, 186), "semget": (64, 190)},
}
WRITING = {
    **{"creat": (85, None), "truncate": (76, 45), "unlink": (87, None), "unlinkat": (263, 35), "rename": (82, None)},
    **{"renameat": (264, 38), "renameat2": (316, 276), "mkdir": (83, None), "mkdirat": (258, 34), "rmdir": (84, None)},
    **{"link": (86, None), "linkat": (265, 37), "symlink": (88, None), "symlinkat": (266, 36)},
    **{"chmod": (90, None), "fchmodat": (268, 53), "fchmodat2": (452, 452), "chown": (92, None), "lchown": (94, None)},
    **{"fchownat": (260, 54), "mknod": (133, None), "mknodat": (259, 33), "utimensat": (280, 88)},
}
REFUSED = {**NETWORK, **PROCESSES, **KERNEL, **WRITING}

# Calls that are refused for some of their arguments only, or as if the kernel did not have them.
Numbers = tuple[int, int | None]
CLONE, TGKILL, PRLIMIT = (56, 220), (234, 131), (302, 261)
OPENING: dict[int, Numbers] = {1: (2, None), 2: (257, 56)}
"""open and openat, by the argument that holds their flags."""
UNKNOWN = ((435, 435), (437, 437))
"""clone3 and openat2 take their flags from memory, which a filter cannot see; the C library then takes older ones."""

AUDIT = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
FOR_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
CLONE_THREAD = 0x10000
ALLOW, KILL, ERRNO = 0x7FFF0000, 0x80000000, 0x00050000
EPERM, ENOSYS = 1, 38

PR_SET_PDEATHSIG, PR_SET_SECCOMP, PR_SET_NO_NEW_PRIVS = 1, 22, 38
LANDLOCK_CREATE, LANDLOCK_ADD, LANDLOCK_RESTRICT = 444, 445, 446
SIGKILL = 9


@dataclass(frozen=True)
class Limits:
    """What one reader may take.

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
    site = {entry for entry in sys.path if entry and Path(entry).name in ("site-packages", "dist-packages")}
    wanted = {sys.prefix, sys.base_prefix, sys.exec_prefix, str(package), *site}
    system = ("/usr/lib", "/usr/local/lib", "/usr/share/zoneinfo", "/lib", "/lib64", "/etc/ld.so.cache", "/dev/urandom")
    return sorted({os.path.realpath(folder) for folder in (*wanted, *system) if os.path.exists(folder)})


def restrict(limits: Limits, folders: Sequence[str]) -> list[str]:
    """Give up, for good, everything that reading a file does not need; called with one thread.

    Parameters
    ----------
    folders : what may still be opened for reading.

    Returns
    -------
    The protections that this system does not have.
    """
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CPU, (limits.cpu_seconds, limits.cpu_seconds + 1))
    resource.setrlimit(resource.RLIMIT_FSIZE, (limits.output, limits.output))
    resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
    if sys.platform != "linux":
        return ["a limit of memory", "a filter of system calls", "a closed file system"]
    space = _address_space() + limits.memory
    resource.setrlimit(resource.RLIMIT_AS, (space, space))
    library = ctypes.CDLL(None, use_errno=True)
    _call(library.prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0)
    _call(library.prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    missing = []
    try:
        _landlock(library, folders)
    except OSError:
        missing.append("a closed file system")
    if os.geteuid() == 0:
        _without_capabilities(library)
    try:
        _filter(library, filter_program(platform.machine(), os.getpid()))
    except OSError:
        missing.append("a filter of system calls")
    return missing


def _address_space() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    return pages * resource.getpagesize()


def _call(function: object, *arguments: object) -> int:
    result = int(function(*arguments))  # type: ignore[operator]
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def _without_capabilities(library: ctypes.CDLL) -> None:
    """Root without its privileges, which in a container may be many; version 3 of capset(2)."""
    _call(library.capset, struct.pack("Ii", 0x20080522, 0), bytes(24))


def _landlock(library: ctypes.CDLL, folders: Iterable[str]) -> None:
    """Reading below some folders and nothing else of the file system; where known, no port and no signal either."""
    version = _call(library.syscall, LANDLOCK_CREATE, None, ctypes.c_size_t(0), 1)
    access = (1 << (13 if version == 1 else 14 if version == 2 else 15)) - 1
    ruleset = struct.pack("QQQ", access, 3 if version >= 4 else 0, 3 if version >= 6 else 0)
    size = 8 if version < 4 else 16 if version < 6 else 24
    rules = _call(library.syscall, LANDLOCK_CREATE, ruleset, ctypes.c_size_t(size), 0)
    try:
        for folder in folders:
            path = os.open(folder, os.O_PATH | os.O_CLOEXEC)
            try:
                allowed = (1 << 2) | ((1 << 3) if os.path.isdir(folder) else 0)  # read files, and list folders
                _call(library.syscall, LANDLOCK_ADD, rules, 1, struct.pack("=Qi", allowed, path), 0)
            finally:
                os.close(path)
        _call(library.syscall, LANDLOCK_RESTRICT, rules, 0)
    finally:
        os.close(rules)


def _filter(library: ctypes.CDLL, steps: bytes) -> None:
    """Have the kernel look at each system call; OSError where there is no program for this machine."""
    if not steps:
        raise OSError(ENOSYS, os.strerror(ENOSYS))
    program = ctypes.create_string_buffer(steps)
    header = struct.pack("HxxxxxxP", len(steps) // 8, ctypes.addressof(program))
    _call(library.prctl, PR_SET_SECCOMP, 2, ctypes.c_char_p(header), 0, 0)


def filter_program(machine: str, pid: int) -> bytes:
    """The classic BPF program of the seccomp filter; empty for a machine whose system calls are not known.

    Parameters
    ----------
    machine : as :func:`platform.machine` gives it.
    pid : of the process, which may signal itself: that is how the C library aborts.
    """
    if machine not in AUDIT:
        return b""
    column = list(AUDIT).index(machine)
    load, equal, at_least, any_bit, give = 0x20, 0x15, 0x35, 0x45, 0x06

    def step(code: int, value: int, yes: int = 0, no: int = 0) -> bytes:
        return struct.pack("HBBI", code, yes, no, value)

    def when(call: Numbers, *then: bytes) -> list[bytes]:
        """Steps for one call, whose last step must give an answer; all others step over them."""
        return [] if (own := call[column]) is None else [step(equal, own, 0, len(then)), *then]

    def argument(number: int, upper: bool = False) -> bytes:
        return step(load, 16 + 8 * number + 4 * upper)

    refuse, allow = step(give, ERRNO | EPERM), step(give, ALLOW)
    program = [step(load, 4), step(equal, AUDIT[machine], 1), step(give, KILL), step(load, 0)]
    if machine == "x86_64":
        program += [step(at_least, 0x40000000, 0, 1), step(give, KILL)]  # the calls of the x32 interface
    for number in UNKNOWN:
        program += when(number, step(give, ERRNO | ENOSYS))
    program += when(CLONE, argument(0), step(any_bit, CLONE_THREAD, 0, 1), allow, refuse)
    program += when(TGKILL, argument(0), step(equal, pid, 0, 1), allow, refuse)
    for flags, opening in OPENING.items():
        program += when(opening, argument(flags), step(any_bit, FOR_WRITING, 0, 1), refuse, allow)
    limit = 2  # the new limit: None only asks
    program += when(
        PRLIMIT, argument(limit), step(equal, 0, 0, 2), argument(limit, True), step(equal, 0, 1), refuse, allow
    )
    for refused in REFUSED.values():
        program += when(refused, refuse)
    return b"".join([*program, allow])
