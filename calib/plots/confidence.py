"""Pictures of over- and underconfidence: how sure the model is where it is wrong, how unsure where it is right."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import plotly.graph_objects as go

from calib.numerics import Floats
from calib.plots.style import Style

Scale = Literal["linear", "logit"]


@dataclass(frozen=True)
class Estimate:
    """A number with its interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class OverUnder:
    """Overconfidence E[confidence | wrong] and underconfidence E[1 - confidence | right] of one method.

    ``over`` or ``under`` is None where no row is wrong, or none right.
    """

    title: str
    style: Style
    over: Estimate | None
    under: Estimate | None


@dataclass(frozen=True, eq=False)
class ConfidenceDensities:
    """Histograms of the confidence of right and of wrong predictions.

    Attributes
    ----------
    edges : (m + 1,) in probability.
    right, wrong : (m,) counts.
    """

    edges: Floats
    right: Floats
    wrong: Floats


@dataclass(frozen=True)
class TheoremChain:
    """|o P(wrong) - u P(right)| <= ECE_1 <= ECE_2 <= ECE_inf of one method (Wenger et al. 2020, theorem 1)."""

    title: str
    style: Style
    gap: float
    ece_1: float
    ece_2: float
    ece_inf: float


def over_under_chart(rows: Sequence[OverUnder], title: str = "") -> go.Figure:
    """Overconfidence and underconfidence of each method: one row each, two dots with their intervals."""
    raise NotImplementedError


def confidence_densities(
    densities: ConfidenceDensities, style: Style, scale: Scale = "linear", title: str = "", height: int = 260
) -> go.Figure:
    """Confidence of right predictions upwards and of wrong ones downwards, each as a share of its own group."""
    raise NotImplementedError


def theorem_chain(chains: Sequence[TheoremChain], title: str = "") -> go.Figure:
    """The bound of theorem 1: four dots in a row per method, never one to the left of the one before."""
    raise NotImplementedError


def per_class_chart(
    class_names: Sequence[str], gaps: Floats, counts: Floats, style: Style, n: int = 10, title: str = ""
) -> go.Figure:
    """Mean confidence minus accuracy of each class, sorted; the ``n`` at either end where there are many.

    Parameters
    ----------
    gaps : (n_classes,) above zero is overconfident; NaN for a class without rows, which is left out.
    counts : (n_classes,) rows behind each gap.
    """
    raise NotImplementedError
