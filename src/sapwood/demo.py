"""Train on census data, show how good the model is and what it learned: ``python -m sapwood.demo``."""

from __future__ import annotations

import importlib.util
import time
from pathlib import Path

import numpy as np
from sklearn.metrics import accuracy_score, log_loss, roc_auc_score

import sapwood
from sapwood.datasets import load_adult

BAR_WIDTH = 40
TREE_LINES = 15


def main(folder: Path = Path("demo-output")) -> None:
    """Run the demo; files go to ``folder``."""
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
    print("What it looks at (share of the gain)")
    print(bar_chart(adult.names, classifier.feature_importances_))
    tree = classifier.model_.ensemble[0].to_text(adult.names)
    print("\nThe first tree begins")
    print("\n".join("  " + line for line in tree.splitlines()[:TREE_LINES]))

    folder.mkdir(parents=True, exist_ok=True)
    (folder / "first-tree.txt").write_text(tree + "\n", encoding="utf-8")
    picture = draw_importance(folder, adult.names, classifier.feature_importances_)
    path = folder / "adult.sapwood"
    classifier.save(path)
    loaded = sapwood.load(path)
    if loaded.fingerprint() != classifier.model_.fingerprint():
        raise SystemExit("the loaded model differs from the one that was saved")
    print(f"\nSaved and loaded again with the same fingerprint, {loaded.fingerprint()[:16]}…")
    for file in (path, picture, folder / "first-tree.txt"):
        print(f"  {file} ({file.stat().st_size / 1000:,.0f} kB)")


def scores_table(y: np.ndarray, probability: np.ndarray, share: float) -> str:
    """Measures on test rows, beside those of a model that answers ``share`` (that of training) for everybody."""
    constant = np.full(len(y), share)
    lines = [f"How good it is (test rows) {'Sapwood':>9} {'constant':>9}"]
    for name, measure in (("AUC", roc_auc_score), ("log loss", log_loss), ("accuracy", _accuracy)):
        lines.append(f"  {name:<24} {measure(y, probability):>9.4f} {measure(y, constant):>9.4f}")
    return "\n".join(lines)


def _accuracy(y: np.ndarray, probability: np.ndarray) -> float:
    return float(accuracy_score(y, probability > 0.5))


def bar_chart(names: list[str], shares: np.ndarray) -> str:
    """Bars of text, the longest first."""
    lines = []
    for f in np.argsort(-shares, kind="stable"):
        bar = "█" * max(1, round(BAR_WIDTH * shares[f] / shares.max()))
        lines.append(f"  {names[f]:<15} {100 * shares[f]:4.1f} %  {bar}")
    return "\n".join(lines)


def draw_importance(folder: Path, names: list[str], shares: np.ndarray) -> Path:
    """A picture of the importances: a PNG if matplotlib is there, else an SVG."""
    order = np.argsort(-shares, kind="stable")
    ordered = [(names[f], float(shares[f])) for f in order]
    if importlib.util.find_spec("matplotlib") is None:
        path = folder / "importance.svg"
        path.write_text(importance_svg(ordered), encoding="utf-8")
        return path
    from matplotlib.figure import Figure

    path = folder / "importance.png"
    axes = (figure := Figure(figsize=(6, 3), layout="constrained")).subplots()
    axes.barh([name for name, _ in ordered], [share for _, share in ordered], color="#7a5c3e")
    axes.invert_yaxis()
    axes.set_xlabel("share of the gain")
    figure.savefig(path, dpi=120)
    return path


def importance_svg(ordered: list[tuple[str, float]]) -> str:
    """Bars as an SVG, for machines without matplotlib."""
    longest = max(share for _, share in ordered)
    bars = []
    for k, (name, share) in enumerate(ordered):
        y = 10 + 28 * k
        bars.append(f'<text x="140" y="{y + 15}" text-anchor="end">{name}</text>')
        bars.append(f'<rect x="150" y="{y}" width="{380 * share / longest:.1f}" height="20" fill="#7a5c3e"/>')
        bars.append(f'<text x="{156 + 380 * share / longest:.1f}" y="{y + 15}">{100 * share:.1f} %</text>')
    size = f'width="620" height="{20 + 28 * len(ordered)}"'
    body = "\n".join(bars)
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="13">\n{body}\n</svg>\n'


if __name__ == "__main__":
    main()
