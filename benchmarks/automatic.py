"""Regret of `auto` against the best single method of each cell, and what it costs beside its members.

    python -m benchmarks.automatic [--data FILE.npz ...] [--seeds 3] [--rows 200 1000 3000]

Cells are a truth or a network, and a number of calibration rows. Of simulated truths the NLL is the expected one, given
the outputs; of networks (npz with ``predictions``, probabilities, and ``ground_truth``) that of rows not calibrated on.
A cell's best method is the one with the lowest mean NLL over the seeds, which nobody knows beforehand.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from scipy.special import expit

import calib
from benchmarks.measure import machine, markdown
from benchmarks.outputs import of_network
from calib.base import NEEDS_CLASSES
from calib.calibrators.auto import candidates
from calib.numerics import Floats, Ints, log_softmax, softmax

N_TEST = {2: 4000, 10: 3000, 100: 2000}
OTHERS = ("dirichlet", "quadratic")
"""Compared with, though no members."""

CENTRE, SPREAD = 0.5, 2.5
"""Mean and standard deviation of a binary model's log-odds."""

BINARY: dict[str, Callable[[Floats], Floats]] = {
    "calibrated": lambda x: x,
    "overconfident": lambda x: x / 2,
    "underconfident": lambda x: 1.6 * x,
    "shifted": lambda x: x - 1,
    "parabola": lambda x: 0.7 * x - 0.05 * x**2 - 0.3,
    "flat tails": lambda x: np.where(x > 2, 2 + 0.3 * (x - 2), np.where(x < -3, -3 + 0.5 * (x + 3), x)),
    "steps": lambda x: np.select([x < -1, x < 1, x < 3], [-2.5, -0.3, 0.9], 2.8),
    "one-sided": lambda x: np.where(x > 0, 0.4 * x, 1.3 * x),
}
"""The true log-odds at a model's."""

CLASSES = ("calibrated", "overconfident", "scale by class", "bias by class", "mixed classes", "leader", "curved")

Cell = tuple[Floats, Ints, Floats, Floats]
"""Calibration logits and labels, test logits, and true probabilities of the test rows (or their labels as such)."""


def binary(shape: str, n: int, seed: int) -> Cell:
    """Outputs of two classes, whose true log-odds are a function of the model's."""
    generator = np.random.default_rng(1000 + seed)
    log_odds = generator.normal(CENTRE, SPREAD, n + N_TEST[2])
    truth = expit(BINARY[shape](log_odds))
    labels = (generator.random(len(truth)) < truth).astype(int)
    logits = np.stack([np.zeros_like(log_odds), log_odds], axis=1)
    return logits[:n], labels[:n], logits[n:], np.stack([1 - truth, truth], axis=1)[n:]


def multiclass(shape: str, n_classes: int, n: int, seed: int) -> Cell:
    """Outputs of many classes from the true log-probabilities; how they differ is the same for all seeds."""
    fixed, generator = np.random.default_rng(7), np.random.default_rng(2000 + seed)
    rows = n + N_TEST[n_classes]
    truth = 1.5 * generator.normal(size=(rows, n_classes))
    leader = generator.integers(n_classes, size=rows)
    truth[np.arange(rows), leader] += generator.gamma(3.0, (3.5 if n_classes < 50 else 5.0) / 3, size=rows)
    truth = log_softmax(truth)
    labels = np.argmax(truth + generator.gumbel(size=truth.shape), axis=1)
    mixing = np.eye(n_classes) + 0.25 / np.sqrt(n_classes) * fixed.normal(size=(n_classes, n_classes))
    by_class = fixed.normal(size=n_classes)
    logits = {
        "calibrated": truth,
        "overconfident": 2 * truth,
        "scale by class": truth * np.exp(0.35 * by_class),
        "bias by class": 1.5 * truth + by_class,
        "mixed classes": 1.5 * truth @ mixing,
        "leader": np.where(truth > -1, 3 * truth, 1.2 * truth),
        "underconfident": truth / 1.6,
        "curved": truth + 0.06 * np.maximum(truth + 4, 0) ** 2,
    }[shape]
    return logits[:n], labels[:n], logits[n:], softmax(truth[n:])


def network(path: Path, n: int, seed: int) -> Cell:
    """Random rows of a network's outputs for calibration, and others to score."""
    logits, labels = of_network(path)
    order = np.random.default_rng(seed).permutation(len(labels))
    test = order[n : n + 5000]
    return logits[order[:n]], labels[order[:n]], logits[test], np.eye(logits.shape[1])[labels[test]]


def cells(paths: list[Path]) -> Iterator[tuple[str, Callable[[int, int], Cell]]]:
    """Every truth and network by its name, as a function of rows and seed."""
    for path in paths:
        yield path.stem, lambda n, seed, path=path: network(path, n, seed)
    for shape in BINARY:
        yield f"2 classes, {shape}", lambda n, seed, shape=shape: binary(shape, n, seed)
    for n_classes in (10, 100):
        for shape in CLASSES:
            yield (
                f"{n_classes} classes, {shape}",
                lambda n, seed, shape=shape, k=n_classes: multiclass(shape, k, n, seed),
            )


def nll(probs: Floats, truth: Floats) -> float:
    """Expected NLL under the true probabilities."""
    return -float((truth * np.log(np.maximum(probs, np.finfo(float).tiny))).sum(axis=1).mean())


def scored(name: str, cell: Cell) -> tuple[float, float, calib.Calibrator]:
    """NLL on the test rows, processor seconds of the fit, and the fitted calibrator."""
    logits, labels, test, truth = cell
    start = time.process_time()
    fitted = calib.calibrator(name).fit(logits, labels)
    seconds = time.process_time() - start
    return nll(fitted.predict_proba(test), truth), seconds, fitted


def mean_of_logs(fitted: calib.Calibrator, cell: Cell) -> float:
    """NLL of the members' log-probabilities, averaged with the same weights, then normalised."""
    total = np.zeros(cell[2].shape)
    for member, weight in zip(fitted.get_state()["members_"], fitted.get_state()["weights_"], strict=True):
        made = calib.calibrator(member["method"], **member["params"]).set_state(member["state"])
        total += weight * np.log(np.maximum(made.predict_proba(cell[2]), np.finfo(float).tiny))
    return nll(softmax(total), cell[3])


def row(name: str, make: Callable[[int, int], Cell], n: int, seeds: int) -> tuple[list[str], list[float]]:
    """One cell's line of the table, and its numbers: regrets and cost."""
    drawn = [make(n, seed) for seed in range(seeds)]
    n_classes = drawn[0][0].shape[1]
    members = candidates(n_classes)
    others = [other for other in OTHERS if n_classes > 2 or NEEDS_CLASSES not in calib.METHODS[other].cls.traits]
    single = {method: [scored(method, cell)[:2] for cell in drawn] for method in (*members, *others)}
    means = {method: float(np.mean([value for value, _ in found])) for method, found in single.items()}
    best = min(means, key=lambda method: means[method])
    automatic = [scored("auto", cell) for cell in drawn]
    logs = np.mean([mean_of_logs(found[2], cell) for found, cell in zip(automatic, drawn, strict=True)])
    regret = float(np.mean([found[0] for found in automatic])) - means[best]
    summed = sum(seconds for method in members for _, seconds in single[method])
    cost = sum(found[1] for found in automatic) / summed
    numbers = [regret, float(logs) - means[best], means["temperature"] - means[best], cost]
    texts = [f"{number:+.4f}" for number in numbers[:3]]
    return [name, f"{n:,}", calib.METHODS[best].title, f"{means[best]:.4f}", *texts, f"{cost:.1f}"], numbers


def main() -> None:
    """Print a line for each cell, and the means by number of rows."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", nargs="*", type=Path, default=[])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--rows", nargs="+", type=int, default=[200, 1000, 3000])
    parser.add_argument("--only", default="", help="cells with this in their name")
    arguments = parser.parse_args()
    lines = []
    for n in arguments.rows:
        found = []
        for name, make in cells(arguments.data):
            if arguments.only in name:
                print(f"{name}, {n} rows ...", file=sys.stderr, flush=True)
                line, numbers = row(name, make, n, arguments.seeds)
                lines.append(line)
                found.append(numbers)
        means = np.mean(found, axis=0)
        lines.append(["**mean**", f"{n:,}", "", "", *(f"{value:+.4f}" for value in means[:3]), f"{means[3]:.1f}"])
    print(machine(), end="\n\n")
    heads = ["cell", "rows", "best", "NLL", "auto", "mean of logs", "temperature", "cost"]
    print(markdown(heads, lines, left=1))


if __name__ == "__main__":
    main()
