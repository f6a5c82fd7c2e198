"""Numbers printed in Wenger et al. (2020).

Columns are as in the paper. A value is a mean over 10 Monte-Carlo cross-validation folds; the second number is the
standard deviation.
"""

from __future__ import annotations

METHODS = ("Uncal.", "Platt", "Isotonic", "Beta", "BBQ", "Temp.", "GPcalib", "GPcalib mean")

_TABLE_S3 = """
XGBoost       .0434 .0198±.0019 .0114±.0026 .0178±.0015 .0184±.0038 .0204±.0009 .0186±.0017 .0181±.0018
Random_Forest .0768 .0147±.0027 .0135±.0030 .0159±.0027 .0652±.0469 .0126±.0020 .0182±.0032 .0135±.0026
1_layer_NN    .0153 .0285±.0034 .0121±.0043 .0174±.0026 .0178±.0056 .0280±.0015 .0156±.0020 .0157±.0020
"""

_TABLE_S5 = """
WideResNet    .0664 .0838±.0056 .0661±.0040 .0539±.0031 .0384±.0046 .0444±.0030 .0283±.0027 .0246±.0027
"""

Printed = dict[str, dict[str, tuple[float, float | None]]]
"""``{model: {method: (mean, standard deviation or None)}}``."""


def _parse(table: str) -> Printed:
    parsed: Printed = {}
    for line in table.split("\n")[1:-1]:
        model, *cells = line.split()
        values = [cell.split("±") for cell in cells]
        pairs = [(float(mean), float(spread[0]) if spread else None) for mean, *spread in values]
        parsed[model.replace("_", " ")] = dict(zip(METHODS, pairs, strict=True))
    return parsed


KITTI_ECE = _parse(_TABLE_S3)
"""Table S3, KITTI with two classes: ECE_1 with 100 bins. AdaBoost, Mondrian forests and PCam are left out."""

CIFAR_100_ECE = _parse(_TABLE_S5)
"""Table S5, CIFAR-100: the paper's WideResNet, whose accuracy was .8183."""
