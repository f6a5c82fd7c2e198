"""What a server of many visitors needs beyond Streamlit: memory that goes back, and a limit to it.

No page needs this package to be right; it keeps one process from growing until the machine ends it. It knows nothing of
calibration, and imports nothing from the rest of ``calib.ui``. Each part is here because Streamlit (1.67) or the C
library does not do it, and because it was measured: ``python -m benchmarks.many_people`` has thirty visitors upload,
fit and leave, and docs/benchmarks.md has the numbers. Five minutes after they left, the server takes 12 % more memory
than when idle; without the allocator's settings in its environment it was 48 %.

Allocation (:mod:`calib.ui.server.memory`)
    glibc raises the size from which an array is mapped by itself to that of the largest array freed, up to 32 MB.
    Smaller arrays then come from the arenas of the server's many threads and leave holes there that stay with the
    process. Fixed thresholds and two arenas avoid it. They are set here for every way to start the app;
    ``PYTHONMALLOC=malloc`` cannot be set from within and is in the Makefile and the image: Python's own allocator kept
    126 of 132 MB in pieces of which almost nothing was in use.

Garbage collection (:mod:`calib.ui.server.memory`)
    Plotly figures refer to their own parts, so that only the collector frees them. Streamlit runs it after every script
    run (``runner.postScriptGC``) over all objects of all visitors, at least 0.1 s in which nothing else runs. That is
    turned off in ``.streamlit/config.toml``; a full collection runs when a visitor has left instead, and the objects of
    the program itself are left out of it.

Visitors who leave (:mod:`calib.ui.server.presence`)
    When a connection ends, Streamlit keeps the session for two minutes (``server.disconnectedSessionTTL``) so that the
    browser may come back. After that its store no longer hands the session out, but removes it only when the next
    visitor's connection ends: the last visitor's uploads, fits and figures would stay for as long as nobody comes.
    There is no event for the end of these two minutes. The end of the connection has one, the release of a
    session-scoped resource; from there the session is closed in time, and what it holds is released.

Refreshing (:mod:`calib.ui.server.presence`)
    Parts of a page that follow a fit refresh themselves. Each refresh takes 10 ms of the one process, so that their
    interval grows with the number of visitors.

Limits (:mod:`calib.ui.server.memory`, :mod:`calib.ui.server.shares`)
    Streamlit limits one uploaded file, not what is made of it nor all visitors together. Data that would take more than
    ``CALIB_SESSION_GB`` for one visitor or ``CALIB_MEMORY_GB`` for all are refused with a sentence; otherwise the
    machine would end the process, and with it everybody's work. Visitors of one address may take
    ``CALIB_ADDRESS_SHARE`` of it, so that many tabs of one person do not shut out the rest.

Uploads (:mod:`calib.ui.server.uploads`)
    Streamlit keeps uploaded bytes in memory, read or not: eight files of 200 MB took 1.9 GB, which came back 95 to
    155 s after their page was closed. Here they go to disk as they arrive, counted by visitor, address and in all.

Requests (:mod:`calib.ui.server.guard`)
    Streamlit lets any port of this machine open a WebSocket, asks a service outside for its own address when a page of
    another origin tries, for which everybody waits, and answers anybody who asks for its metrics.
"""
