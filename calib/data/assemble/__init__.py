"""From arrays and the roles that they have to :class:`calib.data.Predictions`, by steps that say what they found.

A step takes values and what was chosen, and returns a :class:`calib.data.findings.Step`: its result, its findings and
the options that it inferred. Only ``calib.data.loading``, ``predictions``, ``parts`` and ``features`` collect these, in
:class:`calib.data.findings.Notes`.

- ``arrays`` reads outputs, labels and what else belongs to rows; ``join`` and ``parts`` put files together.
- ``labels`` says which column each label means, ``outputs`` what outputs are, ``predicted`` which answers are correct,
  ``beside`` what groups, clusters, weights and times are.
- ``checks`` looks at outputs with their labels, ``features`` at features and the training set.
- ``predictions`` has the steps in their order. ``top_k`` reads the largest logits of very many classes as pairs,
  ``unlabelled`` rows without labels, for a fitted calibrator.
"""
