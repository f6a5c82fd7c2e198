"""``app``: open the app, from a checkout or from an installed wheel."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Sequence
from typing import Annotated

from typer import Context, Option

from calib.cli.open_app import ENDING, need_streamlit
from calib.settings import studio


def app(
    context: Context,
    port: Annotated[int, Option(help="Where it listens.")] = 8501,
    no_browser: Annotated[bool, Option("--no-browser", help="Only serve it.")] = False,
    attached: Annotated[bool, Option("--attached", help="End when standard input ends, as with its program.")] = False,
) -> int:
    """Open the app in the browser; Streamlit's own options follow, as --server.address 0.0.0.0.

    Streamlit reads the configuration that stands beside app.py after those of the user and of the folder it is
    started in, so that what protects the app holds; environment variables and options say what else is wanted.
    """
    need_streamlit()
    headless = ["--server.headless=true"] if no_browser else []
    file, listens = str(studio() / "app.py"), f"--server.port={port}"
    command = [sys.executable, "-m", "streamlit", "run", file, listens, *headless, *context.args]
    if attached:
        return _attached(command)
    if os.name != "posix":  # there a process cannot take another's place
        return subprocess.call(command)
    sys.stdout.flush()
    os.execv(command[0], command)


def _attached(command: Sequence[str]) -> int:
    """Serve until standard input ends, as it does when the program at its other end has, however that came about."""
    with subprocess.Popen(command, stdin=subprocess.DEVNULL) as server:
        threading.Thread(target=_end_with_input, args=(server,), daemon=True).start()
        return server.wait()


def _end_with_input(server: subprocess.Popen[bytes]) -> None:
    while os.read(0, 4096):
        pass
    server.terminate()
    try:
        server.wait(ENDING / 2)
    except subprocess.TimeoutExpired:
        server.kill()
