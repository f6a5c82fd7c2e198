"""Other packages' calibrators for the arena, run by the Python of an environment of their own.

    python3 -m venv PEERS
    PEERS/bin/pip install torch --index-url https://download.pytorch.org/whl/cpu
    PEERS/bin/pip install scikit-learn betacal netcal numba probcal probmetrics venn-abers
    PEERS/bin/python benchmarks/arena_peers.py

It prints one line with the versions and what cannot be imported. Then each line of its input names a file of trials and
one to write; it fits and predicts, writes, and prints a line. Given a file and names, it prints CPU seconds.

This file needs NumPy and these packages alone. Each is used as its documentation says, with its defaults; packages that
cannot be imported are failures.
"""

from __future__ import annotations

import json
import os
import sys
import time
import timeit
import warnings
from collections.abc import Callable
from functools import partial
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

import numpy as np

Array = Any
Peer = Callable[[Array, Array], Callable[[Array], Array]]
"""From calibration logits (n, K) and labels to a function from logits to probabilities (m, K)."""

MODULES = {
    "scikit-learn": "sklearn.calibration",
    "betacal": "betacal",
    "netcal": "netcal.scaling",
    "probcal": "probcal",
    "probmetrics": "probmetrics.calibrators",
    "venn-abers": "venn_abers",
}
"""The module to import by the name of the distribution."""

MOST_CLASSES = {"netcal beta": 10, "netcal BBQ": 10}
"""One fit to 1,000 rows of 100 classes takes them 27 and 3 CPU seconds."""


def softmax(logits: Array) -> Array:
    """Probabilities of logits (n, K)."""
    odds = np.exp(logits - logits.max(axis=1, keepdims=True))
    return odds / odds.sum(axis=1, keepdims=True)


def both(events: Array) -> Array:
    """Probabilities of two classes from those of the second."""
    events = np.asarray(events).ravel()
    return np.stack([1 - events, events], axis=1)


def of_sklearn(method: str) -> Peer:
    """scikit-learn's CalibratedClassifierCV around outputs that are there already."""

    def fit(logits: Array, labels: Array) -> Callable[[Array], Array]:
        from sklearn.base import BaseEstimator, ClassifierMixin
        from sklearn.calibration import CalibratedClassifierCV
        from sklearn.frozen import FrozenEstimator

        class Outputs(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
            """A classifier whose inputs are its outputs."""

            def fit(self, x: Array, y: Array) -> Outputs:
                self.classes_ = np.arange(x.shape[1])
                return self

            def decision_function(self, x: Array) -> Array:
                return x[:, 1] - x[:, 0] if x.shape[1] == 2 else x

            def predict(self, x: Array) -> Array:
                return x.argmax(axis=1)

        made = CalibratedClassifierCV(FrozenEstimator(Outputs().fit(logits, labels)), method=method)
        return made.fit(logits, labels).predict_proba

    return fit


def of_betacal(logits: Array, labels: Array) -> Callable[[Array], Array]:
    """Beta calibration by its authors, with three parameters."""
    from betacal import BetaCalibration

    made = BetaCalibration(parameters="abm").fit(softmax(logits)[:, 1], labels)
    return lambda inputs: both(made.predict(softmax(inputs)[:, 1]))


def of_venn_abers(logits: Array, labels: Array) -> Callable[[Array], Array]:
    """Inductive Venn-Abers of two classes."""
    from venn_abers import VennAbers

    made = VennAbers().fit(softmax(logits), labels)
    return lambda inputs: made.predict_proba(softmax(inputs))[0]


def of_venn_abers_many(logits: Array, labels: Array) -> Callable[[Array], Array]:
    """Inductive Venn-Abers, one class against the rest."""
    from venn_abers.venn_abers import predict_proba_prefitted_va

    return lambda inputs: predict_proba_prefitted_va(
        softmax(logits), labels, softmax(inputs), va_tpe="one_vs_rest"
    )[0]


def of_probcal(name: str) -> Peer:
    """A method of probcal, for two classes."""

    def fit(logits: Array, labels: Array) -> Callable[[Array], Array]:
        import probcal

        made = getattr(probcal, name)().fit(softmax(logits)[:, 1], labels)
        return lambda inputs: both(made.predict_proba(softmax(inputs)[:, 1]))

    return fit


def of_probmetrics(name: str) -> Peer:
    """A method of probmetrics by the name in its factory."""

    def fit(logits: Array, labels: Array) -> Callable[[Array], Array]:
        from probmetrics.calibrators import get_calibrator

        made = get_calibrator(name)
        made.fit(softmax(logits), labels)
        return lambda inputs: made.predict_proba(softmax(inputs))

    return fit


def of_netcal(module: str, name: str) -> Peer:
    """A method of netcal."""

    def fit(logits: Array, labels: Array) -> Callable[[Array], Array]:
        made = getattr(import_module(f"netcal.{module}"), name)()
        outputs = (lambda x: softmax(x)[:, 1]) if logits.shape[1] == 2 else softmax
        made.fit(outputs(logits), labels)

        def predict(inputs: Array) -> Array:
            found = np.asarray(made.transform(outputs(inputs)))
            return both(found) if logits.shape[1] == 2 else found

        return predict

    return fit


EVERY: dict[str, Peer] = {
    "scikit-learn sigmoid": of_sklearn("sigmoid"),
    "scikit-learn isotonic": of_sklearn("isotonic"),
    "scikit-learn temperature": of_sklearn("temperature"),
    "netcal temperature": of_netcal("scaling", "TemperatureScaling"),
    "netcal beta": of_netcal("scaling", "BetaCalibration"),
    "netcal BBQ": of_netcal("binning", "BBQ"),
    "netcal ENIR": of_netcal("binning", "ENIR"),
    "probmetrics temperature": of_probmetrics("temp-scaling"),
    "probmetrics ivap": of_probmetrics("ivap"),
}
"""For any number of classes."""

PEERS: dict[bool, dict[str, Peer]] = {
    True: {
        **EVERY,
        "betacal": of_betacal,
        "venn-abers": of_venn_abers,
        "probcal beta": of_probcal("BetaCalibrator"),
        "probcal spline": of_probcal("SplineCalibrator"),
        "probcal centred isotonic": of_probcal("CenteredIsotonicCalibrator"),
        "probcal Venn-Abers": of_probcal("VennAbersCalibrator"),
        "probmetrics logistic": of_probmetrics("logistic"),
        "probmetrics quadratic": of_probmetrics("quadratic-scaling"),
    },
    False: {
        **EVERY,
        "venn-abers one-vs-rest": of_venn_abers_many,
        "probmetrics SVS": of_probmetrics("svs"),
        "probmetrics SMS": of_probmetrics("sms"),
    },
}
"""By whether there are two classes."""


def versions() -> str:
    """Versions of the packages, and why one cannot be imported."""
    lines = []
    for name, module in {**MODULES, "torch": "torch", "numpy": "numpy"}.items():
        try:
            import_module(module)
            lines.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            lines.append(f"{name} not installed")
        except ImportError as error:
            lines.append(f"{name} not importable ({error})")
    return f"Other packages: {', '.join(lines)}."


def measured(
    peer: Peer, logits: Array, labels: Array, inputs: Array
) -> tuple[Array | None, float, str]:
    """Probabilities, CPU seconds of fit and prediction, and why it failed if it did."""
    start, probs, failure = time.process_time(), None, ""
    try:
        probs = np.asarray(peer(logits, labels)(inputs), dtype=np.float64)
    except Exception as error:  # whatever goes wrong counts as a failure
        failure = f"{type(error).__name__}: {error}"
    return probs, time.process_time() - start, failure


def work(given: str, found: str) -> None:
    """Fit every method to every replicate of a file, and write what they predict."""
    arrays: dict[str, Array] = {}
    records = []
    with np.load(given) as stored:
        for replicate in stored["replicates"].tolist():
            logits, labels, inputs = (
                stored[f"{name}{replicate}"] for name in ("logits", "labels", "inputs")
            )
            for name, peer in PEERS[logits.shape[1] == 2].items():
                if logits.shape[1] > MOST_CLASSES.get(name, logits.shape[1]):
                    continue
                probs, seconds, failure = measured(peer, logits, labels, inputs)
                if probs is not None:
                    arrays[f"{name}{replicate}"] = probs
                records.append(
                    {"method": name, "replicate": replicate, "seconds": seconds, "failure": failure}
                )
    np.savez(found, records=np.array(json.dumps(records)), **arrays)


def authors_ensemble(logits: Array, labels: Array) -> Callable[[Array], Array]:
    """Temperature, then three weights, of least squared error by SciPy, as in the code of Zhang et al. 2020."""
    from scipy.optimize import minimize

    hot = np.eye(logits.shape[1])[labels]
    t = minimize(
        lambda t: ((softmax(logits / t) - hot) ** 2).mean(), 1.0, bounds=[(0.05, 5.0)], tol=1e-12
    ).x

    def parts(inputs: Array) -> Array:
        return np.stack(
            [softmax(inputs / t), softmax(inputs), np.full(inputs.shape, 1 / inputs.shape[1])]
        )

    fixed, simplex = parts(logits), {"type": "eq", "fun": lambda w: w.sum() - 1}
    options = {"bounds": [(0, 1)] * 3, "constraints": simplex, "tol": 1e-12}
    w = minimize(
        lambda w: ((np.tensordot(w, fixed, 1) - hot) ** 2).mean(), (1.0, 0.0, 0.0), **options
    ).x
    return lambda inputs: np.tensordot(w, parts(inputs), 1)


def least_seconds(work: Callable[[], Array]) -> float:
    """CPU seconds of the quickest of three runs, so that imports are not counted."""
    return min(timeit.repeat(work, timer=time.process_time, number=1, repeat=3))


def speed(given: str, names: list[str]) -> dict[str, list[float]]:
    """CPU seconds of a fit and of a prediction by the names of methods that there are for so many classes."""
    with np.load(given) as stored:
        logits, labels = stored["logits"], stored["labels"]
    methods = PEERS[logits.shape[1] == 2] | {name: of_probmetrics(name) for name in ("svs", "sms")}
    methods |= {
        "netcal histogram": of_netcal("binning", "HistogramBinning"),
        "authors": authors_ensemble,
    }
    seconds = {}
    for name in set(names) & set(methods):
        fit = partial(methods[name], logits, labels)
        seconds[name] = [least_seconds(fit), least_seconds(partial(fit(), logits))]
    return seconds


def main() -> None:
    """Serve the lines of the standard input."""
    if len(sys.argv) > 1:
        print(json.dumps(speed(sys.argv[1], sys.argv[2:])))
        return
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w", buffering=1, encoding="utf-8")
    with Path(os.devnull).open("w", encoding="utf-8") as nowhere:
        sys.stdout = sys.stderr = nowhere  # packages print progress
        print(versions(), file=answers)
        for line in sys.stdin:
            work(*line.rstrip("\n").split("\t"))
            print("done", file=answers)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
