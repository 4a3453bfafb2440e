"""Pictures of fixed numbers look as they did: ``python -m tests.plot.test_images`` draws the baseline anew."""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.testing.compare import compare_images

import sapwood
from sapwood.explain.explanation import Explanation
from sapwood.explain.importance import FeatureImportance

BASELINE = Path(__file__).parent / "baseline"
TOLERANCE = 12.0  # root mean square of the difference of pixels: fonts and lines differ a little between versions


def explanation() -> Explanation:
    """Return contributions of three features that follow from their values."""
    data = np.column_stack([np.linspace(-1, 1, 40), np.tile([0.0, 1.0], 20), np.linspace(1, 0, 40) ** 2])
    values = data * [2.0, 0.5, -1.0]
    names = ["age", "sex", "a column with a name that is much longer than any axis has room for"]
    return Explanation(values, np.full(40, 0.25), data, data, names)


def importances() -> FeatureImportance:
    return FeatureImportance.of([3.0, 0.5, 1.5], ["age", "sex", "income $"], "permutation", np.array([0.4, 0.1, 0.2]))


PICTURES = {
    "learning_curve": lambda: sapwood.plot.learning_curve(
        {"train": {"rmse": [3, 2, 1.5, 1.2, 1]}, "test": {"rmse": [3.1, 2.4, 2.2, 2.3, 2.5]}}
    ),
    "importance": lambda: sapwood.plot.importance(importances()),
    "beeswarm": lambda: sapwood.plot.beeswarm(explanation()),
    "waterfall": lambda: sapwood.plot.waterfall(explanation(), row=3),
    "dependence": lambda: sapwood.plot.dependence(explanation(), feature="age", color_by="sex"),
}


def draw(name: str, path: Path) -> None:
    """Draw a picture in few pixels, in matplotlib's default style."""
    with plt.style.context("default"):
        ax = PICTURES[name]()
        ax.figure.savefig(path, dpi=45, metadata={"Software": None})
        plt.close(ax.figure)


@pytest.mark.parametrize("name", PICTURES)
def test_the_picture_is_that_of_the_baseline(name, tmp_path):
    path = tmp_path / f"{name}.png"
    draw(name, path)
    assert compare_images(str(BASELINE / f"{name}.png"), str(path), TOLERANCE) is None


if __name__ == "__main__":
    for picture in PICTURES:
        draw(picture, BASELINE / f"{picture}.png")
