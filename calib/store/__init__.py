"""State that survives a restart: data, fits and studies on disk by content, and the links that reopen a session."""
