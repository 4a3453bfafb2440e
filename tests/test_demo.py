"""The demo runs, says what it should and leaves its files."""

from __future__ import annotations

from xml.etree import ElementTree

import numpy as np
import pytest

from sapwood import demo, load
from sapwood.datasets import load_adult


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    """The demo's folder and output."""
    import contextlib
    import io

    folder = tmp_path_factory.mktemp("demo-output")
    with contextlib.redirect_stdout(io.StringIO()) as output:
        demo.main(folder)
    return folder, output.getvalue()


def test_the_demo_beats_the_constant_by_far(shown):
    _, output = shown
    line = next(line for line in output.splitlines() if line.strip().startswith("AUC"))
    ours, constant = map(float, line.split()[1:])
    assert ours > 0.8 and constant == 0.5


def test_the_demo_leaves_a_model_a_tree_and_a_picture(shown):
    folder, _ = shown
    assert {file.name for file in folder.iterdir()} == {"adult.sapwood", "first-tree.txt", "importance.png"}


def test_the_saved_model_predicts(shown):
    folder, _ = shown
    X, y = load_adult().test
    assert np.mean(load(folder / "adult.sapwood").predict(X) == y) > 0.75


def test_without_matplotlib_the_picture_is_a_readable_svg():
    svg = ElementTree.fromstring(demo.importance_svg([("age", 0.75), ("hours_per_week", 0.25)]))
    widths = [float(bar.get("width")) for bar in svg if bar.tag.endswith("rect")]
    assert widths == [380.0, pytest.approx(126.7)]


def test_the_longest_bar_comes_first():
    lines = demo.bar_chart(["a", "b"], np.array([0.2, 0.8])).splitlines()
    assert lines[0].split()[0] == "b" and lines[0].count("█") == demo.BAR_WIDTH


def test_adult_has_the_official_split():
    adult = load_adult()
    assert (adult.train[0].shape, adult.test[0].shape) == ((32561, 6), (16281, 6))
    assert adult.X.dtype == np.float32
    assert (int(adult.train[1].sum()), int(adult.test[1].sum())) == (7841, 3846)
