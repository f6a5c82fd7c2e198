"""``app``: open the app, from a checkout or from an installed wheel, also from Python on data at hand."""

from __future__ import annotations

import atexit
import operator
import os
import socket
import subprocess
import sys
import threading
import time
import urllib.request
import webbrowser
from collections.abc import Sequence
from html import escape
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Self
from uuid import uuid4

from calib.cli import text
from calib.cli.arguments import Parser, command_parser
from calib.data import Predictions
from calib.data.findings import shortened
from calib.data.load import from_outputs
from calib.errors import CalibrationError, missing_package, reason
from calib.settings import studio

WHAT = "open the app in the browser"

_STARTING, _ENDING = 180.0, 30.0
"""Seconds that the app may take to answer, and to end; then it is taken for stuck."""


def parser() -> Parser:
    """Of this command's arguments."""
    parser = command_parser("app", WHAT, epilog="Streamlit's own options follow, as --server.address 0.0.0.0.")
    parser.add_argument("--port", type=int, default=8501, help="where it listens (default: 8501)")
    parser.add_argument("--no-browser", action="store_true", help="only serve it")
    parser.add_argument("--attached", action="store_true", help="end when standard input ends, as with its program")
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
    _need_streamlit()
    headless = ["--server.headless=true"] if given.no_browser else []
    file, port = str(studio() / "app.py"), f"--server.port={given.port}"
    command = [sys.executable, "-m", "streamlit", "run", file, port, *headless, *more]
    if given.attached:
        return _attached(command)
    if os.name != "posix":  # there a process cannot take another's place
        return subprocess.call(command)
    sys.stdout.flush()
    os.execv(command[0], command)


def _need_streamlit() -> None:
    if find_spec("streamlit") is None:
        raise ModuleNotFoundError("No module named 'streamlit'", name="streamlit")


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
        server.wait(_ENDING / 2)
    except subprocess.TimeoutExpired:
        server.kill()


class OpenApp:
    """The app in a process of its own, open on one data set; a context manager, which stops it.

    Attributes
    ----------
    url : where the browser finds it. It holds the secret that leads to the data.
    """

    def __init__(self, url: str, process: subprocess.Popen[bytes], folder: TemporaryDirectory[str]):
        self.url = url
        self._process, self._folder = process, folder

    @property
    def running(self) -> bool:
        """Whether it still serves."""
        return self._process.poll() is None

    def stop(self) -> None:
        """End the app and delete its copy of the data, with all that was fitted in it; a second time does nothing."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(_ENDING)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._folder.cleanup()
        if self in _running:
            _running.remove(self)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()

    def __repr__(self) -> str:
        return f"<calib app at {self.url}>" if self.running else "<calib app, stopped>"

    def _repr_html_(self) -> str:
        if not self.running:
            return "The app was stopped."
        return f'The app is open at <a href="{escape(self.url)}" target="_blank" rel="noopener">{escape(self.url)}</a>'


_running: list[OpenApp] = []
"""Apps that end with this Python session, whether or not anybody holds them."""


@atexit.register
def _stop_all() -> None:
    for app in list(_running):
        app.stop()


def open_app(
    data: Any,
    labels: Any = None,
    *,
    port: int | None = None,
    browser: bool = False,
    name: str | None = None,
    **options: Any,
) -> OpenApp:
    """Open the app on data at hand, and print its address.

    It runs in a process of its own that this machine alone can reach, and ends with this Python session. It has a
    copy of the data in a temporary folder that only you can read; the address holds the secret that leads there.

    Parameters
    ----------
    data : (n, n_classes) probabilities or logits, or the (n,) of one class of two, as an array, a DataFrame or a
        tensor; without ``labels`` a path, a DataFrame that holds the outcome too, a pair of outputs and labels, or
        :class:`calib.Predictions`.
    labels : (n,) true classes.
    port : where it listens; by default one that is free.
    browser : whether to show it in the browser.
    name : how its pages call the data.
    **options : of :func:`calib.load`, such as ``kind="logits"``.

    Returns
    -------
    OpenApp
        With ``url`` and ``stop()``; ``with calib.open_app(data) as app:`` stops it at the end.

    Raises
    ------
    DataError
        If the data cannot be used.
    CalibrationError
        If Streamlit is not installed, the port or the temporary folder cannot be used, or the app does not start.
    """
    try:
        _need_streamlit()
    except ModuleNotFoundError as error:
        raise CalibrationError(missing_package(error)) from error
    port = _free_port(port)
    rows = from_outputs(data, labels, name=name, **options)
    if len(rows.labels) < 2:
        raise CalibrationError("The app splits the rows into two parts, and there is one row; give at least two.")
    try:
        folder = TemporaryDirectory(prefix="calib-", ignore_cleanup_errors=True)
    except OSError as error:
        raise _no_room(error) from error
    try:
        token = _kept(rows, Path(folder.name))
        app = _started(port, token, folder)
    except BaseException:
        folder.cleanup()
        raise
    text.say(f"The app is open at {app.url}")
    if browser:
        webbrowser.open(app.url)
    return app


def _kept(rows: Predictions, folder: Path) -> str:
    """Store a data set as the app does; the token of the link that leads to it."""
    from calib.store.contents import Entry, new_link, plain_findings, put_data  # no command needs it
    from calib.store.index import Store

    rows, (token, name) = rows.identified(), new_link()
    entry = Entry(visitor=uuid4().hex, data=rows.sha256, name=rows.name, findings=plain_findings(rows.findings))
    try:
        store = Store(folder)
        store.put_link(name, entry, entry.keys())
        put_data(store, rows)
    except OSError as error:
        raise _no_room(error) from error
    return token


def _started(port: int, token: str, folder: TemporaryDirectory[str]) -> OpenApp:
    """Start the app on a workspace and wait until it answers."""
    package = str(Path(__file__).parents[2])
    paths = os.pathsep.join(filter(None, [package, os.environ.get("PYTHONPATH")]))
    own = {"CALIB_WORKSPACE": folder.name, "PYTHONPATH": paths}
    command = [sys.executable, "-m", "calib", "app", "--attached", "--no-browser", f"--port={port}",
               "--server.address=127.0.0.1", "--server.baseUrlPath="]  # fmt: skip
    log = Path(folder.name) / "log"
    with open(log, "wb") as written:  # in a group of its own an interrupt of this session does not reach it
        process = subprocess.Popen(
            command, env=os.environ | own, stdin=subprocess.PIPE, stdout=written, stderr=written, start_new_session=True
        )
    app = OpenApp(f"http://127.0.0.1:{port}/?w={token}", process, folder)
    _running.append(app)
    try:
        _await(app, port, log)
    except BaseException:  # an interrupt too
        app.stop()
        raise
    return app


def _await(app: OpenApp, port: int, log: Path) -> None:
    """Return when the app answers.

    Raises
    ------
    CalibrationError
        If it ends before, or takes too long.
    """
    end = time.monotonic() + _STARTING
    while not _answers(f"http://127.0.0.1:{port}/_stcore/health"):
        if not app.running:
            said = log.read_text(errors="replace").strip().rpartition("\n")[2]
            raise CalibrationError(f"The app did not start on port {port} ({said[:200] or 'it said nothing'}).")
        if time.monotonic() > end:
            raise CalibrationError(f"The app did not answer on port {port} within {_STARTING:.0f} seconds; try again.")
        time.sleep(0.1)


_DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))
"""Asks this machine itself, also where the environment names a proxy for other addresses."""


def _answers(address: str) -> bool:
    try:
        with _DIRECT.open(address, timeout=5) as answer:
            return bool(answer.read() == b"ok")
    except OSError:
        return False


def _free_port(wanted: int | None) -> int:
    """The port where nobody listens, or any such for None and 0."""
    try:
        port = 0 if wanted is None else operator.index(wanted)
    except TypeError:
        port = -1
    if isinstance(wanted, bool) or not 0 <= port <= 65535:
        raise CalibrationError(
            f"port must be a whole number from 1 to 65535; got {shortened(repr(wanted))}. Leave it out."
        )
    with socket.socket() as probe:
        if os.name == "posix":  # as the server does: connections that ended a moment ago do not hold a port
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            raise CalibrationError(f"Port {port} cannot be used ({error.strerror}); leave port out.") from error
        return int(probe.getsockname()[1])


def _no_room(error: OSError) -> CalibrationError:
    return CalibrationError(
        f"The copy of the data for the app cannot be written to the temporary folder ({reason(error)}); name another "
        "one in the environment variable TMPDIR."
    )
