"""The form of a model's outputs, which a calibrator remembers from its fit, and labels as numbers of its columns."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt

from calib.arrays import (
    SUM_TOLERANCE,
    as_array,
    as_numbers,
    check_logits,
    check_sums,
    sum_tolerance,
)
from calib.canonical import (
    IN_UNIT,
    KINDS,
    ONE_COLUMN,
    ROUNDING,
    Kind,
    Scale,
    check_rescaled,
    check_values,
    class_order,
    full_scale,
    to_canonical,
    to_plain,
    zero_floor,
)
from calib.errors import CalibrationError, CalibrationWarning
from calib.formatting import listed, plural
from calib.numerics import Floats, Ints, log_softmax, midranks
from calib.parameters import number_fault, short_repr
from calib.records import unflatten

MOST_ROWS = 50_000
"""Rows that are summarised; of more every second, third, ..."""

PREFIXES = ("", "logit_", "logits_", "p_", "prob_", "score_")
"""Before the name of a class in the names of its columns."""

CHANCE = 0.001
"""Probability with which labels that have nothing to do with the outputs may pass for good ones."""

FEW_RANKED = 20
"""Fewer rows than these say nothing about agreement."""

RANKED_ROWS = 50_000
RANKED_FIRST = 200_000
RANKED = 2_000_000
"""Rows whose outputs are ranked, and outputs, at first and where these leave a doubt; of more rows, some from the first
to the last are taken."""

FEW = 10
"""Numbers below which their range does not tell probabilities from logits."""

PERCENT = 20.0
"""Log-odds above this, none of them negative, are likelier percentages."""


class AmbiguousOutputs(CalibrationError):
    """Outputs that may be of another kind than a calibrator takes; ``kind=`` says what they are."""


@dataclass(frozen=True)
class Seen:
    """Rows that a calibrator was fitted and tested on.

    Attributes
    ----------
    rows : how many were looked at.
    low, high : least and greatest value, as they were written; zeros of probabilities count as the floor.
    in_unit : share of rows that had all values in [0, 1], also as they were written.
    """

    rows: int
    low: float
    high: float
    in_unit: float

    @classmethod
    def from_logits(cls, logits: Floats, kind: Kind, scale: Scale | None = None) -> Self | None:
        """Of canonical logits (n, n_classes) of outputs of a kind and a scale; None where there are no rows."""
        if not len(logits):
            return None
        written = _as_written(logits[:: -(-len(logits) // MOST_ROWS)], kind, scale)
        return cls(len(written), float(written.min()), float(written.max()), in_unit(written))

    @classmethod
    def from_state(cls, state: Any) -> Self | None:
        """Make it of a file's state, checked; None is None."""
        if state is None:
            return None
        seen: Self = unflatten(state, {}, cls)
        largest = float(np.finfo(np.float64).max)
        faults = [number_fault(end, False, -largest, largest) for end in (seen.low, seen.high)]
        if any(
            [
                *faults,
                number_fault(seen.rows, True, 1, 2**62),
                number_fault(seen.in_unit, False, 0, 1),
            ]
        ):
            raise CalibrationError(
                "The file says nonsense of what its calibrator has seen; export it again."
            )
        return seen


@dataclass(eq=False, kw_only=True)
class OutputFormat:
    """The form of a model's outputs; the attributes of an exported calibrator explain its fields."""

    kind: Kind = "logits"
    floor: float | None = None
    class_names: tuple[str, ...] = ()
    classes: tuple[str | bool | int | float, ...] = ()
    scale: Scale | None = None
    seen: Seen | None = None
    base_rate: Floats | None = None
    columns: tuple[str, ...] = ()
    metadata: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def numbered(cls, n_classes: int) -> Self:
        """Logits of classes without names."""
        return cls(class_names=tuple(map(str, range(n_classes))))

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.class_names)

    @property
    def n_outputs(self) -> int:
        """Numbers that the model writes for each row."""
        return 1 if self.kind in ONE_COLUMN else self.n_classes

    @property
    def classes_(self) -> npt.NDArray[Any]:
        """(n_classes,) label of each column, as labels were given to the fit."""
        return np.array(self.classes) if self.classes else np.arange(self.n_classes)

    @property
    def in_unit(self) -> float:
        """Share of rows that had all values in [0, 1]; where it is not known, none of logits, and all of others."""
        return self.seen.in_unit if self.seen is not None else float(self.kind != "logits")

    def to_logits(self, outputs: Any, kind: Kind | None = None) -> Floats:
        """Canonical logits, shape (n, n_classes), for a model's outputs of this kind and scale.

        Parameters
        ----------
        outputs : as the model writes them. Columns of a DataFrame are taken by name, in any order, and others are left
            aside.
        kind : what they are, where somebody says so: the calibrator's own kind. Without it they are compared with those
            that it was fitted on.

        Raises
        ------
        AmbiguousOutputs
            If they lie in [0, 1] and those before did not, as probabilities in the place of logits do.
        CalibrationError
            If the outputs cannot be of that kind: a wrong shape, NaN, or values outside its range.
        """
        if hasattr(outputs, "output_format"):
            self.check_kind(outputs.kind)
            outputs, names = outputs.logits, outputs.class_names
            if len(names) != self.n_classes:
                raise CalibrationError(
                    f"The predictions have {len(names):,} classes, and the calibrator takes {self.n_classes:,}; give "
                    "outputs of the same model."
                )
            return outputs
        self.check_kind(kind)
        outputs = as_array(self.in_class_order(outputs), "outputs")
        check_rescaled(outputs, self.scale)
        shape = np.shape(outputs)
        if len(shape) == 2 and shape[1] != self.n_outputs:
            raise CalibrationError(
                f"The outputs have {plural(shape[1], 'column')}, but the calibrator takes {self.n_outputs:,} for the "
                f"{self.n_classes:,} classes that it was fitted on. Give it outputs of the same model."
            )
        written = outputs
        outputs = to_plain(outputs, self.scale)
        logits = to_canonical(outputs, self.kind, self.floor)
        check_values(outputs, self.kind)
        if kind is None:
            self._check_same_kind(written)
        return logits

    def _check_same_kind(self, outputs: Any) -> None:
        rows = np.asarray(outputs)
        telling = rows.size >= FEW or _are_probabilities(rows)
        share = in_unit(rows.reshape(len(rows), -1)) if telling else 0.0
        if share > self.in_unit + 0.5:
            raise AmbiguousOutputs(
                f"The calibrator takes {KINDS[self.kind]}, but {share:.0%} of these {len(rows):,} rows lie in [0, 1], "
                f"like probabilities, and {self.in_unit:.0%} of those that it was fitted on. If they are "
                f'{KINDS[self.kind]} all the same, call predict_proba(outputs, kind="{self.kind}"), or give --kind '
                f"{self.kind} to the command."
            )

    def in_class_order(self, outputs: Any, columns: Sequence[str] | None = None) -> Any:
        """Outputs of a table in the order of the classes, by the names of its columns.

        Parameters
        ----------
        outputs : (n, n_columns) as the model writes them. A DataFrame may have further columns.
        columns : names of the columns; None takes those of a DataFrame.
        """
        names = list(column_names(outputs) if columns is None else columns)
        if not names or np.shape(outputs)[1:] != (len(names),):
            return outputs
        places = self._places(names)
        if places == [*range(len(names))]:
            return outputs
        return (
            outputs.iloc[:, places] if hasattr(outputs, "iloc") else np.asarray(outputs)[:, places]
        )

    def _places(self, names: list[str]) -> list[int]:
        """Places of the outputs among columns: by their names of the fit, else by those of the classes."""
        classes = self.class_names[-self.n_outputs :]
        families = [[f"{prefix}{name}" for name in classes] for prefix in PREFIXES]
        if self.columns:
            families = [[*self.columns], *families]
        complete = [family for family in families if all(names.count(name) == 1 for name in family)]
        if complete and (complete[0] == families[0] or len(complete) == 1):
            return [names.index(name) for name in complete[0]]
        missing = [name for name in families[0] if names.count(name) != 1]
        if len(names) == self.n_outputs and (len(missing) == len(names) or not self.columns):
            return class_order(names, classes)
        raise CalibrationError(
            f"The outputs have {plural(len(names), 'column')}, but the calibrator takes {self.n_outputs:,} for the "
            f"{self.n_classes:,} classes that it was fitted on, and there is no single column {missing[0]!r}; pass "
            "the columns of the outputs: table[[...]]."
        )

    def check_kind(self, kind: Kind | None) -> None:
        """Refuse outputs that are said to be of another kind than the calibrator takes.

        Parameters
        ----------
        kind : what they are said to be; None says nothing.
        """
        if kind is not None and kind != self.kind:
            other = KINDS.get(kind, short_repr(kind))
            raise CalibrationError(
                f"The calibrator takes {KINDS[self.kind]}, and these were said to be {other}; give the same outputs as "
                "those it was fitted on, or fit one on these."
            )


def column_names(outputs: Any) -> tuple[str, ...]:
    """Names of the columns of a DataFrame; () for other outputs and for columns that are counted."""
    if not (hasattr(outputs, "iloc") and hasattr(outputs, "columns")):
        return ()
    names = list(outputs.columns)
    return () if names == [*range(len(names))] else tuple(map(str, names))


def in_unit(outputs: Floats) -> float:
    """Share of rows (n, k) with all values in [0, 1]."""
    return float(((outputs >= 0) & (outputs <= 1)).all(axis=1).mean())


def _are_probabilities(rows: npt.NDArray[Any]) -> bool:
    """Test for probabilities, however few: rows that sum to one, and not all of whole numbers."""
    if rows.ndim != 2 or rows.shape[1] < 2 or _are_classes(rows):
        return False
    return bool((np.abs(rows.sum(axis=1, dtype=np.float64) - 1) < SUM_TOLERANCE).all())


def _as_written(logits: Floats, kind: Kind, scale: Scale | None) -> Floats:
    """Outputs (n, k) as they were written, where canonical logits tell that; else on the plain scale."""
    if kind in ("logits", "log_probabilities"):
        return logits
    if kind == "binary_log_odds":
        return logits[:, 1:] - logits[:, :1]
    return np.exp(logits if kind == "probabilities" else logits[:, 1:]) * (full_scale(scale) or 1.0)


# -- what a fit is given -----------------------------------------------------------------------------------------------


def learn_format(
    outputs: Any, labels: Any, kind: Kind | Literal["auto"]
) -> tuple[Floats, Ints, OutputFormat]:
    """Canonical logits (n, n_classes), labels as numbers of columns (n,), and the form of both."""
    check_order(outputs, labels)
    array = as_numbers(outputs, "outputs")
    names = column_names(outputs)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim not in (1, 2):
        raise CalibrationError(
            f"Outputs must have shape (n, n_classes), or (n,) of the event of two classes; got {array.shape}."
        )
    read = _recognise(array, outputs) if kind == "auto" else _of_dimensions(kind, array.ndim)
    if read in IN_UNIT or read == "log_probabilities":
        check_values(array, read)
    floor = None
    if read in ("probabilities", "binary_probability", "log_probabilities"):
        both = np.stack([1.0 - array, array], axis=1) if array.ndim == 1 else array
        floor = zero_floor(both, read) if read == "log_probabilities" else zero_floor(both)
    if read == "probabilities":
        check_sums(array, _sum_rounding(array, outputs))
    logits = check_logits(to_canonical(array, read, floor))
    form = OutputFormat.numbered(logits.shape[1])
    form.kind = read
    form.floor = floor
    form.seen = Seen.from_logits(logits, read)
    if len(names) == logits.shape[1]:
        form.class_names = form.columns = names
    codes = _learn_labels(labels, form, len(logits))
    if len(codes):
        form.base_rate = np.bincount(codes, minlength=form.n_classes) / len(codes)
    return logits, codes, form


def check_order(outputs: Any, labels: Any) -> None:
    """Refuse no labels, labels in the place of outputs, and tables whose rows have names in another order."""
    if labels is None:
        raise CalibrationError(
            "fit needs labels, as fit(outputs, labels); calib.Predictions bring theirs: fit(predictions)."
        )
    check_swapped(as_array(outputs, "outputs"), as_array(labels, "labels"))
    check_index(outputs, labels)


def check_swapped(outputs: npt.NDArray[Any], labels: npt.NDArray[Any]) -> None:
    """Refuse labels in the place of outputs."""
    if outputs.ndim != 1:
        return
    if labels.ndim == 2 or (_are_classes(outputs) and not _are_classes(labels)):
        raise CalibrationError(
            "The arguments are swapped: the first holds classes and the second outputs; calib takes (probs, labels), "
            "scikit-learn (y_true, y_prob)."
        )


def check_index(outputs: Any, labels: Any) -> None:
    """Refuse tables whose rows have the same names in another order."""
    index: Any = getattr(outputs, "index", None)
    other: Any = getattr(labels, "index", None)
    if not (hasattr(index, "equals") and hasattr(other, "equals")) or index.equals(other):
        return
    if index.sort_values().equals(other.sort_values()):
        raise CalibrationError(
            "Outputs and labels have the same index in another order; bring the rows into one order: "
            "labels.loc[outputs.index]."
        )


def _are_classes(values: npt.NDArray[Any]) -> bool:
    """Test for whole numbers, or no numbers at all."""
    return values.dtype.kind != "f" or bool((values == np.round(values)).all())


def _of_dimensions(kind: Kind, ndim: int) -> Kind:
    """The kind that somebody named, of one column that of the event."""
    if kind not in tuple(KINDS):
        raise CalibrationError(f"kind={short_repr(kind)} is none of auto, {', '.join(KINDS)}.")
    single: dict[Kind, Kind] = {"logits": "binary_log_odds", "probabilities": "binary_probability"}
    return single.get(kind, kind) if ndim == 1 else kind


def _recognise(array: npt.NDArray[Any], original: Any) -> Kind:
    """Kind of outputs: probabilities where most rows lie in [0, 1] and sum to one within their rounding."""
    values = array[:, None] if array.ndim == 1 else array
    inside = ((values >= -ROUNDING) & (values <= 1 + ROUNDING)).all(axis=1)
    if array.ndim == 1:
        if values.size >= FEW and values.min() >= 0 and PERCENT < values.max() <= 100:
            raise AmbiguousOutputs(
                f"The outputs run from {values.min():.3g} to {values.max():.3g}, like percentages: divide them by 100, "
                'or say what they are by kind="binary_log_odds".'
            )
        return "binary_probability" if inside.all() else "binary_log_odds"
    if not array.size:
        return "logits"
    with np.errstate(over="ignore"):
        total = values.sum(axis=1, dtype=np.float64)
    normal = np.abs(total - 1) <= _sum_rounding(values, original)
    if (inside & normal).mean() > 0.5:
        return "probabilities"
    if values.size >= FEW and inside.all() and values.min() >= 0 and not _are_classes(values):
        raise AmbiguousOutputs(
            f"All {len(array):,} rows lie between 0 and 1, but sum to {total.min():.3g} to {total.max():.3g}: pass the "
            'probabilities of all classes, or say what these are by kind="logits".'
        )
    if values.size >= FEW and values.min() >= 0 and (np.abs(total - 100) < 1).mean() > 0.5:
        raise AmbiguousOutputs(
            'Most rows sum to 100, like percentages: divide them by 100, or say what they are by kind="logits".'
        )
    return "logits"


def _sum_rounding(values: npt.NDArray[Any], original: Any) -> float:
    """Bound on the sum of a row of probabilities by their rounding to one to four decimals."""
    some = np.clip(values[:1000].astype(np.float64), -2.0, 2.0)
    decimals = next((d for d in range(1, 5) if np.allclose(some, some.round(d), 0, 1e-6)), None)
    rounded = 0.0 if decimals is None else 0.5 * values.shape[1] * 10.0**-decimals
    return max(sum_tolerance(original), min(rounded, 0.5))  # rows of zeros are no probabilities


def _learn_labels(labels: Any, form: OutputFormat, n: int) -> Ints:
    """Labels as numbers of columns (n,); which label each column has goes into the form."""
    codes, classes = encode_labels(labels, n, form.n_classes, form.columns)
    form.classes = classes
    if classes and (not form.columns or isinstance(classes[0], str)):
        form.class_names = tuple(map(str, classes))
    return codes


def encode_labels(
    labels: Any, n: int, n_classes: int, columns: Sequence[str] = ()
) -> tuple[Ints, tuple[str | bool | int | float, ...]]:
    """Labels of n rows as numbers of columns (n,), and the label of each column; () where they are these numbers.

    Numbers of columns are taken as they are. Other labels must have as many different values as there are columns;
    they are sorted, or in the order of columns that are called as they are.

    Parameters
    ----------
    labels : (n,) numbers of columns, texts, booleans, categories, or other whole numbers such as -1 and 1.
    n, n_classes : rows, and columns of the outputs.
    columns : names of the columns.
    """
    array = as_array(labels, "labels")
    if array.shape != (n,):
        raise CalibrationError(
            f"labels has shape {array.shape} for {plural(n, 'row')} of outputs; pass one label a row."
        )
    if not n:
        return np.zeros(0, np.int64), ()
    if array.dtype.kind == "f":
        if not (array == np.round(array)).all():  # NaN is not equal to itself
            raise CalibrationError(
                "labels must be classes, but hold fractions or NaN; leave rows without a label out."
            )
        array = array.astype(np.int64)
    if array.dtype.kind == "O":
        array = array.astype(str) if all(isinstance(label, str) for label in array) else array
    if array.dtype.kind not in "iubU":
        raise CalibrationError(
            f"labels must be numbers or texts; got {short_repr(array.ravel()[:1].tolist())} of dtype {array.dtype}."
        )
    if array.dtype.kind in "iu" and array.min() >= 0 and array.max() < n_classes:
        return array.astype(np.int64, copy=False), ()
    if array.dtype.kind == "b":
        if n_classes != 2:
            raise CalibrationError(
                f"labels are True or False for {n_classes} columns of outputs; pass the class of each row. Where they "
                "say whether the prediction was right, pass confidence= and correct=."
            )
        return array.astype(np.int64), (False, True)
    values, codes = np.unique(array, return_inverse=True)
    order = values.tolist()
    if array.dtype.kind == "U" and columns:
        order = _as_columns(order, tuple(columns))
    elif array.dtype.kind in "iu" and values[0] >= 1 and values[-1] == n_classes:
        order = list(range(1, n_classes + 1))
    if len(order) != n_classes:
        raise CalibrationError(
            f"labels has {plural(len(values), 'different value')} ({listed(list(map(str, values[:5].tolist())))}) for "
            f"{plural(n_classes, 'column')} of outputs; pass numbers of columns from 0 to {n_classes - 1}, or a "
            "DataFrame whose columns are called as the classes."
        )
    place = {label: column for column, label in enumerate(order)}
    return np.array([place[value] for value in values.tolist()], dtype=np.int64)[codes], tuple(
        order
    )


def check_labels_known(labels: npt.NDArray[Any], name: str) -> None:
    """Raise :class:`CalibrationError` where labels are missing: None, NaN, NaT or pandas.NA."""
    # What is compared with itself is neither true nor false for pandas.NA.
    if missing := sum(
        label is None or (label == label) is not True for label in labels.ravel().tolist()
    ):
        raise CalibrationError(
            f"{missing:,} of {len(labels):,} labels of {name} are missing; leave out these rows."
        )


def class_indices(labels: Any, classes: npt.NDArray[Any], name: str = "y") -> Ints:
    """Position of each label among the classes of a fitted classifier.

    Parameters
    ----------
    labels : (n,) labels.
    classes : (n_classes,) labels in the order of the columns, as scikit-learn's ``classes_``.
    name : how errors call the labels.

    Raises
    ------
    CalibrationError
        For labels that are missing, or none of the classes.
    """
    labels = np.asarray(labels)
    check_labels_known(labels, name)
    values = labels.ravel().tolist()
    place = {label: k for k, label in enumerate(classes.tolist())}
    if unknown := [label for label in values if label not in place]:
        first = ", ".join(map(short_repr, sorted(set(unknown), key=str)[:3]))
        raise CalibrationError(
            f"{len(unknown):,} of {len(labels):,} labels are none of the {len(classes)} classes that the model "
            f"was fitted on: {first}; fit it on rows of these classes too."
        )
    return np.array([place[label] for label in values], dtype=np.int64).reshape(labels.shape)


def _as_columns(values: list[str], columns: tuple[str, ...]) -> list[str]:
    """The label of each column that is called as a label or holds it; the labels themselves where none is."""
    if set(values) <= set(columns):
        return list(columns)
    order = class_order(columns, values)
    if len(values) == len(columns) and all(
        v in columns[k] for v, k in zip(values, order, strict=True)
    ):
        return [values[order.index(k)] for k in range(len(columns))]
    return values


# -- whether labels go with outputs ------------------------------------------------------------------------------------


def rank_test(outputs: Floats, kind: Kind, labels: Ints, most: int = RANKED) -> tuple[float, float]:
    """Probability that labels in random order have outputs that rank so high, and so low; both one-sided.

    The statistic is the sum over rows of the rank, within its column, of the output of the label; logits become
    log-probabilities first. Under random order it is a linear permutation statistic with known mean and variance,
    close to normal (Hoeffding, 1951, "A combinatorial central limit theorem"). For two classes it is the rank-sum
    test.

    Of more rows than :data:`RANKED_ROWS`, or than give ``most`` outputs, some from all of them are taken.
    """
    n = min(len(labels), RANKED_ROWS, max(FEW_RANKED, most // outputs.shape[1]))
    rows = np.linspace(0, len(labels) - 1, n).astype(np.int64)
    values = outputs[rows]
    labels = labels[rows]
    if values.shape[1] == 1:
        values = np.concatenate([-values, values], axis=1)
    compared = log_softmax(values) if kind == "logits" else values
    ranks = np.stack([midranks(column) for column in compared.T], axis=1)
    ranks -= ranks.mean(axis=0)
    frequency = np.bincount(labels, minlength=ranks.shape[1]) / len(rows)
    centred = ranks - (ranks @ frequency)[:, None]
    variance = len(rows) / max(len(rows) - 1, 1) * float((centred**2 @ frequency).sum())
    if not variance > 0:
        return 1.0, 1.0
    z = float(ranks[np.arange(len(rows)), labels].sum()) / math.sqrt(2 * variance)
    return math.erfc(z) / 2, math.erfc(-z) / 2


def disagreement(
    outputs: Floats, kind: Kind, labels: Ints
) -> tuple[Literal["inverted", "shuffled"] | None, float]:
    """Return how labels disagree with outputs, None where they agree, and the p-value of :func:`rank_test`.

    Two classes are inverted where the rank test rejects the other way. Fewer than 20 rows and labels of one class tell
    nothing.
    """
    if len(labels) < FEW_RANKED or np.ptp(labels) == 0:
        return None, 0.0
    if rank_test(outputs, kind, labels, RANKED_FIRST)[0] <= CHANCE / 10:
        return None, 0.0
    high, low = rank_test(outputs, kind, labels)
    if high <= CHANCE:
        return None, high
    inverted = max(outputs.shape[1], 2) == 2 and low <= CHANCE / 2 and kind != "pairs"
    return "inverted" if inverted else "shuffled", high


def warn_of_labels(logits: Floats, labels: Ints, form: OutputFormat) -> None:
    """Warn of labels of one class, and of labels that the outputs do not rank; called by the fit."""
    problem, chance = disagreement(logits, "logits", labels)
    if len(labels) and np.ptp(labels) == 0:
        text = f"All labels are {form.classes_[labels[0]]}: calibration takes rows of other classes too."
    elif problem == "inverted":
        first, second = form.classes_
        text = f"The higher the output for {second}, the more labels are {first}: check the order of the columns."
    elif problem == "shuffled":
        text = (
            f"The outputs rank the labels not significantly better than chance (rank test, p = {chance:.2g}): check "
            "that both are in the same order."
        )
    else:
        return
    warnings.warn(text, CalibrationWarning, stacklevel=3)
