"""I-Max beside the same steps taken over all pairs each time: CPU time and what the bins keep.

    python -m benchmarks.imax_speed [--quick] [--data FILE.npz]

The logits are simulated; ``--data`` names an npz with ``predictions`` (probabilities) and ``ground_truth``, of which
1000 and 5000 rows are taken too. A fit here goes on from several starts until the bins stay as they are; the plain one
takes 200 steps from equal mass, each with a pass over all pairs. All run on one thread; the best of three counts.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import numpy as np

from benchmarks.measure import cost_of, machine, markdown
from benchmarks.outputs import of_network, simulated
from calib.calibrators.imax import IMaxBinning
from calib.calibrators.imax.placement import centres_of, edges_between, equal_mass_edges, information_bound
from calib.calibrators.imax.sums import SigmoidSums
from calib.diagnostics.binning import binning_picture
from calib.numerics import Floats, Ints, one_vs_rest_log_odds, sigmoid

FITS = ((1000, 100), (5000, 100), (1000, 1000))
APPLIED = (50_000, 1000)
PICTURE = (5000, 1000)
PLAIN_STEPS = 200
REPEATS = 3


def plain_edges(log_odds: Floats, n_bins: int) -> Floats:
    """The iterations with a mean over every pair at every step."""
    edges = np.quantile(log_odds, np.arange(1, n_bins) / n_bins)
    for _ in range(PLAIN_STEPS):
        index = np.digitize(log_odds, edges)
        probs = sigmoid(log_odds)
        means = np.array([probs[index == m].mean() for m in range(n_bins) if (index == m).any()])
        edges = edges_between(np.unique(np.log(means) - np.log1p(-means)))
    return edges


def bound(log_odds: Floats, edges: Floats) -> float:
    """What bins keep of the label under the model, in nats."""
    sums = SigmoidSums.from_log_odds(log_odds)
    cuts = sums.positions(edges)
    return information_bound(*sums.between(cuts), centres_of(sums, cuts))


def best_seconds(work: Callable[[], object]) -> float:
    """CPU seconds of the fastest of three runs."""
    return min(cost_of(work)[1].cpu_seconds for _ in range(REPEATS))


def fit_row(title: str, logits: Floats, labels: Ints) -> list[str]:
    """One line of the table of fits."""
    log_odds = one_vs_rest_log_odds(logits).ravel()
    fitted, first = cost_of(lambda: IMaxBinning().fit(logits, labels))
    seconds = min(first.cpu_seconds, best_seconds(lambda: IMaxBinning().fit(logits, labels)))
    edges, plain = cost_of(lambda: plain_edges(log_odds, fitted.n_bins))
    return [
        title,
        f"{seconds:.3f}",
        f"{plain.cpu_seconds:.2f}",
        f"{plain.cpu_seconds / seconds:.0f}",
        f"{bound(log_odds, fitted.maps_[0].edges):.6f}",
        f"{bound(log_odds, edges):.6f}",
        f"{bound(log_odds, equal_mass_edges(SigmoidSums.from_log_odds(log_odds), fitted.n_bins)):.6f}",
    ]


def apply_row(rows: int, n_classes: int) -> list[str]:
    """One line of the table of predictions."""
    fitted = IMaxBinning().fit(*simulated(1000, n_classes))
    logits, _ = simulated(rows, n_classes, seed=1)
    one_pass = best_seconds(lambda: one_vs_rest_log_odds(logits))
    seconds = best_seconds(lambda: fitted.predict_proba(logits))
    return [f"{rows:,} x {n_classes:,}", f"{seconds:.2f}", f"{one_pass:.2f}", f"{seconds / one_pass:.1f}"]


def calibration_sets(path: str | None, factor: int) -> list[tuple[str, Floats, Ints]]:
    """Title, logits and labels of each set to fit."""
    sets = [(f"{n // factor:,} x {k:,}", *simulated(n // factor, k)) for n, k in FITS]
    for n in (1000, 5000) if path is not None else ():
        logits, labels = of_network(path, n)
        sets.append((f"{n:,} x {logits.shape[1]:,} of the file", logits, labels))
    return sets


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a tenth of the rows, to see that everything runs")
    parser.add_argument("--data")
    arguments = parser.parse_args()
    factor = 10 if arguments.quick else 1
    print(machine(), end="\n\n")
    rows = [fit_row(*given) for given in calibration_sets(arguments.data, factor)]
    header = ["fit", "CPU s", "plain CPU s", "times", "bound, nats", "plain", "equal mass"]
    print(markdown(header, rows), end="\n\n")
    n, k = APPLIED
    print(markdown(["prediction", "CPU s", "one pass of log-odds", "times"], [apply_row(n // factor, k)]), end="\n\n")
    logits, labels = simulated(PICTURE[0] // factor, PICTURE[1])
    seconds = best_seconds(lambda: binning_picture(logits, labels))
    print(markdown(["picture of the bins", "CPU s"], [["{:,} x {:,}".format(*logits.shape), f"{seconds:.2f}"]]))


if __name__ == "__main__":
    main()
