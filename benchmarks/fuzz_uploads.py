"""A coverage-guided fuzzer over what reads bytes from others in Python: uploads, exported calibrators, links.

    nice python -m benchmarks.fuzz_uploads [--minutes 10] [--folder fuzzed] [--seed 0]
    python -m benchmarks.fuzz_uploads --again fuzzed/findings/FILE

Atheris (libFuzzer) follows the branches of calib's own code and keeps inputs that reach new ones; half of the changes
are those of :mod:`benchmarks.mutations`, which keep checksums right. What breaks a rule of :mod:`benchmarks.doors` is
written to ``findings`` beside the corpus, with the command that opens it again; a process that dies leaves its input
there too.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import random
import resource
import subprocess
import sys
import time
from pathlib import Path

INSTRUMENTED = [
    "calib.data",
    "calib.canonical",
    "calib.export.runtime",
    "calib.export.predict",
    "calib.records",
    "calib.diagnostics.shift_data",
    "calib.store",
]

IN_C = (b"PAR1", b"\x89HDF", b"ARROW1", b"\xff\xff\xff\xff")
"""Beginnings of formats whose readers are libraries in C and C++: their branches are not seen here, and their faults
end the process. :mod:`benchmarks.mutants` has them read in processes of their own."""

LARGEST = 2**17
"""Bytes that an input may grow to; what large files do is seen to in the tests of bombs."""

WORDS = ("logits", "labels", "label", "p_0", "p_a", "features", "train_features", "class_names", "nan", "inf", "1e999",
         "PAR1", "PK\\x03\\x04", "PK\\x01\\x02", "\\x93NUMPY", "\\x89HDF", "\\x1f\\x8b\\x08", "'<f8'", "'|O'", "'<U4'",
         "(4,)", "state", "params", "method", "$array", "n_classes_")  # fmt: skip


def main() -> None:
    """Fuzz for so long, in processes that are replaced when they die, and say what was found."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=10.0, help="of processor time")
    parser.add_argument("--folder", type=Path, default=Path("fuzzed"))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--again", type=Path, help="open one finding, without instrumentation")
    parser.add_argument("--child", type=int, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.again is not None:
        again(given.again)
    elif importlib.util.find_spec("atheris") is None:
        print(
            "Atheris is not installed (pip install -r benchmarks/requirements.txt; Python 3.11 to 3.13): nothing done."
        )
    elif given.child is not None:
        fuzz(given.folder, given.child, given.seed)
    else:
        supervise(given.folder, given.minutes, given.seed)


def again(file: Path) -> None:
    """Open one input as the fuzzer did; a traceback is the answer."""
    from benchmarks import doors

    door, name, content, choices = doors.unpacked(file.read_bytes())
    print(f"{len(content):,} bytes as {name[:80]!r} through {door!r}; {choices.given()}", flush=True)
    doors.open_one(file.read_bytes(), doors.peak_bytes())
    print("No rule was broken.")


def supervise(folder: Path, minutes: float, seed: int) -> None:
    """Run fuzzing processes one after the other until they have used so many processor minutes."""
    from benchmarks import doors

    corpus, findings = folder / "corpus", folder / "findings"
    for path in (corpus, findings):
        path.mkdir(parents=True, exist_ok=True)
    for name, content in doors.seeds().items():
        if content.startswith(IN_C):
            continue
        (corpus / name.replace(" ", "_")).write_bytes(content)
    (folder / "words").write_text("".join(f'"{word}"\n' for word in WORDS))
    deaths = 0
    while (left := 60 * minutes - used()) > 1:
        arguments = ("--folder", str(folder), "--seed", str(seed + deaths), "--child", str(round(left)))
        ended = subprocess.run([sys.executable, "-m", "benchmarks.fuzz_uploads", *arguments], check=False)
        if ended.returncode:
            deaths += 1
            print(f"A process ended with {ended.returncode}; its input is the newest file of {findings}.", flush=True)
    kept = sum(1 for _ in corpus.iterdir())
    written = sorted(path.name for path in findings.iterdir())
    print(f"{used() / 60:.1f} processor minutes, {deaths} deaths, {kept:,} inputs kept, {len(written)} findings.")
    for name in written:
        print(f"python -m benchmarks.fuzz_uploads --again {findings / name}")


def used() -> float:
    """Processor seconds of the processes that have ended."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return children.ru_utime + children.ru_stime


def fuzz(folder: Path, seconds: int, seed: int) -> None:
    """Fuzz in this process until it has used its seconds."""
    import atheris

    with atheris.instrument_imports(include=INSTRUMENTED):
        from benchmarks import doors
    from benchmarks.mutations import ANY, OWN

    for content in doors.seeds().values():
        doors.open_one(content, 2**40)  # loads whatever is loaded when it is first needed
    idle, seen, opened = doors.peak_bytes(), set(), 0

    def target(data: bytes) -> None:
        nonlocal opened
        opened += 1
        if time.process_time() > seconds:
            print(f"{opened:,} inputs opened.", flush=True)
            os._exit(0)  # libFuzzer counts the time of the clock only
        if data.startswith(IN_C):
            return
        try:
            doors.open_one(data, idle)
        except doors.Broken as broken:
            if broken.place not in seen:
                seen.add(broken.place)
                write(folder / "findings", data, broken)

    def change(data: bytes, most: int, number: int) -> bytes:
        """Half of the time anything, else damage that its format is known to believe; the tail stays."""
        content, tail = data[: -doors.TAIL], data[-doors.TAIL :]
        generator = random.Random(number)
        if generator.random() < 0.5 or len(data) <= doors.TAIL:
            return atheris.Mutate(data, most)
        import numpy as np

        form = next((own for start, own in STARTS.items() if content.startswith(start)), ".csv")
        kinds = [*ANY.values(), *3 * [*OWN.get(form, {}).values()]]
        try:
            return generator.choice(kinds)(content, np.random.default_rng(number))[: most - doors.TAIL] + tail
        except Exception:  # whatever is too damaged already to be taken apart
            return atheris.Mutate(data, most)

    options = {
        "max_len": LARGEST,
        "timeout": 60,
        "report_slow_units": 60,  # by the clock, like the line above: doors counts processor seconds
        "rss_limit_mb": 0,
        "seed": seed + 1,
        "dict": folder / "words",
        "artifact_prefix": f"{folder / 'findings'}/",
        "print_final_stats": 1,
    }
    arguments = [f"-{name}={value}" for name, value in options.items()]
    atheris.Setup([sys.argv[0], *arguments, str(folder / "corpus")], target, custom_mutator=change)
    atheris.Fuzz()


STARTS = {b"PK": ".npz", b"\x93NUMPY": ".npy", b"\x1f\x8b": ".gz", b"{": ".json", b"[": ".json"}


def write(folder: Path, data: bytes, broken: Exception) -> None:
    """Keep the input that broke a rule and say how to open it again."""
    import hashlib

    file = folder / f"broken-{hashlib.sha1(data).hexdigest()[:12]}"
    file.write_bytes(data)
    print(f"{broken}\n    python -m benchmarks.fuzz_uploads --again {file}", flush=True)


if __name__ == "__main__":
    main()
