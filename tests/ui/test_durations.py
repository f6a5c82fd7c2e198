"""How long a study will take, in words."""

import pytest

from calib.ui.studies import about


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0.2, "about 1 second"), (40, "about 40 seconds"), (100, "about 2 minutes"), (600, "about 10 minutes")],
)
def test_durations_are_round(seconds, words):
    assert about(seconds) == words
