"""Calibrators, one file or package each; importing one loads NumPy alone."""
