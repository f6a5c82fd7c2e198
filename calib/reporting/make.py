"""The report of arrays, a DataFrame or a file in one call, and results as HTML of notebooks."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from markupsafe import Markup

from calib.auditing.compare import Comparison, compare
from calib.auditing.findings import Audit
from calib.base import Calibrator, Progress
from calib.data import Predictions
from calib.data.loading import predictions_from
from calib.errors import CalibrationError
from calib.evaluation.claims import Claims
from calib.evaluation.compare import BASELINE, table_of
from calib.evaluation.comparison_table import verdict_paragraphs
from calib.evaluation.describe import Recommendation
from calib.metrics.confidence import scored_pair
from calib.plots.methods_table import CSS
from calib.registry import METHODS, calibrator, presets
from calib.reporting.contents import Report, Source, report_from_comparison
from calib.reporting.parts import environment, findings_table, policy, score_table, scripts
from calib.reporting.sections import sections


def html(report: Report) -> str:
    """The report as one HTML document, which begins with what matters for its data.

    Of an event that is the panel of a risk model, of answers what can be answered, of other data what to take.

    Parameters
    ----------
    report : see :func:`calib.reporting.contents.report_from_comparison`.
    """
    first, *more = sections(report)
    template = environment().get_template("report.html")
    context = {"report": report, "first": first, "sections": more}
    styles = Markup(CSS)
    return template.render(**context, policy=policy(), scripts=scripts(), methods_css=styles)


def html_of_fits(*, data: Mapping[str, Any], callback: Progress) -> str:
    """The report of methods that were judged before, as a worker makes it.

    Parameters
    ----------
    data : ``report``, all but its table, and ``resampled``, the scores of its methods on shared resamples, by key.
    callback : not called; workers give one to whatever they run.
    """
    report = data["report"]
    evaluations = {method.key: method.evaluation for method in report.methods}
    table = table_of(Claims(data["resampled"]), evaluations)
    return html(replace(report, table=table))


ENDINGS = (".html", ".htm")


def report(
    data: Any = None,
    labels: Any = None,
    *,
    confidence: Any = None,
    correct: Any = None,
    path: str | Path = "report.html",
    methods: Sequence[str] | Mapping[str, Calibrator] | None = None,
    part: float | int | None = None,
    random_state: int = 0,
    view: str = "event",
    name: str | None = None,
    **options: Any,
) -> Report:
    """Write the HTML report of held-out predictions: one file with the verdict, the scores and the figures.

    Methods are fitted on one part of the rows and judged on the other. Where nothing is to be fitted, all rows judge;
    confidences in answers are always split, since thresholds to answer by are chosen on rows of their own.

    Parameters
    ----------
    data : array_like, DataFrame, str, Path or Predictions
        (n, n_classes) probabilities or logits, or the (n,) of one class of two, as an array, a DataFrame or a tensor;
        without ``labels`` a path, a DataFrame that holds the outcome too, or :class:`calib.Predictions`.
    labels : array_like of shape (n,) or None, default None
        True classes: numbers of columns, or the texts of ``class_names``.
    confidence, correct : array_like of shape (n,) or None, default None
        Confidences in predictions and whether these were right, in place of ``data`` and ``labels``.
    path : str or Path, default "report.html"
        File to write, whose name ends in .html; one that is there already is replaced.
    methods : sequence of str, mapping of str to Calibrator or None, default None
        Names of methods, as in ``calib.METHODS``, or calibrators by name, fitted ones too, which must not have seen
        these rows. By default the fast methods are fitted, as by ``calib compare``; an empty list reports on the raw
        model alone.
    part : float, int or None, default None
        Calibration rows, as for :meth:`calib.Predictions.split`.
    random_state : int, default 0
        Seed of the split.
    view : {"event", "top-label"}, default "event"
        Of two classes, what the scores are of, as for :func:`calib.compare`.
    name : str or None, default None
        How the report calls the data.
    **options
        Options of :func:`calib.load`, such as ``kind="logits"`` or ``class_names=["cat", "dog"]``.

    Returns
    -------
    Report
        What was written; a notebook shows its verdict and scores.

    Raises
    ------
    DataError
        If the data cannot be used.
    CalibrationError
        For a method that does not exist, and a path that cannot be written.

    Examples
    --------
    >>> import calib, numpy as np, tempfile
    >>> rng = np.random.default_rng(0)
    >>> probs = rng.dirichlet([1, 1, 1], 400)
    >>> labels = [rng.choice(3, p=row) for row in probs]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     made = calib.report(probs, labels, path=f"{folder}/report.html", methods=["temperature"])
    >>> [method.title for method in made.methods]
    ['Uncalibrated', 'Temperature']
    """
    path = _target(path)
    if data is None:
        data, labels = scored_pair(confidence=confidence, correct=correct)
        options["kind"] = "pairs"
    rows = predictions_from(data, labels, name=name, **options)
    calibrators = _calibrators(rows, methods, random_state)
    if rows.kind != "pairs" and all(method.fitted for method in calibrators.values()):
        parts = rows.take([]), rows  # nothing is fitted on them
    else:
        parts = rows.split(part, random_state)
    comparison = compare(calibrators, *parts, view)
    if not calibrators:
        comparison = replace(comparison, recommendation=None)  # there was nothing to choose from
    arguments = {"path": path.name, "part": part, "random_state": random_state, "view": view,
             "name": name, **options}  # fmt: skip
    source = Source(call=_call(data, methods, arguments), part=part, seed=random_state)
    compared = {key: method for key, method in calibrators.items() if key in comparison.evaluations}
    result = report_from_comparison(comparison, rows, parts, compared, source=source)
    try:
        path.write_text(html(result), encoding="utf-8")
    except OSError as error:
        why = error.strerror or type(error).__name__
        raise CalibrationError(
            f"The report cannot be written to {str(path)!r} ({why}); give another path."
        ) from error
    return result


def _target(path: str | Path) -> Path:
    """The file to write, refused before anything is computed where it cannot be one."""
    if not isinstance(path, (str, os.PathLike)):
        raise CalibrationError(
            f"path must name the file to write; got {path!r}. Give path='report.html'."
        )
    target = Path(path)
    if target.suffix.lower() not in ENDINGS:
        raise CalibrationError(
            f"The report is HTML and {target.name!r} ends otherwise; give path='report.html'."
        )
    if not target.parent.is_dir():
        raise CalibrationError(
            f"There is no folder {str(target.parent)!r} for the report; make it first."
        )
    return target


def _calibrators(
    rows: Predictions, methods: Sequence[str] | Mapping[str, Calibrator] | None, seed: int
) -> dict[str, Calibrator]:
    """Calibrators by name; those that are given by their names alone have the seed of the split."""
    if isinstance(methods, str):
        methods = [methods]
    if isinstance(methods, Mapping):
        for key, method in methods.items():
            if not isinstance(key, str) or not isinstance(method, Calibrator):
                raise CalibrationError(
                    f"{key!r} of methods names no calibrator; give methods={{'temperature': "
                    "calib.calibrator('temperature')}, or the names of methods."
                )
        return dict(methods)
    if methods is not None and not isinstance(methods, Iterable):
        raise CalibrationError(
            f"methods must be a list of names, or calibrators by name; got {methods!r}."
        )
    names = presets(rows)["Fast"] if methods is None else list(dict.fromkeys(methods))
    return {name: calibrator(name, random_state=seed) for name in names if name != BASELINE}


def _call(data: Any, methods: Any, arguments: dict[str, Any]) -> str:
    """The line of Python that makes the report again; arrays are called probs and labels."""
    what = "data" if isinstance(data, Predictions) else "probs, labels"
    if isinstance(data, (str, Path)):
        what = repr(str(data))
    usual = {"part": None, "random_state": 0, "view": "event", "name": None}
    changed = {
        key: value for key, value in arguments.items() if key not in usual or value != usual[key]
    }
    if methods is not None:
        changed["methods"] = dict(methods) if isinstance(methods, Mapping) else list(methods)
    return (
        f"calib.report({what}, {', '.join(f'{key}={value!r}' for key, value in changed.items())})"
    )


def html_of(result: Audit | Calibrator | Recommendation | Comparison | Report) -> str:
    """Format a result as HTML in which every text is escaped."""
    table, title = None, repr(result)
    if isinstance(result, Audit):
        title, sentences = result.verdict, []
        table = findings_table(result)
    elif isinstance(result, Calibrator):
        sentences = result.notes() if result.fitted else []
    elif isinstance(result, Recommendation):
        sentences = result.sentences(lambda name: METHODS[name].title if name in METHODS else name)
    else:
        view = result.view if isinstance(result, Report) else result.evaluations[BASELINE].view
        sentences = verdict_paragraphs(result.table, result.recommendation)
        sentences += result.groups if isinstance(result, Comparison) else ()
        table = score_table(result.table, view, id="")
    return (
        environment().get_template("notebook.html").render(title=title, said=sentences, table=table)
    )
