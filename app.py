"""Data: open model outputs, see what was understood, and split them; and the app that ``streamlit run`` serves.

Streamlit imports this file once for the server and runs it as a script whenever somebody looks at the page.
"""

from __future__ import annotations

import streamlit as st
from starlette.middleware import Middleware

from calib import settings
from calib.isolation.logs import without_data
from calib.ui.data.first import QUESTION, first_page
from calib.ui.data.upload import gallery, last_reading, uploaders
from calib.ui.data.view import not_opened, overview, stays_open
from calib.ui.server import guard
from calib.ui.session import find_session
from calib.ui.shell import page, storage_notice


def body() -> None:
    """Draw the page."""
    session = find_session()
    reading = last_reading()
    unopened = not_opened(reading)
    if unopened:
        uploaders()
    if session is not None:
        if unopened:
            stays_open(session)
        overview(session, None if unopened else reading)
    elif not unopened:
        first_page()
    if session is not None or unopened:
        with st.expander("Open other data"):
            if not unopened:
                uploaders()
            gallery()
    storage_notice()


def check_settings() -> None:
    """End a server with one sentence where a setting is wrong."""
    try:
        settings.check()
        size = settings.number("CALIB_UPLOAD_MB")
        allowed = float(st.get_option("server.maxUploadSize"))
        if size > allowed:  # Streamlit's server refuses what is larger before we see it
            raise ValueError(
                f"CALIB_UPLOAD_MB is {size:g} and Streamlit takes {allowed:g}; "
                "set STREAMLIT_SERVER_MAX_UPLOAD_SIZE too."
            )
    except ValueError as error:
        raise SystemExit(f"calib is not started: {error}") from error


if __name__ == "__main__":
    with page("Data", QUESTION):
        body()
else:
    without_data()
    check_settings()
    app = st.App(__file__, middleware=[Middleware(guard.Guard)], lifespan=guard.lifespan)
