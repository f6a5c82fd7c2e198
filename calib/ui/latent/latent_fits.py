"""The GPcalib fits the Latent GP page shows, with what is computed for each once."""

from __future__ import annotations

from dataclasses import dataclass

from calib.calibrators.gpcalib import GPCalib
from calib.calibrators.temperature import TemperatureScaling
from calib.data.samples import true_latent, true_map
from calib.diagnostics.effect_summary import EffectCurve, effect_curve
from calib.diagnostics.latent import LatentCurve, latent_curve
from calib.diagnostics.latent_baseline import RivalCurve, rival_curve
from calib.diagnostics.latent_effect import ConfidenceEffect, confidence_effect
from calib.diagnostics.truth import Truth
from calib.plots.axes import Scale
from calib.plots.overlay import overlay_styles, short_names
from calib.plots.style import Style
from calib.registry import METHODS
from calib.ui.fits import ShownFit
from calib.ui.session import keep, session


@dataclass(frozen=True)
class LatentFit:
    """A fit as this page draws it: ``name`` is short enough to stand beside a line, ``style`` a shade of its colour."""

    fit: ShownFit
    gp: GPCalib
    name: str
    style: Style
    temperature: float | None

    def curve(self) -> LatentCurve:
        """The latent function over the calibration set."""
        part = session().calibration
        assert part is not None
        return keep(
            ("latent", self.fit.key, self.temperature),
            lambda: latent_curve(self.gp, part.logits, part.labels, self.temperature, _truth()),
        )

    def rival(self, scale: Scale) -> RivalCurve:
        """What it does to a probability."""
        part = session().calibration
        assert part is not None
        return keep(
            ("rival", self.fit.key, self.temperature, scale),
            lambda: rival_curve(self.gp, part.logits, part.labels, self.temperature, _truth(), scale),
        )

    def effect(self) -> ConfidenceEffect:
        """What it does to the confidence of the test rows."""
        part = session().test
        assert part is not None
        return keep(
            ("effect", self.fit.key, self.temperature),
            lambda: confidence_effect(self.gp, part.logits, part.labels, self.temperature, _truth()),
        )

    def effect_curve(self, scale: Scale) -> EffectCurve:
        """The same in bins."""
        return keep(("effect curve", self.fit.key, self.temperature, scale), lambda: effect_curve(self.effect(), scale))


def latent_fits(everything: list[ShownFit]) -> list[ShownFit]:
    """Those of the fits that have a latent function."""
    return [fit for fit in everything if isinstance(fit.calibrator, GPCalib)]


def prepared(chosen: list[ShownFit], everything: list[ShownFit]) -> list[LatentFit]:
    """The chosen fits with short names and shades, and the temperature of the first scaling that is fitted."""
    scalings = (fit.calibrator for fit in everything)
    temperature = next((float(c.temperature_) for c in scalings if isinstance(c, TemperatureScaling)), None)
    # Behind the title stands what tells a fit from others; see calib.ui.fits.title_of.
    variants = [fit.title.removeprefix(METHODS["gpcalib"].title).strip(" ()") for fit in chosen]
    names = short_names(METHODS["gpcalib"].title, variants)
    styles = overlay_styles([fit.style for fit in chosen])
    return [
        LatentFit(fit, fit.calibrator, name, style, temperature)
        for fit, name, style in zip(chosen, names, styles, strict=True)
        if isinstance(fit.calibrator, GPCalib)
    ]


def _truth() -> Truth | None:
    name = session().sample
    if name is None:
        return None
    latent, true = true_latent(name), true_map(name)
    return Truth(latent, true) if latent or true else None
