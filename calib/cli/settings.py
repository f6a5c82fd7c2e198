"""``settings``: what an app started here would be configured with."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from textwrap import wrap

from calib import settings
from calib.cli import text
from calib.cli.arguments import Parser, command_parser
from calib.settings import DECLARED, Setting

WHAT = "show how an app started here would be configured, or what is wrong with it"


def parser() -> Parser:
    """Of this command's arguments."""
    return command_parser("settings", WHAT)


def run(arguments: Sequence[str]) -> int:
    """Run the command; returns the exit status."""
    parser().parse_args(arguments)
    variables = settings.environment()  # every setting is right by now, or the command would not run
    for declared in DECLARED:
        text.say(f"{declared.name} = {_in_force(declared, variables)}")
        text.say("\n".join(f"    {line}" for line in wrap(declared.meaning.replace("`", ""), 100)))
    return 0


def _in_force(declared: Setting, variables: Mapping[str, str]) -> str:
    if given := variables.get(declared.name, "").strip():
        return f"{given}  (from the {'environment' if declared.name in os.environ else 'file'})"
    found = f"{declared.default():.3g}, " if callable(declared.default) else ""
    return found + declared.default_text.replace("`", "")
