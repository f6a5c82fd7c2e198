"""Geometric separation at the size of MNIST: separations per CPU second and memory, beside the definition.

    python -m benchmarks.geometry_speed [--quick]

The data are simulated. "digits": scikit-learn's 1,797 digits enlarged to 28 x 28, turned, sheared, scaled, shifted and
with noise until there are enough; new inputs are made of other digits than the training set, and 3 % of the predicted
classes are drawn anew. "unstructured": normal noise with labels and predicted classes that know nothing of it.
All in float32 and on one thread. Checking and centring the training set is part of the time.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from benchmarks.measure import bytes_after_imports, cost_of, in_fresh_process, machine, markdown, megabytes
from calib.calibrators.geometric import exact_separation, fast_separation
from calib.numerics import Floats, Ints

ROWS = 42_000
INPUTS = 2000
DEFINITION_INPUTS = 3
SIDE = 28
WRONG = 0.03
DATA = ("digits", "unstructured")
BY = {
    "fast, L2": fast_separation,
    "exact": exact_separation,
    "fast, L1": lambda *arguments: fast_separation(*arguments, distance="l1"),
    "fast, Linf": lambda *arguments: fast_separation(*arguments, distance="linf"),
}
SLOW = ("fast, L1", "fast, Linf")


@dataclass(frozen=True, eq=False)
class Sets:
    """A training set, inputs to look up and the class predicted for each."""

    train_features: Floats
    train_labels: Ints
    features: Floats
    predicted: Ints

    def first(self, n: int) -> Sets:
        """The same with fewer inputs."""
        return Sets(self.train_features, self.train_labels, self.features[:n], self.predicted[:n])


def simulated_sets(data: str, rows: int, inputs: int) -> Sets:
    """Simulated sets of the size asked for."""
    generator = np.random.default_rng(0)
    if data == "unstructured":
        features = generator.normal(size=(rows + inputs, SIDE * SIDE)).astype(np.float32)
        labels = generator.integers(0, 10, rows + inputs)
        return Sets(features[:rows], labels[:rows], features[rows:], labels[rows:])
    from sklearn.datasets import load_digits

    digits = load_digits()
    train = generator.random(len(digits.target)) < 0.8
    train_features, train_labels = jittered(digits.images[train] / 16, digits.target[train], rows, generator)
    features, labels = jittered(digits.images[~train] / 16, digits.target[~train], inputs, generator)
    drawn = generator.random(inputs) < WRONG
    predicted = np.where(drawn, generator.integers(0, 10, inputs), labels)
    return Sets(train_features, train_labels, features, predicted)


def jittered(images: Floats, labels: Ints, n: int, generator: np.random.Generator) -> tuple[Floats, Ints]:
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
        made[i] = np.clip(image + generator.normal(scale=0.05, size=image.shape) * (image > 0.05), 0, 1).ravel()
    return made, labels[chosen]


def by_definition(train_features: Floats, train_labels: Ints, features: Floats, predicted: Ints) -> Floats:
    """Definition 4 as it stands: every pair of every input, with the distances of a whole x'' at a time."""
    values = np.empty(len(features))
    for i, (x, label) in enumerate(zip(features, predicted, strict=True)):
        same, other = train_features[train_labels == label], train_features[train_labels != label]
        to_same = np.square(same - x).sum(axis=1)
        norms = np.square(same).sum(axis=1)
        values[i] = np.inf
        for point in other:
            apart = np.maximum(norms + point @ point - 2 * (same @ point), 1e-6)
            gaps = np.square(point - x).sum() - to_same
            values[i] = min(values[i], (gaps / (2 * np.sqrt(apart))).max())
    return values


def speed(by: Callable[..., Floats], sets: Sets) -> tuple[Floats, float, int]:
    """Separations, how many per CPU second, and the peak memory above the data."""
    values, cost = cost_of(lambda: by(sets.train_features, sets.train_labels, sets.features, sets.predicted))
    return values, len(values) / cost.cpu_seconds, cost.peak_bytes


def lines_of(data: str, rows: int, inputs: int) -> list[list[str]]:
    """The lines of the table for one kind of data."""
    sets = simulated_sets(data, rows, inputs)
    bytes_after_imports("calib.calibrators.geometric")
    lines = []
    for name, by in BY.items():
        values, per_second, peak = speed(by, sets.first(inputs // 20) if name in SLOW else sets)
        lines.append(
            [data, name, f"{len(values):,}", f"{per_second:,.0f}", megabytes(peak), f"{np.mean(values > 0):.1%}"]
        )
    few = sets.first(DEFINITION_INPUTS)
    values, per_second, peak = speed(by_definition, few)
    exact, _, _ = speed(exact_separation, few)
    lines.append([data, "definition", f"{len(values)}", f"{per_second:.2f}", megabytes(peak), "–"])
    print(f"{data}: exact is at most {np.abs(values - exact).max():.0e} from the definition in float32")
    return lines


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a twentieth of the rows, to see that everything runs")
    given = parser.parse_args()
    factor = 20 if given.quick else 1
    print(machine(), end="\n\n")
    lines = [line for data in DATA for line in in_fresh_process(lines_of, data, ROWS // factor, INPUTS // factor)]
    header = ["simulated data", "separation", "inputs", "per CPU s", "peak memory above the data", "safe"]
    print(f"{ROWS // factor:,} x {SIDE * SIDE} float32", end="\n\n")
    print(markdown(header, lines, left=2))


if __name__ == "__main__":
    main()
