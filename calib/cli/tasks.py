"""``tasks``: the calibration of every problem of one file, and a threshold for each."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from typer import Option

from calib.cli import text
from calib.cli.arguments import Inputs, keep_inputs, must_end, on_data, refuse, target
from calib.data.options import explicit_options, names_in
from calib.formatting import for_terminal, listed, plural, round_percent
from calib.registry import METHODS
from calib.tasks import FittedTasks, Tasks, audit_tasks, fit_tasks, tasks_of

LEFT_OUT = {
    "refused": "refused",
    "no answer": "without an answer",
    "no label": "without a label",
}


@on_data
def tasks(
    inputs: Inputs,
    output: text.Output,
    target_accuracy: Annotated[
        float | None,
        Option(min=0.5, max=1, help="Certify a threshold from which each task's answers have it."),
    ] = None,
    out: Annotated[
        Path | None, Option(parser=target, help="Where to write the thresholds: a .json file.")
    ] = None,
    out_bundle: Annotated[
        Path | None,
        Option(
            parser=target,
            help="Fit a calibrator to each task, and write all with their thresholds: a .zip file.",
        ),
    ] = None,
    method: Annotated[str, Option(help=f"Of the bundle: one of {', '.join(METHODS)}.")] = "auto",
) -> int:
    """Judge every question, label or model of one file, worst first."""
    must_end(out, [".json"])
    must_end(out_bundle, [".zip"])
    keep_inputs(inputs.paths, out=out, out_bundle=out_bundle)
    if method not in METHODS:
        refuse(f"there is no method {method!r}; --method is one of {', '.join(METHODS)}")
    if out is not None and target_accuracy is None:
        refuse("--out writes thresholds; name the accuracy too, as --target-accuracy 0.95")
    file_tasks = read_tasks(inputs)
    audit = audit_tasks(file_tasks)
    named = audit.miscalibrated
    verdict = f"Miscalibrated: {listed(named)}." if named else "No task is significantly off."
    lines = [
        f"{plural(len(audit), 'task')} ({file_tasks.kind}) over {plural(file_tasks.n_rows, 'row')}.",
        str(audit),
        verdict,
        *model_lines(file_tasks),
        *left_out(file_tasks),
    ]
    output.say(
        "\n".join(map(for_terminal, lines)),
        kind=file_tasks.kind,
        rows=file_tasks.n_rows,
        tasks=audit.tasks,
        miscalibrated=named,
        left_out=file_tasks.left_out,
        models=file_tasks.models,
    )
    if target_accuracy is not None:
        thresholds = file_tasks.thresholds(target_accuracy)
        head = f"Thresholds from which answers are at least {round_percent(target_accuracy)} right:"
        output.say(f"{head}\n{thresholds}", thresholds=thresholds.to_dict())
        if out is not None:
            thresholds.to_json(out)
            output.say(f"Written to {out}.", file=str(out))
    if out_bundle is not None:
        fitted = fit_tasks(file_tasks, method, target_accuracy)
        fitted.save(out_bundle)
        report_bundle(fitted, output)
        output.say(f"Written to {out_bundle}.", bundle_file=str(out_bundle))
    return output.end()


def report_bundle(fitted: FittedTasks, output: text.Output) -> None:
    """Print the thresholds of calibrated confidences, on the rows that no calibrator was fitted on."""
    lines = [f"Calibrators of {plural(len(fitted), 'task')}, each fitted on half of its rows."]
    if fitted.target_accuracy is not None:
        lines += ["Thresholds of the calibrated confidence, by the other half:", fitted.table()]
    lines += [f"{name} has none: {reason}" for name, reason in fitted.reasons.items()]
    output.say("\n".join(map(for_terminal, lines)), bundle=fitted.contents())


def model_lines(file_tasks: Tasks) -> list[str]:
    """Describe the models that the file names; several versions in one file are a warning."""
    names = {*file_tasks.models.values()} - {""}
    if file_tasks.kind == "models" or not names:
        return []
    several = ", " in "".join(names) or len(names) > 1
    warning = "; the model changed within the file, so judge each version by itself" * several
    return [f"Model: {listed(sorted(names))}{warning}."]


def read_tasks(inputs: Inputs) -> Tasks:
    """Read the tasks of the file that a command was given, with labels in a file of their own or not."""
    files = {name for name, file in inputs.options.files.items() if file is not None}
    chosen: dict[str, Any] = explicit_options(inputs.options.choices)
    if files - {"labels"}:
        refuse("tasks stand in one file, with labels in it or in a second one; leave others out")
    if set(chosen) - {"clusters"}:
        refuse("of tasks --read chooses cluster=COLUMN alone")
    cluster = next(iter(names_in(chosen.get("clusters"))), None)
    labels = inputs.options.files["labels"]
    return tasks_of(inputs.file, cluster, labels, isolate=inputs.options.isolate)


def left_out(file_tasks: Tasks) -> list[str]:
    """Describe the rows that are not used, a line for each task that has any."""
    lines = []
    for name, counts in file_tasks.left_out.items():
        parts = [f"{count:,} {LEFT_OUT[why]}" for why, count in counts.items() if count]
        if parts:
            lines.append(f"{name}: {', '.join(parts)}, left out.")
    return lines
