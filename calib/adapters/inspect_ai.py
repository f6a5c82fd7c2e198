"""Scores of calibration with their intervals as a metric of Inspect."""

from __future__ import annotations

from collections.abc import Sequence

from inspect_ai.scorer import Metric, SampleScore, Value, metric, value_to_float

import calib


@metric
def calibration(confidence: str = "confidence") -> Metric:
    """Calibration of the confidence that stands in the metadata of a score, or else of its sample.

    A log then has ``ECE``, ``ECE_low``, ``ECE_high`` and so on; samples without a confidence are left out.

    Parameters
    ----------
    confidence : str, default "confidence"
        Name of the confidence in the metadata, a probability that the answer is correct.

    Returns
    -------
    Metric
        For ``metrics`` of a scorer, whose values are correct or incorrect.

    Examples
    --------
    A scorer reports it beside the accuracy::

        @scorer(metrics=[accuracy(), calibration()])
    """
    to_number = value_to_float()

    def measure(scores: Sequence[SampleScore]) -> Value:
        pairs = []
        for sample in scores:
            known = {**(sample.sample_metadata or {}), **(sample.score.metadata or {})}
            if known.get(confidence) is not None:
                pairs.append((float(known[confidence]), int(to_number(sample.score.value))))
        table = calib.scores(*zip(*pairs, strict=True), kind="pairs")
        return {
            f"{name}{end}": float(row[column])
            for name, row in table.iterrows()
            for column, end in (("value", ""), ("low", "_low"), ("high", "_high"))
        }

    return measure
