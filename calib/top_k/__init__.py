"""Outputs of very many classes, as language models give them: the k largest logits and the log-sum of the others."""

from __future__ import annotations

from calib.top_k.bounds import log_partition_bounds
from calib.top_k.outputs import Groups, TopK, TopKProbs

__all__ = ["Groups", "TopK", "TopKProbs", "log_partition_bounds"]
