"""``compare``: several methods on held-out rows, as a table, a verdict and a report.

``--repeats`` compares on many random splits too, and ``--report`` writes a page to hand over.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from typer import Option

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
    given: arguments.Given,
    answer: text.Answer,
    methods: Annotated[
        str | None, Option(help="All, fast (default), papers, or names with commas between.")
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
    arguments.keep_inputs(given.paths, csv=csv, report=report)
    own = [arguments.method_with_parameters(each) for each in method]
    matters = dict(map(_relevant, relevant))
    if report:
        from calib import (
            reporting,
        )  # where its packages are missing, that is said before anything is fitted
    data = given.load()
    if view and view_of(data, view).name != view:
        arguments.refuse(
            f"these outputs cannot be judged as --view {view}, which is for two classes; leave it out"
        )
    fits = _methods(methods, own, data, seed)
    learned, test = arguments.split_data(data, calibration, seed)
    if test is None:
        arguments.refuse("a comparison needs rows to test on; --calibration all leaves none")
    with text.progress("fits") as show:
        found = compare_methods(
            fits, learned, test, view or "event", relevant=matters, callback=show
        )
    _say_comparison(answer, found, len(learned))
    answer.note(describe_weights(test))
    answer.note(describe_exclusions(data))
    answer.note(describe_intervals(found.evaluations[BASELINE].n_clusters))
    if data.n_classes > 2 and any(isinstance(each, OneVsRest) for each in fits.values()):
        answer.note(SHARING)
    arguments.warn_of_leak(data, answer)
    if csv:
        safe_table(found.table).to_csv(csv, index=False)
        answer.say(f"All scores, intervals and differences are in {csv}.")
    if report:
        source = _source(given, calibration, seed)
        made = reporting.report_from_comparison(found, data, (learned, test), fits, source=source)
        report.write_text(reporting.html(made), encoding="utf-8")
        answer.say(f"The report is in {report}.")
    if repeats:
        with text.progress("fits") as show:
            about: dict[str, Any] = {
                "n_repeats": repeats,
                "random_state": seed,
                "view": view or "event",
            }
            table = repeated_splits(fits, data, len(learned), **about, callback=show)
        splits = summarise_splits(table, relevant=matters)
        answer.say(
            f"\nOver {repeats} random splits into {len(learned):,} and {plural(len(test), 'row')}:"
        )
        answer.say(summary(splits, f"over {repeats} splits"), splits=splits)
        if csv:
            path = csv.with_name(f"{csv.stem}-splits{csv.suffix}")
            safe_table(table).to_csv(path, index=False)
            answer.say(f"The numbers are in {path}.")
    return answer.end()


def _say_comparison(answer: text.Answer, found: Comparison, n_calibration: int) -> None:
    """The table of scores, what to take, and how far the raw model is off, also for groups of the rows."""
    raw = found.evaluations[BASELINE]
    take = None
    if found.recommendation is not None:
        titles = dict(zip(found.table["method"], found.table["title"], strict=True))
        sentences = map(text.plain_text, found.recommendation.sentences(titles.__getitem__))
        verdict = found.recommendation.verdict  # a method is named also where it is not to be used
        take = {**text.plain(found.recommendation), "verdict": verdict, "sentences": sentences}
    rows = {"calibration": n_calibration, "test": len(raw)}
    answer.say(
        summary(found.table, recommendation=found.recommendation),
        rows=rows,
        scores=found.table,
        recommendation=take,
        model=text.means(raw),
        groups=map(text.plain_text, found.groups),
    )
    answer.say(for_terminal(describe_level(raw)))
    for sentence in found.groups:
        answer.say(for_terminal(sentence))
    if found.groups:
        answer.say("Each group by itself, of all rows: calib audit FILE.")


def _relevant(given: str) -> tuple[str, float]:
    key, value = arguments.named(given)
    try:
        relevant_differences({key: float(value)})
    except ValueError as error:
        arguments.refuse(f"{given!r} is no SCORE=DIFFERENCE: {error}")
    return key, float(value)


def _methods(
    names: str | None, own: list[tuple[str, dict[str, Any]]], data: Predictions, seed: int
) -> dict[str, Calibrator]:
    """Methods to compare: at their defaults by name, those with parameters by their titles.

    Presets leave out methods whose arrays the data do not hold.
    """
    offered = presets(data)
    chosen = {
        "fast": offered["Fast"],
        "papers": offered["Recommended"],
        "all": offered["All"],
        "": [],
    }
    wanted = ("" if own else "fast") if names is None else names
    listed = chosen[wanted] if wanted in chosen else [name.strip() for name in wanted.split(",")]
    methods = {name: arguments.made_calibrator(name, {}, seed) for name in listed}
    for name, params in own:
        made = arguments.made_calibrator(name, params, seed)
        # The command's own seed is that of all methods, and no part of a title.
        methods[title_of(made, name, data.n_classes, seed) if params else name] = made
    return methods


def _source(given: arguments.Given, part: Any, seed: int) -> Any:
    """Source of the rows of a report, and their split."""
    from calib.reporting import Source

    files = {
        role: str(file)
        for role, file in {"source": given.file, **given.options.files}.items()
        if file
    }
    is_sample = given.file.resolve().parent.name == FOLDER and given.file.stem in SAMPLES
    return Source(
        files, given.options.choices, given.file.stem if is_sample else None, part=part, seed=seed
    )
