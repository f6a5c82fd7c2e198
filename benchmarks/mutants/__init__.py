"""Uploads that are mutated in their structure: what a parser believes because its first checks pass."""
