"""Scores of calibration in torchmetrics, MLflow, Inspect and lm-evaluation-harness, none of which calib needs."""
