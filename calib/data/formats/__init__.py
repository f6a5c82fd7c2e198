"""Readers of one file format each; none of them runs or unpickles anything."""
