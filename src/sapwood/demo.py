"""Train a classifier on census data and show its quality, importances and first tree: ``python -m sapwood.demo``."""

from __future__ import annotations

import importlib.util
import time
from pathlib import Path

import numpy as np

import sapwood
from sapwood.datasets import load_adult
from sapwood.metrics.registry import resolve_metric

BAR_WIDTH = 40
METRICS = {"AUC": "auc", "log loss": "log_loss", "accuracy": "accuracy"}
TREE_LINES = 15


def main(folder: Path = Path("demo-output")) -> None:
    """Run the demo and write the model, the first tree and a bar chart to ``folder``."""
    adult = load_adult()
    X, y = adult.train
    X_test, y_test = adult.test
    print(f"Sapwood {sapwood.__version__} on UCI Adult: does a person earn more than 50,000 dollars a year?")
    print(f"{len(y):,} people to learn from, {len(y_test):,} to test on, {X.shape[1]} numeric columns\n")

    start = time.perf_counter()
    classifier = sapwood.SapwoodClassifier().fit(X, y)
    seconds = time.perf_counter() - start

    print(scores_table(y_test, classifier.predict_proba(X_test)[:, 1], y.mean()))
    print(f"  {classifier.n_iter_} trees in {seconds:.2f} s\n")
    print("Feature importances (fraction of the total gain)")
    print(bar_chart(adult.names, classifier.feature_importances_))
    tree = classifier.model_.ensemble[0].to_text(adult.names)
    print("\nBeginning of the first tree")
    print("\n".join("  " + line for line in tree.splitlines()[:TREE_LINES]))

    folder.mkdir(parents=True, exist_ok=True)
    (folder / "first-tree.txt").write_text(tree + "\n", encoding="utf-8")
    picture = draw_importance(folder, adult.names, classifier.feature_importances_)
    path = folder / "adult.sapwood"
    classifier.save(path)
    loaded = sapwood.load(path)
    if loaded.fingerprint() != classifier.model_.fingerprint():
        raise SystemExit("the fingerprint of the loaded model differs from that of the saved one")
    print(f"\nSaved and loaded with the same fingerprint, {loaded.fingerprint()[:16]}…")
    for file in (path, picture, folder / "first-tree.txt"):
        print(f"  {file} ({file.stat().st_size / 1000:,.0f} kB)")


def scores_table(y: np.ndarray, probability: np.ndarray, base_rate: float) -> str:
    """Return metrics on the test rows, next to those of a constant prediction of ``base_rate``."""
    constant = np.full(len(y), base_rate)
    lines = [f"Scores on the test rows    {'Sapwood':>9} {'constant':>9}"]
    for title, name in METRICS.items():
        metric = resolve_metric(name)
        lines.append(f"  {title:<24} {metric(y, probability):>9.4f} {metric(y, constant):>9.4f}")
    return "\n".join(lines)


def bar_chart(names: list[str], importances: np.ndarray) -> str:
    """Return the importances as bars of text, the longest first."""
    lines = []
    for f in np.argsort(-importances, kind="stable"):
        bar = "█" * max(1, round(BAR_WIDTH * importances[f] / importances.max()))
        lines.append(f"  {names[f]:<15} {100 * importances[f]:4.1f} %  {bar}")
    return "\n".join(lines)


def draw_importance(folder: Path, names: list[str], importances: np.ndarray) -> Path:
    """Write a bar chart of the importances: a PNG if matplotlib is installed, else an SVG."""
    ordered = [(names[f], float(importances[f])) for f in np.argsort(-importances, kind="stable")]
    if importlib.util.find_spec("matplotlib") is None:
        path = folder / "importance.svg"
        path.write_text(importance_svg(ordered), encoding="utf-8")
        return path
    from matplotlib.figure import Figure

    path = folder / "importance.png"
    axes = (figure := Figure(figsize=(6, 3), layout="constrained")).subplots()
    axes.barh([name for name, _ in ordered], [importance for _, importance in ordered], color="#7a5c3e")
    axes.invert_yaxis()
    axes.set_xlabel("fraction of the total gain")
    figure.savefig(path, dpi=120)
    return path


def importance_svg(ordered: list[tuple[str, float]]) -> str:
    """Return a bar chart as an SVG, for machines without matplotlib."""
    longest = max(importance for _, importance in ordered)
    bars = []
    for k, (name, importance) in enumerate(ordered):
        y, width = 10 + 28 * k, 380 * importance / longest
        bars.append(f'<text x="140" y="{y + 15}" text-anchor="end">{name}</text>')
        bars.append(f'<rect x="150" y="{y}" width="{width:.1f}" height="20" fill="#7a5c3e"/>')
        bars.append(f'<text x="{156 + width:.1f}" y="{y + 15}">{100 * importance:.1f} %</text>')
    size = f'width="620" height="{20 + 28 * len(ordered)}"'
    body = "\n".join(bars)
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="13">\n{body}\n</svg>\n'


if __name__ == "__main__":
    main()
