"""``rate``: the share of rows that people would pass, from a judge of all rows and people's labels of some."""

from __future__ import annotations

from contextlib import ExitStack

from calib.cli import text
from calib.cli.arguments import Inputs, on_data, refuse
from calib.data.findings import shortened
from calib.data.loading import findings_as_error, in_a_reader
from calib.data.read.files import open_file, reads_isolated
from calib.formatting import for_terminal, with_interval
from calib.metrics.bootstrap import Interval
from calib.metrics.judge_correction import corrected_rate, judge_agreement
from calib.tasks.judge import HALF, describe_leaning, more_labels, read_judge


@on_data
def rate(inputs: Inputs, output: text.Output) -> int:
    """Correct a judge's pass rate by the labels that people gave to some rows."""
    if any(file is not None for file in inputs.options.files.values()):
        refuse("a judge's verdicts and people's labels stand in one table; give that alone")
    choices = inputs.options.choices
    with findings_as_error(), ExitStack() as stack:
        source = open_file(inputs.file, stack)
        if reads_isolated(inputs.options.isolate, inputs.file):
            rows = in_a_reader(read_judge, source, choices)
        else:
            rows = read_judge(source, choices)
    verdicts, labels, clusters = rows.verdicts, rows.labels, rows.clusters
    corrected = corrected_rate(verdicts, labels, clusters)
    leaning = rows.leaning()
    needed = corrected.labels_for(HALF)
    agreement = {
        name: estimate.interval()
        for name, estimate in judge_agreement(verdicts, labels, clusters).items()
    }
    lines = [
        f"{shortened(rows.judge)} is the judge, {shortened(rows.human)} the labels of people.",
        str(corrected),
        more_labels(needed, corrected.n_labelled),
        "Agreement: "
        + ", ".join(f"{name} {_share(ends)}" for name, ends in agreement.items())
        + ".",
        *describe_leaning(leaning),
    ]
    output.say(
        "\n".join(map(for_terminal, lines)),
        judge=rows.judge,
        human=rows.human,
        rate=corrected.interval(),
        by_judge=corrected.by_judge.interval(),
        by_people=corrected.by_people.interval(),
        labelled=corrected.n_labelled,
        unlabelled=corrected.n_unlabelled,
        p_value=corrected.p_value,
        strata=corrected.n_strata,
        labels_for_half_width=needed,
        agreement=agreement,
        leaning=leaning.groups,
    )
    return output.end()


def _share(ends: Interval) -> str:
    return with_interval(ends, lambda value: f"{value:.2f}")
