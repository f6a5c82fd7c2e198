"""The ``settings`` command: what an app started here would be configured with."""

from __future__ import annotations

import argparse
import os
from textwrap import wrap
from typing import Any

from calib import settings
from calib.settings import DECLARED, Setting


def settings_command(commands: Any) -> argparse.ArgumentParser:
    """Add the command to a parser's commands."""
    what = "show how an app started here would be configured, or what is wrong with it"
    command: argparse.ArgumentParser = commands.add_parser("settings", help=what, description=what)
    command.set_defaults(run=_settings)
    return command


def _settings(given: argparse.Namespace) -> int:
    variables = settings.environment()  # every setting is right by now, or the command would not run
    for declared in DECLARED:
        print(f"{declared.name} = {_in_force(declared, variables)}")
        print("\n".join(f"    {line}" for line in wrap(declared.meaning.replace("`", ""), 100)))
    return 0


def _in_force(declared: Setting, variables: Any) -> str:
    if given := variables.get(declared.name, "").strip():
        return f"{given}  (from the {'environment' if declared.name in os.environ else 'file'})"
    found = f"{declared.default():.3g}, " if callable(declared.default) else ""
    return found + declared.default_text.replace("`", "")
