"""The only importer of Streamlit: session state, the shell around every page, and shared widgets."""
