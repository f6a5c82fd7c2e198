"""Tasks in parts: how they are divided, and their progress as one."""

from functools import partial

import numpy as np
import pytest

from calib.errors import CalibrationError
from calib.evaluation.studies import repeat_task, size_task
from calib.jobs.protocol import Progress
from calib.jobs.subtasks import JointProgress, Parts, divided, in_parts
from tests.conftest import simulate


def double(numbers, *, data):
    return Parts(double_one, [(number,) for number in numbers], [1] * len(numbers), sum)


@in_parts(double)
def doubled(numbers, *, data, callback):
    return sum(double_one(number, data=data, callback=callback) for number in numbers)


def double_one(number, *, data, callback):
    return number * data["by"]


def test_parts_joined_are_the_whole():
    data = {"by": 2}
    parts = divided(doubled, ([1, 2, 3],), data)
    made = [parts.function(*arguments, data=data, callback=None) for arguments in parts.arguments]
    assert parts.join(made) == doubled([1, 2, 3], data=data, callback=None) == 12


def test_a_single_part_and_an_unmarked_task_stay_whole():
    assert divided(doubled, ([1],), {}) is None
    assert divided(double_one, (1,), {}) is None


METHODS = [("temperature", "temperature", {}), ("isotonic", "isotonic", {})]


@pytest.mark.parametrize(
    ("task", "arguments", "n_parts"),
    [
        (repeat_task, (METHODS, 0.5, 3, 1), 3),
        (repeat_task, (METHODS, 40, 2, 1), 2),
        (size_task, (METHODS, 0.5, 0, 3, 1), 3),
        (size_task, (METHODS, None, 0, 2, 1), 2),
        (size_task, ([], None, 0, 2, 1), 2),
    ],
)
def test_studies_are_divided_into_parts_that_report_as_many_steps_as_planned(task, arguments, n_parts):
    import pandas as pd

    logits, labels = simulate(200)
    data = {"logits": logits, "labels": labels, "given_split": np.arange(200) < 90}
    parts = divided(task, arguments, data)
    assert len(parts.arguments) == len(parts.steps) == n_parts
    made = []
    for planned, part in zip(parts.steps, parts.arguments, strict=True):
        seen: list[tuple[int, int]] = [(0, planned)]
        made.append(parts.function(*part, data=data, callback=partial(remember, seen)))
        assert seen[-1] == (planned, planned)
    whole = task(*arguments, data=data, callback=lambda step, total, value: None)
    tables = [table.drop(columns="fit_seconds", errors="ignore") for table in (parts.join(made), whole)]
    pd.testing.assert_frame_equal(*tables, check_exact=True)


def remember(seen, step, total, value):
    seen.append((step, total))


def test_what_cannot_be_studied_is_refused_before_it_is_divided():
    logits, labels = simulate(100)
    with pytest.raises(CalibrationError, match="1 draw shows no spread"):
        divided(size_task, (METHODS, 0.5, 0, 1, 1), {"logits": logits, "labels": labels})


def test_progress_is_summed_and_a_part_that_starts_again_counts_once():
    seen = []
    joint = JointProgress([4, 6], seen.append)
    first, second = joint.of(0), joint.of(1)
    first(Progress(message="Starting."))
    first(Progress(3, 4, 0.5, "Step 3 of 4.", 1.0))
    second(Progress(2, 6, 0.4, "Step 2 of 6.", 0.5))
    first(Progress(message="Starting again: the worker it ran on died."))
    first(Progress(1, 4, 0.9, "Step 1 of 4.", 0.2))
    first(Progress(4, 4, 0.1, "Step 4 of 4.", 1.5))
    second(Progress(cpu_seconds=2.0))
    assert [(p.step, p.total) for p in seen] == [(0, 0), (3, 10), (5, 10), (5, 10), (5, 10), (6, 10), (6, 10)]
    assert [p.message for p in seen][1:5] == [
        "Step 3 of 10.", "Step 5 of 10.", "Starting again: the worker it ran on died.", "Step 5 of 10."
    ]  # fmt: skip
    assert seen[-1].cpu_seconds == 3.5
    joint.ended(1)
    assert (seen[-1].step, seen[-1].message, seen[-1].cpu_seconds) == (10, "Step 10 of 10.", 3.5)
