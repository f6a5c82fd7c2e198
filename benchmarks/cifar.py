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


def main() -> None:
    """Calibrate every file and print the table, the paper's row last."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", nargs="+", type=Path, required=True)
    parser.add_argument("--folds", type=int, default=10)
    arguments = parser.parse_args()
    methods, rows = columns("logits"), []
    for path in arguments.data:
        print(f"{path.stem} ...", file=sys.stderr, flush=True)
        found = score_folds(
            *of_network(path), methods, n_folds=arguments.folds, n_calibration=1000, n_test=9000
        )
        rows.append([path.stem, *map(cell, found.values())])
    titles = [method.title for method in methods]
    ((model, printed),) = CIFAR_100_ECE.items()
    rows.append(
        [f"{model}, CIFAR-100 (paper)", *(cell_of_paper(printed[title]) for title in titles)]
    )
    print(machine(), end="\n\n")
    print(markdown(["network", *titles], rows))
    print(
        "\nECE with 100 bins in the paper's convention. The paper's network is another one: accuracy .8183."
    )


if __name__ == "__main__":
    main()
