"""The errors that reach people and what they are made of, the sentence for a missing package, reasons without paths."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

Level = Literal["error", "warning", "info"]

NO_FEATURE_METHODS = "Methods that need features are left out."


@dataclass(frozen=True)
class Finding:
    """One result of a check of an upload.

    Attributes
    ----------
    level : {"error", "warning", "info"}
        An error stops loading, a warning may invalidate results, an info says how the upload was read.
    code : str
        Stable name of the check, for tests and for one-click fixes.
    reason : str
        What happened, with numbers, and the likely cause.
    action : str
        The one thing to do next; empty for most infos.
    fix : dict of str to object
        Changes to :class:`~calib.data.Choices` that resolve it, offered as one click; empty if none.
    left_out : str
        The array that was given and could not be used for this reason: features, train_features or train_labels; empty
        for every other finding.
    readings : mapping of str to mapping
        Where several ways to read the upload are plausible, what each is called and the changes that choose it.
    """

    level: Level
    code: str
    reason: str
    action: str = ""
    fix: dict[str, object] = field(default_factory=dict)
    left_out: str = ""
    readings: Mapping[str, Mapping[str, object]] = field(default_factory=dict)

    @property
    def offers(self) -> Mapping[str, Mapping[str, object]]:
        """Actions of one click, by their titles: each reading, or the fix; empty if there is none."""
        return self.readings or ({"Do this": self.fix} if self.fix else {})

    @property
    def message(self) -> str:
        """Message with the methods that are left out for it."""
        return f"{self.reason} {NO_FEATURE_METHODS}" if self.left_out else self.reason


class CalibrationError(ValueError):
    """Request that cannot be met, with one sentence a person can act on; also of data.

    Examples
    --------
    >>> import calib
    >>> try:
    ...     calib.ece([0.2, 0.9, 0.4], [0, 1])
    ... except calib.CalibrationError as error:
    ...     print(error)
    labels has shape (2,) for 3 rows of outputs; pass one label a row.
    """

    def __str__(self) -> str:
        return re.sub(
            " at 0x[0-9a-fA-F]+", "", super().__str__()
        )  # where an object lies in memory says nothing


class CalibrationWarning(UserWarning):
    """Circumstance that may make results invalid although they can be computed, as scores on the rows of the fit.

    Examples
    --------
    >>> import warnings
    >>> import calib
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     data = calib.from_outputs([[0.7, 0.3], [0.2, 0.8]] * 3, [0, 1] * 3)
    >>> print(caught[0].message)  # doctest: +ELLIPSIS
    There are only 6 rows; calibration errors measured on fewer than 200 are mostly chance. ...
    """


class FitCancelled(Exception):
    """Raised by a callback to stop a fit.

    Examples
    --------
    >>> import calib
    >>> def stop(*progress):
    ...     raise calib.FitCancelled
    >>> try:
    ...     calib.calibrator("gpcalib").fit(calib.load_sample("digits-cnn"), progress=stop)
    ... except calib.FitCancelled:
    ...     print("cancelled")
    cancelled
    """


class UnexpectedError(Exception):
    """Something went wrong in another process that was not meant for people; ``trace`` is its traceback."""

    def __init__(self, text: str, trace: str):
        super().__init__(text, trace)  # pickle makes an error anew of these arguments
        self.trace = trace

    def __str__(self) -> str:
        return str(self.args[0])


class DataError(CalibrationError):
    """Data that cannot be used.

    Attributes
    ----------
    findings : sequence of Finding
        Why, the errors first.

    Examples
    --------
    >>> import calib
    >>> try:
    ...     calib.load("nowhere.csv")
    ... except calib.DataError as error:
    ...     print(error)  # doctest: +ELLIPSIS
    nowhere.csv cannot be opened (No such file or directory). Check the path; ...
    """

    def __init__(self, findings: Sequence[Finding]):
        super().__init__(findings)  # pickle makes an error anew of these arguments
        self.findings = list(findings)

    def __str__(self) -> str:
        first = next(finding for finding in self.findings if finding.level == "error")
        return f"{first.message} {first.action}".strip()


class AmbiguousTable(DataError):
    """A table that can be read in more than one way.

    Attributes
    ----------
    findings : sequence of Finding
        Why, the errors first.
    readings : sequence of TableReading
        The ways, the most plausible first; give the roles of one to :func:`calib.load`.

    Examples
    --------
    >>> import calib
    >>> import pandas as pd
    >>> table = pd.DataFrame({"score_a": [0.2, 0.9], "score_b": [0.3, 0.8], "outcome": [0, 1]})
    >>> try:
    ...     calib.load(table)
    ... except calib.AmbiguousTable as error:
    ...     print(len(error.readings))
    4
    """

    def __init__(self, findings: Sequence[Finding], readings: Sequence[Any]):
        super().__init__(findings)
        self.args = findings, readings
        self.readings = tuple(readings)

    def __str__(self) -> str:
        lines = [super().__str__(), "Give calib.load one of:"]
        for reading in self.readings:
            roles = {
                role: list(value) if isinstance(value, tuple) else value
                for role, value in reading.roles.items()
            }
            lines.append(f"    roles={roles!r}  # {reading.sentence}")
        return "\n".join(lines)


_PATH = re.compile(r"(?<![\w.])(?:[A-Za-z]:)?[/\\](?:[^\s/\\'\":;,()]+[/\\])+[^\s'\":;,()]*")


def reason(error: BaseException) -> str:
    """Describe an unexpected error in one line without any path of this machine; "" where it has no text.

    Whoever uploads files is told that the disk is full, and not where it is.
    """
    text = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return _PATH.sub("a file", text.strip().partition("\n")[0])


EXTRAS = {
    **dict.fromkeys(("dask", "distributed"), "cluster"),
    **dict.fromkeys(("jinja2", "markupsafe", "plotly"), "report"),
    "onnx": "onnx",
    "river": "active",
    "streamlit": "app",
    **dict.fromkeys(("gpflow", "tensorflow", "tensorflow_probability"), "gp"),
}
"""The extra that each module comes with; all others come with ``fit``."""

DISTRIBUTIONS = {"sklearn": "scikit-learn"}


def missing_package(error: ModuleNotFoundError) -> str:
    """One sentence: which package is missing and how to install it.

    Raises
    ------
    ModuleNotFoundError
        The error itself, if it is calib's own module that is missing: no installing helps then.
    """
    module = (error.name or "").partition(".")[0]
    if module in ("", "calib"):
        raise error
    extra = EXTRAS.get(module, "fit")
    distribution = DISTRIBUTIONS.get(module, module)
    return (
        f'This needs {distribution}, which is not installed: pip install "calib-studio[{extra}]".'
    )
