"""Processes that are thrown away read the files of strangers, and logs hold nobody's data."""
