"""``rate``: the share of rows that people would pass, from a judge of all rows and people's labels of some."""

from __future__ import annotations

from contextlib import ExitStack

from calib.cli import text
from calib.cli.arguments import Given, on_data, refuse
from calib.data.findings import shortened
from calib.data.loading import findings_as_error, in_a_reader
from calib.data.read.files import open_file, reads_isolated
from calib.formatting import for_terminal, with_interval
from calib.metrics.bootstrap import Interval
from calib.metrics.judge_correction import corrected_rate, judge_agreement
from calib.tasks.judge import HALF, describe_leaning, more_labels, read_judge


@on_data
def rate(given: Given, answer: text.Answer) -> int:
    """Correct a judge's pass rate by the labels that people gave to some rows."""
    if any(file is not None for file in given.options.files.values()):
        refuse("a judge's verdicts and people's labels stand in one table; give that alone")
    choices = given.options.choices
    with findings_as_error(), ExitStack() as stack:
        source = open_file(given.file, stack)
        if reads_isolated(given.options.isolate, given.file):
            rows = in_a_reader(read_judge, source, choices)
        else:
            rows = read_judge(source, choices)
    verdicts, labels, clusters = rows.verdicts, rows.labels, rows.clusters
    found = corrected_rate(verdicts, labels, clusters)
    leaning = rows.leaning()
    needed = found.labels_for(HALF)
    agreement = {
        name: estimate.interval()
        for name, estimate in judge_agreement(verdicts, labels, clusters).items()
    }
    lines = [
        f"{shortened(rows.judge)} is the judge, {shortened(rows.human)} the labels of people.",
        str(found),
        more_labels(needed, found.n_labelled),
        "Agreement: "
        + ", ".join(f"{name} {_share(ends)}" for name, ends in agreement.items())
        + ".",
        *describe_leaning(leaning),
    ]
    answer.say(
        "\n".join(map(for_terminal, lines)),
        judge=rows.judge,
        human=rows.human,
        rate=found.interval(),
        by_judge=found.by_judge.interval(),
        by_people=found.by_people.interval(),
        labelled=found.n_labelled,
        unlabelled=found.n_unlabelled,
        p_value=found.p_value,
        strata=found.n_strata,
        labels_for_half_width=needed,
        agreement=agreement,
        leaning=leaning.groups,
    )
    return answer.end()


def _share(ends: Interval) -> str:
    return with_interval(ends, lambda value: f"{value:.2f}")
