"""What a report is made of, and the shell commands that reproduce it."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Literal

import numpy as np

from calib.base import Calibrator
from calib.calibrators.backend import device_of
from calib.canonical import Kind
from calib.data import Choices, Finding
from calib.data.event import Event
from calib.data.predictions import Predictions
from calib.data.samples import FOLDER, SAMPLES
from calib.data.scales import Scale
from calib.evaluation import SCORES, Evaluation
from calib.evaluation.compare import BASELINE, Comparison
from calib.evaluation.recommendation import Recommendation
from calib.evaluation.view import View, view_of
from calib.formatting import Displayed, listed, one_line, plural
from calib.parameters import written
from calib.plots.style import Style, method_style
from calib.registry import calibrator, registry_name

if TYPE_CHECKING:
    import pandas as pd

from calib.data.options import FILES
from calib.top_k import fit_top_k

Form = Literal["risk model", "answers", "comparison"]
"""Of what a report is: of the risks of an event, of a language model's answers, or of methods and their scores."""

_REBUILD = (
    "import numpy; from calib.data.samples import load_sample; data = load_sample({name!r}); "
    "numpy.savez({name!r}, logits=data.logits, labels=data.labels, class_names=data.class_names)"
)


@dataclass(frozen=True)
class Source:
    """Where the data came from, as far as the command line must be told.

    Attributes
    ----------
    files : role -> path or name of each file, with the roles of :func:`calib.data.load`: ``source``, ``labels``,
        ``test`` and so on.
    choices : what was decided by hand about reading them.
    sample : name of the sample, where it is one that comes with the project.
    call : the line of Python that made the report, where the data came from no file that a command could name.
    """

    files: Mapping[str, str] = field(default_factory=dict)
    choices: Choices = field(default_factory=Choices)
    sample: str | None = None
    call: str = ""


@dataclass(frozen=True, eq=False)
class DataSummary:
    """What a report says of the data and their split, without any rows.

    Attributes
    ----------
    name, kind, sha256, class_names, findings, scale, event, floor : as of :class:`calib.data.Predictions`.
    n, n_calibration, n_test : numbers of rows.
    accuracy : of the outputs, over all rows.
    event_rate : share of all rows where the event happened; NaN where there is none.
    groups : each group with its number of rows, the largest first; None where the data have none.
    came_split : whether the data came with a split.
    view : what is evaluated unless something else is asked for.
    """

    name: str
    kind: Kind
    sha256: str
    class_names: tuple[str, ...]
    findings: Sequence[Finding]
    scale: Scale | None
    event: Event | None
    floor: float | None
    n: int
    n_calibration: int
    n_test: int
    accuracy: float
    event_rate: float
    groups: Sequence[tuple[str, int]] | None
    came_split: bool
    view: View

    @classmethod
    def from_parts(cls, data: Predictions, calibration: Predictions, test: Predictions) -> DataSummary:
        """Sum up a data set and the two parts of its split."""
        return cls(
            data.name, data.kind, data.sha256, data.class_names, data.findings, data.scale, data.event, data.floor,
            n=len(data), n_calibration=len(calibration), n_test=len(test), accuracy=data.accuracy,
            event_rate=float("nan") if data.event is None else float(np.mean(data.labels == data.event.column)),
            groups=None if data.groups is None else Counter(data.groups.tolist()).most_common(),
            came_split=data.given_split is not None, view=view_of(data),
        )  # fmt: skip

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.class_names)


@dataclass(frozen=True, eq=False)
class ReportedMethod:
    """One fitted method, without what it learned, which may be a whole training set.

    Attributes
    ----------
    key : what the table calls it in its column ``method``.
    name : registry name.
    title, style : how it is called and drawn.
    calibrator : with its parameters alone.
    evaluation : on the test rows.
    notes : sentences on its fit.
    device : where it was fitted, in words.
    fit_seconds, predict_seconds : NaN where nothing was measured.
    """

    key: str
    name: str
    title: str
    style: Style
    calibrator: Calibrator
    evaluation: Evaluation
    notes: Sequence[str]
    device: str
    fit_seconds: float
    predict_seconds: float

    @classmethod
    def from_fitted(
        cls,
        key: str,
        name: str,
        title: str,
        style: Style,
        fitted: Calibrator,
        evaluation: Evaluation,
        fit_seconds: float = float("nan"),
        predict_seconds: float = float("nan"),
    ) -> ReportedMethod:
        """Take from a fitted calibrator what a report says of it."""
        unfitted = type(fitted)(**fitted.get_params())
        notes, device = fitted.notes(), device_of(fitted)
        return cls(key, name, title, style, unfitted, evaluation, notes, device, fit_seconds, predict_seconds)


@dataclass(frozen=True, eq=False)
class Rows:
    """The rows of both parts of the split, which the report of a risk model and that of answers are made of.

    Attributes
    ----------
    calibration, test : without features and training sets.
    fitted : fitted calibrators by the keys of their methods, where thresholds are certified: of answers. Else empty.
    answer_costs : of pairs, what a wrong answer and handing one over cost; None where nobody has said it.
    """

    calibration: Predictions
    test: Predictions
    fitted: Mapping[str, Calibrator] = field(default_factory=dict)
    answer_costs: tuple[float, float] | None = None

    @classmethod
    def from_parts(
        cls,
        calibration: Predictions,
        test: Predictions,
        fitted: Mapping[str, Calibrator],
        answer_costs: tuple[float, float] | None = None,
    ) -> Rows:
        """Leave out what reports do not need of the two parts and of fitted methods."""
        first, second = (
            replace(part, features=None, train_features=None, train_labels=None) for part in (calibration, test)
        )
        return cls(first, second, *((dict(fitted), answer_costs) if test.kind == "pairs" else ({}, None)))


@dataclass(frozen=True, eq=False, repr=False)
class Report(Displayed):
    """One comparison of calibrators on one split of one data set.

    Attributes
    ----------
    data : summed up.
    part, seed : the split that was asked for; ``part`` None means that of the data, or half where they have none.
    methods : the raw model first.
    table : of :func:`calib.compare`, with these methods, and those that failed with the reason.
    source : where the data came from.
    recommendation : what to take; None where no method has a score to decide by.
    made : when, in UTC.
    rows : of both parts; without them every report is a comparison.
    general : whether a comparison was asked for, whatever the data are.
    """

    data: DataSummary
    part: float | int | None
    seed: int
    methods: Sequence[ReportedMethod]
    table: pd.DataFrame
    source: Source = field(default_factory=Source)
    recommendation: Recommendation | None = None
    made: datetime = field(default_factory=lambda: datetime.now(UTC))
    rows: Rows | None = None
    general: bool = False

    @classmethod
    def from_comparison(
        cls,
        found: Comparison,
        data: Predictions,
        parts: tuple[Predictions, Predictions],
        calibrators: Mapping[str, Calibrator],
        *,
        part: float | int | None = None,
        seed: int = 0,
        source: Source | None = None,
        general: bool = False,
        answer_costs: tuple[float, float] | None = None,
    ) -> Report:
        """The report of a comparison, as :func:`html` writes it.

        Parameters
        ----------
        found : of :func:`calib.evaluation.compare.compare_methods`.
        data, parts : all rows; calibration and test rows. The first part is empty where nothing was fitted for this.
        calibrators : those that were compared, fitted, by their names in ``found``.
        part, seed : of the split, as they were given to :meth:`calib.data.Predictions.split`.
        source : where the data came from.
        general : whether to compare methods, also where the data are risks of an event or answers.
        answer_costs : of pairs, what a wrong answer and handing one over cost.

        Examples
        --------
        >>> from calib.data.samples import load_sample
        >>> from calib.evaluation.compare import compare_methods
        >>> data = load_sample("clinic-tumours")
        >>> parts, methods = data.split(0.5), {"platt": calibrator("platt")}
        >>> report = Report.from_comparison(compare_methods(methods, *parts), data, parts, methods, part=0.5)
        >>> report.form  # what html(report) will write
        'risk model'
        """
        calibration, test = parts
        raw = {BASELINE: fit_top_k(calibrator(BASELINE), test.logits, test.labels)}  # it learns nothing
        fitted, titles = {**raw, **calibrators}, dict(zip(found.table["method"], found.table["title"], strict=True))
        reported: list[ReportedMethod] = []
        for key, evaluation in found.evaluations.items():
            name = registry_name(fitted[key]) or key
            style = method_style(name, sum(other.name == name for other in reported))
            reported.append(
                ReportedMethod.from_fitted(key, name, titles[key], style, fitted[key], evaluation, *found.seconds[key])
            )
        return cls(
            DataSummary.from_parts(data, calibration, test), part, seed, reported, found.table,
            source or Source(), found.recommendation,
            rows=Rows.from_parts(calibration, test, fitted, answer_costs), general=general,
        )  # fmt: skip

    def __repr__(self) -> str:
        shown = [method.title for method in self.methods]
        return f"<Report on {one_line(self.data.name)!r}: {listed(shown)} on {plural(self.data.n_test, 'test row')}>"

    @property
    def form(self) -> Form:
        """What the report is of: the data say it, unless a comparison was asked for."""
        if self.rows is None or self.general:
            return "comparison"
        return "risk model" if self.view.is_event else "answers" if self.view.name == "pairs" else "comparison"

    @property
    def view(self) -> View:
        """What was evaluated: the event of two classes, or the predicted class."""
        return self.methods[0].evaluation.view


def recommended(report: Report) -> ReportedMethod:
    """The recommended method; the raw model where there is no recommendation."""
    chosen = None if report.recommendation is None else report.recommendation.method
    return next((method for method in report.methods if method.key == chosen), report.methods[0])


def with_calibrated(report: Report) -> list[ReportedMethod]:
    """The raw model and, where there is one, a calibrator: the recommended, or the best where the raw would do."""
    raw, *others = report.methods
    chosen = recommended(report)
    if chosen is raw and report.recommendation is not None:
        chosen = next((method for method in others if method.key == report.recommendation.best), raw)
    return [raw, *([chosen] if chosen is not raw else others[:1])]


def commands(report: Report) -> list[str]:
    """Shell commands, the last of which writes this report's numbers to ``comparison.csv`` and the report anew.

    Paths are as they were given; of an upload they are the files' names. Of arrays it is the line of Python.
    """
    if report.source.call:
        return [report.source.call]
    lines, sample = [], SAMPLES.get(report.source.sample or "")
    files = dict(report.source.files)
    if sample is not None and not files:
        files = {"source": f"{FOLDER}/{sample.file}"}
        if sample.build is not None:
            files = {"source": sample.file}
            lines.append(shlex.join(["python", "-c", _REBUILD.format(name=sample.name)]))
    options = [f"--{role.replace('_', '-')} {_path(files[role])}" for role in FILES if role in files]
    choices = report.source.choices.given()
    options += [written({name: choices[name]}) for name in choices]
    options += [] if report.part is None else [f"--calibration {report.part!r}"]
    options += [] if report.view == report.data.view else ["--view top-label"]
    options += [f"--seed {report.seed}"]
    options += [f"--relevant {shlex.quote(f'{key}={value!r}')}" for key, value in _relevant(report.table).items()]
    options += [
        f"--method {shlex.quote(method_option(method.name, method.calibrator, report.seed))}"
        for method in report.methods
        if method.name != "identity"
    ]
    options += ["--general-report"] if report.general else []
    costs = None if report.rows is None else report.rows.answer_costs
    options += [] if costs is None else [f"--answer-costs {costs[0]!r},{costs[1]!r}"]
    options += ["--csv comparison.csv --report report.html"]
    start = f"python -m calib compare {_path(files.get('source', report.data.name))}"
    return [*lines, " \\\n  ".join([start, *options])]


def _relevant(table: pd.DataFrame) -> dict[str, float]:
    """The smallest relevant differences that were changed, by score."""
    used = table.drop_duplicates("score").set_index("score")["relevant"]
    return {str(key): float(value) for key, value in used.items() if value != SCORES[str(key)].relevant}


def method_option(name: str, calibrator: Calibrator, seed: int) -> str:
    """The value of ``--method`` that makes a calibrator with these parameters: ``isotonic:share_classes=False``.

    Parameters
    ----------
    name : registry name.
    calibrator : parameters at their defaults are left out.
    seed : that of ``--seed``, which calibrators have unless they say otherwise.
    """
    usual = {f.name: seed if f.name == "random_state" else f.default for f in fields(calibrator)}
    changed = {key: value for key, value in calibrator.get_params().items() if value != usual[key]}
    return name + (":" + ",".join(f"{key}={value}" for key, value in changed.items()) if changed else "")


def _path(name: str) -> str:
    # A name that begins with a dash would be taken for an option.
    return shlex.quote(f"./{name}" if name.startswith("-") else name)
