"""Numbers printed in Patel et al. (2020) for CIFAR-100: its Wide ResNet, another one than the outputs that are here."""

from __future__ import annotations

NETWORK = "Wide ResNet, CIFAR-100"

Printed = tuple[float, float, float]
"""Top-1 accuracy in percent, class-wise ECE above 1/K, top-1 ECE."""

CIFAR_100: dict[str, Printed] = {
    "Baseline": (81.35, 0.1113, 0.0748),
    "TS": (81.35, 0.0911, 0.0511),
    "GP": (81.34, 0.1074, 0.0358),
    "I-Max": (81.30, 0.0518, 0.0231),
    "I-Max w. TS": (81.34, 0.0510, 0.0365),
    "I-Max w. GP": (81.34, 0.0559, 0.0179),
    "Beta, CW": (81.02, 0.1066, 0.0638),
    "Beta, sCW": (81.35, 0.0942, 0.0357),
    "I-Max w. Beta": (81.34, 0.0508, 0.0161),
    "Isotonic, CW": (80.62, 0.0989, 0.0785),
    "Isotonic, sCW": (81.30, 0.0602, 0.0257),
    "I-Max w. Isotonic": (81.34, 0.0515, 0.0212),
    "Platt, CW": (81.31, 0.0923, 0.1035),
    "Platt, sCW": (81.35, 0.0816, 0.0462),
    "I-Max w. Platt": (81.34, 0.0511, 0.0323),
}
"""Tables 2 and 3, by row; the paper gives no spread, and prints the other tables for ImageNet alone."""
