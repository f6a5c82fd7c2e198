"""Numbers printed in Wenger et al. (2020), and what the authors' code gives where the paper prints none.

Columns are as in the paper. A value is a mean over 10 Monte-Carlo cross-validation folds; the second number is the
standard deviation.
"""

from __future__ import annotations

METHODS = ("Uncal.", "Platt", "Isotonic", "Beta", "BBQ", "Temp.", "GPcalib", "GPcalib mean")

_TABLE_S3 = """
AdaBoost      .4301 .0182±.0018 .0134±.0021 .0180±.0016 .0190±.0055 .0185±.0017 .0192±.0018 .0187±.0014
XGBoost       .0434 .0198±.0019 .0114±.0026 .0178±.0015 .0184±.0038 .0204±.0009 .0186±.0017 .0181±.0018
Random_Forest .0768 .0147±.0027 .0135±.0030 .0159±.0027 .0652±.0469 .0126±.0020 .0182±.0032 .0135±.0026
1_layer_NN    .0153 .0285±.0034 .0121±.0043 .0174±.0026 .0178±.0056 .0280±.0015 .0156±.0020 .0157±.0020
"""

_TABLE_S2 = """
AdaBoost      .9463 .9499±.0009 .9497±.0006 .9499±.0009 .9444±.0072 .9463±.0006 .9465±.0005 .9463±.0006
XGBoost       .9674 .9673±.0007 .9660±.0017 .9671±.0011 .9640±.0043 .9674±.0006 .9675±.0006 .9674±.0006
Random_Forest .9639 .9628±.0011 .9616±.0017 .9625±.0017 .8922±.0055 .9639±.0007 .9637±.0007 .9639±.0007
1_layer_NN    .9620 .9644±.0007 .9684±.0012 .9684±.0009 .9647±.0060 .9620±.0006 .9620±.0006 .9620±.0006
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
"""Table S3, KITTI with two classes: ECE_1 with 100 bins. Mondrian forests and PCam are left out."""

KITTI_ACCURACY = _parse(_TABLE_S2)
"""Table S2, KITTI with two classes."""

CIFAR_100_ECE = _parse(_TABLE_S5)
"""Table S5, CIFAR-100: the paper's WideResNet, whose accuracy was .8183."""

KITTI_8_NLL = {
    "XGBoost": {
        "Uncal.": 1.179, "Platt": 0.3426, "Isotonic": 0.3927, "Beta": 0.2929, "Temp.": 0.387, "GPcalib": 1.1499,
    },
    "Random Forest": {
        "Uncal.": 1.3473, "Platt": 0.334, "Isotonic": 0.3989, "Beta": 0.3338, "Temp.": 0.3551, "GPcalib": 1.3995,
    },
    "1 layer NN": {
        "Uncal.": 1.1964, "Platt": 0.3404, "Isotonic": 0.4048, "Beta": 0.2984, "Temp.": 0.3981, "GPcalib": 1.1808,
    },
}  # fmt: skip
"""KITTI with eight classes: the paper prints no table; NLL from a run of the authors' code over 5 folds, zeros kept."""

SECONDS = {
    "fit": {
        "platt": (0.0017, 0.0245, 0.3181, 3.0911), "isotonic": (0.0004, 0.0055, 0.0602, 0.9436),
        "beta": (0.0032, 0.0478, 0.2052, 2.2291), "bbq": (0.0994, 0.8589, 9.0458, 61.3060),
        "temperature": (0.0053, 0.0129, 0.0277, 0.3395), "gpcalib": (1.0517, 2.2112, 20.6564, 259.7305),
    },
    "predict": {
        "platt": (0.0002, 0.0043, 0.1276, 8.3651), "isotonic": (0.0003, 0.0046, 0.1269, 8.3005),
        "beta": (0.0022, 0.1126, 0.3202, 12.7822), "bbq": (0.1334, 1.5180, 14.8716, 113.6108),
        "temperature": (0.0006, 0.0026, 0.0210, 0.2369), "gpcalib": (0.1625, 0.2610, 2.4482, 51.3806),
    },
}  # fmt: skip
"""Table S1: wall-clock seconds at 2, 10, 100 and 1000 classes (KITTI, MNIST, CIFAR-100, ImageNet), with a 12-core
desktop and a graphics card; the binary methods one against the rest."""
