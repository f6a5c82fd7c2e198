"""``app``: open the app, from a checkout or from an installed wheel."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Annotated

from typer import Context, Option

from calib.cli.open_app import need_streamlit
from calib.settings import studio


def app(
    context: Context,
    port: Annotated[int, Option(help="Where it listens.")] = 8501,
    no_browser: Annotated[bool, Option("--no-browser", help="Only serve it.")] = False,
) -> int:
    """Open the app in the browser; Streamlit's own options follow, as --server.address 0.0.0.0.

    Streamlit reads the configuration that stands beside app.py after those of the user and of the folder it is
    started in, so that what protects the app holds; environment variables and options say what else is wanted.
    """
    need_streamlit()
    headless = ["--server.headless=true"] if no_browser else []
    file = str(studio() / "app.py")
    listens = f"--server.port={port}"
    command = [sys.executable, "-m", "streamlit", "run", file, listens, *headless, *context.args]
    if os.name != "posix":  # there a process cannot take another's place
        return subprocess.call(command)
    sys.stdout.flush()
    return os.execv(command[0], command)
