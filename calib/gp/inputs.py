"""What the kernel acts on."""

from __future__ import annotations

from calib.numerics import Floats, log_softmax, softmax


def kernel_inputs(logits: Floats, space: str) -> tuple[Floats, Floats]:
    """Kernel inputs and the prior mean there: (z, z), or (p, ln p) where ``space`` is "probs"."""
    return (logits, logits) if space == "logits" else (softmax(logits), log_softmax(logits))
