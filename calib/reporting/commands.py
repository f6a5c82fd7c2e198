"""The lines of the command line that make the same comparison again."""

from __future__ import annotations

import shlex
from dataclasses import fields

from calib.base import Calibrator
from calib.cli.cli_choices import written
from calib.data.samples import FOLDER, SAMPLES
from calib.reporting.contents import Report

_ROLES = ("labels", "test", "test_labels", "features", "train_features", "train_labels")
_REBUILD = (
    "import numpy; from calib.data.samples import load_sample; data = load_sample({name!r}); "
    "numpy.savez({name!r}, logits=data.logits, labels=data.labels, class_names=data.class_names)"
)


def commands(report: Report) -> list[str]:
    """Shell commands, the last of which writes this report's numbers to ``comparison.csv`` and the report anew.

    Paths are as they were given; of an upload they are the files' names.
    """
    made, sample = [], SAMPLES.get(report.source.sample or "")
    files = dict(report.source.files)
    if sample is not None and not files:
        files = {"source": f"{FOLDER}/{sample.name}.npz"}
        if sample.build is not None:
            files = {"source": f"{sample.name}.npz"}
            made.append(shlex.join(["python", "-c", _REBUILD.format(name=sample.name)]))
    options = [f"--{role.replace('_', '-')} {_path(files[role])}" for role in _ROLES if role in files]
    choices = report.source.choices.made()
    options += [written({name: choices[name]}) for name in choices]
    options += [] if report.part is None else [f"--calibration {report.part!r}"]
    options += [f"--seed {report.seed}"]
    options += [
        f"--method {shlex.quote(method_option(method.name, method.calibrator, report.seed))}"
        for method in report.methods
        if method.name != "identity"
    ]
    options += ["--csv comparison.csv --report report.html"]
    start = f"python -m calib compare {_path(files.get('source', report.data.name))}"
    return [*made, " \\\n  ".join([start, *options])]


def method_option(name: str, made: Calibrator, seed: int) -> str:
    """The value of ``--method`` that makes a calibrator with these parameters: ``isotonic:share_classes=False``.

    Parameters
    ----------
    name : registry name.
    made : the calibrator; parameters at their defaults are left out.
    seed : that of ``--seed``, which calibrators have unless they say otherwise.
    """
    usual = {f.name: seed if f.name == "random_state" else f.default for f in fields(made)}
    changed = {key: value for key, value in made.get_params().items() if value != usual[key]}
    return name + (":" + ",".join(f"{key}={value}" for key, value in changed.items()) if changed else "")


def _path(name: str) -> str:
    # A name that begins with a dash would be taken for an option.
    return shlex.quote(f"./{name}" if name.startswith("-") else name)
