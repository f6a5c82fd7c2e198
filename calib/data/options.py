"""Options of reading: the files of an upload, and how they are read."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, BinaryIO, Literal, NamedTuple, Protocol

import numpy as np

from calib.canonical import KINDS, SCALES, Kind, Scale, is_scale
from calib.errors import CalibrationError
from calib.parameters import did_you_mean, param

Columns = str | tuple[str, ...]
"""One array of an npz or hdf5 file, or the columns of a table."""


class Frame(Protocol):
    """A table in memory that gives its columns to Arrow: of pandas, polars or pyarrow."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Arrow's interface."""


NamedFile = tuple[str, bytes] | tuple[str, BinaryIO]
Source = str | Path | NamedFile | Frame | list[dict[str, Any]] | Mapping[str, Any]
"""A path, what an upload gives (its file name with its bytes or an open binary file), a table in memory (a DataFrame of
pandas or polars, an Arrow table, a list of dictionaries), or arrays and tensors by name, as in an npz file."""

WeightKind = Literal["sampling", "frequency", "exposure"]
"""Meaning of weights, which decides how they enter an interval."""

Sign = Literal[".", ","]
"""Sign between the whole and the fraction of a number."""

WEIGHT_KINDS: dict[WeightKind, str] = {
    "sampling": "one over the probability that the row was drawn",
    "frequency": "number of equal rows that this one stands for",
    "exposure": "how much depends on the row, such as an amount or a time",
}
"""Every kind of weights, and what it means."""

FORMATS = "npz, npy, csv, tsv or json (also .gz), xlsx, parquet, feather, hdf5"
"""The files that are read, for pages and help."""

NOTHING = ""
"""Given for an array or a column, it means "leave this out" where None means "infer"."""


def names_in(chosen: Columns | None) -> tuple[str, ...]:
    """The names of the arrays or columns that were chosen; none for what is inferred or left out."""
    return tuple(name for name in ((chosen,) if isinstance(chosen, str) else chosen or ()) if name)


class ValueType(NamedTuple):
    """Type of an option: its name in sentences, the test of a value, and the parser of written text."""

    expected: str
    fits: Callable[[Any], bool]
    from_text: Callable[[str], Any] = str


def _of(*types: type) -> Callable[[Any], bool]:
    """Return a test for values of these types; a truth value is no number."""
    return lambda value: isinstance(value, types) and (not isinstance(value, bool) or bool in types)


def _all(*types: type) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, tuple) and all(isinstance(item, types) for item in value)


def _literal(text: str) -> Any:
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def _names(text: str) -> tuple[Any, ...]:
    """Names with commas between, or a Python list where a name has a comma."""
    value = _literal(text) if text.startswith(("[", "(")) else text
    names = [name.strip() for name in text.split(",")]
    return tuple(value if isinstance(value, (list, tuple)) else names)


def _columns(text: str) -> str | tuple[Any, ...]:
    names = _names(text)
    return text if names == (text.strip(),) else names


def _labels(text: str) -> tuple[Any, ...]:
    numbers = tuple(_literal(name.strip()) for name in text.split(","))
    return numbers if all(type(number) is int for number in numbers) else _names(text)


def _truth(text: str) -> Any:
    return {"true": True, "yes": True, "false": False, "no": False}.get(text.lower(), text)


TEXT = ValueType("text", _of(str))
COLUMNS = ValueType("one name or several", lambda v: isinstance(v, str) or _all(str)(v), _columns)
CHARACTER = ValueType(
    "one character", lambda v: isinstance(v, str) and len(v) == 1 and v not in '"\r\n'
)
DECIMAL = ValueType("a point or a comma", (".", ",").__contains__)
WEIGHT_KIND = ValueType(f"one of {', '.join(WEIGHT_KINDS)}", [*WEIGHT_KINDS].__contains__)
KIND = ValueType(f"one of {', '.join(KINDS)}", [*KINDS].__contains__)
_NUMBER_OF_ONE = "the number that a probability of one is written as"
SCALE = ValueType(f"one of {', '.join(SCALES)}, or {_NUMBER_OF_ONE}", is_scale, _literal)
NAMES = ValueType("several names", _all(str), _names)
LABELS = ValueType("several names or whole numbers", _all(str, int, np.integer), _labels)
ONE_FILE = 'np.savez("all.npz", logits=..., labels=..., features=..., train_features=..., train_labels=...)'
"""Call that puts all arrays into one file, for sentences."""
IN_THE_FILE = ValueType(
    f"a name in the file of the outputs, as {ONE_FILE} writes it",
    lambda value: COLUMNS.fits(value) and not str(value).endswith((".npy", ".npz", ".csv")),
    _columns,
)
SWITCH = ValueType("true or false", _of(bool, np.bool_), _truth)
NUMBER = ValueType("a number", _of(int, np.integer, float, np.floating), _literal)


def option(type: ValueType, title: str = "") -> Any:
    """Declare an option that is inferred unless it is given; ``title`` is how the page calls it."""
    return field(default=None, metadata={"type": type, "title": title})


OPTION_OF_ROLE = {
    "outcome": "labels", "outputs": "outputs", "predicted": "predicted", "cluster": "clusters", "weight": "weights",
    "group": "groups", "time": "times", "features": "features", "split": "split", "ignore": "ignore",
}  # fmt: skip
"""The option that holds the columns of each role, by the name that people give the role."""


@dataclass(frozen=True, kw_only=True)
class Choices:
    """Options of reading an upload. None means "infer"; an :class:`Inspection` holds the inferred ones.

    Every option is declared here once, with the values it takes and how the page calls it.

    Attributes
    ----------
    outputs, labels : the model's outputs and the true classes: an array's name, or the columns of a table. Where the
        file holds two parts these are the calibration part.
    test_outputs, test_labels : the same for the test part, where it lies under its own names.
    split : array or column that says which rows are for calibration.
    groups : subgroup of each row, from one column or several. ``""`` leaves them out.
    clusters, weights : what rows that belong together share, such as a patient; weight of each row.
    times : when each row was scored, a date or a number such as that of its week; Monitoring follows it.
    predicted : predicted class of each row; of pairs it says with the label which answers are correct.
    ignore : columns that are left alone, whatever they look like.
    features, train_features, train_labels : inputs of each row, and the training set, for methods that need them; in
        the file of the outputs. ``""`` leaves them out.
    kind : logits, probabilities, log-probabilities, or a single column for binary data.
    weight_kind : meaning of the weights; without it only a column named as sampling weights is applied.
    event : of two classes, the one whose probability is asked for.
    class_names : one name for each column of the outputs.
    label_values : the label that belongs to each column, where labels are not column numbers.
    drop_bad_rows : whether rows with NaN, infinite values or no valid label are left out, of the training set too.
    scale : how the outputs are written: ``"percent"``, ``"counts"`` or ``"log"``, see :data:`calib.canonical.SCALES`,
        or the number that a probability of one is written as; ``"plain"`` is as is.
    floor : what exact zeros become before the logarithm; inferred by :func:`calib.canonical.zero_floor`.
    delimiter, encoding, decimal : how a text table is written.
    sheet : the sheet of an .xlsx file, where several hold tables.
    header : whether the first line of a text table holds the names of the columns.
    """

    outputs: Columns | None = option(COLUMNS, "Model outputs")
    labels: Columns | None = option(COLUMNS, "Labels")
    test_outputs: Columns | None = option(COLUMNS, "Test outputs")
    test_labels: Columns | None = option(COLUMNS, "Test labels")
    split: str | None = option(TEXT, "Calibration or test")
    groups: Columns | None = option(COLUMNS, "Subgroup")
    clusters: str | None = option(TEXT, "Cluster (rows that belong together)")
    weights: str | None = option(TEXT, "Weight")
    times: str | None = option(TEXT, "Date or week")
    predicted: str | None = option(TEXT, "Predicted class")
    ignore: tuple[str, ...] | None = option(NAMES)
    features: Columns | None = option(IN_THE_FILE, "Features")
    train_features: Columns | None = option(IN_THE_FILE, "Training features")
    train_labels: str | None = option(IN_THE_FILE, "Training labels")
    kind: Kind | None = option(KIND, "Outputs are")
    weight_kind: WeightKind | None = option(WEIGHT_KIND, "Weights are")
    event: str | None = option(TEXT, "Event, of two classes")
    class_names: tuple[str, ...] | None = option(NAMES, "Class names, one for each column in order")
    label_values: tuple[str, ...] | tuple[int, ...] | None = option(
        LABELS, "Label of each column, in order"
    )
    drop_bad_rows: bool | None = option(
        SWITCH, "Leave out rows with NaN, infinite values or no valid label"
    )
    scale: Scale | None = option(SCALE, "Written as")
    floor: float | None = option(NUMBER, "Floor: what exact zeros become")
    delimiter: str | None = option(CHARACTER)
    encoding: str | None = option(TEXT)
    decimal: Sign | None = option(DECIMAL)
    sheet: str | None = option(TEXT)
    header: bool | None = option(SWITCH, "The first line holds the names of the columns")

    def __post_init__(self) -> None:
        for f in fields(self):
            value = getattr(self, f.name)
            if isinstance(value, list):  # as good as a tuple, and people write them
                value = tuple(value)
            if f.name == "class_names" and isinstance(value, tuple):  # numbers are names too
                value = tuple(str(v) if isinstance(v, (int, np.integer)) else v for v in value)
            object.__setattr__(self, f.name, value)


FEATURE_ARRAYS = ("features", "train_features", "train_labels")
"""Arrays that only some methods need."""

INFERRED = Choices()
"""Everything left to be inferred."""

ONE_COLUMN_OPTIONS = ("labels", "predicted", "clusters", "weights", "times", "split")
"""Options that name one column of a table."""

OPTIONS: dict[str, Mapping[str, Any]] = {f.name: f.metadata for f in fields(Choices)}
"""Every option by its name: the ``type`` of its values and its ``title``, empty where the page does not show it."""


def choices_from_roles(roles: Mapping[str, Any], base: Choices = INFERRED) -> Choices:
    """Return choices from roles as people write them: ``{"outcome": "default", "outputs": "pd", "cluster": "branch"}``.

    Parameters
    ----------
    roles : a column or several for each role; single options such as ``kind`` may stand among them.
    base : everything else that was chosen.

    Raises
    ------
    CalibrationError
        For a name that is no role and no option, and for several columns in a role of one.
    """
    if not isinstance(roles, Mapping):
        reason = f"roles must be a column for each role, as {{'outcome': 'y'}}; got {roles!r}."
        raise CalibrationError(reason)
    chosen: dict[str, Any] = {}
    for role, value in roles.items():
        option = OPTION_OF_ROLE.get(role, role)
        if option not in OPTIONS:
            names = ", ".join(OPTION_OF_ROLE)
            raise CalibrationError(f"{role!r} is no role of a column; these are {names}.")
        several = list(value) if isinstance(value, (list, tuple)) else [value]
        if option in ONE_COLUMN_OPTIONS and len(several) > 1:
            columns = f"{len(several)} were given: {', '.join(map(str, several))}"
            raise CalibrationError(f"The role {role!r} takes one column, but {columns}.")
        alone = len(several) == 1 and option not in ("ignore", "label_values", "class_names")
        chosen[option] = several[0] if alone else tuple(several)
    return replace(base, **chosen)


def explicit_options(choices: Choices) -> dict[str, object]:
    """Return the options that are not left to be inferred, by their names."""
    return {name: value for name in OPTIONS if (value := getattr(choices, name)) is not None}


def names_in_options(choices: Choices, *options: str) -> list[str]:
    """Return the names of arrays or columns in several options, each as often as it was chosen."""
    return [name for option in options for name in names_in(getattr(choices, option))]


def columns_in_use(choices: Choices, but: str = "") -> set[str]:
    """Return the columns that have a role already, those of one option left aside."""
    options = {*OPTION_OF_ROLE.values(), "test_outputs", "test_labels"} - {but}
    return {*names_in_options(choices, *options)}


@dataclass(frozen=True, kw_only=True)
class LoadOptions:
    """Files beside the model's outputs, and options, of :func:`calib.load` and :func:`calib.data.inspect`.

    Every file is declared here once; the command line makes an option of each and the page a place to upload it,
    both with its help. A file that is not given is None: what it would hold is looked for in the first file.

    Attributes
    ----------
    labels : the labels of the first file.
    test, test_labels : the test set and its labels; the first file is then the calibration set.
    choices : how the files are read.
    isolate : whether files are read in a process of its own with limits of memory and time and, on Linux, without
        access to the network, to other files and to other processes. None does so with HDF5 where these limits hold.
        Tables in memory are read here.
    """

    labels: Source | None = param(None, help="Labels, where they have their own file")
    test: Source | None = param(None, help="Test set in its own file; the first calibrates")
    test_labels: Source | None = param(None, help="Labels of the test set, in their own file")
    choices: Choices = Choices()
    isolate: bool | None = None

    @property
    def files(self) -> dict[str, Source | None]:
        """Every file by its name, None where it was not given."""
        return {name: getattr(self, name) for name in FILES}


FILES: dict[str, str] = {f.name: f.metadata["help"] for f in fields(LoadOptions) if f.metadata}
"""The files beside the first one by name, each with its help, in the order of the command line and the page."""


def changed_options(
    options: LoadOptions,
    *,
    choices: Choices | None = None,
    roles: Mapping[str, Any] | None = None,
    isolate: bool | None = None,
    **changes: Any,
) -> LoadOptions:
    """Return options with other files or choices; what is no file is a single field of the choices.

    Raises
    ------
    TypeError
        For a name that is no file and no option, as for every argument that a function does not know.
    """
    for name in changes:
        if name in OPTION_OF_ROLE and name not in OPTIONS and name not in FILES:
            raise TypeError(f"{name!r} is the role of a column; give roles={{{name!r}: ...}}.")
        if name not in OPTIONS and name not in FILES:
            near = did_you_mean(name, [*FILES, *OPTIONS, "roles", "isolate"])
            names = "" if near else f"; these are {', '.join([*FILES, *OPTIONS])}"
            raise TypeError(f"{name!r} is no option of reading data{near}{names}.")
    if choices is not None and not isinstance(choices, Choices):
        reason = (
            f"choices must be calib.data.Choices; got {choices!r}. Give single options by name."
        )
        raise CalibrationError(reason)
    files = {name: changes.pop(name) for name in FILES if name in changes}
    changed = choices or options.choices
    if changes:
        changed = replace(changed, **changes)
    if roles is not None:
        changed = choices_from_roles(roles, changed)
    isolation = options.isolate if isolate is None else isolate
    return replace(options, **files, choices=changed, isolate=isolation)
