"""Stores data sets and fits for ever, saying which are stored, until somebody kills it."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from calib.calibrators.temperature import TemperatureScaling
from calib.data import Predictions
from calib.engine import FitSpec, Job
from calib.store.contents import Entry, put_data, put_job
from calib.store.index import Store


def predictions(seed: int) -> Predictions:
    """A data set whose logits are a file of their own (1.6 MB), so that a kill often meets it half-written."""
    generator = np.random.default_rng(seed)
    logits, labels = generator.normal(size=(20_000, 10)), generator.integers(0, 10, 20_000)
    return Predictions(logits, labels, tuple("abcdefghij")).identified()


def temperature_of(sha256: str) -> float:
    """A temperature that names its data, and that a fit could learn."""
    return 1 + int(sha256[:8], 16) / 2**32


def fitted(data: Predictions) -> Job:
    """A fit that is done, whose temperature names its data."""
    learned = {"temperature_": temperature_of(data.sha256), "unit_": 1.0, "n_classes_": 10, "device_note_": ""}
    spec = FitSpec("temperature", {}, data_key=data.sha256)
    return Job(spec.key, spec, state="done", result=TemperatureScaling().set_state(learned))


def main(root: Path, seed: int) -> None:
    """Store one data set with its fit and its link after the other."""
    store = Store(root)
    for number in range(10_000):
        data = predictions(1000 * seed + number)
        job, link = fitted(data), f"{1000 * seed + number:064d}"
        entry = Entry("visitor", data.sha256, fits={job.spec.key: job.spec})
        store.put_link(link, entry, entry.keys())
        put_job(store, job)
        print("fit", link, data.sha256, flush=True)
        put_data(store, data)
        print("data", link, data.sha256, flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
