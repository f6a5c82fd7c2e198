"""``check``: whether a saved calibrator is still calibrated on new labelled rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from calib.cli import text
from calib.cli.arguments import command_parser, load_options, options_from
from calib.data import DataError
from calib.data.options import FORMATS
from calib.diagnostics import shift, shift_data
from calib.evaluation import SCORES
from calib.export import runtime
from calib.registry import METHODS

WHAT = "say whether a saved calibrator is still calibrated on new labelled data"


def run(arguments: Sequence[str]) -> int:
    """Run the command; returns the exit status."""
    parser = command_parser("check", WHAT)
    parser.add_argument("calibrator", type=Path, help=".pkl (only one you trust), .npz or .zip")
    parser.add_argument("file", type=Path, help=f"new outputs of the same model with labels: {FORMATS}")
    load_options(parser, files=("labels", "features"))
    given = parser.parse_args(arguments)

    exported = runtime.load(given.calibrator)
    new = shift_data.read_new_rows(exported, given.file, options_from(given))
    if new.data is None:
        raise DataError(list(new.inspection.findings))
    if new.noticed:
        text.say(text.findings(new.noticed), apart=True)
    raw, now = shift_data.judge(exported, new.data)
    before, n_before = shift.recorded_scores(exported.metadata)
    found = shift.calibration_shift(now, raw, before, n_before=n_before)
    text.say(shift_lines(found, METHODS[exported.method].title, new.notes))
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
