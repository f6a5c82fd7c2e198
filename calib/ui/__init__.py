"""Streamlit code: session, the shell around every page, widgets, and one package for each page."""
