"""10,000 damaged uploads of every format through the call that the app makes.

    nice python -m benchmarks.mutants [--n 10000] [--minutes 60] [--seed 0] [--first 0] [--keep FOLDER]
    python -m benchmarks.mutants --write NUMBER

One process calls ``inspect(..., isolate=True)`` for each, some at the same time. ``--write`` writes one of them as a
file.
"""

from __future__ import annotations

import argparse
import os
from collections import Counter
from pathlib import Path

from benchmarks.measure import machine
from benchmarks.mutants.readers import Answer, open_all, table
from benchmarks.mutants.uploads import upload

SECONDS = 10.0
"""What one upload may take by the clock."""


def main() -> None:
    """Open them all and print the table, then what went wrong."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--n", type=int, default=10_000)
    parser.add_argument(
        "--minutes", type=float, default=60.0, help="by the clock; fewer than n where they are over"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, help="number of the first one")
    parser.add_argument(
        "--at-once", type=int, default=2, help="how many are opened at the same time"
    )
    parser.add_argument("--keep", type=Path, help="folder for what went wrong")
    parser.add_argument(
        "--write", type=int, metavar="NUMBER", help="write this one and do nothing else"
    )
    given = parser.parse_args()
    if given.write is not None:
        made = upload(given.write, given.seed)
        Path(f"{given.write}-{made.name}").write_bytes(made.content)
        return
    numbers = range(given.first, given.first + given.n)
    if given.keep:
        given.keep.mkdir(parents=True, exist_ok=True)
    answers = open_all(numbers, given.seed, given.minutes, given.at_once)
    print(machine("streamlit", "h5py", "pyarrow"), f"Load {os.getloadavg()[2]:.1f}.", end="\n\n")
    print(table(answers), end="\n\n")
    print(f"- {len(answers):,} opened by one process, which lives, {given.at_once} at a time.")
    report(
        [a for a in answers if a.problem or a.seconds > SECONDS],
        given.seed,
        given.keep,
    )


def report(wrong: list[Answer], seed: int, folder: Path | None) -> None:
    """Say what went wrong and how often, with the number of one of each; keep the files."""
    kinds = Counter(answer.problem or "costly" for answer in wrong)
    for answer in wrong if folder else ():
        made = upload(answer.number, seed)
        (folder / f"{made.number}-{made.name}").write_bytes(made.content)
    for kind, times in kinds.most_common():
        one = next(answer for answer in wrong if (answer.problem or "costly") == kind)
        cost = f"{one.seconds:.1f} s"
        print(f"- {times} x such as {one.number} ({one.form}, {one.outcome}, {cost}): {kind}")
    print(f"- {len(wrong):,} not as they should be.")


if __name__ == "__main__":
    main()
