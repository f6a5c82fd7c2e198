"""The errors that reach people, and the sentence for a package that is not installed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


class CalibrationError(ValueError):
    """A fit or a prediction that cannot be done, said in one sentence a person can act on."""


class FitCancelled(Exception):
    """Raised by a callback to stop a fit."""


class DataError(ValueError):
    """An upload that cannot be used.

    Attributes
    ----------
    findings : why, as a list of :class:`calib.data.Finding`, the errors first.
    """

    def __init__(self, findings: Sequence[Any]):
        self.findings = list(findings)
        first = next(finding for finding in self.findings if finding.level == "error")
        super().__init__(f"{first.message} {first.action}".strip())


class AmbiguousTable(DataError):
    """A table that can be read in more than one way.

    Attributes
    ----------
    readings : the ways, the most plausible first, as :class:`calib.data.TableReading`; give the roles of one to
        :func:`calib.load`.
    """

    def __init__(self, findings: Sequence[Any], readings: Sequence[Any]):
        super().__init__(findings)
        self.readings = tuple(readings)


EXTRAS = {
    **dict.fromkeys(
        (
            "gpflow",
            "keras",
            "pkg_resources",
            "setuptools",
            "tensorflow",
            "tensorflow_probability",
            "tf_keras",
            "check_shapes",
        ),
        "gp",
    ),
    **dict.fromkeys(("dask", "distributed"), "cluster"),
    **dict.fromkeys(("jinja2", "markupsafe", "plotly"), "report"),
    "river": "active",
}
"""The extra that each module comes with; all others come with ``fit``."""

DISTRIBUTIONS = {"sklearn": "scikit-learn", "pkg_resources": "setuptools"}


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
    return f'This needs {DISTRIBUTIONS.get(module, module)}, which is not installed: pip install "calib[{extra}]".'
