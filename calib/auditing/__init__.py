"""The audit of held-out predictions: checks in the order in which an expert asks, their findings, and the verdict."""

from calib.auditing.findings import Audit, Finding
from calib.auditing.make import audit

__all__ = ["Audit", "Finding", "audit"]
