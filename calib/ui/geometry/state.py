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

import numpy.typing as npt

from calib.calibrators.geometric import MAPS
from calib.data import Predictions
from calib.diagnostics.separation import Explanation, PrincipalPlane
from calib.diagnostics.separation_study import (
    ExplainedInput,
    PlacedInput,
    SeparationCosts,
    SeparationStudy,
    Tradeoff,
    compare_separations,
    explain_input,
    measured_of_rows,
    place_input,
    plane_of_training,
    study_separations,
    subsets,
)
from calib.engine import Data, WorkerDied
from calib.errors import CalibrationError, UnexpectedError
from calib.evaluation import Evaluation
from calib.numerics import Ints
from calib.plots.geometry import Neighbour
from calib.plots.geometry_success import SuccessMap
from calib.plots.style import method_style
from calib.registry import calibrator, extras_for
from calib.ui.fits import queue, ready
from calib.ui.session import OpenSession, current_session

SECONDS = 1.0
"""For each part and kind of separation; what is not reached by then is left out, and the page says so."""
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
    explained: ExplainedInput

    @property
    def right(self) -> bool:
        """Whether the prediction is right."""
        return self.predicted == self.label

    @property
    def why(self) -> Explanation:
        """What decides."""
        return self.explained.why


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
    """A split under one kind of separation; workers compute what pages show of it.

    Attributes
    ----------
    session : with the split.
    features : what separations are measured on.
    raw : the raw model on the test rows.
    kind : "l2", "l1", "linf" or "exact".
    """

    session: OpenSession
    features: Features
    raw: Evaluation
    kind: str

    @property
    def n_train(self) -> int:
        """Number of training rows."""
        return len(self.features.train_labels)

    @cached_property
    def data(self) -> Data:
        """What workers compute on."""
        calibration, test = self.session.calibration, self.session.test
        arrays = {
            "features": test.features,
            "logits": test.logits,
            "labels": test.labels,
            "calibration_features": calibration.features,
            "calibration_logits": calibration.logits,
            "calibration_labels": calibration.labels,
            "train_features": self.features.train,
            "train_labels": self.features.train_labels,
        }
        return Data(f"{self.session.split_key} separations", arrays)

    @cached_property
    def measured(self) -> SeparationStudy:
        """Separations of both parts, and what follows from them."""
        key, what = ("geometry", self.kind), "the separations of the test rows"
        return ready(key, what, study_separations, self.kind, SECONDS, data=self.data)

    @property
    def costs(self) -> SeparationCosts:
        """Fast separation beside the exact one."""
        return ready(("geometry", "costs"), "exact separations", compare_separations, SECONDS, data=self.data)

    @property
    def maps(self) -> list[SuccessMap]:
        """Both maps on the grid, in the colours of the methods that use them elsewhere."""
        study = self.measured
        return [SuccessMap(kind, STYLES[kind], study.map_at(kind, study.grid)) for kind in MAPS]

    def row(self, number: int) -> Row:
        """Why a test row has the separation it has."""
        key, what = ("geometry row", number, self.kind), f"what decides the separation of row {number:,}"
        explained = ready(key, what, explain_input, number, self.kind, data=self.data)
        predicted, label = int(self.raw.predicted[number]), int(self.raw.labels[number])
        return Row(number, predicted, label, float(self.raw.confidence[number]), explained)

    def training_class_names(self, rows: Sequence[int] | Ints) -> list[str]:
        """Names of the classes of training rows."""
        return [str(self.session.data.class_names[label]) for label in self.features.train_labels[rows]]

    def neighbours(self, row: Row, rows: list[int]) -> list[Neighbour]:
        """Training rows that decide as a picture names them, with their true distances from a test row."""
        away = [row.explained.away[number] for number in rows]
        return [Neighbour(*about) for about in zip(rows, self.training_class_names(rows), away, strict=True)]

    @property
    def components(self) -> PrincipalPlane:
        """The training set on its first two principal components."""
        return ready(("geometry", "components"), "the principal components", plane_of_training, data=self.data)

    def placed(self, row: Row, rows: list[int]) -> PlacedInput:
        """A test row and training rows on the principal components."""
        key, what = ("geometry placed", row.number, tuple(rows)), f"where row {row.number:,} lies"
        return ready(key, what, place_input, row.number, self.components, rows, row.why.exact, data=self.data)


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
            setting: queue().compute(measured_of_rows, *setting, data=data, owner=owner, kind="study")
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
