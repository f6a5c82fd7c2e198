"""Numbers printed in Chouraqui et al. (2023) for MNIST, and those of another implementation on digits."""

from __future__ import annotations

PAPER_MODELS = {"random forest": "RF", "gradient boosting": "GB", "MLP": "CNN"}
"""The paper's classifier that stands beside each of ours."""

TABLE_1: dict[str, tuple[float, float, float]] = {
    "CNN": (0.17, 0.18, 0.08),
    "GB": (0.28, 0.36, 0.37),
    "RF": (0.37, 0.39, 0.37),
}
"""ECE in percent of fast separation by L1, L2 and Linf."""

TABLE_3_METHODS = (
    "isotonic",
    "Platt",
    "scaling-binning",
    "histogram, 7 full",
    "BBQ",
    "beta",
    "temperature",
    "ensemble temperature",
)
TABLE_3: dict[str, tuple[float, ...]] = {
    "CNN": (11.8, 71.2, 98.3, 53.1, 31.8, 76.6, 25.0, 25.0),
    "RF": (62.0, 76.5, 91.1, 23.9, 69.0, 5.4),
    "GB": (80.5, 82.7, 96.0, 24.4, 47.7, 27.7),
}
"""By how many percent the ECE of fast separation is below that of each method; only the CNN has the last two."""

DIGITS_METHODS = (
    "uncalibrated",
    "fast",
    "exact",
    "fast + sigmoid",
    "isotonic",
    "Platt",
    "beta",
    "temperature",
    "histogram, 7 full",
)
DIGITS: dict[str, tuple[float, ...]] = {
    "random forest": (23.1, 1.1, 1.25, 1.23, 1.71, 2.02, 1.8, 2.06, 1.26),
    "gradient boosting": (1.92, 0.89, 0.99, 1.31, 2.03, 2.55, 1.92, 2.08, 1.3),
    "MLP": (2.21, 0.95, 1.06, 1.28, 2.07, 3.01, 2.46, 2.25, 1.35),
}
"""ECE in percent on scikit-learn's digits, means of 10 shuffles; standard errors are 0.1 to 0.3."""

DIGITS_REDUCTIONS: dict[str, tuple[float, float]] = {
    "mean_pool": (1.69, 2.02),
    "max_pool": (2.05, 2.79),
    "bilinear": (2.02, 2.4),
    "pca": (1.03, 1.74),
    "random_pixels": (1.87, 2.5),
    "kmeans": (1.53, 1.63),
    "random_set": (1.96, 2.13),
}
"""The same of the random forest with t = 2 and 4."""
