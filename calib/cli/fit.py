"""``fit``: one method on one data set, saved; of very many rows a random sample is fitted on, which is said."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated, Any

from typer import Option

from calib.apply import sample_rows
from calib.apply.parts import has_blocks
from calib.apply.sample import MANY_ROWS, SAMPLED_ROWS, fewer_rows
from calib.auditing import audit
from calib.cli import arguments, text
from calib.data import Predictions
from calib.data.findings import MAX_BYTES
from calib.export import writer
from calib.export.sql import check_sql
from calib.formatting import plural
from calib.metrics.bootstrap import Interval
from calib.registry import METHODS

AUTO = "auto is a mean of several methods; compare says whether a simpler one is as good."
DRAWN = f"default: {SAMPLED_ROWS:,} of more than {MANY_ROWS:,}, else all"


def _rows(value: str) -> int | str:
    """A number of rows, or ``all``."""
    if value == "all":
        return value
    if not value.isdecimal() or int(value) < 2:
        arguments.refuse(f"expected a number of rows from 2 upwards, or 'all', got {value!r}")
    return int(value)


@arguments.on_data
def fit(
    inputs: arguments.Inputs,
    output: text.Output,
    out: Annotated[
        Path,
        Option(
            parser=arguments.target,
            metavar="FILE",
            help=f"What to write: {', '.join(writer.SUFFIXES)}.",
        ),
    ],
    method: Annotated[
        str, Option(metavar=arguments.NAMED, help=f"One of {', '.join(METHODS)}.")
    ] = "auto",
    rows: Annotated[
        Any,
        Option(parser=_rows, metavar="N|all", help=f"Rows to fit on, drawn at random ({DRAWN})."),
    ] = None,
    calibration: arguments.Part = None,
    seed: arguments.Seed = 0,
) -> int:
    """Fit one method and save it."""
    arguments.must_end(out, writer.SUFFIXES)
    arguments.keep_inputs(inputs.paths, out=out)
    name, params = arguments.method_with_parameters(method)
    fitted = arguments.unfitted_calibrator(name, params, seed)
    writer.check_method(out.suffix.lower()[1:], name)
    data = (
        _sampled_data(inputs, rows, calibration, seed) if _is_large(inputs.file) else inputs.load()
    )
    if out.suffix.lower() == ".sql":
        check_sql(fitted, data.kind, data.n_classes, data.scale)
    learned, test = arguments.split_data(data, calibration, seed)
    learned, drawn = fewer_rows(learned, len(learned) if rows == "all" else rows, seed)
    with text.progress("steps") as show:
        fitted.fit(learned, progress=show)
    fitted.remember(data.output_format())
    scores, n_test = ({}, 0) if test is None else (text.before_and_after(fitted, test), len(test))
    audited = audit(data)
    counts = {"n_rows": len(learned), "n_calibration": len(learned), "n_test": n_test}
    split = {"part": "as given" if calibration is None else calibration, "random_state": seed}
    # Some methods turn out to have no file of an ending once they are fitted, which is refused before anything is said.
    writer.save(fitted, out, **counts, split=split, scores=scores, audit=audited.verdict)
    for finding in data.findings:
        if finding.code == "sampled":
            output.note(f"{finding.message} Another number to fit on: --rows N.", "note")
    output.note(drawn and f"{drawn} Another number: --rows N; every row: --rows all.", "note")
    sentence = f"{METHODS[name].title} fitted on {plural(len(learned), 'row')}."
    output.say(sentence, method=name, rows=len(learned), test_rows=n_test)
    for note in fitted.notes():
        output.note(note, "note")
    score_rows = [
        {"score": key, **{when: Interval(*at) for when, at in of.items()}}
        for key, of in scores.items()
    ]
    output.say("" if test is None else text.score_lines(scores, test), scores=score_rows)
    if audited.of("remedy").severity == "problem":
        output.note(audited.verdict, "warning")
    if audited.column and name != "by_group":
        by_group = shlex.quote(f"by_group:column={audited.column}")
        output.note(f"{audited.of('remedy').sentence} To fit it: --method {by_group}.", "note")
    if name == "auto":
        output.note(AUTO, "note")
    output.say(f"Saved to {out}.", file=out)
    return output.end()


def _is_large(path: Path) -> bool:
    """Return whether rows are drawn from the file in place of reading it at once: it is too large, or a folder."""
    return path.is_dir() or (has_blocks(path) and path.stat().st_size > MAX_BYTES)


def _sampled_data(inputs: arguments.Inputs, rows: Any, calibration: Any, seed: int) -> Predictions:
    """Rows of a large file: as many to fit on as are asked for, and without ``--calibration`` as many to test on."""
    files = [
        name.replace("_", "-")
        for name, path in inputs.options.files.items()
        if path and name != "labels"
    ]
    only_once = [
        *["rows all"] * (rows == "all"),
        *["isolate"] * bool(inputs.options.isolate),
        *files,
    ]
    if only_once:
        arguments.refuse(
            f"--{only_once[0]} needs {inputs.file.name} to be read at once; rows are drawn from it, so leave it out"
        )
    with text.progress("rows") as show:
        data = sample_rows(
            inputs.file,
            (rows or SAMPLED_ROWS) * (1 if calibration == "all" else 2),
            labels=inputs.options.labels,
            choices=inputs.options.choices,
            random_state=seed,
            progress=show,
        )
    arguments.say_warnings(data.findings)
    return data
