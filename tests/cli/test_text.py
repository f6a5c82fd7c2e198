"""Sentences of the command line."""

from __future__ import annotations

import numpy as np

from calib.cli.text import gap_sentence, judged_raw
from calib.data import Predictions


def test_a_gap_that_chance_explains_is_called_so():
    generator = np.random.default_rng(0)
    risk = generator.random(400)
    happened = (generator.random(400) < risk).astype(int)
    logits = np.stack([np.zeros(400), np.log(risk) - np.log1p(-risk)], axis=1)
    even = gap_sentence(judged_raw(Predictions(logits, happened, ("no", "yes"))))
    assert "significantly (gap " in even and "95 %: " in even
    raised = gap_sentence(judged_raw(Predictions(logits + np.array([0.0, 2.0]), happened, ("no", "yes"))))
    assert "confident by " in raised and "significantly" not in raised
