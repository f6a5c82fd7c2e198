"""Damaged uploads in a seeded sequence, through the call that the app makes."""
