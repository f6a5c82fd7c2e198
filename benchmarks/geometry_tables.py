"""Tables 1 to 3, figures 6 and 7 and section 4.3.2 of Chouraqui et al. (2023) in small, with nothing to download.

    python -m benchmarks.geometry_tables [--shuffles 100] [--quick]

Scikit-learn's digits with three of its classifiers, trained on 60 % of the rows, calibrated on 20 % and scored on 20 %,
over ``--shuffles`` shuffles, the first ten also alone, as many as the reference has; the rest is of ten shuffles.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterable

import pandas as pd

from benchmarks import chouraqui2023 as printed
from benchmarks import geometry_reductions as reductions
from benchmarks.geometry_methods import (
    BASELINES,
    CONSTANT,
    EXACT,
    FAST,
    NORMS,
    SEPARATIONS,
    UNCALIBRATED,
    Method,
    all_confidences,
    scores,
)
from benchmarks.geometry_paired import interval, mean_and_error, verdict
from benchmarks.geometry_speed import INPUTS, ROWS
from benchmarks.geometry_splits import MODELS, Task, digits, split, tabular
from benchmarks.measure import machine, markdown

FEW = 10
"""Shuffles of the reference, and of what is not compared in pairs."""


def score(task: Task, models: Iterable[str], n_shuffles: int, methods: list[Method]) -> pd.DataFrame:
    """One record for each classifier, shuffle and method."""
    records = []
    for model in models:
        started = time.process_time()
        for seed in range(n_shuffles):
            one = split(task, model, seed)
            right = one.right[1]
            where = {"data": task.title, "model": model, "seed": seed, "accuracy": 100 * right.mean()}
            where["learnable"] = not one.right[0].all()
            for method, said in all_confidences(one, methods).items():
                records.append({**where, "method": method, **scores(said, right)})
        print(f"{task.title}, {model}: {time.process_time() - started:.0f} s", file=sys.stderr, flush=True)
    return pd.DataFrame(records)


def main_table(found: pd.DataFrame, model: str) -> str:
    """Table 2 for one classifier: errors of all methods, and how far they are above those of the separations."""
    rows = found[found["model"] == model]
    reference = dict(zip(printed.DIGITS_METHODS, printed.DIGITS[model], strict=True))
    few = rows[rows["seed"] < FEW]
    lines = []
    for method in rows["method"].unique():
        row = [method, mean_and_error(few, method, "ece")]
        row += [f"{reference[method]:.2f}" if method in reference else "–"]
        row += [mean_and_error(rows, method, "ece"), mean_and_error(rows, method, "chance").split()[0]]
        row += [interval(rows, method, of.title, "ece") for of in (FAST, EXACT)]
        row += [mean_and_error(rows, method, "brier"), interval(rows, method, FAST.title, "brier")]
        lines.append(row)
    n = rows["seed"].nunique()
    header = [
        f"{model}, {rows['accuracy'].mean():.1f} % right",
        f"ECE %, {few['seed'].nunique()} shuffles",
        "reference",
        f"ECE %, {n} shuffles",
        "by chance alone",
        "above fast",
        "above exact",
        "Brier %",
        "Brier above fast",
    ]
    return markdown(header, lines)


def norms(found: pd.DataFrame) -> str:
    """Table 1: fast separation by three distances."""
    lines = []
    for model, name in printed.PAPER_MODELS.items():
        rows = found[found["model"] == model]
        if len(rows):
            here = [mean_and_error(rows, title, "ece") for title in ("L1", FAST.title, "Linf")]
            lines.append([model, *here, f"MNIST, {name}", *(f"{value:.2f}" for value in printed.TABLE_1[name])])
    return markdown(["ECE %, digits", "L1", "L2", "Linf", "paper", "L1", "L2", "Linf"], lines)


def improvement(found: pd.DataFrame) -> str:
    """Table 3: by how much of a method's mean ECE the one of fast separation is lower."""
    mean = found.groupby(["model", "method"])["ece"].mean()
    present = [model for model in printed.PAPER_MODELS if model in mean.index]
    lines = []
    for i, method in enumerate(printed.TABLE_3_METHODS):
        row = [method]
        for model in present:
            there = printed.TABLE_3[printed.PAPER_MODELS[model]]
            row += [
                f"{100 * (1 - mean[model, FAST.title] / mean[model, method]):.0f}%",
                f"{there[i]:.0f}%" if i < len(there) else "–",
            ]
        lines.append(row)
    titles = [title for model in present for title in (model, f"paper, {printed.PAPER_MODELS[model]}")]
    return markdown(["ECE of fast lower by", *titles], lines)


def tabular_table(found: pd.DataFrame, key: str, title: str) -> str:
    """Section 4.3.2 in one score: the separations beside the model, the constant and the baselines."""
    shown = [UNCALIBRATED, CONSTANT, FAST.title, EXACT.title, "isotonic"]
    baselines = [method.title for method in BASELINES]
    lines = []
    for (data, model), rows in found.groupby(["data", "model"], sort=False):
        best = rows[rows["method"].isin(baselines)].groupby("method")[key].mean().idxmin()
        lines.append(
            [
                data,
                model,
                f"{rows['accuracy'].mean():.1f}",
                f"{(~rows['learnable']).mean():.0%}",
                *(mean_and_error(rows, method, key) for method in shown),
                interval(rows, "isotonic", FAST.title, key),
                f"{best} {mean_and_error(rows, best, key)}",
            ]
        )
    header = ["right %", "none wrong", *shown, "isotonic above fast", "best baseline"]
    return markdown([title, "classifier", *header], lines, left=2)


def main() -> None:
    """Train, calibrate, score and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--shuffles", type=int, default=100, help="of the digits")
    parser.add_argument("--quick", action="store_true", help="the forest and two shuffles, to see that everything runs")
    arguments = parser.parse_args()
    models, n, few, factor = list(MODELS), arguments.shuffles, FEW, 1
    if arguments.quick:
        models, n, few, factor = models[:1], 2, 2, 100
    started = time.process_time()
    found = score(digits(), models, n, [*SEPARATIONS, *NORMS, *BASELINES])
    print(machine(), end="\n\n")
    for model in models:
        print(main_table(found, model), end="\n\n")
        print(verdict(found[found["model"] == model]), end="\n\n")
    print(norms(found), end="\n\n")
    print(improvement(found), end="\n\n")
    shuffles = [split(digits(), models[0], seed) for seed in range(few)]
    print(reductions.table(shuffles, ROWS // factor, INPUTS // factor), end="\n\n", flush=True)
    tables = pd.concat([score(task, models, few, [FAST, EXACT, *BASELINES]) for task in tabular()])
    for key, title in {"ece": "ECE %", "brier": "Brier %"}.items():
        print(tabular_table(tables, key, title), end="\n\n")
    print(f"{time.process_time() - started:.0f} s of CPU time.")


if __name__ == "__main__":
    main()
