"""Build :class:`calib.data.Predictions` from a table or arrays and the roles of their columns.

Plain functions in a line, each of which returns its result and its findings; none guesses a role.

- ``part`` reads outputs, labels and what else has one entry per row.
- ``labels`` decodes labels, ``outputs`` finds kind and scale, ``rows`` converts groups, clusters, weights and times,
  ``features`` checks features and the training set, ``checks`` looks at outputs with their labels.
- ``predictions`` calls them in their order.
"""
