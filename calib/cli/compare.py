"""``compare``: several methods on held-out rows, as a table, a verdict and a report.

``--repeats`` compares on many random splits too, and ``--report`` writes a page to hand over.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from typer import Option

from calib.auditing import audit
from calib.auditing.checks import describe_level
from calib.auditing.compare import Comparison
from calib.auditing.compare import compare as compare_methods
from calib.base import Calibrator
from calib.calibrators.one_vs_rest import SHARING, OneVsRest
from calib.cli import arguments, text
from calib.data import Predictions
from calib.data.samples import FOLDER, SAMPLES
from calib.evaluation.claims import relevant_differences
from calib.evaluation.compare import BASELINE
from calib.evaluation.comparison_table import describe_weights, summary
from calib.evaluation.score_registry import describe_intervals
from calib.evaluation.studies import repeated_splits, summarise_splits
from calib.evaluation.view import Viewpoint, view_of
from calib.formatting import for_terminal, plural, safe_table
from calib.registry import describe_exclusions, presets, title_of

RELEVANT = "Smallest difference of a score that matters, as NLL=0.005; smaller ones are equivalent; may be repeated."


@arguments.on_data
def compare(
    inputs: arguments.Inputs,
    output: text.Output,
    methods: Annotated[
        str | None, Option(help="All, fast (default), recommended, or names with commas between.")
    ] = None,
    method: Annotated[
        list[str], Option(metavar=arguments.NAMED, help="One with its parameters; may be repeated.")
    ] = [],  # noqa: B006
    csv: Annotated[
        Path | None,
        Option(parser=arguments.target, metavar="FILE", help="File for the whole table."),
    ] = None,
    report: Annotated[
        Path | None,
        Option(parser=arguments.target, metavar="FILE", help="report.html to hand over."),
    ] = None,
    repeats: Annotated[
        int | None,
        Option(metavar="R", min=2, help="Compare on R random splits of the same sizes too."),
    ] = None,
    view: Annotated[
        Viewpoint | None,
        Option(
            help="Of two classes, judge P(event), the default, or the confidence in a prediction."
        ),
    ] = None,
    relevant: Annotated[list[str], Option(metavar="SCORE=DIFFERENCE", help=RELEVANT)] = [],  # noqa: B006
    calibration: arguments.Part = None,
    seed: arguments.Seed = 0,
) -> int:
    """Fit several methods and score them on held-out rows."""
    arguments.must_end(report, (".html",))
    arguments.keep_inputs(inputs.paths, csv=csv, report=report)
    chosen = [arguments.method_with_parameters(option) for option in method]
    matters = dict(map(_relevant, relevant))
    if report:
        from calib import (
            reporting,
        )  # where its packages are missing, that is said before anything is fitted
    data = inputs.load()
    if view and view_of(data, view).name != view:
        arguments.refuse(
            f"these outputs cannot be judged as --view {view}, which is for two classes; leave it out"
        )
    fits = _methods(methods, chosen, data, seed)
    learned, test = arguments.split_data(data, calibration, seed)
    if test is None:
        arguments.refuse("a comparison needs rows to test on; --calibration all leaves none")
    with text.progress("fits") as show:
        comparison = compare_methods(
            fits, learned, test, view or "event", relevant=matters, callback=show
        )
    _say_comparison(output, comparison, len(learned))
    output.note(describe_weights(test))
    output.note(describe_exclusions(data))
    output.note(describe_intervals(comparison.evaluations[BASELINE].n_clusters))
    if data.n_classes > 2 and any(isinstance(method, OneVsRest) for method in fits.values()):
        output.note(SHARING)
    if csv:
        safe_table(comparison.table).to_csv(csv, index=False)
        output.say(f"All scores, intervals and differences are in {csv}.")
    if report:
        source = _source(inputs, calibration, seed)
        document = reporting.report_from_comparison(
            comparison, data, (learned, test), fits, source=source
        )
        report.write_text(reporting.html(document), encoding="utf-8")
        output.say(f"The report is in {report}.")
    if repeats:
        with text.progress("fits") as show:
            about: dict[str, Any] = {
                "n_repeats": repeats,
                "random_state": seed,
                "view": view or "event",
            }
            table = repeated_splits(fits, data, len(learned), **about, callback=show)
        splits = summarise_splits(table, relevant=matters)
        output.say(
            f"\nOver {repeats} random splits into {len(learned):,} and {plural(len(test), 'row')}:"
        )
        output.say(summary(splits, f"over {repeats} splits"), splits=splits)
        if csv:
            path = csv.with_name(f"{csv.stem}-splits{csv.suffix}")
            safe_table(table).to_csv(path, index=False)
            output.say(f"The numbers are in {path}.")
    return output.end()


def _say_comparison(output: text.Output, comparison: Comparison, n_calibration: int) -> None:
    """The table of scores, what to take, and how far the raw model is off, also for groups of the rows."""
    raw = comparison.evaluations[BASELINE]
    take = None
    if comparison.recommendation is not None:
        titles = dict(zip(comparison.table["method"], comparison.table["title"], strict=True))
        sentences = map(text.plain_text, comparison.recommendation.sentences(titles.__getitem__))
        verdict = (
            comparison.recommendation.verdict
        )  # a method is named also where it is not to be used
        take = {**text.plain(comparison.recommendation), "verdict": verdict, "sentences": sentences}
    rows = {"calibration": n_calibration, "test": len(raw)}
    output.say(
        summary(comparison.table, recommendation=comparison.recommendation),
        rows=rows,
        scores=comparison.table,
        recommendation=take,
        model=text.means(raw),
        groups=map(text.plain_text, comparison.groups),
    )
    output.say(for_terminal(describe_level(raw)))
    for sentence in comparison.groups:
        output.say(for_terminal(sentence))
    if comparison.groups:
        output.say("Each group by itself, of all rows: calib audit FILE.")


def _relevant(option: str) -> tuple[str, float]:
    key, value = arguments.named(option)
    try:
        relevant_differences({key: float(value)})
    except ValueError as error:
        arguments.refuse(f"{option!r} is no SCORE=DIFFERENCE: {error}")
    return key, float(value)


def _methods(
    names: str | None, explicit: list[tuple[str, dict[str, Any]]], data: Predictions, seed: int
) -> dict[str, Calibrator]:
    """Methods to compare: at their defaults by name, those with parameters by their titles.

    Presets leave out methods whose arrays the data do not hold, and have the one by which the audit's remedy begins.
    """
    offered = presets(data)
    chosen = {
        "fast": offered["Fast"],
        "recommended": offered["Recommended"],
        "all": offered["All"],
        "": [],
    }
    requested = ("" if explicit else "fast") if names is None else names
    column = ""
    if requested in ("fast", "recommended", "all"):
        audited = audit(data)
        column = audited.column
        chosen[requested] += [name for name in audited.methods[:1] if name not in chosen[requested]]
    listed = (
        chosen[requested]
        if requested in chosen
        else [name.strip() for name in requested.split(",")]
    )
    of_name = {"by_group": {"column": column}} if column else {}
    methods = {
        name: arguments.unfitted_calibrator(name, of_name.get(name, {}), seed) for name in listed
    }
    for name, params in explicit:
        unfitted = arguments.unfitted_calibrator(name, params, seed)
        # The command's own seed is that of all methods, and no part of a title.
        methods[title_of(unfitted, name, data.n_classes, seed) if params else name] = unfitted
    return methods


def _source(inputs: arguments.Inputs, part: Any, seed: int) -> Any:
    """Source of the rows of a report, and their split."""
    from calib.reporting import Source

    files = {
        role: str(file)
        for role, file in {"source": inputs.file, **inputs.options.files}.items()
        if file
    }
    is_sample = inputs.file.resolve().parent.name == FOLDER and inputs.file.stem in SAMPLES
    return Source(
        files, inputs.options.choices, inputs.file.stem if is_sample else None, part=part, seed=seed
    )
