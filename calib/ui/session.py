"""Session of one visitor: the data, their split and the fits asked for. Lives in Streamlit's session state."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Hashable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import IO, Any, TypeVar
from uuid import uuid4

import numpy as np
import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from calib.apply.sample import fewer_rows
from calib.auditing.groups import rows_in_group
from calib.data import Choices, Inspection, Predictions
from calib.data.split import split_rows
from calib.decisions.conformal import PredictionSets
from calib.decisions.rules import AnyRule
from calib.engine import FitSpec, TaskSpec, on_disk
from calib.errors import CalibrationError
from calib.evaluation.view import View, Viewpoint, view_of
from calib.metrics.confidence import Bools
from calib.numerics import Ints
from calib.ui.server.memory import MOST_OF_ONE, nbytes

T = TypeVar("T")

SESSION = "calib_session"
VISITOR = "calib_visitor"
"""Results computed while no data are open, in Streamlit's session state."""
REJECTED = "calib_rejected"
"""The files read last, where they could not be opened, in Streamlit's session state."""
FROM_THE_TOP = "calib_from_the_top"
"""Flag to show the next page from its top, wherever it was scrolled to, in Streamlit's session state."""
VIEWPOINT = "view/point"
"""The switch between the event and the predicted class of two classes, in Streamlit's session state."""
EXPORTED = "export/calibrator"
"""The fit chosen on Export, by its key, among what the visitor has picked."""
NOUN = "data/noun"
"""Name of the event that the visitor gave, among what they have picked."""
MOST_KEPT = 100
"""Figures, curves and tables kept for a visitor; the one unused for longest goes first."""
KEPT_SHARE = 0.1
"""Of the bytes that one visitor may hold, for what is kept, which can be made again."""


Upload = dict[str, tuple[str, IO[bytes]]]
"""Uploaded files by role, each with its name, to read them again with other choices."""


@dataclass(frozen=True)
class Reading:
    """Uploaded files and how they were read; of a sample, and of data that a link brought back, there are no files.

    Attributes
    ----------
    inspection : what was understood of the files, with what can be changed by hand.
    upload : the files.
    choices : what the visitor decided by hand.
    """

    inspection: Inspection | None = None
    upload: Upload = field(default_factory=dict)
    choices: Choices = field(default_factory=Choices)


@dataclass(frozen=True, eq=False)
class Carried:
    """Decisions that the visitor has chosen for a fit's files.

    Attributes
    ----------
    decision : the action of each row, or None.
    sets : the classes that cannot be ruled out for each row, or None.
    """

    decision: AnyRule | None = None
    sets: PredictionSets | None = None


@dataclass(eq=False, kw_only=True)
class Visitor:
    """A visitor, and what was computed for their pages; without open data this is all there is.

    Attributes
    ----------
    visitor : tells this visitor from others who may want the same fit.
    waiting : what workers compute for pages at this moment; see :mod:`calib.ui.ready`.
    cached : what pages computed with the bytes that it takes, by key; see :func:`keep`.
    built : files that are offered, each with what it was built of, by button; see :mod:`calib.ui.widgets`.
    """

    visitor: str = field(default_factory=lambda: uuid4().hex)
    waiting: dict[Hashable, Future[Any]] = field(default_factory=dict)
    cached: dict[Hashable, tuple[Any, int]] = field(default_factory=dict)
    built: dict[str, tuple[Any, str | bytes]] = field(default_factory=dict)

    def seen(self, key: Hashable) -> Hashable:
        """The key of what is computed in the view that the visitor looks at."""
        return key


@dataclass(frozen=True, eq=False)
class Cohort:
    """A group of rows to which the pages are restricted.

    Attributes
    ----------
    columns : that the group comes from.
    name : of the group.
    inside : (n,) whether a row of the data is in it.
    test_inside : (n_test,) the same of the test rows.
    data, test : its rows, all of them and those among the test rows.
    """

    columns: tuple[str, ...]
    name: str
    inside: Bools
    test_inside: Bools
    data: Predictions
    test: Predictions


LEAST_OF_COHORT = 20
"""Test rows that a cohort has."""


@dataclass(eq=False)
class OpenSession(Visitor):
    """Open data with their split and what was asked for on it; replaced as a whole when other data are opened.

    Attributes
    ----------
    data : the open data set.
    calibration, whole_test : its two parts.
    part, seed : the split asked for; ``part`` None means the one that came with the data.
    most : calibration rows to fit on at most; None takes 50,000 where there are more than 200,000.
    drawn : sentence that says how many of the calibration rows were drawn; "" where all are there.
    sample : name of the sample, where one is open.
    reading : the files that the data come from.
    specs_of_splits : fits asked for on every split looked at, so that going back finds them again.
    studies : studies asked for on the present split, by kind.
    picked : what pages show by the visitor's choice, by widget; see :mod:`calib.ui.widgets`.
    carried : what the files of a fit decide, by fit key.
    viewpoint : how data of two classes are looked at.
    cohort : the group of rows to which the pages are restricted, or None.
    """

    data: Predictions
    calibration: Predictions
    whole_test: Predictions
    part: float | None
    seed: int
    most: int | None = None
    drawn: str = ""
    sample: str | None = None
    reading: Reading = field(default_factory=Reading)
    specs_of_splits: dict[str, dict[str, FitSpec]] = field(default_factory=dict)
    studies: dict[str, TaskSpec] = field(default_factory=dict)
    picked: dict[str, Any] = field(default_factory=dict)
    carried: dict[str, Carried] = field(default_factory=dict)
    viewpoint: Viewpoint = "event"
    cohort: Cohort | None = None

    @classmethod
    def from_data(
        cls,
        data: Predictions,
        part: float | None = None,
        seed: int = 0,
        most: int | None = None,
        **about: Any,
    ) -> OpenSession:
        """Open data with a split; ``part`` None is the split that came with them, or half where none did."""
        part = _usual_part(data, part)
        data = _shared(data)
        calibration, test, drawn = _split(data, part, seed, most)
        return cls(data, calibration, test, part, seed, most, drawn, **about)

    @property
    def split_key(self) -> str:
        """Names the data and its split; the same content and split give the same key in every session."""
        most = "" if self.most is None else f"|{self.most}"
        return hashlib.sha256(
            f"{self.data.sha256}|{self.part}|{self.seed}{most}".encode()
        ).hexdigest()

    @property
    def specs(self) -> dict[str, FitSpec]:
        """Fits asked for on the present split, by key, in order."""
        return self.specs_of_splits.setdefault(self.split_key, {})

    @property
    def all_specs(self) -> list[FitSpec | TaskSpec]:
        """Fits asked for on every split, and studies."""
        fits = [spec for specs in self.specs_of_splits.values() for spec in specs.values()]
        return [*fits, *self.studies.values()]

    @property
    def rows_key(self) -> str:
        """Names the data, the split and the cohort."""
        cohort = self.cohort
        return self.split_key if cohort is None else f"{self.split_key} {cohort.test.sha256}"

    @property
    def test(self) -> Predictions:
        """The test rows, of the cohort alone where one is chosen."""
        return self.whole_test if self.cohort is None else self.cohort.test

    @property
    def shown(self) -> Predictions:
        """Rows of the cohort where one is chosen, else every row."""
        return self.data if self.cohort is None else self.cohort.data

    @property
    def test_numbers(self) -> Ints:
        """Numbers of the test rows in the data, from 1."""
        numbers = self._whole_test_numbers + 1
        return numbers if self.cohort is None else numbers[self.cohort.test_inside]

    @property
    def _whole_test_numbers(self) -> Ints:
        data = self.data
        return split_rows(data.labels, self.part, data.given_split, self.seed, data.clusters)[1]

    def show_cohort(self, columns: Sequence[str], name: str) -> bool:
        """Restrict the pages to a group of rows, unless there is none of this name with test rows enough."""
        inside = rows_in_group(self.data.group_columns(), self.data.times, columns, name)
        if inside is None:
            return False
        test_inside = inside[self._whole_test_numbers]
        if np.count_nonzero(test_inside) < LEAST_OF_COHORT:
            return False
        data = self.data.take(inside)
        test = self.whole_test.take(test_inside)
        self.cohort = Cohort(tuple(columns), name, inside, test_inside, data, test)
        return True

    @contextmanager
    def all_rows(self) -> Iterator[None]:
        """Leave the cohort aside for what is drawn within."""
        cohort, self.cohort = self.cohort, None
        try:
            yield
        finally:
            self.cohort = cohort

    @property
    def view(self) -> View:
        """View of the pages: of two classes the event unless the visitor asked for the predicted class."""
        view = view_of(self.data, self.viewpoint)
        return replace(view, event_name=self.picked.get(NOUN) or view.event_name)

    def seen(self, key: Hashable) -> Hashable:
        """The key of what is computed in the view and of the rows that the visitor looks at."""
        key = key if self.cohort is None else (self.cohort.test.sha256, key)
        return key if self.view.column is None else (self.view.key, key)

    def split(self, part: float | None, seed: int, most: int | None = None) -> None:
        """Split the open data; only the fits that were asked for on this split are shown. Raises DataError."""
        part = _usual_part(self.data, part)
        if (self.part, self.seed, self.most) == (part, seed, most):
            return
        calibration, test, drawn = _split(self.data, part, seed, most)
        self.part = part
        self.seed = seed
        self.most = most
        self.drawn = drawn
        self.calibration, self.whole_test = calibration, test
        if (cohort := self.cohort) is not None:
            self.cohort = None
            self.show_cohort(cohort.columns, cohort.name)
        self.cached = {}
        self.built = {}
        self.studies = {}
        self.waiting = {}
        self.carried = {}

    def go_on_from(self, before: OpenSession) -> None:
        """Take over split, fits and studies of a session with the same data."""
        self.visitor = before.visitor
        self.split(before.part, before.seed, before.most)
        self.specs_of_splits = before.specs_of_splits
        if self.split_key == before.split_key:
            self.studies = before.studies
            self.carried = before.carried
        if before.cohort is not None:
            self.show_cohort(before.cohort.columns, before.cohort.name)


def _split(
    data: Predictions, part: float | None, seed: int, most: int | None
) -> tuple[Predictions, Predictions, str]:
    """Both parts, with their large arrays in files that all workers map, and what was drawn of the first."""
    calibration, test = data.split(part, random_state=seed)
    calibration, drawn = fewer_rows(calibration, most, seed)
    return _shared(calibration), _shared(test), drawn


def _shared(part: Predictions) -> Predictions:
    arrays = {name: getattr(part, name) for name in ("logits", "features", "train_features")}
    shared: dict[str, Any] = {
        name: on_disk(array) for name, array in arrays.items() if array is not None
    }
    return replace(part, **shared)


def _usual_part(data: Predictions, part: float | None) -> float | None:
    return 0.5 if part is None and data.given_split is None else part


def find_session() -> OpenSession | None:
    """Session of the visitor, or None."""
    return st.session_state.get(SESSION)


def find_visitor() -> Visitor | None:
    """The visitor, with what they have open or without; None where no page is drawn."""
    session = find_session()
    if session is None and get_script_run_ctx(suppress_warning=True) is not None:
        visitor: Visitor = st.session_state.setdefault(VISITOR, Visitor())
        return visitor
    return session


def current_session() -> OpenSession:
    """Session of the visitor; for callbacks of parts that are drawn with open data alone."""
    session = find_session()
    if session is None:
        raise CalibrationError("No data are open.")
    return session


def once_for(mark: Hashable, key: str, build: Callable[[], T]) -> T:
    """Build a value once for the files with this mark; the value for other files makes way for it."""
    entry = st.session_state.get(key)
    if entry is None or entry[0] != mark:
        entry = st.session_state[key] = mark, build()
    value: T = entry[1]
    return value


def keep(key: Hashable, build: Callable[[], T]) -> T:
    """Build a value once per key and view on the open split, and keep it.

    A rerun draws a whole page, and building one plotly figure takes some 40 ms. The key names fits the result
    depends on besides the data and the split, which empty the store when they change: fits by their key.
    """
    visitor = find_visitor()
    if visitor is None:
        return build()
    key = visitor.seen(key)
    cached = visitor.cached
    if key in cached:
        cached[key] = cached.pop(key)  # to the end: used last
        return cached[key][0]
    value = build()
    cached[key] = value, nbytes(value)
    while len(cached) > 1 and (
        len(cached) > MOST_KEPT
        or sum(size for _, size in cached.values()) > MOST_OF_ONE * KEPT_SHARE
    ):
        del cached[next(iter(cached))]
    return value
