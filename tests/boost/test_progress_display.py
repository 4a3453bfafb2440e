"""The display of progress: a bar or lines, how often, in which characters, and where."""

from __future__ import annotations

import io

import pytest

from sapwood import SapwoodRegressor
from sapwood.boost import progress_display as module
from sapwood.boost.progress import Progress
from sapwood.boost.progress_display import make_display
from tests.boost.examples import example
from tests.boost.test_progress import at


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Encoded(io.TextIOWrapper):
    """A stream of an encoding, as that of a console of Windows."""

    def __init__(self, encoding: str, is_terminal: bool) -> None:
        super().__init__(io.BytesIO(), encoding=encoding)
        self._is_terminal = is_terminal

    def isatty(self) -> bool:
        return self._is_terminal

    def text(self) -> str:
        self.flush()
        return self.buffer.getvalue().decode(self.encoding)


@pytest.fixture
def now(monkeypatch):
    """The time, to be set."""
    now = [0.0]
    monkeypatch.setattr(module.time, "monotonic", lambda: now[0])
    return now


def show(verbose, stream, rounds, progress=at):
    with make_display(verbose, stream) as display:
        for round in rounds:
            display.show(progress(round))


def test_a_terminal_is_drawn_at_most_ten_times_a_second(now):
    out = Terminal()
    with make_display(1, out) as bar:
        for round in range(1, 101):
            now[0] += 0.01
            bar.show(at(round))
    drawn = out.getvalue().split("\r")[1:]
    assert 9 <= len(drawn) <= 12
    assert "100/100" in drawn[-1] and out.getvalue().endswith("\n")
    assert drawn[-1].count("█") == module.BAR_WIDTH


def test_a_shorter_line_covers_the_one_before(now):
    out = Terminal()
    with make_display(1, out) as bar:
        bar.show(Progress(1, 2, {"a set with a long name": {"rmse": [0.123456]}}, 1.0))
        now[0] = 1.0
        bar.show(Progress(2, 2, {}, 1.0))
    first, second = out.getvalue().split("\r")[1:3]
    assert len(second.rstrip("\n")) >= len(first)


def test_a_log_gets_ten_lines():
    out = io.StringIO()
    show(1, out, range(1, 101))
    lines = out.getvalue().splitlines()
    assert len(lines) == 10 and "100/100" in lines[-1] and lines[-1].isascii()


def test_a_log_ends_with_the_round_at_which_training_stopped():
    out = io.StringIO()
    show(1, out, range(1, 18))
    assert "17/100" in out.getvalue().splitlines()[-1]


@pytest.mark.parametrize("stream", [io.StringIO, Terminal])
def test_a_number_is_a_line_of_all_metrics_every_so_many_rounds(stream):
    out = stream()
    show(30, out, range(1, 71))
    values = "validation rmse: 0.5  validation mae: 0.1"
    assert out.getvalue().splitlines() == [f"[30]  {values}", f"[60]  {values}", f"[70]  {values}"]


@pytest.mark.parametrize("encoding", ["cp1252", "ascii", "cp437"])
def test_a_bar_has_characters_that_the_stream_can_encode(encoding):
    out = Encoded(encoding, True)
    show(1, out, [50])
    assert ("#" * 12 + "-" * 12 in out.text()) == (encoding != "cp437")


def test_names_that_the_stream_cannot_encode_are_escaped():
    out = Encoded("cp1252", False)
    show(2, out, [2], lambda round: Progress(round, 9, {"Łódź": {"rmse": [0.5]}}, 1.0))
    assert out.text().replace("\r", "") == "[2]  \\u0141ód\\u017a rmse: 0.5\n"


def test_quiet_is_quiet(capsys):
    show(0, None, [1])
    assert capsys.readouterr() == ("", "")


def test_training_is_quiet_unless_asked(capsys):
    SapwoodRegressor(n_estimators=20).fit(*example())
    assert capsys.readouterr() == ("", "")


def test_progress_is_shown_on_standard_error(capsys):
    SapwoodRegressor(n_estimators=20, verbose=True).fit(*example(), eval_set=example(seed=1))
    out, err = capsys.readouterr()
    assert out == ""
    assert "20/20  validation rmse" in err


def test_the_log_of_early_stopping_ends_with_the_best_round(capsys):
    model = SapwoodRegressor(n_estimators=500, learning_rate=0.5, early_stopping_rounds=5, verbose=10)
    model.fit(*example(), eval_set=example(seed=1))
    last = capsys.readouterr().err.splitlines()[-1]
    best = f"best round {model.best_iteration_}: rmse of validation {model.best_score_:.6g}"
    assert last.endswith(f"(early stopping); {best}")


def test_a_notebook_gets_one_output_that_is_updated():
    nbformat = pytest.importorskip("nbformat", reason="executes a notebook")
    client = pytest.importorskip("nbclient", reason="executes a notebook")
    pytest.importorskip("ipykernel", reason="executes a notebook")
    code = """
import numpy as np
from sapwood import SapwoodRegressor
X = np.random.default_rng(0).normal(size=(500, 3))
model = SapwoodRegressor(n_estimators=300, early_stopping_rounds=5, verbose=True)
model = model.fit(X, X[:, 0], eval_set=(X[::2], X[::2, 0] + 1))
"""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(code)])
    client.NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
    (output,) = notebook.cells[0].outputs
    assert output["output_type"] == "display_data"
    assert "<progress value=" in output["data"]["text/html"]
    assert "best round" in output["data"]["text/plain"]
