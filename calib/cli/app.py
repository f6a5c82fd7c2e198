"""``app``: open the app, from a checkout or from an installed wheel."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from importlib.util import find_spec

from calib.cli.arguments import Parser, command_parser
from calib.settings import studio

WHAT = "open the app in the browser"

RETURNS_MEMORY = {"PYTHONMALLOC": "malloc", "MALLOC_ARENA_MAX": "2"}
"""Small things go to the C library, in two arenas: it returns every free page when visitors have left, and Python's own
allocator only runs of 1 MB in which nothing is left. They hold from the start of an interpreter on."""


def parser() -> Parser:
    """Of this command's arguments."""
    parser = command_parser("app", WHAT, epilog="Streamlit's own options follow, as --server.address 0.0.0.0.")
    parser.add_argument("--port", type=int, default=8501, help="where it listens (default: 8501)")
    parser.add_argument("--no-browser", action="store_true", help="only serve it")
    return parser


def run(arguments: Sequence[str]) -> int:
    """Run the command; the server takes this process's place, or its status is returned.

    Streamlit reads the configuration that stands beside ``app.py`` after those of the user and of the folder it is
    started in, so that what protects the app holds; environment variables and options say what else is wanted.

    Raises
    ------
    ModuleNotFoundError
        If Streamlit is not installed.
    """
    given, more = parser().parse_known_args(arguments)
    if find_spec("streamlit") is None:
        raise ModuleNotFoundError("No module named 'streamlit'", name="streamlit")
    headless = ["--server.headless=true"] if given.no_browser else []
    file, port = str(studio() / "app.py"), f"--server.port={given.port}"
    command = [sys.executable, "-m", "streamlit", "run", file, port, *headless, *more]
    environment = RETURNS_MEMORY | os.environ
    if os.name != "posix":  # there a process cannot take another's place
        return subprocess.call(command, env=environment)
    sys.stdout.flush()
    os.execve(command[0], command, environment)
