"""A page for each score: what its definition declares, its formula, its conventions and who uses which."""

from __future__ import annotations

import inspect
import math
from dataclasses import dataclass

from calib import metrics
from calib.evaluation import SCORES, Score
from calib.evaluation.score_registry import EVENT_RATE
from calib.metrics.calibration_error import classwise_ece
from calib.metrics.scoring_rules import sharpness
from site_builder.docstrings import markdown
from site_builder.methods import formula


@dataclass(frozen=True)
class ScorePage:
    """The scores that one function of :mod:`calib.metrics` computes.

    Attributes
    ----------
    keys : of :data:`calib.evaluation.SCORES`.
    formula : in LaTeX; p is a probability, y whether it came true, c the confidence in the predicted class.
    conventions : what others compute under the same name, and who.
    """

    keys: tuple[str, ...]
    formula: str
    conventions: str


PAGES = {
    "nll": ScorePage(
        ("NLL",),
        r"-\frac{1}{n} \sum_i \ln p_{i, y_i}",
        "Natural logarithms and a mean over rows, as in Guo et al. (2017) and most of deep learning, where it is "
        "the cross-entropy; scikit-learn and risk models call it log loss. Forecasters use bits or the sum, R's "
        "deviance is twice the sum. Here probabilities below 1e-15 count as 1e-15; scikit-learn clips at the "
        "precision of the numbers given, 2.2e-16 for doubles.",
    ),
    "brier": ScorePage(
        ("Brier",),
        r"\frac{1}{n} \sum_i \sum_k (p_{ik} - y_{ik})^2",
        "Brier's own sum over all classes (1950), from 0 to 2, for more than two classes; for two classes half of it, "
        "the squared error of the event's probability, from 0 to 1. So has scikit-learn, and risk models and papers "
        "on binary calibration mean the second.",
    ),
    "accuracy": ScorePage(
        ("accuracy",),
        r"\frac{1}{n} \sum_i 1[\arg\max_k p_{ik} = y_i]",
        "Where two classes have the same probability the larger raw logit decides, so that a calibrator with steps "
        "is not judged by the order of the classes; scikit-learn and NumPy take the lower class.",
    ),
    "top_k_accuracy": ScorePage(
        ("top-5 accuracy",),
        r"\frac{1}{n} \sum_i 1[y_i \in \mathrm{top}_k(p_i)]",
        "ImageNet's usual k is 5. Ties are broken as for the accuracy; scikit-learn's `top_k_accuracy_score` counts "
        "by the order of the classes.",
    ),
    "auroc": ScorePage(
        ("AUROC",),
        r"P(p_i > p_j) + \tfrac{1}{2} P(p_i = p_j), \quad y_i = 1, y_j = 0",
        "Also called AUC and, of two outcomes, the c statistic. Equal probabilities count half, as in scikit-learn and "
        "R's pROC. The panel of a risk model has its interval in closed form.",
    ),
    "average_precision": ScorePage(
        ("average precision",),
        r"\sum_k (R_k - R_{k-1}) P_k",
        "As scikit-learn's `average_precision_score`: steps, not straight lines between the points of the "
        "precision-recall curve, which would be too high (Davis and Goadrich 2006).",
    ),
    "ece": ScorePage(
        ("ECE",),
        r"\sum_b \frac{n_b}{n} \left| \bar c_b - \bar y_b \right|",
        "Guo et al. (2017) and most papers on networks after them take 15 bins of equal width and the predicted "
        "class; TorchMetrics has the same default. Naeini et al. (2015), who named it, and R's CalibratR take 10. "
        "Bins of equal counts are those of Nguyen and O'Connor (2015); the tables of Wenger et al. (2020) have 100 "
        "bins that divide [1/K, 1], and their centres in place of the mean confidence. Numbers under different bins "
        "must not be compared, and all are above 0 for a calibrated model. Every page shows the one with 15 bins; of "
        "an event it is that of its probability, called *ECE of P(event)*. `of='top'` is the other one.",
    ),
    "classwise_ece": ScorePage(
        ("class-wise ECE above 1/K",),
        r"\frac{1}{K} \sum_k \sum_b \frac{n_{kb}}{n} \left| \bar p_{kb} - \bar y_{kb} \right|",
        "Kull et al. (2019); Nixon et al. (2019) call it static calibration error (SCE). Patel et al. (2020) leave "
        "out probabilities below 1/K, because with many classes nearly all are about 0. Some papers print the sum "
        "over classes in place of the mean. Compare, reports and `calib.scores` show the one above 1/K where there are "
        "more than two classes. Its interval reaches down by what noise alone gives.",
    ),
    "smooth_ece": ScorePage(
        (),
        r"\sigma = \int_0^1 \left| \frac{1}{n} \sum_i K_\sigma(t, c_i) (y_i - c_i) \right| dt",
        "Błasiok and Nakkiran (2023), who show that it is near the distance from calibration, which no error in bins "
        "is. The number is that of their package relplot, to 0.0005 on the data of the tests. Rows at exactly 0 or 1, "
        "and in part those within 0.001 of them, count half there and so here. On networks with many such "
        "confidences the integral itself is lower: 0.054 in place of 0.077 on a network for CIFAR-10.",
    ),
    "debiased_ece": ScorePage(
        (),
        r"\sqrt{\max\left(0, \sum_b \frac{n_b}{n} \left[ (\bar c_b - \bar y_b)^2"
        r" - \frac{\bar y_b (1 - \bar y_b)}{n_b - 1} \right]\right)}",
        "The debiased L2 estimate of Kumar, Liang and Ma (2019), in 15 bins of equal mass. Their package "
        "uncertainty-calibration gives the same with `p=2, debias=True, num_bins=15`; what it gives for `p=1` is drawn "
        "at random. An L2 error is at least the L1 error of the same bins, so it must not be compared with an ECE.",
    ),
    "confidence_gap": ScorePage(
        ("gap", "signed gap"),
        r"\left| \bar c - \bar y \right|",
        "The left side of Theorem 1 in Wenger et al. (2020). Risk models tell the same as a ratio, O:E ([risk "
        "models](../risk_models.md)).",
    ),
    "overconfidence": ScorePage(
        ("overconfidence",),
        r"E[c \mid \text{wrong}]",
        "Wenger et al. (2020), section 2.2. Others call mean confidence minus accuracy overconfidence: that is the "
        "confidence gap with its sign.",
    ),
    "underconfidence": ScorePage(
        ("underconfidence",),
        r"E[1 - c \mid \text{right}]",
        "Wenger et al. (2020), section 2.2. Calibration trades it against overconfidence; neither is 0 for a "
        "calibrated model that errs.",
    ),
    "sharpness": ScorePage(
        ("sharpness",),
        r"\frac{1}{n} \sum_i (c_i - \bar c)^2",
        "The variance of the confidence. Forecasters mean by sharpness how narrow a forecast is (Gneiting et al. "
        "2007); others take the mean confidence or the entropy.",
    ),
    "corp": ScorePage(
        (),
        r"S(c, y) = \underbrace{S(c, y) - S(\hat c, y)}_{\text{miscalibration}}"
        r" - \underbrace{(S(\bar y, y) - S(\hat c, y))}_{\text{discrimination}}"
        r" + \underbrace{S(\bar y, y)}_{\text{uncertainty}}",
        "Dimitriadis, Gneiting and Jordan (2021), with the isotonic fit in the place of bins; their R package "
        "`reliabilitydiag` has the Brier score. Murphy (1973) calls the terms reliability, resolution and "
        "uncertainty and takes the distinct forecasts, others bins, where the terms do not add up exactly.",
    ),
}
"""By the function."""
PARTS = {
    "classwise_ece": (classwise_ece, '`calib.ece(probs, labels, of="classwise")`'),
    "sharpness": (sharpness, "`calib.scores(probs, labels)`"),
}
"""Scores whose functions are not public, with the call that gives them."""
TITLES = {
    "corp": "CORP decomposition",
    "classwise_ece": "Class-wise ECE",
    "smooth_ece": "Smooth ECE",
    "debiased_ece": "Debiased ECE",
}
"""Of pages of several scores, and of functions that are not among those that Compare shows."""

assert set(SCORES) == {EVENT_RATE, *(key for page in PAGES.values() for key in page.keys)}, (
    "a score has no page"
)


def menu() -> list[dict[str, str]]:
    """Entries of the menu."""
    return [
        {"All scores": "scores/index.md"},
        *({_title(name): f"scores/{name}.md"} for name in PAGES),
    ]


def pages() -> dict[str, str]:
    """Text by path."""
    return {"scores/index.md": _overview(), **{f"scores/{name}.md": _page(name) for name in PAGES}}


def _title(name: str) -> str:
    return TITLES.get(name) or SCORES[PAGES[name].keys[0]].title


def _overview() -> str:
    by_key = {key: name for name, page in PAGES.items() for key in page.keys}
    rows = [
        f"| {f'[{s.title}]({by_key[key]}.md)' if key in by_key else s.title} | {s.meaning} | {s.better} |"
        for key, s in SCORES.items()
    ]
    return "\n".join([
        "# Scores\n",
        "What Compare, the report, exports and `compare --csv` show. A page says how a score is computed, what others "
        "compute under the same name, and who uses which. Which differences are claimed, and from which size on: "
        "[what the verdicts mean](../guide/compare.md#what-the-verdicts-mean). "
        "Two classes have scores of the event's probability too: "
        "[the event](../guide/compare.md#two-classes-the-event). The measures of a risk model, with their conventions: "
        "[risk models](../risk_models.md).\n",
        "| score | what it says | better |",
        "|---|---|---|",
        *rows,
    ])  # fmt: skip


def _page(name: str) -> str:
    page = PAGES[name]
    # What comes before the sections of the docstring; the whole stands in the reference.
    function, call = PARTS.get(name) or (
        getattr(metrics, name),
        f"[`calib.metrics.{name}`](../api/calib.metrics.md#calib.metrics.{name})",
    )
    words = (inspect.getdoc(function) or "").partition("\nParameters\n")[0]
    return "\n\n".join([
        f"# {_title(name)}",
        "\n".join(f"- **{SCORES[key].title}**: {SCORES[key].meaning}" for key in page.keys),
        formula(page.formula),
        "## Conventions, and who uses which",
        page.conventions,
        "## How it is computed here",
        markdown(words),
        f"Parameters and errors: {call}.",
        *(["## How differences are judged"] if page.keys else []),
        "\n".join(["| score | better | range | smallest relevant difference | claimed |", "|---|---|---|--:|---|",
                   *(_row(SCORES[key]) for key in page.keys)]) if page.keys else "",
    ])  # fmt: skip


def _row(score: Score) -> str:
    high = "no bound" if math.isinf(score.high) else f"{score.high:.3g}"
    claimed = "yes" if score.claims else "no: shown with its interval"
    relevant = score.unit.amount(score.relevant)
    return (
        f"| {score.title} | {score.better} | {score.low:.3g} to {high} | {relevant} | {claimed} |"
    )
