"""Geometric separation at the size of MNIST: separations per CPU second and memory.

    python -m benchmarks.geometry_speed [--quick]

The data are simulated: scikit-learn's 1,797 digits enlarged to 28 x 28, turned, sheared, scaled, shifted and with noise
until there are enough, and, without structure, normal noise. New inputs are made of other digits than the training set.
All in float32 and on one thread. Checking and centring the training set is part of the time.
"""

from __future__ import annotations

import argparse

import numpy as np

from benchmarks.measure import cost_of, in_fresh_process, machine, markdown, megabytes
from calib.calibrators.geometric import exact_separation, fast_separation
from calib.numerics import Floats, Ints

ROWS, INPUTS = 42_000, 2000
SIDE = 28
KINDS = {"fast": fast_separation, "exact": exact_separation}


def jittered(
    images: Floats, labels: Ints, n: int, generator: np.random.Generator
) -> tuple[Floats, Ints]:
    """Images (n, 784) in [0, 1] of small ones, each a little turned, sheared, scaled and shifted, with noise."""
    from scipy.ndimage import affine_transform, zoom

    enlarged = [zoom(np.pad(image, 1), SIDE / 10, order=1) for image in images]
    chosen = generator.integers(0, len(images), n)
    made = np.empty((n, SIDE * SIDE), np.float32)
    centre = np.full(2, (SIDE - 1) / 2)
    for i, j in enumerate(chosen):
        angle, shear = generator.normal(scale=0.15, size=2)
        scale = np.exp(generator.normal(scale=0.08, size=2))
        turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
        matrix = turn @ np.array([[1.0, shear], [0.0, 1.0]]) * scale
        offset = centre - matrix @ centre + generator.normal(size=2)
        image = affine_transform(enlarged[j], matrix, offset, order=1)
        made[i] = np.clip(
            image + generator.normal(scale=0.05, size=image.shape) * (image > 0.05), 0, 1
        ).ravel()
    return made, labels[chosen]


def lines_of(data: str, rows: int, inputs: int) -> list[list[str]]:
    """The lines of the table for one kind of data."""
    generator = np.random.default_rng(0)
    if data == "digits":
        from sklearn.datasets import load_digits

        digits = load_digits()
        train = generator.random(len(digits.target)) < 0.8
        sets = [
            jittered(digits.images[part] / 16, digits.target[part], n, generator)
            for part, n in ((train, rows), (~train, inputs))
        ]
    else:
        sets = [
            (
                generator.normal(size=(n, SIDE * SIDE)).astype(np.float32),
                generator.integers(0, 10, n),
            )
            for n in (rows, inputs)
        ]
    lines = []
    for kind, separation in KINDS.items():
        values, cost = cost_of(lambda: separation(*sets[0], *sets[1]))  # noqa: B023
        per_second, safe = len(values) / cost.cpu_seconds, np.mean(values > 0)
        lines.append([data, kind, f"{per_second:,.0f}", megabytes(cost.peak_bytes), f"{safe:.1%}"])
    return lines


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument(
        "--quick", action="store_true", help="a twentieth of the rows, to see that everything runs"
    )
    factor = 20 if parser.parse_args().quick else 1
    size = ROWS // factor, INPUTS // factor
    print(f"{machine()}\n\n{size[1]:,} inputs among {size[0]:,} x {SIDE * SIDE} float32\n")
    lines = [
        line for data in ("digits", "noise") for line in in_fresh_process(lines_of, data, *size)
    ]
    print(
        markdown(
            ["simulated", "separation", "per CPU s", "memory above the data", "safe"], lines, left=2
        )
    )


if __name__ == "__main__":
    main()
