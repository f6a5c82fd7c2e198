"""State of the Geometry page: separations of the test rows, each computed once in a limited time.

Reductions of the training set are measured by a worker, setting by setting, until done or stopped.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from calib.calibrators.geometric import MAPS, apply_success_map, fit_success_map
from calib.calibrators.geometric.neighbours import nearest
from calib.calibrators.geometric.training_set import TrainingSet
from calib.data import Predictions
from calib.diagnostics.reduction_cost import Tradeoff, measured_of_rows, subsets
from calib.diagnostics.reliability import default_bins
from calib.diagnostics.separation import (
    EXACT,
    Explanation,
    PrincipalPlane,
    SeparationHistogram,
    Sides,
    SuccessRates,
    Timed,
    explain_among,
    principal_plane,
    separation_histogram,
    success_rates,
    timed_separation_of_rows,
)
from calib.errors import CalibrationError
from calib.jobs.local import UnexpectedError, WorkerDied
from calib.jobs.protocol import Data
from calib.numerics import Floats, Ints, softmax
from calib.plots.geometry import Neighbour
from calib.plots.geometry_success import SuccessMap
from calib.plots.style import method_style
from calib.registry import calibrator, extras_for
from calib.ui.fits import queue, ready
from calib.ui.session import OpenSession, current_session, keep

SECONDS = 1.0
"""For each part and kind of separation; what is not reached by then is left out, and the page says so."""
KEPT_NUMBERS = 8_000_000
"""A prepared training set of more numbers is made again when it is needed, not kept for every visitor."""
POINTS = 200
STYLES = {
    "isotonic": replace(method_style("isotonic"), dash="solid"),
    "sigmoid": replace(method_style("platt"), dash="dash"),
}

FACTORS = (2, 3, 4)
Setting = tuple[str, int]


@dataclass(frozen=True, eq=False)
class Row:
    """One test row: its number, its classes by number, the model's confidence and what decides its separation."""

    number: int
    predicted: int
    label: int
    confidence: float
    why: Explanation

    @property
    def right(self) -> bool:
        """Whether the prediction is right."""
        return self.predicted == self.label


@dataclass(frozen=True, eq=False)
class Features:
    """Features of the test rows and of the training rows, and the training rows' labels."""

    test: npt.NDArray[Any]
    train: npt.NDArray[Any]
    train_labels: Ints

    @classmethod
    def from_session(cls, session: OpenSession) -> Features | None:
        """Those of the open data; None where one of them is missing."""
        test = session.test
        if test.features is None or test.train_features is None or test.train_labels is None:
            return None
        return cls(test.features, test.train_features, test.train_labels)


@dataclass(frozen=True, eq=False)
class Study:
    """A split under one kind of separation.

    Attributes
    ----------
    calibration, test : the parts of the split.
    features : what separations are measured on.
    kind : "l2", "l1", "linf" or "exact".
    """

    calibration: Predictions
    test: Predictions
    features: Features
    kind: str

    @cached_property
    def training(self) -> TrainingSet:
        """The training set in the order that searches read."""

        def build() -> TrainingSet:
            return TrainingSet.from_arrays(self.features.train, self.features.train_labels)

        return keep(("geometry", "training"), build) if self.features.train.size <= KEPT_NUMBERS else build()

    @property
    def n_train(self) -> int:
        """Number of training rows."""
        return len(self.features.train_labels)

    @cached_property
    def predicted(self) -> Ints:
        """Class of the largest logit of each test row."""
        return np.argmax(self.test.logits, axis=1)

    @cached_property
    def right(self) -> npt.NDArray[np.bool_]:
        """Whether each test row's prediction is right."""
        return self.predicted == self.test.labels

    def measured(self, kind: str | None = None) -> Timed:
        """Separations of the test rows, of another kind on request."""
        return self._timed("test", kind or self.kind)

    def _timed(self, part: str, kind: str) -> Timed:
        rows = self.test if part == "test" else self.calibration
        arrays = {
            "features": rows.features,
            "predicted": keep(("geometry", part, "predicted"), lambda: np.argmax(rows.logits, axis=1)),
            "train_features": self.features.train,
            "train_labels": self.features.train_labels,
        }
        data, what = Data(f"{rows.sha256} and the training set", arrays), f"the separations of the {part} rows"
        return ready(("geometry", part, kind), what, timed_separation_of_rows, kind, SECONDS, data=data)

    @cached_property
    def sides(self) -> Sides:
        """Safe and dangerous test rows, and those well inside their class."""
        measured = self.measured()
        return Sides.from_separations(measured.separation, self.right[measured.rows])

    @cached_property
    def rates(self) -> SuccessRates:
        """Success rates of the test rows."""
        measured = self.measured()
        return success_rates(measured.separation, self.right[measured.rows], default_bins(len(measured.rows)))

    @cached_property
    def histogram(self) -> SeparationHistogram:
        """Separations of the right and the wrong test rows."""
        measured = self.measured()
        return separation_histogram(measured.separation, self.right[measured.rows])

    @cached_property
    def learned(self) -> Timed:
        """Separations of the calibration rows, from which the maps are learned."""
        return self._timed("calibration", self.kind)

    @cached_property
    def grid(self) -> Floats:
        """Separations at which maps are drawn: all that test rows have."""
        edges = self.histogram.edges
        return np.linspace(edges[0], edges[-1], POINTS)

    def map_at(self, kind: str, separation: Floats) -> Floats:
        """Success rate that a map learned from the calibration rows gives separations."""
        known = self.learned.separation[np.isfinite(self.learned.separation)]
        limits = (known.min(), known.max()) if len(known) else (-1.0, 1.0)

        def build() -> dict:
            right = np.argmax(self.calibration.logits, axis=1) == self.calibration.labels
            return fit_success_map(kind, np.clip(self.learned.separation, *limits), right[self.learned.rows])

        state = keep(("geometry map", kind, self.kind), build)
        return apply_success_map(state, np.clip(separation, *limits))

    @property
    def maps(self) -> list[SuccessMap]:
        """Both maps on the grid, in the colours of the methods that use them elsewhere."""
        return [SuccessMap(kind, STYLES[kind], self.map_at(kind, self.grid)) for kind in MAPS]

    def separation_of(self, row: Row) -> Floats:
        """The separation of a row under this kind, (1,)."""
        if self.kind in ("l2", EXACT):
            return np.array([row.why.fast if self.kind == "l2" else row.why.exact])
        queries = self.training.queries(self.features.test[[row.number]], np.array([row.predicted]))
        return keep(("geometry row", row.number, self.kind), lambda: nearest(self.training, *queries, self.kind).fast)

    @cached_property
    def confidence(self) -> Floats:
        """The raw model's confidence in each test row."""
        return keep(("geometry", "confidence"), lambda: softmax(self.test.logits).max(axis=1))

    def row(self, number: int) -> Row:
        """Why a test row has the separation it has."""
        predicted = int(self.predicted[number])

        def build() -> Explanation:
            return explain_among(self.training, self.features.test[number], predicted)

        why = keep(("geometry explain", number), build)
        return Row(number, predicted, int(self.test.labels[number]), float(self.confidence[number]), why)

    def flat(self, number: int) -> Floats:
        """Features (d,) of a test row in the training set's precision."""
        return self.features.test[number].reshape(-1).astype(self.training.features.dtype)

    def training_class_names(self, rows: Sequence[int] | Ints) -> list[str]:
        """Names of the classes of training rows."""
        return [str(self.test.class_names[label]) for label in self.features.train_labels[rows]]

    def neighbours(self, number: int, rows: list[int]) -> list[Neighbour]:
        """Training rows as a picture names them, with their true distances from a test row."""
        gaps = self.training.features[rows].astype(np.float64) - self.flat(number)
        away = np.linalg.norm(gaps, axis=1)
        names = self.training_class_names(rows)
        return [Neighbour(*about) for about in zip(rows, names, map(float, away), strict=True)]

    @cached_property
    def components(self) -> PrincipalPlane:
        """The training set on its first two principal components."""
        return keep(("geometry", "components"), lambda: principal_plane(self.training))


@dataclass(eq=False)
class Measuring:
    """What was measured so far, and what is still to be.

    Attributes
    ----------
    calibration, test : the rows it is measured on.
    results : results by setting, from this and earlier requests.
    futures : what a worker still measures, by setting, in order.
    asked : how many there were when it was begun.
    trouble : why it ended early, if it did.
    """

    calibration: Predictions
    test: Predictions
    results: dict[Setting, Tradeoff] = field(default_factory=dict)
    futures: dict[Setting, Future[Tradeoff]] = field(default_factory=dict)
    asked: int = 0
    trouble: str = ""

    @classmethod
    def from_session(cls, session: OpenSession) -> Measuring:
        """On the open split, or part of it."""
        return cls(*subsets(session.calibration, session.test))

    @property
    def n_train(self) -> int:
        """Training rows that are reduced."""
        return len(extras_for(calibrator("geometric"), self.test)["train_labels"])

    def missing(self, names: list[str]) -> list[Setting]:
        """Settings of these reductions that are not measured yet, and first of all none."""
        settings = [("none", 1), *((name, factor) for name in names for factor in FACTORS)]
        return [setting for setting in settings if setting not in self.results]

    @property
    def waiting(self) -> list[Setting]:
        """Settings still to be measured, in order; takes in what was measured since."""
        for setting, future in list(self.futures.items()):
            if future.done() and self.futures.pop(setting, None) is not None:
                self._take(setting, future)
        return list(self.futures)

    def begin(self, names: list[str]) -> None:
        """Start to measure what is missing."""
        data = Data(f"{self.test.sha256} reductions", {"calibration": self.calibration, "test": self.test})
        owner = current_session().visitor
        self.futures = {
            setting: queue().compute(measured_of_rows, *setting, data=data, owner=owner, lane="study")
            for setting in self.missing(names)
        }
        self.asked, self.trouble = len(self.futures), ""

    def stop(self) -> None:
        """Measure no more; results stay."""
        going, self.futures = self.futures, {}
        for future in going.values():
            queue().give_up(future)

    def shown(self, names: list[str]) -> list[Tradeoff]:
        """Results of these reductions, and of none."""
        return [one for one in list(self.results.values()) if one.reduction in ("none", *names)]

    def _take(self, setting: Setting, future: Future[Tradeoff]) -> None:
        try:
            self.results[setting] = future.result()
        except (CalibrationError, WorkerDied) as error:
            self._end_early(str(error))
        except UnexpectedError as error:
            logging.getLogger("calib").error("reductions could not be measured\n%s", error.trace)
            self._end_early(f"{error}; the log of the app has the details.")

    def _end_early(self, why: str) -> None:
        self.trouble = why
        self.stop()
