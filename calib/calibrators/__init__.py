"""Calibrators, one file or package each. Importing any of them loads NumPy alone."""
