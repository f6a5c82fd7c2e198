"""What a Gaussian-process calibrator learned, as numbers a picture or a table can show."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from calib.numerics import Floats

Space = Literal["logits", "probs"]


@dataclass(frozen=True, eq=False)
class LatentCurve:
    """The latent function of GPcalib beside the identity and temperature scaling.

    ``softmax(g(z) + c) = softmax(g(z))`` for any constant c, so latents mean something only up to a shift:
    every curve here is shifted until it agrees with the prior mean on average over the calibration data
    (Wenger et al. 2020, section S3.7).

    Attributes
    ----------
    inputs : (n_points,) increasing; logits, or probabilities where ``space`` is "probs".
    mean, sd : (n_points,) posterior mean and standard deviation of the latent function.
    identity : (n_points,) the prior mean: what an uncalibrated model would have.
    temperature : (n_points,) the line z / T (ln p / T in probability space); None if no temperature was given.
    inducing_inputs : (n_inducing,) in increasing order.
    inducing_mean, inducing_sd : (n_inducing,) the latent function there.
    density_edges : (n_bins + 1,) edges of the two histograms.
    density_label : (n_bins,) counts of calibration inputs of the true class.
    density_other : (n_bins,) counts of the inputs of all other classes.
    space : what the kernel acts on.
    objective_trace : (n_iter,) the objective at each iteration of the fit, in nats; higher is better.
    title : how the curve is called in a legend.
    """

    inputs: Floats
    mean: Floats
    sd: Floats
    identity: Floats
    temperature: Floats | None
    inducing_inputs: Floats
    inducing_mean: Floats
    inducing_sd: Floats
    density_edges: Floats
    density_label: Floats
    density_other: Floats
    space: Space
    objective_trace: Floats
    title: str
