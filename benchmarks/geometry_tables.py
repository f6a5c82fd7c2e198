"""Tables 1 to 3, figures 6 and 7 and section 4.3.2 of Chouraqui et al. (2023) in small, with nothing to download.

    python -m benchmarks.geometry_tables [--shuffles 100] [--quick]

Scikit-learn's digits with three of its classifiers, trained on 60 % of the rows, calibrated on 20 % and scored on 20 %,
over ``--shuffles`` shuffles, the first ten also alone, as many as the reference has; the rest is of ten shuffles.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd
from scipy.stats import t as students_t

from benchmarks import chouraqui2023 as printed
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
    separation,
)
from benchmarks.geometry_speed import INPUTS, ROWS, SIDE, Sets, simulated_sets
from benchmarks.geometry_splits import MODELS, Split, Task, digits, split, tabular
from benchmarks.measure import machine, markdown
from calib.calibrators.geometric import fast_separation
from calib.calibrators.geometric.reductions import REDUCTIONS, reduce_training
from calib.numerics import Floats

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


def values(found: pd.DataFrame, method: str, key: str) -> Floats:
    """A method's scores, (n_shuffles,), in the order of the shuffles."""
    return found[found["method"] == method].sort_values("seed")[key].to_numpy()


def mean_and_error(found: pd.DataFrame, method: str, key: str) -> str:
    """Mean and its standard error."""
    scores = values(found, method, key)
    return f"{scores.mean():.2f} ± {scores.std(ddof=1) / np.sqrt(len(scores)):.2f}"


def differences(found: pd.DataFrame, method: str, of: str, key: str) -> tuple[float, float, float]:
    """How far a method's score is above that of another on the same shuffles: mean, and 95 % of Student's interval.

    It tells what other shuffles of the same rows would give, which share their rows, and nothing about other data.
    """
    above = values(found, method, key) - values(found, of, key)
    half = students_t.ppf(0.975, len(above) - 1) * above.std(ddof=1) / np.sqrt(len(above))
    return float(above.mean()), float(above.mean() - half), float(above.mean() + half)


def interval(found: pd.DataFrame, method: str, of: str, key: str) -> str:
    """The same as a cell of a table, with a dash for a method beside itself."""
    if method == of:
        return "–"
    mean, low, high = differences(found, method, of, key)
    return f"{mean:+.2f} [{low:+.2f}, {high:+.2f}]"


def verdict(found: pd.DataFrame) -> str:
    """Which baselines have a higher ECE than the separations, and whether that is more than chance; one classifier."""
    said = []
    for of in (FAST.title, EXACT.title):
        against = {method.title: differences(found, method.title, of, "ece") for method in BASELINES}
        beyond = [title for title, (_, low, _) in against.items() if low > 0]
        within = [f"{title} ({mean:+.2f})" for title, (mean, low, _) in against.items() if low <= 0 < mean]
        above = [f"{title} ({mean:+.2f})" for title, (mean, _, _) in against.items() if mean <= 0]
        parts = [f"{of}: ECE below {len(beyond)} of {len(against)} baselines beyond the interval"]
        parts += [f"below {', '.join(within)} within it"] if within else []
        parts += [f"not below {', '.join(above)}"] if above else []
        said.append(f"{'; '.join(parts)}.")
    return " ".join(said)


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


FACTORS = (2, 4)
AS_RANDOM_ROWS = "kmeans"
"""Not timed: its centroids take long to find, and then as long as a random choice of as many rows."""


def by_reduction(splits: Sequence[Split]) -> pd.DataFrame:
    """Scores of fast separation by reduction and t; without a reduction t is 1."""
    records = []
    for one in splits:
        for name in REDUCTIONS:
            for factor in FACTORS if name != "none" else (1,):
                title = f"{name}, {factor}"
                said = all_confidences(one, [separation(title, reduction=name, factor=factor)])[title]
                records.append({"reduction": name, "t": factor, **scores(said, one.right[1])})
    return pd.DataFrame(records)


def per_second(sets: Sets, name: str, factor: int) -> tuple[float, float]:
    """Fast separations of images per CPU second, and CPU seconds to reduce the training set.

    Reducing the inputs and putting the training set in order are part of the separations' time.
    """
    started = time.process_time()
    images = sets.train_features.reshape(-1, SIDE, SIDE)
    reduced = reduce_training(name, factor, images, sets.train_labels)
    made = time.process_time()
    inputs = reduced.transform(sets.features.reshape(-1, SIDE, SIDE))
    fast_separation(reduced.train_features, reduced.train_labels, inputs, sets.predicted)
    return len(sets.features) / (time.process_time() - made), made - started


def reductions_table(splits: Sequence[Split], rows: int, inputs: int) -> str:
    """ECE and Brier score on the shuffles, and the speed at a large simulated training set.

    Parameters
    ----------
    splits : shuffles of the digits with one classifier.
    rows, inputs : size of the simulated data.
    """
    found = by_reduction(splits).groupby(["reduction", "t"])[["ece", "brier"]].agg(["mean", "sem"])
    sets = simulated_sets("digits", rows, inputs)
    lines = []
    for name in REDUCTIONS:
        for i, factor in enumerate(FACTORS if name != "none" else (1,)):
            here = found.loc[(name, factor)]
            there = f"{printed.DIGITS_REDUCTIONS[name][i]:.2f}" if name in printed.DIGITS_REDUCTIONS else "–"
            speed, making = per_second(sets, name, factor) if name != AS_RANDOM_ROWS else (None, None)
            lines.append(
                [
                    name,
                    factor,
                    f"{here['ece', 'mean']:.2f} ± {here['ece', 'sem']:.2f}",
                    there,
                    f"{here['brier', 'mean']:.2f} ± {here['brier', 'sem']:.2f}",
                    "–" if speed is None else f"{speed:,.0f}",
                    "–" if making is None else f"{making:.1f}",
                ]
            )
    at = f"at {rows:,} x {SIDE * SIDE}"
    header = [f"{FAST.title}, reduced by", "t", "ECE %", "reference", "Brier %", f"per CPU s {at}", "CPU s to reduce"]
    return markdown(header, lines)


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
    print(reductions_table(shuffles, ROWS // factor, INPUTS // factor), end="\n\n", flush=True)
    tables = pd.concat([score(task, models, few, [FAST, EXACT, *BASELINES]) for task in tabular()])
    for key, title in {"ece": "ECE %", "brier": "Brier %"}.items():
        print(tabular_table(tables, key, title), end="\n\n")
    print(f"{time.process_time() - started:.0f} s of CPU time.")


if __name__ == "__main__":
    main()
