"""One file per calibrator. Importing any of them loads NumPy alone; fitting imports what it needs."""
