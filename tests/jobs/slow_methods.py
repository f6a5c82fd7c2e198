"""Methods that behave badly in the ways a real one can, for the worker to run; all others are real."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

from calib.calibrators.identity import Identity
from calib.errors import CalibrationError
from calib.jobs.tasks import Parts, fit_calibrator, in_parts


def fit(method, params, *, data, callback):
    if method not in BAD:
        return fit_calibrator(method, params, data=data, callback=callback)
    BAD[method](data=data, callback=callback, **params)
    return Identity().fit(data["logits"], data["labels"])


def steps(*, data, callback, n=100, seconds=0.01, **_):
    for step in range(1, n + 1):
        time.sleep(seconds)
        callback(step, n, 1.0 / step)


def starts_slowly(*, callback, **_):
    """Like a first fit, whose worker has much to import."""
    time.sleep(6)
    callback(0, 0, float("nan"))
    time.sleep(2)


def deaf(*, callback, seconds=3600, **_):
    """Like a long call into C: it never looks whether it was cancelled."""
    callback(1, 10, 0.0)
    time.sleep(seconds)


def refuses(**_):
    raise CalibrationError("Only 3 rows; use at least 10.")


def breaks(**_):
    raise ZeroDivisionError("first line of /srv/calib/fit.py\nsecond line")


def exits(**_):
    raise SystemExit(3)


def dies(**_):
    os._exit(7)


def prints(**_):
    print("x" * 100_000)
    os.write(1, b"from C\n")


def imports_tensorflow(*, callback, **_):
    """The announcement comes before the import, so a module that is then not found is enough."""
    sys.path[:] = [p for p in sys.path if "site-packages" not in p]
    try:
        import tensorflow  # noqa: F401
    except ImportError:
        time.sleep(0.3)


def counts(*, file, **_):
    """Leaves a mark for each time it is really run."""
    with open(file, "a") as handle:
        handle.write("run\n")
    time.sleep(0.2)


def loaded(*, name, **_):
    """Fails unless a module has been imported before."""
    if name not in sys.modules:
        raise CalibrationError(f"{name} is not loaded.")


def writes_pid(*, file, **params):
    """Leaves the number of its process each time it is started."""
    with open(file, "a") as handle:
        handle.write(f"{os.getpid()}\n")
    steps(**params)


def starts_tensorflow(*, folder, **_):
    """Like a fit on a GPU, with a TensorFlow of that folder."""
    sys.path.insert(0, folder)
    import tensorflow  # noqa: F401


def pid(*, data, callback):
    return os.getpid()


def parts_of_study(file, n, processes=1, *, data):
    """Four parts; the result is what each of them gave, in order."""
    return Parts(part_of_study, [(file, n, part, processes) for part in range(4)], [n] * 4, list)


@in_parts(parts_of_study)
def study(file, n, processes=1, *, data, callback):
    return [part_of_study(file, n, part, processes, data=data, callback=callback) for part in range(4)]


def part_of_study(file, n, part, processes, *, data, callback):
    """Leaves its number and that of its process, and goes on once parts have started in so many processes."""
    with open(file, "a") as handle:
        handle.write(f"{part}:{os.getpid()}\n")
    while len({line.partition(":")[2] for line in Path(file).read_text().split()}) < processes:
        time.sleep(0.01)
    steps(data=data, callback=callback, n=n)
    return part, int(data["labels"].sum())


BAD = {
    function.__name__: function
    for function in (
        steps,
        starts_slowly,
        deaf,
        refuses,
        breaks,
        exits,
        dies,
        prints,
        imports_tensorflow,
        counts,
        loaded,
        writes_pid,
        starts_tensorflow,
    )
}


def where(*, data):
    """The sum of each array, and whether it lies in memory that another process shares."""
    return {name: (float(array.sum()), _base(array) == "mmap") for name, array in data.items()}


def _base(array):
    while hasattr(array, "base") and array.base is not None:
        array = array.base
    return type(array.obj if isinstance(array, memoryview) else array).__name__
