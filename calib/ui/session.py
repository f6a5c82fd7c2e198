"""What one visitor has open: the data, its split and the fits asked for. Lives in Streamlit's session state.

How much memory things take, as far as it comes to arrays and texts.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import IO, Any, TypeVar
from uuid import uuid4
from weakref import finalize

import numpy as np
import streamlit as st

from calib.data import Choices, Inspection, Predictions
from calib.evaluation import Evaluation
from calib.jobs import FitSpec, TaskSpec
from calib.settings import limit

_DEEPEST = 8
_NOTHING = (int, float, complex, bool, type(None), type)


def nbytes(*things: Any) -> int:
    """Bytes of the arrays and texts in these things and whatever they consist of, each counted once.

    What is mapped from disk takes none, and of a view counts what it keeps alive.
    """
    found: dict[int, int] = {}
    seen: set[int] = set()
    todo = [(thing, 0) for thing in things]
    while todo:
        thing, depth = todo.pop()
        if isinstance(thing, np.ndarray):
            while isinstance(thing.base, np.ndarray):
                thing = thing.base
            if not isinstance(thing, np.memmap):
                found[id(thing)] = thing.nbytes
        elif isinstance(thing, (str, bytes, bytearray)):
            found[id(thing)] = len(thing)
        elif id(thing) not in seen and depth < _DEEPEST:
            seen.add(id(thing))
            if hasattr(thing, "memory_usage") and hasattr(thing, "to_numpy"):  # a column or a table of pandas
                found[id(thing)] = int(np.sum(thing.memory_usage(deep=True)))
            else:
                todo.extend((part, depth + 1) for part in _parts(thing) if not isinstance(part, _NOTHING))
    return sum(found.values())


def _parts(thing: Any) -> Any:
    if isinstance(thing, dict):
        return thing.values()
    if isinstance(thing, (list, tuple, set, frozenset)):
        return thing
    return () if callable(thing) else getattr(thing, "__dict__", {}).values()


T = TypeVar("T")


@dataclass(eq=False)
class Upload:
    """Spooled copies of uploaded files by role (name and file), to read them again with other choices.

    They lie on disk, so that the upload itself need not stay in memory, and are gone with this object.
    """

    files: dict[str, tuple[str, IO[bytes]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        finalize(self, _close, [file for _, file in self.files.values()])


def _close(files: list[IO[bytes]]) -> None:
    for file in files:
        file.close()


@dataclass(frozen=True)
class Evaluated:
    """A calibrator's verdict on the test set and what it cost."""

    evaluation: Evaluation
    predict_seconds: float


@dataclass
class Session:
    """Everything a page needs to know; replaced as a whole when other data are opened.

    Attributes
    ----------
    data : the open data set, or None.
    inspection : what was understood of the upload, with what can be changed by hand.
    made : what the visitor decided by hand about the upload.
    upload : the uploaded files, where there are any.
    raw : the raw model's verdict on all rows, once it was asked for.
    sample : name of the sample, where one is open.
    part, seed : the split asked for; ``part`` None means the one that came with the data.
    calibration, test : the two parts.
    specs : fits asked for on the present split, by key, in order.
    specs_of_splits : the same for every split looked at, so that going back finds them again.
    studies : studies asked for on the present split, by kind.
    visitor : tells this visitor from others who may want the same fit.
    evaluated : verdicts by fit key.
    kept : what pages computed from the above, by key; see :func:`keep`.
    kept_bytes : memory that it takes, by key.
    built : files that are offered, each with what it was built of, by button; see :mod:`calib.ui.widgets`.
    picked : what pages show by the visitor's choice, by widget; see :mod:`calib.ui.widgets`.
    variants : number of each fit among the fits of its method, by key: it sets marker and dash apart.
    seen_done : how many fits were finished when the page was last drawn.
    """

    data: Predictions | None = None
    inspection: Inspection | None = None
    made: Choices = field(default_factory=Choices)
    raw: Evaluation | None = None
    upload: Upload = field(default_factory=Upload)
    sample: str | None = None
    part: float | None = None
    seed: int = 0
    calibration: Predictions | None = None
    test: Predictions | None = None
    specs: dict[str, FitSpec] = field(default_factory=dict)
    specs_of_splits: dict[str, dict[str, FitSpec]] = field(default_factory=dict)
    studies: dict[str, TaskSpec] = field(default_factory=dict)
    visitor: str = field(default_factory=lambda: uuid4().hex)
    evaluated: dict[str, Evaluated] = field(default_factory=dict)
    kept: dict[Hashable, Any] = field(default_factory=dict)
    kept_bytes: dict[Hashable, int] = field(default_factory=dict)
    built: dict[str, tuple[Any, str | bytes]] = field(default_factory=dict)
    picked: dict[str, Any] = field(default_factory=dict)
    variants: dict[str, int] = field(default_factory=dict)
    seen_done: int = 0

    @property
    def split_key(self) -> str:
        """Names the data and its split; the same content and split give the same key in every session."""
        assert self.data is not None
        return hashlib.sha256(f"{self.data.sha256}|{self.part}|{self.seed}".encode()).hexdigest()

    @classmethod
    def opened(cls, data: Predictions, **opened: Any) -> Session:
        """A session with ``data`` open, split as they ask or in half."""
        made = cls(data=data, **opened)
        made.split(None if data.given_split is not None else 0.5, made.seed)
        return made

    def split(self, part: float | None, seed: int) -> None:
        """Split the open data; only the fits that were asked for on this split are shown."""
        assert self.data is not None
        if self.calibration is not None and (self.part, self.seed) == (part, seed):
            return
        self.part, self.seed = part, seed
        self.calibration, self.test = self.data.split(part, random_state=seed)
        self.specs = self.specs_of_splits.setdefault(self.split_key, {})
        self.evaluated, self.kept, self.built, self.variants, self.studies = {}, {}, {}, {}, {}
        self.kept_bytes = {}


SESSION = "calib_session"
MOST_KEPT = 100
"""Figures, curves and tables kept for a visitor; the one unused for longest goes first."""
MOST_OF_ONE = int(limit("CALIB_SESSION_GB") * 1e9)
"""Bytes that one visitor may hold."""
KEPT_SHARE = 0.1
"""Of them for what is kept, which can be made again."""


def session() -> Session:
    """The visitor's session, made on the first call."""
    return st.session_state.setdefault(SESSION, Session())


def keep(key: Hashable, build: Callable[[], T]) -> T:
    """What ``build`` makes, made once per key on the open split.

    A rerun draws a whole page, and building one plotly figure takes some 40 ms. The key names everything the result
    depends on besides the data and the split, which empty the store when they change: fits by their key.
    """
    kept, sizes = session().kept, session().kept_bytes
    if key in kept:
        kept[key] = kept.pop(key)  # to the end: used last
        return kept[key]
    made = kept[key] = build()
    sizes[key] = nbytes(made)
    for gone in sizes.keys() - kept.keys():
        del sizes[gone]
    while len(kept) > 1 and (len(kept) > MOST_KEPT or sum(sizes.values()) > MOST_OF_ONE * KEPT_SHARE):
        oldest = next(iter(kept))
        del kept[oldest]
        sizes.pop(oldest, None)
    return made
