"""Continue a trend beyond the training range: plain trees, trees on a line, and linear leaves.

Trees predict a constant outside the range of their training rows. Boosting that starts from a linear model fits the
trees to what the line leaves; linear leaves continue the line of the last leaf. Writes extrapolation.png if matplotlib
is installed and a folder is given: ``python examples/extrapolation.py folder``.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from sklearn.linear_model import LinearRegression

from sapwood import SapwoodRegressor


def main() -> None:
    """Train three models on x < 10 and compare them on 10 <= x < 15."""
    rng = np.random.default_rng(0)
    x = np.linspace(0.0, 15.0, 1500)
    truth = 3.0 * x + 2.0 * np.sin(3.0 * x)
    is_train = x < 10.0
    y = truth + 0.3 * rng.normal(size=len(x))
    models = {
        "trees": SapwoodRegressor(n_estimators=100),
        "trees on a line (init)": SapwoodRegressor(n_estimators=100, init=LinearRegression()),
        "linear leaves": SapwoodRegressor(n_estimators=100, leaf_model="linear"),
    }
    predictions = {}
    for name, model in models.items():
        model.fit(x[is_train, None], y[is_train])
        predictions[name] = model.predict(x[:, None])
        error = np.abs(predictions[name] - truth)[~is_train].mean()
        print(f"{name:24s} mean absolute error beyond the training range: {error:6.2f}")
    if len(sys.argv) > 1:
        draw(x, truth, predictions, Path(sys.argv[1]) / "extrapolation.png")


def draw(x: np.ndarray, truth: np.ndarray, predictions: dict[str, np.ndarray], path: Path) -> None:
    """Draw the predictions."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(8, 4.5))
    axes.plot(x, truth, color="0.6", linewidth=3, label="truth")
    for (name, values), style in zip(predictions.items(), ("-", "--", ":"), strict=True):
        axes.plot(x, values, style, label=name)
    axes.axvline(10.0, color="0.3", linewidth=0.8)
    axes.text(10.1, truth.min(), "beyond the training range")
    axes.legend(frameon=False)
    figure.tight_layout()
    figure.savefig(path, dpi=100)
    print(f"picture: {path}")


if __name__ == "__main__":
    main()
