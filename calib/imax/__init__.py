"""I-Max binning: bins of log-odds that keep as much as possible of what they say about the label.

Patel et al., Multi-Class Uncertainty Calibration via Mutual Information Maximization-based Binning, 2020. All
information is in nats; what a person reads is converted where it is shown.
"""
