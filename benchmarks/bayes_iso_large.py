"""Bayes-Iso where the paper stops: CPU time, spread over seeds and loss up to 100,000 rows and more.

    python -m benchmarks.bayes_iso_large [--sizes 3000 10000 ...] [--data 4] [--seeds 4] [--quick]

On the paper's synthetic task: excess log-loss over the true map, averaged over ``--data`` calibration sets; the
standard deviation over ``--seeds`` runs on the same set; CPU seconds of a fit; and the effective sample size. Isotonic
calibration with Platt's correction stands beside. The authors' code takes 158 CPU s for 3000 rows.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

import calib
from benchmarks.bayes_iso_table1 import calibration_set, excess
from benchmarks.measure import machine, markdown

MOST_ROWS = {"plain": 10_000, "knots": 10**9}
"""How many rows each scheme is tried with."""


def row(n: int, name: str, params: dict[str, str | bool], n_data: int, n_seeds: int) -> list[str]:
    """One line of the table."""
    found, seconds, effective = [], [], []
    for data in range(n_data):
        logits, labels = calibration_set(n, data)
        for seed in range(n_seeds):
            started = time.process_time()
            fitted = calib.calibrator(name, **params, random_state=seed).fit(logits, labels)
            seconds.append(time.process_time() - started)
            found.append(excess(fitted)[1])
            effective.append(getattr(fitted.maps_[0], "effective_maps", np.nan))
    runs = np.reshape(found, (n_data, n_seeds))
    several = n_seeds > 1
    return [
        f"{n:,}",
        " ".join([name, *map(str, params.values())]) if several else f"{name}, Platt's correction",
        f"{runs.mean():.5f}",
        f"{np.sqrt(runs.var(axis=1, ddof=1).mean()):.5f}" if several else "0",
        f"{np.mean(seconds):.2f}",
        f"{np.mean(effective):,.0f}" if np.mean(effective) > 0 else "–",
    ]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[3000, 10_000, 100_000, 1_000_000])
    parser.add_argument("--data", type=int, default=4, help="calibration sets of each size")
    parser.add_argument("--seeds", type=int, default=4, help="runs on each")
    parser.add_argument("--quick", action="store_true", help="the first size alone, on one set")
    arguments = parser.parse_args()
    print(machine(), end="\n\n")
    calib.calibrator("bayes_iso").fit(*calibration_set(200, 0))  # what is imported at the first fit is not counted
    rows = []
    for n in arguments.sizes[: 1 if arguments.quick else None]:
        n_data = 1 if arguments.quick else arguments.data
        rows.append(row(n, "isotonic", {"platt_correction": True}, n_data, 1))
        for scheme, most in MOST_ROWS.items():
            if n <= most:
                rows.append(row(n, "bayes_iso", {"scheme": scheme}, n_data, arguments.seeds))
    header = ["rows", "method", "excess log-loss", "deviation over seeds", "CPU s", "effective maps"]
    print(markdown(header, rows, left=2))


if __name__ == "__main__":
    main()
