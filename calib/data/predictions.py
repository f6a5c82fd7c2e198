"""The dataset type: what a model said about labelled rows, in the one canonical form."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import numpy.typing as npt

from calib.canonical import Kind as Kind
from calib.numerics import Floats, Ints

Level = Literal["error", "warning", "info"]


@dataclass(frozen=True)
class Finding:
    """One thing noticed in an upload.

    Attributes
    ----------
    level : an error stops the journey, a warning is worth a look, an info says what was understood.
    code : stable name of the rung, for tests and for one-click fixes.
    message : what happened, with numbers, and the likely cause.
    action : the one thing to do next; empty for most infos.
    fix : changes to :class:`~calib.data.Choices` that mend it, offered as one click; empty if none.
    """

    level: Level
    code: str
    message: str
    action: str = ""
    fix: dict[str, object] = field(default_factory=dict)


class DataError(ValueError):
    """An upload that cannot be used; ``findings`` says why, the errors first."""

    def __init__(self, findings: list[Finding]):
        self.findings = findings
        first = next(f for f in findings if f.level == "error")
        super().__init__(f"{first.message} {first.action}".strip())


@dataclass(frozen=True, eq=False)
class Predictions:
    """A model's outputs on labelled rows; immutable, arrays are shared, never copied.

    Attributes
    ----------
    logits : (n, n_classes) finite floats: logits, or log-probabilities where probabilities were given.
    labels : (n,) integers in [0, n_classes).
    class_names : one name per column.
    kind : what the upload held.
    floor : what exact zeros became before the logarithm (half the smallest positive probability); None if
        there was none.
    sha256 : hash of the canonical content, the key of every cache and fit.
    name : how pages call the data set.
    given_split : (n,) booleans, True for calibration rows, where the upload brought its own split.
    groups : (n,) subgroup of each row, or None.
    features, train_features, train_labels : inputs for methods that need more than logits, or None.
    findings : what was noticed while loading.
    """

    logits: Floats
    labels: Ints
    class_names: tuple[str, ...]
    kind: Kind = "logits"
    floor: float | None = None
    sha256: str = ""
    name: str = "predictions"
    given_split: npt.NDArray[np.bool_] | None = None
    groups: npt.NDArray[np.str_] | None = None
    features: Floats | None = None
    train_features: Floats | None = None
    train_labels: Ints | None = None
    findings: tuple[Finding, ...] = ()

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def n_classes(self) -> int:
        """Number of columns, whether or not each occurs among the labels."""
        return self.logits.shape[1]
