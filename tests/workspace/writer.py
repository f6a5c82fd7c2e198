"""Stores data sets and fits for ever, saying which are done, until somebody kills it."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from calib.calibrators.temperature import TemperatureScaling
from calib.data import Predictions
from calib.data.predictions import fingerprint
from calib.jobs import FitSpec, Job
from calib.workspace import Configuration, Entry, Keeper, KeptSpec


def predictions(seed: int, rows: int = 20_000) -> Predictions:
    """A data set whose hash is that of its content; 1.6 MB, so that a kill often meets it half-written."""
    generator = np.random.default_rng(seed)
    logits, labels = generator.normal(size=(rows, 10)), generator.integers(0, 10, rows)
    names = tuple(map(str, range(10)))
    fields = {"logits": logits, "labels": labels, "class_names": names, "kind": "logits"}
    return Predictions(logits, labels, names, sha256=fingerprint(fields))


def temperature_of(sha256: str) -> float:
    """A temperature that names its data, and that a fit could learn."""
    return 1 + int(sha256[:8], 16) / 2**32


def fitted(data: Predictions) -> Job:
    """A fit that is done, whose temperature names its data."""
    learned = {"temperature_": temperature_of(data.sha256), "unit_": 1.0, "n_classes_": 10, "device_note_": ""}
    made = TemperatureScaling().set_state(learned)
    spec = FitSpec("temperature", {}, data_key=data.sha256)
    return Job(spec.key, spec, state="done", result=made)


def main(root: Path, seed: int) -> None:
    """Store one data set with its fit and its link after the other."""
    keeper = Keeper(Configuration(root))
    for number in range(10_000):
        data = predictions(1000 * seed + number)
        job, link = fitted(data), f"{1000 * seed + number:064d}"
        entry = Entry("visitor", data.sha256, specs=(KeptSpec.from_spec(job.spec, job),))
        keeper.keep(link, entry).result()
        keeper.keep_data(link, data).result()
        print("data", link, data.sha256, flush=True)
        keeper.keep_fit(job)
        print("fits", link, data.sha256, flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
