"""Interpretation: which array or column is what, and the data set that they make.

- Which arrays are outputs, labels, features: ``array_roles`` (by name, shape and type), with the words of ``names``.
- Which columns of a table: ``tables`` takes what :mod:`calib.data.guess` is clear about, or asks. ``predicted``
  compares a column of predicted classes with the outputs.
- Several files: ``parts``, ``join``. Largest logits only: ``top_k``. Confidences in words: ``verbal``.
- Values: ``reading`` reads the arrays, ``label_values`` says which class each label means, ``kinds`` and ``scale`` tell
  logits from probabilities, ``roles`` and ``features`` check what else belongs to rows.
- ``pipeline`` checks everything together and makes :class:`calib.data.Predictions`; ``unlabelled`` reads rows without
  labels, for a fitted calibrator.
"""
