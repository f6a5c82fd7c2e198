"""Server for several visitors beside Streamlit: who may connect, and what each of them may take.

No page needs this package to be right. It knows nothing of calibration, and imports nothing from the rest of
``calib.ui``. Memory and processors of the whole are for the container to limit; docs/running.md says how.
"""
