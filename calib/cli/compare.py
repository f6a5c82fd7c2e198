"""``compare``: several methods on held-out rows, as a table, a verdict and a report.

``--repeats`` and ``--sizes`` add studies that fit many times, ``--report`` a page to hand over.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from calib.base import Calibrator
from calib.calibrators.one_vs_rest import SHARING, OneVsRest
from calib.cli import text
from calib.cli.arguments import (
    Parser,
    Target,
    data_parser,
    keep_inputs,
    load_data,
    made_calibrator,
    method_with_parameters,
    options_from,
    refuse,
    split_data,
    split_options,
    warn_of_leak,
)
from calib.data import Predictions
from calib.data.samples import FOLDER, SAMPLES
from calib.errors import CalibrationError
from calib.evaluation import SCORES
from calib.evaluation.claims import relevant_differences
from calib.evaluation.compare import BASELINE, Comparison, compare_methods
from calib.evaluation.comparison_table import summary
from calib.evaluation.learning_curve import labels_needed, size_curve
from calib.evaluation.repeated_splits import repeated_splits, summarise_splits
from calib.evaluation.scored import said_of_intervals
from calib.evaluation.view import VIEWPOINTS
from calib.evaluation.weighted import said_of_weights, weighted_summary
from calib.formatting import aligned, fixed, safe_table
from calib.registry import is_top_k, presets, said_of_kind, title_of
from calib.top_k import said_of_labels

if TYPE_CHECKING:
    import pandas as pd


WHAT = "fit several methods and score them on held-out rows"


def run(arguments: Sequence[str]) -> int:
    """Run the command; returns the exit status."""
    given = parser().parse_args(arguments)
    keep_inputs(given, "csv", "report")
    if given.report:
        import calib.reporting  # noqa: F401  # where its packages are missing, that is said before anything is fitted
    data = load_data(given)
    methods = _methods(given, data)
    calibration, test = split_data(data, given)
    if test is None:
        refuse(given, "a comparison needs rows to test on; --calibration all leaves none")
    with text.progress(text.fits) as show:
        found = compare_methods(methods, calibration, test, given.view, relevant=dict(given.relevant), callback=show)
    answer = text.Answer(given.json)
    _say_comparison(answer, found, len(calibration))
    answer.note(said_of_weights(test))
    answer.note(said_of_kind(data))
    answer.note(said_of_labels(test))
    answer.note(said_of_intervals(found.evaluations[BASELINE].n_clusters))
    if data.n_classes > 2 and not is_top_k(data) and any(isinstance(method, OneVsRest) for method in methods.values()):
        answer.note(SHARING)
    warn_of_leak(data, answer)
    if given.csv:
        safe_table(found.table).to_csv(given.csv, index=False)
        answer.say(f"All scores, intervals and differences are in {given.csv}.")
    if given.report:
        write_report(given, data, (calibration, test), methods, found)
        answer.say(f"The report is in {given.report}.")
    study(given, answer, methods, data, calibration, test)
    return answer.end()


def _say_comparison(answer: text.Answer, found: Comparison, n_calibration: int) -> None:
    """The table of scores, what to take, and how far the raw model is off."""
    raw = found.evaluations[BASELINE]
    take = None
    if found.recommendation is not None:
        titles = dict(zip(found.table["method"], found.table["title"], strict=True))
        sentences = map(text.plain_text, found.recommendation.sentences(titles.__getitem__))
        take = {**text.plain(found.recommendation), "sentences": sentences}
    rows = {"calibration": n_calibration, "test": len(raw)}
    answer.say(
        summary(found.table, recommendation=found.recommendation),
        rows=rows, scores=found.table, recommendation=take, model=text.means(raw),
    )  # fmt: skip
    answer.say(f"Raw model: {text.gap_sentence(raw)}")
    if weighted := weighted_summary(found.table, raw.view):
        answer.say(f"\n{weighted}")


def parser() -> Parser:
    """Of this command's arguments."""
    parser = data_parser("compare", WHAT)
    parser.add_argument("--methods", help="all, fast (default), papers, or names with commas between")
    parser.add_argument("--method", action="append", default=[], type=method_with_parameters,
                        metavar="NAME[:PARAMETER=VALUE,...]",
                        help="a method with parameters of its own; may be repeated")  # fmt: skip
    parser.add_argument("--csv", type=Target(), help="file for the whole table")
    parser.add_argument("--report", type=Target((".html",)),
                        help="report.html to hand over: of risks of an event the panel of a risk model, of answers "
                        "what can be answered, else all methods")  # fmt: skip
    parser.add_argument("--repeats", type=_repeats, metavar="R",
                        help="compare on R random splits too, with calibration parts of the same size")  # fmt: skip
    parser.add_argument("--sizes", action="store_true",
                        help="fit on ever more calibration rows too, and say how many labels are needed")  # fmt: skip
    parser.add_argument("--view", choices=VIEWPOINTS, default="event",
                        help="of two classes, errors of the event's probability (the default) or of the confidence in "
                        "the predicted class")  # fmt: skip
    parser.add_argument("--relevant", action="append", default=[], type=_relevant, metavar="SCORE=DIFFERENCE",
                        help="smallest difference of a score that matters, such as NLL=0.005; smaller ones are called "
                        "equivalent; may be repeated")  # fmt: skip
    split_options(parser)
    return parser


def _relevant(text: str) -> tuple[str, float]:
    key, _, value = text.rpartition("=")
    try:
        relevant_differences({key: float(value)})
    except (ValueError, CalibrationError) as error:
        raise argparse.ArgumentTypeError(f"{text!r} is no SCORE=DIFFERENCE: {error}") from None
    return key, float(value)


def _repeats(text: str) -> int:
    if not text.isdigit() or int(text) < 2:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of splits; give 2 or more")
    return int(text)


def _methods(given: argparse.Namespace, data: Predictions) -> dict[str, Calibrator]:
    """What is compared: methods at their defaults by name, and those with parameters by their titles."""
    methods = {name: made_calibrator(given, name, {}) for name in _names(given, data)}
    for name, params in given.method:
        made = made_calibrator(given, name, params)
        # The command's own seed is that of all methods, and no part of a title.
        methods[title_of(made, name, data.n_classes, given.seed) if params else name] = made
    return methods


def _names(given: argparse.Namespace, data: Predictions) -> list[str]:
    """Methods asked for by name or by preset; presets leave out those whose arrays the data do not hold."""
    offered = presets(data)
    if given.methods is None:
        return [] if given.method else offered["Fast"]
    chosen = {"fast": offered["Fast"], "papers": offered["Recommended"], "all": offered["All"]}
    return chosen.get(given.methods) or [name.strip() for name in given.methods.split(",")]


def write_report(
    given: argparse.Namespace,
    data: Predictions,
    parts: tuple[Predictions, Predictions],
    methods: Mapping[str, Calibrator],
    found: Comparison,
) -> None:
    """Write the report of a finished comparison to ``given.report``.

    Parameters
    ----------
    given : the command's arguments.
    data, parts : all rows; calibration and test rows.
    methods : fitted, by their names in ``found``.
    """
    from calib.reporting import Report, Source, html

    options = options_from(given)
    source = Source(
        {role: str(path) for role, path in {"source": given.file, **options.files}.items() if path is not None},
        options.choices,
        given.file.stem if _is_sample(given.file) else None,
        part=given.calibration,
        seed=given.seed,
    )
    report = Report.from_comparison(found, data, parts, methods, source=source)
    given.report.write_text(html(report), encoding="utf-8")


def _is_sample(path: Path) -> bool:
    return path.resolve().parent.name == FOLDER and path.stem in SAMPLES


def study(
    given: argparse.Namespace,
    answer: text.Answer,
    methods: Mapping[str, Calibrator],
    data: Predictions,
    calibration: Predictions,
    test: Predictions,
) -> None:
    """Run the studies that were asked for, and say what they found."""
    if given.repeats:
        with text.progress(text.fits) as show:
            table = repeated_splits(
                methods,
                data,
                len(calibration),
                n_repeats=given.repeats,
                random_state=given.seed,
                view=given.view,
                callback=show,
            )
        splits = summarise_splits(table, relevant=dict(given.relevant))
        answer.say(f"\nOver {given.repeats} random splits into {len(calibration):,} and {len(test):,} rows:")
        answer.say(summary(splits, f"over {given.repeats} splits"), splits=splits)
        _write(given.csv, "splits", table, answer)
    if given.sizes:
        with text.progress(text.fits) as show:
            table = size_curve(methods, calibration, test, random_state=given.seed, view=given.view, callback=show)
        answer.say(f"\nFitted on ever more of the {len(calibration):,} calibration rows:")
        answer.say(sizes_table(table), sizes=table)
        _write(given.csv, "sizes", table, answer)


def sizes_table(table: pd.DataFrame) -> str:
    """Scores by size, a method a line, and how many labels each needs."""
    sizes = sorted(table["size"].unique())
    lines, answers = [], []
    for key in table["score"].unique():
        rows = [[SCORES[key].title, *(f"{size:,}" for size in sizes)]]
        for _, method in table[table["score"] == key].groupby("method", sort=False):
            values = method.set_index("size")["value"]
            rows.append([method["title"].iloc[0], *(fixed(values[size]) for size in sizes)])
        lines += [*aligned(rows), ""]
    nll = table[(table["score"] == "NLL") & table["value"].notna()]
    for name in nll.loc[nll["size"] == sizes[-1], "method"].iloc[1:]:
        answers.append(labels_needed(table, name).sentence)
    notes = table.loc[(table["note"] != "") & (table["score"] == "NLL"), ["title", "size", "note"]]
    failed = [f"{title} on {size:,} rows: {note}" for title, size, note in notes.itertuples(index=False)]
    return "\n".join([*lines, *answers, *failed])


def _write(csv: Path | None, what: str, table: pd.DataFrame, answer: text.Answer) -> None:
    if csv:
        path = csv.with_name(f"{csv.stem}-{what}{csv.suffix}")
        safe_table(table).to_csv(path, index=False)
        answer.say(f"The numbers are in {path}.")
