"""Readers: one file format each, none of which runs or unpickles anything."""
