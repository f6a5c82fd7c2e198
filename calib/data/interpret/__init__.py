"""Interpretation: which array or column is what, and the data set that they make.

- Which arrays are outputs, labels, features: ``array_roles`` (by name, shape and type), with the words of ``names``.
- Which columns of a table: ``tables`` takes the reading that is clearly meant, or asks. ``evidence`` judges columns by
  names (``vocabulary``) and values, ``families`` finds columns that belong together, ``readings`` lists what a table
  may mean; ``predicted``, ``direction`` and ``beside`` take other columns.
- Several files: ``parts``, ``join``. Largest logits only: ``top_k``. Confidences in words: ``verbal``.
- Values: ``reading`` reads the arrays, ``label_values`` says which class each label means, ``kinds`` and ``scale`` tell
  logits from probabilities, ``roles`` and ``features`` check what else belongs to rows.
- ``pipeline`` checks everything together and makes :class:`calib.data.Predictions`; ``unlabelled`` reads rows without
  labels, for a fitted calibrator.
"""
