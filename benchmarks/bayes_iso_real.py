"""Figures 2, 3 and 7 and table 2 of Allikivi and Kull (2019) in small, on data sets that need no download.

    python -m benchmarks.bayes_iso_real [--data kitti_data.zip] [--folds 2] [--diagram ranks.png] [--quick]

Nine classifiers of scikit-learn on its data sets, and on KITTI with two classes where ``--data`` gives the archive that
:mod:`benchmarks.kitti` reads; calibrated on 100, 1000 and 3000 rows as the data allow, scored on others, over
``--folds`` random divisions of each data set. ``--diagram`` needs scikit-posthocs (``benchmarks/requirements.txt``).
"""

from __future__ import annotations

import argparse
import sys
import time
from typing import Any

import pandas as pd

import calib
from benchmarks import bayes_iso_ranks as ranks
from benchmarks.bayes_iso_data import MODELS, SIZES, Task, has_probabilities, outputs, tasks
from benchmarks.measure import machine, markdown
from calib import metrics
from calib.base import Calibrator
from calib.diagnostics.calibration_maps import class_pairs, end_confidence
from calib.numerics import Floats, Ints

RIVALS = {"logistic": "platt", "beta": "beta", "isotonic": "isotonic", "ENIR": "enir"}
"""The paper's other methods by their names there, each of which it has with and without Platt's correction."""

CORRECTED = {"logistic": "platt", "isotonic": "isotonic", "ENIR": "enir"}
"""Those that have the correction here."""

BAYES = OURS, PLAIN = "Bayes-Iso", "Bayes-Iso, plain"


def with_platt(rival: str) -> str:
    """What a method is called when its targets are corrected."""
    return f"{rival}, Platt's"


METHODS: dict[str, tuple[str, dict[str, Any]]] = {
    "uncalibrated": ("identity", {}),
    **{title: (name, {}) for title, name in RIVALS.items()},
    **{with_platt(title): (name, {"platt_correction": True}) for title, name in CORRECTED.items()},
    OURS: ("bayes_iso", {}),
    PLAIN: ("bayes_iso", {"scheme": "plain"}),
}
"""Title, registry name and parameters; the plain scheme is the paper's."""

RANKED = [OURS, *RIVALS, *map(with_platt, CORRECTED)]
"""The methods that the paper ranks, but for beta with the correction."""

NON_PARAMETRIC = [with_platt("isotonic"), with_platt("ENIR")]
"""The rivals of table 2."""

QUICK = ["decision tree", "naive Bayes", "nearest neighbours"]

PAPER_TABLE_2 = (0.86, 0.92, 0.79, 0.84, 0.56, 0.59, 0.71, 0.73)
"""Brier score and log-loss at 100, 1000 and 3000 rows, and at 3000 without the flagged 27 %."""


def score(task: Task, model: str, seed: int) -> list[dict[str, Any]]:
    """One record for each method and size of calibration set, of one classifier on one division."""
    training, calibration, test = task.divided(seed)
    logits = outputs(model, task, training, [*calibration, *test], seed)
    to_calibrate, to_score = logits[: len(calibration)], logits[len(calibration) :]
    records = []
    for size in task.sizes:
        for method, (name, params) in METHODS.items():
            if name == "platt":
                params = {**params, "input": "score" if has_probabilities(model) else "log_odds"}
            made = calib.calibrator(name, **params, random_state=seed)
            made.fit(to_calibrate[:size], task.labels[calibration[:size]])
            where = {"data": task.title, "model": model, "fold": seed, "size": size, "method": method}
            flagged = name == "bayes_iso" and any(each.dominated for each in made.maps_ if each is not None)
            records.append({**where, "flagged": flagged, **scores(made, to_score, task.labels[test])})
    return records


def scores(made: Calibrator, logits: Floats, labels: Ints) -> dict[str, float | int]:
    """Binary Brier score, log-loss and the number of ends, of two, at which a calibrator is overconfident."""
    probs = made.predict_proba(logits)
    log_odds, positives = class_pairs(logits, labels)
    ends = end_confidence(log_odds, positives, probs[:, 1])
    return {
        "brier": metrics.brier(probs, labels),
        "log_loss": metrics.nll(probs, labels),
        "over": sum(ends.overconfident),
    }


def corrected(found: pd.DataFrame) -> str:
    """Figure 2: share of pairs on which Platt's correction lowers the loss."""
    rows = [
        [method, *(f"{ranks.win_rate(losses, with_platt(method), [method]):.0%}" for losses in each(found))]
        for method in CORRECTED
    ]
    return markdown(["better with Platt's correction", *columns()], rows)


def ends(found: pd.DataFrame) -> str:
    """Figure 3: share of fits that are overconfident at both ends of the ranking, at one and at none."""
    shares = found.groupby(["method", "size"])["over"].value_counts(normalize=True)
    rows = [
        [method, *(" / ".join(f"{shares.get((method, size, n), 0):.0%}" for n in (2, 1, 0)) for size in SIZES)]
        for method in METHODS
    ]
    return markdown(["overconfident at both ends / one / none", *(f"N = {size}" for size in SIZES)], rows)


def wins(found: pd.DataFrame) -> str:
    """Table 2, and the same against every other method; with the largest size once more without the flagged fits."""
    opponents = {
        " and ".join(NON_PARAMETRIC): NON_PARAMETRIC,
        **{name: [name] for name in METHODS if name not in BAYES},
    }
    rows = [["paper", next(iter(opponents)), *(f"{rate:.0%}" for rate in PAPER_TABLE_2)]]
    for ours in BAYES:
        kept = ranks.without_flagged(found, ours)
        tables = each(found) + [ranks.by_pair(kept, SIZES[-1], loss) for loss in ranks.LOSSES]
        for title, rivals in opponents.items():
            rows.append([ours, title, *(f"{ranks.win_rate(losses, ours, rivals):.0%}" for losses in tables)])
    not_flagged = [f"{title}, {SIZES[-1]} not flagged" for title in ranks.LOSSES.values()]
    return markdown(["wins of", "against", *columns(), *not_flagged], rows, left=2)


def flagged(found: pd.DataFrame) -> str:
    """How often one map outweighs all others, in a sentence."""
    said = []
    for ours in BAYES:
        shares = found[found["method"] == ours].groupby("size")["flagged"].mean()
        said.append(f"{ours} {', '.join(f'{share:.0%} at {size}' for size, share in shares.items())}")
    return f"Flagged: {'; '.join(said)}."


def ranking(found: pd.DataFrame) -> str:
    """Figure 7: average ranks of the paper's nine methods; in the last rows the plain scheme takes part in turn."""
    ranked = [losses[RANKED] for losses in each(found)]
    rows = [[method, *(f"{ranks.mean_ranks(losses)[method]:.2f}" for losses in ranked)] for method in RANKED]
    in_turn = [losses[[PLAIN, *RANKED[1:]]] for losses in each(found)]
    rows.append([f"({PLAIN} in its place)", *(f"{ranks.mean_ranks(losses)[PLAIN]:.2f}" for losses in in_turn)])
    rows.append(["p of Friedman's test", *(f"{ranks.friedman(losses):.1e}" for losses in ranked)])
    return markdown(["average rank", *columns()], rows)


def each(found: pd.DataFrame) -> list[pd.DataFrame]:
    """Losses by pair and method, one table for each loss and size in the order of :func:`columns`."""
    return [ranks.by_pair(found, size, loss) for size in SIZES for loss in ranks.LOSSES]


def columns() -> list[str]:
    """Titles of what :func:`each` gives."""
    return [f"{title}, {size}" for size in SIZES for title in ranks.LOSSES.values()]


def main() -> None:
    """Train, calibrate, score and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", help="kitti_data.zip")
    parser.add_argument("--folds", type=int, default=2, help="random divisions of each data set")
    parser.add_argument("--diagram", help="picture of the critical differences to write")
    parser.add_argument(
        "--quick", action="store_true", help="three quick classifiers once, to see that everything runs"
    )
    arguments = parser.parse_args()
    models, folds = (QUICK, 1) if arguments.quick else (list(MODELS), arguments.folds)
    records = []
    for task in tasks(arguments.data):
        for model in models:
            started = time.process_time()
            for seed in range(folds):
                records += score(task, model, seed)
            print(f"{task.title}, {model}: {time.process_time() - started:.1f} s", file=sys.stderr, flush=True)
    found = pd.DataFrame(records)
    pairs = ", ".join(f"{len(ranks.by_pair(found, size, 'brier'))} at {size}" for size in SIZES)
    print(machine("scikit-posthocs"), end="\n\n")
    print(f"Pairs of data and classifier: {pairs}; {folds} divisions of each. {flagged(found)}")
    for table in (corrected, ends, wins, ranking):
        print(f"\n{table(found)}")
    if arguments.diagram:
        shown = dict(zip(columns(), each(found), strict=True))
        ranks.diagram({title: losses[RANKED] for title, losses in shown.items()}, arguments.diagram, len(ranks.LOSSES))


if __name__ == "__main__":
    main()
