"""Guess the role of each column or array, with a reason, or the question which reading is meant.

``columns`` gives each column its meaning by name and values, ``outputs`` finds columns that belong together,
``direction`` tells which class one column is the probability of, ``reading`` ranks one way to read a table, ``table``
takes the likeliest one, ``metadata`` gives the other columns their roles, ``question`` asks where several readings are
plausible. ``arrays`` names the arrays of a file, ``files`` says what each file of an upload holds.
"""
