"""Whether the app is configured as it can be, before anything else is drawn."""

from __future__ import annotations

import logging

import streamlit as st

from calib import settings

CAP = "server.maxUploadSize"
"""Streamlit's own limit of an upload, in MB of 2^20 bytes; its server refuses what is larger before we see it."""


def stop_unless_configured() -> None:
    """Where a setting is wrong, show the sentence that says so and nothing else."""
    try:
        settings.check()
        asked, allowed = settings.number("CALIB_UPLOAD_MB"), float(st.get_option(CAP))
        if asked > allowed:
            raise ValueError(
                f"CALIB_UPLOAD_MB is {asked:g} and Streamlit takes {allowed:g}; "
                "set STREAMLIT_SERVER_MAX_UPLOAD_SIZE too."
            )
    except ValueError as error:
        logging.getLogger("calib").error("%s", error)
        st.error(f"This server is not configured as it should be. {error}", icon=":material/settings_alert:")
        st.stop()
