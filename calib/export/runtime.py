"""An exported calibrator, and reading it back: this module and all it loads need NumPy alone."""

from __future__ import annotations

import io
import pickle
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from calib.base import MINDS_OFFSETS, NO_STEPS, Calibrator, Predictor
from calib.calibrators.steps import Step
from calib.canonical import (
    KINDS,
    ONE_COLUMN,
    Kind,
    is_scale,
)
from calib.decisions.conformal import PredictionSets
from calib.decisions.rules import (
    ABSTAIN,
    ABSTAIN_NAME,
    AnswerAbove,
    AnyRule,
    made_of,
    rule_from_state,
)
from calib.errors import CalibrationError
from calib.export import predict
from calib.export.decisions import check_decisions, held
from calib.formatting import plural
from calib.numerics import Floats, Ints, argmax_with_ties
from calib.outputs import OutputFormat, Seen
from calib.parameters import number_fault, short_repr
from calib.records import arrays_of, without_arrays
from calib.registry import METHODS, registry_name

__all__ = ["load"]

NPZ = "calibrator.npz"
"""Name of the file inside a bundle."""


@dataclass(eq=False, repr=False, kw_only=True)
class StepsCalibrator(Calibrator):
    """A calibrator that was read from an npz: it predicts by its steps, and learns nothing.

    Attributes
    ----------
    n_classes_ : columns of its outputs.
    method_, params_ : of the method that was fitted.
    steps_ : what it computes.
    promises_, notes_ : of the fit.
    groups_ : its maps by group; None without them.
    """

    n_classes_: int
    method_: str
    params_: dict[str, Any]
    steps_: list[Step]
    promises_: list[str]
    notes_: list[str]
    groups_: dict[str, Any] | None = None

    traits = frozenset({MINDS_OFFSETS})  # the steps take logits as they are

    def promises(self, n_classes: int) -> frozenset[str]:
        """Of the method that was fitted."""
        return frozenset(self.promises_)

    def notes(self) -> list[str]:
        """Of the fit."""
        return self.notes_

    def steps(self) -> list[Step]:
        """Steps of the file."""
        if self.groups_ is not None:
            raise CalibrationError(NO_STEPS)
        return self.steps_

    def shared_steps(self) -> list[Step]:
        """Steps that all groups share, of the file."""
        return self.steps_

    @property
    def needs_groups(self) -> bool:
        """Return whether the file has maps by group."""
        return self.groups_ is not None

    @property
    def group_column(self) -> str:
        """Column of the groups in the data of the fit."""
        return "" if self.groups_ is None else str(self.groups_["column"])

    def departures(self) -> dict[str, Any] | None:
        """Departures of the groups, of the file."""
        return self.groups_

    def _predict(self, logits: Floats, groups: Any = None) -> Floats:
        with damage_in_words():
            return predict.probabilities(self.steps_, logits, self.promises_, self.groups_, groups)

    def _changed(self) -> list[str]:
        return [f"method={self.method_}"]


@dataclass(eq=False)
class ExportedCalibrator(OutputFormat, Predictor):
    """A fitted calibrator with all that is needed to use it far from where it was fitted.

    Attributes
    ----------
    calibrator : Calibrator
        The fitted calibrator itself.
    decision : EventCut, AnswerAbove or None
        Rule that :meth:`decide` follows. It holds for this calibrator's probabilities alone.
    sets : PredictionSets or None
        Quantiles that :meth:`prediction_sets` uses; they hold for this calibrator alone too.
    kind : str
        What the model writes out, see :data:`calib.canonical.Kind`.
    floor : float or None
        The probability that stands for an exact zero, as in the calibration data; None if it had none.
    class_names : tuple of str
        One name per class.
    classes : tuple
        The label of each column, as labels were given to the fit; () where these are the numbers of the columns.
    scale : str, float or None
        How the outputs are written, see :data:`calib.canonical.SCALES`; None for the plain scale.
    seen : Seen or None
        Range of the outputs that it was fitted on, with which new ones are compared; None where that is not known.
    base_rate : ndarray of shape (n_classes,) or None
        Frequencies of the classes.
    columns : tuple of str
        Names of the outputs in the table of the calibration data, in the order of the classes; () where they came from
        no table.
    metadata : dict of str to object
        What else was recorded: data hash, scores, versions, notes.
    """

    calibrator: Calibrator
    decision: AnyRule | None = None
    sets: PredictionSets | None = None

    def __post_init__(self) -> None:
        if not self.calibrator.fitted:
            raise CalibrationError(
                f"This {type(self.calibrator).__name__} is not fitted yet; fit it, then export it."
            )
        if self.kind not in tuple(KINDS):
            raise CalibrationError(
                f"Unknown kind of outputs {short_repr(self.kind)}; it is one of {', '.join(KINDS)}."
            )
        if self.floor is not None and (
            number_fault(self.floor, False, 0, 1) or self.floor in (0, 1)
        ):
            raise CalibrationError(
                f"The floor for zero probabilities must lie between 0 and 1; got {short_repr(self.floor)}."
            )
        if self.scale is not None and not is_scale(self.scale):
            raise CalibrationError(f"Unknown scale of outputs {self.scale!r:.40}.")
        self.metadata = without_arrays(self.metadata)
        if not isinstance(self.metadata, dict):
            raise CalibrationError(
                f"What is recorded of a calibrator has names; got {short_repr(self.metadata)}."
            )
        n_columns = self.calibrator.n_classes_
        self.columns = tuple(map(str, self.columns))
        self.class_names = tuple(map(str, self.class_names)) or tuple(map(str, range(n_columns)))
        if len(self.class_names) != n_columns:
            raise CalibrationError(
                f"{plural(len(self.class_names), 'class name')} for {n_columns} classes."
            )
        if self.kind in ONE_COLUMN and self.n_classes != 2:
            raise CalibrationError(
                f"Outputs of kind {self.kind!r} have 2 classes; the calibrator has {self.n_classes}."
            )
        probabilities = self.calibrator.gives_probabilities
        check_decisions(
            self.base_rate, self.decision, self.sets, self.n_classes, self.kind, probabilities
        )

    @property
    def method(self) -> str:
        """Registry name of the method."""
        fitted = self.calibrator
        name = fitted.method_ if isinstance(fitted, StepsCalibrator) else registry_name(fitted)
        if name not in METHODS:
            raise CalibrationError(
                f"{type(self.calibrator).__name__} is not a registered method and has no export."
            )
        return name

    @property
    def params(self) -> dict[str, Any]:
        """Hyper-parameters by name."""
        fitted = self.calibrator
        return fitted.params_ if isinstance(fitted, StepsCalibrator) else fitted.get_params()

    @property
    def needs_features(self) -> bool:
        """Return whether the calibrator predicts from the inputs of the rows, beside a model's outputs."""
        return "features" in self.calibrator.needs

    @property
    def needs_groups(self) -> bool:
        """Return whether the calibrator has maps by group, and takes the groups of rows."""
        return self.calibrator.needs_groups

    @property
    def group_column(self) -> str:
        """Column of the groups in the data of the fit; "" where they were passed as an array."""
        recorded = self.metadata.get("group_column", "") if self.needs_groups else ""
        return self.calibrator.group_column or str(recorded)

    @property
    def gives_probabilities(self) -> bool:
        """Return whether the calibrator predicts probabilities of all classes."""
        return self.calibrator.gives_probabilities

    def probs_from_logits(self, logits: Any, groups: Any = None) -> Floats:
        """Calibrated probabilities of the calibrator inside."""
        return self.calibrator.probs_from_logits(logits, groups)

    def confidence_from_logits(
        self, logits: Any, features: Any = None, groups: Any = None
    ) -> Floats:
        """Confidence; of pairs the calibrated one that each answer is correct. Features are as they were uploaded."""
        confidence = self.answer(logits, features, groups=groups)["confidence"]
        return cast(Floats, confidence)

    def decide(
        self,
        outputs: Any,
        features: Any = None,
        kind: Kind | None = None,
        groups: Any = None,
    ) -> Ints:
        """Action of each row for a model's outputs as they were uploaded, by the file's own rule.

        With a cut 1 where the event's probability reaches it and 0 elsewhere; with a threshold of the confidence the
        predicted class (of pairs 1: the answer is given). A row on which it abstains has the action -1.

        Parameters
        ----------
        outputs : array_like
            As for :meth:`to_logits`.
        features : array_like of shape (n, ...) or None, default None
            As for :meth:`predict_confidence`.
        kind : str or None, default None
            As for :meth:`to_logits`.
        groups : array_like of shape (n,) or None, default None
            As for :meth:`predict_proba`.

        Returns
        -------
        ndarray of int of shape (n,)
            Numbers of actions; :attr:`action_names` has their names.

        Raises
        ------
        CalibrationError
            If the file holds no decision.
        """
        held(self, "decision")
        logits = self.to_logits(outputs, kind)
        groups = self.groups_of_rows(outputs, groups)
        predictions = self.answer(logits, features, ("actions",), groups)
        return cast(Ints, predictions["actions"])

    @property
    def action_names(self) -> dict[int, str]:
        """Name of each action of :meth:`decide`, by its number."""
        rule: AnyRule = held(self, "decision")
        named = (
            {1: "answer"} if self.kind == "pairs" else dict(enumerate(rule.names(self.class_names)))
        )
        return named | ({ABSTAIN: ABSTAIN_NAME} if isinstance(rule, AnswerAbove) else {})

    def prediction_sets(
        self, outputs: Any, kind: Kind | None = None, groups: Any = None
    ) -> npt.NDArray[np.bool_]:
        """Find the prediction set of each row, for a model's outputs as they were uploaded.

        They hold the label with the probability that :attr:`sets` says, where rows are exchangeable
        with those that they were fitted on.

        Parameters
        ----------
        outputs : array_like
            As for :meth:`to_logits`.
        kind : str or None, default None
            As for :meth:`to_logits`.
        groups : array_like of shape (n,) or None, default None
            As for :meth:`predict_proba`.

        Returns
        -------
        ndarray of bool of shape (n, n_classes)
            True where the class is in the set.

        Raises
        ------
        CalibrationError
            If the file holds no prediction sets.
        """
        probs = self.predict_proba(outputs, kind, groups)
        return cast(PredictionSets, held(self, "sets")).predict(probs)

    def answer(
        self,
        logits: Any,
        features: Any = None,
        more: Sequence[str] = (),
        groups: Any = None,
    ) -> dict[str, Any]:
        """Predictions, decisions and sets for rows, by name.

        Parameters
        ----------
        logits : ndarray
            As :meth:`to_logits` gives them.
        features : ndarray or None, default None
            Inputs of the rows, on the scale of the training set.
        more : sequence of str, optional
            ``actions`` and ``sets``, where these are wanted too.
        groups : array_like of shape (n,) or None, default None
            Group of each row, which a map by group needs.

        Returns
        -------
        dict
            ``probabilities`` (n, n_classes) where the calibrator gives them, and ``predicted`` and ``confidence`` (n,);
            of pairs ``confidence`` alone.
        """
        calibrator = self.calibrator
        groups = self.groups_of_rows(None, groups)
        predictions = dict[str, Any]()
        if self.kind == "pairs":
            predictions["confidence"] = calibrator.probs_from_logits(logits, groups)[:, 1]
        else:
            if calibrator.gives_probabilities:
                probs = predictions["probabilities"] = calibrator.probs_from_logits(logits, groups)
                confidence = probs.max(axis=1)
            else:
                probs = logits
                confidence = calibrator.confidence_from_logits(logits, features)
            predictions |= {"predicted": argmax_with_ties(probs, logits), "confidence": confidence}
        if "actions" in more:
            rule: AnyRule = held(self, "decision")
            if isinstance(rule, AnswerAbove):  # of pairs the answer is what was predicted
                predictions["actions"] = rule.answer(
                    predictions["confidence"],
                    predictions.get("predicted", np.ones(len(logits), np.int64)),
                )
            else:
                predictions["actions"] = rule.decide(predictions["probabilities"])
        if "sets" in more:
            predictions["sets"] = held(self, "sets").predict(predictions["probabilities"])
        return predictions


@dataclass(eq=False)
class SavedCalibrator(ExportedCalibrator):
    """An exported calibrator that was read from an npz, with all types that a reader's answer is checked against."""

    calibrator: StepsCalibrator


def load(path: str | Path) -> ExportedCalibrator:
    """Load an exported calibrator from ``.npz``, from a bundle (``.zip``) or from a pickle (``.pkl``).

    The first two are read as data, and predict by their steps. A pickle holds the fitted object, with which GPcalib can
    go on; unpickling can run code, so load only one you trust.

    Parameters
    ----------
    path : str or Path
        File to read.

    Returns
    -------
    ExportedCalibrator
        Ready to predict.

    Raises
    ------
    CalibrationError
        If there is no such file, or it is damaged, changed or something else.

    Examples
    --------
    >>> import os, tempfile
    >>> import calib
    >>> fitted = calib.calibrator("platt").fit([0.2, 0.4, 0.6, 0.8], [0, 1, 0, 1])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = calib.export.save(fitted, os.path.join(folder, "calibrator.npz"))
    ...     loaded = calib.runtime.load(path)
    >>> bool((loaded.predict_proba([0.3]) == fitted.predict_proba([0.3])).all())
    True
    """
    path = Path(path)
    suffix = path.suffix.lower()
    if suffix not in (".npz", ".zip", ".pkl"):
        raise CalibrationError(
            f"{path.name} is not an exported calibrator; expected .npz, .zip or .pkl."
        )
    if not path.is_file():
        raise CalibrationError(f"{path.name} was not found in {path.parent}.")
    content = path.read_bytes()
    with damage_in_words():
        if suffix == ".pkl":
            loaded = pickle.loads(content)
            if not isinstance(loaded, ExportedCalibrator):
                raise CalibrationError(
                    f"{path.name} holds a {type(loaded).__name__}, not an exported calibrator."
                )
            return loaded
        return from_arrays(arrays_of(npz_in(content)))


def npz_in(content: bytes) -> bytes:
    """The npz itself, or that in a bundle, whose other members are left alone."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        if NPZ not in archive.namelist():
            return content
        return archive.read(NPZ)


def from_arrays(arrays: dict[str, npt.NDArray[Any]]) -> SavedCalibrator:
    """An exported calibrator from the arrays of its npz, which is tried on a few rows."""
    with damage_in_words():
        record = predict.Calibrator(dict(arrays)).record
        fitted = StepsCalibrator(
            n_classes_=int(record["n_columns"]),
            method_=str(record["method"]),
            params_=dict(record["params"]),
            steps_=record["steps"],
            promises_=[*map(str, record["promises"])],
            notes_=[*map(str, record["notes"])],
            groups_=record["groups"],
        )
        fitted.check_state()
        if fitted.method_ not in METHODS:
            raise CalibrationError(
                f"The calibrator's method {short_repr(fitted.method_)} is none of calib; update calib."
            )
        saved = SavedCalibrator(
            calibrator=fitted,
            kind=record["kind"],
            floor=record["floor"],
            class_names=tuple(record["class_names"]),
            classes=tuple(record["classes"]),
            metadata=record["metadata"],
            scale=record["scale"],
            columns=tuple(record["columns"]),
            seen=Seen.from_state(record["seen"]),
            base_rate=record["base_rate"],
            decision=rule_from_state(record["decision"]),
            sets=None if record["sets"] is None else made_of(PredictionSets, record["sets"]),
        )
        # Only now is the number of columns known to be that of the class names, which the file holds.
        fitted.outputs_ = OutputFormat.numbered(saved.n_classes)
        return saved


@contextmanager
def damage_in_words() -> Iterator[None]:
    """Whatever goes wrong with what a file holds becomes one sentence."""
    try:
        yield
    except CalibrationError:
        raise
    except predict.Refused as error:
        raise CalibrationError(str(error)) from error
    except Exception as error:  # zipfile, NumPy, pickle and the steps raise many types on what was not written here
        raise CalibrationError(
            f"The calibrator's file does not hold what it should ({type(error).__name__}); it was damaged or changed, "
            "so export the calibrator again."
        ) from error
