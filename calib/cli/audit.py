"""``audit``: what is wrong with a model's probabilities, and what corrects it."""

from __future__ import annotations

from calib.auditing import audit as audit_of
from calib.cli import text
from calib.cli.arguments import Inputs, on_data, say_warnings


@on_data
def audit(inputs: Inputs, output: text.Output) -> int:
    """Conclude what is wrong with a model's probabilities."""
    data = inputs.load(silent=True)
    with text.progress("checks") as show:
        audited = audit_of(data, progress=show)
    say_warnings(audited.beyond(data.findings))
    output.say(
        repr(audited),
        verdict=audited.verdict,
        findings=audited.findings,
        methods=audited.methods,
        rows=len(data),
    )
    return output.end()
