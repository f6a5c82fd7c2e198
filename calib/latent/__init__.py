"""What a Gaussian-process calibrator learned, as numbers that a picture, a sentence or a table can show."""

from calib.latent.changes import Departure, GroupChange, changes, departure
from calib.latent.curve import LatentCurve, latent_curve
from calib.latent.effect import ConfidenceEffect, confidence_effect
from calib.latent.effect_summary import EffectCurve, EffectNear, effect_curve, effect_near
from calib.latent.inducing import InducingPoints
from calib.latent.rival import RivalCurve, rival_curve
from calib.latent.truth import Truth

__all__ = [
    "ConfidenceEffect",
    "Departure",
    "EffectCurve",
    "EffectNear",
    "GroupChange",
    "InducingPoints",
    "LatentCurve",
    "RivalCurve",
    "Truth",
    "changes",
    "confidence_effect",
    "departure",
    "effect_curve",
    "effect_near",
    "latent_curve",
    "rival_curve",
]
