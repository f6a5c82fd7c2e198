"""Pictures: a small frozen dataclass in, a plotly figure out. Nothing is computed here but layout."""
