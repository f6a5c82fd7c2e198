"""Rules from a calibrated probability to an action, as an exported calibrator carries them; NumPy alone.

A rule is a few numbers that were chosen with a calibrator and hold for its probabilities alone: a cut on the
probability of an event, or the confidence from which on answers are given.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, ClassVar, TypeVar

import numpy as np
import numpy.typing as npt

from calib.arrays import as_array, as_numbers, check_number
from calib.errors import CalibrationError
from calib.formatting import round_percent
from calib.numerics import Floats, Ints
from calib.parameters import short_repr, unusable

T = TypeVar("T")

ABSTAIN = -1
"""The action of a row that is left to somebody else: a person, a second model."""
ABSTAIN_NAME = "abstain"
NEAR = 1e-12
"""A probability this little below a cut reaches it: 0.14 comes out of its logarithm as 0.13999999999999999."""


def reaches(probs: Floats, cut: float) -> npt.NDArray[np.bool_]:
    """Return whether each probability is at least a cut."""
    return probs >= cut - NEAR


def of_classes(probs: Any, n_classes: int | None = None) -> Floats:
    """Probabilities as an array; what is not of shape (n, n_classes), or not finite, is refused."""
    array = as_numbers(probs, "probabilities")
    if array.ndim != 2 or n_classes not in (None, array.shape[1]):
        expected_size = "n_classes" if n_classes is None else f"{n_classes:,}"
        raise CalibrationError(
            f"This rule needs probabilities of shape (n, {expected_size}); got shape {array.shape}."
        )
    if not np.isfinite(array).all():
        raise CalibrationError(
            "A rule needs probabilities, but some of these numbers are infinite or NaN."
        )
    return array


@dataclass(frozen=True, eq=False, kw_only=True)
class Rule(ABC):
    """Base of every rule: its fields are what a file holds, and ``__post_init__`` checks them.

    Attributes
    ----------
    chosen : str
        How its numbers were chosen, in a sentence; for the model card.
    """

    chosen: str = ""

    name: ClassVar[str]

    def __post_init__(self) -> None:
        if not isinstance(self.chosen, str):
            raise CalibrationError(f"chosen={short_repr(self.chosen)} must be a text.")

    def check_fits(self, n_classes: int, kind: str, gives_probabilities: bool) -> None:
        """Refuse a calibrator that it cannot be applied to; a rule of the confidence applies to all."""
        return

    @abstractmethod
    def said(self, class_names: tuple[str, ...]) -> str:
        """Describe the rule in a sentence."""

    @abstractmethod
    def names(self, class_names: tuple[str, ...]) -> tuple[str, ...]:
        """Name of each action, by its number; -1 is :data:`ABSTAIN_NAME`."""


@dataclass(frozen=True, eq=False, kw_only=True)
class EventCut(Rule):
    """Act where the probability of an event reaches a cut.

    Attributes
    ----------
    chosen : str
        How its numbers were chosen, in a sentence; for the model card.
    cut : float
        Probability from 0 to 1.
    column : int
        Class that is the event, 0 or 1.

    Examples
    --------
    >>> EventCut(cut=0.2).decide(np.array([[0.9, 0.1], [0.8, 0.2]]))
    array([0, 1])
    """

    cut: float
    column: int = 1

    name: ClassVar[str] = "cut"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_number("cut", self.cut, 0, 1)
        check_number("column", self.column, 0, 1, whole=True)

    def decide(self, probs: Floats) -> Ints:
        """Actions, shape (n,), for probabilities of shape (n, 2): 1 where that of the event is at least the cut.

        Parameters
        ----------
        probs : ndarray of shape (n, 2)
            Calibrated probabilities.

        Returns
        -------
        ndarray of int of shape (n,)
            0 or 1.
        """
        return reaches(of_classes(probs, 2)[:, self.column], self.cut).astype(np.int64)

    def check_fits(self, n_classes: int, kind: str, gives_probabilities: bool) -> None:
        """Refuse a calibrator without the probability of an event."""
        if n_classes != 2 or kind == "pairs" or not gives_probabilities:
            raise CalibrationError(
                f"A threshold needs the probability of one of two classes; this calibrator has {n_classes:,} classes"
                f"{_without(kind, gives_probabilities)}. Take a threshold of the confidence."
            )

    def said(self, class_names: tuple[str, ...]) -> str:
        """Describe the rule in a sentence."""
        return (
            f"Act where the probability of {class_names[self.column]} is at least {self.cut:.6g}."
        )

    def names(self, class_names: tuple[str, ...]) -> tuple[str, ...]:
        """Name of each action."""
        return ("do not act", "act")


@dataclass(frozen=True, eq=False, kw_only=True)
class AnswerAbove(Rule):
    """Answer where the confidence reaches a threshold, and abstain elsewhere (selective prediction).

    Attributes
    ----------
    chosen : str
        How its numbers were chosen, in a sentence; for the model card.
    threshold : float
        Confidence from 0 to 1.
    risk, delta : float or None
        Where a guarantee chose it, "error among answers at most ``risk`` with confidence 1 - ``delta``".
    n_rows : int or None
        Rows that it was chosen on, where any were.

    Examples
    --------
    >>> AnswerAbove(threshold=0.9).decide(np.array([[0.02, 0.03, 0.95], [0.5, 0.3, 0.2]]))
    array([ 2, -1])
    """

    threshold: float
    risk: float | None = None
    delta: float | None = None
    n_rows: int | None = None

    name: ClassVar[str] = "answer"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_number("threshold", self.threshold, 0, 1)
        for name in ("risk", "delta"):
            if getattr(self, name) is not None:
                check_number(name, getattr(self, name), 0, 1)
        if self.n_rows is not None:
            check_number("n_rows", self.n_rows, 1, whole=True)

    @classmethod
    def from_costs(cls, error: float, abstain: float) -> AnswerAbove:
        """The threshold of the least expected cost for calibrated confidences (Chow 1970): 1 - abstain / error.

        An answer of confidence p costs ``(1 - p) error`` on average, and abstaining costs ``abstain``.

        Parameters
        ----------
        error : float
            Cost of a wrong answer.
        abstain : float
            Cost of handing a row over.

        Returns
        -------
        AnswerAbove
            With the threshold; it is 0 where abstaining costs more than an error.

        Raises
        ------
        CalibrationError
            If a cost is not positive and finite. Where abstaining costs more than an error, all is answered.

        Examples
        --------
        >>> AnswerAbove.from_costs(error=20.0, abstain=1.0).threshold
        0.95
        """
        for name, cost in (("error", error), ("abstain", abstain)):
            check_number(name, cost, 0, ends=False)
        chosen = f"an error costs {error:g} and abstaining {abstain:g}."
        return cls(threshold=max(0.0, 1.0 - abstain / error), chosen=chosen)

    def decide(self, probs: Floats) -> Ints:
        """Actions, shape (n,), for probabilities of shape (n, n_classes): the most probable class, or -1.

        Parameters
        ----------
        probs : ndarray of shape (n, n_classes)
            Calibrated probabilities.

        Returns
        -------
        ndarray of int of shape (n,)
            Numbers of classes, or -1 where it abstains.
        """
        probs = of_classes(probs)
        return self.answer(probs.max(axis=1), probs.argmax(axis=1))

    def answer(self, confidence: Floats, predicted: Ints) -> Ints:
        """Actions, shape (n,), for confidences of predictions, which need not be probabilities of classes.

        Parameters
        ----------
        confidence : array_like of shape (n,)
            Confidence in the predicted class.
        predicted : array_like of shape (n,)
            Predicted classes.

        Returns
        -------
        ndarray of int of shape (n,)
            Numbers of classes, or -1.

        Raises
        ------
        CalibrationError
            Unless there is one number of each for each row.
        """
        said = as_numbers(confidence, "confidences")
        classes = as_array(predicted, "predicted classes")
        if said.ndim != 1 or said.shape != classes.shape or classes.dtype.kind not in "fiub":
            raise CalibrationError(
                "A threshold needs a confidence and the number of the predicted class for each row; got shapes "
                f"{said.shape} and {classes.shape}, the classes as {classes.dtype}."
            )
        return np.where(
            reaches(said, self.threshold), classes.astype(np.int64), ABSTAIN
        )  # no unsigned one is -1

    def said(self, class_names: tuple[str, ...]) -> str:
        """Describe the rule in a sentence."""
        what = f"Answer where the confidence is at least {self.threshold:.6g}, abstain elsewhere"
        if self.risk is None or self.delta is None:
            return f"{what}."
        rows = "" if self.n_rows is None else f" (chosen on {self.n_rows:,} rows)"
        risk = round_percent(self.risk)
        confidence = round_percent(1 - self.delta)
        return f"{what}: error among answers at most {risk}, with {confidence} confidence{rows}."

    def names(self, class_names: tuple[str, ...]) -> tuple[str, ...]:
        """Name of each action: the class that is answered."""
        return class_names


AnyRule = EventCut | AnswerAbove
RULES: dict[str, type[EventCut] | type[AnswerAbove]] = {
    rule.name: rule for rule in (EventCut, AnswerAbove)
}


def rule_from_state(state: Any) -> AnyRule | None:
    """The rule that a file holds: its name and its fields; None is None."""
    if state is None:
        return None
    rule = RULES.get(str(state.get("rule"))) if isinstance(state, Mapping) else None
    if rule is None:
        raise CalibrationError(f"A decision is one of {', '.join(RULES)}; got {short_repr(state)}.")
    return made_of(rule, {name: value for name, value in state.items() if name != "rule"})


def rule_state(rule: AnyRule | None) -> dict[str, Any] | None:
    """Undo :func:`rule_from_state`; fields that are None are left out."""
    if rule is None:
        return None
    return {"rule": rule.name} | {
        name: value for name, value in vars(rule).items() if value is not None
    }


def _without(kind: str, gives_probabilities: bool) -> str:
    if kind == "pairs":
        return " and is of answers with one confidence each"
    return "" if gives_probabilities else " and gives a confidence only"


def made_of(cls: type[T], values: Mapping[str, Any]) -> T:
    """A decision of the fields in a file."""
    if not isinstance(values, Mapping):
        raise unusable(f"a decision is recorded by its fields' names; got {short_repr(values)}")
    expected = {each.name: each.default for each in fields(cls)}  # type: ignore[arg-type]
    if not set(values) <= set(expected):
        raise unusable(
            f"a decision has no field {short_repr(next(iter(set(values) - set(expected))))}"
        )
    if missing := [
        name for name, default in expected.items() if name not in values and default is not None
    ]:
        raise unusable(f"a decision is recorded without {', '.join(missing)}")
    try:
        return cls(**values)
    except (TypeError, CalibrationError) as error:
        raise unusable(
            f"a decision cannot be made of its fields: {str(error).rstrip('.')}"
        ) from error


def check_array(name: str, value: Any, low: float, high: float) -> None:
    """Refuse what is no array of shape (n,) of float64 between ``low`` and ``high``, or is empty."""
    if (
        not isinstance(value, np.ndarray)
        or value.dtype != np.float64
        or value.ndim != 1
        or not value.size
    ):
        raise CalibrationError(f"{name} must be an array of float64 with 1 axis.")
    if not (low <= value.min() and value.max() <= high):  # also of NaN
        raise CalibrationError(f"{name} must hold numbers between {low:g} and {high:g} alone.")
