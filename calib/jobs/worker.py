"""The worker process: ``python -m calib.jobs.worker NICE``, started and fed by :class:`LocalExecutor`.

It reads messages on its standard input and answers on its standard output, one task at a time, and ends when
its input closes, so it never outlives the app.
"""

from __future__ import annotations

import os
import queue
import signal
import sys
import threading
from typing import BinaryIO

from calib.isolation.logs import quiet_start, without_data
from calib.jobs.protocol import Cancel, Data, Failure, Progress, Result, Run, Task, receive, send


class Worker:
    """Runs tasks on the main thread while another thread listens for cancellations.

    Parameters
    ----------
    requests, replies : the two ends of the pipe to the app.
    """

    def __init__(self, requests: BinaryIO, replies: BinaryIO):
        self._requests = requests
        self._replies = replies
        self._inbox: queue.SimpleQueue[Data | Task] = queue.SimpleQueue()
        self._cancelled = -1
        self._data = Data("", {})

    def serve(self) -> None:
        """Work until the app closes the pipe."""
        threading.Thread(target=self._listen, daemon=True).start()
        while True:
            request = self._inbox.get()
            if isinstance(request, Data):
                self._data = request
            else:
                send(self._replies, self._run(request))

    def report(self, progress: Progress) -> None:
        """Tell the app where the task stands."""
        send(self._replies, progress)

    def _run(self, task: Task) -> Result | Failure:
        return Run(self.report, lambda: self._cancelled == task.number)(task.call, self._data.arrays)

    def _listen(self) -> None:
        try:
            while True:
                request = receive(self._requests)
                if isinstance(request, Cancel):
                    self._cancelled = request.number
                else:
                    self._inbox.put(request)
        finally:
            # The app is gone. The main thread may be deep in C code, so do not wait for it.
            os._exit(0)


def main() -> None:
    """Keep the pipe for messages alone, then serve."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole terminal; the app ends us
    requests = os.fdopen(os.dup(0), "rb")
    replies = os.fdopen(os.dup(1), "wb")
    with open(os.devnull, "rb") as nothing:
        os.dup2(nothing.fileno(), 0)
    os.dup2(2, 1)  # a print, in Python or in C, goes to the log and not into the pipe
    quiet_start()
    without_data()
    if hasattr(os, "nice"):
        os.nice(int(sys.argv[1]))
    Worker(requests, replies).serve()


if __name__ == "__main__":
    main()
