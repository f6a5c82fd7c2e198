"""Scores of calibration in tools that evaluate models already: torchmetrics and MLflow, which calib does not need."""
