"""What can be asked of the engine, with the key of its content, and what pages are told of it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any, Literal

from calib.base import Calibrator
from calib.calibrators.backend import wants_gpu
from calib.registry import METHODS

Kind = Literal["page", "file", "fast", "slow", "study"]
"""What is asked for, the most urgent first: a page waits for the first, and a study is many fits."""

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
    """What a fit gives whose task does more than fit.

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
        """Whether the registry counts the method as fast, and a fit on so many logits does not start TensorFlow."""
        method = METHODS.get(self.method)
        if method is None or not method.fast:
            return False
        by_gpflow = (
            self.params.get("engine") == "gpflow" or self.params.get("kernel", "rbf") != "rbf"
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
        """What the task of a fit that is done computed of its calibrator, where it did."""
        return self.result.judgement if isinstance(self.result, Fitted) else None

    @property
    def active(self) -> bool:
        """Whether it waits or runs, so that a page should look again."""
        return self.state in ("queued", "running")
