"""Methods that behave badly in the ways a real one can, for the workers to run; all others are real."""

from __future__ import annotations

import os
import re
import time
from pathlib import Path

import numpy as np

from calib.calibrators.identity import Identity
from calib.engine.worker import fit_calibrator
from calib.errors import CalibrationError


def fit(method, params, *, data, callback):
    if method not in BAD:
        return fit_calibrator(method, params, data=data, callback=callback)
    BAD[method](data=data, callback=callback, **params)
    return Identity().fit(data["logits"], data["labels"])


def steps(*, callback, n=100, seconds=0.01, **_):
    for step in range(1, n + 1):
        time.sleep(seconds)
        callback(step, n, 1.0 / step)


def deaf(*, callback, seconds=3600, file=os.devnull, **_):
    """Like a long call into C: it never looks whether it was cancelled, once it has left a mark in the file."""
    callback(1, 10, 0.0)
    Path(file).write_text("deaf")
    time.sleep(seconds)


def locked(*, file=os.devnull, **_):
    """A regular expression that holds Python's lock for years, so that no other thread of its process runs."""
    Path(file).write_text("locked")
    re.match("(a+)+$", "a" * 60 + "b")


def refuses(**_):
    raise CalibrationError("Only 3 rows; use at least 10.")


def breaks(**_):
    raise ZeroDivisionError("first line of /srv/calib/fit.py\nsecond line")


def exits(**_):
    raise SystemExit(3)


def dies(*, callback, **_):
    """Ends its process, once it has been told that the fit runs."""
    steps(callback=callback, n=20)
    os._exit(7)


def prints(**_):
    print("x" * 100_000)
    os.write(1, b"from C\n")


def writes(*, file, text="run\n", **params):
    """Leaves a mark for each time it is really run."""
    with open(file, "a") as handle:
        handle.write(text)
    steps(**{"n": 20} | params)


def writes_pid(*, file, **params):
    writes(file=file, text=f"{os.getpid()}\n", **params)


def study(file, n, *, data, callback):
    writes(file=file, text=f"{os.getpid()}\n", n=n, callback=callback)
    return int(data["labels"].sum())


BAD = {
    function.__name__: function
    for function in (steps, deaf, locked, refuses, breaks, exits, dies, prints, writes, writes_pid)
}


def deaf_page():
    time.sleep(3600)


def busy_page(seconds):
    """Take processor time, and say how much it was."""
    start = time.process_time()
    while time.process_time() - start < seconds:
        pass
    return time.process_time() - start


def where(*, data):
    """The sum of each array, and whether it lies in a file."""
    return {name: (float(np.sum(array)), is_mapped(array)) for name, array in data.items()}


def give_back(*, data):
    return data


def is_mapped(array):
    while isinstance(array, np.ndarray) and not isinstance(array, np.memmap):
        array = array.base
    return isinstance(array, np.memmap)
