"""``inspect``: what a file holds, how it is understood, and what is odd about it."""

from __future__ import annotations

from calib.auditing.checks import describe_level
from calib.cli import text
from calib.cli.arguments import Inputs, on_data
from calib.data import Inspection, Predictions
from calib.data import inspect as inspect_file
from calib.data.findings import shortened
from calib.data.options import explicit_options
from calib.evaluation.comparison_table import describe_weights
from calib.formatting import aligned, for_terminal, single_line


@on_data
def inspect(inputs: Inputs, output: text.Output) -> int:
    """Say what a file holds and what is odd about it."""
    read = inspect_file(inputs.file, inputs.options)
    data = read.predictions
    errors = [finding for finding in read.findings if finding.level == "error"]
    output.say(inspection(read), arrays=read.arrays, read=_read(read), findings=read.findings)
    if errors and not output.as_json:
        text.say(text.findings(errors), apart=True)
    if data is not None:
        output.fields |= {"rows": len(data), "classes": data.class_names, "columns": data.roles}
        output.fields["model"] = text.means(text.judged_raw(data))
        output.note(describe_weights(data), "note")
    return output.end(0 if data is not None else 1)


def inspection(reading: Inspection) -> str:
    """Inspection of a file: its content, how it was understood, and the findings that are no errors."""
    lines = ["The file holds"] if reading.arrays else []
    lines += [
        f"  {single_line(array.name)}  {' x '.join(f'{n:,}' for n in array.shape)}  {array.dtype}"
        for array in reading.arrays
    ]
    if reading.predictions is not None:
        lines += _roles(reading.predictions)
        lines += ["", for_terminal(describe_level(text.judged_raw(reading.predictions)))]
    if read := _read(reading):
        lines += [
            "",
            "Read with " + ", ".join(f"{name}={_shortened(value)}" for name, value in read.items()),
        ]
    if noticed := [finding for finding in reading.findings if finding.level != "error"]:
        lines += ["", text.findings(noticed)]
    return "\n".join(lines).strip()


def _roles(data: Predictions) -> list[str]:
    """The role of each column of a table and why, one a line."""
    rows = [
        [f"  {shortened(role.column)}", role.role, single_line(role.reason)] for role in data.roles
    ]
    return ["", "Its columns were read as", *aligned(rows)] if rows else []


def _read(read: Inspection) -> dict[str, object]:
    """The options that were given or inferred; the classes are said elsewhere."""
    return {
        name: value
        for name, value in explicit_options(read.choices).items()
        if value and name != "class_names"
    }


def _shortened(value: object, length: int = 60) -> str:
    written = repr(value)
    return written if len(written) <= length else written[: length - 1] + "…"
