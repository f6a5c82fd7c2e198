"""Section 5 and figure 5 of Wenger et al. (2020): labels asked for and final error, with and without calibration.

    python -m benchmarks.active_learning [--data kitti_data.zip] [--classifiers forest mondrian]
        [--shuffles 10] [--pool-rows 5000] [--test-rows 2000] [--keep folder]

With ``--data``, the archive ``kitti_data.zip`` of the authors' public repository (JonathanWenger/pycalib): its training
file is the pool, its test file the test rows; of either, random rows where a number is given. Without, scikit-learn's
digits, of which 1297 rows are the pool. ``--keep`` names a folder to write each run to as it ends; a later call with
the same pool goes on from there.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
import pandas as pd

from benchmarks.kitti import N_CLASSES, read
from benchmarks.measure import machine, markdown
from calib.active_learning import Plan, compare_arms, rounds_table, simulate, verdicts
from calib.active_learning.classifiers import CLASSIFIERS
from calib.active_learning.simulation import Pool

KITTI: dict[str, Any] = {"pretraining": 500, "batch": 250}
DIGITS: dict[str, Any] = {"pretraining": 100, "batch": 50}
"""The paper's sizes, and ones that leave a pool of digits as many batches."""

CLAIM = "about 10 % fewer labels at comparable accuracy (Mondrian forests on KITTI, figure 5)"

VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {
    "plain": ("plain", {}),
    "set_points": ("set_points", {}),
    "latent": ("latent", {}),
    "set points, temperature": ("set_points", {"calibrator": "temperature"}),
}
"""Arm and changed settings of each line, by its name; the first is what the others are compared with."""


def kitti(path: Path, n_pool: int | None, n_test: int | None) -> Pool:
    """Seeded random rows of the training file as pool, and of the test file to judge by; all where None."""
    features, labels, test, test_labels = read(path)
    generator = np.random.default_rng(0)
    test_rows = generator.permutation(len(test))[:n_test]
    rows = generator.permutation(len(labels))[:n_pool]
    return Pool(features[rows], labels[rows], test[test_rows], test_labels[test_rows], N_CLASSES)


def digits() -> Pool:
    """Scikit-learn's digits, 1297 rows as pool and 500 as test rows."""
    from sklearn.datasets import load_digits

    features, labels = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(labels))
    pool, test = order[:1297], order[1297:]
    return Pool(features[pool], labels[pool], features[test], labels[test], 10)


def run(
    pool: Pool,
    settings: Mapping[str, Any],
    variants: Sequence[str],
    n_shuffles: int,
    kept: Path | None,
) -> pd.DataFrame:
    """All rounds of the variants, in the columns of ``rounds_table``; what ``kept`` holds is not run again."""
    found = (
        [pd.read_csv(kept, keep_default_na=False, na_values=["nan"])]
        if kept and kept.exists()
        else []
    )
    known = {key for table in found for key in zip(table["arm"], table["shuffle"], strict=True)}
    for seed in range(n_shuffles):
        for name in variants:
            if (name, seed) in known:
                continue
            arm, changes = VARIANTS[name]
            started = time.process_time()
            rounds = simulate(Plan(**{**settings, **changes}), arm, pool, random_state=seed)
            table = rounds_table({(name, seed): rounds}).assign(
                cpu_seconds=time.process_time() - started
            )
            found.append(table)
            if kept:
                table.to_csv(kept, mode="a", header=not kept.exists(), index=False, na_rep="nan")
            last = rounds[-1]
            print(
                f"{name}, {seed}: {last.n_labels} labels, error {last.error:.4f}",
                file=sys.stderr,
                flush=True,
            )
    return pd.concat(found, ignore_index=True)


def summary_table(table: pd.DataFrame) -> str:
    """Each quantity with its interval, and its difference to the first arm."""
    summary = compare_arms(table).set_index(["arm", "quantity"])
    spent = (
        table.groupby(["arm", "shuffle"])[["n_calibration", "cpu_seconds"]]
        .max()
        .groupby("arm")
        .mean()
    )
    rows = []
    for arm in table["arm"].unique():
        labels, error, equal = (
            summary.loc[arm, key] for key in ("n_labels", "error", "error_at_equal_labels")
        )
        rows.append(
            [
                arm,
                _interval(labels, "{:,.0f}"),
                f"{spent.loc[arm, 'n_calibration']:,.0f}",
                "" if arm == "plain" else f"{labels['share']:+.1%} ({_range(labels, '{:+,.0f}')})",
                _interval(error, "{:.4f}"),
                "" if arm == "plain" else _range(error, "{:+.4f}"),
                "" if arm == "plain" else _range(equal, "{:+.4f}"),
                *(
                    f"{summary.loc[(arm, key), 'value']:.3f}"
                    for key in ("ece", "over", "under", "nll")
                ),
                f"{spent.loc[arm, 'cpu_seconds']:.0f}",
            ]
        )
    head = [
        "arm",
        "labels",
        "of them calibration",
        "labels against plain",
        "final error",
        "against plain",
    ]
    return markdown([*head, "at equal labels", "ECE", "o", "u", "NLL", "CPU s a run"], rows)


def _interval(row: Any, form: str) -> str:
    half = (row["high"] - row["low"]) / 2
    return f"{form.format(row['value'])} ± {form.format(half)}"


def _range(row: Any, form: str) -> str:
    return f"{form.format(row['difference_low'])} to {form.format(row['difference_high'])}"


def _at_least_one(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least 1")
    return int(text)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run, and print Markdown."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, help="kitti_data.zip; digits without")
    parser.add_argument("--classifiers", nargs="+", default=["forest"], choices=list(CLASSIFIERS))
    parser.add_argument(
        "--variants", nargs="+", default=["plain", "set_points"], choices=list(VARIANTS)
    )
    parser.add_argument("--shuffles", type=_at_least_one, default=10)
    parser.add_argument("--pool-rows", type=_at_least_one, help="of KITTI; all without")
    parser.add_argument("--test-rows", type=_at_least_one, help="of KITTI; all without")
    parser.add_argument(
        "--keep", type=Path, help="folder for the rounds of each classifier, one for each pool"
    )
    options = parser.parse_args(arguments)
    try:
        pool = (
            kitti(options.data, options.pool_rows, options.test_rows) if options.data else digits()
        )
    except (OSError, BadZipFile, KeyError) as error:
        parser.error(f"--data {options.data} is not the archive kitti_data.zip: {error}")
    name, settings = ("KITTI", KITTI) if options.data else ("digits", DIGITS)
    print(f"{machine()}\n\nThe paper: {CLAIM}.")
    for chosen in options.classifiers:
        kept = options.keep / f"{name}-{len(pool)}-{chosen}.csv" if options.keep else None
        table = run(
            pool, {**settings, "classifier": chosen}, options.variants, options.shuffles, kept
        )
        table = table[table["arm"].isin(options.variants) & (table["shuffle"] < options.shuffles)]
        n_shuffles = table["shuffle"].nunique()
        print(
            f"\n### {name}, {CLASSIFIERS[chosen].title.lower()}: {len(pool):,} rows, {n_shuffles} shuffles\n"
        )
        print(summary_table(table))
        print("\n" + "\n".join(f"- {sentence}" for sentence in verdicts(compare_arms(table))))


if __name__ == "__main__":
    main()
