"""Which column of a table is what: a role and a reason for each, or the question which reading is meant.

``columns`` looks at names and values, ``outputs`` finds columns that belong together,
``direction`` tells of which class one column speaks, ``rules`` has the rules in the order they apply, ``beside`` gives
the other columns their roles.
"""
