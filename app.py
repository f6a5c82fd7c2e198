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
from calib.ui.shell import page, where_data_are_kept


def body() -> None:
    """Draw the page."""
    session = find_session()
    reading = last_reading()
    asked = not_opened(reading)
    if asked:
        uploaders()
    if session is not None:
        if asked:
            stays_open(session)
        overview(session, None if asked else reading)
    elif not asked:
        first_page()
    if session is not None or asked:
        with st.expander("Open other data"):
            if not asked:
                uploaders()
            gallery()
    where_data_are_kept()


def check_settings() -> None:
    """End a server with one sentence where a setting is wrong."""
    try:
        settings.check()
        asked = settings.number("CALIB_UPLOAD_MB")
        allowed = float(st.get_option("server.maxUploadSize"))
        if asked > allowed:  # Streamlit's server refuses what is larger before we see it
            raise ValueError(
                f"CALIB_UPLOAD_MB is {asked:g} and Streamlit takes {allowed:g}; "
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
