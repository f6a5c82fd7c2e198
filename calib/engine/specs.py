"""Requests to the engine, with the key of their content, and the reports that pages get."""

from __future__ import annotations

import atexit
import hashlib
import io
import json
import os
import pickle
import shutil
import tempfile
import weakref
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, fields
from functools import cache, cached_property
from pathlib import Path
from typing import Any, Literal
from uuid import uuid4

import numpy as np
import numpy.typing as npt

from calib.base import Calibrator
from calib.calibrators.backend import wants_gpu
from calib.registry import METHODS

LARGE = 1 << 20
"""Bytes from which an array is worth a file."""


@cache
def folder() -> Path:
    """A temporary folder of this process, which goes when the process ends; if it is killed, its workers remove it."""
    path = tempfile.mkdtemp(prefix=f"calib-{os.getpid()}-")
    # Of processes that were killed before they had workers.
    for stale in Path(path).parent.glob("calib-*-*"):
        if Path("/proc/self").exists() and not Path("/proc", stale.name.split("-")[1]).exists():
            with suppress(OSError):  # it is not empty
                stale.rmdir()
    atexit.register(shutil.rmtree, path, ignore_errors=True)
    return Path(path)


def on_disk(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """A read-only copy in a file of its own, which goes with the last reference to it.

    A small array, and any for which the disk has no room, is returned as it is.
    """
    if array.nbytes < LARGE or array.dtype.hasobject or _mapping(array) is not None:
        return array
    path = folder() / f"{uuid4().hex}.npy"
    try:
        np.save(path, array)
        mapped: Any = np.load(path, mmap_mode="r")
    except OSError:
        path.unlink(missing_ok=True)
        return array
    weakref.finalize(mapped, _remove, path)
    return np.asarray(mapped)


def dumps(value: Any) -> bytes:
    """``pickle.dumps`` for a process of this machine, in which arrays that lie in files are named and not copied."""
    stream = io.BytesIO()
    _Pickler(stream, protocol=5).dump(value)
    return stream.getvalue()


class _Pickler(pickle.Pickler):
    def reducer_override(self, value: Any) -> Any:
        if (
            not isinstance(value, np.ndarray)
            or value.nbytes < LARGE
            or not value.flags.c_contiguous
        ):
            return NotImplemented
        mapped = _mapping(value)
        if mapped is None or not Path(str(mapped.filename)).exists():
            return NotImplemented
        start = mapped.offset + value.ctypes.data - mapped.ctypes.data
        return _attach, (str(mapped.filename), value.dtype.str, start, value.shape)


def _attach(path: str, dtype: str, start: int, shape: tuple[int, ...]) -> npt.NDArray[Any]:
    return np.asarray(np.memmap(path, dtype, "r", start, shape))


def _mapping(array: Any) -> np.memmap[Any, Any] | None:
    """The mapped file that an array is a view of."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array if isinstance(array, np.memmap) and array.filename else None


def _remove(path: Path) -> None:
    with suppress(OSError):
        path.unlink()


Kind = Literal["page", "file", "fast", "slow", "study"]
"""Kinds of work, the most urgent first: a page waits for the first, and a study is many fits."""

State = Literal["queued", "running", "done", "failed", "cancelled"]


@dataclass(frozen=True, eq=False)
class Data:
    """Arrays that many tasks use, with the key that stands for their content."""

    key: str
    arrays: Mapping[str, Any]

    @classmethod
    def of(cls, key: str, **arrays: Any) -> Data:
        """Arrays of one set of rows, whose key stands for their content; methods that need the same share it."""
        return cls(f"{key} {sorted(arrays)}", arrays)


NO_DATA = Data("", {})


@dataclass(frozen=True, eq=False)
class Fitted:
    """Result of a fit whose task does more than fit.

    Attributes
    ----------
    calibrator : the fitted one.
    judgement : what else was computed of it; None where nothing was.
    seconds, cpu_seconds : of the fit alone.
    """

    calibrator: Calibrator
    judgement: Any = None
    seconds: float = 0.0
    cpu_seconds: float = 0.0


@dataclass(frozen=True)
class FitSpec:
    """One method with its parameters on one calibration set.

    Attributes
    ----------
    method : registry name.
    params : hyper-parameters that differ from the defaults, ``random_state`` among them.
    data_key : what identifies the calibration rows: the hash of the data set together with the split. Two specs
        with the same ``data_key`` must mean the same arrays.
    label : how pages call this fit; as the method is called if empty. Not part of the key.
    """

    method: str
    params: Mapping[str, Any] = field(default_factory=dict, hash=False)
    data_key: str = ""
    label: str = field(default="", compare=False)

    @cached_property
    def key(self) -> str:
        """SHA-256 (hex) of the data, the method and all its parameters.

        Defaults are filled in first, so that a parameter given at its default value is the same fit.
        """
        defaults = (
            {f.name: f.default for f in fields(METHODS[self.method].cls)}
            if self.method in METHODS
            else {}
        )
        return _hash(
            {"data": self.data_key, "method": self.method, "params": {**defaults, **self.params}}
        )

    @property
    def title(self) -> str:
        """Label for people, such as ``GPcalib``."""
        return self.label or (METHODS[self.method].title if self.method in METHODS else self.method)

    def fast(self, n_logits: int) -> bool:
        """Return whether the registry counts the method as fast, and a fit on so many logits starts no TensorFlow."""
        method = METHODS.get(self.method)
        if method is None or not method.fast:
            return False
        by_gpflow = (
            self.params.get("engine") == "gpflow"
            or self.params.get("kernel", "rbf") != "rbf"
            or self.params.get("likelihood", "expansion") != "expansion"
        )
        on_gpu = method.uses_device and wants_gpu(self.params.get("device", "auto"), n_logits)
        return not (by_gpflow or on_gpu)


@dataclass(frozen=True)
class TaskSpec:
    """Something else to compute from a data set, such as a study of many fits.

    Attributes
    ----------
    function : called by a worker as ``function(*arguments, data=..., callback=...)``; found by module and name.
    arguments : plain values: numbers, strings, and lists, tuples or dicts of them.
    data_key : what identifies the data, as in :class:`FitSpec`.
    title : for people. Not part of the key.
    kind : how urgent it is. Not part of the key.
    """

    function: Callable[..., Any]
    arguments: tuple[Any, ...] = field(hash=False)
    data_key: str = ""
    title: str = field(default="Task", compare=False)
    kind: Kind = field(default="study", compare=False)

    @cached_property
    def key(self) -> str:
        """SHA-256 (hex) of the data, the function's name and its arguments."""
        name = f"{self.function.__module__}.{self.function.__qualname__}"
        return _hash({"data": self.data_key, "task": name, "arguments": self.arguments})


def _hash(content: Any) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True, default=_plain).encode()).hexdigest()


def _plain(value: Any) -> Any:
    """NumPy scalars as Python numbers; widgets and data frames hand out both."""
    return value.item() if hasattr(value, "item") else str(value)


@dataclass(frozen=True)
class Job:
    """A fit or another task at one moment; a snapshot never changes.

    Attributes
    ----------
    key : the key of its spec.
    spec : what is fitted or computed.
    state : where it stands.
    fraction : how far it is, 0 to 1; never goes back while it runs.
    step, total : iterations done and the most there can be; 0 before the first.
    message : one sentence for people: what it waits for, does, or why it failed.
    seconds, cpu_seconds : what a job that is done took, wall time and the worker's CPU time; of a fit, the fit alone.
    result : what a job that is done gave, else None.
    """

    key: str
    spec: FitSpec | TaskSpec
    state: State = "queued"
    fraction: float = 0.0
    step: int = 0
    total: int = 0
    message: str = "Waiting for a free worker."
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    result: Any = None

    @property
    def calibrator(self) -> Calibrator | None:
        """The fitted calibrator of a fit that is done, else None."""
        if not isinstance(self.spec, FitSpec):
            return None
        return self.result.calibrator if isinstance(self.result, Fitted) else self.result

    @property
    def judgement(self) -> Any:
        """Result that the task of a finished fit computed of its calibrator, where it did."""
        return self.result.judgement if isinstance(self.result, Fitted) else None

    @property
    def active(self) -> bool:
        """Return whether the job waits or runs, so that a page should look again."""
        return self.state in ("queued", "running")
