"""The arena: every method that needs outputs alone, and other packages, where the truth is known and on real outputs.

    python -m benchmarks.arena [--peers PYTHON] [--data FILE.npz ...] [--figure FILE] [--full FOLDER]

Where the truth is known, the score is the excess NLL: the mean over inputs of KL(truth || prediction) in nats, 0 for
who knows the truth. Of two classes it is integrated over the inputs' density, of more it is the mean over fixed inputs,
with its standard error. On real outputs the score is the NLL of rows outside the fit less the uncalibrated model's. All
methods of a replicate get the same rows. ``--peers`` is the interpreter of a virtual environment with the packages that
:mod:`benchmarks.arena_peers` names. ``--full`` keeps each finished cell as JSON files in a folder: run it again to go
on, and remove the folder to begin anew. ``--figure`` needs matplotlib.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import expit
from scipy.stats import norm

import calib
from benchmarks.arena_tables import tables
from benchmarks.measure import machine
from benchmarks.outputs import of_network
from benchmarks.truths import BINARY, CENTRE, CLASSES, SPREAD, binary, multiclass
from calib.base import NEEDS_CLASSES
from calib.data.samples import SAMPLES, load_sample
from calib.numerics import Floats, Ints
from calib.registry import METHODS

SHAPES = {2: tuple(BINARY), 10: (*CLASSES, "underconfident"), 100: (*CLASSES, "underconfident")}
"""Shapes of miscalibration by number of classes."""

REAL_ROWS = (300, 1000)
FEWEST_TEST_ROWS = 500
MOST_CLASSES = 100
"""Of real outputs; other packages need hours for more."""

FULL_REPLICATES = 30
SMALLEST = 1e-15
"""Smaller probabilities count as this, as in every NLL here."""

FIXED_SEED = 1_000_000
AT_ONCE = 5
"""Replicates that go to the other packages at a time, which bounds their files."""


@dataclass(frozen=True)
class Size:
    """One size of the arena: classes, rows to calibrate with, replicates and inputs to judge at."""

    classes: int
    rows: int
    replicates: int
    inputs: int


QUICK = (
    *(Size(2, rows, 3, 5_000) for rows in (200, 1000, 5000)),
    *(Size(10, rows, 2, 4_000) for rows in (200, 1000)),
    Size(100, 1000, 2, 2_000),
)
FULL = tuple(
    Size(classes, rows, FULL_REPLICATES, 20_000)
    for classes in (2, 10, 100)
    for rows in (200, 1000, 5000)
)
REAL_REPLICATES = 2

Record = dict[str, Any]
Score = Callable[[Floats], tuple[float, float]]
"""From probabilities of the inputs to the score and its standard error over the inputs, in nats."""


@dataclass(frozen=True, eq=False)
class Trial:
    """One replicate of a cell: rows to calibrate with, inputs to predict, and how predictions are judged."""

    logits: Floats
    labels: Ints
    inputs: Floats
    score: Score


@dataclass(frozen=True)
class Cell:
    """What a part of the arena measures, by its name, and how its replicates are made."""

    source: str
    shape: str
    classes: int
    rows: int
    replicates: int
    make: Callable[[int], Trial]

    @property
    def name(self) -> str:
        """As a file name."""
        return f"{self.source}-{self.classes}-{self.rows}-{self.shape}".replace(" ", "_").replace(
            "/", "_"
        )


def judged_points(shape: str, n_classes: int, n: int) -> tuple[Floats, Floats]:
    """Inputs at which all methods are judged, (n, K), and the true probabilities there.

    Of two classes these are the midpoints of n intervals of equal probability, so that means over them are integrals
    by the midpoint rule.
    """
    if n_classes == 2:
        log_odds = norm.ppf((np.arange(n) + 0.5) / n, CENTRE, SPREAD)
        truth = expit(BINARY[shape](log_odds))
        return np.stack([np.zeros(n), log_odds], axis=1), np.stack([1 - truth, truth], axis=1)
    drawn: list[tuple[Floats, Floats]] = []
    while sum(len(truth) for _, truth in drawn) < n:
        drawn.append(multiclass(shape, n_classes, 0, FIXED_SEED + len(drawn))[2:])
    logits, truth = (np.concatenate(arrays)[:n] for arrays in zip(*drawn, strict=True))
    return logits, truth


def excess(probs: Floats, truth: Floats) -> tuple[float, float]:
    """Mean KL divergence of predictions from the truth in nats, and its standard error over the inputs."""
    logs = np.log(np.maximum(truth, np.finfo(float).tiny)) - np.log(np.maximum(probs, SMALLEST))
    each = (truth * logs).sum(axis=1)
    return float(each.mean()), float(each.std(ddof=1) / np.sqrt(len(each)))


def known(sizes: tuple[Size, ...]) -> Iterator[Cell]:
    """Cells whose truth is known."""
    for size in sizes:
        for number, shape in enumerate(SHAPES[size.classes]):
            inputs, truth = judged_points(shape, size.classes, size.inputs)

            def trial(
                replicate: int,
                size: Size = size,
                shape: str = shape,
                number: int = number,
                inputs: Floats = inputs,
                truth: Floats = truth,
            ) -> Trial:
                seed = size.rows * 10_000 + number * 1_000 + replicate  # another for each cell
                if size.classes == 2:
                    logits, labels = binary(shape, size.rows, seed)[:2]
                else:
                    logits, labels = multiclass(shape, size.classes, size.rows, seed)[:2]
                return Trial(logits, labels, inputs, lambda probs: excess(probs, truth))

            yield Cell("known", shape, size.classes, size.rows, size.replicates, trial)


Data = dict[str, tuple[Floats, Ints]]
"""Logits and labels by name."""


def read(path: Path) -> tuple[Floats, Ints]:
    """Log-probabilities and labels of a file; no probability counts as less than the least positive float32."""
    logits, labels = of_network(path)
    return np.maximum(logits, np.log(np.finfo(np.float32).tiny)), labels


def samples() -> Data:
    """The project's samples with logits or probabilities of all classes."""
    loaded = {sample.name: load_sample(sample.name) for sample in SAMPLES.values()}
    return {
        name: (data.logits, data.labels)
        for name, data in loaded.items()
        if data.kind not in ("pairs", "topk")
    }


def row_nll(probs: Floats, labels: Ints) -> Floats:
    """NLL of each row, (n,)."""
    return -np.log(np.maximum(probs[np.arange(len(labels)), labels], SMALLEST))


def real(data: Data, replicates: int) -> Iterator[Cell]:
    """Cells of real outputs: random rows to calibrate with, all others to judge."""
    for name, (logits, labels) in data.items():
        for rows in REAL_ROWS:
            if len(labels) < rows + FEWEST_TEST_ROWS or logits.shape[1] > MOST_CLASSES:
                continue

            def trial(
                replicate: int, rows: int = rows, logits: Floats = logits, labels: Ints = labels
            ) -> Trial:
                order = np.random.default_rng(replicate).permutation(len(labels))
                fit, test = order[:rows], order[rows:]
                raw = (
                    calib.calibrator("identity")
                    .fit(logits[fit], labels[fit])
                    .predict_proba(logits[test])
                )

                def score(probs: Floats) -> tuple[float, float]:
                    more = row_nll(probs, labels[test]) - row_nll(raw, labels[test])
                    return float(more.mean()), float(more.std(ddof=1) / np.sqrt(len(more)))

                return Trial(logits[fit], labels[fit], logits[test], score)

            yield Cell("real", name, logits.shape[1], rows, replicates, trial)


def methods(n_classes: int) -> list[str]:
    """Registry names of the methods that need outputs alone; of two classes those that have no relative among the maps
    of one score."""
    return [
        name
        for name, method in METHODS.items()
        if not method.needs and (n_classes > 2 or NEEDS_CLASSES not in method.cls.traits)
    ]


def own(trial: Trial, name: str) -> tuple[Floats, float]:
    """Probabilities of a registered method at the inputs, and the CPU seconds of fit and prediction."""
    params = {"device": "cpu"} if METHODS[name].uses_device else {}
    start = time.process_time()
    probs = (
        calib.calibrator(name, **params).fit(trial.logits, trial.labels).predict_proba(trial.inputs)
    )
    return probs, time.process_time() - start


def judged(trial: Trial, probs: Floats | None, seconds: float, failure: str) -> Record:
    """A record of one fit: score, its error, CPU seconds, whether it says 0 of anything, and why it failed if so."""
    if not failure and probs is not None:
        if probs.shape != trial.inputs.shape:
            failure = f"probabilities of shape {probs.shape}"
        elif not np.isfinite(probs).all() or (probs < 0).any() or not probs.any(axis=1).all():
            failure = "probabilities that are not finite, negative, or all 0 in a row"
    if failure or probs is None:
        return {
            "score": None,
            "error": None,
            "seconds": seconds,
            "zeros": False,
            "failure": failure or "no result",
        }
    probs = probs / probs.sum(axis=1, keepdims=True)  # not every method promises the sum 1
    score, error = trial.score(probs)
    return {
        "score": score,
        "error": error,
        "seconds": seconds,
        "zeros": bool((probs < SMALLEST).any()),
        "failure": "",
    }


def of_own(cell: Cell) -> Iterator[Record]:
    """Records of the registered methods."""
    for replicate in range(cell.replicates):
        trial = cell.make(replicate)
        for name in methods(cell.classes):
            probs, seconds, failure = None, 0.0, ""
            try:
                probs, seconds = own(trial, name)
            except Exception as error:  # whatever goes wrong counts as a failure
                failure = f"{type(error).__name__}: {error}"
            yield {
                "method": METHODS[name].title,
                "replicate": replicate,
                **judged(trial, probs, seconds, failure),
            }


class Peers:
    """The other packages, in a process of another Python.

    Attributes
    ----------
    versions : one line.
    """

    def __init__(self, python: Path):
        worker = [str(python), str(Path(__file__).with_name("arena_peers.py"))]
        self._process = subprocess.Popen(
            worker, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.versions = self._answer()

    def __call__(self, cell: Cell) -> Iterator[Record]:
        """Records of a cell."""
        for first in range(0, cell.replicates, AT_ONCE):
            trials = {
                number: cell.make(number)
                for number in range(first, min(first + AT_ONCE, cell.replicates))
            }
            with tempfile.TemporaryDirectory() as folder:
                given, found = Path(folder) / "given.npz", Path(folder) / "found.npz"
                arrays = {"replicates": np.array(list(trials))}
                for number, trial in trials.items():
                    arrays |= {f"logits{number}": trial.logits, f"labels{number}": trial.labels}
                    arrays[f"inputs{number}"] = trial.inputs
                np.savez(given, **arrays)
                assert self._process.stdin is not None
                self._process.stdin.write(f"{given}\t{found}\n")
                self._process.stdin.flush()
                self._answer()
                with np.load(found) as stored:
                    for line in json.loads(str(stored["records"])):
                        probs = stored.get(f"{line['method']}{line['replicate']}")
                        trial = trials[line["replicate"]]
                        yield {**line, **judged(trial, probs, line["seconds"], line["failure"])}

    def close(self) -> None:
        """End the process."""
        self._process.communicate()

    def _answer(self) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(
                f"The other packages' process ended with code {self._process.wait()}."
            )
        return line.strip()


def run(cells: Iterator[Cell], peers: Peers | None, folder: Path | None) -> list[Record]:
    """The records of all cells; those of finished cells are read from the folder, where there is one."""
    found: list[Record] = []
    for cell in cells:
        where = {
            "source": cell.source,
            "shape": cell.shape,
            "classes": cell.classes,
            "rows": cell.rows,
        }
        makers: dict[str, Callable[[], Iterator[Record]]] = {"own": partial(of_own, cell)}
        if peers is not None:
            makers["peers"] = partial(peers, cell)
        for kind, make in makers.items():
            path = None if folder is None else folder / f"{cell.name}-{kind}.json"
            if path is not None and path.exists():
                found += json.loads(path.read_text(encoding="utf-8"))
                continue
            print(f"{cell.name}, {kind} ...", file=sys.stderr, flush=True)
            with warnings.catch_warnings():
                warnings.simplefilter(
                    "ignore"
                )  # what methods say of few rows is no part of the tables
                records = [{**where, **record} for record in make()]
            if path is not None:
                partial_path = path.with_suffix(".partial")
                partial_path.write_text(json.dumps(records), encoding="utf-8")
                partial_path.rename(path)  # so that a file that is there is whole
            found += records
    return found


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--peers", type=Path, help="Python of an environment with the other packages"
    )
    parser.add_argument(
        "--data", nargs="+", type=Path, default=[], help="npz with predictions and ground_truth"
    )
    parser.add_argument(
        "--full", type=Path, metavar="FOLDER", help="30 replicates, in parts kept in a folder"
    )
    parser.add_argument(
        "--figure",
        type=Path,
        metavar="FILE",
        help="draw the mean ranks with the critical difference",
    )
    arguments = parser.parse_args()
    start = time.process_time()
    if arguments.full is not None:
        arguments.full.mkdir(parents=True, exist_ok=True)
    sizes, replicates = (
        (QUICK, REAL_REPLICATES) if arguments.full is None else (FULL, FULL_REPLICATES)
    )
    data = {**samples(), **{path.stem: read(path) for path in arguments.data}}

    def cells() -> Iterator[Cell]:
        yield from known(sizes)
        yield from real(data, replicates)

    peers = None if arguments.peers is None else Peers(arguments.peers)
    found = run(cells(), peers, arguments.full)
    print(machine(), end="\n\n")
    if peers is not None:
        print(peers.versions, end="\n\n")
        peers.close()
    print(tables(found, arguments.figure))
    print(f"\n{time.process_time() - start:,.0f} CPU seconds without the other packages.")


if __name__ == "__main__":
    main()
