"""The progress bar: what it says, how often, and where."""

from __future__ import annotations

import io

import pytest

from sapwood import SapwoodRegressor
from sapwood.boost import progress as module
from sapwood.boost.progress import Progress, ProgressBar, describe
from tests.boost.examples import example


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def at(round: int, n_rounds: int = 100, elapsed: float = 10.0) -> Progress:
    return Progress(round, n_rounds, {"validation": {"rmse": [0.5] * round, "mae": [0.1] * round}}, elapsed)


def test_a_line_has_rounds_the_first_metric_and_the_time_left():
    line = describe(at(25))
    assert "25/100" in line and "validation rmse 0.5" in line and "mae" not in line
    assert line.endswith("0:10 spent, 0:30 left")
    assert line.count("█") == 6


def test_hours_are_shown():
    assert describe(at(1, 100, 100.0)).endswith("1:40 spent, 2:45:00 left")


def test_time_left_is_that_of_the_rounds_to_come():
    assert at(25).left == pytest.approx(30.0)


def test_a_terminal_is_drawn_at_most_ten_times_a_second(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(module.time, "monotonic", lambda: now[0])
    out = Terminal()
    with ProgressBar(True, out) as bar:
        for round in range(1, 101):
            now[0] += 0.01
            bar.show(at(round))
    drawn = out.getvalue().split("\r")[1:]
    assert 9 <= len(drawn) <= 12
    assert "100/100" in drawn[-1] and out.getvalue().endswith("\n")


def test_a_shorter_line_covers_the_one_before(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(module.time, "monotonic", lambda: now[0])
    out = Terminal()
    with ProgressBar(True, out) as bar:
        bar.show(Progress(1, 2, {"a set with a long name": {"rmse": [0.123456]}}, 1.0))
        now[0] = 1.0
        bar.show(Progress(2, 2, {}, 1.0))
    first, second = out.getvalue().split("\r")[1:3]
    assert len(second.rstrip("\n")) >= len(first)


def test_a_log_gets_ten_lines():
    out = io.StringIO()
    with ProgressBar(True, out) as bar:
        for round in range(1, 101):
            bar.show(at(round))
    lines = out.getvalue().splitlines()
    assert len(lines) == 10 and "100/100" in lines[-1]


def test_a_log_ends_with_the_round_at_which_training_stopped():
    out = io.StringIO()
    with ProgressBar(True, out) as bar:
        for round in range(1, 18):
            bar.show(at(round))
    assert "17/100" in out.getvalue().splitlines()[-1]


def test_quiet_is_quiet(capsys):
    with ProgressBar(False) as bar:
        bar.show(at(1))
    assert capsys.readouterr() == ("", "")


def test_training_is_quiet_unless_asked(capsys):
    SapwoodRegressor(n_estimators=20).fit(*example())
    assert capsys.readouterr() == ("", "")


def test_the_bar_is_drawn_on_standard_error(capsys):
    SapwoodRegressor(n_estimators=20, verbose=True).fit(*example(), eval_set=example(seed=1))
    out, err = capsys.readouterr()
    assert out == ""
    assert "20/20  validation rmse" in err
