"""The contract of a calibrator: what it declares, what it promises, and how it is fitted and asked."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
import numpy.typing as npt

from calib.errors import CalibrationError, FitCancelled, missing_package
from calib.formatting import Displayed
from calib.numerics import (
    PREDICTED_ENTRIES,
    Floats,
    Ints,
    argmax_with_ties,
    blocks,
    check_labels,
    check_logits,
    check_of_rows,
    less_row_maxima,
)
from calib.parameters import (
    Count,
    State,
    Text,
    check_declared,
    check_state,
    declared_state,
    param,
    parameter_names,
    shown,
    unknown_parameter,
    unusable,
)
from calib.top_k import TopK, TopKProbs

# With the names of the modules below that whoever writes or calls a calibrator needs beside the contract.
__all__ = [
    "EQUIVARIANT",
    "GIVES_UNCERTAINTY",
    "KEEPS_ACCURACY",
    "KEEPS_RANKING",
    "ROWS_SUM_TO_ONE",
    "CalibrationError",
    "Calibrator",
    "Callback",
    "FitCancelled",
    "LabelledBlocks",
    "check_declared",
    "no_callback",
    "param",
    "parameter_names",
]

Callback = Callable[[int, int, float], None]
"""``callback(step, total, value)`` during a long fit; it may raise to cancel."""

KEEPS_ACCURACY = "keeps accuracy"
KEEPS_RANKING = "keeps ranking"
ROWS_SUM_TO_ONE = "rows sum to one"
EQUIVARIANT = "equivariant to relabelling"
GIVES_UNCERTAINTY = "gives uncertainty"


def no_callback(step: int, total: int, value: float) -> None:
    """Ignore progress."""


Result = TypeVar("Result")


@dataclass(frozen=True, eq=False, kw_only=True)
class LabelledBlocks(ABC):
    """A calibration set that need not fit into memory: what :meth:`Calibrator.fit_blocks` learns from.

    One pass over all rows has checked them and found the range and the counts.

    Attributes
    ----------
    shape : rows and classes, (n, n_classes).
    labels : (n,) integers in [0, n_classes).
    low, high : bounds of all logits.
    label_on_top : (n,) whether the label's logit is as large as any of its row.
    rows_differ : whether any row has two different logits.
    """

    labels: Ints
    low: float
    high: float
    label_on_top: npt.NDArray[np.bool_]
    rows_differ: bool

    @property
    @abstractmethod
    def shape(self) -> tuple[int, int]:
        """Rows and classes."""

    @abstractmethod
    def each(self, work: Callable[[Floats, Ints], Result], title: str) -> Iterator[Result]:
        """``work(logits, labels)`` of every block, in the order of the rows: one pass, whose progress has a title.

        Blocks are float32 or float64, as stored. ``work`` runs on several threads at once.
        """

    @abstractmethod
    def take(self, rows: Ints) -> Floats:
        """The logits of the rows of these increasing numbers, in float64."""


@dataclass(eq=False, repr=False, kw_only=True)
class Calibrator(Displayed):
    """Base of every calibrator.

    A subclass is a keyword-only dataclass whose fields are declared with :func:`param`, and writes two
    hooks: ``_fit(logits, labels, callback)`` stores what it learned in attributes that end in ``_``, and
    ``_predict_proba(logits)`` uses NumPy alone. Inputs reach the hooks validated, as float64 and int64, and with the
    largest logit of each row at 0: a softmax does not see what is added to a row, and so no method does, unless it
    says so (``minds_offsets``).
    Learned attributes are numbers, strings, arrays, or lists and dicts of these, so that every calibrator
    can be exported the same way, and ``state`` declares what each must be. A method that gives a confidence in
    the predicted class alone writes ``predict_confidence`` instead of ``_predict_proba``. One that can learn from
    files larger than memory also writes ``fit_blocks``; one that can learn from the top k logits of very many classes
    derives from :class:`calib.calibrators.top_k_outputs.TopKCalibrator`.
    """

    random_state: int = param(0, low=0, help="Seed of everything random in the fit.")

    state: ClassVar[State] = {"n_classes_": Count(low=2), "device_": Text().or_absent()}
    """What each learned attribute must be; a subclass names its own, in the words of :mod:`calib.parameters`."""

    needs: ClassVar[frozenset[str]] = frozenset()
    """Keyword arguments beyond the logits that ``fit`` must be given, such as ``features``."""

    takes: ClassVar[frozenset[str]] = frozenset()
    """Keyword arguments that ``fit`` uses where given: ``clusters`` and ``weights`` of the rows, each (n,)."""

    positive: ClassVar[bool] = False
    """Whether no class gets the probability 0, but by rounding where the outputs are extreme."""

    needs_classes: ClassVar[bool] = False
    """Whether it learns from the outputs of all classes, so that one confidence for each answer is not enough."""

    keeps_half: ClassVar[bool] = False
    """Whether two classes with equal outputs stay equal: a confidence of one half is then one half for ever."""

    minds_offsets: ClassVar[bool] = False
    """Whether a constant added to a row can matter, so that ``_fit`` and ``_predict_proba`` are given logits as they
    are. GPcalib's does, whose latent function is one of the logit itself."""

    starts: ClassVar[bool] = False
    """Whether ``_fit`` is given an earlier fit as ``start``, from which its search goes on."""

    more_rows: ClassVar[str] = "Fit it again on all rows, old and new."
    """What to do when more rows come, in a sentence, for pages and exports."""

    min_rows: ClassVar[int] = 2

    passes: ClassVar[int] = 0
    """About how often a fit reads its logits where it could do so on a GPU."""

    # -- what subclasses write -------------------------------------------------------------------------

    def _fit(self, logits: Floats, labels: Ints, callback: Callback, **extras: Any) -> None:
        raise TypeError(f"{type(self).__name__} has no _fit")

    def _predict_proba(self, logits: Floats) -> Floats:
        raise TypeError(f"{type(self).__name__} has no _predict_proba")

    def fit_blocks(self, data: LabelledBlocks, callback: Callback) -> None:
        """Learn from rows that are read in blocks; optional.

        The hook for files larger than memory, as ``_fit`` is for arrays: it stores the same attributes, and so close
        to what ``_fit`` finds on the same rows that the difference does not matter.

        Parameters
        ----------
        data : the rows, which may be passed over several times, with their range and counts.
        callback : as that of ``_fit``.
        """
        raise TypeError(f"{type(self).__name__} has no fit_blocks")

    def check_blocks(self) -> None:
        """Raise :class:`CalibrationError` where ``fit_blocks`` cannot fit with these parameters."""

    def reads(self, n_logits: int) -> int:
        """About how many numbers a fit to so many logits reads where a GPU could; decides whether one pays."""
        return self.passes * n_logits

    def promises(self, n_classes: int) -> frozenset[str]:
        """What this configuration guarantees for ``n_classes`` classes; the contract test holds it to each."""
        return frozenset({ROWS_SUM_TO_ONE, EQUIVARIANT})

    def notes(self) -> list[str]:
        """Sentences about the finished fit that a person should read, most important first."""
        return []

    def parts(self) -> dict[str, float]:
        """The methods that the finished fit is a mean of, by registry name, with their weights; empty for others."""
        return {}

    def variant(self, n_classes: int) -> str:
        """What tells this configuration from another of the same method for ``n_classes``; shown behind the title.

        Neither the seed nor the device does: it is the same method, and the same function to rounding.
        """
        return ", ".join(self._changed())

    # -- what users call -------------------------------------------------------------------------------

    def fit(
        self,
        logits: Any,
        labels: Any,
        *,
        callback: Callback | None = None,
        start: Calibrator | None = None,
        **extras: Any,
    ) -> Self:
        """Learn from a calibration set.

        Parameters
        ----------
        logits : (n, n_classes) finite array; binary log-odds s are stored as the two columns (0, s). Or the top k of
            very many classes (:class:`calib.top_k.TopK`), for methods that :meth:`takes_top_k`.
        labels : (n,) integers in [0, n_classes).
        callback : called as ``callback(step, total, value)``; may raise :class:`FitCancelled`.
        start : an earlier fit of this method, such as to fewer rows. Where ``starts`` says so the search goes on from
            it, and ends at the same numbers to its tolerance after fewer steps; else it changes nothing.
        **extras : the arrays named in ``needs``, all of them, and any of those named in ``takes``.

        Raises
        ------
        CalibrationError
            If a parameter or an array is not usable; the message says what to change.
        """
        self.check_params()
        if start is not None:
            self._check_start(start, np.shape(logits))
        if isinstance(logits, TopK):
            return self._fit_to_top_k(logits, check_labels(labels, logits.shape), callback or no_callback)
        logits = self._hook_input(logits)
        labels = check_labels(labels, logits.shape)
        if set(extras) - self.takes != self.needs:
            wanted = ", ".join(sorted(self.needs)) or "no further arrays"
            wanted += f" and, where known, {' and '.join(sorted(self.takes))}" if self.takes else ""
            raise CalibrationError(f"{type(self).__name__} takes {wanted}, but was given {sorted(extras)}.")
        for name in self.takes & set(extras):
            extras[name] = check_of_rows(name, extras[name], len(labels))
        if self.starts and start is not None:
            extras["start"] = replace(start).set_state(start.get_state()) if start is self else start
        with self.complete_fit(*logits.shape):
            self._fit(logits, labels, callback or no_callback, **extras)
        return self

    def _check_start(self, start: Calibrator, shape: tuple[int, ...]) -> None:
        if type(start) is not type(self) or not start.fitted:
            raise CalibrationError(f"A fit of {type(self).__name__} starts from an earlier one, not from {start!r}.")
        start._check_n_classes(shape)

    def _fit_to_top_k(self, outputs: TopK, labels: Ints, callback: Callback) -> Self:
        raise CalibrationError(
            f"{type(self).__name__} learns from the outputs of all classes, but these hold the {outputs.k:,} "
            f"largest of {outputs.n_classes:,} logits; choose a method such as temperature scaling, GPcalib, I-Max "
            "or isotonic."
        )

    @contextmanager
    def complete_fit(self, n: int, n_classes: int) -> Iterator[None]:
        """Run a fit to so many rows and classes inside; where it fails or is cancelled, the calibrator is not fitted.

        Raises
        ------
        CalibrationError
            For too few rows, and for a package that the fit needs and that is not installed.
        """
        if n < self.min_rows:
            raise CalibrationError(
                f"The calibration set has {n} row{'' if n == 1 else 's'}; "
                f"{type(self).__name__} needs at least {self.min_rows}."
            )
        self.n_classes_ = n_classes
        try:
            yield
        except BaseException as error:
            del self.n_classes_  # without this half a fit would count as one
            if isinstance(error, ModuleNotFoundError):
                raise CalibrationError(missing_package(error)) from error
            raise

    @classmethod
    def learns_from_blocks(cls) -> bool:
        """Whether it can be fitted to files larger than memory, by :meth:`fit_blocks`."""
        return cls.fit_blocks is not Calibrator.fit_blocks

    @classmethod
    def takes_top_k(cls) -> bool:
        """Whether it takes the top k logits of very many classes; those that do are a ``TopKCalibrator``."""
        return False

    @property
    def gives_probabilities(self) -> bool:
        """Whether it predicts probabilities of all classes, not just a confidence in the predicted one."""
        cls = type(self)
        return cls._predict_proba is not Calibrator._predict_proba or cls.predict_proba is not Calibrator.predict_proba

    def predict_proba(self, logits: Any) -> Floats:
        """Calibrated probabilities, shape (n, n_classes), float64."""
        logits = self._check_fitted_input(logits)
        if not self.gives_probabilities:
            given = ", features=features" if "features" in self.needs else ""
            raise CalibrationError(
                f"{type(self).__name__} gives a confidence in the predicted class only, not probabilities of all "
                f"classes; call predict_confidence(logits{given})."
            )
        probs = np.empty(logits.shape)
        for rows in blocks(len(logits), logits.shape[1], PREDICTED_ENTRIES):
            probs[rows] = self._predict_proba(self._hook_input(logits[rows]))
        return probs

    def predict_top_k(self, outputs: TopK) -> TopKProbs:
        """Probabilities of the top k classes; refused, but by :mod:`calib.calibrators.top_k_outputs`."""
        raise needs_all_classes(self)

    def predict(self, logits: Any) -> Ints:
        """Most probable class of each row; ties are broken by the raw logits, then by the lower class.

        A method that gives a confidence only keeps the class of the largest logit.
        """
        if isinstance(logits, TopK):
            return self.predict_top_k(logits).predicted
        logits = np.asarray(logits)
        if not self.gives_probabilities:
            return np.argmax(self._check_fitted_input(logits), axis=1)
        return argmax_with_ties(self.predict_proba(logits), logits)

    def predict_confidence(self, logits: Any, features: Any = None) -> Floats:
        """Confidence in the predicted class, shape (n,): the largest probability unless the method says otherwise.

        ``features`` are the (n, ...) inputs of the rows; methods that do not need them leave them aside.
        """
        if isinstance(logits, TopK):
            return self.predict_top_k(logits).confidence
        return self.predict_proba(logits).max(axis=1)

    # -- state and scikit-learn's conventions ----------------------------------------------------------

    @property
    def fitted(self) -> bool:
        """Whether ``fit`` has succeeded."""
        return hasattr(self, "n_classes_")

    def get_state(self) -> dict[str, Any]:
        """Everything learned: the attributes whose names end in ``_``."""
        return {k: v for k, v in vars(self).items() if k.endswith("_") and not k.startswith("_")}

    def set_state(self, state: Mapping[str, Any]) -> Self:
        """Take on what a calibrator with these parameters has learned, as :meth:`get_state` gave it.

        Raises
        ------
        CalibrationError
            If no fit can have learned it, as where a file was changed.
        """
        if not isinstance(state, Mapping):
            raise unusable("what it learned must be a dictionary")
        declared = declared_state(type(self))
        for name in state:
            if name not in declared:
                raise unusable(f"{shown(name)} is nothing that {type(self).__name__} learns")
        absent = {
            name: each.default for name, each in declared.items() if each.default is not None and name not in state
        }
        vars(self).update({**absent, **state})
        self.check_state()
        return self

    def check_state(self) -> None:
        """Raise :class:`CalibrationError` where what was learned is not as declared, and so gives no probabilities."""
        state = self.get_state()
        check_state(state, declared_state(type(self)), {"n_classes": state.get("n_classes_", 0)})

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Hyper-parameters by name (scikit-learn's convention)."""
        return {f.name: getattr(self, f.name) for f in fields(self)}

    def set_params(self, **params: Any) -> Self:
        """Change hyper-parameters by name; takes effect at the next fit."""
        known = self.get_params()
        for name, value in params.items():
            if name not in known:
                raise CalibrationError(unknown_parameter(type(self), name))
            setattr(self, name, value)
        return self

    def check_params(self) -> None:
        """Raise :class:`CalibrationError` for a parameter outside its declared range."""
        check_declared(self)

    def _hook_input(self, logits: Any) -> Floats:
        """What ``_fit`` and ``_predict_proba`` are given for these logits."""
        checked = check_logits(logits)
        return checked if self.minds_offsets or not len(checked) else less_row_maxima(checked, logits)

    def _check_fitted_input(self, logits: Any) -> Floats:
        array = np.asarray(logits)
        self._check_n_classes(array.shape)
        return array

    def _check_n_classes(self, shape: tuple[int, ...]) -> None:
        if not self.fitted:
            raise CalibrationError(f"This {type(self).__name__} is not fitted yet; call fit(logits, labels) first.")
        if len(shape) != 2 or shape[1] != self.n_classes_:
            raise CalibrationError(
                f"Expected logits of shape (n, {self.n_classes_}), as in the calibration set; got {shape}."
            )

    def _changed(self) -> list[str]:
        """``name=value`` of the parameters that are not at their defaults, seed and device aside."""
        return [
            f"{f.name}={getattr(self, f.name)}"
            for f in fields(self)
            if f.name not in ("random_state", "device") and getattr(self, f.name) != f.default
        ]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(self._changed())})"


def needs_all_classes(calibrator: Calibrator) -> CalibrationError:
    """The error of a method that is asked about the top k logits of very many classes and takes none."""
    return CalibrationError(f"{type(calibrator).__name__} needs the outputs of all classes, not the largest of them.")
