"""Contents of a report, and the command that makes it again."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from calib.auditing import Audit, audit
from calib.auditing.compare import Comparison
from calib.base import Calibrator
from calib.canonical import KINDS, describe_scale
from calib.data import Choices
from calib.data.options import FILES, explicit_options
from calib.data.predictions import Predictions
from calib.data.samples import FOLDER, SAMPLES
from calib.evaluation import SCORES, Evaluation
from calib.evaluation.compare import BASELINE
from calib.evaluation.describe import Recommendation
from calib.evaluation.evaluation import raw_model
from calib.evaluation.view import View, view_of
from calib.formatting import Displayed, listed, percent, plural, single_line
from calib.parameters import written
from calib.plots.style import Style, method_style
from calib.registry import registry_name

if TYPE_CHECKING:
    import pandas as pd

MOST_NAMES = 100


@dataclass(frozen=True)
class Source:
    """Source of the data and their split, as far as the command line needs it.

    Attributes
    ----------
    files : mapping of str to str
        Path or name of each file by its role, with the roles of :func:`calib.load`: ``source``, ``labels``,
        ``test`` and so on.
    choices : Choices
        What was decided by hand about reading them.
    sample : str or None
        Name of the sample, where it is one that comes with the project.
    call : str
        The line of Python that made the report, where the data came from no file that a command could name.
    part : float, int or None
        Calibration rows that were asked for; None means the split of the data, or half where they have none.
    seed : int
        Seed of the split.
    """

    files: Mapping[str, str] = field(default_factory=dict)
    choices: Choices = field(default_factory=Choices)
    sample: str | None = None
    call: str = ""
    part: float | int | None = None
    seed: int = 0

    @property
    def simulated(self) -> bool:
        """True for data that were drawn from known distributions, not predicted by a model."""
        sample = SAMPLES.get(self.sample or "")
        return sample is not None and sample.simulated


@dataclass(frozen=True, eq=False)
class ReportedMethod:
    """One fitted method.

    Attributes
    ----------
    key : str
        What the table calls it in its column ``method``.
    name : str
        Registry name.
    title : str
        How it is called.
    style : Style
        How it is drawn.
    calibrator : Calibrator
        Fitted.
    evaluation : Evaluation
        What it does on the test rows.
    fit_seconds, predict_seconds : float
        NaN where nothing was measured.
    """

    key: str
    name: str
    title: str
    style: Style
    calibrator: Calibrator
    evaluation: Evaluation
    fit_seconds: float = float("nan")
    predict_seconds: float = float("nan")


@dataclass(frozen=True, eq=False, repr=False)
class Report(Displayed):
    """One comparison of calibrators on one split of one data set.

    Attributes
    ----------
    data : Predictions
        Without rows: name, classes, event, findings.
    facts : mapping of str to str
        What the data are and how they were split, by name.
    n_calibration, n_test : int
        Rows.
    methods : sequence of ReportedMethod
        The raw model first.
    table : pandas.DataFrame
        From :func:`calib.compare`, with these methods, and those that failed with the reason.
    groups : ndarray of str of shape (n_test,) or None
        Subgroup of each test row.
    rows : tuple of Predictions or None
        Calibration and test rows, of an event and of answers; None elsewhere.
    recommendation : Recommendation or None
        What to take; None where no method has a score to decide by.
    source : Source
        Where the data came from.
    created : datetime
        When, in UTC.
    audit : Audit or None
        Of all rows of the raw model; its verdict is the head.
    """

    data: Predictions
    facts: Mapping[str, str]
    n_calibration: int
    n_test: int
    methods: Sequence[ReportedMethod]
    table: pd.DataFrame
    groups: npt.NDArray[np.str_] | None = None
    rows: tuple[Predictions, Predictions] | None = None
    recommendation: Recommendation | None = None
    source: Source = field(default_factory=Source)
    created: datetime = field(default_factory=lambda: datetime.now(UTC))
    audit: Audit | None = None

    def __repr__(self) -> str:
        titles = [method.title for method in self.methods]
        return f"<Report on {single_line(self.data.name)!r}: {listed(titles)} on {plural(self.n_test, 'test row')}>"

    @property
    def view(self) -> View:
        """View of the evaluation: the event of two classes, or the predicted class."""
        return self.methods[0].evaluation.view

    @property
    def recommended(self) -> ReportedMethod:
        """The recommended method; the raw model where there is no recommendation."""
        chosen = None if self.recommendation is None else self.recommendation.method
        return next((method for method in self.methods if method.key == chosen), self.methods[0])

    @property
    def before_and_after(self) -> list[ReportedMethod]:
        """The raw model and, where there is one, a calibrator: the recommended, or the best where the raw would do."""
        raw, *others = self.methods
        chosen = self.recommended
        if chosen is raw and self.recommendation is not None:
            chosen = next(
                (method for method in others if method.key == self.recommendation.best), raw
            )
        return [raw, *([chosen] if chosen is not raw else others[:1])]


def report_from_parts(
    data: Predictions,
    parts: tuple[Predictions, Predictions],
    methods: Sequence[ReportedMethod],
    table: pd.DataFrame,
    **about: Any,
) -> Report:
    """Report on judged methods.

    Parameters
    ----------
    data : all rows.
    parts : calibration and test rows.
    methods : the raw model first.
    table : from :func:`calib.compare`.
    **about : further attributes.
    """
    view = methods[0].evaluation.view
    calibration, test, none = (
        replace(part, features=None, train_features=None, train_labels=None)
        for part in (*parts, data.take([]))
    )
    rows = None if view.name == "top-label" else (calibration, test)
    if "audit" not in about:
        about["audit"] = audit(data, view="top-label" if view.name == "top-label" else "event")
    facts = _facts(data, parts, view, about.get("source", Source()))
    sizes = len(calibration), len(test)
    return Report(none, facts, *sizes, methods, table, test.groups, rows, **about)


def report_from_comparison(
    comparison: Comparison,
    data: Predictions,
    parts: tuple[Predictions, Predictions],
    calibrators: Mapping[str, Calibrator],
    **about: Any,
) -> Report:
    """Report on a comparison, of the methods that did not fail.

    Parameters
    ----------
    comparison : from :func:`calib.compare`.
    data : all rows.
    parts : calibration and test rows. The first is empty where nothing was fitted for this.
    calibrators : those that were compared, fitted, by their names in the comparison.
    **about : further attributes, such as ``source``.

    Examples
    --------
    >>> import calib
    >>> data = calib.load_sample("clinic-tumours")
    >>> parts, methods = data.split(0.5), {"platt": calib.calibrator("platt")}
    >>> report_from_comparison(calib.compare(methods, *parts), data, parts, methods)
    <Report on 'Clinical risk table': Uncalibrated and Platt on 285 test rows>
    """
    fitted = {BASELINE: raw_model(parts[1]), **calibrators}
    titles = dict(zip(comparison.table["method"], comparison.table["title"], strict=True))
    methods: list[ReportedMethod] = []
    for key, evaluation in comparison.evaluations.items():
        name = registry_name(fitted[key]) or key
        style = method_style(name, sum(other.name == name for other in methods))
        about_method = key, name, titles[key], style, fitted[key], evaluation
        methods.append(ReportedMethod(*about_method, *comparison.seconds[key]))
    about = {"recommendation": comparison.recommendation, **about}
    return report_from_parts(data, parts, methods, comparison.table, **about)


def _facts(
    data: Predictions, parts: tuple[Predictions, Predictions], view: View, source: Source
) -> dict[str, str]:
    calibration, test = parts
    facts = {
        "name": data.name,
        "content": f"{plural(len(data), 'row')}, {plural(data.n_classes, 'class', 'classes')}, {KINDS[data.kind]}",
        "accuracy": f"{percent(data.accuracy)} over all rows",
        "calibration rows": _rows(calibration, view),
        "test rows": f"{_rows(test, view)}; all numbers are of these, the audit alone of all rows",
        "split": _split(data, len(calibration), source),
        "SHA-256 of the content": data.sha256 or "unknown",
    }
    if data.scale is not None:
        facts["scale of the outputs"] = describe_scale(data.scale)
    if view.is_event and data.event is not None:
        rate = float(np.mean(data.labels == data.event.column))
        facts["event"] = f"{data.event.name}, in {percent(rate)} of all rows ({data.event.reason})"
    if data.floor is not None:
        facts["zero probabilities"] = f"became {data.floor:.4g} before the logarithm"
    if source.files and source.sample is None:
        facts["files"] = ", ".join(f"{name} ({role})" for role, name in source.files.items())
    facts |= {
        f"decided by hand: {name}": str(value)
        for name, value in explicit_options(source.choices).items()
    }
    for use, part in (("calibration", calibration), ("test", test)):
        if part.times is not None and len(part.times):
            times = sorted(map(str, np.unique(part.times)), key=lambda time: (len(time), time))
            facts[f"times of the {use} rows"] = f"from {times[0]} to {times[-1]}"
    names = data.class_names[:MOST_NAMES]
    facts["classes"] = ", ".join(names) + (", ..." if data.n_classes > len(names) else "")
    return facts


def _rows(part: Predictions, view: View) -> str:
    """Number of rows, with the event, in how many clusters."""
    events = (
        [f"{int((part.labels == view.column).sum()):,} with the event"] if view.is_event else []
    )
    clusters = [] if part.clusters is None else [plural(len(np.unique(part.clusters)), "cluster")]
    return ", ".join([f"{len(part):,}", *events, *clusters])


def _split(data: Predictions, n_calibration: int, source: Source) -> str:
    if not n_calibration:
        return "none: no calibrator was fitted for this report, so that all rows are test rows"
    if source.part is None and data.given_split is not None:
        return "as it came with the data"
    part = 0.5 if source.part is None else source.part
    share = f"{percent(part, 0)} of the rows" if isinstance(part, float) else plural(part, "row")
    return f"{share} for calibration, drawn stratified by class with seed {source.seed}"


def command(report: Report) -> str:
    """Shell command that writes this report's numbers to ``comparison.csv`` and the report anew.

    Paths are as they were given; of an upload they are the files' names. Of arrays it is the line of Python.

    Parameters
    ----------
    report : as :func:`html` takes it.
    """
    source = report.source
    if source.call:
        return source.call
    sample = SAMPLES.get(source.sample or "")
    files = dict(source.files)
    if sample is not None and not files:
        files = {"source": f"{FOLDER}/{sample.file}"}
    options = [
        f"--{role.replace('_', '-')} {_path(files[role])}" for role in FILES if role in files
    ]
    choices = explicit_options(source.choices)
    options += [written({name: choices[name]}) for name in choices]
    options += [] if source.part is None else [f"--calibration {source.part!r}"]
    options += [] if report.view == view_of(report.data) else ["--view top-label"]
    options += [f"--seed {source.seed}"]
    options += [
        f"--relevant {shlex.quote(f'{key}={value!r}')}"
        for key, value in _relevant(report.table).items()
    ]
    options += [
        f"--method {shlex.quote(method_option(method.name, method.calibrator, source.seed))}"
        for method in report.methods
        if method.name != BASELINE
    ]
    options += ["--csv comparison.csv --report report.html"]
    start = f"python -m calib compare {_path(files.get('source', report.data.name))}"
    return " \\\n  ".join([start, *options])


def _relevant(table: pd.DataFrame) -> dict[str, float]:
    """The smallest relevant differences that were changed, by score."""
    used = table.drop_duplicates("score").set_index("score")["relevant"]
    return {
        str(key): float(value) for key, value in used.items() if value != SCORES[str(key)].relevant
    }


def method_option(name: str, calibrator: Calibrator, seed: int) -> str:
    """The value of ``--method`` that makes a calibrator with these parameters: ``isotonic:share_classes=False``.

    Parameters
    ----------
    name : registry name.
    calibrator : parameters at their defaults are left out.
    seed : seed that ``--seed`` gives, which calibrators have unless they say otherwise.
    """
    usual = {f.name: seed if f.name == "random_state" else f.default for f in fields(calibrator)}
    changed = {key: value for key, value in calibrator.get_params().items() if value != usual[key]}
    return name + (
        ":" + ",".join(f"{key}={value}" for key, value in changed.items()) if changed else ""
    )


def _path(name: str) -> str:
    # A name that begins with a dash would be taken for an option.
    return shlex.quote(f"./{name}" if name.startswith("-") else name)
