"""The numbers of the Calibration maps page: every fit's map of one class, and how the test rows judge it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from calib.calibrators.bayes_iso import BayesIso
from calib.data.samples import true_map
from calib.diagnostics.calibration_maps import CalibrationMap, has_class_map, posterior_map, venn_abers_pair
from calib.diagnostics.class_rows import ClassRows, JudgedMap, Place, class_rows, judged_map, map_values
from calib.diagnostics.judgement import both_parts
from calib.formatting import class_in_words
from calib.jobs.protocol import Data
from calib.numerics import Floats, sigmoid
from calib.plots.annotations import short_names
from calib.plots.maps import MapPicture
from calib.registry import METHODS, variant_of
from calib.ui.fits import RAW, ShownFit, ready, rows_to_predict
from calib.ui.session import OpenSession, keep

_POINTS = 300


@dataclass(frozen=True)
class ClassMaps:
    """The maps of one class; numbers are computed once per class and fit, and pairs only where those are missing."""

    session: OpenSession
    target: int

    @property
    def name(self) -> str:
        """The class in words."""
        return class_in_words(self.session.data.name_of(self.target))

    @cached_property
    def rows(self) -> ClassRows:
        """Pairs of both parts, sorted and binned."""
        what, arrays = f"the log-odds of {self.name}", both_parts(self.session.calibration, self.session.test)
        data = Data(f"{self.session.split_key} both parts", arrays)
        return ready(("map rows", self.target), what, class_rows, self.target, data=data)

    def grid(self) -> Floats:
        """Log-odds at which maps are drawn: scores of the calibration rows and points evenly between them."""
        axis = self.rows.axes["log_odds"]
        scores = axis.scores[np.unique(np.linspace(0, len(axis.scores) - 1, _POINTS).astype(int))]
        return np.unique(np.concatenate([scores, np.linspace(*axis.limits, _POINTS)]))

    def curve(self, fit: ShownFit) -> Floats:
        """The fit's map at the grid."""
        return keep(("map curve", fit.key, self.target), lambda: map_values(fit.calibrator, self.grid(), self.target))

    def pair(self, fit: ShownFit) -> tuple[Floats, Floats] | None:
        """Venn-Abers' two probabilities at the grid; None for other methods."""
        key = ("map pair", fit.key, self.target)
        return keep(key, lambda: venn_abers_pair(fit.calibrator, self.grid(), self.target))

    def judged(self, fit: ShownFit) -> JudgedMap:
        """The fit's map against the test rows."""
        key, what = ("map judged", fit.key, self.target), f"the map of {fit.title} on the test rows"
        given, data = (
            (fit.calibrator, self.target, self.rows.frequencies),
            rows_to_predict(self.session, fit.calibrator),
        )
        return ready(key, what, judged_map, *given, data=data)

    def posterior(self, fit: ShownFit) -> CalibrationMap | None:
        """What a Bayes-Iso knows about the map; None for other methods and where it learned nothing."""
        if not isinstance(fit.calibrator, BayesIso):
            return None
        return keep(("map posterior", fit.key, self.target), lambda: posterior_map(fit.calibrator, self.target))

    def picture(self, kind: Place) -> MapPicture:
        """What all maps share."""
        grid, rows, cells = self.grid(), self.rows, self.rows.cells[kind]
        return MapPicture(
            self.name, rows.axes[kind], grid, rows.frequencies, "test", cells.edges, cells.inside, cells.others,
            self._truth(grid),
        )  # fmt: skip

    def _truth(self, log_odds: Floats) -> Floats | None:
        name = self.session.sample
        true = true_map(name) if name is not None else None
        if true is None:
            return None
        return true(sigmoid(log_odds)) if self.target == 1 else 1 - true(sigmoid(-log_odds))


def has_map(fit: ShownFit, target: int) -> bool:
    """Whether a class's probability depends on its own log-odds alone, before normalisation; the raw model's does."""
    return fit.key == RAW or has_class_map(fit.calibrator, target)


def map_names(fits: list[ShownFit]) -> dict[str, str]:
    """Names by key, short enough to stand beside a line: the method, and what tells it from others of the method."""
    names: dict[str, str] = {}
    for method in dict.fromkeys(fit.method for fit in fits):
        same, title = [fit for fit in fits if fit.method == method], METHODS[method].title
        if len(same) == 1:
            names[same[0].key] = title
            continue
        variants = [variant_of(fit.calibrator, fit.calibrator.n_classes_) for fit in same]
        plain = [variant.replace("platt_correction=True", "corrected") for variant in variants]
        for fit, short in zip(same, short_names(title, plain), strict=True):
            names[fit.key] = short if short == title else f"{title} {short}"
    return names
