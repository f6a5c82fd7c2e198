"""Predictions: held-out predictions with labels in canonical form, and the hash that identifies them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from calib.canonical import ONE_COLUMN, Kind, Scale, class_order, from_canonical
from calib.data.event import Event, chosen_event, infer_event
from calib.data.findings import InvalidUpload, listed
from calib.data.names import outcome_name
from calib.data.options import WEIGHT_KIND, WeightKind
from calib.data.roles import ColumnRole
from calib.data.rows import ROW_ROLES
from calib.data.split import split_rows
from calib.errors import CalibrationError, Finding
from calib.formatting import percent, plural, single_line
from calib.numerics import Floats, Ints
from calib.outputs import OutputFormat, Seen
from calib.parameters import short_repr

BETWEEN_GROUPS = " · "
"""Between the groups of several columns in a row's group."""
_FIRST_NAMES, _LONGEST_NAME = 3, 40
"""Class names in the plain text of a data set, and their letters."""


def fingerprint(fields: Mapping[str, Any]) -> str:
    """Hash of names, types, shapes and bytes; arrays are read in place.

    Parameters
    ----------
    fields : arrays, numbers, strings and tuples of strings, by name; None counts as absent.
    """
    digest = hashlib.sha256()
    for name, value in sorted(fields.items()):
        for part in _hashed(name, value):
            digest.update(part)
    return digest.hexdigest()


def identifying(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a data set that tell it from another one; the usual event, column 1, is not among them."""
    spared = ("sha256", "name", "model", "findings", "roles", "event", "metadata")
    event = fields.get("event")
    column = None if event is None or event.column == 1 else event.column
    return {
        **{name: value for name, value in fields.items() if name not in spared},
        "event": column,
        **{f"metadata/{name}": values for name, values in fields.get("metadata", {}).items()},
    }


def _hashed(name: str, value: Any) -> Iterator[bytes | memoryview]:
    if isinstance(value, np.ndarray):
        yield f"{name}:{value.dtype.str}:{value.shape}:".encode()
        # Text has no buffer of plain bytes, so every type is seen as bytes.
        yield np.ascontiguousarray(value).reshape(-1).view(np.uint8).data
    elif value is not None:
        yield f"{name}={value!r};".encode()


@dataclass(frozen=True, eq=False, repr=False)
class Predictions:
    """Held-out predictions with labels; immutable, arrays are shared, never copied.

    Attributes
    ----------
    logits : ndarray of shape (n, n_classes)
        Finite: logits, or log-probabilities where probabilities were given.
    labels : ndarray of int of shape (n,)
        Integers in [0, n_classes).
    class_names : tuple of str
        One name per column.
    kind : str
        What the upload held.
    floor : float or None
        What stands in the logits for exact zeros (see :func:`calib.canonical.zero_floor`); None if there was none.
        Scores of the raw model take zeros as they are.
    sha256 : str
        Hash of the canonical content, the key of every cache and fit.
    name : str
        How pages call the data set.
    given_split : ndarray of bool of shape (n,) or None
        True for calibration rows, where the upload brought its own split.
    groups : ndarray of str of shape (n,) or None
        Subgroup of each row.
    features, train_features : ndarray or None
        Inputs of the rows and of the training set, for methods that need more than logits. (n, d) numbers, or images
        (n, height, width) and (n, height, width, channels); float32, float64, or uint8 as they came.
    train_labels : ndarray of int of shape (m,) or None
        The class of each training row, an integer in [0, n_classes).
    clusters : ndarray of str of shape (n,) or None
        What rows that belong together share, such as a patient, a branch or a question.
    weights : ndarray of shape (n,) or None
        Weight of each row, from 0 upwards.
    times : ndarray of str of shape (n,) or None
        When each row was scored, all dates such as "2026-03-02" or all numbers such as "17".
    weight_kind : {"sampling", "frequency", "exposure"} or None
        What the weights mean; None where nobody has said it, and then they are never applied.
    event : Event or None
        Of two classes, the one whose probability is asked for; None for more.
    findings : tuple of Finding
        What was noticed while loading.
    roles : tuple of ColumnRole
        What each column of a table was taken for, with the reason.
    scale : str, float or None
        How the outputs were written, see :data:`calib.canonical.SCALES`; None for the plain scale.
    metadata : mapping of str to ndarray of str of shape (n,)
        Every column of few values beside outcome and outputs, by its name: further subgroups of the rows.
    model : str
        Name and version of the model, from columns of one value such as ``model``; empty where there are none.

    Examples
    --------
    >>> import calib
    >>> data = calib.load_sample("digits-cnn")
    >>> calibration, test = data.split(0.5)
    >>> len(data), len(calibration) + len(test), data.logits.shape
    (1547, 1547, (1547, 10))
    """

    logits: Floats
    labels: Ints
    class_names: tuple[str, ...]
    kind: Kind = "logits"
    floor: float | None = None
    sha256: str = ""
    name: str = "predictions"
    given_split: npt.NDArray[np.bool_] | None = None
    groups: npt.NDArray[np.str_] | None = None
    features: npt.NDArray[Any] | None = None
    train_features: npt.NDArray[Any] | None = None
    train_labels: Ints | None = None
    clusters: npt.NDArray[np.str_] | None = None
    weights: Floats | None = None
    times: npt.NDArray[np.str_] | None = None
    weight_kind: WeightKind | None = None
    event: Event | None = None
    findings: tuple[Finding, ...] = ()
    roles: tuple[ColumnRole, ...] = ()
    scale: Scale | None = None
    metadata: Mapping[str, npt.NDArray[np.str_]] = field(default_factory=dict)
    model: str = ""

    def __len__(self) -> int:
        return len(self.labels)

    def __repr__(self) -> str:
        names = ", ".join(
            single_line(name)[:_LONGEST_NAME] for name in self.class_names[:_FIRST_NAMES]
        )
        more = ", …" if self.n_classes > _FIRST_NAMES else ""
        classes = f"{plural(self.n_classes, 'class', 'classes')} ({names}{more})"
        about = [plural(len(self), "row"), classes]
        if len(self):
            about.append(f"accuracy {percent(self.accuracy)}")
        if n_warnings := sum(finding.level == "warning" for finding in self.findings):
            about.append(f"{plural(n_warnings, 'warning')} in .findings")
        return f"<Predictions {single_line(self.name)[:_LONGEST_NAME]!r}: {self.kind}, {', '.join(about)}>"

    @property
    def accuracy(self) -> float:
        """Share of rows whose largest output is that of the label; of pairs the share of correct answers."""
        right = self.logits.argmax(axis=1) == self.labels if self.correct is None else self.correct
        return float(np.mean(right))

    @property
    def n_classes(self) -> int:
        """Number of columns, whether or not each occurs among the labels."""
        return self.logits.shape[1]

    @property
    def probs(self) -> Floats:
        """(n, n_classes) probabilities of the model, with its exact zeros."""
        return from_canonical(self.logits, self.floor)

    @property
    def confidence(self) -> Floats | None:
        """(n,) confidence in each answer, where the kind is "pairs"; None for every other kind."""
        return from_canonical(self.logits, self.floor)[:, 1] if self.kind == "pairs" else None

    @property
    def correct(self) -> npt.NDArray[np.bool_] | None:
        """(n,) whether each answer is correct, where the kind is "pairs"; None for every other kind."""
        return self.labels == 1 if self.kind == "pairs" else None

    def name_of(self, column: int) -> str:
        """Return the name of a class for sentences: that of the event, or the label of another class.

        Parameters
        ----------
        column : int
            Number of the class.

        Returns
        -------
        str
            Its name.
        """
        if self.event is not None and self.event.column == column:
            return self.event.name
        return str(self.class_names[column])

    def take(self, rows: Any) -> Predictions:
        """The rows of these numbers in their order, or those of a mask; the training set is shared.

        The new hash comes from the old one and the row numbers, so that no large array is hashed again.

        Parameters
        ----------
        rows : array_like
            Numbers of rows, or a mask of shape (n,).

        Returns
        -------
        Predictions
            With these rows.
        """
        rows = np.arange(len(self))[np.asarray(rows, dtype=None if np.size(rows) else np.int64)]
        row_fields = ("logits", "labels", "given_split", "features", *ROW_ROLES)
        arrays = {name: getattr(self, name) for name in row_fields}
        changes: dict[str, Any] = {
            name: None if array is None else array[rows] for name, array in arrays.items()
        }
        changes["metadata"] = {name: values[rows] for name, values in self.metadata.items()}
        sha256 = hashlib.sha256(self.identified().sha256.encode() + rows.tobytes()).hexdigest()
        return replace(self, **changes, sha256=sha256)

    def split(self, part: Any = None, random_state: int = 0) -> tuple[Predictions, Predictions]:
        """Calibration part and test part.

        Parameters
        ----------
        part : float, int, array_like or None, default None
            A fraction in (0, 1) or a count of calibration rows, drawn seeded and stratified by label; or row numbers,
            which become the calibration rows in that order; None takes the split that came with the data, or half of
            the rows. Of data with clusters whole clusters are drawn, and the size is the nearest that was found.
        random_state : int, default 0
            Seed of the draw.

        Returns
        -------
        tuple of Predictions
            The calibration rows and the test rows.

        Raises
        ------
        DataError
            If a part would be empty, row numbers are out of range or repeated, or there are fewer than four clusters.
        CalibrationError
            For a seed that is no whole number between 0 and 2³² - 1.
        """
        calibration, test = split_rows(
            self.labels, part, self.given_split, random_state, self.clusters
        )
        return self.take(calibration), self.take(test)

    def three_parts(
        self, part: Any = None, random_state: int = 0, decision: float | int = 0.5
    ) -> tuple[Predictions, Predictions, Predictions]:
        """Calibration part, decision part and judgement part, so that no row is used twice.

        The first fits the calibrator, the second chooses what is decided with it (a threshold, the quantile of
        prediction sets), and the third shows what both are worth.

        Parameters
        ----------
        part : float, int, array_like or None, default None
            As in :meth:`split`, whose calibration part this is too.
        random_state : int, default 0
            As in :meth:`split`.
        decision : float or int, default 0.5
            The part of the test rows that decisions are chosen on, as a fraction of them or a count.

        Returns
        -------
        tuple of Predictions
            The three parts, in this order.
        """
        calibration, test = self.split(part, random_state)
        return calibration, *test.split(decision, random_state)

    def decided(
        self, event: str | None = None, weight_kind: WeightKind | None = None
    ) -> Predictions:
        """The same rows with a decision about them, as if they had been loaded with it.

        Parameters
        ----------
        event : str or None, default None
            Class that is the event; None leaves it.
        weight_kind : {"sampling", "frequency", "exposure"} or None, default None
            What the weights mean, None where they are not to be applied.

        Returns
        -------
        Predictions
            With this event and this meaning of the weights.

        Raises
        ------
        CalibrationError
            For an event that is none of two classes, and for a meaning that weights do not have.
        """
        if weight_kind is not None and not WEIGHT_KIND.fits(weight_kind):
            reason = f"weight_kind={short_repr(weight_kind)} must be {WEIGHT_KIND.expected}."
            raise CalibrationError(reason)
        chosen = self.event
        if event is not None:
            outcomes = [
                outcome_name(entry.column) for entry in self.roles if entry.role == "outcome"
            ]
            outcome = next(iter(outcomes), "")
            if event not in self.class_names or self.n_classes != 2:
                here = listed(self.class_names)
                reason = f"event={short_repr(event)} must be one of two classes; here are {here}."
                raise CalibrationError(reason)
            column = self.class_names.index(event)
            scored = self.kind in ONE_COLUMN
            chosen = infer_event(self.class_names, self.labels, outcome, scored)
            if chosen.column != column:
                chosen = chosen_event(self.class_names, column, outcome)
        weight_kind = None if self.weights is None else weight_kind
        return replace(self, event=chosen, weight_kind=weight_kind, sha256="").identified()

    @property
    def confirmed_weights(self) -> Floats | None:
        """The weights, where somebody said what they mean and not all are zero; None elsewhere."""
        confirmed = self.weight_kind is not None and self.weights is not None and self.weights.any()
        return self.weights if confirmed else None

    def group_columns(self) -> dict[str, npt.NDArray[Any]]:
        """Return the columns of groups by name: the chosen ones, and every further column of few values.

        Returns
        -------
        dict of str to ndarray of shape (n,)
            Group of each row.
        """
        if self.groups is None:
            return dict(self.metadata)
        names = [entry.column for entry in self.roles if entry.role == "group"] or ["group"]
        parts = np.char.partition(self.groups, BETWEEN_GROUPS)
        columns: dict[str, npt.NDArray[Any]] = {}
        for name in names[:-1]:
            columns[name] = parts[:, 0]
            parts = np.char.partition(parts[:, 2], BETWEEN_GROUPS)
        columns[names[-1]] = np.char.add(np.char.add(parts[:, 0], parts[:, 1]), parts[:, 2])
        return {**self.metadata, **columns}

    def group_values(self, column: str = "") -> npt.NDArray[Any] | None:
        """Return the groups in a column, or the chosen groups.

        Parameters
        ----------
        column : str, default ""
            Name in :meth:`group_columns`; empty for the chosen groups.

        Returns
        -------
        ndarray of shape (n,) or None
            Group of each row; None where no groups were chosen.

        Raises
        ------
        CalibrationError
            If there is no such column, or none was chosen among several.
        """
        columns = self.group_columns()
        if not column and (self.groups is not None or not columns):
            return self.groups
        if column not in columns:
            names = ", ".join(columns) or "none"
            raise CalibrationError(
                f"There is no column {column!r} of groups; pass column=, one of {names}."
            )
        return columns[column]

    def output_format(self) -> OutputFormat:
        """Return the form of the outputs, which a calibrator remembers, with name, hash and event of the data.

        Returns
        -------
        OutputFormat
            Its labels are the numbers of the columns, as ``labels`` are here.
        """
        view = "pairs" if self.kind == "pairs" else "top-label" if self.event is None else "event"
        facts = {"data_name": self.name, "data_sha256": self.sha256, "view": view}
        if self.event is not None:
            facts |= {"event": self.event.name, "event_class": self.class_names[self.event.column]}
        chosen = [role.column for role in self.roles if role.role == "group"]
        if self.groups is not None and len(chosen) == 1:
            facts |= {"group_column": chosen[0]}
        if self.model:
            facts |= {"model": self.model}
        n = len(self)
        return OutputFormat(
            kind=self.kind,
            floor=self.floor,
            class_names=self.class_names,
            scale=self.scale,
            columns=self._columns(),
            seen=Seen.from_logits(self.logits, self.kind, self.scale),
            base_rate=np.bincount(self.labels, minlength=self.n_classes) / n if n else None,
            metadata=facts,
        )

    def _columns(self) -> tuple[str, ...]:
        """The columns of the outputs in the table that the data came from, in the order of the classes."""
        named = [role.column for role in self.roles if role.role == "outputs"]
        single = self.kind in ONE_COLUMN
        if len(named) != (1 if single else self.n_classes):
            return ()
        return tuple(named if single else [named[k] for k in class_order(named, self.class_names)])

    def identified(self) -> Predictions:
        """The same data with their hash, computed here unless they have one.

        Returns
        -------
        Predictions
            These data themselves where they have a hash.
        """
        return self if self.sha256 else replace(self, sha256=fingerprint(identifying(vars(self))))


def check_consistent(data: Predictions) -> None:
    """Refuse data whose parts do not belong together, as no reader makes them."""
    n = len(data.labels)
    k = len(data.class_names)
    rows = {name: getattr(data, name) for name in ("given_split", "features", *ROW_ROLES)}
    rows |= data.metadata
    shape, weights, split = data.logits.shape, data.weights, data.given_split
    right = {
        "outputs": shape == (n, k) and data.logits.dtype.kind == "f" and n > 0 and k > 1,
        "labels": _are_classes(data.labels, k),
        "training labels": data.train_labels is None or _are_classes(data.train_labels, k),
        "event": data.event is None or (k == 2 and data.event.column in (0, 1)),
        "split": split is None or split.dtype.kind == "b",
        **{f"length of {name}": a is None or len(a) == n for name, a in rows.items()},
        "weights": weights is None or (weights.dtype.kind == "f" and weights.min() >= 0),
    }
    for part, holds in right.items():
        if not holds:
            reason = f"The {part} of what was read cannot be right."
            raise InvalidUpload("damaged", reason, "Save the file anew.")


def has_sha256(data: Predictions, sha256: str) -> bool:
    """Return whether data with this hash have these rows, also where they were read without times."""
    if sha256 == data.identified().sha256:
        return True
    return data.times is not None and has_sha256(replace(data, times=None, sha256=""), sha256)


def check_predictions(data: object, what: str) -> None:
    """Refuse what is no data set, in one sentence that begins with what it was given for."""
    if not isinstance(data, Predictions):
        raise CalibrationError(
            f"{what} is a {type(data).__name__}, not calib.Predictions; make it by calib.from_outputs(probs, labels)."
        )


def _are_classes(labels: npt.NDArray[Any], n_classes: int) -> bool:
    right = labels.ndim == 1 and labels.dtype.kind == "i"
    return right and (not len(labels) or (labels.min() >= 0 and labels.max() < n_classes))
