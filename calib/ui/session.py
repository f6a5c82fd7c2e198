"""What one visitor has open: the data, its split and the fits asked for. Lives in Streamlit's session state."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import IO, Any

import pandas as pd
import streamlit as st

from calib.data import Choices, Inspection, Predictions
from calib.evaluation import Evaluation
from calib.jobs import FitSpec
from calib.metrics.intervals import Interval
from calib.numerics import Floats


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
    files : spooled copies of the uploaded files by role, kept to read them again with other choices.
    raw : the raw model's verdict on all rows, once it was asked for.
    sample : name of the sample, where one is open.
    part, seed : the split asked for; ``part`` None means the one that came with the data.
    calibration, test : the two parts.
    specs : fits asked for, by key, in order.
    evaluated : verdicts by fit key.
    comparison : the last comparison table with the key it was made for.
    intervals : of the scores, by fit key.
    class_probabilities : probability of one class on the test rows, by fit key and class; a few, oldest first.
    seen_done : how many fits were finished when the page was last drawn.
    """

    data: Predictions | None = None
    inspection: Inspection | None = None
    made: Choices = field(default_factory=Choices)
    raw: Evaluation | None = None
    files: dict[str, tuple[str, IO[bytes]]] = field(default_factory=dict)
    sample: str | None = None
    part: float | None = None
    seed: int = 0
    calibration: Predictions | None = None
    test: Predictions | None = None
    specs: dict[str, FitSpec] = field(default_factory=dict)
    evaluated: dict[str, Evaluated] = field(default_factory=dict)
    comparison: tuple[tuple[str, ...], pd.DataFrame] | None = None
    intervals: dict[str, dict[str, Interval]] = field(default_factory=dict)
    class_probabilities: dict[tuple[str, int], Floats] = field(default_factory=dict)
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
        """Split the open data; fits that were asked for on another split are no longer shown."""
        assert self.data is not None
        if self.calibration is not None and (self.part, self.seed) == (part, seed):
            return
        self.part, self.seed = part, seed
        self.calibration, self.test = self.data.split(part, random_state=seed)
        self.specs, self.evaluated, self.intervals, self.class_probabilities = {}, {}, {}, {}


SESSION = "calib_session"


def session() -> Session:
    """The visitor's session, made on the first call."""
    return st.session_state.setdefault(SESSION, Session())


def open_session(opened: Session) -> None:
    """Replace what the visitor has open; finished fits of other data stay in the queue's store."""
    st.session_state[SESSION] = opened
