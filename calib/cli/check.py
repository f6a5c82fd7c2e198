"""``check``: whether a saved calibrator is still calibrated on new rows, or what to expect of rows without labels."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from calib.cli import text
from calib.cli.arguments import command_parser, load_options, options_from
from calib.data import DataError
from calib.data.options import FORMATS
from calib.diagnostics import shift, shift_data
from calib.diagnostics.performance_without_labels import sentences, without_labels
from calib.diagnostics.sequential_tests import batches_of, sequential_tests, weekly_lines
from calib.evaluation import SCORES
from calib.export import runtime
from calib.registry import METHODS

WHAT = "say whether a saved calibrator is still calibrated on new data, or what to expect without labels"


def run(arguments: Sequence[str]) -> int:
    """Run the command; returns the exit status."""
    parser = command_parser("check", WHAT)
    parser.add_argument("calibrator", type=Path, help=".pkl (only one you trust), .npz or .zip")
    parser.add_argument("file", type=Path, help=f"new outputs of the same model, with labels where known: {FORMATS}")
    parser.add_argument("--batch", type=int, metavar="ROWS",
                        help="look after so many rows in the order of the file; else after each week of a column of "
                        "dates or weeks (--read time=NAME), where there is one")  # fmt: skip
    parser.add_argument("--unlabelled", action="store_true", help="leave labels aside, whatever the file holds")
    load_options(parser, files=("labels", "features"))
    given = parser.parse_args(arguments)
    if given.batch is not None and given.batch < 1:
        parser.error(f"--batch {given.batch} is no number of rows")

    exported = runtime.load(given.calibrator)
    labelled = False if given.unlabelled else None
    new = shift_data.read_new_rows(exported, given.file, options_from(given), labelled)
    if new.data is None:
        raise DataError(list(new.inspection.findings))
    if new.noticed:
        text.say(text.findings(new.noticed), apart=True)
    raw, now = shift_data.judge(exported, new.data)
    title = METHODS[exported.method].title
    if not new.labelled:
        said = sentences(without_labels(now), title)
        text.say(
            "\n".join([*(sentence.replace("**", "") for sentence in said), *(f"note: {note}" for note in new.notes)])
        )
        return 0
    before, n_before = shift.recorded_scores(exported.metadata)
    found = shift.calibration_shift(now, raw, before, n_before=n_before)
    text.say(shift_lines(found, title, new.notes))
    if len(now) >= shift.FEW:
        times = new.data.times if given.batch is None else None
        tests = sequential_tests(*now.pair, *batches_of(len(now), times, given.batch))
        text.say("\n".join(["", "Looked at after every batch:", *weekly_lines(tests)]).replace("**", ""))
    if exported.metadata.get("data_sha256") == new.data.sha256:
        text.say(f"warning: {shift.SAME_DATA}")
    return 0


def shift_lines(found: shift.CalibrationShift, title: str, notes: Iterable[str]) -> str:
    """The verdict on new rows, then the scores before and now."""
    lines = [sentence.replace("**", "") for sentence in shift.verdict(found, title)]
    lines += [f"note: {note}" for note in notes]
    of = f"; before on {found.n_before:,} test rows" if found.n_before else ""
    scores = [(SCORES[key].seen(found.view).title, score.before, score.now) for key, score in found.scores.items()]
    lines += ["", f"On {found.n:,} new rows{of}, with 95 % intervals:"]
    return "\n".join([*lines, *text.before_and_after_lines(scores)])
