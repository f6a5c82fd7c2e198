"""Everything of Streamlit: session, shell around every page, widgets, and one package for each page."""
