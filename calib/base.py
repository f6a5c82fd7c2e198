"""The contract of a calibrator: what it declares, what it promises, and how it is fitted and asked."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields
from inspect import Parameter, signature
from typing import Any, ClassVar, Self

import numpy as np

from calib.arrays import as_array, check_labels, check_logits, check_of_rows, refuse_probabilities
from calib.errors import CalibrationError, FitCancelled, missing_package
from calib.formatting import Displayed
from calib.numerics import PREDICTED_ENTRIES, Floats, Ints, argmax_with_ties, blocks, less_row_maxima
from calib.parameters import check_declared, param, parameter_names, unknown_parameter, unusable

__all__ = [
    "EQUIVARIANT",
    "GIVES_UNCERTAINTY",
    "KEEPS_ACCURACY",
    "KEEPS_HALF",
    "KEEPS_RANKING",
    "MINDS_OFFSETS",
    "NEEDS_CLASSES",
    "POSITIVE",
    "ROWS_SUM_TO_ONE",
    "CalibrationError",
    "Calibrator",
    "FitCancelled",
    "Progress",
    "param",
    "silent",
]

Progress = Callable[[int, int, float], None]
"""``progress(step, total, value)`` during a long fit; it may raise :class:`FitCancelled`."""

KEEPS_ACCURACY = "keeps accuracy"
KEEPS_RANKING = "keeps ranking"
ROWS_SUM_TO_ONE = "rows sum to one"
EQUIVARIANT = "equivariant to relabelling"
GIVES_UNCERTAINTY = "gives uncertainty"
POSITIVE = "no probability is zero"
KEEPS_HALF = "equal outputs of two classes stay equal"
NEEDS_CLASSES = "learns from the outputs of all classes"
MINDS_OFFSETS = "a constant added to a row matters"

MOST_CLASSES = 10_000_000
"""Classes of a stored calibrator, above which its file is taken as damaged."""


def silent(step: int, total: int, value: float) -> None:
    """Ignore progress."""


@dataclass(eq=False, repr=False, kw_only=True)
class Calibrator(Displayed):
    """Base of every calibrator.

    A subclass is a keyword-only dataclass whose fields are declared with :func:`param`. It writes two hooks:
    ``_fit(logits, labels, *, progress)`` stores what it learned in attributes whose names end in ``_``, and
    ``_predict(logits)`` gives probabilities with NumPy alone. Further keyword-only arguments of ``_fit``, such as
    ``weights=None``, are arrays of the rows that :meth:`fit` takes; those without a default it must be given.

    Hooks get checked float64 logits, whose largest of each row is 0 unless ``MINDS_OFFSETS`` is among the traits.
    Learned attributes are numbers, strings, arrays, or lists and dicts of these, so that each method is stored and
    exported in the same way. A method that knows only the confidence in the predicted class writes
    ``predict_confidence`` instead of ``_predict``.
    """

    random_state: int = param(0, low=0, high=2**32 - 1, help="Seed of everything random in the fit.")

    traits: ClassVar[frozenset[str]] = frozenset({ROWS_SUM_TO_ONE, EQUIVARIANT})
    """What holds of every configuration; where it depends on the parameters, :meth:`promises` says so."""

    min_rows: ClassVar[int] = 2
    needs: ClassVar[frozenset[str]] = frozenset()
    """Arrays beyond logits and labels that ``fit`` must be given; read from the signature of ``_fit``."""
    takes: ClassVar[frozenset[str]] = frozenset()
    """Arrays beyond logits and labels that ``fit`` uses where given; read from the signature of ``_fit``."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        _old_words(cls)  # SHIM
        if "callback" in signature(cls._fit).parameters:  # SHIM
            return  # SHIM
        named = [p for p in signature(cls._fit).parameters.values() if p.kind is Parameter.KEYWORD_ONLY]
        extras = [p for p in named if p.name != "progress"]
        cls.needs = frozenset(p.name for p in extras if p.default is Parameter.empty)
        cls.takes = frozenset(p.name for p in extras) - cls.needs

    # -- what subclasses write -------------------------------------------------------------------------

    def _fit(self, logits: Floats, labels: Ints, *, progress: Progress) -> None:
        raise TypeError(f"{type(self).__name__} has no _fit")

    def _predict(self, logits: Floats) -> Floats:
        return self._predict_proba(logits)  # SHIM

    def notes(self) -> list[str]:
        """Sentences about the finished fit that a person should read, most important first."""
        return []

    def promises(self, n_classes: int) -> frozenset[str]:
        """What this configuration guarantees for ``n_classes`` classes; the contract test holds it to each."""
        return self.traits

    def parts(self) -> dict[str, float]:
        """The methods that the finished fit is a mean of, by registry name, with their weights; empty for others."""
        return {}

    def variant(self, n_classes: int) -> str:
        """What tells this configuration from another of the same method for ``n_classes``; shown behind the title."""
        return ", ".join(self._changed())

    # -- what users call -------------------------------------------------------------------------------

    def fit(self, logits: Any, labels: Any, *, progress: Progress = silent, callback: Any = None, **extras: Any) -> Self:
        """Learn from a calibration set; a fit that fails or is cancelled leaves the earlier one as it was.

        Parameters
        ----------
        logits : (n, n_classes) finite array; binary log-odds s are stored as the two columns (0, s).
            :func:`calib.logits` makes them of probabilities.
        labels : (n,) integers in [0, n_classes).
        progress : called as ``progress(step, total, value)``; may raise :class:`FitCancelled`.
        **extras : arrays of the rows that the method needs or takes, such as ``weights``.

        Raises
        ------
        CalibrationError
            If a parameter or an array is not usable; the message says what to change.
        """
        self.check_params()
        progress = callback or progress  # SHIM
        given = as_array(logits)
        refuse_probabilities(given)
        logits = self._hook_input(given)
        labels = check_labels(labels, logits.shape)
        self._check_extras(extras)
        for name in self.takes & {name for name, array in extras.items() if array is not None}:
            extras[name] = check_of_rows(name, extras[name], len(labels))
        if len(labels) < self.min_rows:
            raise CalibrationError(
                f"The calibration set has {len(labels)} row{'' if len(labels) == 1 else 's'}; "
                f"{type(self).__name__} needs at least {self.min_rows}."
            )
        fitted = type(self)(**self.get_params())
        fitted.n_classes_ = logits.shape[1]
        try:
            if "callback" in signature(self._fit).parameters:  # SHIM
                fitted._fit(logits, labels, progress, **extras)  # SHIM
            else:  # SHIM
                fitted._fit(logits, labels, progress=progress, **extras)
        except ModuleNotFoundError as error:
            raise CalibrationError(missing_package(error)) from error
        vars(self).clear()
        vars(self).update(vars(fitted))
        return self

    @property
    def gives_probabilities(self) -> bool:
        """Whether it predicts probabilities of all classes, not just a confidence in the predicted one."""
        cls = type(self)
        return cls._predict is not Calibrator._predict or hasattr(cls, "_predict_proba")  # SHIM

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
            probs[rows] = self._predict(self._hook_input(logits[rows]))
        return probs

    @contextmanager
    def complete_fit(self, n: int, n_classes: int) -> Any:  # SHIM
        self.n_classes_ = n_classes
        yield

    passes = 0  # SHIM

    def reads(self, n_logits: int) -> int:  # SHIM
        return self.passes * n_logits

    @classmethod
    def learns_from_blocks(cls) -> bool:  # SHIM
        return hasattr(cls, "fit_blocks")

    def predict(self, logits: Any) -> Ints:
        """Most probable class of each row; ties are broken by the raw logits, then by the lower class.

        A method that gives a confidence only keeps the class of the largest logit.
        """
        logits = self._check_fitted_input(logits)
        if not self.gives_probabilities:
            return np.argmax(logits, axis=1)
        return argmax_with_ties(self.predict_proba(logits), logits)

    def predict_confidence(self, logits: Any, features: Any = None) -> Floats:
        """Confidence in the predicted class, shape (n,): the largest probability unless the method says otherwise.

        ``features`` are the (n, ...) inputs of the rows; methods that do not need them leave them aside.
        """
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
        if not isinstance(state, Mapping) or not all(_is_learned(name) for name in state):
            raise unusable("what it learned must be a dictionary of names that end in _")
        vars(self).update(state)
        self.check_state()
        return self

    def check_state(self) -> None:
        """Raise :class:`CalibrationError` where what was learned gives no probabilities, as where a file was changed.

        Anybody can write a file, so a state is taken on only where a few rows, extreme ones among them, come out as
        probabilities that hold what the method promises.
        """
        if any("state" in vars(cls) for cls in type(self).__mro__):  # SHIM
            from calib.parameters import Count, Text, check_state, declared_state

            state = self.get_state()
            declared = {"n_classes_": Count(low=2), "device_": Text().or_absent(), **declared_state(type(self))}
            for name, each in declared.items():
                if each.default is not None and name not in state:
                    setattr(self, name, each.default)
            check_state(self.get_state(), declared, {"n_classes": state.get("n_classes_", 0)})
            return
        n_classes = vars(self).get("n_classes_")
        if type(n_classes) is not int or not 2 <= n_classes <= MOST_CLASSES:
            raise unusable("n_classes_ must be a whole number from 2 upwards")
        try:
            with np.errstate(invalid="raise", divide="raise", over="raise"):
                self._try_state(trial_rows(n_classes))
                notes_fault = not all(isinstance(note, str) for note in self.notes())
        except CalibrationError:
            raise
        except Exception as error:  # whatever a changed file makes of the arithmetic
            raise unusable(f"predicting ends in {type(error).__name__}: {error}") from error
        if notes_fault:
            raise unusable("its notes are no sentences")

    def _try_state(self, logits: Floats) -> None:
        probs = self.predict_proba(logits)
        promised = self.promises(logits.shape[1])
        # Also false of NaN.
        if not (np.all(probs >= 0) and np.all(probs <= 1 + 1e-9) and probs.dtype == np.float64):
            raise unusable("its probabilities do not lie between 0 and 1")
        if ROWS_SUM_TO_ONE in promised and not np.allclose(probs.sum(axis=1), 1, atol=1e-6):
            raise unusable("its probabilities do not sum to one")
        if KEEPS_ACCURACY in promised and not np.array_equal(
            argmax_with_ties(probs, logits), np.argmax(logits, axis=1)
        ):
            raise unusable("it changes predictions, which this method never does")

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Hyper-parameters by name (scikit-learn's convention)."""
        return {f.name: getattr(self, f.name) for f in fields(self)}

    def set_params(self, **params: Any) -> Self:
        """Change hyper-parameters by name; takes effect at the next fit."""
        for name, value in params.items():
            if name not in parameter_names(type(self)):
                raise CalibrationError(unknown_parameter(type(self), name))
            setattr(self, name, value)
        return self

    def check_params(self) -> None:
        """Raise :class:`CalibrationError` for a parameter outside its declared range."""
        check_declared(self)

    def _check_extras(self, extras: dict[str, Any]) -> None:
        unknown, missing = set(extras) - self.needs - self.takes, self.needs - set(extras)
        if "weights" in unknown:
            from calib.registry import methods_that_take

            able = ", ".join(methods_that_take("weights"))
            raise CalibrationError(f"{type(self).__name__} takes no weights; these methods do: {able}.")
        if unknown or missing:
            wanted = ", ".join(sorted(self.needs)) or "no further arrays"
            wanted += f" and, where known, {' and '.join(sorted(self.takes))}" if self.takes else ""
            raise CalibrationError(f"{type(self).__name__} takes {wanted}, but was given {sorted(extras)}.")

    def _hook_input(self, logits: Any) -> Floats:
        """What the hooks are given for these logits."""
        checked = check_logits(logits)
        return checked if MINDS_OFFSETS in self.traits or not len(checked) else less_row_maxima(checked, logits)

    def _check_fitted_input(self, logits: Any) -> Floats:
        array = as_array(logits)
        if not self.fitted:
            raise CalibrationError(f"This {type(self).__name__} is not fitted yet; call fit(logits, labels) first.")
        if array.ndim != 2 or array.shape[1] != self.n_classes_:
            raise CalibrationError(
                f"Expected logits of shape (n, {self.n_classes_}), as in the calibration set; got {array.shape}."
            )
        return array

    def _changed(self) -> list[str]:
        """``name=value`` of the parameters that are not at their defaults, seed and device aside."""
        return [
            f"{f.name}={getattr(self, f.name)}"
            for f in fields(self)
            if f.name not in ("random_state", "device") and getattr(self, f.name) != f.default
        ]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(self._changed())})"


def trial_rows(n_classes: int) -> Floats:
    """A few rows on which a stored calibrator must give probabilities: ties, usual and extreme logits."""
    rows = np.zeros((6, n_classes))
    rows[1:5, 0] = 1.0, -3.0, 40.0, 1e6
    rows[5] = np.linspace(4.0, -4.0, n_classes)
    return rows


def _is_learned(name: object) -> bool:
    return isinstance(name, str) and name.endswith("_") and not name.startswith("_")


Callback = Progress  # SHIM
no_callback = silent  # SHIM


class LabelledBlocks:  # SHIM
    pass


def _old_words(cls: Any) -> None:  # SHIM
    old = {"positive": POSITIVE, "needs_classes": NEEDS_CLASSES, "keeps_half": KEEPS_HALF, "minds_offsets": MINDS_OFFSETS}
    cls.traits = cls.traits | {trait for name, trait in old.items() if getattr(cls, name, False)}


check_declared_ = check_declared  # SHIM
