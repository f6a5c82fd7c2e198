"""``app``: open the app, from a checkout or an installed wheel; and ``open_app`` from Python, on data at hand."""

from __future__ import annotations

import atexit
import os
import socket
import subprocess
import sys
import time
import webbrowser
from contextlib import ExitStack, closing
from html import escape
from http.client import HTTPConnection, HTTPException
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any, Self
from uuid import uuid4

from typer import Context, Option

from calib.data import Predictions
from calib.data.loading import predictions_from
from calib.errors import CalibrationError, missing_package
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


STARTING = 180.0
"""Seconds that the app may take to start."""


def need_streamlit() -> None:
    """Raise :class:`CalibrationError` where Streamlit is not installed."""
    if find_spec("streamlit") is None:
        raise CalibrationError(
            missing_package(ModuleNotFoundError("No module named 'streamlit'", name="streamlit"))
        )


class OpenApp:
    """The app in a process of its own, open on one data set; a context manager, which stops it.

    Parameters
    ----------
    url : str
        Address for the browser. It holds the secret that leads to the data.
    ending : ExitStack
        Ends the process and deletes its copy of the data.
    """

    def __init__(self, url: str, ending: ExitStack):
        self.url = url
        self._ending = ending
        atexit.register(self.stop)

    def stop(self) -> None:
        """End the app and delete its copy of the data, with all that was fitted in it."""
        atexit.unregister(self.stop)
        self._ending.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()

    def _repr_html_(self) -> str:
        return f'The app is open at <a href="{escape(self.url)}" target="_blank" rel="noopener">{escape(self.url)}</a>'


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
    data : array_like, DataFrame, str, Path, tuple or Predictions
        (n, n_classes) probabilities or logits, or the (n,) of one class of two, as an array, a DataFrame or a tensor;
        without ``labels`` a path, a DataFrame that holds the outcome too, a pair of outputs and labels, or
        :class:`calib.Predictions`.
    labels : array_like of shape (n,) or None, default None
        True classes.
    port : int or None, default None
        Where it listens; None takes one that is free.
    browser : bool, default False
        Whether to show it in the browser.
    name : str or None, default None
        How its pages call the data.
    **options
        Options of :func:`calib.load`, such as ``kind="logits"``.

    Returns
    -------
    OpenApp
        With ``url`` and ``stop()``; ``with calib.open_app(data) as app:`` stops it at the end.

    Raises
    ------
    DataError
        If the data cannot be used.
    CalibrationError
        If Streamlit is not installed, or the app does not start.
    OSError
        If the port is taken, or the temporary folder cannot be used; the environment variable TMPDIR names another.

    Examples
    --------
    >>> import calib
    >>> with calib.open_app(calib.load_sample("digits-cnn")) as app:  # doctest: +ELLIPSIS
    ...     print(app.url.startswith("http://127.0.0.1:"))
    The app is open at http://127.0.0.1:...
    True
    """
    need_streamlit()
    rows = predictions_from(data, labels, name=name, **options).identified()
    if len(rows) < 2:
        raise CalibrationError(
            "The app splits the rows into two parts, and there is one row; give at least two."
        )
    with socket.create_server(("127.0.0.1", port or 0)) as server:
        port = int(server.getsockname()[1])
    with ExitStack() as ending:  # undone where something fails
        folder = Path(
            ending.enter_context(TemporaryDirectory(prefix="calib-", ignore_cleanup_errors=True))
        )
        token = _store(rows, folder)
        process = _start(port, folder)
        ending.callback(_end, process)
        _wait(port, process, folder / "log")
        app = OpenApp(f"http://127.0.0.1:{port}/?w={token}", ending.pop_all())
    print(f"The app is open at {app.url}")
    if browser:
        webbrowser.open(app.url)
    return app


def _store(rows: Predictions, folder: Path) -> str:
    """Store a data set as the app does; return the token of the link that leads to it."""
    from calib.store.contents import (
        Entry,
        new_link,
        plain_findings,
        put_data,
    )  # no command needs it
    from calib.store.index import Store

    token, name = new_link()
    entry = Entry(
        visitor=uuid4().hex,
        data=rows.sha256,
        name=rows.name,
        findings=plain_findings(rows.findings),
    )
    store = Store(folder)
    store.put_link(name, entry, entry.keys())
    put_data(store, rows)
    return token


def _start(port: int, folder: Path) -> subprocess.Popen[bytes]:
    """Start the app on a workspace."""
    paths = os.pathsep.join(
        filter(None, [str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH")])
    )
    variables = {"CALIB_WORKSPACE": str(folder), "PYTHONPATH": paths}
    options = [
        f"--server.port={port}",
        "--server.address=127.0.0.1",
        "--server.baseUrlPath=",
        "--server.headless=true",
    ]
    command = [sys.executable, "-m", "streamlit", "run", str(studio() / "app.py"), *options]
    with (folder / "log").open(
        "wb"
    ) as log:  # in a group of its own an interrupt of this session does not reach it
        return subprocess.Popen(
            command,
            env=os.environ | variables,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )


def _wait(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    """Wait until the app answers; raise :class:`CalibrationError` where it ends before or takes too long."""
    end = time.monotonic() + STARTING
    while process.poll() is None and time.monotonic() < end:
        if _answers(port):
            return
        time.sleep(0.1)
    last_line = log.read_text(errors="replace").strip().rpartition("\n")[2]
    raise CalibrationError(
        f"The app did not start on port {port} ({last_line[:200] or 'no message'})."
    )


def _answers(port: int) -> bool:
    """Return whether an app answers at the address, whatever proxy the environment names for others."""
    try:
        with closing(HTTPConnection("127.0.0.1", port, timeout=5)) as connection:
            connection.request("GET", "/_stcore/health")
            return connection.getresponse().read() == b"ok"
    except (OSError, HTTPException):
        return False


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    process.wait()
