"""Progress after a round: what it says."""

from __future__ import annotations

import pytest

from sapwood.boost.progress import Progress, describe, describe_metrics


def at(round: int, n_rounds: int = 100, elapsed: float = 10.0) -> Progress:
    return Progress(round, n_rounds, {"validation": {"rmse": [0.5] * round, "mae": [0.1] * round}}, elapsed)


def test_a_line_has_rounds_the_first_metric_and_the_time_left():
    assert describe(at(25)) == "25/100  validation rmse 0.5  0:10 spent, 0:30 left"


def test_a_line_of_metrics_has_all_of_them():
    assert describe_metrics(at(25)) == "[25]  validation rmse: 0.5  validation mae: 0.1"
    assert describe_metrics(Progress(3, 9, {}, 61.0)) == "[3]  1:01 spent"


def test_hours_are_shown():
    assert describe(at(1, 100, 100.0)).endswith("1:40 spent, 2:45:00 left")


def test_time_left_is_that_of_the_rounds_to_come():
    assert at(25).left == pytest.approx(30.0)
