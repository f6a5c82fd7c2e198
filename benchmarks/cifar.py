"""The experiment of table S5 of Wenger et al. (2020), on other networks' outputs for CIFAR.

    python -m benchmarks.cifar --data FILE.npz [FILE.npz ...] [--folds 10]

The paper's networks cannot be had. Each file is an npz with ``predictions`` (probabilities) and ``ground_truth``, of
which random 1000 rows calibrate and 9000 others are scored, ten times over.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from benchmarks.folds import cell, cell_of_paper, columns, score_folds
from benchmarks.measure import machine, markdown
from benchmarks.outputs import of_network
from benchmarks.wenger2020 import CIFAR_100_ECE


def rows_of(path: Path, n_folds: int, n_calibration: int = 1000, n_test: int = 9000) -> list[list[str]]:
    """Three rows for one network: calibration error, NLL and accuracy of every method."""
    scores = score_folds(
        *of_network(path), columns("logits"), n_folds=n_folds, n_calibration=n_calibration, n_test=n_test
    ).values()
    return [
        [path.stem, "ECE", *(cell(score.ece) for score in scores)],
        ["", "NLL", *(cell(score.nll) for score in scores)],
        ["", "accuracy", *(cell(score.accuracy) for score in scores)],
    ]


def main() -> None:
    """Calibrate every file and print the table, the paper's row last."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", nargs="+", type=Path, required=True)
    parser.add_argument("--folds", type=int, default=10)
    arguments = parser.parse_args()
    rows = []
    for path in arguments.data:
        print(f"{path.stem} ...", file=sys.stderr, flush=True)
        rows += rows_of(path, arguments.folds)
    titles = [method.title for method in columns("logits")]
    ((model, printed),) = CIFAR_100_ECE.items()
    rows.append([f"{model}, CIFAR-100 (paper)", "ECE", *(cell_of_paper(printed[title]) for title in titles)])
    print(machine(), end="\n\n")
    print(markdown(["network", "", *titles], rows, left=2))
    print("\nECE with 100 bins in the paper's convention. The paper's network is another one: accuracy .8183.")


if __name__ == "__main__":
    main()
