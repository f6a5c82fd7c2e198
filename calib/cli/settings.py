"""``settings``: what an app started here would be configured with."""

from __future__ import annotations

import os
from collections.abc import Mapping
from textwrap import wrap

from calib.cli import text
from calib.settings import DECLARED, Setting, environment


def settings() -> None:
    """Show how an app started here would be configured, or what is wrong with it."""
    variables = environment()  # every setting is right by now, or the command would not run
    for declared in DECLARED:
        text.say(f"{declared.name} = {_in_force(declared, variables)}")
        text.say("\n".join(f"    {line}" for line in wrap(declared.meaning.replace("`", ""), 100)))


def _in_force(declared: Setting, variables: Mapping[str, str]) -> str:
    if given := variables.get(declared.name, "").strip():
        return f"{given}  (from the {'environment' if declared.name in os.environ else 'file'})"
    found = f"{declared.default():.3g}, " if callable(declared.default) else ""
    return found + declared.default_text.replace("`", "")
