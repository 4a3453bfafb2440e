"""The demo runs, says what it should and leaves its files."""

from __future__ import annotations

import io
import sys
from xml.etree import ElementTree

import numpy as np
import pytest

from sapwood import demo, load
from sapwood.datasets import load_adult


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    """The demo's folder and output."""
    import contextlib

    folder = tmp_path_factory.mktemp("demo-output")
    with contextlib.redirect_stdout(io.StringIO()) as output:
        demo.main(folder)
    return folder, output.getvalue()


def test_the_default_beats_a_plain_fit_and_both_the_constant_by_far(shown):
    _, output = shown
    line = next(line for line in output.splitlines() if line.strip().startswith("AUC"))
    ours, plain, constant = map(float, line.split()[1:])
    assert ours > plain > 0.92 and constant == 0.5


def test_the_demo_leaves_a_model_a_tree_a_picture_and_a_report(shown):
    folder, _ = shown
    files = {"adult.sapwood", "first-tree.txt", "importance.png", "report.html"}
    assert {file.name for file in folder.iterdir()} == files


def test_the_demo_ends_with_the_report(shown):
    folder, output = shown
    assert output.splitlines()[-1] == f"Everything on one page: open {folder / 'report.html'} in a browser"
    assert "marital_status" in (folder / "report.html").read_text(encoding="utf-8")


def test_the_saved_model_predicts(shown):
    folder, _ = shown
    X, y = load_adult().test
    assert np.mean(load(folder / "adult.sapwood").predict(X) == y) > 0.75


def test_the_first_tree_has_names_of_columns_and_categories(shown):
    folder, output = shown
    assert "relationship in {'Husband', 'Wife'}" in output
    assert "occupation in {" in (folder / "first-tree.txt").read_text(encoding="utf-8")


def few_people(frame="pandas"):
    """The demo's table with few rows."""
    adult = load_adult(frame)
    return adult._replace(X=adult.X[:1500], y=adult.y[:1500], n_train=1000)


@pytest.mark.parametrize("encoding", ["cp1252", "ascii"])
def test_the_demo_runs_where_the_terminal_has_few_characters(encoding, tmp_path, monkeypatch):
    stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    monkeypatch.setattr(demo, "load_adult", few_people)
    monkeypatch.setattr(sys, "stdout", stream)
    demo.main(tmp_path)
    stream.flush()
    assert "#" * demo.BAR_WIDTH in stream.buffer.getvalue().decode(encoding)


def test_the_demo_explains_itself(capsys):
    with pytest.raises(SystemExit, match="0"):
        demo.run(["--help"])
    assert "--output FOLDER" in capsys.readouterr().out


def test_without_data_frames_the_model_is_the_same(tmp_path, monkeypatch):
    saved = []
    for frame in ("pandas", None):
        monkeypatch.setattr(demo, "load_adult", lambda frame=frame: few_people(frame))
        demo.main(tmp_path)
        saved.append(load(tmp_path / "adult.sapwood"))
    assert saved[0].fingerprint() == saved[1].fingerprint()
    assert saved[1].feature_names == saved[0].feature_names


def test_without_matplotlib_the_picture_is_a_readable_svg():
    svg = ElementTree.fromstring(demo.importance_svg([("age", 0.75), ("hours_per_week", 0.25)]))
    widths = [float(bar.get("width")) for bar in svg if bar.tag.endswith("rect")]
    assert widths == [380.0, pytest.approx(126.7)]


def test_the_longest_bar_comes_first():
    lines = demo.bar_chart(["a", "b"], np.array([0.2, 0.8])).splitlines()
    assert lines[0].split()[0] == "b" and lines[0].count("█") == demo.BAR_WIDTH
