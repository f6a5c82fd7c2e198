"""``tasks``: the calibration of every problem of one file, and a threshold for each."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from typer import Option

from calib.cli import text
from calib.cli.arguments import Given, keep_inputs, must_end, on_data, refuse, target
from calib.data.options import names_in
from calib.formatting import for_terminal, listed, plural, round_percent
from calib.tasks import Tasks, audit_tasks, tasks_of

LEFT_OUT = {
    "refused": "refused",
    "no answer": "without an answer",
    "no label": "without a label",
}


@on_data
def tasks(
    given: Given,
    answer: text.Answer,
    target_accuracy: Annotated[
        float | None,
        Option(min=0.5, max=1, help="Certify a threshold from which each task's answers have it."),
    ] = None,
    out: Annotated[
        Path | None, Option(parser=target, help="Where to write the thresholds: a .json file.")
    ] = None,
) -> int:
    """Judge every question, label or model of one file, worst first."""
    must_end(out, [".json"])
    keep_inputs(given.paths, out=out)
    if out is not None and target_accuracy is None:
        refuse("--out writes thresholds; name the accuracy too, as --target-accuracy 0.95")
    found = read_tasks(given)
    audit = audit_tasks(found)
    named = audit.miscalibrated
    verdict = f"Miscalibrated: {listed(named)}." if named else "No task is significantly off."
    lines = [
        f"{plural(len(audit), 'task')} ({found.kind}) over {plural(found.n_rows, 'row')}.",
        str(audit),
        verdict,
        *left_out(found),
    ]
    answer.say(
        "\n".join(map(for_terminal, lines)),
        kind=found.kind,
        rows=found.n_rows,
        tasks=audit.tasks,
        miscalibrated=named,
        left_out=found.left_out,
    )
    if target_accuracy is not None:
        thresholds = found.thresholds(target_accuracy)
        head = f"Thresholds from which answers are at least {round_percent(target_accuracy)} right:"
        answer.say(f"{head}\n{thresholds}", thresholds=thresholds.to_dict())
        if out is not None:
            thresholds.to_json(out)
            answer.say(f"Written to {out}.", file=str(out))
    return answer.end()


def read_tasks(given: Given) -> Tasks:
    """Read the tasks of the file that a command was given, with labels in a file of their own or not."""
    files = {name for name, file in given.options.files.items() if file is not None}
    chosen: dict[str, Any] = given.options.choices.given()
    if files - {"labels"}:
        refuse("tasks stand in one file, with labels in it or in a second one; leave others out")
    if set(chosen) - {"clusters"}:
        refuse("of tasks --read chooses cluster=COLUMN alone")
    cluster = next(iter(names_in(chosen.get("clusters"))), None)
    labels = given.options.files["labels"]
    return tasks_of(given.file, cluster, labels, isolate=given.options.isolate)


def left_out(found: Tasks) -> list[str]:
    """Describe the rows that are not used, a line for each task that has any."""
    lines = []
    for name, counts in found.left_out.items():
        parts = [f"{count:,} {LEFT_OUT[why]}" for why, count in counts.items() if count]
        if parts:
            lines.append(f"{name}: {', '.join(parts)}, left out.")
    return lines
