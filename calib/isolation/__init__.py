"""Uploads are parsed in short-lived processes with limits; logs hold no data."""
