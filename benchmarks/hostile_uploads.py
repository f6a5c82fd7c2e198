"""1,000 mutated uploads of every format: what the loaders answer, how long they take and how much memory.

    nice python -m benchmarks.hostile_uploads [--mutants 1000] [--seed 0] [--only FORMAT ...]

All are opened in one process after the other's death: a loader that takes its process down is found by that.
"""

from __future__ import annotations

import argparse
import multiprocessing
import traceback
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from functools import cache

import numpy as np

from benchmarks.measure import bytes_after_imports, cost_of, machine, markdown, megabytes
from benchmarks.mutations import Mutant, mutant
from benchmarks.originals import originals
from calib.data import Choices, DataError, Predictions, inspect, load, read_features, read_outputs

SECONDS, BYTES = 5.0, 2**30
"""Processor time that one upload may take, and memory it may hold above an idle process."""

PATIENCE = 60.0
"""Seconds by the clock after which a process is given up."""


@dataclass(frozen=True)
class Answer:
    """How one mutant was met, in processor seconds; ``problem`` is empty where it was read or refused in words."""

    number: int
    form: str
    damage: str
    outcome: str
    problem: str
    seconds: float
    peak_bytes: int


def main() -> None:
    """Open every mutant and print the table, then what went wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mutants", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", nargs="*", default=(), choices=list(originals()), metavar="FORMAT")
    given = parser.parse_args()
    answers = open_all(given.mutants, given.seed, tuple(given.only))
    print(machine("pyarrow", "h5py", "openpyxl"), end="\n\n")
    print(table(answers), end="\n\n")
    wrong = [a for a in answers if a.problem or a.seconds > SECONDS or a.peak_bytes > BYTES]
    for a in wrong:
        print(f"{a.number} ({a.form}, {a.damage}): {a.seconds:.1f} s, {megabytes(a.peak_bytes)}. {a.problem}")
    print(f"{len(answers):,} mutants, {len(wrong):,} not as they should be.")


def open_all(n: int, seed: int, only: tuple[str, ...] = ()) -> list[Answer]:
    """Each mutant in a process that lives as long as the loaders let it."""
    answers = []
    pool = fresh()
    for number in range(n):
        try:
            answers.append(pool.submit(open_one, number, seed, only).result(timeout=PATIENCE))
        except (BrokenProcessPool, TimeoutError) as error:
            made = mutant(number, seed, only)
            answers.append(Answer(number, made.form, made.damage, "dead", repr(error), PATIENCE, 0))
            for process in multiprocessing.active_children():
                process.kill()
            pool.shutdown(cancel_futures=True)
            pool = fresh()
    pool.shutdown()
    return answers


def fresh() -> ProcessPoolExecutor:
    """One process that has inherited nothing."""
    return ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn"))


def open_one(number: int, seed: int, only: tuple[str, ...] = ()) -> Answer:
    """Open one mutant through every door that takes it."""
    made = mutant(number, seed, only)
    (outcome, problem), cost = cost_of(lambda: met(made), idle_bytes())
    return Answer(number, made.form, made.damage, outcome, problem, cost.cpu_seconds, cost.peak_bytes)


@cache
def idle_bytes() -> int:
    """Resident bytes with all readers loaded and nothing read."""
    return bytes_after_imports("pandas", "pyarrow.parquet", "pyarrow.csv", "h5py", "openpyxl", "calib.data")


def met(made: Mutant) -> tuple[str, str]:
    """``read`` or ``refused``, and what the loaders should not have done."""
    choices = Choices(drop_bad_rows=True) if made.drop else None
    source, *others = made.files["source"], *(name for name in made.files if name != "source")
    aside = {role: made.files[role] for role in others}
    try:
        found = inspect(source, choices=choices, **aside)
        problem = wrong_words(found.findings) or (wrong_data(found.predictions) if found.predictions else "")
        if not found.predictions and not any(finding.level == "error" for finding in found.findings):
            problem = "neither data nor an error"
        for door in (lambda: load(source, choices=choices, **aside), lambda: read_outputs(source),
                     lambda: read_features(aside.get("features", source))):  # fmt: skip
            try:
                door()
            except DataError as error:
                problem = problem or ("" if str(error).strip() else "an error without words")
    except Exception:
        return "raised", traceback.format_exc(limit=-4)
    return "read" if found.predictions else "refused", problem


def wrong_words(findings: tuple) -> str:
    """What is wrong with the findings' sentences, if anything is."""
    for finding in findings:
        if not finding.message.strip() or (finding.level == "error" and not finding.action.strip()):
            return f"{finding.code} says nothing"
        if len(finding.message) > 2000 or any(ord(c) < 32 and c != "\n" for c in finding.message):
            return f"{finding.code}: {len(finding.message):,} characters, or control characters"
    return ""


def wrong_data(data: Predictions) -> str:
    """The promise of Predictions that is broken, if one is."""
    if not np.isfinite(data.logits).all() or data.logits.shape != (len(data), data.n_classes):
        return "logits that are not finite, or of another shape"
    if data.labels.min() < 0 or data.labels.max() >= data.n_classes or len(data.class_names) != data.n_classes:
        return "labels beyond the classes"
    for array in (data.features, data.train_features):
        if array is not None and not np.isfinite(array).all():
            return "features that are not finite"
    return ""


def table(answers: list[Answer]) -> str:
    """One line per format: how many were read and refused, and the most that one took."""
    rows = []
    for form in [*dict.fromkeys(a.form for a in answers), "all"]:
        here = [a for a in answers if form in (a.form, "all")]
        counts = [sum(a.outcome == outcome for a in here) for outcome in ("read", "refused", "raised", "dead")]
        broken = sum(bool(a.problem) and a.outcome in ("read", "refused") for a in here)
        seconds = [a.seconds for a in here]
        rows.append([form, len(here), *counts, broken, f"{np.median(seconds):.3f}", f"{max(seconds):.2f}",
                     f"{max(a.peak_bytes for a in here) / 1e6:,.0f}"])  # fmt: skip
    outcomes = ("read", "refused", "raised", "died", "other")
    return markdown(["damaged", "mutants", *outcomes, "median CPU s", "most CPU s", "most MB"], rows)


if __name__ == "__main__":
    main()
