"""``audit``: what is wrong with a model's probabilities, and what corrects it."""

from __future__ import annotations

from calib.auditing import audit as audit_of
from calib.cli import text
from calib.cli.arguments import Given, on_data, say_warnings


@on_data
def audit(given: Given, answer: text.Answer) -> int:
    """Conclude what is wrong with a model's probabilities."""
    data = given.load(silent=True)
    with text.progress("checks") as show:
        found = audit_of(data, progress=show)
    say_warnings(found.beyond(data.findings))
    answer.say(
        repr(found),
        verdict=found.verdict,
        findings=found.findings,
        methods=found.methods,
        rows=len(data),
    )
    return answer.end()
