"""What is to be fitted or computed, and the key under which it is paid once."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any

from calib.hardware import worth_a_gpu
from calib.registry import METHODS


@dataclass(frozen=True)
class FitSpec:
    """One method with its parameters on one calibration set.

    Attributes
    ----------
    method : registry name.
    params : hyper-parameters that differ from the defaults, ``random_state`` among them.
    data_key : what identifies the calibration rows: the hash of the data set together with the split. Two specs
        with the same ``data_key`` must mean the same arrays.
    label : how pages call this fit; the method's title and changed parameters if empty. Not part of the key.
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
        return _hash({"data": self.data_key, "method": self.method, "params": self._all_params()})

    @property
    def title(self) -> str:
        """Label for people, such as ``GPcalib (n_inducing=20)``."""
        if self.label:
            return self.label
        name = METHODS[self.method].title if self.method in METHODS else self.method
        changed = ", ".join(f"{k}={v}" for k, v in sorted(self.params.items()) if k not in ("random_state", "device"))
        return f"{name} ({changed})" if changed else name

    def fast(self, n_logits: int) -> bool:
        """Whether the registry counts the method as fast, and a fit on so many logits does not start a GPU.

        A parameter that names another method, from which bins take over what they say, fits that one too.
        """
        if self.method not in METHODS:
            return False
        method = METHODS[self.method]
        named = [FitSpec(value) for value in self.params.values() if isinstance(value, str) and value in METHODS]
        starts_gpu = worth_a_gpu(self.params.get("device", "auto"), method.cls.passes * n_logits)
        return method.fast and not starts_gpu and all(other.fast(n_logits) for other in named)

    def _all_params(self) -> dict[str, Any]:
        """The parameters with the defaults of those not given; a wrong one stays, for the fit to complain about."""
        if self.method not in METHODS:
            return dict(self.params)
        defaults = {f.name: f.default for f in fields(METHODS[self.method].cls)}
        return {**defaults, **self.params}


@dataclass(frozen=True)
class TaskSpec:
    """Something else to compute from a data set, such as a study of many fits.

    Attributes
    ----------
    function : called by a worker as ``function(*arguments, data=..., callback=...)``; found by module and name.
    arguments : plain values: numbers, strings, and lists, tuples or dicts of them.
    data_key : what identifies the data, as in :class:`FitSpec`.
    title : for people. Not part of the key.
    """

    function: Callable[..., Any]
    arguments: tuple[Any, ...] = field(hash=False)
    data_key: str = ""
    title: str = field(default="Task", compare=False)

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
