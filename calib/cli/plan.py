"""``plan``: how many labelled rows a validation needs, from rows like those to be collected."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial

from calib.cli import text
from calib.cli.arguments import Parser, data_parser, load_data, number_between, refuse
from calib.decisions.sample_size import WIDTHS, rows_needed
from calib.formatting import aligned

WHAT = "say how many labelled rows O:E, slope, AUROC and net benefit need"
OPTIONS = {target: f"--{target.replace(':', '-').replace(' ', '-').lower()}" for target in WIDTHS}
"""The option with the width of each interval."""


def parser() -> Parser:
    """Of this command's arguments."""
    parser = data_parser("plan", WHAT)
    for target, width in WIDTHS.items():
        parser.add_argument(OPTIONS[target], type=partial(number_between, 0.0, math.inf), default=width,
                            metavar="WIDTH", dest=target,
                            help=f"wanted width of the 95 %% interval of {target} (default: {width:g})")  # fmt: skip
    parser.add_argument("--threshold", type=partial(number_between, 0.0, 1.0), metavar="T",
                        help="probability from which on is acted, for the net benefit of two classes")  # fmt: skip
    return parser


def run(arguments: Sequence[str]) -> int:
    """Run the command; returns the exit status."""
    given = parser().parse_args(arguments)
    data = load_data(given)
    judged = text.judged_raw(data)
    said, came = judged.pair
    widths = {target: getattr(given, target) for target in WIDTHS}
    if given.threshold is not None and not judged.view.is_event:
        refuse(
            given,
            "--threshold is a probability of the event of two classes, and these outputs name no event; leave it out",
        )
    needed = rows_needed(said, came, given.threshold, widths, judged.clusters)
    rows = [["interval of", "width", "rows", judged.view.right]]
    rows += [[one.target, f"{one.width:g}", f"{one.rows:,}", f"{one.events:,}"] for one in needed]
    lines = [f"For rows like these {len(judged):,} ({judged.view.outcome} {came.mean():.1%}):", *aligned(rows)]
    answer = text.Answer(given.json)
    answer.say("\n".join(lines), rows=len(judged), model=text.means(judged), needed=needed)
    return answer.end()
