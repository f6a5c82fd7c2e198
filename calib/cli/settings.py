"""``settings``: what an app started here would be configured with."""

from __future__ import annotations

import os
from textwrap import wrap

from calib.cli import text
from calib.settings import DECLARED


def settings() -> None:
    """Show how an app started here would be configured, or what is wrong with it."""
    for declared in DECLARED:  # every setting is right by now, or the command would not run
        given = os.environ.get(declared.name, "").strip()
        in_force = (
            f"{given}  (from the environment)" if given else declared.default_text.replace("`", "")
        )
        text.say(f"{declared.name} = {in_force}")
        text.say("\n".join(f"    {line}" for line in wrap(declared.meaning.replace("`", ""), 100)))
